# SPDX-License-Identifier: Apache-2.0
# The recipes of documents, as tests run them: every block of a document, in order, in a folder that
# holds the files it speaks of. What ```console blocks show is compared with what is printed, line by
# line; the others must succeed. Keys, dates, times and rates differ from run to run, and are compared
# as such. Commands run here, or behind a prefix, in the folder that it leads to.
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

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


# What a reader is told to have, beside a folder and short files with keys.
FILES = ("README.md", "photos.tar", "notes.txt", "disk.img", "big.img", "data", "image")


def furnish(folder):
    """The files that the documents speak of."""
    for name in FILES:
        (folder / name).write_bytes(os.urandom(8192))
    (folder / "folder").mkdir()
    (folder / "folder" / "file").write_bytes(b"text")
    (folder / "key24.bin").write_bytes(os.urandom(24))
    (folder / "key.bin").write_bytes(os.urandom(32))
    (folder / "keys.bin").write_bytes(os.urandom(64))
    (folder / "pass").write_text("word\n")


def matches(shown, printed):
    """A line `...` stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def run_session(block, folder, environment, prefix=()):
    for command, shown in session_of(block):
        done = subprocess.run(
            [*prefix, "bash", "-c", command],
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


def run_at_a_terminal(command, folder, environment, limit_s=600):
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
        for _ in range(len(re.findall(rb"[Pp]assphrase: |The same again: ", shown)) - answered):
            os.write(terminal, b"a passphrase\n")
            answered += 1
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert code == 0, f"{code}: {' '.join(command)}\n{shown.decode()}"


def run_block(kind, block, folder, environment, prefix=()):
    if kind == "console":
        run_session(block, folder, environment, prefix)
    elif kind == "python":
        run_at_a_terminal([*prefix, sys.executable, "-c", block], folder, environment)
    else:
        assert kind in ("", "sh"), f"who runs a block of {kind}?"
        run_at_a_terminal([*prefix, "bash", "-euxo", "pipefail", "-c", block], folder, environment)
