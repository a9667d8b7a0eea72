# SPDX-License-Identifier: Apache-2.0
"""How files and folders of a vault come, go and move, on a machine or in a store.

A file of a long name gets that name's file first, and loses it last. On this machine each change
takes one step, by names that nothing shows; a store keeps what it is given.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from paes.errors import UsageError
from paes.store_files import StoreTarget
from paes.stored import WINDOW_BYTES
from paes.vault_files import (
    LocalTarget,
    VaultTarget,
    VaultWriter,
    claim,
    ended,
    hold_local_name,
    make_local_folder,
)
from paes.vault_names import (
    FOLDER_IV,
    IV_BYTES,
    LONG_NAME_SUFFIX,
    StoredFolder,
    Vault,
    joined,
    not_found,
)


class VaultChanges:
    """What VaultFileSystem changes."""

    fs: Any
    root: str
    info: Any
    isdir: Any
    ls: Any
    open: Any
    expand_path: Any
    _fresh: Callable[[list[str]], list[Any]]
    _parent: Callable[[str], str]
    _strip_protocol: Callable[[Any], Any]

    @property
    def vault(self) -> Vault:
        """Return the vault, and open it first if need be."""
        raise NotImplementedError

    @property
    def _is_local(self) -> bool:
        return isinstance(self.fs, LocalFileSystem)

    @property
    def transaction(self) -> Any:
        """Refuse: each file gets its name when it is closed."""
        raise NotImplementedError("paes-vault: no transactions: a file gets its name when closed")

    def start_transaction(self) -> Any:
        """Refuse: each file gets its name when it is closed."""
        return self.transaction

    def _writer(self, path: str, options: dict[str, Any]) -> VaultWriter:
        if not path:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.root)
        # Stores make folders as they are needed, and so do those who use them.
        if not self._is_local or self.fs.auto_mkdir:
            self.makedirs(self._parent(path), exist_ok=True)
        end = claim(self.root) if self._is_local else None
        try:
            if self._is_folder(path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            folder, place, encoded = self._place(path)
        except BaseException:
            if end is not None:
                end()
            raise

        def prepare() -> None:
            self._hold_name(folder, place, encoded)

        target: StoreTarget
        if end is not None:
            target = LocalTarget(self.fs, place, self._hidden(folder), prepare, end)
        else:
            target = VaultTarget(self.fs, place, options, prepare)
        return VaultWriter(self.vault.key, path, target)

    def _place(self, path: str) -> tuple[StoredFolder, str, bytes]:
        """Return a path's folder, where it is stored, and of a long name the encoded one.

        Every change begins here, and ends here if the key is another vault's.
        """
        folder, stored, encoded = self.vault.names(path, now=True)
        self.vault.prove(is_change=True)
        return folder, joined(folder.path, stored), encoded

    def _type_now(self, path: str) -> str | None:
        """Return what has a path: a "file", a "directory", something "other", or None: nothing."""
        [found] = self._fresh([path])
        for error, kind in (
            (FileNotFoundError, None),
            (IsADirectoryError, "directory"),
            (UsageError, "other"),
        ):
            if isinstance(found, error):
                return kind
        if isinstance(found, Exception):
            raise found
        return "file"

    def _hidden(self, folder: StoredFolder) -> str:
        return joined(folder.path, os.fsdecode(self.vault.key.new_unfinished_name()))

    def _hold_name(self, folder: StoredFolder, place: str, encoded: bytes) -> None:
        if encoded and self._is_local:
            hold_local_name(self._hidden(folder), place + LONG_NAME_SUFFIX, encoded)
        elif encoded:
            self.fs.pipe_file(place + LONG_NAME_SUFFIX, encoded)

    def _lose_name(self, place: str, encoded: bytes) -> None:
        if encoded:
            self.fs.rm_file(place + LONG_NAME_SUFFIX)

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Make a folder, with a new random IV."""
        path = self._strip_protocol(path)
        if create_parents and self._parent(path):
            self.makedirs(self._parent(path), exist_ok=True)
        if not path:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.root)
        with ended(claim(self.root) if self._is_local else None):
            folder, place, encoded = self._place(path)
            try:
                make = self._make_local if self._is_local else self._make_in_store
                iv = make(path, folder, place, encoded)
            except FileExistsError:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        self.fs.invalidate_cache(folder.path)
        self.vault.keep(path, StoredFolder(place, iv))

    def _make_local(self, _: str, folder: StoredFolder, place: str, encoded: bytes) -> bytes:
        if os.path.lexists(place):
            raise FileExistsError(place)
        self._hold_name(folder, place, encoded)
        if not self.vault.key.has_folder_ivs:
            os.mkdir(place)
            return bytes(IV_BYTES)
        iv = self.vault.key.new_folder_iv()
        make_local_folder(self._hidden(folder), place, iv)
        return iv

    def _make_in_store(self, path: str, folder: StoredFolder, place: str, encoded: bytes) -> bytes:
        if self._type_now(path) is not None:
            raise FileExistsError(place)
        self._hold_name(folder, place, encoded)
        if not self.vault.key.has_folder_ivs:
            self.fs.makedirs(place, exist_ok=True)
            return bytes(IV_BYTES)
        iv = self.vault.key.new_folder_iv()
        self.fs.pipe_file(joined(place, FOLDER_IV), iv, mode="create")
        # Not every store keeps two apart that make a folder at once. What is there counts.
        return self.vault.read_iv(place, path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder, and those above it that are not there."""
        path = self._strip_protocol(path)
        if not path or self._is_folder(path):
            if exist_ok:
                return
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.makedirs(self._parent(path), exist_ok=True)
        try:
            self.mkdir(path, create_parents=False)
        except FileExistsError:
            if not exist_ok or not self._is_folder(path):
                raise

    def _is_folder(self, path: str) -> bool:
        if not self.vault.key.has_folder_ivs:
            return bool(self.isdir(path))
        try:
            self.vault.folder(path)
        except FileNotFoundError:
            return False
        return True

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        self._remove_folder(self._strip_protocol(path), only_if_empty=True)

    def _remove_folder(self, path: str, *, only_if_empty: bool = False) -> None:
        if not path:
            raise UsageError("vault: its root cannot be removed")
        with ended(claim(self.root) if self._is_local else None):
            folder, place, encoded = self._place(path)
            kind = self._type_now(path)
            if kind is None:
                raise not_found(path)
            if kind != "directory":
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            if only_if_empty and not self.vault.is_empty(path):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
            if self._is_local:
                hidden = self._hidden(folder)
                os.rename(place, hidden)
                self.vault.forget(path)
                self._lose_name(place, encoded)
                shutil.rmtree(hidden)
            else:
                self.fs.rm(place, recursive=True)
                self.vault.forget(path)
                self._lose_name(place, encoded)
        self.fs.invalidate_cache(folder.path)

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        path = self._strip_protocol(path)
        with ended(claim(self.root) if self._is_local else None):
            _, place, encoded = self._place(path)
            # A store may say nothing when it has no such file.
            kind = self._type_now(path)
            if kind is None and not (self._is_local and os.path.islink(place)):
                raise not_found(path)
            if kind == "directory":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            self.fs.rm_file(place)
            self._lose_name(place, encoded)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, and with `recursive` folders with all that is in them."""
        if maxdepth is not None:
            raise NotImplementedError("paes-vault: rm with maxdepth")
        for one in self.expand_path(path):
            if self.info(one)["type"] != "directory":
                self.rm_file(one)
            elif recursive:
                self._remove_folder(one)
            else:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), one)

    def mv(self, path1: str, path2: str, **_: Any) -> None:
        """Give a file or a folder another path. A file replaces the one that has it already."""
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if f"{path2}/".startswith(f"{path1}/"):
            raise UsageError(f"{path2}: lies in {path1}, or is it")
        with ended(claim(self.root) if self._is_local else None):
            from_folder, place, from_encoded = self._place(path1)
            to_folder, to, to_encoded = self._place(path2)
            kind, replaced = self._type_now(path1), self._type_now(path2)
            if kind is None:
                raise not_found(path1)
            is_folder = kind == "directory"
            if replaced is not None and (is_folder or replaced == "directory"):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path2)
            self._hold_name(to_folder, to, to_encoded)
            if self._is_local:
                os.rename(place, to)
            elif is_folder:
                self._move_in_store(place, to)
            else:
                self.fs.mv(place, to)
            self.vault.forget(path1)
            self.vault.forget(path2)
            self._lose_name(place, from_encoded)
        self.fs.invalidate_cache(from_folder.path)
        self.fs.invalidate_cache(to_folder.path)

    def _move_in_store(self, place: str, to: str) -> None:
        # A store has files alone, and so has nothing to copy for a folder.
        self.fs.invalidate_cache(place)
        files = self.fs.find(place)
        self.fs.copy(files, [to + file.removeprefix(place) for file in files])
        self.fs.rm(place, recursive=True)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copy a file, which gets an id of its own and is encrypted anew."""
        if self._strip_protocol(path1) == self._strip_protocol(path2):
            return
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            return
        with self.open(path1, "rb") as file, self.open(path2, "wb") as out:
            while text := file.read(WINDOW_BYTES):
                out.write(text)
