# SPDX-License-Identifier: Apache-2.0
# The ranks of MPI jobs, of every MPI library that was found, write and read the bytes that one process
# does.
import os
import tempfile
from pathlib import Path

import mpi
import pytest

RANKS = [1, 2, 3, 5, 8]
# Large enough that three ranks have batches of their own.
TEXT_BYTES = (13 << 20) + 21


@pytest.fixture
def memory_folder(tmp_path):
    """In memory where that is possible: hundreds of outputs are each synced by every rank."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="paes-test-") as path:
        yield Path(path)


@pytest.mark.parametrize("ranks", RANKS)
@mpi.each_library
def test_same_bytes(library, ranks, memory_folder):
    """Every parallel raw mode and the container, with key and salt injected, at sizes around
    chunks and batches."""
    result = mpi.succeed(
        library,
        ranks,
        memory_folder,
        "posix",
        "all",
        program_path=mpi.test_program(library, "same_bytes"),
        timeout_s=400,
    )
    compared = int(result.out.split()[0])
    assert compared > 100, result.out


@mpi.each_library
def test_same_bytes_by_mpi_io(library, memory_folder):
    for what in ("container", "aes-256-cbc"):
        mpi.succeed(
            library,
            3,
            memory_folder,
            "mpi",
            what,
            *(0, 1, 16384, (4 << 20) + 1, TEXT_BYTES),
            program_path=mpi.test_program(library, "same_bytes"),
        )


def test_libraries_that_did_not_run():
    """So that the report says of which MPI library the tests above do not speak."""
    missing = {"mpi.openmpi", "mpi.mpich"} - set(mpi.LIBRARIES)
    if missing:
        pytest.skip(f"not built for: {', '.join(sorted(missing))}")
