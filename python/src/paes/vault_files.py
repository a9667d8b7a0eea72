# SPDX-License-Identifier: Apache-2.0
"""Files of a vault on any file system: a reader that asks for ranges, a writer that goes forward.

Where a block lies follows from its number. So a read asks for the file's header, once, and for the
blocks that it touches.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fsspec.spec import AbstractBufferedFile

from paes._paes import VaultKey
from paes.errors import CorruptError, Error, FailureError
from paes.store_files import RangeReader, StoreTarget, StoreWriter
from paes.stored import Range, StoredFile
from paes.vault_names import FOLDER_IV, HEADER_BYTES, open_local

BLOCK_BYTES = 4096
# The bytes that the writer seals at once.
_RUN_BYTES = 1 << 20


class BlockLayout:
    """Where the blocks of a text lie in the stored file."""

    def __init__(self, key: VaultKey, stored_bytes: int) -> None:
        """Take the stored length."""
        self._key = key
        self.stored_bytes = stored_bytes
        self.text_bytes = key.text_bytes(stored_bytes)

    def stored(self, start: int, end: int) -> Range:
        """Return the range with the blocks of these bytes of the text; block 0 with the header."""
        first, last = start // BLOCK_BYTES, max(end - 1, start) // BLOCK_BYTES
        begin = self._key.block_offset(first) if first else 0
        until = self._key.block_offset(last + 1)
        return min(begin, self.stored_bytes), min(until, self.stored_bytes)


def open_range(
    key: VaultKey, header: bytes, sealed: bytes, start: int, end: int, name: str
) -> bytes:
    """Return these bytes of the text, from the blocks that contain them."""
    first = start // BLOCK_BYTES
    text = key.open_blocks(header, first, sealed, name)
    within = start - first * BLOCK_BYTES
    if len(text) < within + end - start:
        raise CorruptError(f"{name}: truncated, or bytes were lost", "get a complete copy")
    return text if len(text) == end - start else text[within : within + end - start]


def _sound(got: Any) -> bytes:
    if isinstance(got, BaseException):
        raise got
    return got  # type: ignore[no-any-return]


class _Asked(NamedTuple):
    """A range of a text: where its blocks are in RangePlan.ranges, and where the header, or -1."""

    place: int
    path: str
    start: int
    end: int
    header: int
    blocks: int


class RangePlan:
    """The stored bytes that ranges of several files need, to be fetched in one go."""

    def __init__(self, key: VaultKey) -> None:
        """Want nothing yet."""
        self.ranges: list[tuple[str, int, int]] = []
        self._key = key
        self._headers: dict[str, int] = {}
        self._asked: list[_Asked] = []

    def add(
        self, place: int, path: str, entry: dict[str, Any], start: int | None, end: int | None
    ) -> None:
        """Want a range of a file's text, which is counted as a slice is."""
        layout = BlockLayout(self._key, entry["size"])
        first, last, _ = slice(start, end).indices(layout.text_bytes)
        begin, until = layout.stored(first, last) if first < last else (0, 0)
        header = -1
        if begin:
            header = self._headers.setdefault(path, len(self.ranges))
            if header == len(self.ranges):
                self.ranges.append((entry["name"], 0, HEADER_BYTES))
        self._asked.append(_Asked(place, path, first, max(first, last), header, len(self.ranges)))
        if until:
            self.ranges.append((entry["name"], begin, until))

    def texts(self, got: list[Any]) -> Iterator[tuple[int, bytes | Exception]]:
        """Return each range's place and text, from what was got for `ranges`."""
        for asked in self._asked:
            try:
                yield asked.place, self._text(asked, got)
            except Exception as error:
                yield asked.place, error

    def _text(self, asked: _Asked, got: list[Any]) -> bytes:
        if asked.start == asked.end:
            return b""
        sealed = _sound(got[asked.blocks])
        header = sealed if asked.header < 0 else _sound(got[asked.header])
        if asked.header < 0:
            sealed = sealed[HEADER_BYTES:]
        # A header that is too short is not sound.
        header = header[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0")
        return open_range(self._key, header, sealed, asked.start, asked.end, asked.path)


class _Blocks:
    """The blocks of one stored file, as VaultReader reads them."""

    def __init__(self, key: VaultKey, stored: StoredFile, layout: BlockLayout) -> None:
        self._key = key
        self._stored = stored
        self._layout = layout
        self.size = layout.text_bytes
        self.header = b""

    def _whole(self, start: int, end: int) -> bytes:
        parts = []
        while start < end:
            part = bytes(self._stored.read_at(start, end - start))
            if not part:
                raise CorruptError(
                    f"{self._stored.name}: truncated, or bytes were lost", "get a complete copy"
                )
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_at(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self.size)
        if offset >= end:
            return b""
        start, until = self._layout.stored(offset, end)
        sealed = self._whole(start, until)
        if not self.header:
            self.header = sealed[:HEADER_BYTES] if start == 0 else self._whole(0, HEADER_BYTES)
        if start == 0:
            sealed = sealed[HEADER_BYTES:]
        return open_range(self._key, self.header, sealed, offset, end, self._stored.name)

    def read_at_into(self, offset: int, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        text = self.read_at(offset, len(view))
        view[: len(text)] = text
        return len(text)


class VaultReader(RangeReader):
    """The text of a vault's file, readable at any place, from any number of threads.

    Only authentic text comes out. A read raises CorruptError if a block that it touches is damaged.
    """

    def __init__(
        self, key: VaultKey, stored: StoredFile, look_again: Callable[[], StoredFile | None]
    ) -> None:
        """Take a file, and what opens it anew if it is another one by now."""
        io.RawIOBase.__init__(self)
        self.name = stored.name
        self._key = key
        self._look_again = look_again
        self._has_read = False
        self._position = 0
        self._take(stored)

    def _take(self, stored: StoredFile) -> None:
        self._stored = stored
        self._next = self._ahead = 0
        layout: Any = BlockLayout(self._key, stored.size)
        self._layout = layout
        blocks: Any = _Blocks(self._key, stored, layout)
        self._reader = blocks

    def _needed(self) -> list[Range]:
        blocks: Any = self._open_reader()
        return [] if blocks.header else [(0, min(HEADER_BYTES, self._stored.size))]

    def _again(self, read: Callable[[], Any]) -> Any:
        # The file may have been replaced since its length was asked for.
        try:
            text = read()
        except (Error, OSError):
            fresh = self._look_again()
            if fresh is None:
                raise
            if self._has_read:
                raise FailureError(
                    f"{self.name}: changed while it was read", "open it again"
                ) from None
            self._stored.forget()
            self._take(fresh)
            text = read()
        self._has_read = True
        return text

    def read_at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on, fewer at the end. The position does not move."""
        text: bytes = self._again(lambda: RangeReader.read_at(self, offset, size))
        return text

    def read_at_into(self, offset: int, buffer: Any) -> int:
        """Fill `buffer` from `offset` on and return how many bytes came. The position does not
        move."""
        got: int = self._again(lambda: RangeReader.read_at_into(self, offset, buffer))
        return got


# How long to wait for others who write to a vault.
_PATIENCE_S = 10.0


def claim(vault: str) -> Callable[[], None]:
    """Wait until no mount and no `paes vault put` writes to a vault of this machine.

    Returns what ends the claim. Those that begin later do not wait for it, and neither do other
    writers of this kind.
    """
    folder = os.open(vault, os.O_RDONLY | os.O_DIRECTORY)
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(folder)
                raise FailureError(
                    f"{vault}: another program writes to the vault", "unmount it, or wait"
                ) from None
            time.sleep(0.05)
        except BaseException:
            os.close(folder)
            raise
        else:
            return lambda: os.close(folder)


@contextlib.contextmanager
def ended(end: Callable[[], None] | None) -> Iterator[None]:
    """End a claim, if there is one, with the block."""
    try:
        yield
    finally:
        if end is not None:
            end()


def make_local_file(path: str, data: bytes, mode: int = 0o666) -> None:
    """Make a file of this machine, and sync it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def hold_local_name(hidden: str, place: str, encoded: bytes) -> None:
    """Make the file of a long name in one step, unless it is there already."""
    with contextlib.suppress(OSError, Error), open_local(place) as file:
        if file.read(len(encoded) + 1) == encoded:
            return
    try:
        make_local_file(hidden, encoded)
        os.replace(hidden, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)
        raise


def make_local_folder(hidden: str, place: str, iv: bytes) -> None:
    """Make a folder of this machine that has its IV as soon as it has its name."""
    os.mkdir(hidden)
    try:
        make_local_file(f"{hidden}/{FOLDER_IV}", iv, 0o440)
        os.rename(hidden, place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(f"{hidden}/{FOLDER_IV}")
            os.rmdir(hidden)
        if isinstance(error, OSError) and os.path.lexists(place):
            raise FileExistsError(place) from None
        raise


class VaultTarget(StoreTarget):
    """A new stored file, before whose first byte something else has to be done."""

    def __init__(
        self, fs: Any, path: str, options: dict[str, Any], prepare: Callable[[], object]
    ) -> None:
        """Take what StoreTarget takes, and what comes before the first byte."""
        super().__init__(fs, path, options)
        self._prepare = prepare

    def write(self, data: bytes) -> int | None:
        """Write to the file."""
        if self.file is None:
            self._prepare()
        return super().write(data)

    def discard(self) -> None:
        """Take back what was written. The beginning of a file would be taken for a whole one."""
        super().discard()
        if self.file is None or self.is_parents or isinstance(self.file, AbstractBufferedFile):
            return
        with contextlib.suppress(Exception):
            self.file.close()
        self.fs.rm_file(self.name)


class LocalTarget(StoreTarget):
    """A new file of this machine, which gets its name once it is complete and synced."""

    def __init__(
        self, fs: Any, path: str, hidden: str, prepare: Callable[[], object], end: Callable[[], Any]
    ) -> None:
        """Take the name that it gets, the one until then, what comes first, and what comes last."""
        super().__init__(fs, hidden, {})
        self._path = path
        self._prepare = prepare
        self._end: Callable[[], Any] | None = end

    def _ended(self) -> None:
        if self._end is not None:
            self._end()
            self._end = None

    def write(self, data: bytes) -> int | None:
        """Write to the file, which holds nothing back that a forked process would write again."""
        if self.file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self.file = io.FileIO(os.open(self.name, flags, 0o666), "wb")
        written: int = self.file.write(data)
        return written

    def close(self) -> None:
        """Complete the file."""
        os.fsync(self.file.fileno())
        self.file.close()
        self._prepare()
        os.replace(self.name, self._path)
        self._ended()

    def discard(self) -> None:
        """Leave nothing of it."""
        if self.file is not None:
            self.file.close()
            if not self.is_parents:
                with contextlib.suppress(OSError):
                    os.unlink(self.name)
        self._ended()


class _Sealing:
    """Seals a text that comes in order, as VaultWriter writes it."""

    def __init__(self, key: VaultKey, name: str, target: StoreTarget) -> None:
        self._key = key
        self._name = name
        self._target: StoreTarget | None = target
        self._left = bytearray()
        self._header = b""
        self._blocks = 0

    @staticmethod
    def _send(target: StoreTarget, data: bytes) -> None:
        # A file below takes all that it is given, or fewer bytes and says so.
        left = memoryview(data)
        while True:
            written = target.write(bytes(left))
            left = left[len(left) if written is None else written :]
            if not left:
                return

    def _seal(self, target: StoreTarget, text_bytes: int) -> None:
        if not self._header:
            self._header = self._key.new_header()
            self._send(target, self._header)
        text = bytes(self._left[:text_bytes])
        self._send(target, self._key.seal_blocks(self._header, self._blocks, text))
        self._blocks += -(-text_bytes // BLOCK_BYTES)
        del self._left[:text_bytes]

    def write(self, text: Any) -> int:
        view = memoryview(text).cast("B")
        with self._all_or_nothing() as target:
            for at in range(0, len(view), _RUN_BYTES):
                self._left += view[at : at + _RUN_BYTES]
                if len(self._left) >= _RUN_BYTES:
                    self._seal(target, len(self._left) // BLOCK_BYTES * BLOCK_BYTES)
        return len(view)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[StoreTarget]:
        # Nobody knows how much of a text was taken when a write was interrupted.
        if self._target is None:
            raise FailureError(f"{self._name}: an earlier write failed", "write it anew")
        if self._target.is_parents:
            raise FailureError(f"{self._name}: the process that opened it writes it")
        try:
            yield self._target
        except BaseException:
            self._target = None
            raise

    def commit(self) -> None:
        with self._all_or_nothing() as target:
            if self._left:
                self._seal(target, len(self._left))
            elif not self._header:
                self._send(target, b"")  # a file without text is empty

    def abandon(self) -> None:
        self._left.clear()
        self._target = None


class VaultWriter(StoreWriter):
    """A new file of a vault, written in order."""

    def __init__(self, key: VaultKey, name: str, target: StoreTarget) -> None:
        """Take the file's name in the vault, and where it is stored."""
        io.RawIOBase.__init__(self)
        self.name = name
        self._target = target
        self._position = 0
        sealing: Any = _Sealing(key, name, target)
        self._writer = sealing
