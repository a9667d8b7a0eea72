#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface is what packaging/libpaes.abi says: its functions, their parameters and their structs.

Usage: c_interface.py [--record | --names] [ROOT [LIBRARY]]

Each declaration of the C headers gets an empty body, and abidw (abigail-tools) describes the library that a C
compiler makes of them: so the description depends on the headers and on nothing else. abidiff compares it with
the recorded one. LIBRARY, a libpaes.so, must have just these functions. --record writes the description, --names
prints the functions that the headers declare.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

RECORDED = "packaging/libpaes.abi"
# A declaration at the beginning of a line: the result's type, the name, the parameters.
FUNCTION = re.compile(r"^((?:const )?\w+(?: \w+)*\*? (paes_\w+)\([^;{}]*\));", re.MULTILINE)


class Broken(Exception):
    """An error, in one line."""


def headers(root):
    """The C headers: those that are neither C++'s nor for it."""
    return [path for path in sorted((root / "include/paes").glob("*.h")) if path.name != "export.h"]


def declarations(root):
    """Each function's name and its declaration without the semicolon."""
    found = {}
    for path in headers(root):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        functions = FUNCTION.findall(text)
        # A declaration that the pattern does not match must not pass as checked.
        seen = len(re.findall(r"\bpaes_\w+\s*\([^*]", re.sub(r"typedef[^;]*\(\*[^;]*;", "", text)))
        if seen != len(functions):
            raise Broken(f"{path}: has {seen} functions, of which this check understands {len(functions)}")
        found.update({name: declaration for declaration, name in functions})
    if not found:
        raise Broken(f"{root}/include/paes: has no C headers")
    return found


def run(*command):
    """What a program prints. If it fails, so do we."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"{command[0]} fails:\n{done.stdout}{done.stderr}")
    return done.stdout


def describe(root, folder):
    """Makes the description of the headers, and the library that it describes."""
    stubs = "".join(f"{one} {{ __builtin_trap(); }}\n" for one in declarations(root).values())
    (folder / "stubs.c").write_text('#include "paes/paes.h"\n' + stubs)
    library = folder / "libpaes.so"
    run("cc", "-std=c99", "-g", "-gdwarf-4", "-O0", "-shared", "-fPIC", "-Wl,-soname,libpaes.so",
        f"-Wl,--version-script={root}/packaging/exports.map", "-I", str(root / "include"), "-o", str(library),
        str(folder / "stubs.c"))
    made = folder / "made.abi"
    run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--no-architecture",
        "--type-id-style", "hash", "--out-file", str(made), str(library))
    made.write_text(made.read_text().replace(f"{folder}/", ""))
    return made, library


def compare(root, made):
    """Fails unless the recorded description equals this one."""
    done = subprocess.run(["abidiff", "--harmless", "--no-show-locs", str(root / RECORDED), str(made)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, end="")
        raise Broken(f"the C interface is not that of {RECORDED}; if it shall be another one, run "
                     "tools/check/c_interface.py --record")


def functions_of(library):
    """The C functions of a library, with their versions."""
    lines = run("nm", "-D", "--defined-only", "--with-symbol-versions", str(library)).splitlines()
    return {symbol for symbol in (line.split()[-1] for line in lines) if symbol.startswith("paes_")}


def compare_library(library, wanted):
    """Fails unless the library has the headers' functions, in their versions."""
    differences = functions_of(library) ^ functions_of(wanted)
    if differences:
        raise Broken(f"{library} and the headers differ in {', '.join(sorted(differences))}")


def main():
    arguments = sys.argv[1:]
    mode = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    root = pathlib.Path(arguments[0] if arguments else ".")
    try:
        if mode == "--names":
            print("\n".join(declarations(root)))
            return 0
        with tempfile.TemporaryDirectory() as folder:
            made, library = describe(root, pathlib.Path(folder))
            if mode == "--record":
                (root / RECORDED).write_text(made.read_text())
                return 0
            compare(root, made)
            if len(arguments) > 1:
                compare_library(pathlib.Path(arguments[1]), library)
    except Broken as why:
        print(f"c_interface.py: {why}")
        return 1
    return 0


sys.exit(main())
