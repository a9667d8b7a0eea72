# SPDX-License-Identifier: Apache-2.0
"""E3: speedup and efficiency, from E1's measurements."""
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict, largest_and_least, separated
from laboratory.judgement import OUTCOMES, TWICE, agreed, by_parts, in_steps
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

# Where a program gains well: what each thread or rank beyond the first adds, as a part of what perfect scaling adds. (Half of a
# perfect speedup would be no gain at all with two threads.)
WELL = 0.4
GAINS = ("at each size each thread or rank beyond the first adds at least four tenths of what perfect scaling adds, and CUDA is at "
         "least twice as fast as one core")


def least_speedup(count):
    """The speedup from which on so many threads or ranks gain well; without a number, a device."""
    return TWICE if count is None else 1 + WELL * (count - 1)


def judge_gains(measured):
    """Whether each parallel program gains well at each size."""
    parts, here, by, missing = [], [], [], dict(e01.NOT_MEASURED)
    for name, of, one in e01.parallel(measured):
        del missing[of["executor"]]
        speedups = {size_: measured.value("speedup", bytes=size_, **of)
                    for size_ in measured.factors("bytes", "speedup", **of)}
        limit = least_speedup(of.get("threads", of.get("ranks")))
        parts += [(f"{name} at {size(size_)}", measured.is_at_least(speedup, limit)) for size_, speedup in speedups.items()]
        by += speedups.values()
        here.append([f"{name} was ", *largest_and_least(speedups, f"as fast as {one}")])
    if not parts:
        return Verdict("open", [measured.none_above_one("threads", "ranks")])
    return measured.judged(parts, separated(here), GAINS, missing.values(), by)


IN_WORDS = {ORDER: "ten times", TWICE: "twice", 1: "as fast"}
WHAT_IS = {ORDER: "far beyond the order: CUDA is at least ten times as fast as", TWICE: "high: CUDA is at least twice as fast as",
           1: "CUDA is faster than"}
BY_EACH = "by each measurement that is not too near to the limits"


def judge_cuda(measured, factor):
    """Whether CUDA is at least so many times as fast as the cores of a cluster; with 1, whether it is faster."""
    sizes = list(e01.over_the_cluster(measured))
    if not sizes:
        return e01.no_device()
    here, ratios, outcomes, unclear = ["CUDA with `cuda_compute`, copies included, was "], {}, {}, []
    for name, speedup in e01.by_each_experiment(measured, sizes[-1]).items():
        again = f"; by {name}, which measures the same again, " if ratios else ""
        ratios[name] = ratio = derive("quotient", speedup, given(e01.CLUSTER))
        here += [again, ratio, " times" if again else f" times as fast as {e01.PERFECT}, with `compute` ({size(sizes[-1])})",
                 ", that is ", speedup, " times as fast as one core"]
        is_faster = measured.is_more(ratio, 1)
        is_so = is_faster if factor == 1 else measured.is_at_least(ratio, factor)
        outcomes[name] = by_parts([is_faster]) if factor == 1 else in_steps(is_so, is_faster)
        unclear += [f"{name}'s figure"] if is_so is None else []
    outcome = agreed(outcomes.values())
    here += [f"; too near to {IN_WORDS[factor]} to be said: {', '.join(unclear)}"] if unclear else []
    if len(set(outcomes.values()) - {"open"}) > 1:
        here.append(f"; {', '.join(f'by {name} it {OUTCOMES[said]}' for name, said in outcomes.items())}, and what two measurements say "
                    "differently is not said")
    rule = f"{WHAT_IS[factor]} {e01.PERFECT}, at the largest size at which one core was measured beside it, {BY_EACH}"
    return measured.decided(Verdict(outcome, here, f"{rule}{'' if factor == 1 else '; in part: faster'}", tuple(
        ratio for name, ratio in ratios.items() if outcome == "open" or outcomes[name] != "open")))


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
    return Shown({"pousa.gains-well": judge_gains(measured),
                  "pousa.cuda-magnitude": judge_cuda(measured, ORDER),
                  "ci-aim.earlier-speed": judge_cuda(measured, 1),
                  "ci-aim.computing-on-gpu": judge_cuda(measured, TWICE)},
                 [*([by_cores(measured)] if efficiency_rows else []), by_size(measured, sizes)], tables,
                 ["Each ratio was formed in one round and is the median of the rounds. A device is compared with "
                  f"{e01.CLUSTER} cores, which count as one core times their number: no cluster of so many is faster than that."])


EXPERIMENT = Experiment(
    name="E3", title="Speedup and efficiency",
    did=("pousa.speedup-defined", "pousa.speedups", "ci-aim.speedup-defined"),
    judges=("pousa.gains-well", "pousa.cuda-magnitude", "ci-aim.earlier-speed", "ci-aim.computing-on-gpu"),
    here="The quotients of E1's measurements.",
    measure=None, uses="E1", show=show, beside=beside, seconds={"quick": 0, "full": 0})
