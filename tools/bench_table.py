#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the table of docs/log/matrix.md (kernel x mode x key size) out of one run:
#   ./dev bench kernel ... --json | tools/bench_table.py
# Reads the JSON of bench/schema/bench-kernel.schema.json from standard input or a named file and
# replaces what stands between the two markers. --print writes to standard output instead.
import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
from laboratory import tables

DOCUMENT = ROOT / "docs" / "log" / "matrix.md"
BEGIN = "<!-- cipher matrix: made by tools/bench_table.py -->"
END = "<!-- end of the cipher matrix -->"


def size(count):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"


def figure(row):
    """GB/s and the ratio to the first row of its contest, each with three digits."""
    rate = row["gb_per_s"]
    ratio = row["ratio_to_first"]["median"]
    text = f"{rate:.3g} ({ratio:.2g})" if ratio < 10 else f"{rate:.3g} ({ratio:.0f})"
    return text


def heading(row):
    """What rows of one table have in common."""
    ways = {"message": "one message after the other", "batch": "batches of independent messages",
            "shared": "each message shared by all threads"}
    threads = "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"
    return f"messages of {size(row['bytes'])}, {ways[row['way']]}, {threads}"


def in_order(values):
    return list(dict.fromkeys(values))


def table(rows):
    """Ciphers and directions as rows, kernels as columns."""
    kernels = in_order(row["kernel"] for row in rows)
    cells = {(row["cipher"], row["direction"], row["kernel"]): row for row in rows}
    lines = ["| cipher | direction | " + " | ".join(kernels) + " |",
             "|---|---|" + "---|" * len(kernels)]
    for cipher, direction in in_order((row["cipher"], row["direction"]) for row in rows):
        line = [cells.get((cipher, direction, kernel)) for kernel in kernels]
        lines.append(f"| {cipher} | {direction} | "
                     + " | ".join(figure(row) if row else "" for row in line) + " |")
    return lines


def text(document):
    machine = document["machine"]
    rows = document["results"]
    if document["command"] != "bench kernel" or not rows:
        raise ValueError("not the JSON of paes-bench kernel, or an empty one")
    clock = {"wall": "elapsed time", "cpu": "processor time"}[document["clock"]]
    lines = [f"{machine['cpu']}, {machine['os']}, {machine['compiler']}, {machine['libcrypto']}; "
             f"paes {machine.get('commit', machine['paes'])}, {machine['date']}; {clock}.",
             "GB/s, and in brackets the ratio to the first kernel of the row in the same rounds."]
    groups = in_order((row["cipher"].startswith("des"), heading(row)) for row in rows)
    for is_des, common in groups:
        group = [row for row in rows
                 if (row["cipher"].startswith("des"), heading(row)) == (is_des, common)]
        lines += ["", f"**{'3DES' if is_des else 'AES'}, {common}**", ""] + table(group)
        if group[0]["way"] == "batch":
            counts = in_order((row["kernel"], row["messages"]) for row in group)
            lines += ["", "Messages side by side: "
                      + ", ".join(f"{kernel} {count}" for kernel, count in counts) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Makes the table of docs/log/matrix.md.")
    parser.add_argument("results", nargs="?", type=Path, help="JSON file; standard input if absent")
    parser.add_argument("--print", action="store_true", help="to standard output, no file changed")
    arguments = parser.parse_args()
    source = arguments.results.read_text() if arguments.results else sys.stdin.read()
    try:
        made = text(tables.unpack(json.loads(source)))
    except (ValueError, KeyError) as error:
        sys.exit(f"bench_table.py: input: {error!r}")
    if arguments.print:
        print(made, end="")
        return
    before, begin, rest = DOCUMENT.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"bench_table.py: {DOCUMENT}: the markers are gone")
    DOCUMENT.write_text(f"{before}{BEGIN}\n{made}{END}{after}")


if __name__ == "__main__":
    main()
