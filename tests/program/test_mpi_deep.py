# SPDX-License-Identifier: Apache-2.0
# What takes too long for every run (./dev check --deep): files of more than a gibibyte by every number
# of ranks.
import os
import shutil
import tempfile
from pathlib import Path

import mpi
import pytest
from test_mpi import RANKS

BYTES = (1 << 30) + 1

deep = pytest.mark.skipif(
    not os.environ.get("PAES_EXHAUSTIVE"), reason="only with PAES_EXHAUSTIVE (dev check --deep)"
)


@pytest.fixture
def large_folder():
    """Room for the text and two outputs, in memory where there is that much."""
    wanted = 4 * BYTES
    for parent in ("/dev/shm", tempfile.gettempdir()):
        if os.access(parent, os.W_OK) and shutil.disk_usage(parent).free > wanted:
            with tempfile.TemporaryDirectory(dir=parent, prefix="paes-test-") as path:
                yield Path(path)
            return
    pytest.skip(f"no folder has {wanted} bytes free")


@deep
@pytest.mark.parametrize("what", ["container", "aes-256-ctr"])
@pytest.mark.parametrize("ranks", RANKS)
@mpi.each_library
def test_same_bytes_of_a_gibibyte_and_one(library, ranks, what, large_folder):
    mpi.succeed(
        library,
        ranks,
        large_folder,
        "posix",
        what,
        BYTES,
        program_path=mpi.test_program(library, "same_bytes"),
        timeout_s=600,
    )
