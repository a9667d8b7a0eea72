# SPDX-License-Identifier: Apache-2.0
"""Listings of a file system with paes on top, with the sizes of texts.

A size follows from the stored length and from where the payload begins. For a file under a caller's
own key that is known; for others the head tells, which is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from paes.stored import (
    HEAD_BYTES,
    SHORTEST_BYTES,
    Fetch,
    Heads,
    NotEncrypted,
    Size,
    StoredFile,
    layout_of_file,
    layout_of_payload,
)

Entry: TypeAlias = "dict[str, Any]"


class ListedFiles:
    """What PaesFileSystem says of files without opening them."""

    fs: Any
    _store: Any  # what is below all caches
    _key: Any
    _heads: Heads
    _inner_name: Callable[[Any], Any]
    _inner_pattern: Callable[[str], str]
    _fetcher: Callable[[str], Fetch]

    def _known(self, entry: Entry, size: Size | None = None) -> Entry:
        """Return an entry with the text's size: `size`, or else what is sure without a read."""
        if entry.get("type") != "file":
            return entry
        found = {**entry, "encrypted_size": entry["size"], "size": None}
        size = size or self._sure_size(entry)
        if size is not None:
            found.update(size=size.text_bytes, is_encrypted=size.is_encrypted)
        return found

    def _sure_size(self, entry: Entry) -> Size | None:
        stored = entry["size"]
        if stored is None:
            return Size(None, True)
        if self._key is not None:
            layout = layout_of_payload(stored)
            return Size(stored, False) if layout is None else Size(layout.text_bytes, True)
        return Size(stored, False) if stored < SHORTEST_BYTES else self._heads.size_of(entry)

    def _without_size(self, entries: Iterable[Entry]) -> list[Entry]:
        return [
            entry
            for entry in entries
            if entry.get("type") == "file" and self._sure_size(entry) is None
        ]

    @staticmethod
    def _heads_wanted(entries: list[Entry]) -> tuple[list[str], list[int], list[int]]:
        names = [entry["name"] for entry in entries]
        return names, [0] * len(names), [min(HEAD_BYTES, entry["size"]) for entry in entries]

    def _sizes_of(
        self, entries: list[Entry], heads: list[Any], fetcher: Callable[[str], Fetch]
    ) -> dict[str, Size]:
        """Return the sizes that heads tell. An exception in place of a head is raised."""
        found: dict[str, Size] = {}
        for entry, head in zip(entries, heads, strict=True):
            if isinstance(head, BaseException):
                raise head
            stored = StoredFile(entry["name"], entry["size"], fetcher(entry["name"]), head=head)
            try:
                layout = layout_of_file(stored)
                size = Size(None if layout is None else layout.text_bytes, True)
            except NotEncrypted:
                size = Size(stored.size, False)
            found[stored.name] = size
            self._heads.keep(entry, head, size)
        return found

    def _with_sizes(self, entries: list[Entry]) -> list[Entry]:
        unknown = self._without_size(entries)
        sizes: dict[str, Size] = {}
        if unknown:
            heads = self._store.cat_ranges(*self._heads_wanted(unknown), on_error="return")
            sizes = self._sizes_of(unknown, heads, self._fetcher)
        return [self._known(entry, sizes.get(entry.get("name", ""))) for entry in entries]

    def info(self, path: str, **options: Any) -> Entry:
        """Return what the file system below says, with the length of the text as the size.

        `encrypted_size` is the stored length, and `is_encrypted` is false for a plain file.
        """
        return self._with_sizes([self.fs.info(self._inner_name(path), **options)])[0]

    def ls(self, path: str, detail: bool = True, sizes: bool = False, **options: Any) -> list[Any]:
        """List a directory, with the requests that the file system below makes for it.

        A size is None if only the file's head would tell. With `sizes` those heads are read, side
        by side where the file system below can.
        """
        found = self.fs.ls(self._inner_name(path), detail=True, **options)
        if not detail:
            return [entry["name"] for entry in found]
        return self._with_sizes(found) if sizes else [self._known(entry) for entry in found]

    def find(
        self, path: str, *arguments: Any, detail: bool = False, sizes: bool = True, **options: Any
    ) -> Any:
        """List the files below a path, with `detail` and unless `sizes` is false with all sizes.

        Data tools take a file for empty if its size is None, and pass it over.
        """
        found = self.fs.find(self._inner_name(path), *arguments, detail=detail, **options)
        return self._all_with_sizes(found, sizes) if detail else found

    def glob(
        self, path: str, maxdepth: int | None = None, sizes: bool = True, **options: Any
    ) -> Any:
        """List the files of a pattern. What `find` says of sizes holds here, too."""
        found = self.fs.glob(self._inner_pattern(path), maxdepth=maxdepth, **options)
        return self._all_with_sizes(found, sizes) if options.get("detail") else found

    def _all_with_sizes(self, found: dict[str, Entry], sizes: bool) -> dict[str, Entry]:
        entries = list(found.values())
        done = self._with_sizes(entries) if sizes else [self._known(one) for one in entries]
        return dict(zip(found, done, strict=True))

    def du(self, path: str, total: bool = True, maxdepth: int | None = None, **options: Any) -> Any:
        """Return the bytes of text below a path, by file unless `total`. It needs all sizes."""
        found = self.find(path, maxdepth=maxdepth, detail=True, **options)
        sizes = {name: (entry or self.info(name))["size"] or 0 for name, entry in found.items()}
        return sum(sizes.values()) if total else sizes
