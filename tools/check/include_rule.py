#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include rule: which folder may include which, where special headers may appear, and that no files include
each other in a circle.

Usage: include_rule.py [ROOT]; prints each violation as FILE:LINE and exits 1 if there is one. Where ROOT
has an ARCHITECTURE.md, its arrows must be the ones below, and each of them must be needed.
"""

import collections
import pathlib
import re
import sys

# Each folder and the folders it may include from, besides its own and those further down the chain.
# ARCHITECTURE.md draws the same arrows.
ARROWS = {
    "bench": ["apps", "rows"],
    "rows": ["kernel"],
    "apps": ["mpi", "cuda", "volume"],
    "library": ["stream", "keystream", "cuda", "vault"],
    "library/c": [],
    "keystream": ["message"],
    "volume": ["vault", "keystream", "exec"],
    "vault": ["message", "encoding"],
    "mpi": ["stream"],
    "cuda": ["message"],
    "stream": ["exec", "age", "message"],
    "message": ["kernel", "exec"],
    "age": ["encoding", "format"],
    "format": ["crypto"],
    "encoding": ["crypto"],
    "crypto": ["core"],
    "exec": ["core"],
    "kernel": ["cipher"],
    "cipher": ["core"],
    "core": [],
}

# The programs of these folders, each included under its own name. Of bench, this rule knows only these and bench/rows, which is like a
# folder of src.
PROGRAMS = {"apps": ["cli", "paes", "paes-mpi", "paes-mount"], "bench": ["paes-bench", "paes-mpi-bench"]}

# Headers for a few folders only. cpuid.h stands beside the intrinsics about which it decides.
HOMES = {
    r"(imm|x86|wmm|emm|smm|tmm|nmm|pmm|xmm|amm)intrin\.h|cpuid\.h|arm_neon\.h": {"src/kernel", "bench/rows"},
    r"omp\.h": {"src/exec/schedule"},
    r"cuda[a-z_]*\.h|nv.*\.h": {"src/cuda"},
    r"mpi\.h": {"src/mpi"},
    r"fuse3/.*|fuse.*\.h": {"apps/paes-mount"},
}

# Where device code may be: kernels that users run, and those that studies have tried.
DEVICE_CODE = {"src/cuda", "bench/gpu"}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(folder):
    """All folders that `folder` may include from."""
    found = {folder}
    for below in ARROWS[folder]:
        found |= reachable(below)
    return found


def drawn_arrows(text):
    """The pairs of folders that arrows join in the fenced blocks of a document."""
    chains = []
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        chains += [chain for chain in re.split(r"\s{2,}|\n", block) if " -> " in chain]
    pairs = set()
    for chain in chains:
        folders = [names.split(", ") for names in chain.split(" -> ")]
        for start, ends in zip(folders, folders[1:]):
            pairs |= {(start[-1], end) for end in ends}
    return pairs


def violations_of_arrows(root):
    """Yields, like violations(), where ARCHITECTURE.md and the arrows differ, and arrows that nothing needs."""
    document = root / "ARCHITECTURE.md"
    arrows = {(start, end) for start, ends in ARROWS.items() for end in ends}
    drawn = drawn_arrows(document.read_text())
    for start, end in sorted(arrows ^ drawn):
        where = document.name if (start, end) in arrows else pathlib.Path(__file__).name
        yield document, 1, f"the arrow {start} -> {end} is missing in {where}"
    included = {folder: set() for folder in ARROWS}
    for folder, path in sources_in(root):
        matches = map(INCLUDE.match, path.read_text().splitlines())
        included.setdefault(folder, set()).update(folder_of(root, match[2]) for match in matches if match)
    for start, end in sorted(arrows):
        others = {start}.union(*(reachable(other) for other in ARROWS[start] if other != end))
        if not included[start] & ({end} | reachable(end) - others):
            yield document, 1, f"no include of {start} needs the arrow {start} -> {end}"


def violations_of_map(root):
    """Yields, like violations(), folders that the first drawing of ARCHITECTURE.md lacks, and its lines without a folder."""
    document = root / "ARCHITECTURE.md"
    drawing = re.search(r"^```\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)[1]
    drawn = {line.split()[0].rstrip("/") for line in drawing.splitlines()}
    present = {path.parent.relative_to(root).as_posix() for top in ("src", "apps", "include")
               for path in (root / top).glob("**/*") if path.suffix in {".cpp", ".hpp", ".h", ".def"}}
    present |= {path.relative_to(root).as_posix() for path in (root / "tests").glob("*/") if any(path.glob("*"))}
    for folder in sorted(present - drawn):
        yield document, 1, f"the drawing has no line for {folder}"
    for folder in sorted(folder for folder in drawn if not (root / folder).is_dir()):
        yield document, 1, f"the drawing has a line for {folder}, which is not there"


def folder_of(root, header):
    """The folder of a header, judging by the beginning of its name. Public headers and paes's own begin alike."""
    first = header.split("/")[0]
    if (root / "include" / header).exists():
        return "include"
    return next((folder for folder, programs in PROGRAMS.items() if first in programs), folder_in_src(header))


def folder_in_src(path):
    """The folder of a path below src: the longest one that has its own arrows."""
    return max((folder for folder in ARROWS if path.startswith(folder + "/")), key=len, default=path.split("/")[0])


def sources_in(root):
    """All sources, each with its folder."""
    sources = [(folder_in_src(p.relative_to(root / "src").as_posix()), p) for p in (root / "src").glob("*/**/*")]
    sources += [("rows", p) for p in (root / "bench/rows").glob("**/*")]
    sources += [(folder, p) for folder, programs in PROGRAMS.items() for program in programs
                for p in (root / folder / program).glob("**/*")]
    return [(folder, path) for folder, path in sorted(sources)
            if path.suffix in {".cpp", ".hpp", ".h", ".def", ".cu", ".cuh"}]


def unit_of(root, path):
    """A header and the source file of its name beside it are one unit."""
    return path.relative_to(root).with_suffix("").as_posix()


def circles(root):
    """Yields, like violations(), the units that include each other, however long the way around."""
    units = collections.defaultdict(set)
    tops = [root / top for top in ("src", "include", "apps", "bench")]
    for _, path in sources_in(root):
        for match in filter(None, map(INCLUDE.match, path.read_text().splitlines())):
            found = [top / match[2] for top in [path.parent, *tops] if (top / match[2]).is_file()]
            if match[1] == '"' and found:
                units[unit_of(root, path)].add(unit_of(root, found[0]))
    reached = {unit: reach(unit, units) for unit in units}
    seen = set()
    for unit in sorted(units):
        circle = sorted(other for other in reached[unit] - {unit} if unit in reached.get(other, set()))
        if circle and unit not in seen:
            seen |= {unit, *circle}
            yield root / unit, 1, f"includes, and is included by, {', '.join(circle)}"


def reach(start, edges):
    """Everything that can be reached from `start` in at least one step."""
    found, waiting = set(), list(edges[start])
    while waiting:
        unit = waiting.pop()
        if unit not in found and unit != start:
            found.add(unit)
            waiting += edges.get(unit, ())
        elif unit == start:
            found.add(start)
    return found


def violations(root):
    """Yields (file, line number, what is wrong)."""
    if (root / "ARCHITECTURE.md").exists():
        yield from violations_of_arrows(root)
        yield from violations_of_map(root)
    yield from circles(root)
    for top in ("src", "apps", "bench", "tests", "tools", "examples"):
        for path in sorted((root / top).glob("**/*.cu")):
            if path.relative_to(root).parent.as_posix() not in DEVICE_CODE:
                yield path, 1, f"device code belongs in {' and '.join(sorted(DEVICE_CODE))} alone"
    for folder, path in sources_in(root):
        if folder not in ARROWS:
            yield path, 1, f"folder '{folder}' has no arrows in {pathlib.Path(__file__).name}"
            continue
        allowed = reachable(folder)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match[2]
            for pattern, homes in HOMES.items():
                if re.fullmatch(pattern, header) and not any(path.is_relative_to(root / home) for home in homes):
                    yield path, number, f"<{header}> belongs in {' and '.join(sorted(homes))} alone"
            if match[1] == "<":
                continue
            if (path.parent / header).is_file() and path.is_relative_to(root / "apps/paes"):
                continue  # public headers begin with "paes/"; this folder's own begin with no folder
            target = folder_of(root, header)
            if header.startswith(".") or "/" not in header:
                yield path, number, f'"{header}" must be named from src/, as "folder/file.hpp"'
            elif target not in ARROWS and target != "include":
                yield path, number, f'"{header}": no such folder'
            elif target in ARROWS and target not in allowed:
                yield path, number, f"{folder} may not include {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    bad = 0
    for path, number, what in violations(root):
        print(f"{path.relative_to(root)}:{number}: {what}")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
