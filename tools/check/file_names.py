#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""File names are unique in the tree, so that a name alone says which file is meant.

Usage: file_names.py [ROOT]; prints each name that files in several folders have, and exits 1 if there is one. Files
of one name in one folder (a header and its source) are one subject.
"""

import collections
import pathlib
import subprocess
import sys

SUFFIXES = {".c", ".cpp", ".cu", ".def", ".h", ".hpp", ".py", ".sh"}

# Names that a tool requires.
REQUIRED = {"__init__", "conanfile", "conftest", "main"}

# Interfaces, whose users name them with "paes": the C++ and C headers, and the Python package. Also programs that imitate other people's.
INTERFACES = ("include/paes/", "python/src/paes/", "examples/")

# Exceptions. This list may only get shorter.
SHARED = {
    "container",  # src/format; tests/program, which must not depend on it
    "des_bitslice", "des_compute", "des_tables",  # src/cipher's definition of a cipher, and the kernel that runs it
    "device", "mpi", "tables",  # modules of bench/laboratory
    "vault",  # a subcommand; a maker of vaults for tests/program
}


def shared_names(paths):
    """The names of files in more than one folder, with these folders."""
    folders = collections.defaultdict(set)
    for path in map(pathlib.PurePosixPath, paths):
        if path.suffix in SUFFIXES and not str(path).startswith(INTERFACES):
            folders[path.stem].add(str(path.parent))
    return {name: found for name, found in folders.items() if len(found) > 1 and name not in REQUIRED}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"], check=True,
                            capture_output=True, text=True).stdout.splitlines()
    shared = shared_names(path for path in listed if (pathlib.Path(root) / path).exists())
    for name, found in sorted(shared.items()):
        if name not in SHARED:
            print(f"{name}: {', '.join(sorted(found))}")
    for name in sorted(SHARED - shared.keys()):
        print(f"{name}: is unique by now, and no exception any more (file_names.py)")
    return 0 if shared.keys() == SHARED else 1


if __name__ == "__main__":
    sys.exit(main())
