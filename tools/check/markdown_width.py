#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The width of documents: no line of a Markdown file has more than 100 columns.

Usage: markdown_width.py [ROOT]; prints each violation as FILE:LINE and exits 1 if there is one. It leaves out
tables, what tools write between markers, and lines that are short without the addresses of their links.
"""

import pathlib
import re
import subprocess
import sys

COLUMNS = 100
GENERATED = re.compile(r"<!-- (numbers:|.*: made by )")
ADDRESS = re.compile(r"\]\([^)]*\)|https?://\S+")


def tracked(root):
    """All documents that git knows, or all there are."""
    try:
        names = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True, text=True)
        return [root / name for name in names.stdout.splitlines()]
    except subprocess.CalledProcessError:
        return list(root.rglob("*.md"))


def wide_lines(path):
    generated = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        generated = not line.startswith("<!-- end of") and (generated or bool(GENERATED.match(line)))
        if not generated and not line.lstrip().startswith("|") and len(ADDRESS.sub("", line)) > COLUMNS:
            yield number, len(line)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = [(path, *line) for path in sorted(tracked(root)) for line in wide_lines(path)]
    for path, number, width in found:
        print(f"{path.relative_to(root)}:{number}: {width} columns, and {COLUMNS} are the most")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
