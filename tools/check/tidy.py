#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on files of a build, several at a time.

Usage: tidy.py [--alone] CLANG_TIDY BUILD [OPTION...] <FILES

FILES are paths, one a line, that BUILD's compile_commands.json names; OPTION goes to clang-tidy. Prints every
finding and exits 1 if there is one.

Most of clang-tidy's time goes into headers. So files of one folder that are compiled with the same command are
looked at together: a new file in BUILD/tidy includes them all. If those cannot be compiled together, because two
of them define the same name, their halves are looked at apart. A few checks look at no included file
(misc-unused-using-decls and misc-unused-alias-decls are such); --alone looks at each file by itself.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

AT_ONCE = 8


class Batch:
    """Files that are compiled with the same command, but for their names."""

    def __init__(self, files, entry):
        self.files = files
        self.entry = entry

    def halves(self):
        middle = len(self.files) // 2
        return [Batch(part, self.entry) for part in (self.files[:middle], self.files[middle:])]


def without_names(entry):
    """The command of an entry, without the names of its source, object and dependencies."""
    return re.sub(r"\s-(o|c|MF|MT)\s+\S+", "", entry["command"])


def batches_of(entries, at_once):
    entries = sorted(entries, key=lambda entry: (without_names(entry), entry["file"]))
    for _, equal in itertools.groupby(
        entries, key=lambda entry: (without_names(entry), pathlib.Path(entry["file"]).parent)
    ):
        equal = list(equal)
        for first in range(0, len(equal), at_once):
            part = equal[first : first + at_once]
            yield Batch([entry["file"] for entry in part], part[0])


class Tidy:
    def __init__(self, program, build, options):
        self.program = program
        self.folder = build / "tidy"
        self.config = pathlib.Path(__file__).resolve().parents[2] / ".clang-tidy"
        self.options = options
        self.build = build

    def output_of(self, database, file):
        done = subprocess.run(
            [self.program, "--quiet", f"--config-file={self.config}", "-p", str(database), *self.options, str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # counts of what was suppressed
            text=True,
        )
        return done.returncode, done.stdout or (done.stderr if done.returncode else "")

    def findings(self, batch):
        """What clang-tidy says of the batch's files; nothing if all is well."""
        if len(batch.files) == 1:
            code, output = self.output_of(self.build, batch.files[0])
            return output if code else ""
        name = "_".join(pathlib.Path(file).stem for file in (batch.files[0], batch.files[-1]))
        folder = self.folder / f"{pathlib.Path(batch.files[0]).parent.name}_{name}"
        folder.mkdir(parents=True, exist_ok=True)
        together = folder / "together.cpp"
        together.write_text(
            "".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in batch.files)
        )
        command = batch.entry["command"].replace(batch.files[0], str(together))
        entry = {"directory": batch.entry["directory"], "command": command, "file": str(together)}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        code, output = self.output_of(folder, together)
        if "[clang-diagnostic-error" in output:
            return "".join(self.findings(half) for half in batch.halves())
        return output if code else ""


def main():
    arguments = sys.argv[1:]
    alone = arguments[:1] == ["--alone"]
    program, build, *options = arguments[alone:]
    build = pathlib.Path(build).resolve()
    wanted = {str(pathlib.Path(line).resolve()) for line in sys.stdin.read().splitlines()}
    database = json.loads((build / "compile_commands.json").read_text())
    entries = {entry["file"]: entry for entry in database if entry["file"] in wanted}
    if missing := wanted - entries.keys():
        print(f"tidy: {min(missing)} is not compiled in {build}")
        return 1
    batches = sorted(batches_of(entries.values(), 1 if alone else AT_ONCE), key=lambda batch: -len(batch.files))
    shutil.rmtree(build / "tidy", ignore_errors=True)
    tidy = Tidy(program, build, options)
    found = False
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for findings in pool.map(tidy.findings, batches):
            found = found or findings != ""
            sys.stdout.write(findings)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
