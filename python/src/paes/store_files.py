# SPDX-License-Identifier: Apache-2.0
"""File objects on files in stores: a reader that asks for ranges, a writer that completes once."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile

from paes.stored import REQUEST_BYTES, WINDOW_BYTES, Layout, Range, StoredFile
from paes.streams import EncryptedReader, EncryptedWriter, bounded

if TYPE_CHECKING:
    from typing_extensions import Buffer


class RangeReader(EncryptedReader):
    """A reader that asks the store for the chunks that a read touches, in one go.

    If it is read in order, it asks for more and more at a time.
    """

    SHORTEST_AHEAD = 1 << 16

    def __init__(self, stored: StoredFile, layout: Layout, *arguments: Any, **options: Any) -> None:
        """Open a file whose ends are held."""
        self._stored = stored
        self._layout = layout
        self._next = 0
        self._ahead = 0
        super().__init__(stored, *arguments, **options)

    def read_at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on, fewer at the end. The position does not move."""
        offset = bounded(offset)
        size = min(bounded(size), max(self.size - offset, 0))
        if size <= WINDOW_BYTES:
            with self._holding(offset, size):
                return super().read_at(offset, size)
        places = range(offset, offset + size, WINDOW_BYTES)
        return b"".join(self.read_at(at, min(WINDOW_BYTES, offset + size - at)) for at in places)

    def read_at_into(self, offset: int, buffer: Buffer) -> int:
        """Fill `buffer` from `offset` on and return how many bytes came. The position does not
        move."""
        offset = bounded(offset)
        view = memoryview(buffer).cast("B")
        done = 0
        while True:
            piece = view[done : done + WINDOW_BYTES]
            size = min(len(piece), max(self.size - offset - done, 0))
            with self._holding(offset + done, size):
                got = super().read_at_into(offset + done, piece)
            done += got
            if got < WINDOW_BYTES or done == len(view):
                return done

    def _holding(self, offset: int, size: int) -> contextlib.AbstractContextManager[None]:
        # Threads that read side by side read in no order, so nothing is lost if they change these.
        if size == 0:
            return contextlib.nullcontext()
        start, end = self._layout.stored(offset, offset + size)
        if offset == 0 or offset != self._next:
            self._ahead = 0
        elif self._stored.missing(start, end):
            self._ahead = min(max(2 * self._ahead, self.SHORTEST_AHEAD), REQUEST_BYTES)
        self._next = offset + size
        ranges = [*self._needed(), (start, end)]
        return self._stored.holding(ranges, max(self._ahead - (end - start), 0))

    def _needed(self) -> list[Range]:
        """Return stored ranges that a read needs as well: a header, until it was read."""
        return []

    def read_ranges(self, ranges: list[Range]) -> list[bytes]:
        """Return ranges of the text, for which all that is missing is fetched at once."""
        stored = self._needed()
        for start, end in sorted(ranges):
            first, last = self._layout.stored(start, end) if start < end else (0, 0)
            if stored and first <= stored[-1][1]:
                stored[-1] = stored[-1][0], max(last, stored[-1][1])
            else:
                stored.append((first, last))
        with self._stored.holding(stored):
            return [super(RangeReader, self).read_at(start, end - start) for start, end in ranges]

    def close(self) -> None:
        """Wipe the keys, and forget what is held."""
        super().close()
        self._stored.forget()


class StoreTarget:
    """A new file of a file system, which is opened only when its first byte comes.

    So a writer that is refused for lack of a key has not emptied an old file.
    """

    def __init__(self, fs: Any, path: str, options: dict[str, Any]) -> None:
        """Take the file's name, and options for the file system's own `open`."""
        self.fs = fs
        self.name = path
        self.file: Any = None
        self._options = options
        self._process = os.getpid()

    @property
    def is_parents(self) -> bool:
        """Return whether the process that writes the file is another one, which forked this one."""
        return os.getpid() != self._process

    def write(self, data: bytes) -> int | None:
        """Write to the file, which sends it on in parts."""
        if self.file is None:
            self.file = self.fs.open(self.name, "wb", **self._options)
        written: int | None = self.file.write(data)
        return written

    def close(self) -> None:
        """Complete the file, once."""
        if self.file is not None:
            self.file.close()

    def discard(self) -> None:
        """Take back what was written, if the file system can."""
        if self.is_parents:
            if isinstance(self.file, AbstractBufferedFile):
                self.file.closed = True
            return
        if self.fs._intrans and self.file in self.fs.transaction.files:
            self.fs.transaction.files.remove(self.file)
        # What was written stays with the file system, unless that can discard it. One that cannot
        # may say so with RuntimeError.
        with contextlib.suppress(AttributeError, RuntimeError):
            self.file.discard()
        # Otherwise the garbage collector would complete it.
        if isinstance(self.file, AbstractBufferedFile):
            self.file.closed = True


class StoreWriter(EncryptedWriter):
    """A writer that owns the file below."""

    def __init__(self, target: StoreTarget, *arguments: Any, **options: Any) -> None:
        """Take the file below, and what EncryptedWriter takes."""
        self._target = target
        super().__init__(target, *arguments, **options)

    def abandon(self) -> None:
        """Close, and take back what was written."""
        is_open = not self.closed
        super().abandon()
        if is_open:
            self._target.discard()

    def close(self) -> None:
        """Complete the file, and the file below."""
        if self.closed:
            return
        try:
            super().close()
            self._target.close()
        except BaseException:
            self._target.discard()
            raise
