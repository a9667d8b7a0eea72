# SPDX-License-Identifier: Apache-2.0
"""E8: files encrypted by several threads with a static and a dynamic schedule, and how the size of a piece matters."""
import secrets

from laboratory import contests, scratch
from laboratory.experiment import Counterpart, Experiment, Failed, Panel, Series, Shown, Table, Verdict, separated
from laboratory.judgement import BUSY
from laboratory.published import label, value as published
from laboratory.values import as_shown, derive, given, size

from . import e03_speedup as e03

KB, MB = 1000, 1000 * 1000
SIZES = [3600, 85 * KB, 4500 * KB, 50 * MB, 110 * MB, 685 * MB]  # the study's
IN_MEMORY = SIZES[2]  # on which the sizes of a piece are compared
PIECES = (16, 256, 4096, 65536)
KERNELS = ("compute", "tables")
LARGER = SIZES[4]  # from which on data is called large
BLOCK = 16  # bytes: what OpenMP's loop over blocks hands out
ECB = "aes-128-ecb"


def measure(lab):
    with lab.part("pieces in memory"):
        measure_pieces(lab)
    sizes = lab.sizes(SIZES[:4] if lab.quick else SIZES)
    few = lab.quick and "sizes" not in lab.chosen
    with lab.part("data in blocks"):
        measure_blocks(lab, sizes[2:] if few else sizes)
    if few:
        lab.leave_out(f"{' and '.join(map(size, SIZES[4:]))}, and less than {size(SIZES[2])} in blocks",
                      "for the time; --full has them")
    with lab.part("files"), scratch.scratch_folder() as folder:
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(16))
        for size_ in lab.as_time_allows(sizes, lambda size_: f"a file of {size(size_)}"):
            if scratch.room() < 4 * size_:
                lab.leave_out(size(size_), "not enough memory for the files")
                continue
            measure_files(lab, folder, key, size_)


def measure_pieces(lab):
    if lab.cores == 1:
        lab.leave_out("threads", "there is one core")
        return
    for piece in lab.as_time_allows(PIECES, lambda piece: f"pieces of {size(piece)}"):
        for kernel in KERNELS:
            before = len(lab.measurements)
            contests.threads(lab, sizes=[IN_MEMORY // BLOCK * BLOCK], kernels=(kernel,), counts=(lab.cores,),
                             schedules=("static", "dynamic"), piece_sizes=(piece,), rounds=lab.pick(3, 7),
                             first="ratio to static")
            for row in lab.measurements[before:]:
                row["of"]["place"] = "memory"


def counts_of(lab):
    """Numbers of threads above one."""
    return lab.threads([*lab.powers_of_two(), *([] if lab.quick else [2 * lab.cores])])[1:]


def measure_blocks(lab, sizes):
    """Data of the files' sizes, in memory, of which each thread takes single blocks: a loop over all of them. A file's
    piece is never as small, because paes reads 16 KiB at the least."""
    if lab.cores == 1:
        return
    for size_ in lab.as_time_allows(sizes, lambda size_: f"{size(size_)} in blocks"):
        count = size_ // BLOCK * BLOCK
        if scratch.room() < 4 * count:
            lab.leave_out(f"{size(size_)} in blocks", "not enough memory")
            continue
        before = len(lab.measurements)
        contests.threads(lab, sizes=[count], counts=(1, *counts_of(lab)), schedules=("static", "dynamic"),
                         piece_sizes=(BLOCK,),
                         rounds=lab.pick(2, 3) if size_ > 10 * MB else 7, first="speedup")
        for row in lab.measurements[before:]:
            row["of"] |= {"place": "blocks", "bytes": size_}


def measure_files(lab, folder, key, size_):
    text = scratch.random_file(folder / "text", size_)
    wanted, out = folder / "wanted", folder / "out"
    scratch.seconds_of(scratch.cipher(ECB, key, text, wanted, kernel="openssl"))
    ways = [(1, "static")] + [(count, schedule) for count in counts_of(lab) for schedule in ("static", "dynamic")]
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


class Runs:
    """The runs on all sizes that hand out blocks, or the program's pieces."""

    def __init__(self, measured, place, name):
        self.name = name
        self._measured = measured
        self._of = dict(place=place)
        self.sizes = measured.factors("bytes", **self._of)
        self.counts = [count for count in measured.factors("threads", **self._of) if count > 1]

    def value(self, quantity, field="median", **of):
        return self._measured.value(quantity, field, **self._of, **of)

    @property
    def has_ratios(self):
        """Whether the ratio of the schedules was formed in the rounds; otherwise it is one of two speedups."""
        return bool(self._measured.find("ratio to static", **self._of))

    def speedup(self, bytes_, count, schedule):
        return self.value("speedup", bytes=bytes_, threads=count, **({} if count == 1 else {"schedule": schedule}))

    def to_static(self, bytes_, count):
        """The rate of dynamic as a part of static's."""
        ratio = self.value("ratio to static", bytes=bytes_, threads=count, schedule="dynamic")
        speedups = [self.speedup(bytes_, count, schedule) for schedule in ("dynamic", "static")]
        return ratio or (derive("quotient", *speedups) if all(speedups) else None)

    def within(self, cores):
        """The numbers of threads that the cores are enough for."""
        return [count for count in self.counts if count <= cores]


def panels_of(runs, cores):
    panels = []
    for schedule in ("static", "dynamic"):
        series = []
        for bytes_ in runs.sizes:
            counts = [1, *runs.counts]
            series.append(Series(size(bytes_), [given(count) for count in counts],
                                 [runs.speedup(bytes_, count, schedule) for count in counts]))
        # It was published without the number of threads, so it is a level.
        path, ends = f"meyer/{MOST_SPEEDUP}/{schedule}", [given(1), given(max([cores, *runs.counts]))]
        series.append(Series(label(path), ends, [published(path)] * 2, "published", is_level=True))
        series.append(Series("ideal", [given(1), given(cores)], [given(1), given(cores)], "ideal"))
        panels.append(Panel(f"{runs.name}, {schedule} schedule", "threads", "speedup", series, logx=True, logy=True,
                            x_is="cores"))
    return panels


def table_of(runs, cores):
    rows, heads = [], ["", "1 thread, s"]
    in_rounds = runs.has_ratios
    for bytes_ in runs.sizes:
        rows.append([size(bytes_), runs.value("time", bytes=bytes_, threads=1)])
        for count in runs.counts:
            of = dict(bytes=bytes_, threads=count, schedule="dynamic")
            rows[-1] += [runs.speedup(bytes_, count, "static"), runs.speedup(bytes_, count, "dynamic"),
                         runs.to_static(bytes_, count),
                         *([runs.value("ratio to static", field, **of) for field in ("min", "max")] if in_rounds else [])]
    for count in runs.counts:
        beyond = "" if count <= cores else " (oversubscribed)"
        heads += [f"{count} threads{beyond}: static", "dynamic", "dynamic to static",
                  *(["least", "most"] if in_rounds else [])]
    how = ("dynamic to static was formed in each round, and where its rounds lie far apart it is another number than the "
           "quotient of the two medians beside it" if in_rounds else "dynamic to static is the quotient of the two")
    return Table(f"{runs.name}: seconds of one thread, then speedups; {how}", heads, rows)


def in_memory(measured):
    """(panels, tables) of the two schedules by the bytes that a thread takes at a time."""
    pieces = measured.factors("piece_bytes", place="memory")
    if not pieces:
        return [], []
    heads = [size(piece) for piece in pieces]
    by_kernel = {kernel: [measured.value("ratio to static", place="memory", schedule="dynamic", kernel=kernel,
                                         piece_bytes=piece) for piece in pieces] for kernel in KERNELS}
    return ([Panel(f"{size(IN_MEMORY)} in memory, all cores: dynamic to static", "", "rate of dynamic to static",
                   [Series(f"`{kernel}`", heads, by_kernel[kernel]) for kernel in KERNELS], kind="bars")],
            [Table(f"{size(IN_MEMORY)} in memory: rate of dynamic to static, by the bytes handed out at a time",
                   ["", *heads], [[f"`{kernel}`", *by_kernel[kernel]] for kernel in KERNELS])])


def judge_static(measured, blocks, files, cores):
    """On the larger data in blocks."""
    count = files.within(cores)[-1]
    largest = files.sizes[-1]
    in_pieces = ["; in the program's pieces, on a file of ", size(largest), ", at ", files.to_static(largest, count)]
    if not blocks.sizes:  # as in older results
        ratio = measured.value("ratio to static", place="memory", schedule="dynamic", kernel="compute",
                               piece_bytes=BLOCK)
        return Verdict("open", ["block by block, dynamic ran at ", ratio,
                                f" of static's rate on {size(IN_MEMORY)}, and this result has no "
                                "larger data in blocks", *in_pieces])
    ratios = {bytes_: blocks.to_static(bytes_, count) for bytes_ in blocks.sizes}
    larger = [bytes_ for bytes_ in blocks.sizes if bytes_ >= LARGER] or blocks.sizes[-1:]
    return measured.judged([(size(bytes_), measured.is_more(1, ratios[bytes_])) for bytes_ in larger],
                           [f"handed out block by block to {count} threads, dynamic ran at this part of static's rate: ",
                            *separated([[ratio, f" on {size(bytes_)}"] for bytes_, ratio in ratios.items()], ", "), *in_pieces],
                           f"in blocks, static is faster at each size from {size(larger[0])} on; by how much is not judged",
                           by=[ratios[bytes_] for bytes_ in larger])


LEVEL = 0.25  # of what perfect scaling adds: with less, a speedup stays where it is


def last_gain(runs, counts, bytes_, schedule):
    """The speedups with the last two numbers of threads, and what the last threads add as a part of what they would
    add if they scaled perfectly."""
    before, last = counts[-2:]
    fewer, more = (runs.speedup(bytes_, count, schedule) for count in (before, last))
    return fewer, more, derive("growth", fewer, more, given(before), given(last))


def no_growth(blocks, counts, cores):
    """Why the speedups do not show how they grow with the threads, or None."""
    if not blocks.sizes:
        return Verdict("open", ["this result has no data that was handed out block by block"])
    if len(counts) < 3:
        return Verdict("open", [f"{cores} cores do not show how a speedup grows with the threads"])
    return None


def judge_levelling(measured, blocks, cores):
    """What the last threads add to dynamic's speedup."""
    counts = [1, *blocks.within(cores)]
    if reason := no_growth(blocks, counts, cores):
        return reason
    fewer, more, gain = last_gain(blocks, counts, blocks.sizes[-1], "dynamic")
    return measured.judged([("the last threads", gains_less(measured, fewer, more, gain, LEVEL))],
                  [f"on {size(blocks.sizes[-1])} in blocks, dynamic's speedup went from ", fewer,
                   f" with {counts[-2]} threads to ", more,
                   f" with {counts[-1]}, ", gain, " of what perfect scaling adds"],
                  f"the last threads add less than {LEVEL} of what perfect scaling adds")


def gains_less(measured, fewer, more, gain, limit):
    """Whether a gain is less than a limit. How far it may be off is the doubt of the speedups, of which it is made."""
    off = measured.doubt_in_points(fewer, more)
    if as_shown(gain) + off < limit:
        return True
    return False if as_shown(gain) - off >= limit else None


def judge_linear(measured, blocks, cores):
    """Whether static's speedup still grows where dynamic's does less, and more on the largest data than on the
    smallest."""
    counts = [1, *blocks.within(cores)]
    if reason := no_growth(blocks, counts, cores):
        return reason
    if len(blocks.sizes) < 2:
        return Verdict("open", ["data of one size does not show what more of it gains"])
    smallest, largest = blocks.sizes[0], blocks.sizes[-1]
    found = {name: last_gain(blocks, counts, bytes_, schedule) for name, bytes_, schedule in (
        ("small", smallest, "static"), ("static", largest, "static"), ("dynamic", largest, "dynamic"))}
    small, static, dynamic = (found[name][2] for name in ("small", "static", "dynamic"))

    def adds_more(name):
        gap, off = as_shown(static) - as_shown(found[name][2]), measured.doubt_in_points(*found["static"][:2], *found[name][:2])
        return True if gap > max(BUSY, off) else None if off > BUSY and gap > -off else False
    return measured.judged((("more data", adds_more("small")), ("the schedule", adds_more("dynamic"))),
                  [f"in blocks, the step from {counts[-2]} to {counts[-1]} threads added ", static,
                   f" of what perfect scaling adds with static on {size(largest)}, ", small,
                   f" on {size(smallest)}, and ", dynamic, f" with dynamic on {size(largest)}"],
                  "with static, the last threads add more of what perfect scaling adds on the largest data than on the "
                  "smallest, and more than with dynamic")


def judge_growth(measured, runs, cores):
    """Whether static's speedup on all cores is greater for the largest data than for the smallest, and much."""
    if len(runs.sizes) < 2:
        return Verdict("open", ["files of one size do not show what more data gains"])
    count = runs.within(cores)[-1]
    speedups = {bytes_: runs.speedup(bytes_, count, "static") for bytes_ in runs.sizes}
    smallest, largest = (speedups[bytes_] for bytes_ in (runs.sizes[0], runs.sizes[-1]))
    return measured.judged([("more with the largest file", measured.is_more(largest, smallest)),
                            ("much", measured.is_at_least(largest, e03.least_speedup(count)))],
                           [f"on files, in the program's pieces, {count} threads with static were as many times as fast as one: ",
                            *separated([[speedup, f" on a file of {size(bytes_)}"] for bytes_, speedup in speedups.items()], ", ")],
                           "static's speedup with all cores is larger on the largest file than on the smallest, and there each thread "
                           "beyond the first adds at least four tenths of what perfect scaling adds", by=[smallest, largest])


MOST_SPEEDUP = "max_speedup_685MB"


def beside(measured):
    files = Runs(measured, "file", "Files in pieces")
    for schedule in ("static", "dynamic"):
        speedups = {count: files.speedup(SIZES[-1], count, schedule) for count in files.within(measured.machine["cores"])
                    if SIZES[-1] in files.sizes}
        best = max(speedups, key=lambda count: float(speedups[count]), default=None)
        yield Counterpart("meyer.static-better", f"{MOST_SPEEDUP}/{schedule}", None,
                          (speedups[best], f" with {best} threads") if best else (),
                          "" if SIZES[-1] in files.sizes else f"no file of {size(SIZES[-1])} was; --full has it")


def show(measured):
    cores = measured.machine["cores"]
    blocks, files = Runs(measured, "blocks", "Block by block, in memory"), Runs(measured, "file", "Files in pieces")
    panels, tables = in_memory(measured)
    for runs in (blocks, files):
        if runs.sizes:
            panels += panels_of(runs, cores)
            tables.append(table_of(runs, cores))
    if not files.within(cores):
        why = measured.none_above_one("threads") if files.sizes else "no file was measured"
        return Shown({name: Verdict("open", [why]) for name in EXPERIMENT.judges}, panels, tables)
    return Shown({"meyer.static-better": judge_static(measured, blocks, files, cores),
                  "meyer.dynamic-levels-off": judge_levelling(measured, blocks, cores),
                  "meyer.static-linear": judge_linear(measured, blocks, cores),
                  "meyer.gain-grows": judge_growth(measured, files, cores)}, panels, tables,
                 ["The schedules are judged where a thread takes one block at a time. What OpenMP's dynamic schedule costs is "
                  "one hand-over for each piece; with its default, one iteration, that is one for each 16-byte block."])


EXPERIMENT = Experiment(
    name="E8", title="Static and dynamic schedules",
    did=("meyer.key", "meyer.openmp", "meyer.schedules"),
    judges=("meyer.static-better", "meyer.dynamic-levels-off", "meyer.static-linear", "meyer.gain-grows"),
    here="Data of the same sizes in memory, handed out block by block (`paes-bench threads --piece 16`); files in "
         "memory by `paes cipher aes-128-ecb`, the whole program timed, in its own pieces; and both schedules by the "
         "bytes that a thread takes at a time. The kernel is `compute`.",
    measure=measure, show=show, beside=beside, seconds={"quick": 26, "full": 560})
