# SPDX-License-Identifier: Apache-2.0
"""E9: threads that share a block, which a study tried, compared with threads that have whole blocks."""
from laboratory import contests, device
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, TimedOut
from laboratory.published import value as published, values as published_values
from laboratory.values import derive, size

FEW = 320  # bytes; nested regions take a tenth of a second for them, and minutes on a busy machine
SIZES = [3600, 84992, 4499968]  # the study's 3.6 KB, 85 KB and 4.5 MB in whole blocks
NAMES = {"blocks": "across blocks", "inside": "inside a block", "nested": "both, nested"}


def measure(lab):
    count = min(max(lab.cores, 2), 4)
    nested = {"OMP_MAX_ACTIVE_LEVELS": "2"}
    across_and_inside = ("blocks", "inside")
    for size_, splits in ((FEW, ("blocks", "inside", "nested")), *((size_, across_and_inside) for size_ in SIZES)):
        if size_ == SIZES[2] and lab.quick:
            lab.leave_out(size(size_), "for the time; --full has it")
            continue
        try:
            contests.threads(lab, sizes=[size_], counts=(count,), splits=splits, piece_sizes=(256,), rounds=3,
                             first="rate to across", environment=nested, seconds=lab.pick(15, 200))
        except TimedOut as error:
            # A parallel region waits for its slowest thread, and waits long if another program uses a processor.
            lab.leave_out(f"{size(size_)}: {', '.join(NAMES[split] for split in splits)}", str(error))
    lab.leave_out(f"nested regions on more than {FEW} bytes", "for the time, which grows with the size")
    device.measure_too(lab, "E9")


FINDING = ["parallelism inside a block cost more than it gained; on the GPU 4.5 MB took ",
           published("meyer/cuda_openmp_s/2"), " s where OpenMP across blocks took ",
           published("meyer/best_openmp_s/2"), " s"]
CUDA_NAMES = {"blocks": "a thread to a block", "inside": "16 threads to a block", "steps": "a launch for each step"}


def compared(measured, names, title, of):
    """(panel, table, words and numbers by split) for the ways in which one executor splits work."""
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
    for key, label in (("cuda_openmp_s", "study: CUDA on steps of one block"), ("best_openmp_s", "study: best OpenMP")):
        times = published_values(f"meyer/{key}")
        series.append(Series(label, [size(SIZES[number]) for number in of_study],
                             [times[number] for number in of_study], "published"))
    panel = Panel(title, "", "seconds", series, kind="bars", logy=True)
    # For each way, the largest size for which there was time.
    last = {split: [(size_, value) for size_, value in zip(sizes, values) if value][-1]
            for split, values in longer.items()}
    return panel, Table(f"{title}: seconds", ["", *heads], rows), last


def show(measured):
    panels, tables, here, costs = [], [], [], []
    counts = measured.factors("threads")
    if counts:
        count = counts[0]
        panel, table, last = compared(measured, NAMES, f"AES-128-ECB, {count} threads", dict(threads=count))
        panels.append(panel)
        tables.append(table)
        costs += [value for _, value in last.values()]
        beyond = "" if count * count <= measured.machine["cores"] else ", more threads than cores"
        here += [f"with {count} threads SubBytes and ShiftRows in parallel regions of their own took ",
                 last["inside"][1], f" times as long as threads across blocks ({size(last['inside'][0])})"]
        if "nested" in last:
            here += [", and both nested ", last["nested"][1], f" times ({FEW} B{beyond})"]
    if measured.find(executor="cuda"):
        panel, table, last = compared(measured, CUDA_NAMES, "AES-128-ECB, CUDA", dict(executor="cuda"))
        panels.append(panel)
        tables.append(table)
        costs += [value for _, value in last.values()]
        here += [*("; " if here else ""), "with CUDA 16 threads to a block took ", last["inside"][1],
                 f" times as long as one ({size(last['inside'][0])})"]
        if "steps" in last:
            here += [", and a launch for each step ", last["steps"][1], f" times ({size(last['steps'][0])})"]
    outcome = "holds" if min(map(float, costs)) > 1 else "in part" if max(map(float, costs)) > 1 else "does not hold"
    return Shown(outcome, FINDING, here, panels, tables,
                 ["A parallel region costs far more than the SubBytes in it, and a block of AES-128 has twenty such "
                  "regions. Each waits for its slowest thread: where another program has a processor, for long."])


EXPERIMENT = Experiment(
    name="E9", title="Threads inside a block", study="meyer",
    did="Tried SubBytes and ShiftRows in nested parallel regions, and CUDA on the substeps of one block at a time; "
        "rejected both.",
    here="The same steps: across blocks; inside each block (16 bytes of SubBytes, 4 rows of ShiftRows); both nested. "
         "Where there is a GPU: a thread to a block and 16 threads to a block, many blocks a launch; and as the study "
         "had it, a copy for each block and a launch for each step.",
    measure=measure, show=show, seconds={"quick": 4, "full": 40})
