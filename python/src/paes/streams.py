# SPDX-License-Identifier: Apache-2.0
"""Encrypted files as Python's file objects."""

from __future__ import annotations

import io
import operator
import os
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from paes import _paes
from paes._paes import CobblestoneKey
from paes.keys import Identities, PassphraseLike, Recipients, open_with, seal_for
from paes.sources import ReadSource, WriteTarget, name_of, reading, writing

if TYPE_CHECKING:
    from typing_extensions import Buffer

_LAST_POSITION = 2**63 - 1


def bounded(number: int) -> int:
    """Return an offset or a size, which may lie beyond the end of any file."""
    if number < 0:
        raise ValueError(f"negative offset or size {number}")
    return min(operator.index(number), _LAST_POSITION)


class EncryptedReader(io.RawIOBase):
    """The text of an encrypted file, readable at any place.

    Only authentic text comes out. Any number of threads may call `read_at`; the other calls share a
    position, which is for one thread at a time. A read raises CorruptError if a chunk that it
    touches (of 16 KiB, or 64 KiB in age's files) is damaged or forged, FailureError if the system
    fails, and whatever a file object below raises.
    """

    _reader: _paes.Reader | None = None

    def __init__(
        self,
        source: ReadSource,
        given: _paes.OpenWith,
        *,
        threads: int = 0,
        kernel: str = "auto",
    ) -> None:
        """Open a path or a file object; use paes.open instead."""
        super().__init__()
        self.name = name_of(source)
        self._position = 0
        self._reader = _paes.Reader(reading(source), given, threads, kernel)

    def _open_reader(self) -> _paes.Reader:
        if self._reader is None:
            raise ValueError("I/O operation on closed file")
        return self._reader

    @property
    def size(self) -> int:
        """The bytes of text."""
        return self._open_reader().size

    def readable(self) -> bool:
        """Return True."""
        self._open_reader()
        return True

    def seekable(self) -> bool:
        """Return True."""
        self._open_reader()
        return True

    def tell(self) -> int:
        """Return the position in the text."""
        self._open_reader()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position. Beyond the end there is nothing to read."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}.get(whence)
        if start is None:
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        position = start + operator.index(offset)
        if position < 0:
            raise ValueError(f"negative seek value {position}")
        if position > _LAST_POSITION:
            raise OverflowError(f"seek value {position} is too large for a file")
        self._position = position
        return position

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill `buffer` from the position on. Fewer bytes come only at the end of the text."""
        got = self.read_at_into(self._position, buffer)
        self._position += got
        return got

    def read(self, size: int | None = -1, /) -> bytes:
        """Return `size` bytes from the position on, fewer at the end; if negative, all."""
        reader = self._open_reader()
        left = max(reader.size - self._position, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        text = self.read_at(self._position, wanted)
        self._position += len(text)
        return text

    def readall(self) -> bytes:
        """Return all that is left."""
        return self.read()

    def write(self, text: Buffer, /) -> int:
        """Refuse: a reader cannot be written to."""
        raise io.UnsupportedOperation("not writable")

    def read_at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on, fewer at the end. The position does not move."""
        return self._open_reader().read_at(bounded(offset), bounded(size))

    def read_at_into(self, offset: int, buffer: Buffer) -> int:
        """Fill `buffer` from `offset` on and return how many bytes came. The position does not
        move."""
        return self._open_reader().read_at_into(bounded(offset), buffer)

    def __reduce__(self) -> NoReturn:
        """Refuse: a copy would share what it reads."""
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def close(self) -> None:
        """Wipe the keys. A file object that was given stays open."""
        self._reader = None
        super().close()


class EncryptedWriter(io.RawIOBase):
    """A new encrypted file, written in order.

    It has no name before `close`, and gets none if a `with` block ends with an exception, or if it
    is never closed. `write` and `close` raise FailureError if the system fails, and whatever a file
    object below raises; after that every call fails, because no chunk may be sealed twice.
    """

    _writer: _paes.Writer | None = None

    def __init__(
        self,
        to: WriteTarget,
        wanted: _paes.SealFor,
        *,
        threads: int = 0,
        kernel: str = "auto",
        overwrite: bool = False,
    ) -> None:
        """Open a path or a file object; use paes.open instead."""
        super().__init__()
        self.name = name_of(to)
        self._position = 0
        self._writer = _paes.Writer(writing(to), wanted, threads, kernel, overwrite)

    def _open_writer(self) -> _paes.Writer:
        if self._writer is None:
            raise ValueError("I/O operation on closed file")
        return self._writer

    def writable(self) -> bool:
        """Return True."""
        self._open_writer()
        return True

    def tell(self) -> int:
        """Return how many bytes of text were written."""
        self._open_writer()
        return self._position

    def write(self, text: Buffer, /) -> int:
        """Encrypt the next bytes of the text, all of them."""
        written = self._open_writer().write(text)
        self._position += written
        return written

    def readinto(self, buffer: Buffer, /) -> int:
        """Refuse: a writer cannot be read."""
        raise io.UnsupportedOperation("not readable")

    def abandon(self) -> None:
        """Close without making a file. Bytes that a file object got cannot be taken back."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abandon()
        super().close()

    def close(self) -> None:
        """Complete the file, sync it and give it its name."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.commit()
        finally:
            if writer is not None:
                writer.abandon()
            super().close()

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
        """Complete the file, or after an exception leave nothing of it."""
        if exc_type is not None:
            self.abandon()
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse: two would write one file."""
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __del__(self) -> None:
        """Leave nothing of a file that was not closed."""
        self.abandon()


@overload
def open(
    file: ReadSource,
    mode: Literal["rb"] = "rb",
    *,
    identity: Identities = ...,
    passphrase: PassphraseLike = ...,
    key: CobblestoneKey | None = ...,
    max_work_factor: int = ...,
    threads: int = ...,
    kernel: str = ...,
) -> EncryptedReader: ...
@overload
def open(
    file: WriteTarget,
    mode: Literal["wb"],
    *,
    recipients: Recipients = ...,
    passphrase: PassphraseLike = ...,
    key: CobblestoneKey | None = ...,
    key_bits: int = ...,
    threads: int = ...,
    kernel: str = ...,
    overwrite: bool = ...,
) -> EncryptedWriter: ...
def open(
    file: Any,
    mode: str = "rb",
    *,
    identity: Identities = None,
    recipients: Recipients = None,
    passphrase: PassphraseLike = None,
    key: CobblestoneKey | None = None,
    key_bits: int = 256,
    max_work_factor: int = 20,
    threads: int = 0,
    kernel: str = "auto",
    overwrite: bool = False,
) -> EncryptedReader | EncryptedWriter:
    """Open an encrypted file for reading ("rb") or writing ("wb").

    `file` is a path, or a file object: for reading one with `seek` and `read`, for writing one with
    `write`. The keys are those of decrypt_file and encrypt_file. A reader is seekable, and reads
    ranges in parallel. A writer takes the text in order, and its file gets its name when it is
    closed. Both are raw: wrap them in io.BufferedReader or io.BufferedWriter for many small calls.

    Raises UsageError, WrongKeyError, CorruptError and FailureError.
    """
    if mode == "rb":
        given = open_with(identity, passphrase, key, max_work_factor)
        return EncryptedReader(file, given, threads=threads, kernel=kernel)
    if mode == "wb":
        wanted = seal_for(recipients, passphrase, key, key_bits)
        return EncryptedWriter(file, wanted, threads=threads, kernel=kernel, overwrite=overwrite)
    raise ValueError(f"mode must be 'rb' or 'wb', not {mode!r}")
