# SPDX-License-Identifier: Apache-2.0
# Starts the programs of tests/unit/mpi under mpirun, of every MPI library that they were built for.
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import program
import pytest

# "LIBRARY=PATH" of each same_bytes, apart by colons; a library is called mpi, or mpi.openmpi and
# mpi.mpich where Debian's are there.
PROGRAMS = dict(
    pair.split("=", 1) for pair in os.environ.get("PAES_MPI_PROGRAMS", "").split(":") if pair
)
LIBRARIES = sorted(PROGRAMS)
NONE_BUILT = "no MPI library was found"

# What a job may take to end once a rank is dead, on a machine that other tests keep busy.
END_S = 10

# Ranks that wait must not keep the others from work where there are fewer processors than ranks.
OPTIONS = {"mpi.openmpi": ["--oversubscribe"], "mpi.mpich": [], "mpi": []}

each_library = pytest.mark.parametrize(
    "library",
    LIBRARIES or [pytest.param("none", marks=pytest.mark.skip(reason=NONE_BUILT))],
)


def environment():
    # Containers run as root, which Open MPI has to be told twice is meant.
    return program.clean_environment(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
    )


def mpirun(library):
    """The launcher that belongs to a library."""
    return "mpirun" + library.removeprefix("mpi")


def paes_mpi(library):
    """The program for this library."""
    return test_program(library, "paes-mpi")


def test_program(library, name):
    """Any of our programs, which are built beside each other, for this library."""
    return str(Path(PROGRAMS[library]).with_name(name + library.removeprefix("mpi")))


def command(library, ranks, *arguments, program_path=None, launcher_options=()):
    return [
        mpirun(library),
        *OPTIONS[library],
        *launcher_options,
        "-n",
        str(ranks),
        program_path or PROGRAMS[library],
        *map(str, arguments),
    ]


@dataclass
class Result:
    code: int
    out: str
    said: list  # the lines that are paes's own, not mpirun's


def outcome(done):
    err = done.stderr.decode(errors="replace")
    return Result(
        done.returncode,
        done.stdout.decode(errors="replace"),
        [line for line in err.splitlines() if line.startswith(("paes: ", "same_bytes: "))],
    )


def run(library, ranks, *arguments, cwd=None, timeout_s=program.TIMEOUT_S, stdin=b"", **options):
    return run_command(command(library, ranks, *arguments, **options), cwd, timeout_s, stdin)


def run_command(words, cwd=None, timeout_s=program.TIMEOUT_S, stdin=b""):
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(),
        timeout=timeout_s,
        check=False,
    )
    return outcome(done)


def succeed(library, ranks, *arguments, **options):
    result = run(library, ranks, *arguments, **options)
    assert result.code == 0, (arguments, result)
    return result


def ranks_of(library, folder):
    """The processes of the job that works in this folder, by their numbers in the system."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == os.fsencode(paes_mpi(library)) and any(
            os.fsencode(folder) in word for word in words
        ):
            found.append(int(entry.name))
    return sorted(found)


def running(word):
    """Processes with this in their command line, but for this one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(str(word)) in line and int(entry.name) != os.getpid():
            found.append(line)
    return found
