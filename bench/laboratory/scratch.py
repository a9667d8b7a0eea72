# SPDX-License-Identifier: Apache-2.0
"""Files in memory for experiments that run whole programs, and a clock for such runs."""
import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from . import programs

MEMORY = Path("/dev/shm")


def room():
    """How many bytes files in memory may still take."""
    return shutil.disk_usage(folder()).free


def folder():
    return MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())


@contextlib.contextmanager
def scratch_folder():
    with tempfile.TemporaryDirectory(prefix="paes-lab-", dir=folder()) as path:
        yield Path(path)


def random_file(path, count):
    with open(path, "wb") as file:
        for at in range(0, count, 1 << 24):
            file.write(os.urandom(min(1 << 24, count - at)))
    return path


def seconds_of(command):
    """How long a command runs, from start to end. Throws what programs.run() throws."""
    begun = time.perf_counter()
    programs.run(command)
    return time.perf_counter() - begun


def cipher(name, key, source, output, **options):
    """The command line of `paes cipher`."""
    command = [programs.BIN / "paes", "cipher", name, "--key", key, "-f", "-q", "-o", output]
    for option, value in options.items():
        command += [f"--{option.replace('_', '-')}", value]
    return [*command, source]


def same(first, second):
    """Whether two files have the same bytes."""
    if os.path.getsize(first) != os.path.getsize(second):
        return False
    with open(first, "rb") as one, open(second, "rb") as other:
        while chunk := one.read(1 << 22):
            if chunk != other.read(1 << 22):
                return False
    return True
