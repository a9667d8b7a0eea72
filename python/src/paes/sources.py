"""Paths and file objects as the library takes them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Protocol, TypeAlias, cast


class Readable(Protocol):
    """A binary file that can be read at any place."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to a place and return it."""


class Writable(Protocol):
    """A binary file that can be written in order."""

    def write(self, data: bytes, /) -> int | None:
        """Take bytes, perhaps fewer than given, and return how many."""


Path: TypeAlias = "str | os.PathLike[str]"
ReadSource: TypeAlias = "str | os.PathLike[str] | Readable"
WriteTarget: TypeAlias = "str | os.PathLike[str] | Writable"


def name_of(file: object) -> str:
    """Give what messages call it."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "the file object"


def reading(source: ReadSource) -> Path | tuple[Callable[[int, int], bytes], int, str]:
    """Give the path, or what reads a file object at a place, its length, and its name."""
    if isinstance(source, (str, os.PathLike)):
        return source
    file = source
    lock = threading.Lock()  # a place and a read belong together

    def read_at(offset: int, size: int) -> bytes:
        with lock:
            file.seek(offset)
            return file.read(size) or b""

    return read_at, file.seek(0, os.SEEK_END), name_of(file)


def writing(target: WriteTarget) -> Path | Callable[[bytes], None]:
    """Give the path, or what writes all of some bytes to a file object."""
    if isinstance(target, (str, os.PathLike)):
        return target
    file = target

    def write(data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = file.write(cast("bytes", left))
            if written is None:
                return  # a file that takes all and does not count
            if not 0 < written <= len(left):
                raise OSError(f"{name_of(file)}: write returned {written}")
            left = left[written:]

    return write
