# SPDX-License-Identifier: Apache-2.0
"""Converts paths and file objects to what the library takes."""

from __future__ import annotations

import errno
import io
import operator
import os
import select
import stat
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeGuard, cast


class Readable(Protocol):
    """A binary file that can be read at any place."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes."""

    def seek(self, offset: int, whence: int = 0, /) -> int | None:
        """Move to a place and return it."""


class Writable(Protocol):
    """A binary file that can be written in order."""

    def write(self, data: bytes, /) -> int | None:
        """Take bytes, perhaps fewer than given, and return how many."""


class ProcessLock:
    """A lock for the threads of each process by itself.

    A thread that only the parent has may hold the parent's. The thread that holds a lock may take
    it again, as a signal handler may have to.
    """

    def __init__(self) -> None:
        """Make it; the locks come later."""
        self._locks: dict[int, AbstractContextManager[bool]] = {}

    def here(self) -> AbstractContextManager[bool]:
        """Return the lock of this process."""
        return self._locks.setdefault(os.getpid(), threading.RLock())


class Ranges:
    """A source that is read by ranges, from any thread."""

    def __init__(self, read_at: Callable[[int, int], Any], size: int, name: str) -> None:
        """Take a function of an offset and a size, which may return fewer bytes."""
        self.read_at = read_at
        self.size = size
        self.name = name


_MOST_AT_ONCE = 1 << 20

Path: TypeAlias = "str | os.PathLike[str]"
ReadSource: TypeAlias = "str | os.PathLike[str] | Readable | Ranges"
WriteTarget: TypeAlias = "str | os.PathLike[str] | Writable"


def name_of(file: object) -> str:
    """Return the name for messages."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "the file object"


def reading(source: ReadSource) -> Path | tuple[Callable[[int, int], Any], int, str]:
    """Return the path, or a function that reads a file object, its length, and its name."""
    if isinstance(source, (str, os.PathLike)):
        return source
    ranges = source if isinstance(source, Ranges) else ranges_of(source)
    return ranges.read_at, ranges.size, ranges.name


def ranges_of(file: Readable) -> Ranges:
    """Return what reads a file object at any place, for threads that take turns."""
    name = name_of(file)
    if _tells_wrong_length(file):
        file = io.BytesIO(_read_to_end(file))
    return Ranges(_read_at(file), _length(file), name)


def _wait(file: object, event: int, waits: int) -> bool:
    """Wait until a non-blocking file can go on. False if it has no descriptor to ask.

    `waits` counts the calls since it last went on. If the descriptor is always ready, the file
    waits for something else, and asking again at once would keep a processor busy.
    """
    try:
        descriptor = cast("Any", file).fileno()
    except (AttributeError, OSError):
        return False
    ready = select.poll()
    ready.register(descriptor, event)
    if not ready.poll(0):
        ready.poll()
    elif waits:
        time.sleep(min(0.0005 * 2 ** min(waits, 7), 0.05))
    return True


def _read(file: Readable, size: int) -> bytes:
    """Read at most `size` bytes, and wait for the first of them."""
    waits = 0
    while (data := file.read(size)) is None:
        if not _wait(file, select.POLLIN, waits):
            raise BlockingIOError(errno.EAGAIN, f"{name_of(file)}: cannot be read without waiting")
        waits += 1
    return data


def _tells_wrong_length(file: Readable) -> bool:
    # Files under /proc claim to be empty, and those under /sys to have one page.
    if not _is_plain(file):
        return False
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_blocks * 512 >= max(status.st_size, 1):
        return False
    at_end = os.pread(file.fileno(), 2, max(status.st_size - 1, 0))
    if len(at_end) == (1 if status.st_size else 0):
        return False
    is_growing = len(at_end) > 0 and os.fstat(file.fileno()).st_size != status.st_size
    return not is_growing  # then its present length counts


def _read_to_end(file: Readable) -> bytes:
    # The file's position is kept: a whole file is meant, wherever it stands.
    place = file.seek(0, os.SEEK_CUR)
    file.seek(0)
    data = b"".join(iter(lambda: _read(file, _MOST_AT_ONCE), b""))
    file.seek(0 if place is None else place)
    return data


def _is_plain(file: object) -> TypeGuard[io.FileIO | io.BufferedReader]:
    # What the built-in open returns. It is read without using its position, which a forked child
    # and its parent share.
    return type(file) is io.FileIO or (
        type(file) is io.BufferedReader and type(file.raw) is io.FileIO
    )


def _length(file: Readable) -> int:
    if _is_plain(file):
        place = file.tell()
        length = file.seek(0, os.SEEK_END)
        file.seek(place)
        return length
    bytes_in_all = file.seek(0, os.SEEK_END)
    if bytes_in_all is None:  # for example, of an mmap
        bytes_in_all = cast("Any", file).tell()
    length = operator.index(bytes_in_all)
    if not 0 <= length < 2**63:
        raise OSError(f"{name_of(file)}: seek returned {length}")
    return length


def _read_at(file: Readable) -> Callable[[int, int], bytes]:
    if _is_plain(file):
        plain = file
        return lambda offset, size: os.pread(plain.fileno(), size, offset)

    # Seeking and reading belong together. A signal handler may take the lock again; what it has
    # interrupted then starts anew.
    lock = ProcessLock()
    begun = 0

    def read_at(offset: int, size: int) -> bytes:
        nonlocal begun
        with lock.here():
            while True:
                begun += 1
                mine = begun
                file.seek(offset)
                data = _read(file, size)
                if mine == begun:
                    return data

    return read_at


def writing(target: WriteTarget) -> Path | Callable[[bytes], None]:
    """Return the path, or a function that writes all of some bytes to a file object."""
    if isinstance(target, (str, os.PathLike)):
        return target
    file = target

    def write(data: bytes) -> None:
        left = memoryview(data)
        waits = 0
        while left:
            try:
                written = file.write(cast("bytes", left))
            except BlockingIOError as error:  # from a buffered file, which has taken a part
                left = left[error.characters_written :]
                waits = waits + 1 if error.characters_written == 0 else 0
                if not _wait(file, select.POLLOUT, waits):
                    raise
                continue
            if written is None and isinstance(file, io.RawIOBase):
                if not _wait(file, select.POLLOUT, waits):
                    raise BlockingIOError(
                        errno.EAGAIN, f"{name_of(file)}: cannot be written without waiting"
                    )
                waits += 1
                continue
            if written is None:
                return  # a file that takes everything and does not count
            if not 0 < written <= len(left):
                raise OSError(f"{name_of(file)}: write returned {written}")
            left = left[written:]
            waits = 0

    return write
