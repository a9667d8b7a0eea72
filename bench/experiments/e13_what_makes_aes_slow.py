# SPDX-License-Identifier: Apache-2.0
"""E13: what makes a plain AES slow. It measures habits of such code one by one, and how much slower than this one a core would
have to be to take the time of Pousa's thesis with each."""
from laboratory import programs
from laboratory.experiment import OURS, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.published import value as published
from laboratory.values import derive, given

from . import e01_executors as e01

SEQUENTIAL = "pousa/time_s/sequential/5"
NAMES = {
    "compute": "the kernel `compute`",
    "plain": "`plain`: from the standard, S-box from a table, xtime in MixColumns",
    "stdio": "`stdio`: as `plain`, with fread and fwrite for each block",
    "key": "`key`: as `plain`, with the key expanded for each block",
    "multiply": "`multiply`: as `plain`, but MixColumns by a loop that multiplies in GF(2^8), eight steps a factor",
    "multiply+key": "`multiply+key`: both",
    "multiply+key+stdio": "`multiply+key+stdio`: all three",
    "sbox": "`sbox`: as `plain`, but the S-box computed for each byte, the inverse by search",
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
    panel = Panel("AES-128-ECB, one core, by variant", "", "MB/s", [
        Series(f"-{compiled}", variants, [measured.value("rate", variant=name, compiled=compiled) for name in variants])
        for compiled in ("O3", "O0")], kind="bars", logy=True)
    rates = {key: measured.value("rate", variant=variant, compiled=compiled) for key, (variant, compiled) in {
        "fast": ("plain", "O3"), "plain": ("plain", "O0"), "slow": ("multiply", "O0")}.items()}
    return Shown({OURS: Verdict("ours", [
        "with AES written from the standard, this core reached ", needed(rates["fast"]), " times the published rate; compiled without "
        "optimization ", needed(rates["plain"]), " times; and if MixColumns also multiplies in GF(2^8) by a loop ",
        needed(rates["slow"]), " times. If the published program was such code, its core was so many times slower than this one, or "
        "faster where the number is below one"])},
                 [panel], [Table("Rate on one core", ["", "MB/s", "times as long as `compute`", "over the published rate"],
                                 rows),
                           repeated(measured)],
                 ["The last column is the rate here over that of the published time. It is above one if a core that takes the "
                  "published time with this code is slower than this one, and below one if it is faster. It says nothing "
                  "of which habits the published program had: its source is not at hand, and how much slower its core is, was not "
                  "measured.",
                  "The same message again and again is faster because the processor learns its branches: `compute` multiplies by "
                  "x with a branch on each byte's highest bit. All other rows encrypt new data."])


def repeated(measured):
    rows = [[label, measured.value("rate of compute", data=data),
             measured.value("rate to fresh", data=data) if data == "again" else None]
            for data, label in (("fresh", "one message after the other"),
                                ("again", "the same message again and again"))]
    return Table("`compute` on messages of 1 KiB", ["", "MB/s", "times as fast"], rows)


EXPERIMENT = Experiment(
    name="E13", title="What makes a plain AES slow",
    did=("pousa.times",), asks="how much slower than this one would a core have to be to take the published time, by habits of plain code",
    here="AES-128 as it is often written from the standard, in variants that differ in one habit each, compiled with "
         "-O3 and with -O0, in turns.",
    measure=measure, show=show, seconds={"quick": 8, "full": 16})
