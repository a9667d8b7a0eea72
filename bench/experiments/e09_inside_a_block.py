# SPDX-License-Identifier: Apache-2.0
"""E9: threads that share a block, which a study tried, compared with threads that have whole blocks."""
from laboratory import contests, device
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, TimedOut, Verdict
from laboratory.published import label, values as published_values
from laboratory.values import derive, size as size_in_words

from . import e08_schedules as e08

FEW = 320  # bytes; nested regions take a tenth of a second for them, and minutes on a busy machine
SIZES = [3600, 84992, 4499968]  # the study's 3.6 KB, 85 KB and 4.5 MB in whole blocks
NAMES = {"blocks": "across blocks", "inside": "inside a block", "nested": "both, nested"}


def size(count):
    """A size in words. Those of SIZES are decimal, less a part of a block."""
    return size_in_words(e08.SIZES[SIZES.index(count)] if count in SIZES else count)


def measure(lab):
    count = min(max(lab.cores, 2), 4)
    nested = {"OMP_MAX_ACTIVE_LEVELS": "2"}
    across_and_inside = ("blocks", "inside")
    runs = [(FEW, ("blocks", "inside", "nested")), *((size_, across_and_inside) for size_ in SIZES)]
    for size_, splits in lab.as_time_allows(runs, lambda run: size(run[0])):
        if size_ == SIZES[2] and lab.quick:
            lab.leave_out(size(size_), "for the time; --full has it")
            continue
        try:
            contests.threads(lab, sizes=[size_], counts=(count,), splits=splits, piece_sizes=(256,), rounds=3,
                             first="rate to across", environment=nested, seconds=lab.pick(15, 200))
        except TimedOut as error:
            # A parallel region waits for its slowest thread, and waits long if another program uses a processor.
            lab.cut(f"{size(size_)}: {', '.join(NAMES[split] for split in splits)}", str(error))
    lab.leave_out(f"nested regions on more than {FEW} bytes", "for the time, which grows with the size")
    device.measure_too(lab, "E9")


CUDA_NAMES = {"blocks": "a thread to a block", "inside": "16 threads to a block",
              "copies": "16 threads to a block, a copy for each block", "launches": "a launch for each step, one copy",
              "steps": "a copy for each block, a launch for each step",
              "grid": "memory and a copy for each block, a launch for each step, a thread block for each byte or row"}


def compared(measured, names, title, of, path):
    """(panel, table, by split the largest size and how many times as long it took) for one executor's ways."""
    sizes = measured.factors("bytes", **of)
    heads = [size(size_) for size_ in sizes]
    splits = [split for split in names if measured.find(split=split, **of)]
    rows = [[names[split], *[measured.value("time", split=split, bytes=size_, **of) for size_ in sizes]]
            for split in splits]
    longer = {}
    for split in splits[1:]:
        ratios = [measured.value("rate to across", split=split, bytes=size_, **of) for size_ in sizes]
        longer[split] = [derive("inverse", ratio) if ratio else None for ratio in ratios]
        rows.append([f"{names[split]}: times as long as across", *longer[split]])
    series = [Series(names[split], heads, [measured.value("time", split=split, bytes=size_, **of) for size_ in sizes])
              for split in splits]
    of_study = [number for number, size_ in enumerate(SIZES) if size_ in sizes]
    times = published_values(path)
    series.append(Series(label(path), [size(SIZES[number]) for number in of_study],
                         [times[number] for number in of_study], "published"))
    panel = Panel(title, "", "seconds", series, kind="bars", logy=True)
    # For each way, the largest size for which there was time.
    last = {split: [(size_, value) for size_, value in zip(sizes, values) if value][-1]
            for split, values in longer.items()}
    return panel, Table(f"{title}: seconds", ["", *heads], rows), last


def judge_outer_loop(measured, last, count, cores):
    """Where each thread has a core. Nested regions, which start count * count threads, are shown beside it otherwise."""
    if not last:
        return Verdict("open", ["the processor was not measured"])
    here = [f"with {count} threads SubBytes and ShiftRows in parallel regions of their own took ", last["inside"][1],
            f" times as long as threads across blocks ({size(last['inside'][0])})"]
    parts = [(NAMES["inside"], measured.is_more(last["inside"][1], 1))] if count <= cores else []
    by = [last["inside"][1]]
    if "nested" in last:
        beyond = "" if count * count <= cores else ", more threads than cores, which is not judged"
        here += [", and both nested ", last["nested"][1], f" times ({FEW} B{beyond})"]
        if not beyond:
            parts.append((NAMES["nested"], measured.is_more(last["nested"][1], 1)))
            by.append(last["nested"][1])
    if not parts:
        return Verdict("open", [*here, "; there was no core for each thread"])
    return measured.judged(parts, here, "steps that are parallel within a block take longer than threads across blocks, where each "
                  "thread has a core", [*([] if NAMES["nested"] in dict(parts) else ["nested regions with a core for each thread were not "
                                                                                 "measured"]),
                                        "no figure is with a setting that limits nesting"], by)


def no_device():
    return Verdict("open", ["no CUDA device was measured"])


def step_by_step(measured):
    """The way on the device that launches each step of each block: with a grid of thread blocks for each step, or
    where that was not measured with one thread block."""
    return "grid" if measured.find("time", split="grid", executor="cuda") else "steps"


LAUNCHED = {"steps": "a copy for each block and a launch for each of its steps",
            "grid": "memory and a copy for each block and a launch for each of its steps, in which each byte or row has a thread block"}


def step_by_step_took(split):
    return f"step by step, with {LAUNCHED[split]}, the device took "


def without_the_largest(sizes):
    """What is to be said of a way that was too slow for the largest size."""
    return [] if SIZES[2] in sizes else [f"; {size(SIZES[2])} was not measured in this way"]


def judge_no_speedup(measured, count):
    """Whether the device, step by step, is behind the processor's threads, or behind the one that was measured beside it."""
    split = step_by_step(measured)
    sizes = measured.factors("bytes", "time", split=split, executor="cuda")
    if not sizes:
        return no_device()
    here = without_the_largest(sizes)
    others, who = (dict(split="blocks", threads=count), f"{count} threads") if count else (
        dict(split="blocks", executor="sequential"), "one thread")
    if not measured.find("time", bytes=sizes[-1], **others):
        return Verdict("open", [step_by_step_took(split), measured.value("time", bytes=sizes[-1], split=split, executor="cuda"),
                                f" s for {size(sizes[-1])}, and the processor was not measured", *here])
    ratios = {}
    for size_ in sizes:
        times = [measured.value("time", bytes=size_, **of) for of in (dict(split=split, executor="cuda"), others)]
        if all(times):
            ratios[size_] = derive("quotient", *times)
    largest, least = list(ratios)[-1], min(ratios, key=lambda size_: float(ratios[size_]))
    return measured.judged([(size(size_), measured.is_more(ratio, 1)) for size_, ratio in ratios.items()],
                  [step_by_step_took(split), ratios[largest], f" times as long as {who} across blocks ({size(largest)})",
                   *([", at the least ", ratios[least], f" times ({size(least)})"] if least != largest else []), *here],
                  f"step by step the device takes longer than {who} at each size", by=ratios.values())


def judge_growth(measured):
    """Whether what blocks cost beyond the way that takes many of them at once grows with the data. A cost of the whole alone
    would stay what it is."""
    split = step_by_step(measured)
    of = dict(split=split, executor="cuda")
    sizes = [size_ for size_ in measured.factors("bytes", "rate to across", **of) if size_ in SIZES]
    if len(sizes) < 2:
        return no_device()
    ends = (sizes[0], sizes[-1])
    longer = {size_: derive("inverse", measured.value("rate to across", bytes=size_, **of)) for size_ in ends}
    first, last = (measured.value("time", bytes=size_, **of) for size_ in ends)
    parts = [(f"the overhead at {size(size_)}", measured.is_more(ratio, 1)) for size_, ratio in longer.items()]
    here = [step_by_step_took(split), first, f" s for {size(ends[0])}, ", longer[ends[0]],
            " times as long as with many blocks in a launch, and ", last, f" s for {size(ends[1])}, ", longer[ends[1]], " times as long"]
    by = [*longer.values()]
    if all(part for _, part in parts):
        shares = [measured.value("rate to across", bytes=size_, **of) for size_ in ends]
        growth = derive("growth of the rest", last, shares[1], first, shares[0])
        parts.append(("the growth", measured.is_more(growth, 1)))
        here += [f"; the overhead for {size(ends[1])} was ", growth, f" times that for {size(ends[0])}"]
        by.append(growth)
    else:
        parts.append(("the growth", False if any(part is False for _, part in parts) else None))
    return measured.judged(parts, [*here, *without_the_largest(sizes)],
                           "step by step the device takes longer than with many blocks in a launch, for the smallest and for the largest "
                           "data; and the overhead, which is the difference of these two times, is more for the largest", by=by)


def judge_transfers(measured):
    """Two parts: copies alone, without a launch for each step, slow the device down, and they take the greater part of the
    time with both."""
    launched = step_by_step(measured)
    sizes = measured.factors("bytes", split=launched, executor="cuda")
    if not sizes:
        return no_device()
    if alone := [size_ for size_ in measured.factors("bytes", split="copies", executor="cuda")
                 if measured.find(split="steps", bytes=size_, executor="cuda")]:
        return judge_copies_alone(measured, alone[-1])
    inside, steps = (measured.value("rate to across", bytes=sizes[-1], split=split, executor="cuda")
                     for split in ("inside", launched))
    ratio = derive("quotient", inside, steps)
    return Verdict("open", ["with 16 threads to a block as well, but many blocks a launch and one copy of all, the device was ",
                            ratio, f" times as fast as with {LAUNCHED[launched]} ({size(sizes[-1])}); but the ways "
                            "differ in the launches that each block has as well as in its copies, and no way that was "
                            "measured has the one without the other"], COPIES_ALONE)


COPIES_ALONE = ("with a copy for each block and one launch for all, the device takes at least twice as long as with one copy and one launch "
                "for all, and at least half as long as with a copy for each block and a launch for each of its steps")


def judge_copies_alone(measured, size_):
    inside, copies, launches, steps = (measured.value("rate to across", bytes=size_, split=split, executor="cuda")
                                       for split in ("inside", "copies", "launches", "steps"))
    longer, share = derive("quotient", inside, copies), derive("percent of", steps, copies)
    here = [f"for {size(size_)}, with up to 16 threads to a block and in memory that was allocated once, the device took so many times as long "
            "as with one copy and one launch for all blocks: ", longer, " with a copy for each block, "]
    if launches:
        here += [derive("quotient", inside, launches), " with a launch for each step of each block, "]
    here += [derive("quotient", inside, steps), " with such copies and such launches; of the time with both, that with the copies alone is ",
             share, " %"]
    return measured.judged([("twice as long", measured.is_at_least(longer, 2)), ("half as long", measured.is_at_least(share, 50))], here,
                  COPIES_ALONE, by=[longer, share])


def judge_blocks(measured):
    if not measured.find(split="blocks", executor="cuda"):
        return no_device()
    here = []
    for size_ in measured.factors("bytes", split="inside", executor="cuda"):
        if size_ in SIZES:
            ratio = measured.value("rate to across", bytes=size_, split="inside", executor="cuda")
            here += [", " if here else "with many blocks a launch, 16 threads to a block took ", derive("inverse", ratio),
                     f" times {'' if here else 'as long as a thread to a block '}at {size(size_)}"]
    return Verdict("answered", here) if here else no_device()


def beside(measured):
    counts = measured.factors("threads")
    for path, of, words in (("best_openmp_s", dict(split="blocks", threads=counts[0] if counts else 0),
                             f" s with {counts[0] if counts else 0} threads"),
                            ("cuda_openmp_s", dict(split=step_by_step(measured), executor="cuda"), " s")):
        for index, _ in enumerate(e08.SIZES):
            value = measured.value("time", bytes=SIZES[index], **of) if index < len(SIZES) else None
            yield Counterpart("meyer.times", path, index, (value, words) if value else (),
                              measured.why_not("CUDA") if "executor" in of else "")


def show(measured):
    panels, tables, last = [], [], {}
    counts = measured.factors("threads")
    count = counts[0] if counts else None
    if count:
        panel, table, last = compared(measured, NAMES, f"AES-128-ECB, {count} threads", dict(threads=count),
                                      "meyer/best_openmp_s")
        panels.append(panel)
        tables.append(table)
    if measured.find(executor="cuda"):
        panel, table, _ = compared(measured, CUDA_NAMES, "AES-128-ECB, CUDA", dict(executor="cuda"),
                                   "meyer/cuda_openmp_s")
        alone = [measured.value("time", split="blocks", executor="sequential", bytes=size_)
                 for size_ in measured.factors("bytes", executor="cuda")]
        if any(alone):
            table.rows.append(["one thread of the processor, across blocks", *alone])
        panels.append(panel)
        tables.append(table)
    return Shown({"meyer.outer-loop-best": judge_outer_loop(measured, last, count, measured.machine["cores"]),
                  "meyer.no-cuda-speedup": judge_no_speedup(measured, count),
                  "meyer.cuda-overhead-grows": judge_growth(measured),
                  "meyer.transfers-reason": judge_transfers(measured), "meyer.outlook-blocks": judge_blocks(measured)},
                 panels, tables,
                 ["A parallel region costs far more than the SubBytes in it, and a block of AES-128 has twenty such "
                  "regions. Each waits for its slowest thread: where another program has a processor, for long."])


EXPERIMENT = Experiment(
    name="E9", title="Threads inside a block",
    did=("meyer.key", "meyer.two-ways", "meyer.inside", "meyer.cuda", "meyer.times"),
    judges=("meyer.outer-loop-best", "meyer.no-cuda-speedup", "meyer.cuda-overhead-grows", "meyer.transfers-reason",
            "meyer.outlook-blocks"),
    here="The same steps: across blocks; inside each block (16 bytes of SubBytes, 4 rows of ShiftRows); both nested. "
         "Where there is a GPU: a thread to a block and 16 threads to a block, many blocks a launch; a copy for "
         "each block with a launch for each step, once with 16 threads for SubBytes and 4 for ShiftRows in one thread "
         "block, in memory that is allocated once, and once with 16 thread blocks of a thread for SubBytes and 4 for "
         "ShiftRows, in memory that is allocated for each block; and such copies without such launches, and such launches "
         "without such copies. One thread of the host starts them all.",
    measure=measure, show=show, beside=beside, seconds={"quick": 4, "full": 40})
