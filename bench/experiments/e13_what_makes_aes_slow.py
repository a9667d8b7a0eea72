# SPDX-License-Identifier: Apache-2.0
"""E13: what makes a plain AES as slow as the one of Pousa's thesis. It measures habits of such code one by one."""
from laboratory import programs
from laboratory.experiment import OURS, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.published import label, value as published
from laboratory.values import derive, given

from . import e01_executors as e01

SEQUENTIAL = "pousa/time_s/sequential/5"
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
    for turn in lab.as_time_allows(range(5), lambda turn: f"round {turn + 1} of repeated and fresh data"):
        lab.step(f"repeated and fresh data, round {turn + 1} of 5")
        for data, kind, more in (("again", "kernel", ("--seconds", 0)), ("fresh", "threads", ("--runs", 5))):
            (row,) = programs.paes_bench(kind, *options, *more)["results"]
            rates[data].append(row["gb_per_s"] * 1e3)
    for data, numbers in rates.items():
        lab.record_rounds({"data": data, "bytes": 1024}, "rate of compute", "MB/s", numbers)
    lab.record_rounds({"data": "again", "bytes": 1024}, "rate to fresh", "ratio",
                      [again / fresh for again, fresh in zip(rates["again"], rates["fresh"])])


def needed(rate):
    """How many times as slow as here a processor would have to be, to run this code at the published rate."""
    return derive("times as slow", rate, published(SEQUENTIAL), given(e01.SIZES[-1]))


def show(measured):
    rows, labels = [], []
    for _, row in measured.find("rate"):
        of = {key: row["of"][key] for key in ("variant", "compiled")}
        rows.append([f"{NAMES[of['variant']]} (-{of['compiled']})", measured.value("rate", **of),
                     measured.value("times as long as compute", **of), needed(measured.value("rate", **of))])
        labels.append(of)
    variants = measured.factors("variant", compiled="O0")
    panel = Panel("AES-128-ECB, one core", "", "MB/s", [
        *[Series(f"-{compiled}", variants, [measured.value("rate", variant=name, compiled=compiled)
                                            for name in variants]) for compiled in ("O3", "O0")],
        Series(label(SEQUENTIAL), variants, [derive("MB/s", published(SEQUENTIAL),
                                                    given(e01.SIZES[-1]))] * len(variants),
               "published")], kind="bars", logy=True)
    rates = {key: measured.value("rate", variant=variant, compiled=compiled) for key, (variant, compiled) in {
        "fast": ("plain", "O3"), "plain": ("plain", "O0"), "slow": ("multiply", "O0")}.items()}
    return Shown({OURS: Verdict("ours", [
        "to take the published time, a core would have to be ", needed(rates["fast"]),
        " times as slow as this one with AES written from the standard, ", needed(rates["plain"]),
        " times with the same code compiled without optimization, and ", needed(rates["slow"]),
        " times if MixColumns also multiplies in GF(2^8) by a loop"])},
                 [panel], [Table("Rate on one core", ["", "MB/s", "times as long as `compute`", "times as slow a core"],
                                 rows),
                           repeated(measured)],
                 ["The last column is the rate here over that of the published time, and one if a core like this one "
                  "with this code takes that time. It says nothing of which habits the published program had: its "
                  "source is not at hand, and how much slower its core is, was not measured."])


def repeated(measured):
    rows = [[label, measured.value("rate of compute", data=data),
             measured.value("rate to fresh", data=data) if data == "again" else None]
            for data, label in (("fresh", "one message after the other"),
                                ("again", "the same message again and again"))]
    return Table("`compute` on messages of 1 KiB", ["", "MB/s", "times as fast"], rows)


EXPERIMENT = Experiment(
    name="E13", title="What makes a plain AES slow",
    did=("pousa.times",), asks="which habits of plain code make AES so slow that one core takes the published time",
    here="AES-128 as it is often written from the standard, in variants that differ in one habit each, compiled with "
         "-O3 and with -O0, in turns.",
    measure=measure, show=show, seconds={"quick": 8, "full": 16})
