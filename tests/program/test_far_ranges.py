# SPDX-License-Identifier: Apache-2.0
# Files as large as their formats or the file system allow: one chunk in the middle and the last one
# are real, everything else is a hole. So the numbers of chunks, which nonces are made of, are tried
# near their limits, and offsets beyond 1 TiB. A stream of Cobblestone has at most 2^38 chunks, which
# is 4 PiB; one of age is as long as an offset of the system allows.
import os
import struct
import tempfile
from pathlib import Path

import age_file
import container
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from program import CORRUPT, fail, succeed

MAX_CHUNKS = 1 << 38
TIB_IN_CHUNKS = (1 << 40) // container.TEXT_BYTES
AGE_TAG_BYTES = 16


@pytest.fixture
def vast():
    """A folder whose files may be as long as an offset: tmpfs does without blocks for holes."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as path:
        try:
            with open(Path(path) / "tried", "wb") as file:
                file.truncate((1 << 63) - 4096)
        except OSError as error:
            pytest.skip(f"no file system has files of 8 EiB: {error}")
        yield Path(path)


class Cobblestone:
    """C2SP chunked-encryption v1 of single chunks, on AES-GCM alone."""

    def __init__(self, suite):
        self.suite, self.key, self.salt = suite, os.urandom(container.KEY_BYTES[suite]), os.urandom(container.SALT_BYTES)
        size = len(self.key)
        info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_%d_GCM\0" % (8 * size) + self.salt + container.context(suite)
        derived = HKDFExpand(SHA512(), size + 44, info).derive(self.key)
        self.gcm, self.base, self.commitment = AESGCM(derived[:size]), int.from_bytes(derived[size:-32], "big"), derived[-32:]

    def seal(self, number, text):
        return self.gcm.encrypt((self.base ^ number).to_bytes(12, "big"), text, None)


def make_container(path, suite, recipient, chunks, real):
    """A container of so many chunks, of which those in `real` are there, and the last, which is short."""
    stream = Cobblestone(suite)
    preamble = container.preamble(suite, age_file.age_encrypt(stream.key, [recipient]))
    page = (len(preamble) + container.PREFIX_BYTES) // container.PAGE_BYTES
    texts = {number: os.urandom(container.TEXT_BYTES) for number in real} | {chunks - 1: b"the end"}
    with open(path, "wb") as file:
        file.write(preamble + stream.salt + stream.commitment)
        for number, text in texts.items():
            file.seek(container.chunk_offset(number, page))
            file.write(stream.seal(number, text))
    return texts


@pytest.mark.parametrize("chunks", [TIB_IN_CHUNKS + 3, (1 << 32) + 2, MAX_CHUNKS])
@pytest.mark.parametrize("suite", [1, 2])
def test_ranges_of_a_vast_container(suite, chunks, vast, keys):
    path = vast / "vast.paes"
    middle = chunks - 3
    texts = make_container(path, suite, keys.recipient, chunks, [0, middle, middle + 1])
    first = middle * container.TEXT_BYTES
    for begin, end in [(first, first + 99), (first + 16380, first + 16390), (first + 2 * container.TEXT_BYTES, first + 10**9), (5, 60)]:
        result = succeed("decrypt", "-i", keys.path, "--range", f"{begin}-{end}", "-o", "-", path)
        whole = texts[0] if begin < first else texts[middle] + texts[middle + 1] + texts[chunks - 1]
        start = begin if begin < first else begin - first
        assert result.out == whole[start : start + end - begin + 1], (begin, end)
    # A hole is no chunk.
    hole = f"{first - 10}-{first + 10}"
    fail("decrypt", "-i", keys.path, "--range", hole, "-o", "-", path, code=CORRUPT, says="forged")


def test_a_container_longer_than_a_stream_can_be(vast, keys):
    path = vast / "vast.paes"
    make_container(path, 2, keys.recipient, MAX_CHUNKS + 1, [0])
    fail("decrypt", "-i", keys.path, "--range", "0-9", "-o", "-", path, code=CORRUPT, says="truncated, or bytes were added")
    fail("verify", "-i", keys.path, path, code=CORRUPT, says="truncated, or bytes were added")


@pytest.mark.parametrize("chunks", [(1 << 40) // age_file.CHUNK_BYTES + 3, (1 << 32) + 2, ((1 << 63) - 8192) // (age_file.CHUNK_BYTES + AGE_TAG_BYTES) - 1])
def test_ranges_of_a_vast_file_of_age(chunks, vast, keys):
    path = vast / "vast.age"
    file_key, nonce = os.urandom(16), os.urandom(16)
    head = age_file.header(file_key, [age_file.x25519_stanza(file_key, keys.recipient)])
    payload = ChaCha20Poly1305(age_file.hkdf(file_key, nonce, b"payload"))
    middle = chunks - 3
    texts = {number: os.urandom(age_file.CHUNK_BYTES) for number in (0, middle, middle + 1)} | {chunks - 1: b"the end"}
    with open(path, "wb") as file:
        file.write(head + nonce)
        for number, text in texts.items():
            file.seek(len(head) + 16 + number * (age_file.CHUNK_BYTES + AGE_TAG_BYTES))
            file.write(payload.encrypt(number.to_bytes(11, "big") + struct.pack("?", number == chunks - 1), text, None))
    first = middle * age_file.CHUNK_BYTES
    for begin, end in [(first, first + 99), (first + 65530, first + 65540), (first + 2 * age_file.CHUNK_BYTES, first + 10**9)]:
        result = succeed("decrypt", "-i", keys.path, "--range", f"{begin}-{end}", "-o", "-", path)
        whole = texts[middle] + texts[middle + 1] + texts[chunks - 1]
        assert result.out == whole[begin - first : end - first + 1], (begin, end)
