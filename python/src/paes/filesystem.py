# SPDX-License-Identifier: Apache-2.0
"""Encrypted files on any file system of fsspec that can read ranges.

For example: `fsspec.open("paes::s3://bucket/key", paes={"identity": "key.txt"})`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import fsspec
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractBufferedFile

from paes.files import inspect
from paes.keys import open_with, seal_for
from paes.sources import name_of
from paes.streams import EncryptedReader, EncryptedWriter


class _Ahead:
    """A remote file that reads ahead if it is read in order, and not otherwise.

    Each read of a remote file is a request. A text that is read in order takes a few long ones, up
    to `LONGEST` bytes; a single range takes no more than its chunks.
    """

    SHORTEST = 1 << 16
    LONGEST = 1 << 23
    # Threads of one transfer ask for consecutive pieces in almost any order.
    PIECES_OUT_OF_ORDER = 8

    def __init__(self, file: Any) -> None:
        self._file = file
        self.name = getattr(file, "path", None) or name_of(file)
        self._place = 0
        self._start = 0
        self._held = b""
        self._before = self._start, self._held
        self._ahead = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence != os.SEEK_SET:
            offset = self._file.seek(offset, whence)
        self._place = offset
        return offset

    def read(self, size: int, /) -> bytes:
        data = self._found(size)
        if data is None:
            beyond = self._place - (self._start + len(self._held))
            near = self.PIECES_OUT_OF_ORDER * size
            if self._held and self._start - near <= self._place < self._start:
                # A piece that comes late. What follows it is already held, and stays.
                data = self._fetch(self._place, size)
            elif self._held and beyond <= near and self._place >= self._start:
                # Pieces between the end of what is held and this one will come late.
                longer = max(2 * self._ahead, near, self.SHORTEST)
                self._ahead = max(min(longer, self.LONGEST), size)
                data = self._hold(self._place - max(beyond, 0), self._ahead, size)
            else:
                self._ahead = 0
                data = self._hold(self._place, size, size)
        self._place += len(data)
        return data

    def _found(self, size: int) -> bytes | None:
        for start, held in ((self._start, self._held), self._before):
            if start <= self._place and self._place + size <= start + len(held):
                return held[self._place - start :][:size]
        return None

    def _hold(self, start: int, ahead: int, size: int) -> bytes:
        before = self._place - start
        self._before = self._start, self._held
        self._held = self._fetch(start, before + ahead)
        self._start = start
        return self._held[before : before + size]

    def _fetch(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        data: bytes = self._file.read(size)
        return data


class _Reader(EncryptedReader):
    """A reader that owns the file below."""

    def __init__(self, inner: Any, reads_ahead: bool, *arguments: Any, **options: Any) -> None:
        self._inner = inner
        try:
            super().__init__(_Ahead(inner) if reads_ahead else inner, *arguments, **options)
        except BaseException:
            inner.close()
            raise

    def close(self) -> None:
        super().close()
        self._inner.close()


class _Target:
    """A file of a file system that is opened only when its first byte comes.

    So a writer that is refused for lack of a key has not emptied an old file.
    """

    def __init__(self, fs: Any, path: str) -> None:
        self.fs = fs
        self.name = path
        self.file: Any = None

    def write(self, data: bytes) -> int | None:
        if self.file is None:
            self.file = self.fs.open(self.name, "wb")
        written: int | None = self.file.write(data)
        return written

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def discard(self) -> None:
        if self.fs._intrans and self.file in self.fs.transaction.files:
            self.fs.transaction.files.remove(self.file)
        # What was written stays with the file system, unless that can discard it. One that cannot
        # may say so with RuntimeError.
        with contextlib.suppress(AttributeError, RuntimeError):
            self.file.discard()


class _Writer(EncryptedWriter):
    """A writer that owns the file below."""

    def __init__(self, target: _Target, *arguments: Any, **options: Any) -> None:
        self._target = target
        super().__init__(target, *arguments, **options)

    def abandon(self) -> None:
        is_open = not self.closed
        super().abandon()
        if is_open:
            self._target.discard()

    def close(self) -> None:
        if self.closed:
            return
        try:
            super().close()
        except BaseException:
            self._target.discard()
            raise
        self._target.close()


def _name_below(fs: Any, path: Any) -> Any:
    """Return what `fs` calls a file of PaesFileSystem, or each of a list of files."""
    own: Callable[[Any], Any] = PaesFileSystem._strip_protocol
    stripped = own(path)
    if isinstance(stripped, list):
        return [fs._strip_protocol(one) for one in stripped]
    return fs._strip_protocol(stripped)


class PaesFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """The files of another file system, decrypted when read and encrypted when written.

    `identity`, `recipients`, `passphrase`, `key` and the other options are those of paes.open.
    fsspec keeps options in its objects, so give a secret key as the path of its file or as an
    Identity, never as text.
    """

    protocol = "paes"
    root_marker = ""
    cachable = False

    def __init__(
        self,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fs: Any = None,
        fo: str | None = None,
        *,
        identity: Any = None,
        recipients: Any = None,
        passphrase: Any = None,
        key: Any = None,
        key_bits: int = 256,
        max_work_factor: int = 20,
        threads: int = 0,
        kernel: str = "auto",
        **options: Any,
    ) -> None:
        """Use `fs`, or the file system of `target_protocol`."""
        super().__init__(**options)
        self.fs = fs or fsspec.filesystem(target_protocol or "file", **(target_options or {}))
        self._identity = identity
        self._recipients = recipients
        self._passphrase = passphrase
        self._key = key
        self._key_bits = key_bits
        self._max_work_factor = max_work_factor
        self._how: dict[str, Any] = {"threads": threads, "kernel": kernel}
        # Names are those of the file system below. A relative or a user's (~) name becomes what
        # `ls` returns, because otherwise no pattern would match. This is a function of the object,
        # because each object has another file system below; it must not keep the object alive.
        inner = self.fs
        self.__dict__["_strip_protocol"] = lambda path: _name_below(inner, path)

    def _inner_name(self, path: Any) -> Any:
        return _name_below(self.fs, path)

    @property
    def transaction(self) -> Any:
        """Return the transaction of the file system below."""
        return self.fs.transaction

    def start_transaction(self) -> Any:
        """Ask the file system below."""
        return self.fs.start_transaction()

    def end_transaction(self) -> None:
        """Ask the file system below."""
        self.fs.end_transaction()

    def _open(
        self, path: str, mode: str = "rb", **options: Any
    ) -> EncryptedReader | EncryptedWriter:
        if mode == "rb":
            given = open_with(self._identity, self._passphrase, self._key, self._max_work_factor)
            inner, reads_ahead = self._open_inner(path, **options)
            return _Reader(inner, reads_ahead, given, **self._how)
        if mode == "wb":
            wanted = seal_for(self._recipients, self._passphrase, self._key, self._key_bits)
            # fsspec cannot take a local file back, but paes can. Files of a transaction are
            # fsspec's.
            if isinstance(self.fs, LocalFileSystem) and not self.fs._intrans:
                return EncryptedWriter(self._local_path(path), wanted, overwrite=True, **self._how)
            return _Writer(_Target(self.fs, path), wanted, **self._how)
        raise ValueError(f"mode must be 'rb' or 'wb', not {mode!r}")

    def _open_inner(self, path: str, **options: Any) -> tuple[Any, bool]:
        """Open the encrypted file, and tell whether to read ahead.

        A cache of the file system below would fetch what nobody asked for (s3fs: 50 MB at a time);
        callers who want one set `cache_type`.
        """
        wants_cache = "cache_type" in options
        file = self.fs.open(path, "rb", **{"cache_type": "none", **options})
        return file, not wants_cache and isinstance(file, AbstractBufferedFile)

    def _local_path(self, path: str) -> str:
        local: str = self.fs._strip_protocol(path)
        if self.fs.auto_mkdir:
            self.fs.makedirs(self.fs._parent(local), exist_ok=True)
        return local

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return what the file system below says, with the length of the text as the size."""
        path = self._inner_name(path)
        found = dict(self.fs.info(path, **options))
        if found["type"] == "file":
            found["encrypted_size"] = found["size"]
            with self._open_inner(path)[0] as file:
                found["size"] = inspect(file).text_bytes
        return found

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """List a directory. Sizes are None, because finding each takes a read; `info` has them."""
        entries = self.fs.ls(self._inner_name(path), detail=True, **options)
        if not detail:
            return [entry["name"] for entry in entries]
        return [
            {**entry, "encrypted_size": entry["size"], "size": None}
            if entry["type"] == "file"
            else entry
            for entry in entries
        ]

    def invalidate_cache(self, path: str | None = None) -> None:
        """Make the file system below forget what it has listed."""
        self.fs.invalidate_cache(None if path is None else self._inner_name(path))

    def created(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.created(self._inner_name(path))

    def modified(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.modified(self._inner_name(path))

    def exists(self, path: str, **options: Any) -> bool:
        """Ask the file system below."""
        return bool(self.fs.exists(self._inner_name(path), **options))

    def isfile(self, path: str) -> bool:
        """Ask the file system below; a file there may not be an encrypted one."""
        return bool(self.fs.isfile(self._inner_name(path)))

    def isdir(self, path: str) -> bool:
        """Ask the file system below."""
        return bool(self.fs.isdir(self._inner_name(path)))

    def _rm(self, path: str) -> None:
        self.fs.rm_file(self._inner_name(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Ask the file system below."""
        self.fs.rm(self._inner_name(path), recursive=recursive, maxdepth=maxdepth)

    def rmdir(self, path: str) -> None:
        """Ask the file system below."""
        self.fs.rmdir(self._inner_name(path))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file unchanged: whoever can open it can open the copy."""
        self.fs.cp_file(self._inner_name(path1), self._inner_name(path2), **options)

    def mv(self, path1: Any, path2: Any, **options: Any) -> None:
        """Ask the file system below."""
        if isinstance(path1, list):
            for one, other in zip(path1, path2, strict=True):
                self.mv(one, other, **options)
            return
        self.fs.mv(self._inner_name(path1), self._inner_name(path2), **options)

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Ask the file system below."""
        self.fs.mkdir(self._inner_name(path), create_parents=create_parents, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Ask the file system below."""
        self.fs.makedirs(self._inner_name(path), exist_ok=exist_ok)
