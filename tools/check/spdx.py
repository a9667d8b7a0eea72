#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The licence of each source file: its first line, or the one after "#!" or "#compdef", names it.

Usage: spdx.py [ROOT]; prints each file without and exits 1 if there is one. A source is a file with one of these
suffixes, or a program.
"""

import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"(//|#|/\*) SPDX-License-Identifier: Apache-2\.0( \*/)?")
SUFFIXES = {".bash", ".c", ".cmake", ".cpp", ".cu", ".cuh", ".def", ".fish", ".h", ".hpp", ".py", ".pyi", ".sh"}
NAMES = re.compile(r"(CMakeLists\.txt|.*\.cmake\.in|_paes.*)")
# What must be in the first line.
FIRST = ("#!", "#compdef")


def tracked(root):
    """All files that git knows, or all there are, without links."""
    try:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
        paths = [root / name for name in names.split("\0") if name]
    except subprocess.CalledProcessError:
        paths = list(root.rglob("*"))
    return [path for path in sorted(paths) if path.is_file() and not path.is_symlink()]


def is_source(path):
    if path.suffix in SUFFIXES or NAMES.fullmatch(path.name):
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def has_licence(path):
    lines = path.read_text(encoding="utf-8").split("\n", 2)
    return bool(LINE.fullmatch(lines[1 if lines[0].startswith(FIRST) else 0]))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    without = [path for path in tracked(root) if is_source(path) and not has_licence(path)]
    for path in without:
        print(f"{path.relative_to(root)}:1: no line 'SPDX-License-Identifier: Apache-2.0'")
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
