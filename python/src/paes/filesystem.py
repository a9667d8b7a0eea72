# SPDX-License-Identifier: Apache-2.0
"""Encrypted files on any file system of fsspec that can read ranges.

For example: `fsspec.open("paes::s3://bucket/key", paes={"identity": "key.txt"})`.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable
from typing import Any

import fsspec
from fsspec.asyn import AsyncFileSystem, sync
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.cached import CachingFileSystem
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from paes import _paes
from paes.awaited import AwaitedFileSystem, ranges_by_path, read_ranges
from paes.errors import Error
from paes.keys import identities_here, open_with, returned, seal_for
from paes.listed import Entry, ListedFiles
from paes.sources import Ranges, ranges_of
from paes.store_files import RangeReader, StoreTarget, StoreWriter
from paes.stored import (
    HEAD_BYTES,
    Fetch,
    Heads,
    Layout,
    NotEncrypted,
    Size,
    StoredFile,
    layout_of_file,
    layout_of_payload,
)
from paes.streams import EncryptedReader, EncryptedWriter
from paes.travelling import Travelling


def is_awaited(fs: Any) -> bool:
    """Return whether a file system has requests that are awaited."""
    # Some chained file systems pass their attributes off as those of the file system below.
    if not isinstance(fs, AsyncFileSystem):
        return False
    if isinstance(fs, AsyncFileSystemWrapper) or not isinstance(fs, ChainedFileSystem):
        return True
    return is_awaited(fs.fs)


def _name_below(fs: Any, path: Any) -> Any:
    """Return what `fs` calls a file of PaesFileSystem, or each of a list of files."""
    own: Callable[[Any], Any] = PaesFileSystem._strip_protocol
    stripped = own(path)
    if isinstance(stripped, list):
        return [fs._strip_protocol(one) for one in stripped]
    return fs._strip_protocol(stripped)


def _asks(name: str) -> Any:
    """Make a method that asks the file system below about a path, or about several."""

    def method(self: PaesFileSystem, path: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(self.fs, name)(self._inner_name(path), *arguments, **options)

    method.__name__ = name
    method.__doc__ = getattr(AbstractFileSystem, name).__doc__
    return method


class PaesFileSystem(Travelling, ListedFiles, AwaitedFileSystem, ChainedFileSystem):  # type: ignore[misc]
    """The files of another file system, decrypted when read and encrypted when written.

    `identity`, `recipients`, `passphrase`, `key` and the other options are those of paes.open.
    `identity`, `passphrase` and `key` may also be a function that returns one, and the path of an
    identity may contain variables of the environment ("$HOME/key.txt"). Only such names travel to
    other processes: an object that contains a secret cannot be pickled.

    Plain files may lie beside encrypted ones. They are listed, and cannot be read.
    """

    protocol = "paes"
    root_marker = ""
    cachable = False
    SECRETS = ("identity", "passphrase", "key")

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
        asynchronous: bool = False,
        **options: Any,
    ) -> None:
        """Use `fs`, or the file system of `target_protocol`."""
        if fs is None:
            below = {**(target_options or {}), **({"asynchronous": True} if asynchronous else {})}
            fs = fsspec.filesystem(target_protocol or "file", **below)
        if isinstance(fs, AsyncFileSystemWrapper) and not fs.asynchronous:
            fs = fs.sync_fs  # which can open files; a wrapper loses what is written to its files
        self.fs = fs
        self.async_impl = is_awaited(fs)
        if asynchronous and self.async_impl and not fs.asynchronous:
            raise ValueError("asynchronous: the file system below is not")
        if self.async_impl:
            options["loop"] = fs._loop
            super().__init__(asynchronous=fs.asynchronous, **options)
        else:
            AbstractFileSystem.__init__(self, **options)
        self._identity = identity
        self._recipients = recipients
        self._passphrase = passphrase
        self._key = key
        self._key_bits = key_bits
        self._max_work_factor = max_work_factor
        self._how: dict[str, Any] = {"threads": threads, "kernel": kernel}
        self._given: _paes.OpenWith | None = None
        # Each address makes a new object of this class, but mostly finds the object below again.
        # A caching file system forwards attributes to the one below, so its own are asked for.
        # Heads are read below it, because it would fetch whole files for them.
        kept_with = object.__getattribute__(fs, "__dict__")
        self._heads: Heads = kept_with.setdefault("_paes_heads", Heads())
        self._store = fs
        while isinstance(self._store, CachingFileSystem):
            self._store = self._store.fs
        # Names are those of the file system below. A relative or a user's (~) name becomes what
        # `ls` returns, because otherwise no pattern would match. This is a function of the object,
        # because each object has another file system below; it must not keep the object alive.
        self.__dict__["_strip_protocol"] = lambda path: _name_below(fs, path)

    # How an object travels, and what it is called.

    @property
    def storage_options(self) -> dict[str, Any]:
        """Return the options that make an object like this one."""
        return self._options

    @storage_options.setter
    def storage_options(self, options: dict[str, Any]) -> None:
        given = options.get("recipients")
        if given is not None and not isinstance(given, str):
            several = given if isinstance(given, (list, tuple, set)) else [given]
            options = {**options, "recipients": [str(one) for one in several]}
        self._options = options

    def _inner_name(self, path: Any) -> Any:
        return _name_below(self.fs, path)

    def _inner_pattern(self, path: str) -> str:
        # A slash at the end asks for folders alone.
        return self._inner_name(path) + ("/" if path.endswith("/") else "")  # type: ignore[no-any-return]

    def _parent(self, path: str) -> str:
        return self.fs._parent(self._inner_name(path))  # type: ignore[no-any-return]

    # Transactions are those of the file system below.

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

    # Files.

    def open_many(self, files: Any, **_: Any) -> list[Any]:
        """Open files of fsspec.open_files, which else asks a cache below, past the encryption."""
        return [file.__enter__() for file in files]

    def commit_many(self, files: Any) -> None:
        """Do nothing: each file was completed when it was closed."""

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> EncryptedReader | EncryptedWriter:
        path = self._inner_name(path)
        if mode == "rb":
            # "parts" means that the caller already holds parts of the text; it asks for no cache.
            if options.get("cache_type") in (None, "parts"):
                options.pop("cache_type", None)
            else:
                options.update(block_size=block_size, cache_options=cache_options)
            return self._reader(path, options)
        if mode == "wb":
            wanted = self._seal_for()
            # fsspec cannot take a local file back, but paes can. Files of a transaction are
            # fsspec's.
            if isinstance(self.fs, LocalFileSystem) and not self.fs._intrans:
                if self.fs.auto_mkdir:
                    self.fs.makedirs(self.fs._parent(path), exist_ok=True)
                return EncryptedWriter(path, wanted, overwrite=True, **self._how)
            if block_size is not None:
                options["block_size"] = block_size
            return StoreWriter(StoreTarget(self.fs, path, options), wanted, **self._how)
        raise ValueError(f"mode must be 'rb' or 'wb', not {mode!r}")

    def _seal_for(self) -> _paes.SealFor:
        return seal_for(
            self._recipients, returned(self._passphrase), returned(self._key), self._key_bits
        )

    def _open_with(self) -> _paes.OpenWith:
        if self._given is None:
            self._given = open_with(
                identities_here(self._identity),
                returned(self._passphrase),
                returned(self._key),
                self._max_work_factor,
            )
        return self._given

    def _reader(self, path: str, options: dict[str, Any]) -> EncryptedReader:
        if isinstance(self.fs, LocalFileSystem) and not options:
            if stat.S_ISDIR(os.stat(path).st_mode):  # or says that there is no such file
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            return EncryptedReader(path, self._open_with(), **self._how)
        is_cache = isinstance(self.fs, CachingFileSystem)
        has_ranges = self.async_impl or type(self.fs).cat_file is not AbstractFileSystem.cat_file
        if has_ranges and not is_cache and not options:
            entry = self.fs.info(path)
            try:
                return self._reader_at(entry, self._fetcher(path))
            except (Error, OSError):
                # The file system below may have remembered the length of an older file.
                self.fs.invalidate_cache(self.fs._parent(path))
                fresh = self.fs.info(path)
                if Heads.key_of(fresh) == Heads.key_of(entry):
                    raise
                return self._reader_at(fresh, self._fetcher(path))
        # A cache of the file system below would fetch what nobody asked for (s3fs: 50 MB at a
        # time). Callers who want one set `cache_type`, or put a file system that caches below.
        if not is_cache:
            options = {"cache_type": "none", **options}
        file = self.fs.open(path, "rb", **options)
        try:
            below = ranges_of(file)
        except BaseException:
            file.close()
            raise
        return self._opened(StoredFile.of(below, path, file.close))

    def _reader_at(self, entry: Entry, fetch: Fetch) -> EncryptedReader:
        name = entry["name"]
        if entry["type"] == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        stored = StoredFile(name, entry["size"], fetch, head=self._heads.head_of(entry))
        reader = self._opened(stored)
        if self._key is None:
            head = bytes(stored.read_at(0, HEAD_BYTES))
            self._heads.keep(entry, head, Size(reader.size, True))
        return reader

    def _opened(self, stored: StoredFile) -> EncryptedReader:
        try:
            given = self._open_with()
            stored.hold_ends()
            layout = self._layout_of(stored)
            if layout is None:  # which the library explains
                return EncryptedReader(stored, given, **self._how)
            return RangeReader(stored, layout, given, **self._how)
        except BaseException:
            stored.forget()
            raise

    def _layout_of(self, source: Ranges) -> Layout | None:
        if self._key is not None:
            return layout_of_payload(source.size)
        try:
            return layout_of_file(source)
        except NotEncrypted:
            return None

    def _fetcher(self, path: str, loop: Any = None) -> Fetch:
        """Return what fetches ranges of a file below, from any thread but that of the loop."""

        def fetch(ranges: list[tuple[int, int]]) -> list[bytes]:
            starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
            wanted: Any = [path] * len(ranges), starts, ends
            if self.async_impl:
                below = self.fs._cat_ranges
                return sync(loop or self.loop, below, *wanted, on_error="raise")  # type: ignore[no-any-return]
            return self.fs.cat_ranges(*wanted, on_error="raise")  # type: ignore[no-any-return]

        return fetch

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Return ranges of files, each of which is opened once. No gap between them is read."""
        if self.async_impl:
            return sync(  # type: ignore[no-any-return]
                self.loop, self._cat_ranges, paths, starts, ends, on_error=on_error, **options
            )
        found: list[Any] = [None] * len(paths)
        for path, ranges in ranges_by_path(paths, starts, ends).items():
            try:
                texts: list[Any] = read_ranges(self.open(path, "rb"), ranges)
            except Exception as error:
                if on_error != "return":
                    raise
                texts = [error] * len(ranges)
            for (place, _, _), text in zip(ranges, texts, strict=True):
                found[place] = text
        return found

    def _decrypted(self, name: str, sealed: bytes) -> bytes:
        held = memoryview(sealed)
        source = Ranges(lambda offset, size: held[offset:][:size], len(held), name)
        with EncryptedReader(source, self._open_with(), **self._how) as reader:
            return reader.read()

    def _encrypted(self, text: bytes) -> bytes:
        out = io.BytesIO()
        with EncryptedWriter(out, self._seal_for(), **self._how) as writer:
            writer.write(text)
        return out.getvalue()

    # What concerns names alone.

    created = _asks("created")
    modified = _asks("modified")
    checksum = _asks("checksum")
    ukey = _asks("ukey")
    exists = _asks("exists")
    isfile = _asks("isfile")
    isdir = _asks("isdir")
    rm = _asks("rm")
    rm_file = _asks("rm_file")
    rmdir = _asks("rmdir")
    mkdir = _asks("mkdir")
    makedirs = _asks("makedirs")

    def invalidate_cache(self, path: str | None = None) -> None:
        """Make the file system below forget what it has listed."""
        self.fs.invalidate_cache(None if path is None else self._inner_name(path))

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
