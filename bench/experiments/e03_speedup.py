# SPDX-License-Identifier: Apache-2.0
"""E3: speedup and efficiency, from E1's measurements."""
from laboratory.experiment import Experiment, Panel, Series, Shown, Table
from laboratory.published import value as published, values as published_values
from laboratory.values import derive, given, size

from . import e01_executors as e01


def lines(measured):
    """(label, factors, count of threads or ranks) of each parallel executor; for a GPU the number is None."""
    for label, of in e01.lines(measured, "encrypt"):
        if of["executor"] != "sequential":
            count = of.get("threads", of.get("ranks"))
            if count is None or count > 1:
                yield label, of, count


def show(measured):
    panels, rows, efficiency_rows = [], [], []
    sizes = measured.factors("bytes", "speedup", direction="encrypt")
    for label, of, count in lines(measured):
        values = [measured.value("speedup", bytes=size_, **of) for size_ in sizes]
        rows.append([label, *values])
        if count is not None:
            efficiency_rows.append([label, *[derive("percent of", value, given(count)) if value else None
                                             for value in values]])
        panels.append(Series(label, [given(size_) for size_ in sizes], values))
    cuda = e01.of_cuda(measured)
    of_study = [("openmp_8", "study: OpenMP, 8 threads"), ("mpi_32", "study: MPI, 32 ranks"),
                *([("cuda", "study: CUDA")] if cuda else [])]
    for key, label in of_study:
        panels.append(Series(label, [given(size_) for size_ in e01.SIZES],
                             published_values(f"pousa/speedup_over_sequential/{key}"), "published"))
    counts = [count for _, of, count in lines(measured) if of["executor"] == "openmp"]
    for count in dict.fromkeys(counts):
        panels.append(Series(f"ideal: {count}", [given(sizes[0]), given(e01.SIZES[-1])],
                             [given(count), given(count)], "ideal"))
    heads = ["", *[size(size_) for size_ in sizes]]
    finding = ["eight threads reached ", published("pousa/speedup_over_sequential/openmp_8/5"),
               " x at 255 MB and ", published("pousa/speedup_over_sequential/openmp_8/0"), " x at 1 KB; CUDA ",
               published("pousa/speedup_over_sequential/cuda/5"), " x"]
    panel = Panel("Speedup over one thread", "bytes", "times as fast", panels, logx=True, logy=True, x_is="bytes")
    if not counts:
        table = Table("Speedup", heads, rows)
        return (Shown("in part", finding, cuda, [panel], [table]) if cuda else
                Shown("open", finding, ["one core cannot show it"]))
    count = counts[-1]
    at = [measured.value("speedup", bytes=size_, threads=count, executor="openmp", direction="encrypt")
          for size_ in (sizes[0], sizes[-1])]
    efficiency = float(at[1]) / count
    outcome = "holds" if efficiency >= 0.9 else "in part" if efficiency >= 0.6 else "does not hold"
    return Shown(outcome, finding,
                 [f"{count} threads reached ", at[1], f" x at {size(sizes[-1])}, ",
                  derive("percent of", at[1], given(count)), " % of ideal, and ", at[0],
                  f" x at {size(sizes[0])}", *(["; ", *cuda] if cuda else [])],
                 [panel],
                 [Table("Speedup (of MPI: over one rank)", heads, rows),
                  Table("Efficiency, per cent", heads, efficiency_rows)],
                 ["Each ratio was formed in one round and is the median of the rounds. The finding counts as "
                  "held where the largest message reaches nine tenths of ideal, in part from six tenths."])


EXPERIMENT = Experiment(
    name="E3", title="Speedup and efficiency", study="pousa",
    did="Divided the sequential time by each executor's.",
    here="The same, of E1's measurements.",
    measure=None, uses="E1", show=show, seconds={"quick": 0, "full": 0})
