# SPDX-License-Identifier: Apache-2.0
"""Cobblestone streams (C2SP chunked-encryption v1), a replacement for cryptography.cobblestone."""

from paes._paes import (
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
)

__all__ = [
    "Cobblestone128Decryptor",
    "Cobblestone128Encryptor",
    "Cobblestone256Decryptor",
    "Cobblestone256Encryptor",
]
