# SPDX-License-Identifier: Apache-2.0
"""Whether a key is a vault's own. Nothing in a configuration tells it without the passphrase.

So the key is tried on what the vault holds. Names come with a listing, and decide where there are
enough of them. Otherwise first blocks of files do, which are authenticated.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from typing import Any

from paes._paes import VaultKey
from paes.errors import CorruptError, WrongKeyError
from paes.vault_names import (
    HEADER_BYTES,
    LONG_NAME_SUFFIX,
    MOST_ENCODED_BYTES,
    Entry,
    StoredFolder,
    joined,
    parted,
    read_short,
)

_MOST_NAMES = 1000
# That many names, and more than half of all, prove a key. A wrong one decrypts one in 250.
_ENOUGH_NAMES = 4
# A wrong key seldom decrypts more than one name of so many.
_NAMES_FOR_ONE = 8
# How the header of a file begins.
_VERSION = b"\0\2"
# What is read at most where names do not decide.
_MOST_LONG_NAMES = 4
_MOST_FILES = 4
_MOST_FOLDERS = 8


def _is_well_formed(stored: str) -> bool:
    """Return whether this has the form of an encrypted name, which other files seldom have."""
    symbols = stored.rstrip("=")
    try:
        data = base64.urlsafe_b64decode(symbols + "=" * (-len(symbols) % 4))
    except ValueError:
        return False
    is_whole = len(data) in range(16, 257, 16)
    return is_whole and base64.urlsafe_b64encode(data).rstrip(b"=").decode() == symbols


class KeyProof:
    """A key that comes from elsewhere than the vault, and so may be another vault's."""

    def __init__(self, fs: Any, key: VaultKey, root: StoredFolder, source: str, what: str) -> None:
        """Take the file system below, the key, where the vault is, and what the key came from."""
        self._fs = fs
        self._key = key
        self._root = root
        self._message = f"{source}: is not the {what} of this vault"

    def __call__(self, entries: list[Entry] | None = None) -> bool:
        """Return whether the vault proves the key, or raise WrongKeyError. An empty one does not.

        `entries` is the listing of the root, if there is one.
        """
        verdict = self.verdict(entries)
        if verdict is False:
            raise WrongKeyError(self._message)
        return bool(verdict)

    def verdict(self, entries: list[Entry] | None = None) -> bool | None:
        """Return whether the key is the vault's, or None if the vault holds too little to tell.

        What does not open may be damaged, or others have put
        it there: it counts only where nothing opens, or no more than does by chance.
        """
        if entries is None:
            entries = self._listed(self._root.path)
        # Stores have files that stand for folders.
        entries = [entry for entry in entries if entry["name"].rstrip("/") != self._root.path]
        tried, passed = self._names(entries)
        if passed >= _ENOUGH_NAMES and 2 * passed > tried:
            return True
        has_failed = tried > 0 and passed <= tried // _NAMES_FOR_ONE
        for _, opens in zip(range(_MOST_FILES), self._first_blocks(entries), strict=False):
            if opens:
                return True
            has_failed = True
        return False if has_failed else None

    def _listed(self, path: str) -> list[Entry]:
        try:
            return self._fs.ls(path, detail=True)  # type: ignore[no-any-return]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _kind(self, entry: Entry) -> str:
        folder, name = parted(entry["name"].rstrip("/"))
        return self._key.kind_of(os.fsencode(name), folder == self._root.path)

    # Names of the root: how many were tried, and how many of them decrypt.

    def _names(self, entries: list[Entry]) -> tuple[int, int]:
        if self._key.has_plain_names:
            return 0, 0
        stored = [(parted(entry["name"].rstrip("/"))[1], self._kind(entry)) for entry in entries]
        short = [name for name, kind in stored if kind == "name" and _is_well_formed(name)]
        if not short:
            return self._long_names([name for name, kind in stored if kind == "long_name"])
        del short[_MOST_NAMES:]
        return len(short), sum(self._decrypts(name) for name in short)

    def _decrypts(self, encoded: str) -> bool:
        try:
            self._key.name_of(os.fsencode(encoded), self._root.iv)
        except CorruptError:
            return False
        return True

    def _long_names(self, stored: list[str]) -> tuple[int, int]:
        paths = [joined(self._root.path, name + LONG_NAME_SUFFIX) for name in stored]
        del paths[_MOST_LONG_NAMES:]
        read = read_short(self._fs, paths, MOST_ENCODED_BYTES) if paths else []
        tried = passed = 0
        for name, encoded in zip(stored, read, strict=False):
            if isinstance(encoded, bytes) and _is_well_formed(os.fsdecode(encoded)):
                tried += 1
                try:
                    self._key.name_of_long(os.fsencode(name), encoded, self._root.iv)
                except CorruptError:
                    continue
                passed += 1
        return tried, passed

    # Content.

    def _files(self, entries: list[Entry]) -> Iterator[str]:
        """Return files with text: the root's, and where names are plain those in folders, too."""
        folders: list[str] = []
        for turn in range(1 + _MOST_FOLDERS):
            for entry in entries:
                if entry.get("islink") or self._kind(entry) not in ("name", "long_name"):
                    continue
                size = entry.get("size")
                if entry["type"] == "directory":
                    folders.append(entry["name"].rstrip("/"))
                elif size and self._key.stored_bytes(self._key.text_bytes(size)) == size:
                    yield entry["name"]
            if turn == len(folders) or not self._key.has_plain_names:
                return
            entries = self._listed(folders[turn])

    def _first_blocks(self, entries: list[Entry]) -> Iterator[bool]:
        """Return of each file whether its first block opens. A hole does so under each key."""
        end = self._key.block_offset(1)
        for path in self._files(entries):
            [stored] = read_short(self._fs, [path], end - 1)
            if isinstance(stored, BaseException) or not any(stored[HEADER_BYTES:]):
                continue
            try:
                self._key.open_blocks(stored[:HEADER_BYTES], 0, stored[HEADER_BYTES:])
            except CorruptError:
                # A file of anybody else has another version.
                if stored.startswith(_VERSION):
                    yield False
            else:
                yield True
