# SPDX-License-Identifier: Apache-2.0
"""Exceptions: what they are, what they say, and what they never say."""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Seal
from varied import varied_bytes

import paes

Python = Callable[..., subprocess.CompletedProcess[str]]


class GpuArray:
    """What torch and cupy give: an object without a buffer, whose memory is a GPU's."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (16,), "typestr": "|u1", "data": (0x7000_0000, False), "version": 3}


@pytest.mark.parametrize(
    ("exception", "bases"),
    [
        (paes.UsageError, (paes.Error, ValueError)),
        (paes.FailureError, (paes.Error, OSError)),
        (paes.AuthenticationError, (paes.Error, ValueError)),
        (paes.WrongKeyError, (paes.AuthenticationError, paes.Error, ValueError)),
        (paes.CorruptError, (paes.AuthenticationError, paes.Error, ValueError)),
        (paes.AlreadyFinalized, (paes.UsageError, paes.Error, ValueError)),
    ],
)
def test_hierarchy(exception: type[paes.Error], bases: tuple[type, ...]) -> None:
    assert all(issubclass(exception, base) for base in bases)
    raised = exception("file: is damaged", "restore it")
    assert str(raised) == "file: is damaged (restore it)"
    assert raised.hint == "restore it"
    assert str(exception("file: is damaged")) == "file: is damaged"


def test_kinds_stay_apart() -> None:
    assert not issubclass(paes.CorruptError, paes.WrongKeyError)
    assert not issubclass(paes.WrongKeyError, paes.CorruptError)
    assert not issubclass(paes.UsageError, OSError)
    assert not issubclass(paes.AuthenticationError, OSError)


def test_exceptions_are_those_of_cryptography() -> None:
    exceptions = pytest.importorskip("cryptography.exceptions")
    sealed = bytearray(paes.AESGCM(bytes(16)).encrypt(bytes(12), b"text", None))
    sealed[0] ^= 1
    with pytest.raises(exceptions.InvalidTag):
        paes.AESGCM(bytes(16)).decrypt(bytes(12), sealed, None)
    encryptor = paes.Cobblestone128Encryptor(bytes(16), b"")
    stream = encryptor.update(b"text") + encryptor.finalize()
    for call in (lambda: encryptor.update(b""), encryptor.finalize):
        with pytest.raises(exceptions.AlreadyFinalized):
            call()
    decryptor = paes.Cobblestone128Decryptor(b"x" * 16, b"")
    with pytest.raises(exceptions.InvalidTag):
        decryptor.update(stream)
        decryptor.finalize()
    assert issubclass(paes.WrongKeyError, exceptions.InvalidTag)


WITHOUT_CRYPTOGRAPHY = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "cryptography":
            raise ImportError("blocked")
sys.meta_path.insert(0, Block())
import paes
try:
    paes.AESGCM(bytes(16)).decrypt(bytes(12), bytes(20), None)
except paes.CorruptError as error:
    print(type(error).__name__, isinstance(error, ValueError))
stream = paes.Cobblestone256Encryptor(bytes(32), b"")
stream.finalize()
try:
    stream.update(b"")
except paes.AlreadyFinalized as error:
    print(type(error).__name__, isinstance(error, ValueError))
print("cryptography" in sys.modules)
"""


def test_without_cryptography(python: Python) -> None:
    done = python(WITHOUT_CRYPTOGRAPHY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:3] == ["CorruptError True", "AlreadyFinalized True", "False"]


def messages_of(call: Callable[[], object]) -> str:
    with pytest.raises(Exception) as raised:
        call()
    texts = []
    error: BaseException | None = raised.value
    while error is not None:
        texts.append(f"{error!s} {error!r} {error.args!r}")
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def test_no_message_repeats_an_identity(folder: Path, key_file: Path, seal: Seal) -> None:
    sealed = seal(b"text")
    whole_file = key_file.read_text()
    secret = whole_file.split()[-1]
    damaged = secret[:-1] + ("Q" if secret[-1] != "Q" else "P")
    ssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nAGE-LIKE-SECRET-BODY\n"
    secret_part = secret[20:60]
    for given in (damaged, damaged.lower(), secret + "x", secret[:-10], f"# a line\n{damaged}\n"):
        for call in (
            lambda given=given: paes.open(sealed, identity=given),
            lambda given=given: paes.open(sealed, identity=[given]),
            lambda given=given: paes.Identity(given),
            lambda given=given: paes.Recipient(given),
            lambda given=given: paes.encrypt_file(sealed, folder / "out", recipients=given),
        ):
            assert secret_part.upper() not in messages_of(call).upper(), given
    assert "SECRET-BODY" not in messages_of(lambda: paes.open(sealed, identity=ssh))
    assert "hunter22" not in messages_of(lambda: paes.open(sealed, passphrase="hunter22"))


@pytest.mark.parametrize("around", ["{}", "{}\n", "  {}", "# public key: x\n{}\n"])
def test_text_of_an_identity_is_never_a_path(key_file: Path, seal: Seal, around: str) -> None:
    secret = key_file.read_text().split()[-1]
    sealed = seal(b"text")
    try:
        with paes.open(sealed, identity=around.format(secret)) as file:
            assert file.read() == b"text"
    except paes.UsageError as error:
        assert secret[20:60] not in str(error)


def test_no_object_shows_its_secret(key_file: Path, identity: paes.Identity) -> None:
    secret = key_file.read_text().split()[-1]
    key = b"0123456789abcdef"
    for thing in (
        identity,
        paes.Passphrase("hunter22"),
        paes.CobblestoneKey(key),
        paes.AESGCM(key),
        paes.Cipher("aes-128-ecb", key, b""),
    ):
        shown = f"{thing!r} {thing!s}"
        for hidden in (secret[20:], "hunter22", key.decode(), key.hex()):
            assert hidden not in shown


def takers_of_data(folder: Path, recipient: paes.Recipient) -> dict[str, Callable[[Any], object]]:
    key = bytes(16)
    keystream_engine = paes.Keystream()
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", key), bytes(16))
    sealed_context = keystream_engine.open_sealed(
        keystream_engine.bind("aes-128-gcm", b"k" * 16), bytes(12)
    )
    writer = paes.open(folder / "never", "wb", recipients=recipient)
    return {
        "AESGCM": paes.AESGCM,
        "AESGCM.encrypt": lambda x: paes.AESGCM(key).encrypt(bytes(12), x, None),
        "AESGCM.encrypt nonce": lambda x: paes.AESGCM(key).encrypt(x, b"", None),
        "AESGCM.encrypt aad": lambda x: paes.AESGCM(key).encrypt(bytes(12), b"", x),
        "AESGCM.decrypt": lambda x: paes.AESGCM(key).decrypt(bytes(12), x, None),
        "AESGCM.encrypt_into": lambda x: paes.AESGCM(key).encrypt_into(bytes(12), b"", None, x),
        "Cipher": lambda x: paes.Cipher("aes-128-ecb", x, b""),
        "Cipher.update": lambda x: paes.Cipher("aes-128-ecb", key, b"").update(x),
        "Cipher.update_into": lambda x: paes.Cipher("aes-128-ecb", key, b"").update_into(key, x),
        "Cobblestone": lambda x: paes.Cobblestone128Encryptor(x, b""),
        "Cobblestone.update": lambda x: paes.Cobblestone128Encryptor(key, b"").update(x),
        "Cobblestone.range": lambda x: paes.Cobblestone128Decryptor(key, b"").decrypt_range(
            x, 0, 1
        ),
        "CobblestoneKey": paes.CobblestoneKey,
        "KeystreamContext": lambda x: context.encrypt(0, x),
        "SealedContext": lambda x: sealed_context.seal(0, x),
        "SealedContext.open": lambda x: sealed_context.open(0, x),
        "SealedContext.seal_into": lambda x: sealed_context.seal_into(0, b"", b"", x),
        "SealedContext.open_into": lambda x: sealed_context.open_into(0, bytes(16), b"", x),
        "EncryptedWriter.write": writer.write,
    }


@pytest.mark.parametrize("thing", [GpuArray(), "text", 5, None, [1, 2]], ids=repr)
def test_wrong_types(folder: Path, recipient: paes.Recipient, thing: object) -> None:
    for name, take in takers_of_data(folder, recipient).items():
        if thing is None and name == "AESGCM.encrypt aad":
            continue  # there None means no bytes
        with pytest.raises(TypeError) as raised:
            take(thing)
        message = str(raised.value)
        if isinstance(thing, GpuArray):
            assert "GPU" in message, name
            assert "numpy" in message, name
        else:
            assert type(thing).__name__ in message, name


def test_buffers_that_cannot_be_used(folder: Path, seal: Seal, identity: paes.Identity) -> None:
    gaps = memoryview(bytes(64))[::2]
    with pytest.raises(TypeError, match="contiguous"):
        paes.AESGCM(bytes(16)).encrypt(bytes(12), gaps, None)
    with pytest.raises(TypeError, match="cannot be written"):
        paes.Cipher("aes-128-ecb", bytes(16), b"").update_into(bytes(16), bytes(16))
    with paes.open(seal(b"text"), identity=identity) as file:
        with pytest.raises(TypeError, match="cannot be written"):
            file.readinto(b"1234")  # type: ignore[arg-type]
        assert file.tell() == 0


def test_buffers_that_are_gone() -> None:
    released = memoryview(bytes(16))
    released.release()
    closed = mmap.mmap(-1, 16)
    closed.close()
    for gone in (released, closed):
        with pytest.raises(ValueError, match=r"released|closed"):
            paes.AESGCM(bytes(16)).encrypt(bytes(12), gone, None)


def test_buffers_that_share_a_part() -> None:
    keystream_engine = paes.Keystream()
    context = keystream_engine.open(
        keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16), limit_bytes=2**20
    )
    messages = keystream_engine.open_sealed(
        keystream_engine.bind("aes-128-gcm", b"k" * 16), bytes(12)
    )
    gcm = paes.AESGCM(bytes(16))
    memory = bytearray(100)
    view = memoryview(memory)
    for call in (
        lambda at: gcm.encrypt_into(bytes(12), view[at : at + 32], None, view[:48]),
        lambda at: gcm.decrypt_into(bytes(12), view[at : at + 48], None, view[:32]),
        lambda at: paes.Cipher("aes-128-ecb", bytes(16), b"").update_into(view[at : at + 32], view),
        lambda at: context.encrypt_into(0, view[at : at + 32], view),
        lambda at: context.decrypt_into(0, view[at : at + 32], view),
        lambda at: messages.seal_into(0, view[at : at + 32], b"", view[:48]),
        lambda at: messages.open_into(0, view[at : at + 48], b"", view[:32]),
    ):
        with pytest.raises(paes.UsageError, match="shares a part"):
            call(1)
        assert memory == bytes(100)
    assert gcm.encrypt_into(bytes(12), view[16:16], None, view[:16]) == 16


def test_what_cannot_be_a_path(folder: Path, seal: Seal, identity: paes.Identity) -> None:
    sealed, recipients = seal(b"text"), identity.recipient
    for path, exception, message in (
        ("a\0b", ValueError, "null"),
        (None, TypeError, "NoneType"),
        (5, TypeError, "int"),
    ):
        for call in (
            lambda path=path: paes.encrypt_file(sealed, path, recipients=recipients),
            lambda path=path: paes.decrypt_file(sealed, path, identity=identity),
            lambda path=path: paes.rekey(path, identity=identity, recipients=recipients),
            lambda path=path: paes.rekey(path, identity=identity, add=recipients),
            lambda path=path: paes.Identity.load(path),
            lambda path=path: paes.Recipient.load(path),
            lambda path=path: paes.keygen(path),
        ):
            with pytest.raises(exception, match=message):
                call()
    for call in (
        lambda: paes.open("a\0b", identity=identity),
        lambda: paes.open("a\0b", "wb", recipients=recipients),
        lambda: paes.inspect("a\0b"),
    ):
        with pytest.raises(ValueError, match="null"):
            call()
    assert os.listdir(folder) == ["sealed.paes"]


def test_keys_of_the_wrong_type(folder: Path, key_file: Path, seal: Seal) -> None:
    secret = key_file.read_text().split()[-1].encode()
    sealed = seal(b"text")
    for given in (secret, [secret], 5, [5]):
        for call in (
            lambda given=given: paes.open(sealed, identity=given),
            lambda given=given: paes.open(folder / "x", "wb", recipients=given),
        ):
            message = messages_of(call)
            assert "int" in message or "bytes" in message
            assert secret[20:60].decode() not in message
    for given in (b"hunter22", 5):
        with pytest.raises(TypeError, match="passphrase"):
            paes.open(sealed, passphrase=given)  # type: ignore[call-overload]


def test_nothing_is_pickled_or_copied(folder: Path, seal: Seal, identity: paes.Identity) -> None:
    keystream_engine = paes.Keystream()
    ctr = keystream_engine.bind("aes-128-ctr", bytes(16))
    gcm = keystream_engine.bind("aes-128-gcm", b"k" * 16)
    with (
        paes.open(seal(b"text"), identity=identity) as reader,
        paes.open(folder / "new", "wb", recipients=identity.recipient) as writer,
    ):
        for thing in (
            reader,
            writer,
            identity,
            paes.Passphrase("hunter22"),
            paes.CobblestoneKey(bytes(16)),
            paes.AESGCM(bytes(16)),
            paes.Cipher("aes-128-ecb", bytes(16), b""),
            paes.Cobblestone128Encryptor(bytes(16), b""),
            paes.Cobblestone256Decryptor(bytes(32), b""),
            keystream_engine,
            ctr,
            keystream_engine.open(ctr, bytes(16)),
            keystream_engine.open_sealed(gcm, bytes(12)),
        ):
            for take in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="pickle"):
                    take(thing)
        # What a copy would have ended goes on.
        assert reader.read() == b"text"
        assert writer.write(b"text") == 4
    assert paes.inspect(folder / "new").text_bytes == 4


def test_errors_are_pickled() -> None:
    for exception in (paes.UsageError, paes.FailureError, paes.WrongKeyError, paes.CorruptError):
        raised = pickle.loads(pickle.dumps(exception("file: is damaged", "restore it")))
        assert type(raised) is exception
        assert (str(raised), raised.hint) == ("file: is damaged (restore it)", "restore it")


def test_wrong_sizes() -> None:
    for call in (
        lambda: paes.AESGCM(bytes(17)),
        lambda: paes.AESGCM(bytes(16)).encrypt(bytes(7), b"", None),
        lambda: paes.AESGCM(bytes(16)).encrypt(bytes(129), b"", None),
        lambda: paes.AESGCM(bytes(16)).encrypt_into(bytes(12), b"x", None, bytearray(16)),
        lambda: paes.AESGCM.generate_key(100),
        lambda: paes.Cipher("aes-128-ctr", bytes(16), bytes(15)),
        lambda: paes.Cipher("aes-129-ctr", bytes(16), bytes(16)),
        lambda: paes.Cipher("aes-128-ctr", bytes(16), bytes(16), kernel="none such"),
        lambda: paes.Cipher("aes-128-cbc", bytes(16), bytes(16)).update(bytes(17)),
        lambda: paes.Cipher("aes-128-ecb", bytes(16), b"").update_into(bytes(16), bytearray(15)),
        lambda: paes.Cobblestone128Encryptor(bytes(32), b""),
        lambda: paes.Cobblestone256Encryptor(bytes(16), b""),
        lambda: paes.CobblestoneKey(bytes(24)),
        lambda: paes.Passphrase(""),
    ):
        with pytest.raises(paes.UsageError):
            call()


def test_failures_name_the_file(folder: Path, recipient: paes.Recipient) -> None:
    for call in (
        lambda: paes.open(folder / "no such file", identity=paes.Identity.generate()),
        lambda: paes.encrypt_file(folder / "no such file", folder / "x", recipients=recipient),
        lambda: paes.inspect(folder / "no such file"),
        lambda: paes.Identity.load(folder / "no such file"),
        lambda: paes.open(folder / "no such file" / "x", "wb", recipients=recipient),
    ):
        with pytest.raises(OSError, match=r"no such file.*: No such file or directory") as raised:
            call()
        assert isinstance(raised.value, paes.FailureError)


def test_mode_must_be_binary(folder: Path, recipient: paes.Recipient) -> None:
    for mode in ("r", "w", "rt", "ab", "r+b"):
        with pytest.raises(ValueError, match="mode must be"):
            paes.open(folder / "x", mode, recipients=recipient)  # type: ignore[call-overload]


def test_varied_bytes_vary() -> None:
    # The other tests rely on it.
    assert varied_bytes(100) != varied_bytes(100, seed=1)
    assert len(set(varied_bytes(4096))) > 200
