# SPDX-License-Identifier: Apache-2.0
# Runs the paes binary under test and states what a failure has to look like. Every test goes
# through here, so that "one clear line, the right exit code" is checked the same way everywhere.
import contextlib
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

PAES = os.environ.get("PAES", "")
# Built beside it.
BENCH = str(Path(PAES).with_name("paes-bench")) if PAES else ""

OK, FAILURE, USAGE, CORRUPT, WRONG_KEY, SOME_FAILED = range(6)

TIMEOUT_S = 120

# What stands before a command whose memory is measured: a small interpreter of its own, because a
# process inherits the high-water mark of the one that started it, so that a large parent would hide
# what paes took. Prints code and peak bytes.
MEASURED = [
    sys.executable,
    "-S",
    "-c",
    """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, file=sys.stderr)
""",
]


@dataclass
class Result:
    code: int  # negative: killed by that signal
    out: bytes
    err: str


def clean_environment(**changes):
    """No variable of the caller's decides anything, and messages stay in English."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    # Sanitizer builds take their options and suppressions from the caller, and one that counts lines the file for them.
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS") or name == "LLVM_PROFILE_FILE":
            environment[name] = value
    environment.update(changes)
    return environment


def run(*arguments, stdin=b"", prefix=(), cwd=None, timeout_s=TIMEOUT_S, pass_fds=(), umask=-1, binary=PAES):
    """Runs `prefix... paes arguments...`, or another program; `stdin` is bytes or an open file."""
    feed = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    done = subprocess.run(
        [*map(str, prefix), binary, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=clean_environment(),
        timeout=timeout_s,
        pass_fds=pass_fds,
        umask=umask,
        check=False,
        **feed,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def succeed(*arguments, **options):
    result = run(*arguments, **options)
    assert result.code == OK, f"paes {arguments} exited {result.code}: {result.err}"
    return result


def names_looked_up(trace, *arguments, cwd=None):
    """How many names the system has looked up for paes: those in all paths of its calls. `trace` is a new file."""
    can_trace = shutil.which("strace") and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], check=False)
    if not can_trace or can_trace.returncode != 0:
        pytest.skip("strace is missing, or may trace nothing here")
    succeed(*arguments, cwd=cwd, prefix=["strace", "-f", "-qq", "-s", "8192", "-e", "trace=%file", "-o", trace])
    return sum(path.count("/") + 1 for path in re.findall(r'"([^"]*)"', Path(trace).read_text()))


def choices_of(command, option):
    """What the program says it takes for an option, so that a new row of its table is tested, too."""
    options = json.loads(succeed(command, "--list-options").out)["options"]
    return next(one["choices"] for one in options if option in one["names"])


def start(*arguments, binary=PAES, **options):
    """A running paes, or another program; the caller waits for it."""
    options.setdefault("env", clean_environment())
    return subprocess.Popen([binary, *map(str, arguments)], **options)


def on_a_terminal(arguments, answers):
    """Runs paes with a terminal of its own, typing an answer at each prompt. Gives the exit code
    and all that the terminal showed."""
    pid, terminal = os.forkpty()
    if pid == 0:
        os.execve(PAES, [PAES, *map(str, arguments)], clean_environment())
    shown = b""
    waiting = list(answers)
    prompts = 0
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"silent: {shown!r}"
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # EIO: closed
            break
        if shown.endswith(b": ") and shown.count(b": ") > prompts and waiting:
            prompts = shown.count(b": ")
            os.write(terminal, waiting.pop(0) + b"\n")
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def without_override():
    """A prefix under which permissions count, also for root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("as root this needs setpriv (Debian package util-linux)")
    # Needs no other user: the owner's bits bind a root that lacks these two capabilities.
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def assert_error_lines(err, pattern=""):
    """`paes: WHAT: WHY`, at most one hint line after it, and nothing else."""
    lines = err.splitlines()
    assert 1 <= len(lines) <= 2, f"want one line and at most a hint, got: {err!r}"
    assert re.fullmatch(r"paes: \S.*: \S.*", lines[0]), lines[0]
    if len(lines) == 2:
        assert re.match(r"(paes: )?hint: \S", lines[1]), lines[1]
    assert re.search(pattern, err, re.IGNORECASE), f"{pattern!r} not in {err!r}"


def fail(*arguments, code, says="", **options):
    """Runs paes, which must fail with `code`, say so in one line that matches `says`, and write
    nothing to standard output."""
    result = run(*arguments, **options)
    codes = (code,) if isinstance(code, int) else code
    assert result.code in codes, f"paes {arguments} exited {result.code}: {result.err}"
    assert_error_lines(result.err, says)
    assert result.out == b""
    return result


def as_age(*arguments, code=OK, **options):
    """Runs `paes age`, whose messages and exit codes are age's."""
    done = run("age", *arguments, **options)
    assert done.code == code, done.err
    return done


def tree(folder):
    """What a folder holds: name -> (kind, mode, digest). Equal trees mean nothing was left behind
    and nothing was touched."""
    listing = {}
    for path in sorted(Path(folder).rglob("*")):
        status = path.lstat()
        content = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = digest(path)
        listing[str(path.relative_to(folder))] = (status.st_mode, content)
    return listing


def all_below(folder):
    """Every path below, sorted. Path.rglob of Python 3.11 fails at a link whose target is too long to follow."""
    return sorted(Path(top) / name for top, folders, files in os.walk(folder) for name in (*folders, *files))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wait_until(condition, what, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.002)


@contextlib.contextmanager
def killed_on_failure(process):
    """`with Popen(...)` waits for its process whatever fails in it, and some processes end only if nothing does."""
    try:
        yield
    except BaseException:
        process.kill()
        raise


def died_of(code, number):
    """True for a process that ended because of signal `number`, by the signal itself or by a
    shell's convention for it."""
    return code in (-number, 128 + number)


SIGNALS = (signal.SIGINT, signal.SIGTERM)
