# SPDX-License-Identifier: Apache-2.0
"""Runs `paes-bench` and records its rows as measurements, with the names of their factors."""
from . import programs
from .experiment import OutOfTime
from .values import size as size_in_words


def threads(lab, *, sizes, kernels=("compute",), ciphers=("aes-128-ecb",), directions=("encrypt",),
            counts=(1,), schedules=("static",), piece_sizes=None, splits=("pieces",), rounds=5, first,
            has_times=True, **options):
    """Runs `paes-bench threads` once for each size, and records each row's time and its ratio to the first
    row. `first` names that ratio ("speedup", "ratio to compute"). Without `piece_sizes` each thread takes an equal
    share of a message, as in the studies, but at most 256 KiB. Without `has_times` only the ratios are recorded, for
    what another contest has timed. If the time is over before the first size has ended, it throws OutOfTime."""
    def named(size):
        return f"{', '.join(directions)} {size_in_words(size)} with {', '.join(kernels)}"
    for place, size in enumerate(lab.as_time_allows(sizes, named)):
        share = max(-(-size // (16 * max(counts))) * 16, 16)
        try:
            lab.step(f"{', '.join(ciphers)}, {size_in_words(size)}")
            document = programs.paes_bench(
                "threads", "--cipher", ",".join(ciphers), "--kernel", ",".join(kernels), "--direction",
                ",".join(directions), "--size", size, "--threads", ",".join(map(str, counts)), "--schedule",
                ",".join(schedules), "--piece", ",".join(map(str, piece_sizes or (min(share, 256 << 10),))),
                "--split", ",".join(splits), "--runs", rounds, **options)
        except OutOfTime as reason:
            if place == 0:
                raise
            lab.cut(", ".join(map(named, sizes[place:])), str(reason))
            return
        for row in document["results"]:
            of = {key: row[key] for key in ("cipher", "direction", "kernel", "split", "schedule",
                                            "threads", "oversubscribed", "piece_bytes", "bytes")}
            of["executor"] = "sequential" if row["schedule"] == "serial" else "openmp"
            if has_times:
                lab.record(of, "time", "s", row["seconds_median"], row["rounds"], row["seconds_min"],
                           row["seconds_max"])
            lab.record_ratio(of, first, row["ratio_to_first"], row["rounds"])


def kernels(lab, *, ciphers, sizes, names, directions=("encrypt",), seconds, count=1, first):
    """Runs `paes-bench kernel` once for each cipher. Records rates and the ratios to the first row."""
    for cipher in ciphers:
        lab.step(f"{cipher}: {', '.join(names)}")
        document = programs.paes_bench(
            "kernel", "--cipher", cipher, "--kernel", ",".join(names), "--direction",
            ",".join(directions), "--size", ",".join(map(str, sizes)), "--threads", count,
            "--seconds", seconds)
        for row in document["results"]:
            of = {key: row[key] for key in ("cipher", "direction", "kernel", "device", "way", "bytes",
                                            "threads")}
            lab.record(of, "rate", "GB/s", row["gb_per_s"], row["rounds"])
            lab.record_ratio(of, first, row["ratio_to_first"], row["rounds"])


# A row that only paes-bench has. It computes nothing, so every machine runs it in every cipher.
COPY = "copy"


def available_kernels(cipher, wanted):
    """The wanted kernels that run on this processor and have the cipher."""
    rows = {row["name"]: row for row in programs.devices()["kernels"] if cipher in row["ciphers"]}
    return [name for name in wanted if name == COPY or name in rows and rows[name]["available"]]
