# SPDX-License-Identifier: Apache-2.0
"""Against other libraries: what one encrypts, the other decrypts, in any pieces."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import mmap
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied import varied_bytes

import paes
import paes.cobblestone

cobblestone = pytest.importorskip(
    "cryptography.cobblestone", reason="cryptography 50 is not installed"
)
aead = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead")
pycryptodome = pytest.importorskip("Crypto.Cipher.AES", reason="pycryptodome is not installed")

from cryptography.exceptions import InvalidTag  # noqa: E402
from cryptography.hazmat.primitives.ciphers import Cipher as TheirCipher  # noqa: E402
from cryptography.hazmat.primitives.ciphers import algorithms, modes  # noqa: E402

BITS = [128, 256]
text_sizes = st.one_of(
    st.integers(0, 100),
    st.integers(0, 100_000),
    st.sampled_from([16383, 16384, 16385, 32768, 65536]),
)
contexts = st.binary(max_size=40)
cuts = st.lists(st.integers(0, 120_000), max_size=8)


def pieces(data: bytes, places: list[int]) -> Iterator[bytes]:
    """Cuts data at the places that lie within."""
    bounds = [0, *sorted(place for place in places if place < len(data)), len(data)]
    for start, end in itertools.pairwise(bounds):
        yield data[start:end]


read_limits = st.lists(st.integers(1, 70_000), min_size=1, max_size=6)
breaks = st.one_of(st.none(), st.integers(0, 12))


class BrokenError(Exception):
    """What a file object raises in the middle."""


class Uneven(io.BytesIO):
    """A file object whose reads return less than was asked for, and of which one raises."""

    def __init__(self, data: bytes, limits: list[int], breaks_at: int | None = None) -> None:
        super().__init__(data)
        self.limits = itertools.cycle(limits)
        self.breaks_at = breaks_at
        self.reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        self.reads += 1
        if self.breaks_at is not None and self.reads > self.breaks_at:
            raise BrokenError(self.reads)
        return super().read(min(size, next(self.limits)))


class UnevenTarget:
    """A file object whose writes take less than was given, and of which one raises."""

    def __init__(self, limits: list[int], breaks_at: int | None) -> None:
        self.limits = itertools.cycle(limits)
        self.breaks_at = breaks_at
        self.data = bytearray()
        self.writes = 0

    def write(self, data: bytes, /) -> int:
        self.writes += 1
        if self.breaks_at is not None and self.writes > self.breaks_at:
            raise BrokenError(self.writes)
        taken = min(len(data), next(self.limits))
        self.data += data[:taken]
        return taken


def run(stream: Any, data: bytes, places: list[int], into: bool) -> bytes:
    """Takes data through an encryptor or decryptor."""
    out = []
    for piece in pieces(data, places):
        if into:
            buffer = bytearray(len(piece) + 40_000)
            out.append(bytes(buffer[: stream.update_into(piece, buffer)]))
        else:
            out.append(stream.update(piece))
    return b"".join([*out, stream.finalize()])


@pytest.mark.parametrize("bits", BITS)
@given(size=text_sizes, context=contexts, first=cuts, second=cuts, into=st.booleans())
def test_cobblestone_in_both_directions(
    bits: int, size: int, context: bytes, first: list[int], second: list[int], into: bool
) -> None:
    text = varied_bytes(size)
    key = varied_bytes(bits // 8, seed=size)
    for seals, opens in ((paes.cobblestone, cobblestone), (cobblestone, paes.cobblestone)):
        encryptor = getattr(seals, f"Cobblestone{bits}Encryptor")(key, context)
        decryptor = getattr(opens, f"Cobblestone{bits}Decryptor")(key, context)
        stream = run(encryptor, text, first, into and seals is paes.cobblestone)
        assert run(decryptor, stream, second, into and opens is paes.cobblestone) == text


@pytest.mark.parametrize("bits", BITS)
@given(size=text_sizes, place=st.integers(0, 2**20), context=contexts)
def test_cobblestone_damage(bits: int, size: int, place: int, context: bytes) -> None:
    key = bytes(bits // 8)
    encryptor = getattr(cobblestone, f"Cobblestone{bits}Encryptor")(key, context)
    stream = bytearray(encryptor.update(varied_bytes(size)) + encryptor.finalize())
    decryptor = getattr(paes, f"Cobblestone{bits}Decryptor")
    place %= len(stream)
    for damaged in (
        stream[:place],
        stream[:place] + bytes([stream[place] ^ 1]) + stream[place + 1 :],
        stream + b"x",
    ):
        with pytest.raises(InvalidTag):
            run(decryptor(key, context), bytes(damaged), [], False)
    with pytest.raises(InvalidTag):
        run(decryptor(key, context + b"x"), bytes(stream), [], False)


@pytest.mark.parametrize("bits", BITS)
@given(
    size=text_sizes,
    offset=st.integers(0, 120_000),
    length=st.one_of(st.integers(0, 120_000), st.just(2**62)),
)
def test_decrypt_range_is_a_slice(bits: int, size: int, offset: int, length: int) -> None:
    text = varied_bytes(size)
    key = varied_bytes(bits // 8)
    encryptor = getattr(cobblestone, f"Cobblestone{bits}Encryptor")(key, b"c")
    stream = encryptor.update(text) + encryptor.finalize()
    decryptor = getattr(paes, f"Cobblestone{bits}Decryptor")(key, b"c")
    assert decryptor.decrypt_range(stream, offset, length) == text[offset : offset + length]
    # It has changed nothing.
    assert decryptor.update(stream) + decryptor.finalize() == text
    with pytest.raises(paes.CorruptError):
        decryptor.decrypt_range(stream[:-1], 0, 0)


def test_decrypt_range_opens_only_what_it_needs() -> None:
    text = varied_bytes(5 * 16384)
    encryptor = paes.Cobblestone256Encryptor(bytes(32), b"")
    stream = bytearray(encryptor.update(text) + encryptor.finalize())
    stream[-3 * 16400] ^= 1  # in the third chunk
    decryptor = paes.Cobblestone256Decryptor(bytes(32), b"")
    assert decryptor.decrypt_range(stream, 0, 2 * 16384) == text[: 2 * 16384]
    assert decryptor.decrypt_range(stream, 3 * 16384, 2**40) == text[3 * 16384 :]
    with pytest.raises(paes.CorruptError):
        decryptor.decrypt_range(stream, 2 * 16384 - 1, 2)


def test_cobblestone_input_may_be_output() -> None:
    text = varied_bytes(100_000)
    encryptor = paes.Cobblestone128Encryptor(bytes(16), b"")
    buffer = bytearray(text + bytes(50_000))
    written = encryptor.update_into(memoryview(buffer)[: len(text)], buffer)
    stream = bytes(buffer[:written]) + encryptor.finalize()
    assert run(cobblestone.Cobblestone128Decryptor(bytes(16), b""), stream, [], False) == text
    with pytest.raises(ValueError, match="at least"):
        paes.Cobblestone128Encryptor(bytes(16), b"").update_into(text, bytearray(1000))


@pytest.mark.parametrize("bits", BITS)
def test_a_file_under_a_key_is_a_stream(bits: int) -> None:
    text = varied_bytes(100_000)
    secret = varied_bytes(bits // 8, seed=2)
    file = io.BytesIO()
    with paes.open(
        file, "wb", key=paes.CobblestoneKey(secret, b"context"), key_bits=bits
    ) as writer:
        writer.write(text)
    decryptor = getattr(cobblestone, f"Cobblestone{bits}Decryptor")(secret, b"context")
    assert run(decryptor, file.getvalue(), [], False) == text
    encryptor = getattr(cobblestone, f"Cobblestone{bits}Encryptor")(secret, b"")
    stream = run(encryptor, text, [], False)
    with paes.open(io.BytesIO(stream), key=paes.CobblestoneKey(secret)) as reader:
        assert reader.read() == text


def test_generated_keys() -> None:
    for make, size in (
        (paes.Cobblestone128Encryptor.generate_key, 16),
        (paes.Cobblestone256Encryptor.generate_key, 32),
        (lambda: paes.AESGCM.generate_key(128), 16),
        (lambda: paes.AESGCM.generate_key(bit_length=192), 24),
        (lambda: paes.AESGCM.generate_key(256), 32),
    ):
        keys = {make() for _ in range(20)}
        assert len(keys) == 20
        assert {len(key) for key in keys} == {size}


@given(
    key=st.sampled_from([16, 24, 32]).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
    nonce=st.one_of(st.binary(min_size=12, max_size=12), st.binary(min_size=8, max_size=128)),
    aad=st.one_of(st.none(), st.binary(max_size=100)),
    size=st.one_of(st.integers(0, 300), st.integers(0, 100_000)),
    place=st.integers(0, 2**20),
)
def test_aes_gcm(key: bytes, nonce: bytes, aad: bytes | None, size: int, place: int) -> None:
    text = varied_bytes(size)
    ours = paes.AESGCM(key)
    sealed = ours.encrypt(nonce, text, aad)
    assert sealed == aead.AESGCM(key).encrypt(nonce, text, aad)
    other = pycryptodome.new(key, pycryptodome.MODE_GCM, nonce=nonce)
    other.update(aad or b"")
    assert sealed == b"".join(other.encrypt_and_digest(text))
    assert ours.decrypt(nonce, sealed, aad) == text

    buffer = bytearray(size + 16)
    assert ours.encrypt_into(nonce, text, aad, buffer) == size + 16
    assert buffer == sealed
    opened = bytearray(size)
    assert ours.decrypt_into(nonce, sealed, aad, opened) == size
    assert opened == text

    buffer[place % len(buffer)] ^= 1
    with pytest.raises(InvalidTag):
        ours.decrypt(nonce, buffer, aad)
    opened = bytearray(b"x" * size)
    with pytest.raises(InvalidTag):
        ours.decrypt_into(nonce, buffer, aad, opened)
    assert opened == bytes(size)
    with pytest.raises(InvalidTag):
        ours.decrypt(nonce, sealed[:15], aad)


def test_aes_gcm_of_a_large_message() -> None:
    text = varied_bytes(9_000_001)
    sealed = paes.AESGCM(bytes(32)).encrypt(bytes(12), text, b"aad")
    assert aead.AESGCM(bytes(32)).decrypt(bytes(12), sealed, b"aad") == text


def test_other_threads_go_on_while_associated_data_are_hashed() -> None:
    gcm = paes.AESGCM(bytes(32))
    keystream_engine = paes.Keystream()
    messages = keystream_engine.open_sealed(
        keystream_engine.bind("aes-256-gcm", b"k" * 32), bytes(12)
    )
    aad = mmap.mmap(-1, 1 << 30)  # memory that nobody touches takes no room
    forged = bytes(20)
    ticks = 0
    is_over = False

    def count() -> None:
        nonlocal ticks
        while not is_over:
            time.sleep(0.001)
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for call in (
            lambda: gcm.encrypt(bytes(12), b"text", aad),
            lambda: gcm.decrypt(bytes(12), forged, aad),
            lambda: messages.seal(0, b"text", aad),
            lambda: messages.open(0, forged, aad),
        ):
            before = ticks
            with contextlib.suppress(InvalidTag):
                call()
            assert ticks - before > 3
    finally:
        is_over = True
        thread.join()


RAW = [
    f"aes-{bits}-{mode}" for bits in (128, 192, 256) for mode in ("ecb", "cbc", "cfb", "ofb", "ctr")
] + [f"des-ede3-{mode}" for mode in ("ecb", "cbc", "cfb", "ofb", "ctr")]


def their_cipher(name: str, key: bytes, iv: bytes) -> Any:
    """The same cipher of pycryptodome."""
    from Crypto.Cipher import DES3

    module = DES3 if name.startswith("des") else pycryptodome
    mode = name.rsplit("-", 1)[1]
    options: dict[str, Any] = {
        "ecb": {},
        "cbc": {"iv": iv},
        "cfb": {"iv": iv, "segment_size": 8 * len(iv)},
        "ofb": {"iv": iv},
        "ctr": {"nonce": b"", "initial_value": int.from_bytes(iv, "big")},
    }[mode]
    return module.new(key, getattr(module, f"MODE_{mode.upper()}"), **options)


@pytest.mark.parametrize("name", RAW)
@given(
    seed=st.integers(0, 2**32),
    blocks=st.lists(st.integers(0, 700), max_size=5),
    rest=st.integers(0, 15),
    in_place=st.booleans(),
    is_about_to_wrap=st.booleans(),
)
def test_raw_modes(
    name: str, seed: int, blocks: list[int], rest: int, in_place: bool, is_about_to_wrap: bool
) -> None:
    is_des = name.startswith("des")
    block = 8 if is_des else 16
    key = varied_bytes(24 if is_des else int(name.split("-")[1]) // 8, seed=seed)
    iv = b"" if name.endswith("ecb") else varied_bytes(block, seed=seed + 1)
    if is_about_to_wrap and iv:
        iv = b"\xff" * (block - 1) + iv[:1]
    lengths = [count * block for count in blocks]
    if not name.endswith(("ecb", "cbc")):
        lengths.append(rest % block)
    text = varied_bytes(sum(lengths), seed=seed + 2)
    expected = their_cipher(name, key, iv).encrypt(text)

    for decrypt, given_bytes, wanted in ((False, text, expected), (True, expected, text)):
        cipher = paes.Cipher(name, key, iv, decrypt=decrypt)
        assert cipher.block_bytes == block
        out = b""
        start = 0
        for length in lengths:
            piece = given_bytes[start : start + length]
            if in_place:
                buffer = bytearray(piece)
                assert cipher.update_into(buffer, buffer) == length
                out += bytes(buffer)
            else:
                out += cipher.update(piece)
            start += length
        assert out == wanted


@pytest.mark.parametrize("bits", BITS)
@given(
    seed=st.integers(0, 2**32),
    units=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    unit_bytes=st.sampled_from([16, 512, 520, 4096]),
    first=st.one_of(st.integers(0, 1000), st.just(2**64 - 2), st.just(2**100)),
)
def test_xts(bits: int, seed: int, units: list[int], unit_bytes: int, first: int) -> None:
    key = varied_bytes(bits // 4, seed=seed)
    text = varied_bytes(sum(units) * unit_bytes, seed=seed + 1)
    expected = b""
    for number in range(sum(units)):
        tweak = (first + number).to_bytes(16, "little")
        encryptor = TheirCipher(algorithms.AES(key), modes.XTS(tweak)).encryptor()
        expected += encryptor.update(text[number * unit_bytes : (number + 1) * unit_bytes])
    iv = first.to_bytes(16, "little")
    for decrypt, data, wanted in ((False, text, expected), (True, expected, text)):
        cipher = paes.Cipher(
            f"aes-{bits}-xts", key, iv, decrypt=decrypt, unit_bytes=unit_bytes, threads=2
        )
        out = b""
        for count in units:
            out += cipher.update(data[len(out) : len(out) + count * unit_bytes])
        assert out == wanted


@given(size=st.integers(16, 5000))
def test_xts_of_one_message(size: int) -> None:
    key = varied_bytes(64, seed=size)
    text = varied_bytes(size)
    encryptor = TheirCipher(algorithms.AES(key), modes.XTS(bytes(16))).encryptor()
    cipher = paes.Cipher("aes-256-xts", key, bytes(16))
    assert cipher.update(text) == encryptor.update(text) + encryptor.finalize()
    with pytest.raises(paes.UsageError, match="ended"):
        cipher.update(text)


def test_a_part_of_a_block_ends_a_message() -> None:
    for name in ("aes-128-ctr", "aes-128-cfb", "aes-128-ofb"):
        cipher = paes.Cipher(name, bytes(16), bytes(16))
        cipher.update(bytes(20))
        assert cipher.update(b"") == b""
        with pytest.raises(paes.UsageError, match="ended"):
            cipher.update(bytes(16))


@pytest.mark.parametrize(
    ("name", "key_bytes", "options"),
    [("aes-128-cbc", 16, {}), ("aes-128-xts", 32, {"unit_bytes": 4096})],
)
def test_a_long_call_that_is_refused_at_its_end_ends_the_message(
    name: str, key_bytes: int, options: dict[str, Any]
) -> None:
    # Its first part, of 16 MiB, has been encrypted: the same text again would continue the message.
    cipher = paes.Cipher(name, varied_bytes(key_bytes), bytes(16), **options)
    with pytest.raises(paes.UsageError, match="cannot be a message"):
        cipher.update(bytes((16 << 20) + 5))
    with pytest.raises(paes.UsageError, match="ended"):
        cipher.update(bytes(4096))
    # A call that is refused before anything is done leaves the message as it was.
    cipher = paes.Cipher(name, varied_bytes(key_bytes), bytes(16), **options)
    with pytest.raises(paes.UsageError, match="cannot be a message"):
        cipher.update(bytes(5))
    again = paes.Cipher(name, varied_bytes(key_bytes), bytes(16), **options)
    assert cipher.update(bytes(4096)) == again.update(bytes(4096))


def test_threads_of_a_cipher_change_nothing() -> None:
    text = varied_bytes(5_000_000)
    for name in ("aes-256-ctr", "aes-256-cbc", "aes-256-ecb"):
        iv = b"" if name.endswith("ecb") else bytes(16)
        sealed = [
            paes.Cipher(name, bytes(32), iv, threads=threads).update(text) for threads in (1, 0, 3)
        ]
        assert sealed[0] == sealed[1] == sealed[2]
        assert sealed[0] == their_cipher(name, bytes(32), iv).encrypt(text)


def test_keys_of_pyrage() -> None:
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    for _ in range(5):
        theirs = pyrage.x25519.Identity.generate()
        ours = paes.Identity(str(theirs))
        assert str(ours.recipient) == str(theirs.to_public())
        assert ours.recipient == paes.Recipient(str(theirs.to_public()))
        file = io.BytesIO()
        with paes.open(file, "wb", recipients=str(theirs.to_public())) as writer:
            writer.write(b"text")
        with paes.open(file, identity=str(theirs)) as reader:
            assert reader.read() == b"text"


def test_keys_of_ours_in_pyrage(key_file: Any, identity: paes.Identity) -> None:
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    theirs = pyrage.x25519.Identity.from_str(key_file.read_text().split()[-1])
    assert str(theirs.to_public()) == str(identity.recipient)
    sealed = pyrage.encrypt(b"text", [pyrage.x25519.Recipient.from_str(str(identity.recipient))])
    assert pyrage.decrypt(sealed, [theirs]) == b"text"


def sealed_by_pyrage(text: bytes) -> tuple[bytes, str]:
    """An age file, and the secret key that opens it."""
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    theirs = pyrage.x25519.Identity.generate()
    return pyrage.encrypt(text, [theirs.to_public()]), str(theirs)


@given(size=st.one_of(text_sizes, st.just(200_000)), limits=read_limits)
def test_files_of_age(size: int, limits: list[int]) -> None:
    text = varied_bytes(size)
    sealed, secret = sealed_by_pyrage(text)
    with paes.open(Uneven(sealed, limits), identity=secret) as reader:
        assert reader.read() == text


@given(size=text_sizes, place=st.integers(0, 2**20))
def test_damaged_files_of_age(size: int, place: int) -> None:
    sealed, secret = sealed_by_pyrage(varied_bytes(size))
    # The payload begins with a nonce, after the line of the header's hash.
    begins = sealed.index(b"\n", sealed.index(b"\n---") + 1) + 1
    damaged = bytearray(sealed)
    damaged[begins + place % (len(sealed) - begins)] ^= 1
    with pytest.raises(paes.AuthenticationError):
        paes.open(io.BytesIO(damaged), identity=secret).read()


def opened_without_paes(data: bytes, open_envelope: Callable[[bytes], bytes]) -> bytes:
    """The text of a file of paes, as docs/open-without-paes.md gets it."""
    _, suite, pages, length = struct.unpack(">BBHI", data[8:16])
    bits = {1: 128, 2: 256}[suite]
    key = open_envelope(data[16 : 16 + length])
    decryptor = getattr(cobblestone, f"Cobblestone{bits}Decryptor")(key, data[:10])
    return run(decryptor, data[4096 * pages - 56 :], [], False)


@pytest.mark.parametrize("bits", BITS)
@given(size=text_sizes, cuts=cuts)
def test_files_of_ours_without_paes(bits: int, size: int, cuts: list[int]) -> None:
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    theirs = pyrage.x25519.Identity.generate()
    text = varied_bytes(size)
    target = io.BytesIO()
    with paes.open(target, "wb", recipients=str(theirs.to_public()), key_bits=bits) as writer:
        for piece in pieces(text, cuts):
            writer.write(piece)
    data = target.getvalue()
    assert opened_without_paes(data, lambda envelope: pyrage.decrypt(envelope, [theirs])) == text


def test_passphrases_of_age() -> None:
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    sealed = pyrage.passphrase.encrypt(b"text", "a passphrase")
    with paes.open(io.BytesIO(sealed), passphrase="a passphrase") as reader:
        assert reader.read() == b"text"
    target = io.BytesIO()
    with paes.open(target, "wb", passphrase="a passphrase") as writer:
        writer.write(b"text")
    data = target.getvalue()
    assert (
        opened_without_paes(
            data, lambda envelope: pyrage.passphrase.decrypt(envelope, "a passphrase")
        )
        == b"text"
    )


@pytest.mark.parametrize("bits", BITS)
@given(size=text_sizes, limits=read_limits, breaks_at=breaks, threads=st.integers(1, 2))
def test_file_objects_with_streams_of_cryptography(
    bits: int, size: int, limits: list[int], breaks_at: int | None, threads: int
) -> None:
    text = varied_bytes(size)
    secret = varied_bytes(bits // 8, seed=size)
    stream = run(getattr(cobblestone, f"Cobblestone{bits}Encryptor")(secret, b""), text, [], False)
    key = paes.CobblestoneKey(secret)
    source = Uneven(stream, limits, breaks_at)
    reader = None
    try:
        reader = paes.open(source, key=key, threads=threads)
        found = reader.read()
    except BrokenError:
        assert breaks_at is not None
        source.breaks_at = None
        # One that was open goes on.
        reader = reader or paes.open(source, key=key, threads=threads)
        found = reader.read()
    assert found == text
    source.breaks_at = None
    assert reader.read_at(size // 2, 100) == text[size // 2 : size // 2 + 100]
    reader.close()


@pytest.mark.parametrize("bits", BITS)
@given(size=text_sizes, cuts=cuts, limits=read_limits, breaks_at=breaks)
def test_file_objects_that_cryptography_reads(
    bits: int, size: int, cuts: list[int], limits: list[int], breaks_at: int | None
) -> None:
    text = varied_bytes(size)
    secret = varied_bytes(bits // 8, seed=size)
    target = UnevenTarget(limits, breaks_at)
    decryptor = getattr(cobblestone, f"Cobblestone{bits}Decryptor")(secret, b"")
    try:
        with paes.open(
            target, "wb", key=paes.CobblestoneKey(secret), key_bits=bits, threads=1
        ) as writer:
            for piece in pieces(text, cuts):
                writer.write(piece)
    except BrokenError:
        assert breaks_at is not None
        with pytest.raises(InvalidTag):
            run(decryptor, bytes(target.data), [], False)
    else:
        assert run(decryptor, bytes(target.data), [], False) == text


def names_of(function: Any) -> list[str]:
    """The names of what a function of cryptography's takes."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (aead.AESGCM, paes.AESGCM),
        *(
            (getattr(cobblestone, name), getattr(paes.cobblestone, name))
            for name in paes.cobblestone.__all__
        ),
    ],
)
def test_arguments_have_the_names_of_cryptography(theirs: Any, ours: Any) -> None:
    def first_line(function: Any) -> str:
        return function.__doc__.partition("\n")[0]

    methods = [name for name in dir(theirs) if not name.startswith("_")]
    assert "finalize" in methods or "encrypt_into" in methods
    for name in methods:
        taken = re.findall(r"(\w+): ", first_line(getattr(ours, name)))
        assert taken == names_of(getattr(theirs, name)), name
    if theirs is not aead.AESGCM:  # whose constructor does not tell
        taken = re.findall(r"(\w+): ", first_line(ours.__init__).partition("*")[0])
        assert taken == names_of(theirs)
