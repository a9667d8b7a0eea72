#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The glossary of ARCHITECTURE.md, where a search can enforce it.

Usage: glossary.py [ROOT]; prints each violation as FILE:LINE and exits 1 if there is one. It finds words
that have another meaning than the glossary's, two types of one name in headers, and words that the
glossary lacks.
"""

import pathlib
import re
import subprocess
import sys

# Beside the keystream engine it needs no other word.
OF_DEVICES = (
    r"(?!src/keystream/|src/library/(.*keystream|public_nonces)|src/volume/change/sealing_ahead|include/paes/keystream"
    r"|tests/[a-z]+/(keystream/|volume/sealing_ahead|c_interface/|race/|fuzz/c_interface_keystream)|examples/"
    r"|bench/paes-bench/(measure_speculate|measure_ahead|clients)|bench/experiments/e11|bench/laboratory/speculation)"
)
# What to look for, in which files, and what to write instead. A match is no violation if ALLOWED matches around the same place.
WORDS = [
    (r"\b\w*(?<![Kk]eystream)(?<![Kk]eystream[ _])[Ee]ngine\w*", OF_DEVICES, "device, or keystream engine"),
    (r"\bbackend", r".*", "kernel or device"),
    (r"\bbatch(es)?\b", r"src/(stream|mpi)/.*", "buffer, or items"),
    (r"(?i)\blinux kernel\b", r".*", "the system"),
    (r"(?i)\bgrain(s|_\w+)?\b", r".*", "piece"),
    (r"\b(struct|class) Request\b", r".*", "a name that says whose: EncryptCommand"),
]
ALLOWED = re.compile(
    # A member of the C interface's messages, an option of fio, and what is left out on purpose.
    r'"engine"|--ioengine|"backend"'
    r"|paes_keystream_engine|KEYSTREAM_ENGINE|mersenne_twister_engine"
)

SOURCES = {".cpp", ".hpp", ".h", ".cu", ".def", ".py", ".md", ".1", ".txt", ".cmake"}
# What others wrote, and what is history: results, vectors, logs, and this file.
LEFT_OUT = re.compile(
    r"bench/results/|bench/published\.json|tests/campaign/vectors/|tests/unit/age/testkit|CHANGELOG\.md"
    r"|docs/(mistakes|performance|reproducing|cluster)\.md|docs/log/|tools/check/|ARCHITECTURE\.md"
)
TYPE = re.compile(r"^(?:class|struct|enum class) (?:\[\[\w+\]\] )?(?:alignas\(\w+\) )?(\w+)(?: final)?(?: :[^:].*)? \{")
GLOSSARY_WORD = re.compile(r"^\| ([a-z ]+) \|", re.MULTILINE)
WANTED = {"kernel", "device", "keystream engine", "schedule", "placement", "chunk", "stripe", "piece", "buffer",
          "batch", "message", "request", "item"}


def tracked(root):
    """All sources that git knows, or all there are."""
    try:
        names = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout
        paths = [root / name for name in names.splitlines()]
    except subprocess.CalledProcessError:
        paths = list(root.rglob("*"))
    return [path for path in sorted(paths) if path.suffix in SOURCES and path.is_file()]


def violations(root):
    """Yields (file, line number, what is wrong)."""
    types = {}
    for path in tracked(root):
        name = path.relative_to(root).as_posix()
        if LEFT_OUT.match(name):
            continue
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            for word, files, instead in WORDS:
                for match in re.finditer(word, line):
                    around = line[max(match.start() - 20, 0):match.end() + 2]
                    if re.match(files, name) and not ALLOWED.search(around):
                        yield path, number, f"'{match[0]}': write {instead}"
            match = TYPE.match(line)
            if match and path.suffix == ".hpp" and re.match(r"(src|include|apps|bench)/", name):
                # A cipher's types are always used with the cipher's namespace, such as aes_tables::Keys.
                own = re.match(r"src/cipher/(\w+)\.hpp", name)
                first = types.setdefault((own[1] if own else "", match[1]), name)
                if first != name:
                    yield path, number, f"a second type {match[1]}, beside that of {first}"
    document = root / "ARCHITECTURE.md"
    if document.exists():
        for word in sorted(WANTED - set(GLOSSARY_WORD.findall(document.read_text()))):
            yield document, 1, f"the glossary lacks '{word}'"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = list(violations(root))
    for path, number, what in found:
        print(f"{path.relative_to(root)}:{number}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
