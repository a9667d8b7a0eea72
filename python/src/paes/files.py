# SPDX-License-Identifier: Apache-2.0
"""Whole files: what the program's subcommands do, as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from paes import _paes
from paes._paes import CobblestoneKey, Identity, Recipient
from paes.errors import UsageError
from paes.keys import (
    Identities,
    PassphraseLike,
    Recipients,
    open_with,
    recipients_of,
    seal_for,
)
from paes.sources import Path, ReadSource, reading

Progress: TypeAlias = Callable[[int, int], object]


@dataclass(frozen=True)
class Verification:
    """The result of verify_file. True if the file is authentic.

    `damaged` lists the ranges of bytes [first, end) of the text that are damaged or forged: at most
    100, in order. `more_damaged_chunks` counts the damaged chunks beyond those.
    """

    is_authentic: bool
    text_bytes: int
    damaged: list[tuple[int, int]]
    more_damaged_chunks: int

    def __bool__(self) -> bool:
        """Whether the file is authentic."""
        return self.is_authentic


@dataclass(frozen=True)
class Stanza:
    """A way to open an envelope: "X25519" by an identity, "scrypt" by a passphrase.

    The names are those of age-encryption.org/v1. `work_factor` is log2 N of scrypt (RFC 7914), and
    0 for other types.
    """

    type: str
    work_factor: int


@dataclass(frozen=True)
class FileInfo:
    """What a file says about itself without a key. None of it is authenticated.

    `key_bits`, 128 or 256, is the length of AES's key. `payload_offset` is the byte at which the
    payload begins, after the envelope. `stanzas` has one for each way to open the file.
    """

    key_bits: int
    text_bytes: int
    payload_offset: int
    stanzas: list[Stanza]


def encrypt_file(
    source: ReadSource,
    to: Path,
    *,
    recipients: Recipients = None,
    passphrase: PassphraseLike = None,
    key: CobblestoneKey | None = None,
    key_bits: int = 256,
    threads: int = 0,
    kernel: str = "auto",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Encrypt a file into a new one, which gets its name once it is complete and synced.

    `source` is a path, or a file object with `seek` and `read`. Give exactly one of `recipients`
    (public keys of age or SSH), `passphrase` and `key`. `key_bits`, 128 or 256, is the length of
    AES's key in the file. `threads` 0 means every processor. `kernel` is a name that `paes devices`
    lists as available, or auto. `progress` is called in this thread with the bytes done and their
    total (0: not known). Ctrl-C, and an exception from `progress`, end the work and leave nothing
    behind. The last call of `progress` comes when the work is done, and its exception undoes
    nothing.

    Returns the bytes of text. Raises UsageError, or FailureError if something has the name `to` and
    `overwrite` is false, or if the system fails. A UserWarning says what may go wrong, or what is
    wrong with a complete file, such as its permissions.
    """
    wanted = seal_for(recipients, passphrase, key, key_bits)
    return _paes.encrypt_file(reading(source), to, wanted, threads, kernel, overwrite, progress)


def decrypt_file(
    source: ReadSource,
    to: Path,
    *,
    identity: Identities = None,
    passphrase: PassphraseLike = None,
    key: CobblestoneKey | None = None,
    max_work_factor: int = 20,
    threads: int = 0,
    kernel: str = "auto",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Decrypt a file into a new one, which gets its name once all of it is authentic and synced.

    `identity` is an Identity, the path of a file of them, or several of either. A passphrase that
    would cost more than scrypt with N = 2**max_work_factor is refused. The other arguments are
    those of encrypt_file.

    Returns the bytes of text. Raises what encrypt_file does, WrongKeyError, and CorruptError if the
    file is damaged.
    """
    given = open_with(identity, passphrase, key, max_work_factor)
    return _paes.decrypt_file(reading(source), to, given, threads, kernel, overwrite, progress)


def verify_file(
    source: ReadSource,
    *,
    identity: Identities = None,
    passphrase: PassphraseLike = None,
    key: CobblestoneKey | None = None,
    max_work_factor: int = 20,
    threads: int = 0,
    kernel: str = "auto",
    progress: Progress | None = None,
) -> Verification:
    """Authenticate all of a file, and continue after damage.

    The arguments are those of decrypt_file. Raises UsageError, FailureError and WrongKeyError, and
    CorruptError if it cannot begin.
    """
    given = open_with(identity, passphrase, key, max_work_factor)
    return Verification(*_paes.verify_file(reading(source), given, threads, kernel, progress))


def inspect(source: ReadSource) -> FileInfo:
    """Tell what a file says about itself without a key.

    Raises CorruptError if it is not a file of paes or age, UsageError for a pipe and for an armored
    file, and FailureError if it cannot be read.
    """
    key_bits, text_bytes, payload_offset, stanzas = _paes.inspect_file(reading(source))
    return FileInfo(key_bits, text_bytes, payload_offset, [Stanza(*stanza) for stanza in stanzas])


def rekey(
    path: Path,
    *,
    identity: Identities = None,
    passphrase: PassphraseLike = None,
    recipients: Recipients = None,
    new_passphrase: PassphraseLike = None,
    add: Recipients = None,
    remove: Iterable[int] = (),
    max_work_factor: int = 20,
) -> int:
    """Change who can open a file, without touching its text.

    A container changes in place. A file of age is written anew beside the old one, with the same
    payload, and replaces it.

    `identity` or `passphrase` opens it now. `recipients` or `new_passphrase` replaces everyone who
    can open it; `add` and `remove` change some of them. `remove` has their positions in
    inspect(path).stanzas. Whoever has read the file before may have kept its key.

    Returns how many recipients the file has now. Raises UsageError, WrongKeyError, CorruptError,
    and FailureError if there is too little room in the file.
    """
    given = open_with(identity, passphrase, None, max_work_factor)
    added, removed = recipients_of(add), list(remove)
    if not added and not removed:
        wanted = seal_for(recipients, new_passphrase, None, 256)
        return _paes.rekey_file(path, given, wanted)
    if recipients is not None or new_passphrase is not None:
        raise UsageError("recipients: new ones replace all, so there is none to add or remove")
    return _paes.change_recipients(path, given, added, removed)


def keygen(path: Path) -> Recipient:
    """Write a new secret key to a new file, which only its owner can read.

    Returns its public key. Raises FailureError if something has that name, or if the file system
    keeps no permissions.
    """
    identity = Identity.generate()
    identity.save(path)
    return identity.recipient
