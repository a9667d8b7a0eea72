# SPDX-License-Identifier: Apache-2.0
"""E3: speedup and efficiency, from E1's measurements."""
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import is_more
from laboratory.published import label, values as published_values
from laboratory.values import derive, given, size

from . import e01_executors as e01


def lines(measured):
    """(name, factors, count of threads or ranks) of each parallel executor; for a GPU the number is None."""
    for name, of in e01.lines(measured, "encrypt"):
        if of["executor"] != "sequential":
            count = of.get("threads", of.get("ranks"))
            if count is None or count > 1:
                yield name, of, count


ORDER = 10  # times as much: another order of magnitude


def judge_openmp(measured, sizes):
    counts = [count for count in e01.counts_within_cores(measured, "threads", "openmp") if count > 1]
    if not counts:
        return Verdict("open", ["no number of threads above one had a core for each"])
    count = counts[-1]
    at = [measured.value("speedup", bytes=size_, threads=count, executor="openmp", direction="encrypt")
          for size_ in (sizes[0], sizes[-1])]
    efficiency = derive("percent of", at[1], given(count))
    outcome = ("holds" if float(efficiency) >= e01.LINEAR else "in part" if float(efficiency) >= e01.IN_PART
               else "does not hold")
    return Verdict(outcome, [f"{count} threads reached ", at[1], f" x at {size(sizes[-1])}, ", efficiency,
                             " % of perfect scaling, and ", at[0], f" x at {size(sizes[0])}"])


def judge_cuda(measured, factor):
    """Whether CUDA's speedup is more than so many times that of all cores."""
    ratios = dict(e01.against_the_rest(measured))
    if not ratios:
        return Verdict("open", ["no CUDA device was measured"])
    largest = list(ratios)[-1]
    ratio = ratios[largest]
    if is_more(ratio, factor, 0 if factor > 1 else measured.margin):
        outcome = "holds"
    else:
        outcome = "in part" if is_more(ratio, 1, measured.margin) else "does not hold"
    return Verdict(outcome, ["CUDA with `cuda_compute`, copies included, was ", ratio,
                             f" times as fast as all cores with `compute` at {size(largest)}"])


def show(measured):
    series, rows, efficiency_rows = [], [], []
    sizes = measured.factors("bytes", "speedup", direction="encrypt")
    for name, of, count in lines(measured):
        values = [measured.value("speedup", bytes=size_, **of) for size_ in sizes]
        rows.append([name, *values])
        if count is not None:
            efficiency_rows.append([name, *[derive("percent of", value, given(count)) if value else None
                                            for value in values]])
        series.append(Series(name, [given(size_) for size_ in sizes], values))
    has_cuda = any(of["executor"] == "cuda" for _, of, _ in lines(measured))
    for key in ("openmp_8", "mpi_32", *(["cuda"] if has_cuda else [])):
        path = f"pousa/speedup_over_sequential/{key}"
        series.append(Series(label(path), [given(size_) for size_ in e01.SIZES], published_values(path), "published"))
    counts = [count for _, of, count in lines(measured) if of["executor"] == "openmp"]
    for count in dict.fromkeys(counts):
        series.append(Series(f"ideal: {count}", [given(sizes[0]), given(e01.SIZES[-1])],
                             [given(count), given(count)], "ideal"))
    heads = ["", *[size(size_) for size_ in sizes]]
    panel = Panel("Speedup over one thread", "bytes", "times as fast", series, logx=True, logy=True, x_is="bytes")
    tables = [Table("Speedup (of MPI: over one rank)", heads, rows)]
    if efficiency_rows:
        tables.append(Table("Efficiency, per cent", heads, efficiency_rows))
    return Shown({"pousa.openmp-scales": judge_openmp(measured, sizes),
                  "pousa.cuda-magnitude": judge_cuda(measured, ORDER),
                  "ci-aim.earlier-speed": judge_cuda(measured, 1),
                  "ci-aim.computing-on-gpu": judge_cuda(measured, ORDER)},
                 [panel], tables,
                 ["Each ratio was formed in one round and is the median of the rounds. Well: the largest message "
                  "reaches nine tenths of perfect scaling; in part: six tenths. A higher order, or far higher: ten "
                  "times all cores'. Where all cores were not measured beside the device, they count as one core "
                  "times their number."])


EXPERIMENT = Experiment(
    name="E3", title="Speedup and efficiency",
    did=("pousa.speedup-defined", "pousa.speedups", "ci-aim.speedup-defined"),
    judges=("pousa.openmp-scales", "pousa.cuda-magnitude", "ci-aim.earlier-speed", "ci-aim.computing-on-gpu"),
    here="The quotients of E1's measurements.",
    measure=None, uses="E1", show=show, seconds={"quick": 0, "full": 0})
