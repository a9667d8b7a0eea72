# SPDX-License-Identifier: Apache-2.0
# The container as its description reads, made and taken apart without paes: header, age envelope,
# zero bytes, and a C2SP chunked-encryption v1 (Cobblestone) payload by PyPI cryptography.
import os
import struct
from dataclasses import dataclass

from cryptography import cobblestone

MAGIC = b"\x89PAES\r\n\x1a"
VERSION = 1
HEADER_BYTES = 16
CONTEXT_BYTES = 10
PAGE_BYTES = 4096
SPARE_BYTES = 1024
SALT_BYTES = 24
COMMITMENT_BYTES = 32
PREFIX_BYTES = SALT_BYTES + COMMITMENT_BYTES
TEXT_BYTES = 16384
TAG_BYTES = 16
CHUNK_BYTES = TEXT_BYTES + TAG_BYTES

SUITES = {"aes-128-gcm": 1, "aes-256-gcm": 2}
KEY_BYTES = {1: 16, 2: 32}
ENCRYPTORS = {1: cobblestone.Cobblestone128Encryptor, 2: cobblestone.Cobblestone256Encryptor}
DECRYPTORS = {1: cobblestone.Cobblestone128Decryptor, 2: cobblestone.Cobblestone256Decryptor}


def header(suite, page, envelope_bytes, version=VERSION):
    return MAGIC + struct.pack(">BBHI", version, suite, page, envelope_bytes)


def payload_page(envelope_bytes):
    """The smallest k that leaves SPARE_BYTES behind the envelope."""
    used = HEADER_BYTES + envelope_bytes + SPARE_BYTES + PREFIX_BYTES
    return -(-used // PAGE_BYTES)


@dataclass
class Preamble:
    suite: int
    page: int
    envelope: bytes
    context: bytes

    @property
    def payload_offset(self):
        return self.page * PAGE_BYTES - PREFIX_BYTES


def read_preamble(file):
    """Reads up to the payload from an open file, checking everything on the way."""
    start = file.read(HEADER_BYTES)
    assert start[:8] == MAGIC
    version, suite, page, envelope_bytes = struct.unpack(">BBHI", start[8:])
    assert version == VERSION
    assert suite in KEY_BYTES
    envelope = file.read(envelope_bytes)
    assert len(envelope) == envelope_bytes
    padding = file.read(page * PAGE_BYTES - PREFIX_BYTES - HEADER_BYTES - envelope_bytes)
    assert len(padding) >= SPARE_BYTES or page != payload_page(envelope_bytes)
    assert not any(padding)
    return Preamble(suite, page, envelope, start[:CONTEXT_BYTES])


def drawn(path, open_envelope):
    """What is drawn at random for a file alone: its input key and its salt."""
    with open(path, "rb") as file:
        key = open_envelope(read_preamble(file).envelope)
        return key, file.read(SALT_BYTES)


def preamble(suite, envelope, page=None):
    page = page or payload_page(len(envelope))
    start = header(suite, page, len(envelope)) + envelope
    return start.ljust(page * PAGE_BYTES - PREFIX_BYTES, b"\0")


def context(suite):
    return header(suite, 0, 0)[:CONTEXT_BYTES]


def seal_payload(suite, key, text):
    encryptor = ENCRYPTORS[suite](key, context(suite))
    return encryptor.update(text) + encryptor.finalize()


def open_payload(suite, key, payload):
    decryptor = DECRYPTORS[suite](key, context(suite))
    return decryptor.update(payload) + decryptor.finalize()


def make(suite, text, seal_envelope, key=None):
    """A whole container; `seal_envelope` makes the envelope around the input key."""
    key = key or os.urandom(KEY_BYTES[suite])
    return preamble(suite, seal_envelope(key)) + seal_payload(suite, key, text)


def chunk_offset(number, page=1):
    return page * PAGE_BYTES + number * CHUNK_BYTES


def size(text_bytes, page=1):
    return page * PAGE_BYTES + text_bytes + (text_bytes // TEXT_BYTES + 1) * TAG_BYTES
