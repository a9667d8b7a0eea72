# SPDX-License-Identifier: Apache-2.0
"""E16: one GPU that takes the data in fragments, compared with ranks that have a GPU each. It needs CUDA devices."""
from laboratory import mpi, programs
from laboratory.experiment import Experiment, Failed, Panel, Series, Shown, Table, Unavailable, Verdict
from laboratory.values import derive, given, size

from . import e01_executors as e01

MB, GB = 1 << 20, 1 << 30
MOST_SCATTERED = 32 * GB - MB  # bytes, because MPI counts blocks in an int
OPTIONS = ("--cipher", e01.ECB, "--device", "cuda", "--kernel", "cuda_compute")
PHASES = ("scatter", "compute", "gather")
NO_DEVICE = "cuda is not available"  # how paes-mpi-bench says so


def measure(lab):
    cluster = lab.cluster
    reason = programs.cuda_reason()
    if reason is not None and not cluster.is_given:
        raise Unavailable(f"it needs CUDA devices: {reason}")
    try:
        first = mpi.document(1, "memory", *OPTIONS, "--bytes", MB, "--runs", 1, where=cluster)
    except Failed as error:
        if NO_DEVICE in str(error):
            raise Unavailable(f"it needs CUDA devices: {error}") from error
        raise
    counts = [ranks for ranks in lab.ranks(lab.powers_of_two(max(cluster.slots or 0, 2))) if ranks > 1]
    if not counts:
        raise Unavailable("one rank is no cluster")
    usual, why = usual_sizes(lab, first)
    sizes = lab.sizes(usual)
    if why and "sizes" not in lab.chosen:
        lab.leave_out("data beyond the memory of a GPU", why)
    alone = {size_: [] for size_ in sizes}
    together = {}  # by the ranks and the size: (what the machines are, rows of each round)
    rounds, listed = lab.pick(3, 5), ",".join(map(str, sizes))
    for turn in lab.as_time_allows(range(rounds), lambda turn: f"round {turn + 1}"):
        lab.step(f"one GPU, round {turn + 1} of {rounds}")
        for row in mpi.document(1, "memory", *OPTIONS, "--bytes", listed, "--runs", 1, where=cluster)["results"]:
            alone[row["bytes"]].append(row["seconds"]["median"])
        for ranks in counts:
            lab.step(f"{ranks} ranks, round {turn + 1} of {rounds}")
            document = mpi.document(ranks, "scatter", *OPTIONS, "--bytes", listed, "--runs", 1, where=cluster)
            for row in document["results"]:
                _, rows = together.setdefault((ranks, row["bytes"]), (document["mpi"], []))
                rows.append(row)
    of = {"cipher": e01.ECB, "kernel": "cuda_compute", "device": first["mpi"]["devices"]["name"],
          "memory_bytes": first["mpi"]["devices"]["memory_bytes"]}
    for size_, seconds in alone.items():
        lab.record_rounds({**of, "way": "fragments", "ranks": 1, "bytes": size_}, "time", "s", seconds)
    for (ranks, size_), (job, rows) in together.items():
        at = {**of, "way": "cluster", "ranks": ranks, "bytes": size_, "hosts": job["hosts"], "machines": job["machines"],
              "devices": job["devices"]["count"], "launcher": cluster.launcher_name}
        seconds = [e01.seconds_of(row) for row in rows]
        lab.record_rounds(at, "time", "s", seconds)
        lab.record_rounds(at, "time to one", "ratio", [many / one for one, many in zip(alone[size_], seconds, strict=True)])
        for phase in PHASES:
            lab.record_rounds(at, f"{phase} time", "s", [row[f"{phase}_seconds"]["median"] for row in rows])


def usual_sizes(lab, first):
    """(sizes, why none is beyond the GPU's memory): the host of rank 0 has memory for each of them three times."""
    host_bytes, device_bytes = first["machine"]["memory_bytes"], first["mpi"]["devices"]["memory_bytes"]
    most = min(host_bytes // 3, MOST_SCATTERED)
    sizes = [size_ for size_ in lab.pick([256 * MB, GB], [256 * MB, GB, 4 * GB]) if size_ <= most] or [64 * MB]
    beyond = -(-device_bytes * 5 // 4 // GB) * GB
    if lab.quick:
        return sizes, "for the time; --full has it where it can be"
    if beyond > most:
        return sizes, f"rank 0 can hand out no more than {size(most)} here"
    return sorted({*sizes, beyond}), ""


def jobs(measured):
    """The factors of each number of ranks."""
    return {ranks: measured.find("time", way="cluster", ranks=ranks)[0][1]["of"]
            for ranks in measured.factors("ranks", way="cluster")}


def name_of(job):
    has_own = job["devices"] == job["ranks"]
    return f"{job['ranks']} ranks, {'a GPU each' if has_own else 'which share ' + devices(job)}"


def devices(job):
    return f"{job['devices']} GPU{'' if job['devices'] == 1 else 's'}"


def judge(measured, sizes):
    own = {ranks: job for ranks, job in jobs(measured).items() if job["devices"] == job["ranks"]}
    if not own:
        ranks, job = list(jobs(measured).items())[-1]
        return Verdict("open", [f"{ranks} ranks shared {devices(job)}, which is no cluster of GPUs; they took ",
                                measured.value("time to one", way="cluster", ranks=ranks, bytes=sizes[-1]),
                                f" times as long as one GPU in fragments at {size(sizes[-1])}"])
    held, here, by = [], [], []
    for ranks, job in own.items():
        ratio = measured.value("time to one", way="cluster", ranks=ranks, bytes=sizes[-1])
        held.append((f"{ranks} ranks", measured.is_more(ratio, 1)))
        by.append(ratio)
        parts = [measured.value(f"{phase} time", way="cluster", ranks=ranks, bytes=sizes[-1]) for phase in PHASES]
        share = derive("percent for both", parts[0], parts[2],
                       measured.value("time", way="cluster", ranks=ranks, bytes=sizes[-1]))
        here += ["; " if here else "", f"{ranks} ranks with a GPU each on {job['hosts']} hosts took ", ratio,
                 f" times as long as one GPU in fragments at {size(sizes[-1])}, ", share,
                 " % of it to hand out the data and to collect it"]
    beyond = "beyond" if sizes[-1] > job["memory_bytes"] else "within"
    return measured.judged(held, [*here, f"; the data was {beyond} the GPU's memory of {size(job['memory_bytes'])}"],
                  "each number of ranks takes longer than one GPU in fragments, at the largest size", by=by)


def show(measured):
    sizes = measured.factors("bytes", "time", way="fragments")
    if not sizes:
        return Shown({})
    heads, found = [size(size_) for size_ in sizes], jobs(measured)
    rows = [["one GPU, in fragments", *[measured.value("time", way="fragments", bytes=size_) for size_ in sizes]]]
    bars = [Series("one GPU, in fragments", heads, rows[0][1:])]
    for ranks, job in found.items():
        of = dict(way="cluster", ranks=ranks)
        seconds = [measured.value("time", bytes=size_, **of) for size_ in sizes]
        bars.append(Series(name_of(job), heads, seconds))
        rows.append([name_of(job), *seconds])
        rows += [[f"... to {what}", *[measured.value(f"{phase} time", bytes=size_, **of) for size_ in sizes]]
                 for phase, what in zip(PHASES, ("hand out", "encrypt", "collect"))]
        rows.append(["... times as long as one GPU", *[measured.value("time to one", bytes=size_, **of) for size_ in sizes]])
    where = [[name_of(job), *[given(job[kind]) for kind in ("hosts", "machines", "devices")]] for job in found.values()]
    return Shown({"ci-aim.gpu-cluster": judge(measured, sizes)},
                 [Panel("From rank 0's memory and back", "", "seconds", bars, kind="bars", logy=True)],
                 [Table("Seconds", ["", *heads], rows), Table("Where the ranks ran", ["", "hosts", "machines", "GPUs"], where)],
                 ["The program keeps a few pieces of the data on a GPU at a time, with one GPU as with several, so that no "
                  "data is too large for its memory. Memory of the host is pageable, as MPI's is."])


EXPERIMENT = Experiment(
    name="E16", title="One GPU in fragments, and a cluster of GPUs",
    did=("ci-aim.gpu-cluster-design",), judges=("ci-aim.gpu-cluster",),
    here="The kernel `cuda_compute` in AES-128-ECB. One rank with a GPU has all data and sends it to the GPU in pieces; "
         "more ranks with a GPU each get equal shares from rank 0 and give them back.",
    on_cluster=True, measure=measure, show=show, seconds={"quick": 1, "full": 1})
