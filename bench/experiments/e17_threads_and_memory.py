# SPDX-License-Identifier: Apache-2.0
"""E17: where AES's tables lie on a device, how many threads a thread block has, and how many streams carry the text.
It needs a CUDA device."""
from dataclasses import replace

from laboratory import bounds, device
from laboratory.experiment import OURS, Experiment, Panel, Series, Shown, Table, Unavailable, Verdict, separated
from laboratory.judgement import all_of, any_of
from laboratory.published import value as published
from laboratory.values import best, derive, given, size

from . import e04_compute_and_tables as e04

PLACES = {"compute": "every step computed", "constant": "tables in constant memory",
          "global": "tables in global memory", "shared": "tables in shared memory"}
MEMORIES = ("constant", "global", "shared")
BLOCKS = {"all": "as many thread blocks as a multiprocessor has room for", "one": "one thread block a multiprocessor"}
RATE, HELD = "rate without copies", "threads a multiprocessor"
KERNELS = ("cuda_compute", "cuda_tables")


def measure(lab):
    try:
        device.measure(lab, "E17")
    except Unavailable as reason:
        raise Unavailable(f"it needs a CUDA device: {reason}") from reason


def rates_of(measured, place, blocks="all"):
    """{threads a block: GB/s}"""
    of = dict(tables=place, blocks=blocks)
    return {count: measured.value(RATE, threads_a_block=count, **of)
            for count in measured.factors("threads_a_block", RATE, **of)}


def by_threads_held(measured, place):
    """(threads that a multiprocessor holds, GB/s), fewest threads first, the best rate of each number."""
    found = {}
    for blocks in BLOCKS:
        for count, rate in rates_of(measured, place, blocks).items():
            held = measured.value(HELD, tables=place, blocks=blocks, threads_a_block=count)
            before = found.get(float(held))
            found[float(held)] = (held, rate if before is None else best("most", [before[1], rate]))
    return [found[held] for held in sorted(found)]


def exactly(held):
    """A number of threads with all its digits."""
    return held and replace(held, digits=4)


def gains_of(measured, place):
    """{threads a block: (how many times as fast as many thread blocks as a multiprocessor has room for are as one, threads that it
    holds with one, threads that it holds with all)}, smallest thread blocks first, of those of which it has room for two."""
    found = {}
    for count in sorted(rates_of(measured, place, "one")):
        (fewer, slow), (more, fast) = ((exactly(measured.value(HELD, tables=place, blocks=blocks, threads_a_block=count)),
                                        measured.value(RATE, tables=place, blocks=blocks, threads_a_block=count))
                                       for blocks in ("one", "all"))
        if None not in (fewer, slow, more, fast) and 2 * float(fewer) <= float(more):
            found[count] = derive("quotient", fast, slow), fewer, more
    return found


def no_device():
    return Verdict("open", ["no CUDA device was measured"])


def wanted_count():
    """The number of threads a block that was published as the best."""
    return int(float(published("pousa_ci_aim/device/threads_a_block")))


def judge_best_count(measured):
    wanted = wanted_count()
    parts, matters, here, by = [], [], [], []
    for place, name in PLACES.items():
        rates = rates_of(measured, place)
        if wanted not in rates:
            return no_device()
        most, least = (choose(rates, key=lambda count: float(rates[count])) for choose in (max, min))
        by += rates.values()
        others = [rate for count, rate in rates.items() if count != wanted]
        matters.append(measured.is_more(rates[most], rates[least]))
        parts.append((f"{wanted} for {name}", is_best(any_of(measured.is_more(rate, rates[wanted]) for rate in others),
                                                      any_of(measured.is_more(rates[wanted], rate) for rate in others))))
        here += ["; " if here else "", f"{name}: ", rates[wanted], f" GB/s with {wanted} threads a block, at most ",
                 rates[most], f" with {most}, at least ", rates[least], f" with {least}"]
    return measured.judged([("whether the number matters", any_of(matters)), *parts], here,
                  "with some place of the tables the number of threads a block matters; and with every step computed and with each "
                  f"place of the tables, no number is faster than {wanted}, and some number is slower", by=by)


def is_best(is_beaten, beats_another):
    """Whether a number is the best one: none is faster, and where all are equal, none is best."""
    if is_beaten or beats_another is False:
        return False
    return None if None in (is_beaten, beats_another) else True


def judge_latency(measured):
    """Whether more threads still hide more with tables, and not with computing, from each number of threads on that one thread
    block may have to be like the study's: with several of its size, the rate grows, and by more than computing's. It is the
    reason of a gain only where tables gain less than on a core."""
    wanted = wanted_count()
    gains = {place: {count: gain for count, (gain, *_) in gains_of(measured, place).items() if count >= wanted} for place in PLACES}
    if not all(gains.values()):
        return Verdict("open", [f"no thread block of {wanted} threads or more had its threads doubled on a multiprocessor"]) if rates_of(
            measured, "compute") else no_device()
    tables = {place: measured.value("ratio to compute", tables=place, blocks="all", threads_a_block=wanted) for place in MEMORIES}
    bytes_, on_a_core, by_device = e04.gain_on_a_core(measured.of("E4"))
    here = [f"with {wanted} threads a block tables were as many times as fast as computing: ",
            *separated([[ratio, f" in {place} memory"] for place, ratio in tables.items()], ", "),
            *([", and ", on_a_core, f" on one core ({size(bytes_)}, E4)"] if on_a_core else []),
            *([THROUGH_THE_DEVICE] if by_device else [])]
    for count in sorted(gains["compute"]):
        here += [f"; as many thread blocks of {count} threads as there was room for were so many times as fast as one: ",
                 *separated([[found[count], f" with {PLACES[place]}"] for place, found in gains.items() if count in found], ", ")]
    parts, by = [], [on_a_core, *tables.values()] if on_a_core else []
    for place in MEMORIES:
        is_less = measured.is_more(on_a_core, tables[place]) if on_a_core else True
        for count, gain in gains[place].items():
            least = what_counts(gains["compute"].get(count))
            by += [gain, least]
            parts.append((f"{PLACES[place]} from {count} threads", all_of((is_less, measured.is_more(gain, least)))))
    return measured.judged(parts, here, LATENCY, [] if on_a_core else ["what tables gain on one core was not measured"], by)


def what_counts(computing):
    """What the gain of tables is compared with: that of computing, if it is one."""
    return computing if computing and float(computing) > 1 else 1


THROUGH_THE_DEVICE = (", which is taken through the device: on that core each of the two kernels took turns with the device, and they took none "
                      "with each other")
LATENCY = ("with tables in each memory the device gains less from them than one core does, and several thread blocks of 256 "
           "threads or more are faster than one, with at least twice the threads, and more so than with computing: then so many "
           "threads as one block has leave latency that more can hide; what is not faster leaves none")


def judge_streams(measured):
    here = []
    for kernel in KERNELS:
        counts = measured.factors("streams", "rate", kernel=kernel)
        if not counts:
            return no_device()
        ratio = measured.value("rate to one stream", kernel=kernel, streams=counts[-1])
        bytes_ = measured.factors("bytes", "rate", kernel=kernel)[0]
        here += ["; " if here else "", f"`{kernel}` encrypted {size(bytes_)} through {counts[-1]} streams ", ratio,
                 " times as fast as through one"]
    return Verdict("ours", here)


def bounds_table():
    """What each kernel could do at the most on GPUs that nobody need have."""
    return Table("Bounds in GB/s, without copies, counted from the machine code; no measurement",
                 ["", *bounds.gpus()],
                 [[name, *[bounds.rate(f"study_{place}", gpu) for gpu in bounds.gpus()]]
                  for place, name in PLACES.items()])


BOUNDS_NOTE = ("A bound is what the busiest unit of a multiprocessor allows for random text, if nothing else costs "
               "time: the machine code's instructions, and the look-ups of a warp that meet in a bank of shared memory "
               "or at different addresses of constant memory. That the cache before global memory serves a whole warp "
               "at once is assumed. Where it does not, the bound of tables in global memory lies above what a device "
               "can reach.")


def tables_of(measured):
    counts = measured.factors("threads_a_block")
    heads = ["threads a block", *map(str, counts)]
    made = []
    for blocks, title in BLOCKS.items():
        rows = [[name, *rates_of(measured, place, blocks).values()] for place, name in PLACES.items()]
        made.append(Table(f"GB/s without copies, {title}", heads, rows))
    made.append(Table(f"Threads that a multiprocessor holds, {BLOCKS['all']}", heads, [
        [name, *[measured.value(HELD, tables=place, blocks="all", threads_a_block=count) for count in counts]]
        for place, name in PLACES.items()]))
    made.append(Table(f"Times as fast as computing every step, {BLOCKS['all']}", heads, [
        [PLACES[place], *[measured.value("ratio to compute", tables=place, blocks="all", threads_a_block=count)
                          for count in counts]] for place in MEMORIES]))
    streams = measured.factors("streams")
    made.append(Table("GB/s with copies, the text in pieces", ["streams", *map(str, streams)], [
        [f"`{kernel}`", *[measured.value("rate", kernel=kernel, streams=count) for count in streams]]
        for kernel in KERNELS]))
    return made


def beside_bounds(measured):
    """The best rate of each kernel beside its bound, if the device is one that has bounds."""
    gpu = bounds.gpu_of(measured.device) if measured.device else None
    if gpu is None:
        return []
    rows = []
    for place, name in PLACES.items():
        most, limit = best("most", rates_of(measured, place).values()), bounds.rate(f"study_{place}", gpu)
        rows.append([name, most, limit, derive("percent of", most, limit)])
    return [Table(f"The highest rate beside its bound on {gpu}", ["", "GB/s", "bound", "per cent of it"], rows)]


def panels_of(measured):
    by_count = [Series(name, [given(count) for count in rates], list(rates.values()))
                for place, name in PLACES.items() if (rates := rates_of(measured, place))]
    by_held = [Series(name, *map(list, zip(*by_threads_held(measured, place)))) for place, name in PLACES.items()]
    streams = measured.factors("streams")
    return [Panel("Without copies, by threads a block", "threads a block", "GB/s", by_count, logx=True, logy=True),
            Panel("Without copies, by threads a multiprocessor", "threads that a multiprocessor holds", "GB/s", by_held,
                  logx=True, logy=True),
            Panel("With copies, by streams", "", "GB/s", [
                Series(kernel, [f"{count} stream{'' if count == 1 else 's'}" for count in streams],
                       [measured.value("rate", kernel=kernel, streams=count) for count in streams])
                for kernel in KERNELS], kind="bars")]


def show(measured):
    if not measured.factors("threads_a_block"):
        return Shown({}, [], [bounds_table()], [BOUNDS_NOTE])
    banks = measured.value(RATE, tables="banks")
    return Shown({"ci-aim.threads-a-block": judge_best_count(measured), "ci-aim.latency-reason": judge_latency(measured),
                  OURS: judge_streams(measured)},
                 panels_of(measured),
                 [*tables_of(measured),
                  Table("GB/s without copies, 32 copies of each table in shared memory, a bank for each lane", ["", "GB/s"],
                        [["`cuda_tables`", banks]]),
                  *beside_bounds(measured), bounds_table()],
                 ["More threads hide more of a memory's latency. So what is still faster with at least twice as many threads, in more "
                  "thread blocks of the same size, and more so than computing, did not have its latency hidden by fewer, and what is not "
                  "is limited by something else. All numbers of threads run the same machine code, whose registers decide how many a "
                  "multiprocessor can hold. "
                  "Tables in global memory are read through a multiprocessor's first cache.", BOUNDS_NOTE])


EXPERIMENT = Experiment(
    name="E17", title="Threads a block, and where tables lie",
    did=("pousa.threads-a-block", "ci-aim.cuda"), judges=("ci-aim.threads-a-block", "ci-aim.latency-reason"),
    asks="how much is gained if several streams copy and encrypt pieces of the text",
    here="AES-128-ECB with four tables of 1 KiB that lie once in constant, global or shared memory, and with every step "
         "computed, each with 64 to 1024 threads a block, on data in the device's memory; and copies and encryption of "
         "pieces of 4 MiB on 1 to 8 streams.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 1})
