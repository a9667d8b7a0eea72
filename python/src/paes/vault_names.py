# SPDX-License-Identifier: Apache-2.0
"""An open vault on any file system: where it stores what has a path, and what a listing means."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from fsspec.implementations.local import LocalFileSystem

from paes._paes import VaultKey
from paes.errors import CorruptError, FailureError, UsageError
from paes.sources import ProcessLock

CONFIGURATION = "gocryptfs.conf"
FOLDER_IV = "gocryptfs.diriv"
LONG_NAME_SUFFIX = ".name"
IV_BYTES = 16
HEADER_BYTES = 18
# A file that should be short is never read further.
MOST_CONFIGURATION_BYTES = 64 << 10
MOST_ENCODED_BYTES = 344

Entry: TypeAlias = "dict[str, Any]"
# Takes the listing of a root, or lists it, and returns whether that proves a key.
Proof: TypeAlias = "Callable[[list[Entry] | None], bool]"


class StoredFolder(NamedTuple):
    """A folder of the vault: where it is stored, and what its names are encrypted under."""

    path: str
    iv: bytes


def joined(folder: str, name: str) -> str:
    """Return the path of what has this name in a folder."""
    return f"{folder}/{name}" if folder else name


def parted(path: str) -> tuple[str, str]:
    """Return a path's folder and name."""
    folder, _, name = path.rpartition("/")
    return folder, name


def not_found(path: str) -> FileNotFoundError:
    """Return what tells that nothing has this path."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def is_link(path: str) -> UsageError:
    """Return what tells that nobody follows a symbolic link."""
    return UsageError(f"{path}: is a symbolic link, and none is followed")


def is_not_regular(path: str) -> UsageError:
    """Return what tells that only regular files are read."""
    return UsageError(f"{path}: is not a regular file")


def open_local(path: str) -> io.FileIO:
    """Open a regular file of this machine. A pipe would make the reader wait for ever."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise is_link(path) if error.errno == errno.ELOOP else error from None
    file = io.FileIO(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise is_not_regular(path)
    return file


def read_short(fs: Any, paths: list[str], most: int) -> list[Any]:
    """Return files that should be short, or what kept each of them from being read.

    Of a longer one, `most` + 1 bytes are read.
    """
    if not isinstance(fs, LocalFileSystem):
        ends = [most + 1] * len(paths)
        return fs.cat_ranges(paths, [0] * len(paths), ends, on_error="return")  # type: ignore[no-any-return]
    found: list[Any] = []
    for path in paths:
        try:
            with open_local(path) as file:
                found.append(file.read(most + 1))
        except Exception as error:
            found.append(error)
    return found


def sound_iv(iv: Any, where: str) -> bytes:
    """Return what a gocryptfs.diriv holds, or raise CorruptError."""
    if len(iv) != IV_BYTES:
        why = "short" if len(iv) < IV_BYTES else "long"
        raise CorruptError(f"{where}: {FOLDER_IV} is too {why}")
    if not any(iv):
        raise CorruptError(f"{where}: {FOLDER_IV} is all zero")
    return bytes(iv)


class Vault:
    """The keys of a vault and where it is. The IVs of folders are kept once they have been read."""

    # More folders than that are forgotten, the oldest first.
    KEPT = 1 << 16

    def __init__(
        self, fs: Any, root: str, key: VaultKey, root_iv: bytes, proof: Proof | None = None
    ) -> None:
        """Take the file system below, the vault's path there, and the IV of its root.

        `proof` is there if the key may be another vault's.
        """
        self.fs = fs
        self.root = StoredFolder(root, root_iv)
        self.key = key
        # Whether another vault has taken this one's place.
        self.is_gone = False
        self._lock = ProcessLock()
        self._folders: dict[str, StoredFolder] = {}
        self._proof = proof

    # The key.

    def prove(self, entries: list[Entry] | None = None, *, is_change: bool = False) -> None:
        """Raise WrongKeyError if the key is known to be another vault's.

        It lists the root unless `entries` are that, and mostly does so once. A change that was let
        through is the last thing to be asked about.
        """
        if self._proof is not None and (self._proof(entries) or is_change):
            self._proof = None

    def prove_by_name(self, path: str) -> None:
        """Take what is stored under a path's name as a proof: no other key makes that name."""
        if path and not self.key.has_plain_names:
            self._proof = None

    def missing(self, path: str) -> FileNotFoundError:
        """Return what tells that nothing has this path, unless the key is why."""
        if not self.key.has_plain_names:
            self.prove()
        return not_found(path)

    # Paths.

    def folder(self, path: str) -> StoredFolder:
        """Return the folder of a path. Each folder above it that is not kept takes one read."""
        if not path:
            return self.root
        found = self._folders.get(path)
        if found is None:
            stored = self.stored(path)
            found = StoredFolder(stored, self.read_iv(stored, path))
            if self.key.has_folder_ivs:
                self.prove_by_name(path)
            self.keep(path, found)
        return found

    def folder_now(self, path: str) -> StoredFolder:
        """Return the folder of a path as it is now, which takes one read.

        Others may have made it anew since its IV was read. A name under the old one would be lost.
        """
        folder = self.folder(path)
        try:
            iv = self.read_iv(folder.path, path)
        except FileNotFoundError:
            iv = b""
        if iv == folder.iv:
            return folder
        self.forget()
        if path:
            return self.folder(path)
        self.is_gone = True
        raise FailureError(f"{folder.path}: another vault has taken its place", "open it anew")

    def keep(self, path: str, folder: StoredFolder) -> None:
        """Remember where a folder is stored."""
        with self._lock.here():
            self._folders[path] = folder
            while len(self._folders) > self.KEPT:
                del self._folders[next(iter(self._folders))]

    def forget(self, path: str = "") -> None:
        """Forget a folder and all below it."""
        with self._lock.here():
            self._folders = {
                kept: folder
                for kept, folder in self._folders.items()
                if path and kept != path and not kept.startswith(path + "/")
            }

    def read_iv(self, stored: str, path: str) -> bytes:
        """Read the IV of the folder that is stored there, whose path is for messages."""
        if path and isinstance(self.fs, LocalFileSystem) and os.path.islink(stored):
            raise is_link(path)
        if not self.key.has_folder_ivs:
            return bytes(IV_BYTES)
        [iv] = read_short(self.fs, [joined(stored, FOLDER_IV)], IV_BYTES)
        if isinstance(iv, (FileNotFoundError, NotADirectoryError)):
            if self.fs.isdir(stored):
                raise CorruptError(f"{path or 'the vault'}: {FOLDER_IV} is missing")
            raise self.missing(path)
        if isinstance(iv, BaseException):
            raise iv
        return sound_iv(iv, path or "the vault")

    def names(self, path: str, *, now: bool = False) -> tuple[StoredFolder, str, bytes]:
        """Return a path's folder, its stored name, and of a long name the encoded one.

        With `now`, the folder is looked at again.
        """
        above, name = parted(path)
        folder = self.folder_now(above) if now else self.folder(above)
        stored, encoded = self.key.stored_name(os.fsencode(name), folder.iv, not above)
        return folder, os.fsdecode(stored), encoded

    def is_empty(self, path: str) -> bool:
        """Return whether nothing is stored in a folder, whether or not its name can be read."""
        stored = self.stored(path)
        self.fs.invalidate_cache(stored)
        names = [parted(name.rstrip("/"))[1] for name in self.fs.ls(stored, detail=False)]
        kinds = {self.key.kind_of(os.fsencode(name), not path) for name in names}
        own = parted(stored)[1]  # stores have files that stand for folders
        return own not in names and not kinds & {"name", "long_name"}

    def stored(self, path: str) -> str:
        """Return where something is or would be stored."""
        if not path:
            return self.root.path
        folder, stored, _ = self.names(path)
        return joined(folder.path, stored)

    # Listings.

    def entry(self, path: str, stored: Entry) -> Entry:
        """Return an entry of the file system below as one of the vault."""
        found = {
            name: value for name, value in stored.items() if name not in ("Key", "destination")
        }
        found["name"] = path
        if stored.get("islink"):
            found.update(type="other", size=0)
        elif stored.get("type") == "file":
            size = stored["size"]
            found["encrypted_size"] = size
            found["size"] = None if size is None else self.key.text_bytes(size)
        return found

    def listed(self, path: str, entries: Iterable[Entry], skip_damaged: bool) -> list[Entry]:
        """Return what a folder has, from what is stored there. The names of long ones are read."""
        folder = self.folder(path)
        entries = list(entries)
        if not path and not self.key.has_plain_names:
            self.prove(entries)
        found: list[Entry] = []
        short: list[tuple[str, Entry]] = []
        long: list[tuple[str, Entry]] = []
        for entry in entries:
            stored = entry["name"].rstrip("/")
            if stored == folder.path:
                continue  # stores have files that stand for folders
            name = stored.rpartition("/")[2]
            kind = self.key.kind_of(os.fsencode(name), not path)
            if kind == "name":
                short.append((name, entry))
            elif kind == "long_name":
                long.append((name, entry))
        decrypted = [
            (name, entry, self._name_of(name, folder)) for name, entry in short
        ] + self._long_names(folder, long)
        for name, entry, plain in decrypted:
            if isinstance(plain, CorruptError):
                if skip_damaged:
                    continue
                why = str(plain.args[0]).removeprefix("name: ")
                raise CorruptError(
                    f"{joined(path, name)}: {why}", "skip_damaged_names leaves it out"
                ) from None
            if plain is not None:
                found.append(self.entry(joined(path, os.fsdecode(plain)), entry))
        return found

    def _name_of(self, stored: str, folder: StoredFolder) -> bytes | CorruptError:
        try:
            return self.key.name_of(os.fsencode(stored), folder.iv)
        except CorruptError as error:
            return error

    def _long_names(
        self, folder: StoredFolder, entries: list[tuple[str, Entry]]
    ) -> list[tuple[str, Entry, bytes | CorruptError | None]]:
        # All are asked for at once, which a file system that awaits answers side by side.
        if not entries:
            return []
        paths = [joined(folder.path, name + LONG_NAME_SUFFIX) for name, _ in entries]
        read = read_short(self.fs, paths, MOST_ENCODED_BYTES)
        found: list[tuple[str, Entry, bytes | CorruptError | None]] = []
        for (name, entry), encoded in zip(entries, read, strict=True):
            plain: bytes | CorruptError
            if isinstance(encoded, FileNotFoundError):
                plain = CorruptError("the file of its long name is missing")
            elif isinstance(encoded, BaseException):
                raise encoded
            elif len(encoded) > MOST_ENCODED_BYTES:
                plain = CorruptError("the file of its long name is too long")
            else:
                try:
                    plain = self.key.name_of_long(os.fsencode(name), bytes(encoded), folder.iv)
                except CorruptError as error:
                    plain = error
            found.append((name, entry, plain))
        return found


def read_opening(fs: Any, root: str, reads_configuration: bool) -> tuple[bytes | None, Any]:
    """Return the configuration and the root's gocryptfs.diriv, or what kept it from being read."""
    names = [FOLDER_IV, CONFIGURATION] if reads_configuration else [FOLDER_IV]
    read = read_short(fs, [joined(root, name) for name in names], MOST_CONFIGURATION_BYTES)
    if not reads_configuration:
        return None, read[0]
    if isinstance(read[1], (FileNotFoundError, NotADirectoryError)):
        raise FailureError(f"{root}: is not a vault: there is no {CONFIGURATION} in it")
    if isinstance(read[1], BaseException):
        raise read[1]
    return bytes(read[1]), read[0]
