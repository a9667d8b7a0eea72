# SPDX-License-Identifier: Apache-2.0
"""Authenticated, seekable, parallel encryption of large data, with libpaes.

    paes.encrypt_file("disk.img", "disk.img.paes", recipients=["age1..."])
    with paes.open("disk.img.paes", identity="key.txt") as disk:
        disk.seek(4096)
        block = disk.read(4096)

Files are compatible with `paes encrypt`; keys are age's.
"""

from paes._paes import (
    AESGCM,
    Cipher,
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
    CobblestoneKey,
    Identity,
    Keystream,
    KeystreamContext,
    KeystreamKey,
    Passphrase,
    Recipient,
    SealedContext,
)
from paes.errors import (
    AlreadyFinalized,
    AuthenticationError,
    CorruptError,
    Error,
    FailureError,
    UsageError,
    WrongKeyError,
)
from paes.files import (
    FileInfo,
    Stanza,
    Verification,
    decrypt_file,
    encrypt_file,
    inspect,
    keygen,
    rekey,
    verify_file,
)
from paes.streams import EncryptedReader, EncryptedWriter, open

__all__ = [
    "AESGCM",
    "AlreadyFinalized",
    "AuthenticationError",
    "Cipher",
    "Cobblestone128Decryptor",
    "Cobblestone128Encryptor",
    "Cobblestone256Decryptor",
    "Cobblestone256Encryptor",
    "CobblestoneKey",
    "CorruptError",
    "EncryptedReader",
    "EncryptedWriter",
    "Error",
    "FailureError",
    "FileInfo",
    "Identity",
    "Keystream",
    "KeystreamContext",
    "KeystreamKey",
    "Passphrase",
    "Recipient",
    "SealedContext",
    "Stanza",
    "UsageError",
    "Verification",
    "WrongKeyError",
    "decrypt_file",
    "encrypt_file",
    "inspect",
    "keygen",
    "open",
    "rekey",
    "verify_file",
]
