#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links of documents: what a Markdown file links to inside the tree exists, heading included.

Usage: markdown_links.py [ROOT]; prints each broken link as FILE:LINE and exits 1 if there is one. It follows relative
links and links to headings. Addresses of the Internet are not looked at. Where a comment of a source, or a
document's text, names a file of docs, it must be there, too.
"""

import functools
import pathlib
import re
import subprocess
import sys

# [text](target), ![text](target) and [label]: target. The title after a target is left out.
INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)")
ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
# A history, which names files that may be gone.
HISTORY = {"CHANGELOG.md"}
NAMED = re.compile(r"(?<![\w./-])docs/[\w/.-]*\.md\b")
SOURCES = {".cpp", ".hpp", ".h", ".cu", ".def", ".py", ".md", ".cmake", ".txt", ".1", ""}


def tracked(root):
    """All files that git knows, or all there are."""
    try:
        names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                               capture_output=True, text=True).stdout.splitlines()
        return [path for path in map(root.joinpath, names) if path.is_file()]
    except subprocess.CalledProcessError:
        return [path for path in root.rglob("*") if path.is_file()]


def lines_outside_code(path):
    """(Number, line) of the lines that are not in fenced blocks."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in (None, mark):
            fence = mark if fence is None else None
        elif fence is None:
            yield number, line


def anchor(heading):
    """The anchor that GitHub makes of a heading: letters, digits, hyphens and underscores of its text, in lower case."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.cache
def anchors(path):
    found, counts = set(), {}
    for _, line in lines_outside_code(path):
        if heading := HEADING.match(line):
            name = anchor(heading[1])
            counts[name] = counts.get(name, -1) + 1
            found.add(f"{name}-{counts[name]}" if counts[name] else name)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(path):
    """(Number of the line, target). A link's text may begin on the line before."""
    before = ""
    for number, line in lines_outside_code(path):
        line = CODE.sub(lambda match: "`" * len(match[0]), line)
        both = before + line
        for match in INLINE.finditer(both):
            if match.end() > len(before):
                yield number, match[1]
        if reference := REFERENCE.match(line):
            yield number, reference[1]
        before = line[line.rfind("["):] + " " if line.rfind("[") > line.rfind(")") else ""


def wrong(root, path, target):
    """Why a link is broken, or None if it is not."""
    name, _, heading = target.partition("#")
    if name.startswith("/"):
        return "begins at the root of a file system"
    there = (path.parent / name).resolve() if name else path
    if root not in (there, *there.parents):
        return "leads out of the tree"
    if not there.exists():
        return "no such file"
    if heading and (there.suffix != ".md" or heading not in anchors(there)):
        return f"no such heading: #{heading}"
    return None


def violations(root):
    files = tracked(root)
    for path in sorted(path for path in files if path.suffix == ".md"):
        for number, target in links(path):
            if not ADDRESS.match(target) and (why := wrong(root, path, target)):
                yield path, number, f"{target}: {why}"
    for path in sorted(path for path in files if path.suffix in SOURCES and path.name not in HISTORY):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for name in NAMED.findall(line):
                if not (root / name).exists():
                    yield path, number, f"{name}: no such file"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = list(violations(root))
    for path, number, what in found:
        print(f"{path.relative_to(root)}:{number}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
