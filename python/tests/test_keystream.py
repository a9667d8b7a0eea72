# SPDX-License-Identifier: Apache-2.0
"""The keystream engine against the plain ciphers."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied import varied_bytes

import paes

KEYS = {"aes-128": 16, "aes-192": 24, "aes-256": 32, "des-ede3": 24}
ranges = st.lists(st.tuples(st.integers(0, 60_000), st.integers(1, 6000)), min_size=1, max_size=8)


def keystream_of(name: str, key: bytes, counter: bytes, size: int) -> bytes:
    return paes.Cipher(f"{name}-ctr", key, counter).update(bytes(size))


def xor(one: bytes, other: bytes) -> bytes:
    assert len(one) == len(other)
    size = len(one)
    mixed = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return mixed.to_bytes(size, "big")


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("name", list(KEYS))
@given(wanted=ranges, seed=st.integers(0, 2**32))
def test_context(workers: int, name: str, wanted: list[tuple[int, int]], seed: int) -> None:
    key = varied_bytes(KEYS[name], seed=seed)
    keystream_engine = paes.Keystream(workers=workers)
    bound = keystream_engine.bind(f"{name}-ctr", key)
    counter = varied_bytes(bound.block_bytes, seed=seed + 1)
    keystream = keystream_of(name, key, counter, 70_000)
    context = keystream_engine.open(bound, counter)
    used: set[int] = set()
    for offset, size in wanted:
        text = varied_bytes(size, seed=offset)
        context.prefetch(offset)
        keystream_engine.idle(0.0002)
        sealed = xor(text, keystream[offset : offset + size])
        assert context.decrypt(offset, sealed) == text
        if used.isdisjoint(range(offset, offset + size)):
            assert context.encrypt(offset, text) == sealed
        else:
            with pytest.raises(paes.UsageError):
                context.encrypt(offset, text)
            continue
        used.update(range(offset, offset + size))
    context.close()


def test_context_into() -> None:
    keystream_engine = paes.Keystream()
    key = keystream_engine.bind("aes-256-ctr", bytes(32))
    assert key.block_bytes == 16
    assert key.kernel
    context = keystream_engine.open(key, bytes(16))
    text = varied_bytes(10_000)
    sealed = bytearray(10_005)
    assert context.encrypt_into(100, text, sealed) == 10_000
    assert sealed[10_000:] == bytes(5)
    expected = xor(text, keystream_of("aes-256", bytes(32), bytes(16), 10_100)[100:])
    assert sealed[:10_000] == expected
    buffer = bytearray(sealed[:10_000])
    assert context.decrypt_into(100, buffer, buffer) == 10_000
    assert buffer == text
    with pytest.raises(paes.UsageError, match="at least"):
        context.encrypt_into(20_000, text, bytearray(9999))


def test_no_byte_is_encrypted_twice() -> None:
    keystream_engine = paes.Keystream()
    context = keystream_engine.open(
        keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16), limit_bytes=100_000
    )
    context.encrypt(1000, bytes(100))
    context.mark_used(5000, 10)
    for offset, size in ((1000, 1), (1099, 1), (999, 2), (0, 2000), (5009, 1), (99_999, 2)):
        with pytest.raises(paes.UsageError):
            context.encrypt(offset, bytes(size))
        with pytest.raises(paes.UsageError):
            context.encrypt_into(offset, bytes(size), bytearray(size))
    for offset, size in ((1100, 10), (990, 10), (5010, 1), (4999, 1), (99_999, 1)):
        assert len(context.encrypt(offset, bytes(size))) == size
    context.close()
    for call in (lambda: context.encrypt(0, b"x"), lambda: context.decrypt(0, b"x")):
        with pytest.raises(paes.UsageError):
            call()


def nonce_of(first: bytes, message: int) -> bytes:
    number = (int.from_bytes(first[4:], "big") + message) % 2**64
    return first[:4] + number.to_bytes(8, "big")


@pytest.mark.parametrize("name", ["aes-128", "aes-192", "aes-256"])
@given(
    messages=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    size=st.integers(0, 4096),
    aad=st.binary(max_size=40),
    seed=st.integers(0, 2**32),
)
def test_sealed_context(name: str, messages: list[int], size: int, aad: bytes, seed: int) -> None:
    key = varied_bytes(KEYS[name], seed=seed)
    first = varied_bytes(4, seed=seed) + b"\xff" * 7 + b"\xf0"  # the number wraps
    keystream_engine = paes.Keystream()
    context = keystream_engine.open_sealed(keystream_engine.bind(f"{name}-gcm", key), first)
    gcm = paes.AESGCM(key)
    text = varied_bytes(size, seed=seed)
    for count, message in enumerate(messages):
        expected = gcm.encrypt(nonce_of(first, message), text, aad)
        if message in messages[:count]:
            with pytest.raises(paes.UsageError):
                context.seal(message, text, aad)
        else:
            keystream_engine.idle(0.0002)
            if count % 2 == 0:
                assert context.seal(message, text, aad) == expected
            else:
                # In place, with room for the tag.
                buffer = bytearray(text + bytes(16))
                into = memoryview(buffer)
                assert context.seal_into(message, into[:size], aad, buffer) == size + 16
                assert buffer == expected
        assert context.open(message, expected, aad) == text
        opened = bytearray(size)
        assert context.open_into(message, expected, aad, opened) == size
        assert opened == text
        damaged = bytearray(expected)
        damaged[seed % len(damaged)] ^= 1
        with pytest.raises(paes.CorruptError):
            context.open(message, damaged, aad)
        opened = bytearray(b"x" * size)
        with pytest.raises(paes.CorruptError):
            context.open_into(message, damaged, aad, opened)
        assert opened == bytes(size)
        for wrong in (size + 15, size + 17):
            with pytest.raises(paes.UsageError, match="bytes long"):
                context.seal_into(100, text, aad, bytearray(wrong))
    context.close()


def test_idle_ends_when_nothing_is_left() -> None:
    keystream_engine = paes.Keystream()
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16))
    assert len(context.encrypt(0, bytes(100))) == 100
    assert not keystream_engine.idle(float("inf"))


def test_no_message_is_sealed_twice() -> None:
    keystream_engine = paes.Keystream(chunk_bytes=512)
    context = keystream_engine.open_sealed(
        keystream_engine.bind("aes-256-gcm", bytes(32)), bytes(12), limit_messages=100
    )
    sealed = context.seal(7, b"text")
    context.mark_used(10, 5)
    context.prefetch(20)
    for message in (7, 10, 14, 100, 2**63):
        with pytest.raises(paes.UsageError):
            context.seal(message, b"text")
    with pytest.raises(paes.UsageError):
        context.seal(20, bytes(513))
    for message in (9, 15, 99):
        assert len(context.seal(message, b"text")) == 20
    assert context.open(7, sealed) == b"text"
    for wrong in (sealed[:15], b""):
        with pytest.raises(paes.CorruptError, match="shorter"):
            context.open(7, wrong)
    context.close()
    with pytest.raises(paes.UsageError):
        context.seal(30, b"text")


def test_threads_share_a_context() -> None:
    keystream_engine = paes.Keystream(workers=1)
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16))
    keystream = keystream_of("aes-128", bytes(16), bytes(16), 8 * 100 * 5000)

    def encrypt(part: int) -> int:
        for number in range(100):
            offset = (number * 8 + part) * 5000
            assert context.encrypt(offset, bytes(5000)) == keystream[offset : offset + 5000]
        return part

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(encrypt, range(8), timeout=60)) == list(range(8))


def test_what_ordinary_workers_make_is_the_same() -> None:
    keystream_engine = paes.Keystream(workers=2, worker_priority="ordinary", always_ahead=True)
    context = keystream_engine.open(
        keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16), window_chunks=1
    )
    keystream = keystream_of("aes-128", bytes(16), bytes(16), 20 * 4096)
    for number in range(0, 20, 2):
        context.prefetch(number * 4096)
        assert context.encrypt(number * 4096, bytes(4096)) == keystream[number * 4096 :][:4096]


@pytest.mark.parametrize(
    "priority, policy", [("idle", os.SCHED_IDLE), ("ordinary", os.SCHED_OTHER)]
)
def test_workers_have_the_priority_that_is_asked_for(priority: str, policy: int) -> None:
    before = set(os.listdir("/proc/self/task"))
    keystream_engine = paes.Keystream(workers=2, worker_priority=priority)
    workers = set(os.listdir("/proc/self/task")) - before
    assert len(workers) == 2
    deadline = time.monotonic() + 10
    while any(os.sched_getscheduler(int(worker)) != policy for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    del keystream_engine


def test_other_priorities_are_refused() -> None:
    with pytest.raises(paes.UsageError, match="'idle' or 'ordinary'"):
        paes.Keystream(workers=1, worker_priority="high")


def test_a_context_outlives_names_of_its_keystream_engine() -> None:
    keystream_engine = paes.Keystream(workers=1)
    key = keystream_engine.bind("aes-128-ctr", bytes(16))
    context = keystream_engine.open(key, bytes(16))
    del keystream_engine, key
    assert context.encrypt(0, bytes(16)) == keystream_of("aes-128", bytes(16), bytes(16), 16)


def test_what_makes_no_sense() -> None:
    keystream_engine = paes.Keystream()
    ctr = keystream_engine.bind("aes-128-ctr", bytes(16))
    gcm = keystream_engine.bind("aes-128-gcm", b"k" * 16)
    for call in (
        lambda: paes.Keystream(chunk_bytes=1000),
        lambda: keystream_engine.bind("aes-128-cbc", bytes(16)),
        lambda: keystream_engine.bind("aes-128-ctr", bytes(17)),
        lambda: keystream_engine.bind("aes-128-ctr", bytes(16), kernel="none such"),
        lambda: keystream_engine.open(ctr, bytes(15)),
        lambda: keystream_engine.open_sealed(gcm, bytes(16)),
        lambda: keystream_engine.open(gcm, bytes(16)),
        lambda: keystream_engine.open_sealed(ctr, bytes(12)),
        lambda: keystream_engine.idle(-1),
        lambda: keystream_engine.idle(float("nan")),
    ):
        with pytest.raises(paes.UsageError):
            call()
