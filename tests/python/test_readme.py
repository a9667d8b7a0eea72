# The sessions that README.md shows, run as shown: each ```console block's commands in order, in one
# folder, with the output compared line by line. `./dev run` stands for the program under test.
# Keys, dates, times and rates differ from run to run, so they are compared as such.
import re
import subprocess
from pathlib import Path

import pytest
from program import PAES, clean_environment

README = Path(__file__).resolve().parents[2] / "README.md"

CHANGING = [
    (r"age1[02-9ac-hj-np-z]{58}", "AGE-RECIPIENT"),
    (r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}", "AGE-IDENTITY"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE"),
    (r"\d+\.\d+ (m?s|[kMG]B/s)\b", r"N \1"),
    (r"\bkernel \w+", "kernel NAME"),
    (r"\bthreads \d+", "threads N"),
]


def normalized(line):
    for pattern, stands_for in CHANGING:
        line = re.sub(pattern, stands_for, line)
    return line.rstrip()


def sessions():
    """Lists of (command, output lines), one list a block."""
    text = README.read_text() if README.exists() else ""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        session = []
        for line in block.splitlines():
            if line.startswith("$ "):
                session.append((line[2:], []))
            elif line.startswith("> ") and not session[-1][1]:
                session[-1] = (session[-1][0] + "\n" + line[2:], [])
            else:
                session[-1][1].append(line)
        yield session


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """The folder of the sessions: a file to encrypt, `paes` in the path and `./dev run`."""
    folder = tmp_path_factory.mktemp("readme")
    programs = tmp_path_factory.mktemp("bin")
    (programs / "paes").symlink_to(PAES)
    (folder / "dev").write_text('#!/bin/sh\n[ "$1" = run ] && shift && exec paes "$@"\n')
    (folder / "dev").chmod(0o755)
    return folder, programs


def matches(shown, printed):
    """A line `...` in the README stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def test_readme_shows_the_main_job():
    commands = [command for session in sessions() for command, _ in session]
    assert any(command.startswith("./dev run encrypt --new-identity") for command in commands)


def test_sessions(stage):
    folder, programs = stage
    environment = clean_environment(HOME=str(folder))
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    for session in sessions():
        for command, shown in session:
            if command.startswith(("./dev test", "./dev bench", "paes bench", "git ", "cd ")):
                continue
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
            )
            printed = done.stdout.decode().splitlines()
            assert matches(list(map(normalized, shown)), list(map(normalized, printed))), (
                f"$ {command}\n" + "\n".join(printed)
            )
