"""Encrypted files on any file system of fsspec that reads ranges.

Such as `fsspec.open("paes::s3://bucket/key", paes={"identity": "key.txt"})`.
"""

from __future__ import annotations

import contextlib
from typing import Any

import fsspec
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.implementations.local import LocalFileSystem

from paes.files import inspect
from paes.keys import open_with, seal_for
from paes.streams import EncryptedReader, EncryptedWriter


class _Reader(EncryptedReader):
    """A reader that owns the file below."""

    def __init__(self, inner: Any, *arguments: Any, **options: Any) -> None:
        self._inner = inner
        try:
            super().__init__(inner, *arguments, **options)
        except BaseException:
            inner.close()
            raise

    def close(self) -> None:
        super().close()
        self._inner.close()


class _Target:
    """A file of a file system that is opened for its first byte.

    So a writer that is refused, for want of a key, has not emptied an old file.
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
        # What was written stays with the file system, unless that can discard it. What cannot may
        # say so by RuntimeError.
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
        """Stand on `fs`, or on the file system of `target_protocol`."""
        super().__init__(**options)
        self.fs = fs or fsspec.filesystem(target_protocol or "file", **(target_options or {}))
        self._identity = identity
        self._recipients = recipients
        self._passphrase = passphrase
        self._key = key
        self._key_bits = key_bits
        self._max_work_factor = max_work_factor
        self._how: dict[str, Any] = {"threads": threads, "kernel": kernel}

    @property
    def transaction(self) -> Any:
        """That of the file system below."""
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
            return _Reader(self.fs.open(path, "rb"), given, **self._how)
        if mode == "wb":
            wanted = seal_for(self._recipients, self._passphrase, self._key, self._key_bits)
            # fsspec cannot take a local file back, and paes can. Files of a transaction are
            # fsspec's.
            if isinstance(self.fs, LocalFileSystem) and not self.fs._intrans:
                return EncryptedWriter(self._local_path(path), wanted, overwrite=True, **self._how)
            return _Writer(_Target(self.fs, path), wanted, **self._how)
        raise ValueError(f"mode must be 'rb' or 'wb', not {mode!r}")

    def _local_path(self, path: str) -> str:
        local: str = self.fs._strip_protocol(path)
        if self.fs.auto_mkdir:
            self.fs.makedirs(self.fs._parent(local), exist_ok=True)
        return local

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Tell what the file system below says, with the length of the text as the size."""
        found = dict(self.fs.info(path, **options))
        if found["type"] == "file":
            found["encrypted_size"] = found["size"]
            with self.fs.open(path, "rb") as file:
                found["size"] = inspect(file).text_bytes
        return found

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """List a directory. Sizes are None, because each takes a read; `info` has them."""
        entries = self.fs.ls(path, detail=True, **options)
        if not detail:
            return [entry["name"] for entry in entries]
        return [
            {**entry, "encrypted_size": entry["size"], "size": None}
            if entry["type"] == "file"
            else entry
            for entry in entries
        ]

    def created(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.created(path)

    def modified(self, path: str) -> Any:
        """Ask the file system below."""
        return self.fs.modified(path)

    def exists(self, path: str, **options: Any) -> bool:
        """Ask the file system below."""
        return bool(self.fs.exists(path, **options))

    def isfile(self, path: str) -> bool:
        """Ask the file system below, of which a file may be no encrypted one."""
        return bool(self.fs.isfile(path))

    def isdir(self, path: str) -> bool:
        """Ask the file system below."""
        return bool(self.fs.isdir(path))

    def _rm(self, path: str) -> None:
        self.fs.rm_file(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Ask the file system below."""
        self.fs.rm(path, recursive=recursive, maxdepth=maxdepth)

    def rmdir(self, path: str) -> None:
        """Ask the file system below."""
        self.fs.rmdir(path)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file as it is: who can open it can open the copy."""
        self.fs.cp_file(path1, path2, **options)

    def mv(self, path1: Any, path2: Any, **options: Any) -> None:
        """Ask the file system below."""
        self.fs.mv(path1, path2, **options)

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Ask the file system below."""
        self.fs.mkdir(path, create_parents=create_parents, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Ask the file system below."""
        self.fs.makedirs(path, exist_ok=exist_ok)
