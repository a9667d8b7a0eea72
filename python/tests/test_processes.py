# SPDX-License-Identifier: Apache-2.0
"""Forked children, and memory over many objects."""

from __future__ import annotations

import gc
import io
import mmap
import multiprocessing
import os
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import IS_EXHAUSTIVE, Seal
from varied import varied_bytes

import paes

TEXT = varied_bytes(3 << 20)
forks = multiprocessing.get_context("fork")


def in_child(work: Callable[[], object]) -> object:
    """Gives what `work` returns in a forked child, or the paes.Error that it raises there.

    A child that hangs fails the test.
    """
    receiving, sending = forks.Pipe(duplex=False)

    def answer() -> None:
        try:
            sending.send(work())
        except paes.Error as error:
            sending.send(error)

    child = forks.Process(target=answer)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads at a fork: this is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sending.close()
    try:
        assert receiving.poll(100), "the child hangs"
        result = receiving.recv()
        child.join(100)
        assert child.exitcode == 0
        return result
    finally:
        if child.is_alive():
            child.kill()
            child.join()
        receiving.close()


@pytest.mark.parametrize("from_object", [False, True])
@pytest.mark.parametrize("is_used_before", [False, True])
def test_reader_of_the_parent_in_a_child(
    seal: Seal, identity: paes.Identity, from_object: bool, is_used_before: bool
) -> None:
    sealed = seal(TEXT)
    source = io.BytesIO(sealed.read_bytes()) if from_object else sealed
    with paes.open(source, identity=identity, threads=2) as file:
        if is_used_before:
            assert file.read() == TEXT
        assert in_child(lambda: file.read_at(0, len(TEXT)) == TEXT) is True
        # The parent's has not suffered.
        assert file.read_at(0, len(TEXT)) == TEXT


def test_aes_gcm_of_the_parent_in_a_child() -> None:
    gcm = paes.AESGCM(bytes(32), threads=2)
    sealed = gcm.encrypt(bytes(12), TEXT, None)
    assert in_child(
        lambda: (
            gcm.encrypt(bytes(12), TEXT, None) == sealed
            and gcm.decrypt(bytes(12), sealed, None) == TEXT
        )
    )
    assert gcm.decrypt(bytes(12), sealed, None) == TEXT


def test_cipher_of_the_parent_in_a_child() -> None:
    cipher = paes.Cipher("aes-256-ctr", bytes(32), bytes(16), threads=2)
    first = cipher.update(TEXT)
    got = in_child(lambda: cipher.update(TEXT))
    assert got == cipher.update(TEXT)
    assert first != got


def test_encryptor_of_the_parent_is_refused_in_a_child() -> None:
    # Both processes would seal different text under the same nonces.
    encryptor = paes.Cobblestone256Encryptor(bytes(32), b"", threads=2)
    stream = encryptor.update(TEXT)
    assert isinstance(in_child(lambda: encryptor.update(TEXT)), paes.FailureError)
    assert isinstance(in_child(encryptor.finalize), paes.FailureError)
    stream += encryptor.finalize()
    decryptor = paes.Cobblestone256Decryptor(bytes(32), b"")
    assert decryptor.update(stream) + decryptor.finalize() == TEXT


def test_decryptor_of_the_parent_in_a_child() -> None:
    encryptor = paes.Cobblestone256Encryptor(bytes(32), b"", threads=2)
    stream = encryptor.update(TEXT) + encryptor.finalize()
    decryptor = paes.Cobblestone256Decryptor(bytes(32), b"", threads=2)
    first = decryptor.update(stream[: 1 << 20])
    got = in_child(lambda: first + decryptor.update(stream[1 << 20 :]) + decryptor.finalize())
    assert got == TEXT
    assert first + decryptor.update(stream[1 << 20 :]) + decryptor.finalize() == TEXT


def test_writer_of_the_parent_in_a_child(folder: Path, identity: paes.Identity) -> None:
    file = paes.open(folder / "new", "wb", recipients=identity.recipient, threads=2)
    file.write(TEXT)
    assert isinstance(in_child(lambda: file.write(TEXT)), paes.FailureError)
    file.write(TEXT)
    file.close()
    with paes.open(folder / "new", identity=identity) as reader:
        assert reader.read() == TEXT + TEXT


def test_keystream_of_the_parent_is_refused_in_a_child() -> None:
    keystream_engine = paes.Keystream(workers=1)
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16))
    context.encrypt(0, b"text")
    assert isinstance(in_child(lambda: context.encrypt(100, b"text")), paes.FailureError)
    assert len(context.encrypt(100, b"text")) == 4


def use_everything(folder: Path, identity: paes.Identity, threads: int) -> bool:
    path = folder / f"of-{os.getpid()}"
    with paes.open(path, "wb", recipients=identity.recipient, threads=threads) as writer:
        writer.write(TEXT)
    with paes.open(path, identity=identity, threads=threads) as reader:
        is_right = reader.read() == TEXT
    paes.decrypt_file(path, folder / f"opened-{os.getpid()}", identity=identity, threads=threads)
    gcm = paes.AESGCM(bytes(16), threads=threads)
    is_right &= gcm.decrypt(bytes(12), gcm.encrypt(bytes(12), TEXT, None), None) == TEXT
    cipher = paes.Cipher("aes-128-ctr", bytes(16), bytes(16), threads=threads)
    opener = paes.Cipher("aes-128-ctr", bytes(16), bytes(16), threads=threads)
    is_right &= opener.update(cipher.update(TEXT)) == TEXT
    encryptor = paes.Cobblestone128Encryptor(bytes(16), b"", threads=threads)
    decryptor = paes.Cobblestone128Decryptor(bytes(16), b"", threads=threads)
    stream = encryptor.update(TEXT) + encryptor.finalize()
    is_right &= decryptor.update(stream) + decryptor.finalize() == TEXT
    is_right &= decryptor.decrypt_range(stream, 0, len(TEXT)) == TEXT
    keystream_engine = paes.Keystream(workers=1)
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16))
    return is_right and len(context.encrypt(0, TEXT[:10_000])) == 10_000


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_child_makes_its_own(folder: Path, identity: paes.Identity, threads: int) -> None:
    # The parent's threads are not there in the child.
    assert use_everything(folder, identity, threads)
    assert in_child(lambda: use_everything(folder, identity, threads)) is True


def test_a_pool_of_children_reads_one_file(seal: Seal, identity: paes.Identity) -> None:
    sealed = seal(TEXT)
    global shared_reader
    with paes.open(sealed, identity=identity, threads=1) as shared_reader:
        assert shared_reader.read_at(0, 1000) == TEXT[:1000]
        with forks.Pool(4) as pool:
            parts = pool.map_async(read_part, range(0, len(TEXT), 100_000)).get(timeout=100)
    assert b"".join(parts) == TEXT


shared_reader: paes.EncryptedReader


def read_part(offset: int) -> bytes:
    return shared_reader.read_at(offset, 100_000)


class Slow(io.BytesIO):
    """A file object that another thread is in the middle of reading, until it may go on."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.waits_for: threading.Event | None = None
        self.is_read = threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        go_on, self.waits_for = self.waits_for, None
        if go_on is not None:
            self.is_read.set()
            go_on.wait(100)
        return super().read(size)


def test_a_child_does_not_wait_for_a_thread_of_the_parent_in_a_file_object(
    seal: Seal, identity: paes.Identity
) -> None:
    source = Slow(seal(TEXT).read_bytes())
    with paes.open(source, identity=identity, threads=1) as file:
        source.waits_for = go_on = threading.Event()
        reading = threading.Thread(target=file.read_at, args=(0, 4))
        reading.start()
        try:
            assert source.is_read.wait(100)
            assert in_child(lambda: file.read_at(0, 4)) == TEXT[:4]
        finally:
            go_on.set()
            reading.join()


def test_children_do_not_share_the_position_of_a_file(
    seal: Seal, identity: paes.Identity, folder: Path
) -> None:
    global shared_reader
    sealed = seal(TEXT)
    for opened in (sealed.open("rb"), sealed.open("rb", buffering=0)):
        with opened, paes.open(opened, identity=identity, threads=1) as shared_reader:
            with forks.Pool(4) as pool:
                places = [number * 7919 % len(TEXT) for number in range(2000)]
                parts = pool.map_async(read_part, places, 10).get(timeout=120)
            for place, part in zip(places, parts, strict=True):
                assert part == TEXT[place : place + 100_000]


def test_children_of_a_process_whose_threads_read(seal: Seal, identity: paes.Identity) -> None:
    with paes.open(seal(TEXT), identity=identity, threads=1) as file:
        is_over = threading.Event()

        def read_much() -> None:
            while not is_over.is_set():
                file.read_at(5, 100)

        readers = [threading.Thread(target=read_much) for _ in range(4)]
        for reader in readers:
            reader.start()
        try:
            for _ in range(200 if IS_EXHAUSTIVE else 50):
                assert in_child(lambda: file.read_at(5, 100)) == TEXT[5:105]
        finally:
            is_over.set()
            for reader in readers:
                reader.join()


def test_context_is_closed_in_a_child_while_a_thread_of_the_parent_uses_it() -> None:
    keystream = paes.Keystream()
    context = keystream.open(keystream.bind("aes-256-ctr", b"k" * 32), b"c" * 16)
    is_over = threading.Event()

    def decrypt_much() -> None:
        while not is_over.is_set():
            context.decrypt(0, bytes(32 << 20))

    thread = threading.Thread(target=decrypt_much)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(context.close) is None
    finally:
        is_over.set()
        thread.join()
    assert len(context.decrypt(0, b"text")) == 4


def test_children_that_end_by_themselves(folder: Path, recipient: paes.Recipient) -> None:
    # What a child drops is still the parent's.
    def drop_all() -> None:
        nonlocal writer, keystream_engine, context
        del writer, keystream_engine, context
        gc.collect()

    writer = paes.open(folder / "new", "wb", recipients=recipient, threads=2)
    writer.write(TEXT)
    keystream_engine = paes.Keystream(workers=1)
    context = keystream_engine.open(keystream_engine.bind("aes-128-ctr", bytes(16)), bytes(16))
    context.encrypt(0, b"text")
    assert in_child(drop_all) is None
    context.encrypt(100, b"text")
    writer.close()
    assert paes.inspect(folder / "new").text_bytes == len(TEXT)


def read_in_spawned_child(path: Path, secret: str, offset: int) -> bytes:
    with paes.open(path, identity=secret) as file:
        return file.read_at(offset, 100_000)


def test_a_pool_of_spawned_children(seal: Seal, key_file: Path) -> None:
    sealed, secret = seal(TEXT), key_file.read_text().split()[-1]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        arguments = [(sealed, secret, offset) for offset in range(0, len(TEXT), 100_000)]
        parts = pool.starmap_async(read_in_spawned_child, arguments).get(timeout=120)
    assert b"".join(parts) == TEXT


@pytest.mark.parametrize(
    "make",
    [
        lambda: paes.Cobblestone256Encryptor(bytes(32), b"", threads=1),
        lambda: paes.Cipher("aes-256-cbc", bytes(32), bytes(16)),
    ],
)
def test_ctrl_c_ends_a_long_call_in_memory(make: Callable[[], Any]) -> None:
    # Memory that nobody touches takes no room.
    size = 2 << 30
    text, out = mmap.mmap(-1, size), mmap.mmap(-1, size + (64 << 20))
    coder = make()

    def send_ctrl_c() -> None:
        while out[:16] == bytes(16):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send_ctrl_c)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            coder.update_into(text, out)
            sender.join()
    finally:
        sender.join()
    assert out[size - (1 << 20) : size] == bytes(1 << 20)
    with pytest.raises(paes.UsageError, match="ended"):
        coder.update_into(bytes(16), bytearray(32))


def test_ctrl_c_ends_idle() -> None:
    keystream_engine = paes.Keystream(budget_bytes=128 << 20)
    # The slowest kernel takes seconds for such a window.
    key = keystream_engine.bind("aes-256-ctr", bytes(32), kernel="compute")
    context = keystream_engine.open(key, bytes(16), window_chunks=16384)
    context.decrypt(0, b"text")
    sender = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            keystream_engine.idle(100)
            sender.join()
    finally:
        sender.join()
    assert keystream_engine.idle(0.01)  # something is left


# A thread that Python does not wait for is in the middle of a call when the interpreter ends.
DAEMON = """
import io, os, sys, threading, paes
data, key = io.BytesIO(), paes.CobblestoneKey(bytes(32))
with paes.open(data, "wb", key=key) as file:
    file.write(bytes(3 << 20))
class Endless(io.RawIOBase):
    def seek(self, offset, whence=0, /):
        return 1 << 40
    def read(self, size, /):
        is_busy.set()
        return bytes(size)
def forever(work):
    while True:
        work()
        is_busy.set()
reader, gcm = paes.open(data, key=key), paes.AESGCM(bytes(32))
is_busy = threading.Event()
work = {
    "in the cipher": lambda: gcm.encrypt(bytes(12), bytes(8 << 20), None),
    "in a file object": lambda: reader.read_at(0, 3 << 20),
    "in a whole file": lambda: paes.encrypt_file(Endless(), "/dev/null", key=key),
    "reporting": lambda: paes.encrypt_file(
        "/dev/zero", "/dev/null", key=key, progress=lambda done, total: is_busy.set()),
}[sys.argv[1]]
threading.Thread(target=forever, args=(work,), daemon=True).start()
assert is_busy.wait(100)
print("ends")
"""


@pytest.mark.parametrize(
    "where", ["in the cipher", "in a file object", "in a whole file", "reporting"]
)
def test_the_interpreter_ends_while_a_daemon_thread_calls(
    python: Callable[..., subprocess.CompletedProcess[str]], where: str
) -> None:
    for _ in range(20 if IS_EXHAUSTIVE else 2):
        done = python(DAEMON, where)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


# The other thread waits for the GIL at the fork. The child has no such thread, and waits for none.
FORK = """
import os, sys, threading, time, paes
is_busy = threading.Event()
def forever():
    paes.encrypt_file("/dev/zero", "/dev/null", key=paes.CobblestoneKey(bytes(32)),
                      progress=lambda done, total: is_busy.set())
threading.Thread(target=forever, daemon=True).start()
assert is_busy.wait(100)
sys.setswitchinterval(100)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    pass
child = os.fork()
if child == 0:
    sys.exit()
_, status, usage = os.wait4(child, 0)
print(status, usage.ru_nvcsw < 500, flush=True)
os._exit(0)
"""


def test_a_child_does_not_wait_for_threads_of_its_parent(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = python("import warnings; warnings.simplefilter('ignore')\n" + FORK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\n", "")
