# SPDX-License-Identifier: Apache-2.0
"""What stays in memory of objects that were made and dropped: `python leaks.py KIND TIMES`.

A process of its own, so that the memory of other tests and their threads does not count. It prints
what stayed of `TIMES` objects: blocks that Python counts, and bytes that the system does.
"""

from __future__ import annotations

import ctypes
import gc
import io
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paes

KEY = b"k" * 32
GCM = paes.AESGCM(KEY)
KEYSTREAM = paes.Keystream()
CTR = KEYSTREAM.bind("aes-256-ctr", KEY)
GCM_KEY = KEYSTREAM.bind("aes-256-gcm", b"g" * 32)
PUBLIC = str(paes.Identity.generate().recipient)
RAW_KEY = paes.CobblestoneKey(KEY)


def raw_file() -> bytes:
    file = io.BytesIO()
    with paes.open(file, "wb", key=RAW_KEY) as writer:
        writer.write(b"text")
    return file.getvalue()


SEALED = raw_file()


def failing(call: Callable[[], object]) -> None:
    try:
        call()
    except (paes.Error, TypeError, ValueError):
        return
    raise AssertionError("the call must fail")


def stream() -> None:
    encryptor = paes.Cobblestone256Encryptor(KEY, b"", threads=1)
    sealed = encryptor.update(b"text") + encryptor.finalize()
    decryptor = paes.Cobblestone256Decryptor(KEY, b"", threads=1)
    decryptor.update(sealed)
    decryptor.finalize()


class BrokenSource(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise ValueError


# What is made and dropped, and how often: 100,000 times, or fewer where that takes too long.
KINDS: dict[str, tuple[int, Callable[[], Any]]] = {
    "Recipient": (10_000, lambda: paes.Recipient(PUBLIC)),
    "Identity": (10_000, paes.Identity.generate),
    "Passphrase": (100_000, lambda: paes.Passphrase("passphrase")),
    "CobblestoneKey": (100_000, lambda: paes.CobblestoneKey(KEY, b"context")),
    "AESGCM": (100_000, lambda: paes.AESGCM(KEY)),
    "AESGCM.encrypt": (100_000, lambda: GCM.encrypt(bytes(12), b"text" * 10, None)),
    "Cipher": (100_000, lambda: paes.Cipher("aes-256-ctr", KEY, bytes(16)).update(b"text")),
    "Cobblestone": (10_000, stream),
    "KeystreamContext": (100_000, lambda: KEYSTREAM.open(CTR, bytes(16), window_chunks=0)),
    "SealedContext": (
        100_000,
        lambda: KEYSTREAM.open_sealed(GCM_KEY, bytes(12), window_messages=0),
    ),
    "Reader": (3_000, lambda: paes.open(io.BytesIO(SEALED), key=RAW_KEY, threads=1).read()),
    "Writer": (5_000, raw_file),
    "unclosed Writer": (5_000, lambda: paes.open(io.BytesIO(), "wb", key=RAW_KEY).write(b"text")),
    "UsageError": (20_000, lambda: failing(lambda: paes.AESGCM(b""))),
    "TypeError": (100_000, lambda: failing(lambda: paes.AESGCM("text"))),  # type: ignore[arg-type]
    "CorruptError": (50_000, lambda: failing(lambda: GCM.decrypt(bytes(12), bytes(20), None))),
    "WrongKeyError": (
        2_000,
        lambda: failing(lambda: paes.open(io.BytesIO(SEALED), key=paes.CobblestoneKey(b"x" * 32))),
    ),
    "an exception of a source": (
        2_000,
        lambda: failing(lambda: paes.open(BrokenSource(SEALED), key=RAW_KEY)),
    ),
}

allocate = ctypes.CDLL(None).malloc
allocate.restype = ctypes.c_void_p
kept: list[bytes] = []

# These leak. A measurement that does not tell them finds nothing.
PLANTED: dict[str, tuple[int, Callable[[], Any]]] = {
    "planted in the library": (100_000, lambda: allocate(64)),
    "planted in Python": (100_000, lambda: kept.append(bytes(64))),
}


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def stayed(times: int, make: Callable[[], object]) -> tuple[int, int]:
    """The blocks and bytes that stay of `times` objects, once as many tenths have warmed up."""
    for _ in range(times // 10):
        make()
    gc.collect()
    blocks = sys.getallocatedblocks()
    resident = resident_bytes()
    for _ in range(times):
        make()
    gc.collect()
    return sys.getallocatedblocks() - blocks, resident_bytes() - resident


if __name__ == "__main__":
    _, measured = (KINDS | PLANTED)[sys.argv[1]]
    print(*stayed(int(sys.argv[2]), measured))
