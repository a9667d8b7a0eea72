# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that measure: paes-bench, paes-mpi-bench, bench_aes_ci. Each prints a document, which is validated by its schema."""
import contextlib
import json
import math
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from . import schemas
from .experiment import Failed, OutOfTime, TimedOut

ROOT = schemas.ROOT
BIN = Path(os.environ.get("PAES_BIN", ROOT / "build" / "release" / "bin"))


GRACE_S = 5  # that a program has to end after SIGTERM
_ends = math.inf  # on the clock of time.monotonic(): when all programs are stopped


@contextlib.contextmanager
def until(ends):
    """Stops the programs of the block at a time of time.monotonic()."""
    global _ends
    before, _ends = _ends, ends
    try:
        yield
    finally:
        _ends = before


def stop(child):
    """Ends a program and what it started, such as ranks, which SIGKILL for mpirun alone would leave behind."""
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal_)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=GRACE_S)
            return


@contextlib.contextmanager
def signals_kept():
    """Keeps SIGINT and SIGTERM until the function that it gives is called, or until the block ends: a program that is just being
    started has no name yet by which it could be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def take():
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            came.clear()
            raise KeyboardInterrupt

    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, lambda *_: came.append(True))
        yield take
    finally:
        take()


def run(command, seconds=900, environment=None, codes=(0,)):
    """Runs a command and returns its standard output. Throws Failed if its exit code is not in `codes`, with the last line of its
    standard error, or what paes said if mpirun says more after it. Throws TimedOut if it takes too long, and OutOfTime if the time of
    until() is over."""
    command = [str(word) for word in command]
    name = Path(command[0]).name
    # The experiment chooses the threads, so the caller's OMP_ variables must not.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    left = _ends - time.monotonic()
    if left <= 0:
        raise OutOfTime(f"no time was left for {name}")
    with signals_kept() as take_signals:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={**inherited, **(environment or {})}, start_new_session=True)
        except FileNotFoundError as error:
            raise Failed(f"{error.filename}: is not there") from error
        with child:
            try:
                take_signals()
                out, said = child.communicate(timeout=min(seconds, left))
            except subprocess.TimeoutExpired as error:
                stop(child)
                if left < seconds:
                    raise OutOfTime(f"{name}: was stopped when no time was left") from error
                raise TimedOut(f"{name}: took more than {seconds} seconds") from error
            except BaseException:
                stop(child)
                raise
    if child.returncode not in codes:
        lines = said.decode(errors="replace").strip().splitlines() or ["nothing was said"]
        ours = [line for line in lines if line.startswith("paes: ")] or lines
        raise Failed(f"{name}: exit code {child.returncode}: {ours[-1]}")
    return out


def document(command, schema, **options):
    try:
        made = json.loads(run(command, **options))
    except ValueError as error:
        raise Failed(f"{Path(str(command[0])).name}: printed no JSON: {error}") from error
    wrong = schemas.first_violation(made, schema) if schema else None
    if wrong is not None:
        raise Failed(f"{Path(str(command[0])).name}: {schema}: {wrong}")
    return made


def paes_bench(kind, *arguments, **options):
    return document([BIN / "paes-bench", kind, *arguments, "--json"],
                    f"bench-{kind}.schema.json", **options)


def devices():
    return document([BIN / "paes", "devices", "--json"], "devices.schema.json")


def machine():
    """What paes says about the machine and about its own build."""
    return paes_bench("kernel", "--kernel", "bitslice", "--size", "16", "--seconds", "0")["machine"]


def cuda_reason():
    """Why there is no CUDA device, or None if there is one."""
    cuda = devices()["cuda"]
    return None if cuda["available"] else cuda["reason"]
