# SPDX-License-Identifier: Apache-2.0
# The independent age writer that the other tests build on, checked against the age program: what
# those tests conclude would be worth nothing if it wrote anything else than age v1.
import os

import age_file
import container
import pytest


@pytest.mark.parametrize("size", [0, 1, 16, 32, 65535, 65536, 65537, 200_000])
def test_age_opens_x25519(size, keys):
    text = os.urandom(size)
    assert age_file.age_decrypt(age_file.seal(text, [keys.recipient]), keys.path) == text


def test_age_opens_several_recipients_and_unknown_stanzas(keys, other_keys):
    grease = age_file.stanza([b"joint-grease", b"a~b"], bytes(100))
    full = age_file.stanza([b"full"], bytes(48))
    sealed = age_file.seal(
        b"hello", [keys.recipient, other_keys.recipient], more_stanzas=[grease, full]
    )
    for pair in (keys, other_keys):
        assert age_file.age_decrypt(sealed, pair.path) == b"hello"


def test_age_opens_scrypt(tmp_path):
    sealed = age_file.seal(b"hello", passphrase=b"open sesame", work_factor=12)
    assert age_file.age_decrypt_with_passphrase(sealed, b"open sesame", tmp_path) == b"hello"


def test_the_typed_passphrase_is_the_one_used(tmp_path):
    sealed = age_file.age_encrypt_with_passphrase(b"hello", b"open sesame", tmp_path)
    assert sealed.startswith(b"age-encryption.org/v1\n-> scrypt ")
    assert age_file.age_decrypt_with_passphrase(sealed, b"open sesame", tmp_path) == b"hello"


def test_offsets():
    """The arithmetic of the layout, by hand."""
    assert container.payload_page(4096 - 16 - 1024 - 56) == 1
    assert container.payload_page(4096 - 16 - 1024 - 56 + 1) == 2
    assert len(container.preamble(2, b"x" * 200)) == 4040
    assert container.size(0) == 4096 + 16
    assert container.size(16384) == 4096 + 16400 + 16
    assert container.chunk_offset(2) == 4096 + 2 * 16400
