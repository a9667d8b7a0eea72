# SPDX-License-Identifier: Apache-2.0
"""E3: speedup and efficiency, from E1's measurements."""
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict, judged
from laboratory.judgement import in_steps
from laboratory.published import label, value as published, values as published_values
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


def judge_openmp(measured):
    counts = [count for count in e01.counts_within_cores(measured, "threads", "openmp") if count > 1]
    if not counts:
        return Verdict("open", ["no number of threads above one had a core for each"])
    count = counts[-1]
    of = dict(threads=count, executor="openmp", direction="encrypt")
    sizes = measured.factors("bytes", "speedup", **of)
    speedups = {size_: measured.value("speedup", bytes=size_, **of) for size_ in sizes}
    efficiency = {size_: derive("percent of", speedup, given(count)) for size_, speedup in speedups.items()}
    worst = min(sizes, key=lambda size_: float(speedups[size_]))
    here = [f"{count} threads reached ", speedups[sizes[-1]], f" x at {size(sizes[-1])}, ", efficiency[sizes[-1]],
            f" % of perfect scaling, and least at {size(worst)}, ", speedups[worst], " x, ", efficiency[worst], " %"]
    parts = [(size(size_), measured.is_at_least(share, e01.LINEAR)) for size_, share in efficiency.items()]
    if measured.is_at_least(efficiency[sizes[-1]], e01.IN_PART) is False:
        parts = [(name, False) for name, _ in parts]
    return judged(parts, here, "at each size at least nine tenths of perfect scaling; it does not hold below six tenths at "
                  "the largest", ["MPI and CUDA are not judged here, and E1 has them"], speedups.values())


def judge_cuda(measured, factor):
    """Whether CUDA's speedup is more than so many times that of all cores."""
    ratios = dict(e01.against_the_rest(measured))
    if not ratios:
        return Verdict("open", ["no CUDA device was measured"])
    largest = list(ratios)[-1]
    ratio = ratios[largest]
    before, who = e01.rest(measured)
    here = [f"CUDA with `cuda_compute`, copies included, was {before}", ratio,
            f" times as fast as {who}, with `compute`, at {size(largest)}"]
    where = "at the largest size that was measured beside it"
    if factor == 1:
        return judged([(size(largest), measured.is_more(ratio, 1))], here, f"faster than {who}, {where}")
    return Verdict(in_steps(measured.is_at_least(ratio, factor), measured.is_more(ratio, 1)), here,
                   f"at least ten times as fast as {who}, {where}; in part: faster")


PUBLISHED = "pousa/speedup_over_sequential"


def by_size(measured, sizes):
    """The figure of speedups by size: of each executor one line."""
    series, ideal = [], {}
    for name, of in e01.drawn(measured, "encrypt"):
        count = of.get("threads", of.get("ranks"))
        if of["executor"] == "sequential" or count == 1:
            continue
        series.append(Series(name, [given(size_) for size_ in sizes],
                             [measured.value("speedup", bytes=size_, **of) for size_ in sizes]))
        if count is not None:
            ideal[count] = Series(f"ideal: {count}", [given(sizes[0]), given(e01.SIZES[-1])], [given(count)] * 2, "ideal")
    has_cuda = measured.find("speedup", executor="cuda")
    for key in ("openmp_8", "mpi_32", *(["cuda"] if has_cuda else [])):
        series.append(Series(label(f"{PUBLISHED}/{key}"), [given(size_) for size_ in e01.SIZES],
                             published_values(f"{PUBLISHED}/{key}"), "published"))
    return Panel("Speedup against size", "bytes", "times as fast", [*series, *ideal.values()], logx=True, logy=True,
                 x_is="bytes")


def by_cores(measured):
    """The figure of speedups by cores, each executor on the largest data that it was measured on."""
    series, cores = [], measured.machine["cores"]
    for executor, factor, name in (("openmp", "threads", "OpenMP"), ("mpi", "ranks", "MPI")):
        of = dict(executor=executor, direction="encrypt")
        sizes = measured.factors("bytes", "speedup", **of)
        counts = [count for count in measured.factors(factor, "speedup", **of) if count > 1]
        within = [count for count in counts if count <= cores]
        beyond = [count for count in counts if count > cores]
        # The second line begins where the first ends.
        for words, some in (("", within), (", more than cores", [*within[-1:], *beyond] if beyond else [])):
            if some:
                series.append(Series(f"{name}{words}, {size(sizes[-1])}", [given(count) for count in some],
                                     [measured.value("speedup", bytes=sizes[-1], **{factor: count}, **of)
                                      for count in some]))
    last = len(e01.SIZES) - 1
    for executor, counts, keys in (("openmp", [published("pousa/cores/openmp")], ("openmp_8",)),
                                   ("mpi", published_values("pousa/cores/mpi"), ("mpi_8", "mpi_16", "mpi_32"))):
        series.append(Series(label(f"{PUBLISHED}/{executor}"), counts,
                             [published(f"{PUBLISHED}/{key}/{last}") for key in keys], "published"))
    most = max(cores, *(float(count) for count in counts))
    series.append(Series("ideal", [given(1), given(most)], [given(1), given(most)], "ideal"))
    return Panel("Speedup against cores", "threads, ranks or cores", "times as fast", series, logx=True, logy=True,
                 x_is="cores")


def beside(measured):
    for key in e01.EXECUTORS[1:]:
        yield from e01.by_size(measured, "pousa.speedups", "speedup_over_sequential", key, "speedup", " times")


def show(measured):
    rows, efficiency_rows = [], []
    sizes = measured.factors("bytes", "speedup", direction="encrypt")
    for name, of, count in lines(measured):
        values = [measured.value("speedup", bytes=size_, **of) for size_ in sizes]
        rows.append([name, *values])
        if count is not None:
            efficiency_rows.append([name, *[derive("percent of", value, given(count)) if value else None
                                            for value in values]])
    heads = ["", *[size(size_) for size_ in sizes]]
    tables = [Table("Speedup (of MPI: over one rank)", heads, rows)]
    if efficiency_rows:
        tables.append(Table("Efficiency, per cent", heads, efficiency_rows))
    return Shown({"pousa.openmp-scales": judge_openmp(measured),
                  "pousa.cuda-magnitude": judge_cuda(measured, ORDER),
                  "ci-aim.earlier-speed": judge_cuda(measured, 1),
                  "ci-aim.computing-on-gpu": judge_cuda(measured, ORDER)},
                 [*([by_cores(measured)] if efficiency_rows else []), by_size(measured, sizes)], tables,
                 ["Each ratio was formed in one round and is the median of the rounds. Where all cores were not measured "
                  "beside a device, they count as one core times their number."])


EXPERIMENT = Experiment(
    name="E3", title="Speedup and efficiency",
    did=("pousa.speedup-defined", "pousa.speedups", "ci-aim.speedup-defined"),
    judges=("pousa.openmp-scales", "pousa.cuda-magnitude", "ci-aim.earlier-speed", "ci-aim.computing-on-gpu"),
    here="The quotients of E1's measurements.",
    measure=None, uses="E1", show=show, beside=beside, seconds={"quick": 0, "full": 0})
