# SPDX-License-Identifier: Apache-2.0
"""E1: AES-128 with every step computed, on data of 1 KB to 255 MB: one thread, OpenMP, MPI and CUDA."""
from laboratory import contests, device, mpi
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Unavailable
from laboratory.published import value as published, values as published_values
from laboratory.values import given, size

KB, MB = 1 << 10, 1 << 20
SIZES = [KB, 512 * KB, MB, 15 * MB, 128 * MB, 255 * MB]  # the study's
ECB = "aes-128-ecb"


def measure(lab):
    counts = tuple(lab.threads())
    sizes = SIZES[:4] if lab.quick else SIZES
    rounds = lab.pick(3, 3)
    contests.threads(lab, sizes=sizes, counts=counts, rounds=rounds, first="speedup")
    contests.threads(lab, sizes=lab.pick(SIZES[:3], SIZES[:4]), counts=counts, rounds=rounds,
                     directions=("decrypt",), first="speedup")
    if lab.quick:
        lab.leave_out("128 and 255 MB", "for the time; --full has them")
    if lab.cores == 1:
        lab.leave_out("OpenMP", "there is one core")
    measure_ranks(lab, rounds)
    device.measure_too(lab, "E1")


def measure_ranks(lab, rounds):
    """Numbers of ranks take turns, first on data in memory, then on data that rank 0 scatters and gathers."""
    counts = lab.threads()
    if counts[-1] < 4 and not lab.quick:
        counts = [*counts, 4]
    try:
        mpi.program()
        for kind, quantity, sizes in (("memory", "time", lab.pick(SIZES[1:4], SIZES[1:5])),
                                      ("scatter", "time with scatter and gather", lab.pick(SIZES[1:3], SIZES[1:4]))):
            rows = mpi.in_turns(lab, counts, kind, sizes, "--cipher", ECB, "--kernel", "compute", "--threads", 1,
                                "--runs", 1, rounds=lab.pick(2, rounds))
            for place, _ in enumerate(sizes):
                record_ranks(lab, quantity, {ranks: rows[ranks][place] for ranks in counts})
        lab.leave_out("MPI above 15 MB, in memory above 128 MB",
                      "for the time: each run is checked by encrypting and decrypting once more")
    except Unavailable as reason:
        lab.leave_out("MPI", str(reason))


def record_ranks(lab, quantity, rows):
    """Records the times of each number of ranks, and for each round the speedup over the first number."""
    seconds = {ranks: [seconds_of(row) for row in by_round] for ranks, by_round in rows.items()}
    first = next(iter(seconds.values()))
    for ranks, by_round in rows.items():
        of = {"cipher": ECB, "direction": "encrypt", "kernel": "compute", "executor": "mpi", "ranks": ranks,
              "bytes": by_round[0]["bytes"], "oversubscribed": ranks > lab.cores}
        lab.record_rounds(of, quantity, "s", seconds[ranks])
        lab.record_rounds(of, quantity.replace("time", "speedup"), "ratio",
                          [one / many for one, many in zip(first, seconds[ranks])])


def seconds_of(row):
    phases = ("scatter_seconds", "compute_seconds", "gather_seconds")
    return row["seconds"]["median"] if "seconds" in row else sum(row[phase]["median"] for phase in phases)


def lines(measured, direction):
    """(label, factors) of each line of a figure."""
    yield "sequential", dict(executor="sequential", direction=direction)
    for count in measured.factors("threads", executor="openmp", direction=direction):
        yield f"OpenMP, {count} threads", dict(executor="openmp", threads=count, direction=direction)
    for ranks in measured.factors("ranks", executor="mpi", direction=direction):
        beyond = "" if ranks <= measured.machine["cores"] else " (oversubscribed)"
        yield f"MPI, {ranks} rank{'' if ranks == 1 else 's'}{beyond}", dict(
            executor="mpi", ranks=ranks, direction=direction)
    if measured.find(executor="cuda", direction=direction):
        yield "CUDA", dict(executor="cuda", direction=direction)


def panel(measured, direction):
    series = []
    for label, of in lines(measured, direction):
        sizes = measured.factors("bytes", "time", **of)
        series.append(Series(label, [given(size_) for size_ in sizes],
                             [measured.value("time", bytes=size_, **of) for size_ in sizes]))
    if direction == "encrypt":
        for key, label in (("sequential", "study: sequential"), ("openmp_8", "study: OpenMP, 8 threads"),
                           ("mpi_32", "study: MPI, 32 ranks"), ("cuda", "study: CUDA")):
            series.append(Series(label, [given(size_) for size_ in SIZES],
                                 published_values(f"pousa/time_s/{key}"), "published"))
    return Panel(f"AES-128-ECB, {direction}", "bytes", "seconds", series, logx=True, logy=True,
                 x_is="bytes")


def table(measured, direction):
    sizes = measured.factors("bytes", "time", direction=direction)
    rows = [[label, *[measured.value("time", bytes=size_, **of) for size_ in sizes]]
            for label, of in lines(measured, direction)]
    return Table(f"Seconds to {direction}, here", ["", *[size(size_) for size_ in sizes]], rows)


def study_table():
    names = {"sequential": "sequential", "openmp_8": "OpenMP, 8 threads", "mpi_8": "MPI, 8 ranks",
             "mpi_16": "MPI, 16 ranks", "mpi_32": "MPI, 32 ranks", "cuda": "CUDA"}
    return Table("Seconds to encrypt, published", ["", *[size(size_) for size_ in SIZES]],
                 [[label, *published_values(f"pousa/time_s/{key}")] for key, label in names.items()])


def gathered(measured):
    quantity = "time with scatter and gather"
    rows = [[size(bytes_), *[measured.value(quantity, bytes=bytes_, ranks=ranks)
                             for ranks in measured.factors("ranks", quantity)]]
            for bytes_ in measured.factors("bytes", quantity)]
    heads = [f"{ranks} rank{'' if ranks == 1 else 's'}" for ranks in measured.factors("ranks", quantity)]
    return [Table("Seconds with rank 0's data scattered and gathered", ["", *heads], rows)] if rows else []


def of_cuda(measured):
    """Words and numbers that say what CUDA took; empty if no device was measured."""
    of = dict(executor="cuda", direction="encrypt")
    sizes = measured.factors("bytes", "time", **of)
    if not sizes:
        return []
    compared = measured.factors("bytes", "speedup", **of)
    return ["CUDA took ", measured.value("time", bytes=sizes[-1], **of), f" s ({size(sizes[-1])}), copies included, and "
            "was ", measured.value("speedup", bytes=compared[-1], **of), f" times as fast as one thread "
            f"({size(compared[-1])})"]


def show(measured):
    encrypt = dict(executor="openmp", direction="encrypt")
    cuda = of_cuda(measured)
    finding = ["eight threads took ", published("pousa/time_s/openmp_8/5"), " s where one took ",
               published("pousa/time_s/sequential/5"), " s (255 MB), and were faster at every size; CUDA took ", published("pousa/time_s/cuda/5"), " s"]
    counts = measured.factors("threads", **encrypt)
    if not counts:
        outcome, here = ("in part", cuda) if cuda else ("open", ["one core cannot show it"])
    else:
        sizes = measured.factors("bytes", "time", **encrypt)
        ratios = [measured.value("speedup", bytes=size_, threads=counts[-1], **encrypt) for size_ in sizes]
        faster = [float(ratio) > 1 for ratio in ratios]
        outcome = "holds" if all(faster) else "in part" if faster[-1] else "does not hold"
        where = [size(size_) for size_, is_faster in zip(sizes, faster) if not is_faster]
        here = [f"{counts[-1]} threads took ",
                measured.value("time", bytes=sizes[-1], threads=counts[-1], **encrypt), " s where one took ",
                measured.value("time", bytes=sizes[-1], executor="sequential", direction="encrypt"),
                f" s ({size(sizes[-1])})",
                f"; they were not faster at {', '.join(where)}" if where else ", and were faster at every size",
                *(["; ", *cuda] if cuda else [])]
    panels = [panel(measured, direction) for direction in measured.factors("direction")]
    tables = [table(measured, direction) for direction in measured.factors("direction")]
    return Shown(outcome, finding, here, panels, [*tables, *gathered(measured), study_table()],
                 ["Sizes are binary: 1 KB is 1 KiB. Ranks work on whole pages of 4 KiB."])


EXPERIMENT = Experiment(
    name="E1", title="AES-128 by executor", study="pousa",
    did="A compute-intensive AES-128 in C on one core, with OpenMP on eight cores, with MPI on 8 to 32 cores "
        "of four machines, and with CUDA; data of 1 KB to 255 MB.",
    here="The kernel `compute` (each step of FIPS 197, S-box from a table) in ECB: one thread, OpenMP with a "
         "static schedule and equal shares, MPI ranks where paes-mpi is built. One machine instead of four. Where there "
         "is a GPU, its kernel `cuda_compute`, from pinned memory to pinned memory.",
    measure=measure, show=show, seconds={"quick": 26, "full": 240})
