#!/usr/bin/env python3
"""The include rule: which folder may include which, and where special headers may appear.

Usage: include_rule.py [ROOT]; prints each violation as FILE:LINE and exits 1 if there is one.
"""

import pathlib
import re
import sys

# Each folder and the folders it may include from, besides its own and those further down the chain
# (ARCHITECTURE.md draws the same arrows).
ARROWS = {
    "apps": ["mpi", "cuda", "keystream"],
    "keystream": ["exec", "format", "message"],
    "mpi": ["stream"],
    "cuda": ["message"],
    "stream": ["exec", "format", "message"],
    "message": ["kernel", "exec"],
    "format": ["core"],
    "exec": ["core"],
    "kernel": ["mode"],
    "mode": ["cipher"],
    "cipher": ["core"],
    "core": [],
}

# The folders of apps, of which paes is one whose name the public headers have, too.
PROGRAMS = {"paes", "paes-mpi"}

# Headers that belong to one folder each. cpuid.h stands beside the intrinsics it decides about.
ONE_FOLDER = {
    r"(imm|x86|wmm|emm|smm|tmm|nmm|pmm|xmm|amm)intrin\.h|cpuid\.h|arm_neon\.h": "kernel",
    r"omp\.h": "exec",
    r"cuda[a-z_]*\.h|nv.*\.h": "cuda",
    r"mpi\.h": "mpi",
}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(folder):
    """All folders that `folder` may include from."""
    found = {folder}
    for below in ARROWS[folder]:
        found |= reachable(below)
    return found


def violations(root):
    """Yields (file, line number, what is wrong)."""
    sources = [(p.relative_to(root / "src").parts[0], p) for p in (root / "src").glob("*/**/*")]
    sources += [("apps", p) for p in (root / "apps").glob("**/*")]
    for folder, path in sorted(sources):
        if path.suffix not in {".cpp", ".hpp", ".h", ".def", ".cu", ".cuh"}:
            continue
        if folder not in ARROWS:
            yield path, 1, f"folder '{folder}' has no arrows in {pathlib.Path(__file__).name}"
            continue
        allowed = reachable(folder)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match[2]
            for pattern, home in ONE_FOLDER.items():
                if re.fullmatch(pattern, header) and folder != home:
                    yield path, number, f"<{header}> belongs in src/{home} alone"
            if match[1] == "<":
                continue
            target = header.split("/")[0]
            if header.startswith(".") or "/" not in header:
                yield path, number, f'"{header}" must be named from src/, as "folder/file.hpp"'
            elif target in ARROWS and target not in allowed:
                yield path, number, f"{folder} may not include {target}"
            elif target not in ARROWS and not (target == "paes" or folder == "apps" and target in PROGRAMS):
                yield path, number, f'"{header}": no such folder'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    bad = 0
    for path, number, what in violations(root):
        print(f"{path.relative_to(root)}:{number}: {what}")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
