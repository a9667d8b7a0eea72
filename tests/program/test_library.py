# SPDX-License-Identifier: Apache-2.0
# libpaes.so as another language meets it, through the C interface: payloads under a key of the
# caller's own, against PyPI cryptography's Cobblestone classes, and files against the program.
import ctypes
import os

import container
import pytest
from program import succeed

pytestmark = pytest.mark.skipif(
    not os.environ.get("PAES_LIBRARY"), reason="this build has no shared library"
)

SIZES = [0, 1, 16383, 16384, 16385, 100_000, (4 << 20) + 1]
CONTEXT = b"volume 7, object 12"


@pytest.fixture(scope="module")
def library():
    loaded = ctypes.CDLL(os.environ["PAES_LIBRARY"])
    loaded.paes_error_message.restype = ctypes.c_char_p
    loaded.paes_reader_size.restype = ctypes.c_uint64
    return loaded


def call(library, name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        raise RuntimeError(f"{name}: {library.paes_error_message().decode()}")


def make(library, name, *arguments):
    """The handle that a call makes as its last argument."""
    handle = ctypes.c_void_p()
    call(library, name, *arguments, ctypes.byref(handle))
    return handle


def own_key(library, kind, key, context=CONTEXT):
    handle = make(library, f"paes_{kind}_new")
    call(library, f"paes_{kind}_set_key", handle, key, ctypes.c_size_t(len(key)), context,
         ctypes.c_size_t(len(context)))
    return handle


def write(library, path, seal_for, text):
    writer = make(library, "paes_writer_create", os.fsencode(path), seal_for, None)
    call(library, "paes_writer_write", writer, text, ctypes.c_size_t(len(text)))
    call(library, "paes_writer_commit", writer, None)
    library.paes_writer_free(writer)


def read(library, path, open_with):
    source = make(library, "paes_source_open", os.fsencode(path))
    reader = make(library, "paes_reader_open", source, open_with, None)
    text = ctypes.create_string_buffer(library.paes_reader_size(reader) + 1)
    got = ctypes.c_size_t()
    call(library, "paes_reader_read_at", reader, ctypes.c_uint64(0), text,
         ctypes.c_size_t(len(text)), ctypes.byref(got))
    library.paes_reader_close(reader)
    return text.raw[: got.value]


@pytest.mark.parametrize("suite", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_a_payload_of_the_library_is_cobblestone(library, folder, suite, size):
    key, text = os.urandom(container.KEY_BYTES[suite]), os.urandom(size)
    write(library, folder / "object", own_key(library, "seal_for", key), text)
    sealed = (folder / "object").read_bytes()
    decryptor = container.DECRYPTORS[suite](key, CONTEXT)
    assert decryptor.update(sealed) + decryptor.finalize() == text


@pytest.mark.parametrize("suite", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_the_library_reads_a_cobblestone_payload(library, folder, suite, size):
    key, text = os.urandom(container.KEY_BYTES[suite]), os.urandom(size)
    encryptor = container.ENCRYPTORS[suite](key, CONTEXT)
    (folder / "object").write_bytes(encryptor.update(text) + encryptor.finalize())
    assert read(library, folder / "object", own_key(library, "open_with", key)) == text
    with pytest.raises(RuntimeError, match="key or context"):
        read(library, folder / "object", own_key(library, "open_with", key, b"another context"))


def test_library_and_program_read_each_other(library, keys, random_bytes, folder):
    text = random_bytes(1_000_000)
    seal_for = make(library, "paes_seal_for_new")
    call(library, "paes_seal_for_add_recipient", seal_for, keys.recipient.encode())
    write(library, folder / "ours.paes", seal_for, text)
    assert succeed("decrypt", "-i", keys.path, "-o", "-", folder / "ours.paes").out == text

    its = succeed("encrypt", "-r", keys.recipient, stdin=text).out
    (folder / "its.paes").write_bytes(its)
    open_with = make(library, "paes_open_with_new")
    call(library, "paes_open_with_add_identity_file", open_with, os.fsencode(keys.path))
    assert read(library, folder / "its.paes", open_with) == text


@pytest.mark.parametrize("bits", [128, 256])
def test_library_and_program_share_an_own_key(library, random_bytes, folder, bits):
    key, text = os.urandom(bits // 8), random_bytes(1_000_000)
    (folder / "key").write_bytes(key)
    own = ["--key-file", folder / "key", "--key-context", CONTEXT.decode()]
    write(library, folder / "ours.cobblestone", own_key(library, "seal_for", key), text)
    assert succeed("decrypt", *own, "-o", "-", folder / "ours.cobblestone").out == text
    (folder / "its.cobblestone").write_bytes(succeed("encrypt", *own, stdin=text).out)
    assert read(library, folder / "its.cobblestone", own_key(library, "open_with", key)) == text
