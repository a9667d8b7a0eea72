# SPDX-License-Identifier: Apache-2.0
"""Nothing stays of an object that is dropped."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from conftest import IS_EXHAUSTIVE
from leaks import KINDS, PLANTED, RAW_KEY, SEALED

import paes


class WithFile:
    """A file object that refers to what reads or writes it."""

    def __init__(self, mode: Any) -> None:
        self.data = io.BytesIO(SEALED)
        self.file = paes.open(self, mode, key=RAW_KEY, threads=1)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self.data.seek(offset, whence)

    def read(self, size: int, /) -> bytes:
        return self.data.read(size)

    def write(self, data: bytes, /) -> int:
        return len(data)


@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_circles_are_collected(mode: str) -> None:
    objects = [weakref.ref(WithFile(mode)) for _ in range(3)]
    gc.collect()
    assert [there() for there in objects] == [None] * 3


def leaks(kind: str, times: int) -> bool:
    """Whether more than a little stays. Allocators keep a little; a leak keeps at least the
    smallest piece of memory for each object."""
    command = [sys.executable, str(Path(__file__).with_name("leaks.py")), kind, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    blocks, resident = map(int, done.stdout.split())
    return blocks >= times // 10 or resident >= (4 << 20) + 16 * times


@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_leaks(kind: str) -> None:
    times, _ = KINDS[kind]
    assert not leaks(kind, times * 10 if IS_EXHAUSTIVE else times)


@pytest.mark.parametrize("kind", list(PLANTED))
def test_a_leak_is_found(kind: str) -> None:
    times, _ = PLANTED[kind]
    assert leaks(kind, times)
