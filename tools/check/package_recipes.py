#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes for other package managers (packaging/recipes): each can be parsed, knows no version or sum by itself,
sets only options that CMake has, and names the libraries that CMake looks for.

Usage: package_recipes.py [ROOT]; prints each violation and exits 1 if there is one. Ruby and Nix parse theirs where they are
installed; elsewhere only a test does (tests/program/test_package_recipes.py).
"""

import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

# A library that CMakeLists.txt looks for, and the name that each manager has for it. `None`: for programs alone, and
# the recipe makes the library.
NAMES = {
    "OpenSSL": {"conda-forge": "openssl", "homebrew": "openssl@3", "nix": "openssl", "vcpkg": "openssl", "conan": "openssl"},
    "CLI11": {"conda-forge": "cli11", "homebrew": "cli11", "nix": "cli11", "vcpkg": None, "conan": None},
    "nlohmann_json": {"conda-forge": "nlohmann_json", "homebrew": "nlohmann-json", "nix": "nlohmann_json", "vcpkg": "nlohmann-json", "conan": "nlohmann_json"},
    "fmt": {"conda-forge": "fmt", "homebrew": "fmt", "nix": "fmt", "vcpkg": None, "conan": None},
    "fuse3": {"conda-forge": "libfuse3", "homebrew": "libfuse", "nix": "fuse3", "vcpkg": None, "conan": None},
}
# What CMake finds without a package of its own: the compiler's, or a library of one machine.
NO_PACKAGES = {"OpenMP", "Threads", "PkgConfig", "MPI"}


def parsers():
    """What parses each file, by its suffix."""

    def with_program(*command):
        def parse(path):
            if shutil.which(command[0]):
                done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise ValueError(done.stderr.strip().splitlines()[0])

        return parse

    return {
        ".yaml": lambda path: yaml.safe_load(path.read_text()),
        ".yml": lambda path: yaml.safe_load(path.read_text()),
        ".json": lambda path: json.loads(path.read_text()),
        ".py": lambda path: ast.parse(path.read_text()),
        ".rb": with_program("ruby", "-c"),
        ".nix": with_program("nix-instantiate", "--parse"),
    }


def words_of(text):
    """Words of a recipe without its comments, so that what only a comment names is not there."""
    return set(re.findall(r"[A-Za-z0-9_@.-]+", re.sub(r"(?m)(^|\s)#.*$", "", text)))


def looked_for(root):
    """The packages that the build looks for."""
    found = set()
    for path in (root / "CMakeLists.txt", root / "apps/CMakeLists.txt", root / "cmake/fuse.cmake"):
        text = re.sub(r"(?m)#.*$", "", path.read_text())
        found |= set(re.findall(r"find_package\((\w+)", text)) | set(re.findall(r"pkg_check_modules\((\w+)", text))
    return found - NO_PACKAGES


def options_of(root):
    """The options of CMake, which users may set."""
    found = set()
    for path in (root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake"), root / "src/mpi/CMakeLists.txt"):
        text = path.read_text()
        found |= set(re.findall(r"\boption\((PAES_\w+)", text)) | set(re.findall(r"\bset\((PAES_\w+)[^()]*\sCACHE\s", text))
    return found


def violations(root):
    folder = root / "packaging/recipes"
    parse_by = parsers()
    options = options_of(root)
    for name in sorted(looked_for(root) - NAMES.keys()):
        yield f"CMake looks for {name}, and package_recipes.py does not know what others call it"
    for recipe in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(path for path in recipe.rglob("*") if path.is_file())
        text = "\n".join(path.read_text() for path in files)
        for path in files:
            where = path.relative_to(root)
            try:
                parse_by.get(path.suffix, lambda _: None)(path)
            except (SyntaxError, ValueError, yaml.YAMLError) as error:
                yield f"{where}: {str(error).splitlines()[0]}"
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if re.search(r"\b[0-9a-f]{64,}\b", line) or re.search(r"paes-\d", line):
                    yield f"{where}:{number}: a version or a sum, which only ./dev release knows"
        for option in sorted(set(re.findall(r"(?:\b|-D)(PAES_[A-Z_]+)", text)) - options):
            yield f"packaging/recipes/{recipe.name}: CMake has no option {option}"
        for name, names in NAMES.items():
            wanted = names.get(recipe.name, "")
            if wanted and wanted not in words_of(text):
                yield f"packaging/recipes/{recipe.name}: names no {wanted}, and CMake looks for {name}"
        for word in ("@VERSION@", "@URL@"):
            if word not in text:
                yield f"packaging/recipes/{recipe.name}: no {word}"
        if not re.search("@SHA(256|512)@", text):
            yield f"packaging/recipes/{recipe.name}: no sum"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
