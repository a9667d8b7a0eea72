# SPDX-License-Identifier: Apache-2.0
"""Encrypted files in stores that answer each read with a request.

Where a chunk lies follows from the file's length and from its head. So a read asks for exactly the
chunks that it touches, and the size of a text costs one small read at most.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from paes import _paes
from paes.errors import CorruptError, FailureError
from paes.sources import ProcessLock, Ranges

# Places in the stored file: the first byte, and the one after the last.
Range: TypeAlias = "tuple[int, int]"
# Fetches ranges of one file, all of them at once where the store can.
Fetch: TypeAlias = Callable[[list[Range]], list[bytes]]

# The library reads this much when it opens a file by callbacks.
HEAD_BYTES = 8192
# Each file of paes or age is longer: a line of age's with a recipient, its MAC, a nonce and a tag.
SHORTEST_BYTES = 100
# Opening a file takes its last chunk, which lies in these bytes, wherever the text begins.
LAST_BYTES = 16_400
# A small file is fetched whole: the head and one chunk at either end would take as much.
WHOLE_BYTES = 40_960
# The longest request. Longer ranges are several of these, side by side.
REQUEST_BYTES = 8 << 20
# A read holds at most this much of the stored file at a time.
WINDOW_BYTES = 4 * REQUEST_BYTES

_CONTAINER = b"\x89PAES\r\n\x1a"
_AGE = b"age-encryption.org/"
_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"
_TAG_BYTES = 16


class Layout(NamedTuple):
    """Where the chunks of a text lie in the stored file."""

    first: int  # where chunk 0 begins
    chunk_bytes: int  # of text; a tag follows each
    text_bytes: int
    stored_bytes: int

    def stored(self, start: int, end: int) -> Range:
        """Return the range with the chunks that contain these bytes of the text."""
        stride = self.chunk_bytes + _TAG_BYTES
        last = max(end - 1, start) // self.chunk_bytes
        first = min(self.first + start // self.chunk_bytes * stride, self.stored_bytes)
        return first, min(self.first + (last + 1) * stride, self.stored_bytes)


def _layout(first: int, chunk_bytes: int, last_is_short: bool, stored_bytes: int) -> Layout | None:
    """Return None if no payload has this length."""
    payload = stored_bytes - first
    chunks = -(-payload // (chunk_bytes + _TAG_BYTES))
    text_bytes = payload - chunks * _TAG_BYTES
    # Sealed, a text of this length must have that length again.
    whole = text_bytes if last_is_short else max(text_bytes - 1, 0)
    if text_bytes < 0 or chunks != whole // chunk_bytes + 1:
        return None
    return Layout(first, chunk_bytes, text_bytes, stored_bytes)


def _paes_layout(first: int, stored_bytes: int) -> Layout | None:
    return _layout(first, 16384, True, stored_bytes)


def layout_of_payload(stored_bytes: int) -> Layout | None:
    """Return the layout of a file under a caller's own key, which is a payload without a head."""
    return _paes_layout(56, stored_bytes)


class NotEncrypted(Exception):
    """A file is neither of paes nor of age."""


def layout_of_file(source: Ranges) -> Layout | None:
    """Return the layout that a file's head and length tell.

    Returns None for an armored file. Raises NotEncrypted, and CorruptError for a damaged head.
    """
    head = bytes(source.read_at(0, min(HEAD_BYTES, source.size)))
    if head.lstrip().startswith(_ARMOR):
        return None
    if head.startswith(_CONTAINER) and len(head) >= 12:
        page = int.from_bytes(head[10:12], "big")
        found = _paes_layout(4096 * page, source.size) if 1 <= page <= 257 else None
    elif head.startswith(_AGE):
        offset = _paes.inspect_file((source.read_at, source.size, source.name))[2]
        found = _layout(offset + 16, 65536, False, source.size)
    else:
        raise NotEncrypted
    if found is None:
        raise CorruptError(
            f"{source.name}: truncated, or bytes were added or lost", "get a complete copy"
        )
    return found


class Size(NamedTuple):
    """What is known of the text of a stored file: its bytes, and whether it is encrypted."""

    text_bytes: int | None  # None: only reading all of it would tell
    is_encrypted: bool


class Heads:
    """What the heads of stored files said, for as long as the files stay the same.

    Heads are public: they are what anyone reads who can read the file.
    """

    SIZES = 1 << 16
    BYTES = 1 << 9

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = ProcessLock()
        self._sizes: dict[tuple[Any, ...], Size] = {}
        self._bytes: dict[tuple[Any, ...], bytes] = {}

    @staticmethod
    def key_of(entry: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return what changes with the file, or None if the file system says no such thing."""
        tag = entry.get("ETag") or entry.get("etag") or entry.get("generation")
        names = ("mtime", "ino", "created", "LastModified", "last_modified", "updated")
        mark = tag or tuple(str(entry[name]) for name in names if name in entry)
        return (entry["name"], entry["size"], str(mark)) if mark else None

    def size_of(self, entry: dict[str, Any]) -> Size | None:
        """Return what is known of a file's text."""
        key = self.key_of(entry)
        return None if key is None else self._sizes.get(key)

    def head_of(self, entry: dict[str, Any]) -> bytes | None:
        """Return the first bytes of a file, if they are kept."""
        key = self.key_of(entry)
        return None if key is None else self._bytes.get(key)

    def keep(self, entry: dict[str, Any], head: bytes, size: Size) -> None:
        """Remember a head. The oldest ones are forgotten."""
        key = self.key_of(entry)
        if key is None:
            return
        with self._lock.here():
            self._sizes[key] = size
            self._bytes[key] = head
            while len(self._sizes) > self.SIZES:
                del self._sizes[next(iter(self._sizes))]
            while len(self._bytes) > self.BYTES:
                del self._bytes[next(iter(self._bytes))]


class StoredFile(Ranges):
    """A stored file, and those parts of it that are in memory."""

    # What was read last is kept, up to this much: reads that continue begin in its last chunk.
    KEPT_BYTES = REQUEST_BYTES

    def __init__(
        self,
        name: str,
        size: int,
        fetch: Fetch,
        close: Callable[[], object] = lambda: None,
        head: bytes | None = None,
    ) -> None:
        """Take the file's length in the store, what to do at the end, and the head if known."""
        super().__init__(self._read_at, size, name)
        self._fetch = fetch
        self._close = close
        self._lock = ProcessLock()
        self._parts: list[tuple[int, bytes]] = [] if head is None else [(0, head)]
        self._recent: list[tuple[int, bytes]] = []

    @classmethod
    def of(cls, below: Ranges, name: str, close: Callable[[], object]) -> StoredFile:
        """Return the stored file that a file object reads."""
        return cls(
            name,
            below.size,
            lambda wanted: [below.read_at(start, end - start) for start, end in wanted],
            close,
        )

    def fetch(self, wanted: list[Range]) -> list[tuple[int, bytes]]:
        """Fetch ranges, and return them with the places where they begin."""
        pieces = [
            (at, min(at + REQUEST_BYTES, end))
            for start, end in wanted
            for at in range(start, end, REQUEST_BYTES)
        ]
        if not pieces:
            return []
        got = self._fetch(pieces)
        for (start, end), data in zip(pieces, got, strict=True):
            if len(data) > end - start:
                raise FailureError(f"{self.name}: more came than was asked for", "read it whole")
        return [(start, data) for (start, _), data in zip(pieces, got, strict=True)]

    def hold_ends(self) -> None:
        """Fetch what opening the file takes: its head, and its last chunk."""
        if self.size <= WHOLE_BYTES:
            wanted = [(0, self.size)]
        else:
            wanted = [(0, HEAD_BYTES), (self.size - LAST_BYTES, self.size)]
        self._parts += self.fetch([one for one in wanted if self.missing(*one)])

    def forget(self) -> None:
        """Hold nothing any more, and close what is below."""
        self._parts, self._recent = [], []
        self._close()

    def missing(self, start: int, end: int) -> list[Range]:
        """Return what is not held of a range."""
        with self._lock.here():
            held = [*self._parts, *self._recent]
        missing = []
        while start < end:
            around = [at + len(data) for at, data in held if at <= start < at + len(data)]
            if around:
                start = max(around)
                continue
            until = min([end, *(at for at, _ in held if start < at < end)])
            missing.append((start, until))
            start = until
        return missing

    @contextlib.contextmanager
    def holding(self, ranges: list[Range], ahead: int = 0) -> Iterator[None]:
        """Hold ranges while the `with` block runs; where the last is fetched, `ahead` more are."""
        wanted = [part for start, end in ranges for part in self.missing(start, end)]
        if wanted and wanted[-1][1] == ranges[-1][1]:
            wanted[-1] = wanted[-1][0], min(wanted[-1][1] + ahead, self.size)
        parts = self.fetch(wanted)
        with self._lock.here():
            self._parts += parts
        try:
            yield
        finally:
            with self._lock.here():
                self._parts = [part for part in self._parts if part not in parts]
                self._recent = [*self._recent, *parts]
                while sum(len(data) for _, data in self._recent) > self.KEPT_BYTES:
                    self._recent.pop(0)

    def _read_at(self, offset: int, size: int) -> Any:
        if size == 0:
            return b""
        with self._lock.here():
            held = [*self._recent, *self._parts]
        for start, data in reversed(held):
            if start <= offset < start + len(data):
                return memoryview(data)[offset - start :][:size]
        return self._fetch([(offset, offset + size)])[0]
