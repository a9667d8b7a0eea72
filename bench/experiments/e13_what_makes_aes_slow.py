# SPDX-License-Identifier: Apache-2.0
"""E13: why the study's sequential AES ran at 0.44 MB/s. It measures habits of plain code one by one."""
from laboratory import programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table
from laboratory.published import value as published
from laboratory.values import Value, derive

BYTES_255MB = 255e6
NAMES = {
    "compute": "the kernel `compute`",
    "plain": "from the standard, S-box from a table, xtime in MixColumns",
    "stdio": "... and fread, fwrite for each block",
    "key": "... and the key expanded for each block",
    "multiply": "MixColumns by a loop that multiplies in GF(2^8), eight steps a factor",
    "multiply+key": "... and the key expanded for each block",
    "multiply+key+stdio": "... and fread, fwrite for each block",
    "sbox": "the S-box computed for each byte, the inverse by search",
}


def measure(lab):
    lab.step("variants of AES, in turns")
    document = programs.document([programs.BIN / "bench_aes_ci", "--rounds", lab.pick(5, 25)],
                                 "bench-aes-ci.schema.json")
    first = document["results"][0]
    for row in document["results"]:
        of = {"variant": row["variant"], "compiled": row["compiled"]}
        lab.record_rounds(of, "rate", "MB/s", [row["bytes"] / seconds / 1e6 for seconds in row["seconds"]])
        lab.record_rounds(of, "times as long as compute", "ratio",
                          [seconds / row["bytes"] * first["bytes"] / other
                           for seconds, other in zip(row["seconds"], first["seconds"])])


    measure_repeated(lab)


def measure_repeated(lab):
    """Measures `compute` on the same 1 KiB again and again, in turns with `compute` on new data each time."""
    rates = {"again": [], "fresh": []}
    options = ("--cipher", "aes-128-ecb", "--kernel", "compute", "--size", "1KiB", "--threads", "1")
    for turn in range(5):
        lab.step(f"repeated and fresh data, round {turn + 1} of 5")
        for data, kind, more in (("again", "kernel", ("--seconds", 0)), ("fresh", "threads", ("--runs", 5))):
            (row,) = programs.paes_bench(kind, *options, *more)["results"]
            rates[data].append(row["gb_per_s"] * 1e3)
    for data, numbers in rates.items():
        lab.record_rounds({"data": data, "bytes": 1024}, "rate of compute", "MB/s", numbers)
    lab.record_rounds({"data": "again", "bytes": 1024}, "rate to fresh", "ratio",
                      [again / fresh for again, fresh in zip(rates["again"], rates["fresh"])])


def study_rate():
    """The rate at which the study encrypted 255 MB."""
    seconds = published("pousa/time_s/sequential/5")
    return derive("MB/s", seconds, Value(BYTES_255MB, (f"given:{BYTES_255MB}",)))


def show(measured):
    rows, labels = [], []
    for _, row in measured.find("rate"):
        of = {key: row["of"][key] for key in ("variant", "compiled")}
        rows.append([f"{NAMES[of['variant']]} (-{of['compiled']})", measured.value("rate", **of),
                     measured.value("times as long as compute", **of)])
        labels.append(of)
    variants = measured.factors("variant", compiled="O0")
    panel = Panel("AES-128-ECB, one core", "", "MB/s", [
        *[Series(f"-{compiled}", variants, [measured.value("rate", variant=name, compiled=compiled)
                                            for name in variants]) for compiled in ("O3", "O0")],
        Series("study, sequential", variants, [study_rate()] * len(variants), "published")], kind="bars", logy=True)
    slow = measured.value("rate", variant="multiply", compiled="O0")
    plain = measured.value("rate", variant="plain", compiled="O0")
    fast = measured.value("rate", variant="plain", compiled="O3")
    outcome = "answered"
    return Shown(outcome,
                 ["its sequential AES-128 ran at ", study_rate(), " MB/s, and its speedups are relative to that"],
                 ["AES written from the standard runs at ", fast, " MB/s; compiled without optimization at ", plain,
                  " MB/s; and with MixColumns that multiplies in GF(2^8) by a loop, at ", slow,
                  " MB/s. These two habits together explain such a rate; expanding the key or reading a file for each "
                  "block hardly matter"],
                 [panel], [Table("Rate on one core", ["", "MB/s", "times as long as `compute`"], rows),
                           repeated(measured)],
                 ["The study's source is not at hand: this shows which habits cost so much, not which it had. Its "
                  "processor was of 2007, at 2 GHz."])


def repeated(measured):
    rows = [[label, measured.value("rate of compute", data=data),
             measured.value("rate to fresh", data=data) if data == "again" else None]
            for data, label in (("fresh", "one message after the other"), ("again", "the same message again and again"))]
    return Table("`compute` on messages of 1 KiB", ["", "MB/s", "times as fast"], rows)


EXPERIMENT = Experiment(
    name="E13", title="What makes a plain AES slow", study="pousa",
    did="Its sequential program took 578 s for 255 MB.",
    here="AES-128 as it is often written from the standard, in variants that differ in one habit each, compiled with "
         "-O3 and with -O0, in turns.",
    measure=measure, show=show, seconds={"quick": 8, "full": 16})
