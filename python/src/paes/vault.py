# SPDX-License-Identifier: Apache-2.0
"""Vaults in gocryptfs's format on any file system of fsspec that can read ranges.

For example: `fsspec.open("paes-vault://folder/file::s3://bucket/vault", **{"paes-vault":
{"passphrase_file": "pass"}})`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
from typing import Any

import fsspec
from fsspec.asyn import sync
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.local import LocalFileSystem

from paes._paes import Passphrase, VaultKey
from paes.awaited import ranges_by_path
from paes.errors import UsageError
from paes.filesystem import is_awaited
from paes.keys import passphrase_of, path_here, returned
from paes.sources import ranges_of
from paes.stored import Range, StoredFile
from paes.travelling import Travelling
from paes.vault_changes import VaultChanges
from paes.vault_files import RangePlan, VaultReader, VaultWriter
from paes.vault_names import (
    CONFIGURATION,
    IV_BYTES,
    MOST_CONFIGURATION_BYTES,
    Entry,
    StoredFolder,
    Vault,
    is_link,
    is_not_regular,
    joined,
    not_found,
    open_local,
    read_opening,
    sound_iv,
)
from paes.vault_proof import KeyProof

__all__ = ["VaultFileSystem", "VaultKey"]

# The number of vaults that one file system keeps open.
_KEPT = 64
_DIGITS = 64
_MASTER_KEY = re.compile(rb"[\s-]*(?:[0-9a-fA-F][\s-]*){64}")


def _differ(one: Entry, other: Entry) -> bool:
    """Return whether two answers for one path tell of two files."""
    names = ("size", "ETag", "LastModified", "mtime", "ino", "created")
    return [one.get(name) for name in names] != [other.get(name) for name in names]


def _mark_of(path: str) -> tuple[str | int, ...]:
    """Return what changes with a file of this machine."""
    status = os.stat(path)
    return path, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _refuse_key(path: Any) -> None:
    # It would be seen in messages, and travel.
    if path is not None and _MASTER_KEY.fullmatch(os.fsencode(path)) and not os.path.exists(path):
        raise UsageError(
            "master_key_file: the key itself is given, and not the name of its file",
            "keep the key in a file that only you can read",
        )


def _master_key_of(path: str) -> bytearray:
    """Read a master key as `gocryptfs -init` prints it."""
    text = bytearray(4096)
    try:
        with open(path, "rb", buffering=0) as file:
            got = file.readinto(text) or 0
        if not _MASTER_KEY.fullmatch(memoryview(text)[:got]):
            raise UsageError(f"{path}: holds no master key: that is {_DIGITS} hexadecimal digits")
        key, digits = bytearray(_DIGITS // 2), 0
        for character in memoryview(text)[:got]:  # a slice would be a copy
            value = b"0123456789abcdef".find(character | 0x20) if character > 0x2F else -1
            if value >= 0:
                key[digits // 2] |= value << (0 if digits % 2 else 4)
                digits += 1
        return key
    finally:
        text[:] = bytes(len(text))


class VaultFileSystem(VaultChanges, Travelling):
    """The files of a vault, decrypted when read and encrypted when written.

    `fo` is the vault's folder on the file system below. One of these opens it:
    - `passphrase_file`: the path of a file, whose first line is the passphrase;
    - `master_key_file`: the path of a file with the master key, in hexadecimal;
    - `passphrase` (text, or a Passphrase) or `master_key` (32 bytes), or a function that returns
      one.

    A path may contain variables of the environment ("$HOME/pass"). Only such names and functions
    travel to other processes: an object that contains a secret cannot be pickled. `config` is the
    path on this machine of a configuration that is not the vault's own gocryptfs.conf.

    Nothing changes under a master key, or a `config`, of another vault: WrongKeyError tells it. An
    empty vault takes any key.

    A damaged name ends a listing with CorruptError. With `skip_damaged_names` it is left out.
    """

    protocol = "paes-vault"
    root_marker = ""
    cachable = False
    SECRETS = ("passphrase_file", "master_key_file", "passphrase", "master_key")

    def __init__(
        self,
        fo: str = "",
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fs: Any = None,
        *,
        passphrase_file: str | os.PathLike[str] | None = None,
        master_key_file: str | os.PathLike[str] | None = None,
        passphrase: Any = None,
        master_key: Any = None,
        config: str | os.PathLike[str] | None = None,
        max_work_factor: int = 20,
        kernel: str = "auto",
        skip_damaged_names: bool = False,
        asynchronous: bool = False,
        **options: Any,
    ) -> None:
        """Use `fs`, or the file system of `target_protocol`."""
        super().__init__(**options)
        if asynchronous:
            raise ValueError("asynchronous: a vault has no calls to await")
        if fs is None:
            fs = fsspec.filesystem(target_protocol or "file", **(target_options or {}))
        if isinstance(fs, AsyncFileSystemWrapper) and not fs.asynchronous:
            fs = fs.sync_fs
        self.fs = fs
        self.root = fs._strip_protocol(fo).rstrip("/")
        self._sources = {
            "passphrase_file": passphrase_file,
            "master_key_file": master_key_file,
            "passphrase": passphrase,
            "master_key": master_key,
        }
        if sum(source is not None for source in self._sources.values()) > 1:
            raise UsageError("vault: one passphrase or master key opens it, and several are given")
        _refuse_key(master_key_file)
        self._config = config
        self._max_work_factor = max_work_factor
        self._kernel = kernel
        self._skip_damaged_names = skip_damaged_names
        self._opened: Vault | None = None
        # Each address makes a new object of this class, but mostly finds the object below again.
        # What is kept there lets each process derive a passphrase's key once.
        below = object.__getattribute__(fs, "__dict__")
        self._kept: dict[Any, Vault] = below.setdefault("_paes_vaults", {})

    def _below(self) -> Any:
        return super()._below(), self.root

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = os.fspath(path).removeprefix("paes-vault://")
        return "/".join(part for part in path.split("/") if part)

    # Opening.

    @property
    def vault(self) -> Vault:
        """Return the vault, and open it first if need be."""
        if self._opened is None or self._opened.is_gone:
            name = self._name_of_key()
            vault = None if name is None else self._kept.get(name)
            if vault is None or vault.is_gone:
                vault = self._open_vault()
            if name is not None:
                self._kept[name] = vault
                while len(self._kept) > _KEPT:
                    del self._kept[next(iter(self._kept))]
            self._opened = vault
        return self._opened

    def _path(self, option: str) -> str:
        return path_here(option, os.fspath(self._sources[option]))

    def _name_of_key(self) -> Any:
        """Return what tells the vault and its key from others without containing a secret."""
        for option, source in self._sources.items():
            if source is None:
                continue
            named: Any = None
            if option.endswith("_file"):
                named = _mark_of(self._path(option))
            elif callable(source):
                named = source
            config: Any = None if self._config is None else os.fspath(self._config)
            if config is None and isinstance(self.fs, LocalFileSystem):
                with contextlib.suppress(OSError):  # which the opening says
                    config = _mark_of(joined(self.root, CONFIGURATION))
            return named and (self.root, option, named, config, self._max_work_factor, self._kernel)
        raise UsageError("vault: nothing given could open it", "give a passphrase_file")

    def _open_vault(self) -> Vault:
        text, iv = read_opening(self.fs, self.root, self._config is None)
        where = joined(self.root, CONFIGURATION)
        if text is None:
            where = path_here("config", os.fspath(self._config or ""))
            with open(where, "rb") as file:
                text = file.read(MOST_CONFIGURATION_BYTES + 1)
        key = self._key(text, where)
        if not key.has_folder_ivs:
            iv = bytes(IV_BYTES)
        else:
            if isinstance(iv, FileNotFoundError):
                iv = b""
            if isinstance(iv, BaseException):
                raise iv
            iv = sound_iv(iv, self.root)
        proof = self._proof(key, StoredFolder(self.root, iv), where)
        return Vault(self.fs, self.root, key, iv, proof)

    def _proof(self, key: VaultKey, root: StoredFolder, configuration: str) -> KeyProof | None:
        source = ""
        if self._sources["master_key_file"] is not None:
            source = self._path("master_key_file")
        elif self._sources["master_key"] is not None:
            source = "master_key"
        if source:
            return KeyProof(self.fs, key, root, source, "master key")
        if self._config is not None:
            return KeyProof(self.fs, key, root, configuration, "configuration")
        return None

    def _key(self, configuration: bytes, name: str) -> VaultKey:
        how: Any = {"kernel": self._kernel, "name": name}
        master_key = returned(self._sources["master_key"])
        if self._sources["master_key_file"] is not None:
            master_key = _master_key_of(self._path("master_key_file"))
        if master_key is not None:
            try:
                return VaultKey.with_master_key(configuration, master_key, **how)
            finally:
                if self._sources["master_key_file"] is not None:
                    master_key[:] = bytes(len(master_key))
        if self._sources["passphrase_file"] is not None:
            passphrase: Passphrase | None = Passphrase.load(self._path("passphrase_file"))
        else:
            passphrase = passphrase_of(returned(self._sources["passphrase"]))
        if passphrase is None:
            raise UsageError("vault: the function that should return its key returned None")
        return VaultKey.open(
            configuration, passphrase, max_work_factor=self._max_work_factor, **how
        )

    # Names.

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget what is known of folders, and make the file system below forget its listings."""
        if self._opened is not None:
            self._opened.forget(self._strip_protocol(path or ""))
        self.fs.invalidate_cache()
        super().invalidate_cache(path)

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """List a folder, with the sizes of texts, which take no read."""
        path = self._strip_protocol(path)
        stored = self.vault.stored(path)
        try:
            entries = self.fs.ls(stored, detail=True, **options)
        except (FileNotFoundError, NotADirectoryError):
            raise self.vault.missing(path) from None
        if len(entries) == 1 and entries[0]["type"] != "directory" and entries[0]["name"] == stored:
            found = [self.vault.entry(path, entries[0])]
        else:
            found = self.vault.listed(path, entries, self._skip_damaged_names)
        found.sort(key=lambda entry: entry["name"])
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: str, **options: Any) -> Entry:
        """Return what the file system below says, with the length of the text as the size.

        `encrypted_size` is the stored length.
        """
        path = self._strip_protocol(path)
        stored = self.vault.stored(path)
        try:
            entry = self.fs.info(stored, **options)
        except (FileNotFoundError, NotADirectoryError):
            raise self.vault.missing(path) from None
        self.vault.prove_by_name(path)
        return self.vault.entry(path, entry)

    def exists(self, path: str, **options: Any) -> bool:
        """Return whether something has this path. What no file can have as a name has none."""
        _ = self.vault  # or says what keeps it from being opened
        try:
            self.info(path, **options)
        except (FileNotFoundError, UsageError):
            return False
        return True

    def created(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.created(self.vault.stored(self._strip_protocol(path)))

    def modified(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.modified(self.vault.stored(self._strip_protocol(path)))

    # Reading.

    def _fresh(self, paths: list[str]) -> list[Entry | Exception]:
        """Ask for files as they are now: a listing that the file system below kept may be older.

        Nothing at the end of a file tells that it was longer.
        """
        stored: list[str] = []
        found: list[Entry | Exception] = []

        async def ask() -> list[Any]:
            asked = [self.fs._info(one, **self._anew()) for one in stored]
            return await asyncio.gather(*asked, return_exceptions=True)

        places: list[int] = []
        for path in paths:
            try:
                stored.append(self.vault.stored(path))
                places.append(len(found))
                found.append(not_found(path))
            except Exception as error:
                found.append(error)
        if is_awaited(self.fs):
            answers = sync(self.fs.loop, ask)
        else:
            answers = []
            for one in stored:
                try:
                    answers.append(self.fs.info(one))
                except Exception as error:
                    answers.append(error)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, (FileNotFoundError, NotADirectoryError)):
                answer = self.vault.missing(paths[place])
            elif not isinstance(answer, BaseException):
                self.vault.prove_by_name(paths[place])
                answer = self._readable(paths[place], answer)
            found[place] = answer
        return found

    def _anew(self) -> dict[str, Any]:
        code = getattr(type(self.fs)._info, "__code__", None)
        takes = code is not None and "refresh" in code.co_varnames[: code.co_argcount]
        return {"refresh": True} if takes else {}

    @staticmethod
    def _readable(path: str, entry: Entry) -> Entry | Exception:
        if entry.get("islink"):
            return is_link(path)
        if entry["type"] == "directory":
            return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if entry["type"] != "file" or entry["size"] is None:
            return is_not_regular(path)
        return entry

    def _fresh_one(self, path: str) -> Entry:
        [found] = self._fresh([path])
        if isinstance(found, Exception):
            raise found
        return found

    def _stored_file(self, path: str, entry: Entry) -> StoredFile:
        stored = entry["name"]
        if isinstance(self.fs, LocalFileSystem):
            file = open_local(stored)
            try:
                return StoredFile.of(ranges_of(file), path, file.close)
            except BaseException:
                file.close()
                raise

        def fetch(ranges: list[Range]) -> list[bytes]:
            starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
            wanted = [stored] * len(ranges)
            return self.fs.cat_ranges(wanted, starts, ends, on_error="raise")  # type: ignore[no-any-return]

        return StoredFile(path, entry["size"], fetch)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> VaultReader | VaultWriter:
        path = self._strip_protocol(path)
        if mode == "wb":
            if block_size is not None:
                options["block_size"] = block_size
            return self._writer(path, options)
        if mode != "rb":
            raise ValueError(f"mode must be 'rb' or 'wb', not {mode!r}")
        entry = self._fresh_one(path)

        def look_again() -> StoredFile | None:
            now = self._fresh_one(path)
            return self._stored_file(path, now) if _differ(now, entry) else None

        return VaultReader(self.vault.key, self._stored_file(path, entry), look_again)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """Return the text of a file, or a range of it."""
        [text] = self.cat_ranges([path], start, end, on_error="raise")
        return text  # type: ignore[no-any-return]

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **_: Any) -> Any:
        """Return the texts of files, which are fetched side by side where that is possible."""
        paths = self.expand_path(path, recursive=recursive)
        if (
            len(paths) == 1
            and not isinstance(path, list)
            and paths[0] == self._strip_protocol(path)
        ):
            return self.cat_file(paths[0])
        texts = self.cat_ranges(paths, None, None, on_error="return")
        found = {}
        for one, text in zip(paths, texts, strict=True):
            if isinstance(text, IsADirectoryError) or on_error == "omit":
                if not isinstance(text, BaseException):
                    found[one] = text
                continue
            if isinstance(text, BaseException) and on_error == "raise":
                raise text
            found[one] = text
        return found

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        """Return ranges of files: their lengths in one go, and then what they touch in another.

        No gap between ranges is read, and a file's header once.
        """
        by_path: dict[str, list[Any]] = {}
        for path, ranges in ranges_by_path(paths, starts, ends).items():
            by_path.setdefault(self._strip_protocol(path), []).extend(ranges)
        entries = dict(zip(by_path, self._fresh(list(by_path)), strict=True))
        found = self._texts(by_path, entries)
        # A file that was replaced since its length was asked for is read once more.
        failed = [
            path
            for path, ranges in by_path.items()
            if not isinstance(entries[path], Exception)
            and any(isinstance(found[place], Exception) for place, _, _ in ranges)
        ]
        if failed:
            fresh = dict(zip(failed, self._fresh(failed), strict=True))
            changed = {
                path: by_path[path]
                for path, entry in fresh.items()
                if isinstance(entry, Exception) or _differ(entry, entries[path])  # type: ignore[arg-type]
            }
            found.update(self._texts(changed, fresh))
        texts = [found[place] for place in range(len(paths))]
        for text in texts:
            if isinstance(text, BaseException) and on_error != "return":
                raise text
        return texts

    def _texts(
        self, by_path: dict[str, list[Any]], entries: dict[str, Entry | Exception]
    ) -> dict[int, Any]:
        """Return ranges of files, or what kept each from being read, by their places."""
        found: dict[int, Any] = {}
        plan = RangePlan(self.vault.key)
        for path, ranges in by_path.items():
            entry = entries[path]
            for place, start, end in ranges:
                if isinstance(entry, Exception):
                    found[place] = entry
                else:
                    plan.add(place, path, entry, start, end)
        got: list[Any] = []
        if plan.ranges:
            names, begins, untils = (list(column) for column in zip(*plan.ranges, strict=True))
            got = self.fs.cat_ranges(names, begins, untils, on_error="return")
        found.update(plan.texts(got))
        return found
