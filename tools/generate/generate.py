#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shell completions, the lists of options in the man pages and the enumerations of the schemas from what
the built programs say of themselves (`--list-options`). So a row of a table, and its file, is all that a new command,
option or choice needs beside its prose; that the man pages have this prose is looked at, too.

Usage: generate.py [--check] [--root FOLDER] [FOLDER_OF_THE_PROGRAMS]
--check writes nothing, and names what is stale. Exit codes: 0 all is as it should be; 1 something is stale or missing.
"""

import argparse
import pathlib
import sys

import completions
import described
import man_lists
import schema_lists

PROGRAMS = ["paes", "paes-mount", "paes-mpi"]


def described_programs(folder):
    """The commands of each program that is built. `paes` includes those of paes-mount."""
    found = {}
    for name in PROGRAMS:
        if (folder / name).exists():
            found[name] = described.ask_all(folder / name)
        else:
            print(f"generate: {name} is not built, so what is made of it is not looked at", file=sys.stderr)
    return found


def completion_files(programs):
    for name, commands in programs.items():
        yield f"completions/{name}.bash", completions.bash(name, commands)
        yield f"completions/_{name}", completions.zsh(name, commands)
        yield f"completions/{name}.fish", completions.fish(name, commands)


def commands_by_page(programs, names):
    pages = {}
    for program, commands in programs.items():
        for command in commands:
            page = man_lists.page_of(program, command, names)
            # `paes mount` is described by paes-mount.
            if page.removesuffix(".1") not in programs or page == f"{program}.1":
                pages.setdefault(page, []).append(command)
    return pages


def man_pages(root, programs):
    """The pages with their lists renewed, and the errors in their prose."""
    texts = {path.name: path.read_text() for path in sorted((root / "docs/man").glob("*.1"))}
    written, faults = {}, []
    for name, commands in commands_by_page(programs, texts).items():
        written[f"docs/man/{name}"] = man_lists.write_list(texts[name], commands)
        see_also = texts["paes.1"] if name == "paes-mpi.1" else ""
        faults += man_lists.faults(name, texts[name], commands, see_also)
    return written, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("programs", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    programs = described_programs((options.programs or options.root / "build/release/bin").resolve())

    wanted = dict(completion_files(programs))
    pages, faults = man_pages(options.root, programs)
    wanted.update(pages)
    if PROGRAMS == list(programs):
        for path in sorted((options.root / "docs/schema").glob("*.json")):
            wanted[f"docs/schema/{path.name}"] = schema_lists.write(path.read_text(), path.name, programs)
    for name, text in wanted.items():
        path = options.root / name
        if not path.exists() or path.read_text() != text:
            if options.check:
                faults.append(f"{name}: is stale; ./dev generate")
            else:
                path.write_text(text)
                print(name)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
