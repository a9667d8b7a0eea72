# SPDX-License-Identifier: Apache-2.0
"""What a file system with paes on top does for those who await it.

Requests are awaited in the caller's loop. Text is encrypted and decrypted in threads of our own:
the loop may need its own ones, for example to look up a host, while these wait for it.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fsspec.asyn import AbstractAsyncStreamedFile, AsyncFileSystem
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.spec import AbstractFileSystem

from paes.errors import Error
from paes.store_files import RangeReader
from paes.stored import WINDOW_BYTES, Heads
from paes.streams import EncryptedReader

_threads: dict[int, ThreadPoolExecutor] = {}  # by process: a forked child has none of its parent's


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Await what a function returns that runs in a thread of ours."""
    process = os.getpid()
    if process not in _threads:
        _threads[process] = ThreadPoolExecutor(32, "paes")
    return await asyncio.get_running_loop().run_in_executor(
        _threads[process], functools.partial(function, *arguments)
    )


def ranges_by_path(
    paths: list[str], starts: Any, ends: Any
) -> dict[str, list[tuple[int, int | None, int | None]]]:
    """Return the ranges of each path, with their places in the result."""
    if not isinstance(paths, list):
        raise TypeError("paths: not a list")
    starts = starts if isinstance(starts, list) else [starts] * len(paths)
    ends = ends if isinstance(ends, list) else [ends] * len(paths)
    if len(starts) != len(paths) or len(ends) != len(paths):
        raise ValueError("paths, starts and ends differ in length")
    found: dict[str, list[tuple[int, int | None, int | None]]] = {}
    for place, (path, start, end) in enumerate(zip(paths, starts, ends, strict=True)):
        found.setdefault(path, []).append((place, start, end))
    return found


def read_ranges(
    reader: EncryptedReader, ranges: list[tuple[int, int | None, int | None]]
) -> list[bytes]:
    """Read ranges that are counted as slices are, and close the reader."""
    with reader:
        slices = [slice(start, end).indices(reader.size)[:2] for _, start, end in ranges]
        wanted = [(start, max(start, end)) for start, end in slices]
        if isinstance(reader, RangeReader):
            return reader.read_ranges(wanted)
        return [reader.read_at(start, end - start) for start, end in wanted]


def _awaits(name: str) -> Any:
    async def method(self: Any, path: str, *arguments: Any, **options: Any) -> Any:
        return await getattr(self.fs, name)(self._inner_name(path), *arguments, **options)

    method.__name__ = name
    return method


class AsyncReader(AbstractAsyncStreamedFile):  # type: ignore[misc]
    """The text of an encrypted file, for those who await it."""

    def __init__(self, fs: Any, path: str, reader: EncryptedReader) -> None:
        """Take the reader, which is closed with this."""
        self.fs = fs
        self.path = path
        self.mode = "rb"
        self.closed = False
        self.size = reader.size
        self._reader = reader

    async def read(self, length: int = -1) -> bytes:
        """Return `length` bytes from the position on, fewer at the end; if negative, all."""
        text: bytes = await in_thread(self._reader.read, length)
        return text

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position."""
        return self._reader.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._reader.tell()

    async def close(self) -> None:
        """Wipe the keys."""
        self._reader.close()
        self.closed = True


class AwaitedFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """The coroutines of PaesFileSystem, for a file system below that has them."""

    fs: Any

    _exists = _awaits("_exists")
    _isfile = _awaits("_isfile")
    _isdir = _awaits("_isdir")
    _mkdir = _awaits("_mkdir")
    _makedirs = _awaits("_makedirs")
    _rm_file = _awaits("_rm_file")
    _rm = _awaits("_rm")

    async def set_session(self, *arguments: Any, **options: Any) -> Any:
        """Ask the file system below."""
        return await self.fs.set_session(*arguments, **options)

    async def _cp_file(self, path1: str, path2: str, **options: Any) -> None:
        await self.fs._cp_file(self._inner_name(path1), self._inner_name(path2), **options)

    async def _info(self, path: str, **options: Any) -> dict[str, Any]:
        found = await self.fs._info(self._inner_name(path), **options)
        return (await self._measured([found]))[0]

    async def _ls(
        self, path: str, detail: bool = True, sizes: bool = False, **options: Any
    ) -> list[Any]:
        found = await self.fs._ls(self._inner_name(path), detail=True, **options)
        if not detail:
            return [entry["name"] for entry in found]
        return await self._measured(found) if sizes else [self._known(entry) for entry in found]

    async def _find(
        self, path: str, *arguments: Any, detail: bool = False, sizes: bool = True, **options: Any
    ) -> Any:
        found = await self.fs._find(self._inner_name(path), *arguments, detail=detail, **options)
        return await self._all_measured(found, sizes) if detail else found

    async def _glob(self, path: str, *arguments: Any, sizes: bool = True, **options: Any) -> Any:
        found = await self.fs._glob(self._inner_pattern(path), *arguments, **options)
        return await self._all_measured(found, sizes) if options.get("detail") else found

    async def _all_measured(self, found: dict[str, Any], sizes: bool) -> dict[str, Any]:
        entries = found.values()
        done = await self._measured(entries) if sizes else [self._known(one) for one in entries]
        return dict(zip(found, done, strict=True))

    async def _du(
        self, path: str, total: bool = True, maxdepth: int | None = None, **options: Any
    ) -> Any:
        found = await self._find(path, maxdepth=maxdepth, detail=True, **options)
        sizes = {
            name: (entry or await self._info(name))["size"] or 0 for name, entry in found.items()
        }
        return sum(sizes.values()) if total else sizes

    async def _measured(self, entries: Any) -> list[dict[str, Any]]:
        # Like _with_sizes(), with heads that are read side by side.
        entries = list(entries)
        unknown = self._without_size(entries)
        sizes: dict[str, Any] = {}
        if unknown:
            heads = await self.fs._cat_ranges(*self._heads_wanted(unknown), on_error="return")
            fetcher = functools.partial(self._fetcher, loop=asyncio.get_running_loop())
            sizes = await in_thread(self._sizes_of, unknown, heads, fetcher)
        return [self._known(entry, sizes.get(entry.get("name"))) for entry in entries]

    async def _reader_of(self, path: str) -> EncryptedReader:
        path = self._inner_name(path)
        fetch = self._fetcher(path, loop=asyncio.get_running_loop())
        entry = await self.fs._info(path)
        try:
            return await in_thread(self._reader_at, entry, fetch)  # type: ignore[no-any-return]
        except (Error, OSError):
            # The file system below may have remembered the length of another file of this name.
            self.fs.invalidate_cache(self.fs._parent(path))
            fresh = await self.fs._info(path)
            if Heads.key_of(fresh) == Heads.key_of(entry):
                raise
            return await in_thread(self._reader_at, fresh, fetch)  # type: ignore[no-any-return]

    async def open_async(self, path: str, mode: str = "rb", **_: Any) -> AsyncReader:
        """Open a file whose text is awaited."""
        if mode != "rb":
            raise NotImplementedError("files that are awaited are for reading")
        return AsyncReader(self, path, await self._reader_of(path))

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        if start in (None, 0) and end is None:
            path = self._inner_name(path)
            text: bytes = await in_thread(self._decrypted, path, await self.fs._cat_file(path))
            return text
        reader = await self._reader_of(path)
        [text] = await in_thread(read_ranges, reader, [(0, start, end)])
        return text

    async def _cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        # Ranges of one file are fetched side by side, and so are the files; no gap is fetched.
        found: list[Any] = [None] * len(paths)
        limit = asyncio.Semaphore(batch_size or self.batch_size or 32)

        async def read(path: str, ranges: Any) -> None:
            try:
                async with limit:
                    texts = await in_thread(read_ranges, await self._reader_of(path), ranges)
            except Exception as error:
                if on_error != "return":
                    raise
                texts = [error] * len(ranges)
            for (place, _, _), text in zip(ranges, texts, strict=True):
                found[place] = text

        by_path = ranges_by_path(paths, starts, ends)
        await asyncio.gather(*[read(path, ranges) for path, ranges in by_path.items()])
        return found

    async def _pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", **options: Any
    ) -> None:
        if self.fs._intrans:
            await in_thread(AbstractFileSystem.pipe_file, self, path, value, mode)
            return
        if mode != "overwrite":
            options["mode"] = mode
        sealed = await in_thread(self._encrypted, value)
        await self.fs._pipe_file(self._inner_name(path), sealed, **options)

    async def _put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **options: Any,
    ) -> None:
        if os.path.isdir(lpath):
            await self._makedirs(rpath, exist_ok=True)
        elif self.asynchronous:
            # Its files can only be written whole.
            with open(lpath, "rb") as file:
                await self._pipe_file(rpath, await in_thread(file.read), mode, **options)
        elif mode == "create" and await self._exists(rpath):
            raise FileExistsError(rpath)
        else:
            await in_thread(self._send, lpath, rpath, callback, options)

    def _send(self, lpath: str, rpath: str, callback: Any, options: dict[str, Any]) -> None:
        with open(lpath, "rb") as file, self.open(rpath, "wb", **options) as out:
            callback.set_size(os.fstat(file.fileno()).st_size)
            while text := file.read(WINDOW_BYTES):
                out.write(text)
                callback.relative_update(len(text))

    async def _get_file(
        self, rpath: str, lpath: str, callback: Any = DEFAULT_CALLBACK, **_: Any
    ) -> None:
        if os.path.isdir(lpath):
            return
        try:
            reader = await self._reader_of(rpath)
        except IsADirectoryError:
            os.makedirs(lpath, exist_ok=True)
        else:
            await in_thread(_receive, reader, lpath, callback)


def _receive(reader: EncryptedReader, lpath: str, callback: Any) -> None:
    with reader, open(lpath, "wb") as out:
        callback.set_size(reader.size)
        while text := reader.read(WINDOW_BYTES):
            out.write(text)
            callback.relative_update(len(text))
