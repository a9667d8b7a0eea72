# SPDX-License-Identifier: Apache-2.0
"""E15: MPI ranks on the hosts of a cluster, compared with the sequential program on one of them."""
from laboratory import mpi
from laboratory.experiment import OURS, Counterpart, Experiment, Panel, Series, Shown, Table, Unavailable, Verdict
from laboratory.published import label, sizes as published_sizes, value as published, values as published_values
from laboratory.values import given, size

from . import e01_executors as e01

ECB = e01.ECB
RANKS = (8, 16, 32)  # that published figures are of
PUBLISHED = "pousa/speedup_over_sequential"
OVER = "speedup over one thread"  # of the sequential program
WAYS = {"memory": "", "scatter": " with scatter and gather"}  # by the commands of paes-mpi-bench


def measure(lab):
    cluster = lab.cluster
    counts = lab.ranks(lab.powers_of_two(cluster.slots))
    if lab.quick and not cluster.is_given and "ranks" not in lab.chosen:
        raise Unavailable("there is no cluster, and E1 has the ranks of one machine; --full, --ranks, or --hostfile and "
                          "srun measure it")
    sizes = lab.sizes(e01.SIZES[:4] if lab.quick else e01.SIZES)
    if lab.quick and "sizes" not in lab.chosen:
        lab.leave_out(" and ".join(map(size, e01.SIZES[4:])), "for the time; --full has them")
    for runs, group in e01.runs_of_a_turn(sizes):
        measure_in_turns(lab, cluster, counts, group, runs=runs, rounds=lab.pick(2, 3 if runs == 1 else 7))


def measure_in_turns(lab, cluster, counts, sizes, runs, rounds):
    """In each round, the sequential program and then each number of ranks once. A turn of either is the median of the runs."""
    alone = {size_: [] for size_ in sizes}
    together = {}  # by the ranks, the way, the size: (what the machines are, seconds of each round)
    listed = ",".join(map(str, sizes))
    for turn in lab.as_time_allows(range(rounds), lambda turn: f"round {turn + 1} of {', '.join(map(size, sizes))}"):
        lab.step(f"the sequential program, {listed} bytes, round {turn + 1} of {rounds}")
        for row in mpi.first_host(cluster, "threads", "--cipher", ECB, "--kernel", "compute", "--threads", 1, "--size", listed,
                                  "--runs", runs)["results"]:
            alone[row["bytes"]].append(row["seconds_median"])
        for ranks in counts:
            lab.step(f"{ranks} ranks, {listed} bytes, round {turn + 1} of {rounds}")
            for way in WAYS:
                document = mpi.document(ranks, way, "--bytes", listed, "--cipher", ECB, "--kernel", "compute", "--threads", 1,
                                        "--runs", runs, where=cluster)
                for row in document["results"]:
                    _, seconds = together.setdefault((ranks, way, row["bytes"]), (document["mpi"], []))
                    seconds.append(e01.seconds_of(row))
    of = {"cipher": ECB, "direction": "encrypt", "kernel": "compute"}
    for size_, seconds in alone.items():
        lab.record_rounds({**of, "executor": "sequential", "bytes": size_}, "time", "s", seconds)
    for (ranks, way, size_), (job, seconds) in together.items():
        at = {**of, "executor": "mpi", "ranks": ranks, "bytes": size_, **{name: job[name] for name in mpi.KIND},
              "launcher": cluster.launcher_name}
        lab.record_rounds(at, f"time{WAYS[way]}", "s", seconds)
        lab.record_rounds(at, f"speedup{WAYS[way]}", "ratio",
                          [one / many for one, many in zip(alone[size_], seconds, strict=True)])


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def job_of(measured, ranks):
    """The factors of a number of ranks that say on what kind of machines they ran."""
    _, row = measured.find("time", executor="mpi", ranks=ranks)[0]
    return row["of"]


def place(job):
    where = f"{plural(job['hosts'], 'host')} ({plural(job['machines'], 'machine')} with {plural(job['cores'], 'core')}"
    return f"{where}, started by {job['launcher']})"


def name_of(measured, ranks):
    return plural(ranks, "rank") + (" (oversubscribed)" if job_of(measured, ranks)["oversubscribed"] else "")


def by_ranks(measured, way, sizes, counts):
    """Speedup by the number of ranks: a line for each size."""
    quantity = f"speedup{WAYS[way]}"
    series = [Series(size(size_), [given(ranks) for ranks in counts],
                     [measured.value(quantity, bytes=size_, ranks=ranks) for ranks in counts]) for size_ in sizes]
    if way == "memory":  # published times cannot include handing out and collecting (the remark on them says why)
        series.append(Series(label(f"{PUBLISHED}/mpi"), [given(ranks) for ranks in RANKS],
                             [published(f"{PUBLISHED}/mpi_{ranks}/5") for ranks in RANKS], "published"))
    most = max([*counts, *(RANKS if way == "memory" else [])])
    series.append(Series("ideal", [given(1), given(most)], [given(1), given(most)], "ideal"))
    title = "Data in the ranks' memory" if way == "memory" else "Data handed out and collected by rank 0"
    return Panel(title, "ranks", OVER, series, logx=True, logy=True)


def by_size(measured, sizes, counts):
    series = [Series(name_of(measured, ranks), [given(size_) for size_ in sizes],
                     [measured.value("speedup", bytes=size_, ranks=ranks) for size_ in sizes]) for ranks in counts]
    for ranks in RANKS:
        path = f"{PUBLISHED}/mpi_{ranks}"
        series.append(Series(label(path), [given(size_) for size_ in e01.SIZES], published_values(path), "published"))
    return Panel("Data in the ranks' memory, by size", "bytes", OVER, series, logx=True, logy=True, x_is="bytes")


def tables_of(measured, sizes, counts):
    heads = ["", *map(size, sizes)]
    names = {ranks: name_of(measured, ranks) for ranks in counts}
    seconds = [["sequential", *[measured.value("time", executor="sequential", bytes=size_) for size_ in sizes]]]
    tables = [Table("Where the ranks ran", ["", *mpi.KIND[:3]],
                    [[names[ranks], *[given(job_of(measured, ranks)[kind]) for kind in mpi.KIND[:3]]] for ranks in counts])]
    for way in WAYS.values():
        seconds += [[names[ranks] + way, *[measured.value(f"time{way}", executor="mpi", ranks=ranks, bytes=size_)
                                           for size_ in sizes]] for ranks in counts]
        tables.append(Table(f"Times as fast as the sequential program{way}", heads,
                            [[names[ranks], *[measured.value(f"speedup{way}", ranks=ranks, bytes=size_) for size_ in sizes]]
                             for ranks in counts]))
    return [*tables, Table("Seconds", heads, seconds)]


def published_table():
    keys = [f"mpi_{ranks}" for ranks in RANKS]
    return Table("speedup over one core", ["", *published_sizes("pousa")],
                 [[label(f"{PUBLISHED}/{key}"), *published_values(f"{PUBLISHED}/{key}")] for key in keys], "pousa.speedups")


def most_with_cores(measured, counts):
    """The largest number of ranks each of which had a core; None if that is only one rank."""
    return max((ranks for ranks in counts if ranks > 1 and not job_of(measured, ranks)["oversubscribed"]), default=None)


def without_cores(measured, counts):
    job = job_of(measured, counts[-1])
    return f"no number of ranks above one had a core for each: {plural(counts[-1], 'rank')} ran on {place(job)}"


def judge_linear(measured, sizes, counts):
    """What the ranks say, unless on the same machine E1 says something else."""
    ranks = most_with_cores(measured, counts)
    if ranks is None:
        return Verdict("open", [without_cores(measured, counts)])
    job = job_of(measured, ranks)
    with_cores = [count for count in counts if not job_of(measured, count)["oversubscribed"]]
    more = [*one_rank(measured, sizes), f"; the ranks ran on {place(job)}", e01.doublings(with_cores)]
    verdict = e01.linear(measured, ranks, sizes, more, "the sequential program's speed")
    return e01.agreeing(verdict, "E1", e01.alone_linear(measured.of("E1"))) if job["machines"] == 1 else verdict


def one_rank(measured, sizes):
    """What one rank alone is to the sequential program, where that was measured."""
    alone = {size_: measured.value("speedup", bytes=size_, ranks=1) for size_ in (sizes[0], sizes[-1])}
    if not all(alone.values()):
        return []
    return ["; one rank alone was ", alone[sizes[0]], f" times as fast as the sequential program at {size(sizes[0])} and ",
            alone[sizes[-1]], f" times at {size(sizes[-1])}"]


def answer(measured, sizes, counts):
    ranks = most_with_cores(measured, counts) or counts[-1]
    words = []
    for size_ in dict.fromkeys((sizes[0], sizes[-1])):
        words += ["; " if words else "", f"{name_of(measured, ranks)} were ",
                  measured.value("speedup", bytes=size_, ranks=ranks), " times as fast as the sequential program with "
                  "data in their memory, and ", measured.value("speedup with scatter and gather", bytes=size_, ranks=ranks),
                  f" times with handing out and collecting it ({size(size_)})"]
    return Verdict("ours", [*words, *one_rank(measured, sizes), f"; on {place(job_of(measured, ranks))}"])


def show(measured):
    sizes = measured.factors("bytes", "speedup")
    counts = measured.factors("ranks", "speedup")
    return Shown({"pousa.mpi-linear": judge_linear(measured, sizes, counts), OURS: answer(measured, sizes, counts)},
                 [*(by_ranks(measured, way, sizes, counts) for way in WAYS), by_size(measured, sizes, counts)],
                 [*tables_of(measured, sizes, counts), published_table()],
                 ["A host has a name of its own, and a machine a running system: containers and network namespaces are "
                  "several hosts on one machine, between which nothing leaves its memory. Cores are the processors that "
                  "the ranks may run on. Oversubscribed: some machine had more ranks than cores. Published points are of the largest "
                  f"size where the axis has ranks. Up to {size(e01.MB)}, a turn of the sequential program and of ranks is the median "
                  "of several runs."])


def beside(measured):
    """Published figures of ranks beside as many ranks on several machines; E3 has those of one machine."""
    for wanted in RANKS:
        is_cluster = wanted in measured.factors("ranks", "speedup") and job_of(measured, wanted)["machines"] > 1
        for index, size_ in enumerate(e01.SIZES):
            value = measured.value("speedup", bytes=size_, ranks=wanted) if is_cluster else None
            yield Counterpart("pousa.speedups", f"speedup_over_sequential/mpi_{wanted}", index,
                              (value, f" times with {name_of(measured, wanted)}") if value else (),
                              "" if value else f"no run had {wanted} ranks on several machines")


EXPERIMENT = Experiment(
    name="E15", title="Ranks on a cluster",
    did=("pousa.mpi", "pousa.machines", "pousa.speedup-defined", "pousa.speedups"), judges=("pousa.mpi-linear",),
    asks="what is left of the ranks' speedup when one of them hands out the data and collects it",
    here="The kernel `compute` in AES-128-ECB. Ranks of one thread run on the hosts of `--hostfile`, in Slurm's "
         "allocation by `srun`, or without either on one machine; the sequential program runs on the host of rank 0, in "
         "turns with them. Each rank has an equal share in its memory, or rank 0 hands it out and collects it.",
    on_cluster=True, measure=measure, show=show, beside=beside, seconds={"quick": 1, "full": 440})
