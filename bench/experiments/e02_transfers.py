# SPDX-License-Identifier: Apache-2.0
"""E2: what the copies to the device and back cost, compared with the encryption. It needs a CUDA device."""
from laboratory import device
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Unavailable
from laboratory.published import value as published, values as published_values
from laboratory.values import derive, size

STUDY_SIZES = ("1KB", "512KB", "1MB", "15MB", "128MB", "255MB")
PARTS = {"host_to_device": "host to device", "encrypt": "encryption", "device_to_host": "device to host"}


def measure(lab):
    try:
        device.measure(lab, "E2")
    except Unavailable as reason:
        raise Unavailable(f"it needs a CUDA device: {reason}") from reason


def study_table():
    rows = [[label, *published_values(f"pousa/cuda_split_s/{key}")] for key, label in
            (*PARTS.items(), ("total", "total"))]
    return Table("Seconds, published", ["", *STUDY_SIZES], rows)


def shares(parts):
    """Each part's percentage of the whole time, by size."""
    return [[derive("percent of all", value, *together) for value, together in zip(part, zip(*parts))] for part in parts]


def show(measured):
    finding = ["of the ", published("pousa/cuda_split_s/total/5"), " s that 255 MB took, ",
               published("pousa/cuda_split_s/host_to_device/5"), " s and ",
               published("pousa/cuda_split_s/device_to_host/5"), " s were copies"]
    sizes = measured.factors("bytes")
    if not sizes:
        return Shown("open", finding, [], [], [study_table()])

    def row(quantity):
        return [measured.value(quantity, bytes=bytes_) for bytes_ in sizes]
    quantities = (*PARTS.values(), "total", "overlapped")
    rows = [[label, *row(label)] for label in quantities]
    rows.append(["overlapped: times as fast", *row("overlapped to total")])
    heads = [size(bytes_) for bytes_ in sizes]
    into, work, out, total, overlapped, faster = (
        measured.value(quantity, bytes=sizes[-1]) for quantity in (*quantities, "overlapped to total"))
    # In the study the copies took longer than the encryption of the same data.
    holds = float(into) + float(out) > float(work)
    stacked = Panel("Shares of the time, one after the other", "", "per cent", [
        Series(label, heads, values) for label, values in zip(PARTS.values(), shares([row(label) for label in PARTS.values()]))],
        kind="bars", stacked=True)
    of_study = Panel("The study's shares", "", "per cent", [
        Series(f"study: {label}", list(STUDY_SIZES), values, "published") for label, values in
        zip(PARTS.values(), shares([published_values(f"pousa/cuda_split_s/{key}") for key in PARTS]))],
        kind="bars", stacked=True)
    times = Panel("Time with copies", "", "seconds", [
        Series("one after the other", heads, row("total")), Series("overlapped", heads, row("overlapped"))],
        kind="bars", logy=True)
    return Shown("holds" if holds else "does not hold", finding,
                 ["of the ", total, f" s that {size(sizes[-1])} took, ", into, " s and ", out, " s were copies and ",
                  work, " s encryption; overlapped in pieces it took ", overlapped, " s, ", faster, " times as fast"],
                 [stacked, of_study, times], [Table("Seconds, here", ["", *heads], rows), study_table()],
                 ["Held: the two copies take longer than the encryption. Copies and kernel are timed by the device's "
                  "clock, totals by the host's, which adds what it takes to start them and to wait."])


EXPERIMENT = Experiment(
    name="E2", title="CUDA: copies and encryption", study="pousa",
    did="Timed the copies to the device and back and the kernel, one after the other.",
    here="The same, and the same overlapped.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 1})
