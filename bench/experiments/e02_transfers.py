# SPDX-License-Identifier: Apache-2.0
"""E2: what the copies to the device and back cost, compared with the encryption. It needs a CUDA device."""
from laboratory import device
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Unavailable, Verdict, largest_and_least
from laboratory.published import label, sizes as published_sizes, values as published_values
from laboratory.values import derive, size

from . import e01_executors as e01

STUDY_SIZES = published_sizes("pousa")
PARTS = {"host_to_device": "host to device", "encrypt": "encryption", "device_to_host": "device to host"}


def measure(lab):
    try:
        device.measure(lab, "E2")
    except Unavailable as reason:
        raise Unavailable(f"it needs a CUDA device: {reason}") from reason


def study_table():
    paths = [f"pousa/cuda_split_s/{key}" for key in (*PARTS, "total")]
    return Table("seconds", ["", *STUDY_SIZES], [[label(path), *published_values(path)] for path in paths],
                 "pousa.copies-table")


def shares(parts):
    """Each part's percentage of the whole time, by size."""
    return [[derive("percent of all", value, *together) for value, together in zip(part, zip(*parts))]
            for part in parts]


def judge_influence(measured, sizes):
    """Whether the whole, copies included, is faster than as many cores as the study's cluster had, by E1's turns with one core."""
    over_one = over_one_core(measured, sizes)
    larger = {size_: ratio for size_, ratio in over_one.items() if size_ != sizes[0]}
    if not larger:
        return Verdict("open", ["E1 has not measured the device in turns with one core"])
    largest = list(larger)[-1]
    copies = derive("percent for both", *(measured.value(part, bytes=largest)
                                          for part in ("host to device", "device to host", "total")))
    parts = [(size(size_), measured.is_more(ratio, e01.CLUSTER)) for size_, ratio in larger.items()]
    # The smallest size is the claim's own exception, and of many cores alone.
    if smallest := over_one.get(sizes[0]):
        parts.append((f"one core at {size(sizes[0])}", measured.is_more(smallest, 1)))
    return measured.judged(parts, ["copies took ", copies, f" % of the time at {size(largest)}; with them, by E1, CUDA was ",
                          *largest_and_least(larger, "as fast as one core"),
                          *([f"; at {size(sizes[0])} it was ", smallest, " times as fast"] if smallest else [])],
                  f"with its copies CUDA is faster than {e01.PERFECT}, at each size but the smallest, and at that one faster than one "
                  "core; that copies have little influence is not judged itself, but only this, from which it was concluded",
                  [] if smallest else [f"one core was not measured at {size(sizes[0])}"], by=over_one.values())


def over_one_core(measured, sizes):
    """{bytes: how many times as fast as one core the whole is}, by E1's turns of both"""
    of = dict(direction="encrypt", executor="cuda")
    found = {size_: measured.of("E1").value("speedup", bytes=size_, **of) for size_ in sizes}
    return {size_: ratio for size_, ratio in found.items() if ratio}


def beside(measured):
    for key, quantity in (*PARTS.items(), ("total", "total")):
        for index, size_ in enumerate(e01.SIZES):
            value = measured.value(quantity, bytes=size_)
            yield Counterpart("pousa.copies-table", f"cuda_split_s/{key}", index, (value, " s") if value else ())


def show(measured):
    sizes = measured.factors("bytes")
    if not sizes:
        return Shown({}, [], [study_table()])

    def row(quantity):
        return [measured.value(quantity, bytes=bytes_) for bytes_ in sizes]
    quantities = (*PARTS.values(), "total", "overlapped")
    rows = [[name, *row(name)] for name in quantities]
    rows.append(["overlapped: times as fast", *row("overlapped to total")])
    heads = [size(bytes_) for bytes_ in sizes]
    total, overlapped, faster = (
        measured.value(quantity, bytes=sizes[-1]) for quantity in ("total", "overlapped", "overlapped to total"))
    stacked = Panel("Shares of the time, one after the other", "", "per cent", [
        Series(name, heads, values)
        for name, values in zip(PARTS.values(), shares([row(name) for name in PARTS.values()]))],
        kind="bars", stacked=True)
    paths = [f"pousa/cuda_split_s/{key}" for key in PARTS]
    of_study = Panel("Shares, published", "", "per cent", [
        Series(label(path), STUDY_SIZES, values, "published") for path, values in
        zip(paths, shares([published_values(path) for path in paths]))], kind="bars", stacked=True)
    times = Panel("Time with copies", "", "seconds", [
        Series("one after the other", heads, row("total")), Series("overlapped", heads, row("overlapped"))],
        kind="bars", logy=True)
    return Shown({"pousa.copies-matter-little": judge_influence(measured, sizes),
                  "meyer.outlook-transfers": Verdict("answered", [
                      f"copies and kernel of {size(sizes[-1])} took ", total, " s one after the other and ", overlapped,
                      " s overlapped in pieces, which is ", faster, " times as fast"])},
                 [stacked, of_study, times], [Table("Seconds, here", ["", *heads], rows), study_table()],
                 ["Copies and kernel are timed by the device's clock, totals by the host's, which adds what it takes to start "
                  "them and to wait."])


EXPERIMENT = Experiment(
    name="E2", title="CUDA: copies and encryption",
    did=("pousa.copies-table",), judges=("pousa.copies-matter-little", "meyer.outlook-transfers"),
    here="Copies and kernel one after the other, and overlapped in pieces; and the whole beside what E1 measured of "
         "the processor.",
    measure=measure, show=show, beside=beside, bare=True, seconds={"quick": 1, "full": 1})
