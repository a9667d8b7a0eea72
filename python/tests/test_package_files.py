# SPDX-License-Identifier: Apache-2.0
"""Whole files: encrypt_file, decrypt_file, verify_file, inspect, keygen."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Seal
from varied import varied_bytes

import paes

CHUNK = 16384
TAG = 16


def entries(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def chunk_place(path: Path, number: int) -> int:
    """Where a chunk's ciphertext begins in an encrypted file."""
    info = paes.inspect(path)
    chunks = max(1, -(-info.text_bytes // CHUNK))
    end = path.stat().st_size
    return end - info.text_bytes - chunks * TAG + number * (CHUNK + TAG)


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def big_sparse_file(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


class StopError(Exception):
    pass


@pytest.mark.parametrize("key_bits", [128, 256])
@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3_000_001])
def test_round_trip(
    folder: Path, key_file: Path, recipient: paes.Recipient, size: int, key_bits: int
) -> None:
    text = varied_bytes(size)
    (folder / "text").write_bytes(text)
    done = paes.encrypt_file(
        folder / "text", folder / "sealed", recipients=recipient, key_bits=key_bits
    )
    assert done == size
    assert text not in (folder / "sealed").read_bytes() or size < 2
    info = paes.inspect(folder / "sealed")
    assert (info.key_bits, info.text_bytes) == (key_bits, size)
    assert [stanza.type for stanza in info.stanzas] == ["X25519"]
    assert paes.decrypt_file(folder / "sealed", folder / "opened", identity=key_file) == size
    assert (folder / "opened").read_bytes() == text
    found = paes.verify_file(folder / "sealed", identity=key_file)
    assert found == paes.Verification(True, size, [], 0)
    assert found


def test_source_may_be_a_file_object(
    folder: Path, identity: paes.Identity, recipient: paes.Recipient
) -> None:
    text = varied_bytes(700_000)
    assert paes.encrypt_file(io.BytesIO(text), folder / "sealed", recipients=recipient) == len(text)
    sealed = io.BytesIO((folder / "sealed").read_bytes())
    assert paes.inspect(sealed).text_bytes == len(text)
    assert paes.verify_file(sealed, identity=identity)
    paes.decrypt_file(sealed, folder / "opened", identity=identity)
    assert (folder / "opened").read_bytes() == text
    assert not sealed.closed


def test_keys_in_every_form(folder: Path, key_file: Path, identity: paes.Identity) -> None:
    (folder / "text").write_bytes(b"text")
    public = str(identity.recipient)
    secret = key_file.read_text().split()[-1]
    other = paes.Identity.generate()
    for number, recipients in enumerate([public, identity.recipient, [other.recipient, public]]):
        sealed = folder / f"sealed{number}"
        paes.encrypt_file(folder / "text", sealed, recipients=recipients)
        for given in [key_file, str(key_file), identity, secret, [other, key_file]]:
            with paes.open(sealed, identity=given) as file:
                assert file.read() == b"text"


def test_passphrase(folder: Path) -> None:
    (folder / "text").write_bytes(b"text")
    paes.encrypt_file(folder / "text", folder / "sealed", passphrase="correct horse")
    [stanza] = paes.inspect(folder / "sealed").stanzas
    assert stanza.type == "scrypt"
    assert stanza.work_factor > 10
    given = paes.Passphrase("correct horse")
    paes.decrypt_file(folder / "sealed", folder / "opened", passphrase=given)
    assert (folder / "opened").read_bytes() == b"text"
    with pytest.raises(paes.WrongKeyError):
        paes.verify_file(folder / "sealed", passphrase="wrong horse")
    with pytest.raises(paes.Error, match="work factor"):
        paes.verify_file(
            folder / "sealed",
            passphrase="correct horse",
            max_work_factor=stanza.work_factor - 1,
        )


@pytest.mark.parametrize("key_bytes", [16, 32])
def test_cobblestone_key(folder: Path, key_bytes: int) -> None:
    text = varied_bytes(50_000)
    (folder / "text").write_bytes(text)
    secret = varied_bytes(key_bytes, seed=1)
    key = paes.CobblestoneKey(secret, b"context")
    paes.encrypt_file(folder / "text", folder / "sealed", key=key, key_bits=8 * key_bytes)
    paes.decrypt_file(folder / "sealed", folder / "opened", key=key)
    assert (folder / "opened").read_bytes() == text
    for wrong in (paes.CobblestoneKey(secret), paes.CobblestoneKey(bytes(key_bytes), b"context")):
        with pytest.raises(paes.WrongKeyError):
            paes.decrypt_file(folder / "sealed", folder / "not opened", key=wrong)
    assert entries(folder) == ["opened", "sealed", "text"]


def test_progress_comes_in_the_callers_thread(
    folder: Path, identity: paes.Identity, recipient: paes.Recipient
) -> None:
    size = 96 << 20
    text = big_sparse_file(folder / "text", size)
    calls: list[tuple[int, int, int]] = []

    def progress(done: int, total: int) -> None:
        calls.append((threading.get_ident(), done, total))

    for work in (
        lambda: paes.encrypt_file(
            text, folder / "sealed", recipients=recipient, threads=1, progress=progress
        ),
        lambda: paes.verify_file(folder / "sealed", identity=identity, progress=progress),
        lambda: paes.decrypt_file(
            folder / "sealed", folder / "opened", identity=identity, progress=progress
        ),
    ):
        calls.clear()
        work()
        assert {thread for thread, _, _ in calls} == {threading.get_ident()}
        done_bytes = [done for _, done, _ in calls]
        assert done_bytes == sorted(done_bytes)
        assert calls[-1][1:] == (size, size)


class Slow(io.BytesIO):
    """A file object that takes seconds for all its bytes, however busy the machine is."""

    def read(self, size: int | None = -1, /) -> bytes:
        time.sleep(0.05)
        return super().read(size)


def test_exception_of_progress_ends_the_work(
    folder: Path, identity: paes.Identity, recipient: paes.Recipient, seal: Seal
) -> None:
    text = bytes(64 << 20)
    sealed = seal(text).read_bytes()
    calls = 0

    def progress(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        raise StopError(done)

    for work in (
        lambda: paes.encrypt_file(
            Slow(text), folder / "new", recipients=recipient, progress=progress
        ),
        lambda: paes.decrypt_file(
            Slow(sealed), folder / "new", identity=identity, progress=progress
        ),
    ):
        calls = 0
        with pytest.raises(StopError):
            work()
        assert calls == 1
        assert entries(folder) == ["sealed.paes"]


def test_exception_of_the_last_call_of_progress_undoes_nothing(
    folder: Path, recipient: paes.Recipient
) -> None:
    def progress(done: int, total: int) -> None:
        if done == total:
            raise StopError(done)

    with pytest.raises(StopError):
        paes.encrypt_file(
            io.BytesIO(b"text"), folder / "new", recipients=recipient, progress=progress
        )
    assert paes.inspect(folder / "new").text_bytes == 4


def test_progress_must_be_callable(folder: Path, recipient: paes.Recipient) -> None:
    (folder / "text").write_bytes(b"text")
    with pytest.raises(TypeError, match="progress"):
        paes.encrypt_file(
            folder / "text",
            folder / "sealed",
            recipients=recipient,
            progress=5,  # type: ignore[arg-type]
        )
    assert entries(folder) == ["text"]


def test_existing_output_is_refused(
    folder: Path, identity: paes.Identity, recipient: paes.Recipient
) -> None:
    (folder / "text").write_bytes(b"text")
    (folder / "out").write_bytes(b"precious")
    with pytest.raises(paes.FailureError, match="out"):
        paes.encrypt_file(folder / "text", folder / "out", recipients=recipient)
    assert (folder / "out").read_bytes() == b"precious"
    paes.encrypt_file(folder / "text", folder / "out", recipients=recipient, overwrite=True)
    with pytest.raises(paes.FailureError, match="text"):
        paes.decrypt_file(folder / "out", folder / "text", identity=identity)
    (folder / "text").write_bytes(b"other text")
    paes.decrypt_file(folder / "out", folder / "text", identity=identity, overwrite=True)
    assert (folder / "text").read_bytes() == b"text"
    with pytest.raises(paes.FailureError, match="out"):
        paes.open(folder / "out", "wb", recipients=recipient).close()


def test_damage_is_found(folder: Path, identity: paes.Identity, seal: Seal) -> None:
    text = varied_bytes(10 * CHUNK + 100)
    sealed = seal(text)
    for chunk in (3, 4, 7):
        damage(sealed, chunk_place(sealed, chunk) + 5)
    with pytest.raises(paes.CorruptError):
        paes.decrypt_file(sealed, folder / "opened", identity=identity)
    assert entries(folder) == ["sealed.paes"]
    found = paes.verify_file(sealed, identity=identity)
    assert not found
    assert found.text_bytes == len(text)
    assert found.damaged == [(3 * CHUNK, 5 * CHUNK), (7 * CHUNK, 8 * CHUNK)]
    assert found.more_damaged_chunks == 0
    with paes.open(sealed, identity=identity) as file:
        assert file.read_at(0, 3 * CHUNK) == text[: 3 * CHUNK]
        assert file.read_at(5 * CHUNK, 2 * CHUNK) == text[5 * CHUNK : 7 * CHUNK]
        with pytest.raises(paes.CorruptError):
            file.read_at(3 * CHUNK - 1, 2)


def test_more_damage_than_is_listed_is_counted(
    folder: Path, identity: paes.Identity, seal: Seal
) -> None:
    sealed = seal(bytes(300 * CHUNK))
    data = bytearray(sealed.read_bytes())
    for chunk in range(0, 240, 2):
        data[chunk_place(sealed, chunk)] ^= 1
    sealed.write_bytes(data)
    found = paes.verify_file(sealed, identity=identity)
    assert len(found.damaged) == 100
    assert found.more_damaged_chunks == 20


@pytest.mark.parametrize("left", [1, 30, 1000, 5000, -CHUNK - TAG, -1])
def test_cut_file(folder: Path, identity: paes.Identity, seal: Seal, left: int) -> None:
    sealed = seal(varied_bytes(3 * CHUNK))
    sealed.write_bytes(sealed.read_bytes()[:left])
    for call in (
        lambda: paes.decrypt_file(sealed, folder / "opened", identity=identity),
        lambda: paes.open(sealed, identity=identity),
    ):
        with pytest.raises(paes.CorruptError, match=r"sealed\.paes"):
            call()
    assert entries(folder) == ["sealed.paes"]


def test_wrong_key(folder: Path, seal: Seal) -> None:
    sealed = seal(b"text")
    other = paes.Identity.generate()
    for call in (
        lambda: paes.decrypt_file(sealed, folder / "opened", identity=other),
        lambda: paes.verify_file(sealed, identity=other),
        lambda: paes.open(sealed, identity=other),
        lambda: paes.open(sealed, passphrase="wrong"),
    ):
        with pytest.raises(paes.WrongKeyError):
            call()
    assert entries(folder) == ["sealed.paes"]


def test_who_can_open_must_be_said(folder: Path, seal: Seal, recipient: paes.Recipient) -> None:
    sealed = seal(b"text")
    with pytest.raises(paes.UsageError):
        paes.encrypt_file(sealed, folder / "out")
    with pytest.raises(paes.UsageError):
        paes.encrypt_file(sealed, folder / "out", recipients=recipient, passphrase="both")
    with pytest.raises(paes.UsageError):
        paes.encrypt_file(sealed, folder / "out", recipients=recipient, key_bits=192)
    with pytest.raises(paes.Error):
        paes.open(sealed)
    assert entries(folder) == ["sealed.paes"]


def test_keygen(folder: Path) -> None:
    recipient = paes.keygen(folder / "key.txt")
    assert stat.S_IMODE((folder / "key.txt").stat().st_mode) == 0o600
    [identity] = paes.Identity.load(folder / "key.txt")
    assert identity.recipient == recipient
    assert hash(identity.recipient) == hash(recipient)
    assert recipient != paes.Identity.generate().recipient
    assert recipient == paes.Recipient(str(recipient))
    assert repr(recipient) == f"Recipient('{recipient}')"
    before = (folder / "key.txt").read_text()
    with pytest.raises(paes.FailureError, match=r"key\.txt"):
        paes.keygen(folder / "key.txt")
    assert (folder / "key.txt").read_text() == before
    (folder / "public.txt").write_text(f"# whose it is\n\n{recipient}\n")
    assert paes.Recipient.load(folder / "public.txt") == [recipient]


WITHOUT_THREADS = """
import resource, paes
recipient = paes.Identity.generate().recipient
[pages, *_] = open("/proc/self/statm").read().split()
room = int(pages) * resource.getpagesize() + (3 << 19)  # a thread's stack has 2 MiB or more
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    paes.encrypt_file("text", "sealed", recipients=recipient, threads=1)
except paes.FailureError as error:
    print(error)
"""


def test_no_thread_for_a_long_call(
    folder: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (folder / "text").write_bytes(b"text")
    done = python(WITHOUT_THREADS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("threads: none could be started")
    assert entries(folder) == ["text"]


PIPE_OF_KEYS = """
import os, sys, threading, paes
os.mkfifo("pipe")
found = []
reader = threading.Thread(target=lambda: found.extend(getattr(paes, sys.argv[1]).load("pipe")))
reader.start()
with open("pipe", "w") as pipe:
    pipe.write(sys.argv[2])
reader.join()
print(len(found))
"""


@pytest.mark.parametrize("kind", ["Recipient", "Identity"])
def test_keys_come_from_a_pipe_of_another_thread(
    folder: Path,
    key_file: Path,
    recipient: paes.Recipient,
    python: Callable[..., subprocess.CompletedProcess[str]],
    kind: str,
) -> None:
    text = str(recipient) if kind == "Recipient" else key_file.read_text()
    done = python(PIPE_OF_KEYS, kind, text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


INTERRUPTED = """
import sys, paes
paes.encrypt_file("text", "sealed", recipients=sys.argv[1],
                  progress=lambda done, total: print("working", flush=True))
print("not interrupted", flush=True)
"""


def test_ctrl_c_ends_a_long_call(folder: Path, recipient: paes.Recipient) -> None:
    big_sparse_file(folder / "text", 2 << 30)
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(recipient)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "working\n"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=100)
        finally:
            child.kill()
    assert "not interrupted" not in out
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode == -signal.SIGINT
    assert entries(folder) == ["text"]


def test_other_threads_go_on_during_a_call(
    folder: Path,
    recipient: paes.Recipient,
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    # A child with one thread of its own that counts while a long call runs.
    big_sparse_file(folder / "text", 64 << 20)
    program = (
        "import sys, threading, time, paes\n"
        "ticks = 0\n"
        "is_over = False\n"
        "def count():\n"
        "    global ticks\n"
        "    while not is_over:\n"
        "        time.sleep(0.001)\n"
        "        ticks += 1\n"
        "thread = threading.Thread(target=count)\n"
        "thread.start()\n"
        "paes.encrypt_file('text', 'sealed', recipients=sys.argv[1], threads=1)\n"
        "seen, is_over = ticks, True\n"
        "thread.join()\n"
        "print(seen)\n"
    )
    done = python(program, recipient)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3


def test_rekey(key_file: Path, folder: Path) -> None:
    mine = paes.Identity.load(key_file)[0]
    other = paes.Identity.generate()
    path = folder / "file.paes"
    with paes.open(path, "wb", recipients=mine.recipient) as file:
        file.write(b"text")

    assert paes.rekey(path, identity=key_file, add=[other.recipient]) == 2
    assert paes.verify_file(path, identity=mine)
    assert paes.rekey(path, identity=mine, remove=[0]) == 1
    with pytest.raises(paes.WrongKeyError):
        paes.open(path, identity=mine)
    assert paes.rekey(path, identity=other, new_passphrase="a passphrase") == 1
    with paes.open(path, passphrase="a passphrase") as file:
        assert file.read() == b"text"
    with pytest.raises(paes.UsageError):
        paes.rekey(path, passphrase="a passphrase")
    with pytest.raises(paes.UsageError):
        paes.rekey(
            path, passphrase="a passphrase", add=[other.recipient], recipients=[mine.recipient]
        )
