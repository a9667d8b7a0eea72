# README.md and the documents with recipes, run as they stand: every block of a document, in order, in one
# folder that holds the files it speaks of. The output of ```console blocks is compared as well, line by
# line; the others must succeed. `./dev run` stands for the program under test, and the parts of `dev` that
# build, test and measure for an hour are only looked up. Keys, dates, times and rates differ from run to
# run, and are compared as such.
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from program import BENCH, PAES, clean_environment

ROOT = Path(__file__).resolve().parents[2]
# Each with what it makes, and with pairs of files that must be equal afterwards.
DOCUMENTS = {
    "README.md": (
        ["photos.tar.paes", "folder.tar.paes", "disk.img.paes", "head"],
        [("restored.tar", "backup.tar")],
    ),
    "docs/recipes.md": (
        ["photos.tar.paes", "shared.paes", "notes.txt.paes", "big.img.paes"],
        [("again.tar", "photos.tar"), ("report", "data")],
    ),
    "docs/open-without-paes.md": ([], [("opened.tar", "backup.tar")]),
    "bench/README.md": ([], []),
}

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


def blocks(document):
    """(kind, text) of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


def session_of(block):
    """Commands with the lines that they print."""
    session = []
    for line in block.splitlines():
        if line.startswith("$ "):
            session.append((line[2:], []))
        elif line.startswith("> ") and not session[-1][1]:
            session[-1] = (session[-1][0] + "\n" + line[2:], [])
        else:
            session[-1][1].append(line)
    return session


DEV = """#!/bin/sh
"$REAL_DEV" help | grep -q "^  $1 " || exit 9
case $1 in
  run) shift; exec paes "$@" ;;
  bench) exec paes-bench "$2" --help ;;
esac
"""
# A job of one rank, which is paes.
MPIRUN = """#!/bin/sh
[ "$1" = -n ] && [ "$3" = paes-mpi ] && shift 3 && exec paes "$@"
"""


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def stage(tmp_path):
    """The folder, with what a reader is told to have; `paes` is in the path, and `mpirun`."""
    folder, programs = tmp_path / "folder", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (programs / "paes").symlink_to(PAES)
    (programs / "paes-bench").symlink_to(BENCH)
    write_script(programs / "mpirun", MPIRUN)
    write_script(folder / "dev", DEV)
    for name in ("README.md", "photos.tar", "notes.txt", "disk.img", "big.img", "data", "image"):
        (folder / name).write_bytes(os.urandom(8192))
    (folder / "folder").mkdir()
    (folder / "folder" / "file").write_bytes(b"text")
    (folder / "key.bin").write_bytes(os.urandom(32))
    (folder / "keys.bin").write_bytes(os.urandom(64))
    (folder / "pass").write_text("word\n")
    environment = clean_environment(HOME=str(folder), REAL_DEV=str(ROOT / "dev"))
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    return folder, environment


def matches(shown, printed):
    """A line `...` stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def run_session(block, folder, environment):
    for command, shown in session_of(block):
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


def run_at_a_terminal(command, folder, environment, limit_s=120):
    """Answers each prompt for a passphrase."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environment)
    shown, answered = b"", 0
    deadline = time.monotonic() + limit_s
    while True:
        assert select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0], shown
        try:
            more = os.read(terminal, 4096)
        except OSError:  # EIO: the last program has closed the terminal
            break
        if not more:
            break
        shown += more
        for _ in range(len(re.findall(rb"passphrase: |The same again: ", shown)) - answered):
            os.write(terminal, b"a passphrase\n")
            answered += 1
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert code == 0, f"{code}: {' '.join(command)}\n{shown.decode()}"


def test_readme_shows_the_main_job():
    commands = [command for kind, block in blocks("README.md") if kind == "console" for command, _ in session_of(block)]
    assert any(command.startswith("./dev run encrypt --new-identity") for command in commands)


def test_readme_shows_how_to_test():
    assert any(line.startswith("./dev test") for _, block in blocks("README.md") for line in block.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_in_order(document, stage):
    folder, environment = stage
    assert blocks(document)
    for kind, block in blocks(document):
        if kind == "console":
            run_session(block, folder, environment)
        elif kind == "python":
            run_at_a_terminal([sys.executable, "-c", block], folder, environment)
        else:
            assert kind in ("", "sh"), f"who runs a block of {kind}?"
            run_at_a_terminal(["bash", "-euxo", "pipefail", "-c", block], folder, environment)
    made, equal = DOCUMENTS[document]
    for name in made:
        assert (folder / name).exists(), name
    for one, other in equal:
        assert (folder / one).read_bytes() == (folder / other).read_bytes(), one
