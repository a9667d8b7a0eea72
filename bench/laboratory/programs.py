# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that measure: paes-bench, paes-mpi-bench, bench_aes_ci. Each prints a document, which is validated by its schema."""
import json
import os
import subprocess
from pathlib import Path

from . import schemas
from .experiment import Failed, TimedOut

ROOT = schemas.ROOT
BIN = Path(os.environ.get("PAES_BIN", ROOT / "build" / "release" / "bin"))


def run(command, seconds=900, environment=None, codes=(0,)):
    """Runs a command and returns its standard output. Throws Failed if its exit code is not in `codes`, with the last line of its
    standard error, or what paes said if mpirun says more after it. Throws TimedOut if it takes too long."""
    # The experiment chooses the threads, so the caller's OMP_ variables must not.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=seconds, check=False,
                              env={**inherited, **(environment or {})})
    except FileNotFoundError as error:
        raise Failed(f"{error.filename}: is not there") from error
    except subprocess.TimeoutExpired as error:
        raise TimedOut(f"{Path(command[0]).name}: took more than {seconds} seconds") from error
    if done.returncode not in codes:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing was said"]
        ours = [line for line in said if line.startswith("paes: ")] or said
        raise Failed(f"{Path(str(command[0])).name}: exit code {done.returncode}: {ours[-1]}")
    return done.stdout


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
