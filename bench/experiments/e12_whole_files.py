# SPDX-License-Identifier: Apache-2.0
"""E12: whole programs on a file in memory: paes compared with cp, cat, age, openssl and gpg."""
from laboratory import programs
from laboratory.experiment import OURS, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import QUARTER
from laboratory.values import derive, given, size

GIB = 1 << 30
OPERATIONS = ("encrypt", "decrypt", "verify", "encrypt-pipe")


def measure(lab):
    lab.step("paes and the programs that are installed")
    document = programs.paes_bench("file", "--size", lab.pick(GIB // 8, 2 * GIB), "--runs", 3)
    if lab.quick:
        lab.leave_out("a file of 2 GiB", "for the time; --full has it")
    installed = {program["name"] for program in document["programs"]}
    for name in ("age", "openssl", "gpg"):
        if name not in installed:
            lab.leave_out(name, "is not installed")
    for row in document["results"]:
        of = {key: row[key] for key in ("operation", "program", "bytes")}
        lab.record(of, "time", "s", row["seconds_median"], row["runs"])
        lab.record_ratio(of, "rate to copying", row["ratio_to_first"], row["runs"])
        lab.record(of, "processor time", "s", row["cpu_seconds_median"], row["runs"])
        lab.record(of, "peak memory", "bytes", row["peak_memory_bytes"], row["runs"])


def side_of_one(least, most):
    """What the range of a ratio's rounds says."""
    return ("faster in each round" if float(least) > 1 else "slower in each round" if float(most) < 1
            else "faster in some rounds and slower in others")


def show(measured):
    bytes_ = max(measured.factors("bytes"))
    of = dict(bytes=bytes_)
    names = measured.factors("program", **of)
    tables = []
    for operation in OPERATIONS:
        rows = []
        for name in measured.factors("program", operation=operation, **of):
            at = dict(operation=operation, program=name, **of)
            rows.append([name, measured.value("time", **at),
                         derive("GB/s", measured.value("time", **at), given(bytes_)),
                         measured.value("rate to copying", **at), measured.value("processor time", **at),
                         derive("mega", measured.value("peak memory", **at))])
        tables.append(Table(f"{operation}, {size(bytes_)} in memory",
                            ["", "seconds", "GB/s", "rate to copying", "processor s", "peak MB"], rows))

    def rate(name, operation):
        value = measured.value("time", program=name, operation=operation, **of)
        return derive("GB/s", value, given(bytes_)) if value else None
    operations = [operation for operation in OPERATIONS if measured.find(operation=operation, **of)]
    panel = Panel(f"A file of {size(bytes_)}", "", "GB/s", [
        Series(name, operations, [rate(name, operation) for operation in operations]) for name in names], kind="bars")
    ours = {operation: [measured.value("rate to copying", field, program="paes", operation=operation, **of)
                        for field in ("median", "min", "max")] for operation in ("encrypt", "decrypt")}
    times = {operation: [measured.value("time", program=program, operation=operation, **of) for program in ("paes", "cp")]
             for operation in ours}
    here = []
    for operation, (median, least, most) in ours.items():
        took, copying = times[operation]
        here += ["; " if here else "", f"`paes {operation}` took ", took, " s and `cp` beside it ", copying, " s, so that it ran at ",
                 median, " times the rate of `cp` (", least, " to ", most, f" in single rounds), {side_of_one(least, most)}"]
    copies = [copying for _, copying in times.values()]
    # What copying is compared with changes the answer by as much as copying itself does.
    is_steady = measured.is_near(*copies, QUARTER) is not False
    here += [] if is_steady else ["; the two groups of `cp` copied the same number of bytes, and as their times are more than a quarter "
                                  "apart, how fast `paes` is beside it is not said"]
    return Shown({OURS: Verdict("ours" if is_steady else "open", here)},
                 [panel], tables,
                 ["Each program's output was compared byte by byte before anything was timed. Peak memory includes "
                  "what Linux counts of the process that starts the program. The rate to copying is of rounds, each "
                  "program beside its copy; where memory for files is slow to come, as on some virtual machines, "
                  "rounds differ widely."])


EXPERIMENT = Experiment(
    name="E12", title="Whole programs on a file",
    asks="how fast is a whole program on a file, beside copying it and beside other programs",
    here="`paes encrypt`, `decrypt` and `verify` (AES-256-GCM, authenticated) beside `cp`, `cat`, age, openssl enc and "
         "gpg, those that are installed.",
    measure=measure, show=show, seconds={"quick": 16, "full": 225})
