#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of what paes-mpi costs on a cluster, and how far it can be trusted.

  cluster_model.py measure PAES_MPI_BENCH MPIRUN... > build/NAME.json       run the benches on this machine
  dev distil build/NAME.json                                                make the file that is committed
  cluster_model.py report bench/results/NAME.json                           print fit, checks and predictions
  cluster_model.py report bench/results/NAME.json --write docs/log/mpi.md   put them between its markers

`measure` takes the launcher as it is to be called, without -n: build/release/bin/paes-mpi-bench mpirun --oversubscribe.
The result is a list of what `paes-mpi-bench ... --json` printed (bench/schema/bench-mpi.schema.json).
"""
import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from laboratory import tables

BEGIN = "<!-- cluster model: made by tools/cluster_model.py -->"
END = "<!-- end of the cluster model -->"

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
# One thread per rank, so that a rank is a core.
RUNS = [
    (ranks, kind, sizes)
    for ranks in (1, 2)
    for kind, sizes in (("memory", "1GiB"), ("file", "64MiB,512MiB"))
] + [(2, "scatter", "4KiB,64KiB,1MiB,16MiB,64MiB,256MiB")]


def measure(program, launcher):
    documents = []
    for ranks, kind, sizes in RUNS:
        command = [*launcher, "-n", str(ranks), program, kind, "-T", "1",
                   "--bytes", sizes, "--runs", "7", "--json"]
        print("cluster_model: " + " ".join(command), file=sys.stderr)
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
        documents.append(json.loads(done.stdout))
    json.dump(documents, sys.stdout, indent=1)
    print()


@dataclass
class Model:
    core: float  # bytes a second that a core encrypts in memory
    file_core: float  # from file to file, including copies to and from the page cache
    storage: float  # bytes a second that all ranks together read and write
    start_s: float  # opening, agreeing, syncing and naming a file
    latency_s: float  # of any transfer between rank 0 and the others
    link: float  # bytes a second between two ranks

    def memory_s(self, count, ranks):
        return count / (ranks * self.core)

    def file_s(self, count, ranks, storage=None):
        """What is read and what is written share one storage."""
        return self.start_s + count / min(ranks * self.file_core, (storage or self.storage) / 2)

    def move_s(self, count, ranks, link=None):
        """Scattering or gathering: everything but rank 0's own part crosses rank 0's link."""
        return self.latency_s + count * (ranks - 1) / ranks / (link or self.link)

    def scattered_s(self, count, ranks, link=None, core=None):
        return 2 * self.move_s(count, ranks, link) + count / (ranks * (core or self.core))


def rows_of(documents, command, ranks):
    return [
        row
        for document in documents
        if document["command"] == f"bench {command}" and document["mpi"]["ranks"] == ranks
        for row in document["results"]
    ]


def line_through(points):
    """(a, b) of seconds = a + b * bytes that minimize the squares of relative errors."""
    weights = [1 / seconds**2 for _, seconds in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points)) / sum(
        w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points)
    )
    return max(mean_y - slope * mean_x, 0.0), slope


def median(row, member="seconds"):
    return row[member]["median"]


def moves(row):
    return (median(row, "scatter_seconds") + median(row, "gather_seconds")) / 2


def files(documents, ranks, direction="encrypt"):
    return [row for row in rows_of(documents, "file", ranks) if row["direction"] == direction]


def fit(documents):
    """Fits runs with one rank, the largest file with two, and every second size of the moves. The other runs check the fit."""
    (memory,) = rows_of(documents, "memory", 1)
    start, per_byte = line_through([(r["bytes"], median(r)) for r in files(documents, 1)])
    scatter = rows_of(documents, "scatter", 2)
    fitted = scatter[0::2] + scatter[-1:]
    latency, per_moved = line_through([(row["bytes"] / 2, moves(row)) for row in fitted])
    largest = files(documents, 2)[-1]
    storage = 2 * largest["bytes"] / (median(largest) - start)
    return Model(memory["bytes"] / median(memory), 1 / per_byte, storage, start, latency, 1 / per_moved)


def size(count):
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.0f} {name}"
    return f"{count} B"


def span(seconds):
    if seconds >= 90:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def rate(bytes_per_s):
    return f"{bytes_per_s / 1e9:.3g} GB/s"


def checks(documents, model):
    """(what, measured, predicted) of runs that were not used for the fit."""
    for row in rows_of(documents, "memory", 2):
        yield f"{size(row['bytes'])} in memory, 2 ranks", median(row), model.memory_s(row["bytes"], 2)
    for row in files(documents, 2)[:-1] + files(documents, 2, "decrypt"):
        what = f"{row['direction']} a file of {size(row['bytes'])}, 2 ranks"
        yield what, median(row), model.file_s(row["bytes"], 2)
    for row in rows_of(documents, "scatter", 2)[1:-1:2]:
        yield f"{size(row['bytes'])} scattered or gathered", moves(row), model.move_s(row["bytes"], 2)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]


# What predictions assume about a cluster; everything else is fitted.
CORES, GPU, NETWORKS = 32, 20e9, {"10 Gb/s": 1.15e9, "100 Gb/s": 11.5e9}
STORAGES = {"one server, 2 GB/s": 2e9, "parallel, 50 GB/s": 50e9, "parallel, 1 TB/s": 1e12}
RANKS = (10, 100, 1000)


def report(documents, source):
    model = fit(documents)
    first = documents[0]
    machine = first["machine"]
    text = [
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['os']}, with "
        f"{first['mpi']['library']}, files on {files(documents, 1)[0]['filesystem']}; one thread a "
        f"rank; `{source}`.",
        "",
        *table(
            ["parameter", "fitted"],
            [
                ["a core, in memory (c)", rate(model.core)],
                ["a core, file to file (f)", rate(model.file_core)],
                ["storage, reading and writing (S)", rate(model.storage)],
                ["opening, agreeing, syncing, naming (t)", span(model.start_s)],
                ["latency of a move (l)", span(model.latency_s)],
                ["link between two ranks (b)", rate(model.link)],
            ],
        ),
        "",
        "Runs that the fit did not see:",
        "",
        *table(
            ["run", "measured", "predicted", "off by"],
            [
                [what, span(seen), span(said), f"{100 * (said / seen - 1):+.0f} %"]
                for what, seen, said in checks(documents, model)
            ],
        ),
        "",
        f"Predicted: 10 TiB in one shared file, a host for each rank with {CORES} cores like these:",
        "",
    ]
    count = 10 * TIB
    rows = []
    for name, storage in STORAGES.items():
        times = [model.file_s(count, ranks * CORES, storage) for ranks in RANKS]
        rows.append([name, *map(span, times)])
    rows.append(["the processors' share of that",
                 *[span(count / (ranks * CORES * model.file_core)) for ranks in RANKS]])
    text += table(["storage", *[f"{ranks} ranks" for ranks in RANKS]], rows)
    text += ["", "Predicted: 100 GiB in the memory of rank 0, scattered, encrypted and gathered "
             "(the distribution of the older studies), by hosts of "
             f"{CORES} cores or with a GPU of {rate(GPU)} each, an assumption:", ""]
    count = 100 * GIB
    rows = [["rank 0 alone", span(count / (CORES * model.core)), "", ""]]
    for name, link in NETWORKS.items():
        for who, power in ((f"{CORES} cores", CORES * model.core), ("a GPU", GPU)):
            rows.append([f"{name}, {who}",
                         *[span(model.scattered_s(count, ranks, link, power)) for ranks in RANKS]])
    text += table(["network", *[f"{ranks} ranks" for ranks in RANKS]], rows)
    return text


def write(path, lines):
    text = path.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("program")
    measuring.add_argument("launcher", nargs=argparse.REMAINDER)
    reporting = commands.add_parser("report")
    reporting.add_argument("result", type=Path)
    reporting.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.program, arguments.launcher)
        return
    lines = report(tables.load(arguments.result), f"bench/results/{arguments.result.name}")
    if arguments.write:
        write(arguments.write, lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
