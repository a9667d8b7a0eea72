# SPDX-License-Identifier: Apache-2.0
"""E8: files encrypted by several threads with a static and a dynamic schedule, and how the size of a piece matters."""
import secrets

from laboratory import contests, scratch
from laboratory.experiment import Experiment, Failed, Panel, Series, Shown, Table
from laboratory.published import value as published
from laboratory.values import given, size

KB, MB = 1000, 1000 * 1000
SIZES = [3600, 85 * KB, 4500 * KB, 50 * MB, 110 * MB, 685 * MB]  # the study's
PIECES = (16, 256, 4096, 65536)
KERNELS = ("compute", "tables")
ECB = "aes-128-ecb"


def measure(lab):
    measure_pieces(lab)
    sizes = SIZES[:4] if lab.quick else SIZES
    if lab.quick:
        lab.leave_out("110 and 685 MB", "for the time; --full has them")
    with scratch.scratch_folder() as folder:
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(16))
        for size_ in sizes:
            if scratch.room() < 4 * size_:
                lab.leave_out(size(size_), "not enough memory for the files")
                continue
            measure_files(lab, folder, key, size_)


def measure_pieces(lab):
    if lab.cores == 1:
        lab.leave_out("threads", "there is one core")
        return
    for piece in PIECES:
        for kernel in KERNELS:
            contests.threads(lab, sizes=[4500 * KB // 16 * 16], kernels=(kernel,), counts=(lab.cores,),
                             schedules=("static", "dynamic"), piece_sizes=(piece,), rounds=lab.pick(3, 7),
                             first="ratio to static")
    for row in lab.measurements:
        row["of"]["place"] = "memory"


def measure_files(lab, folder, key, size_):
    text = scratch.random_file(folder / "text", size_)
    wanted, out = folder / "wanted", folder / "out"
    scratch.seconds_of(scratch.cipher(ECB, key, text, wanted, kernel="openssl"))
    ways = [(1, "static")] + [(count, schedule) for count in [*lab.threads()[1:], *([] if lab.quick else [2 * lab.cores])]
                              for schedule in ("static", "dynamic")]
    seconds = {way: [] for way in ways}
    rounds = lab.pick(2, 3) if size_ > 10 * MB else 7
    for turn in range(-1 if size_ <= 10 * MB else 0, rounds):
        for count, schedule in ways:
            lab.step(f"{size(size_)}, {count} threads, {schedule}, round {turn + 1} of {rounds}")
            taken = scratch.seconds_of(scratch.cipher(
                ECB, key, text, out, kernel="compute", threads=count, schedule=schedule))
            if not scratch.same(out, wanted):
                raise Failed("paes cipher: wrong output")
            if turn >= 0:
                seconds[count, schedule].append(taken)
    for count, schedule in ways:
        of = {"place": "file", "threads": count, "schedule": schedule, "bytes": size_, "kernel": "compute",
              "oversubscribed": count > lab.cores}
        lab.record_rounds(of, "time", "s", seconds[count, schedule])
        lab.record_rounds(of, "speedup", "ratio",
                          [one / many for one, many in zip(seconds[1, "static"], seconds[count, schedule])])
        if schedule == "dynamic":
            lab.record_rounds(of, "ratio to static", "ratio",
                              [one / other for one, other in zip(seconds[count, "static"],
                                                                 seconds[count, schedule])])


def show(measured):
    files = dict(place="file")
    sizes = measured.factors("bytes", **files)
    counts = [count for count in measured.factors("threads", **files) if count > 1]
    cores = measured.machine["cores"]
    panels, rows = [], []
    for schedule in ("static", "dynamic"):
        series = []
        for bytes_ in sizes:
            at = [1, *counts]
            values = [measured.value("speedup", bytes=bytes_, threads=count,
                                     schedule="static" if count == 1 else schedule, **files) for count in at]
            series.append(Series(size(bytes_), [given(count) for count in at], values))
        series.append(Series("ideal", [given(1), given(cores)], [given(1), given(cores)], "ideal"))
        panels.append(Panel(f"Files, {schedule} schedule", "threads", "speedup", series))
    for bytes_ in sizes:
        rows.append([size(bytes_), measured.value("time", bytes=bytes_, threads=1, **files)]
                    + [measured.value(quantity, bytes=bytes_, threads=count, schedule=schedule, **files)
                       for count in counts for quantity, schedule in
                       (("speedup", "static"), ("speedup", "dynamic"), ("ratio to static", "dynamic"))])
    heads = ["", "1 thread, s"]
    for count in counts:
        beyond = "" if count <= cores else " (oversubscribed)"
        heads += [f"{count} threads{beyond}: static", "dynamic", "dynamic to static"]
    tables = [Table("Files: seconds of one thread, then speedups", heads, rows)]
    sizes = measured.factors("piece_bytes", place="memory")
    by_piece = {kernel: [measured.value("ratio to static", place="memory", schedule="dynamic", kernel=kernel,
                                        piece_bytes=piece) for piece in sizes] for kernel in KERNELS}
    if sizes:
        heads = [size(piece) for piece in sizes]
        panels.append(Panel(f"4.5 MB in memory, {cores} threads: dynamic to static", "", "rate of dynamic to static",
                            [Series(f"`{kernel}`", heads, by_piece[kernel]) for kernel in KERNELS], kind="bars"))
        tables.append(Table("4.5 MB in memory: rate of dynamic to static, by the bytes handed out at a time",
                            ["", *heads], [[f"`{kernel}`", *by_piece[kernel]] for kernel in KERNELS]))
    finding = ["static was better on large files: ", published("meyer/max_speedup_685MB/static"),
               " x against ", published("meyer/max_speedup_685MB/dynamic"), " x for dynamic (685 MB)"]
    if cores == 1 or not counts:
        return Shown("open", finding, ["one core cannot show it"], panels, tables)
    at = [count for count in counts if count <= cores][-1]
    ratio = measured.value("ratio to static", bytes=sizes[-1], threads=at, **files)
    speedups = [measured.value("speedup", bytes=sizes[-1], threads=at, schedule=schedule, **files)
                for schedule in ("static", "dynamic")]
    outcome = "holds" if float(ratio) < 0.95 else "does not hold"
    return Shown(outcome, finding,
                 ["with the program's pieces, dynamic ran at ", ratio, " of static's rate on ", size(sizes[-1]),
                  f" with {at} threads (", speedups[0], " x static, ", speedups[1],
                  " x dynamic); handed out block by block, 16 B at a time, dynamic ran at ", by_piece["tables"][0],
                  " of static's rate with `tables`, in pieces of 64 KiB at ", by_piece["tables"][-1]],
                 panels, tables,
                 ["Held: dynamic below 95 % of static's rate on the largest file. What OpenMP's dynamic schedule "
                  "costs is one hand-over for each piece; with its default, one iteration, that is one for each "
                  "16-byte block."])


EXPERIMENT = Experiment(
    name="E8", title="Static and dynamic schedules", study="meyer",
    did="Encrypted files of 3.6 KB to 685 MB with a parallel loop over the 16-byte blocks of a chunk, 1 to N "
        "threads, static and dynamic schedules.",
    here="`paes cipher aes-128-ecb` with the kernel `compute` on files in memory, the whole program timed; and in "
         "memory the two schedules by the bytes that a thread takes at a time.",
    measure=measure, show=show, seconds={"quick": 18, "full": 260})
