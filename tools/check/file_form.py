#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The form of text files that .editorconfig promises: UTF-8, LF, a newline at the end, no blanks at the end of a
line, tabs where they are wanted and nowhere else.

Usage: file_form.py [ROOT]; prints each violation as FILE:LINE and exits 1 if there is one. Where .editorconfig
says "unset", anything goes. Widths and steps of the indentation are what the formatters see to.
"""

import pathlib
import subprocess
import sys

import editorconfig


def tracked(root):
    """All files that git knows, or all there are. A link's target is checked under its own name."""
    try:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
        paths = [root / name for name in names.split("\0") if name]
    except subprocess.CalledProcessError:
        paths = list(root.rglob("*"))
    return [path for path in sorted(paths) if path.is_file() and not path.is_symlink()]


def violations(path):
    """Yields (line number, what is wrong)."""
    wanted = editorconfig.get_properties(str(path))
    content = path.read_bytes()
    if wanted.get("charset") == "utf-8":
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            yield content[: error.start].count(b"\n") + 1, "not UTF-8"
    if wanted.get("insert_final_newline") == "true" and content and not content.endswith(b"\n"):
        yield content.count(b"\n") + 1, "no newline at the end"
    for number, line in enumerate(content.split(b"\n"), 1):
        if wanted.get("end_of_line") == "lf" and line.endswith(b"\r"):
            yield number, "a carriage return at the end"
        elif wanted.get("trim_trailing_whitespace") == "true" and line != line.rstrip():
            yield number, "blanks at the end"
        indent = line[: len(line) - len(line.lstrip())]
        if wanted.get("indent_style") == "space" and b"\t" in indent:
            yield number, "a tab in the indentation"
        if wanted.get("indent_style") == "tab" and indent.startswith(b"  "):
            yield number, "blanks where a tab is wanted"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = [(path, *violation) for path in tracked(root) for violation in violations(path)]
    for path, number, what in found:
        print(f"{path.relative_to(root)}:{number}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
