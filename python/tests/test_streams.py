# SPDX-License-Identifier: Apache-2.0
"""paes.open: Python's file objects over encrypted files."""

from __future__ import annotations

import gc
import io
import mmap
import os
import random
import select
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import Seal
from hypothesis import given
from hypothesis import strategies as st
from varied import varied_bytes

import paes
import paes.sources

TEXT = varied_bytes(50_001)

sizes = st.one_of(
    st.integers(-2, 60_000), st.sampled_from([0, 1, 16383, 16384, 16385, 50_001, 10**7])
)
positions = st.one_of(
    st.integers(0, 60_000), st.sampled_from([0, 16384, 32768, 49_152, 50_000, 50_001, 2**62])
)
steps = st.one_of(
    st.tuples(st.just("read"), st.one_of(sizes, st.none())),
    st.tuples(st.just("readinto"), st.integers(0, 40_000)),
    st.tuples(st.just("readall")),
    st.tuples(st.just("readline"), st.integers(-1, 5000)),
    st.tuples(st.just("seek"), positions),
    st.tuples(st.just("seek back"), st.integers(0, 60_000)),
    st.tuples(st.just("seek on"), st.integers(0, 60_000)),
    st.tuples(st.just("seek end"), st.integers(-50_001, 100)),
    st.tuples(st.just("seek"), st.integers(-100, -1)),
)


def take(file: Any, step: tuple[Any, ...]) -> object:
    """Does what a step says and gives what came of it."""
    name, *arguments = step
    try:
        if name == "readinto":
            buffer = bytearray(arguments[0])
            return file.readinto(buffer), bytes(buffer)
        if name == "readall":
            return file.read() if isinstance(file, io.BytesIO) else file.readall()
        if name == "seek back":
            return file.seek(-min(arguments[0], file.tell()), os.SEEK_CUR)
        if name == "seek on":
            return file.seek(arguments[0], os.SEEK_CUR)
        if name == "seek end":
            return file.seek(arguments[0], os.SEEK_END)
        return getattr(file, name)(*arguments)
    except ValueError:
        return ValueError


@pytest.fixture
def sealed(seal: Seal) -> Path:
    return seal(TEXT)


@given(steps=st.lists(steps, max_size=12), buffered=st.booleans())
def test_reader_is_as_bytesio(
    sealed: Path, identity: paes.Identity, steps: list[tuple[Any, ...]], buffered: bool
) -> None:
    plain = io.BytesIO(TEXT)
    raw = paes.open(sealed, identity=identity)
    with io.BufferedReader(raw) if buffered else raw as file:
        for step in steps:
            if (buffered and step[0] == "readall") or step[:2] == ("read", -2):
                continue  # BufferedReader has no readall, and refuses other negative sizes
            assert take(file, step) == take(plain, step), step
            assert file.tell() == plain.tell()


def test_reader_is_a_raw_file(sealed: Path, identity: paes.Identity) -> None:
    with paes.open(sealed, identity=identity) as file:
        assert isinstance(file, io.RawIOBase)
        assert (file.readable(), file.writable(), file.seekable()) == (True, False, True)
        assert (file.closed, file.isatty(), file.name) == (False, False, str(sealed))
        assert file.size == len(TEXT)
        for call in (file.fileno, file.truncate):
            with pytest.raises(io.UnsupportedOperation):
                call()
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="whence"):
            file.seek(0, 5)
        with pytest.raises(TypeError):
            file.seek(1.5)  # type: ignore[arg-type]
        with pytest.raises(OverflowError):
            file.seek(2**63)
        assert file.tell() == 0
        assert file.seek(2**63 - 1) == 2**63 - 1
        assert file.read(1) == b""
        assert file.readinto(bytearray(1)) == 0
    for call in (
        file.read,
        file.readall,
        file.tell,
        file.readable,
        file.seekable,
        file.__enter__,
        lambda: file.seek(0),
        lambda: file.size,
        lambda: file.readinto(bytearray(1)),
        lambda: file.read_at(0, 1),
        lambda: file.read_at_into(0, bytearray(1)),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()
    file.close()
    assert file.closed


def test_read_at_leaves_the_position(sealed: Path, identity: paes.Identity) -> None:
    with paes.open(sealed, identity=identity) as file:
        file.seek(5)
        assert file.read_at(20_000, 100) == TEXT[20_000:20_100]
        assert file.read_at(50_000, 100) == TEXT[50_000:]
        assert file.read_at(2**63, 100) == b""
        assert file.read_at(2**64, 2**64) == b""
        assert file.read_at(50_000, 2**64) == TEXT[50_000:]
        for offset, size in ((-1, 5), (0, -1)):
            with pytest.raises(ValueError, match="negative"):
                file.read_at(offset, size)
        with pytest.raises(ValueError, match="negative"):
            file.read_at_into(-1, bytearray(5))
        assert file.read_at(0, 2**62) == TEXT
        buffer = bytearray(b"-" * 10)
        assert file.read_at_into(49_999, buffer) == 2
        assert buffer == TEXT[49_999:] + b"-" * 8
        assert file.tell() == 5


def test_what_is_never_opened_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    for file in (paes.EncryptedReader, paes.EncryptedWriter):
        with pytest.raises(TypeError):
            file()  # type: ignore[call-arg]
    gc.collect()
    assert said == []


class SeeksSo(io.BytesIO):
    """A file object whose seek returns something else than the place."""

    def __init__(self, data: bytes, answer: Any) -> None:
        super().__init__(data)
        self.answer = answer

    def seek(self, offset: int, whence: int = 0, /) -> Any:
        super().seek(offset, whence)
        return self.answer


def test_file_objects_that_tell_their_length_otherwise(
    sealed: Path, identity: paes.Identity
) -> None:
    with sealed.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        for source in (mapped, SeeksSo(file.read(), None)):
            with paes.open(source, identity=identity) as reader:
                assert reader.read() == TEXT
            assert paes.verify_file(source, identity=identity)
        for answer in (-1, 2**64):
            with pytest.raises(OSError, match=f"seek returned {answer}"):
                paes.open(SeeksSo(b"", answer), identity=identity)


@pytest.mark.parametrize("buffering", [0, -1])
def test_what_open_returns_stays_where_it_is(
    sealed: Path, identity: paes.Identity, buffering: int
) -> None:
    with sealed.open("rb", buffering=buffering) as source:
        start = source.read(10)
        with paes.open(source, identity=identity) as reader:
            assert reader.read() == TEXT
        assert paes.verify_file(source, identity=identity)
        assert paes.inspect(source).text_bytes == len(TEXT)
        assert source.tell() == 10
        assert start + source.read() == sealed.read_bytes()


def test_writer_is_a_raw_file(folder: Path, identity: paes.Identity) -> None:
    file = paes.open(folder / "new", "wb", recipients=identity.recipient)
    assert isinstance(file, io.RawIOBase)
    assert (file.readable(), file.writable(), file.seekable()) == (False, True, False)
    assert file.name == str(folder / "new")
    assert file.write(b"") == 0
    assert file.write(memoryview(b"abcdefgh").cast("I")) == 8
    assert file.write(bytearray(20_000)) == 20_000
    assert file.tell() == 20_008
    for call in (
        file.read,
        file.readline,
        lambda: file.seek(0),
        lambda: file.readinto(bytearray(1)),
    ):
        with pytest.raises(io.UnsupportedOperation):
            call()
    assert os.listdir(folder) == []
    file.close()
    file.close()
    for call in (file.tell, file.writable, lambda: file.write(b""), file.__enter__):
        with pytest.raises(ValueError, match="closed"):
            call()
    with paes.open(folder / "new", identity=identity) as reader:
        assert reader.read() == b"abcdefgh" + bytes(20_000)


@given(pieces=st.lists(st.integers(0, 40_000), max_size=8), buffered=st.booleans())
def test_writer_takes_any_pieces(
    folder: Path, identity: paes.Identity, pieces: list[int], buffered: bool
) -> None:
    text = varied_bytes(sum(pieces))
    raw = paes.open(folder / "x", "wb", recipients=identity.recipient, overwrite=True)
    with io.BufferedWriter(raw) if buffered else raw as file:
        start = 0
        for size in pieces:
            assert file.write(text[start : start + size]) == size
            start += size
    with paes.open(folder / "x", identity=identity) as file:
        assert file.read() == text


def test_exception_leaves_no_file(folder: Path, recipient: paes.Recipient) -> None:
    with (
        pytest.raises(KeyError),
        paes.open(folder / "new", "wb", recipients=recipient) as file,
    ):
        file.write(TEXT)
        raise KeyError
    assert file.closed
    assert os.listdir(folder) == []


def test_abandoned_file_is_not_there(folder: Path, recipient: paes.Recipient) -> None:
    file = paes.open(folder / "new", "wb", recipients=recipient)
    file.write(TEXT)
    file.abandon()
    file.close()
    assert os.listdir(folder) == []


def test_unclosed_writer_leaves_no_file(
    folder: Path,
    recipient: paes.Recipient,
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    file = paes.open(folder / "new", "wb", recipients=recipient)
    file.write(TEXT)
    del file
    gc.collect()
    assert os.listdir(folder) == []
    done = python(
        "import sys, paes\n"
        "file = paes.open('new', 'wb', recipients=sys.argv[1])\n"
        "file.write(bytes(100000))\n",
        recipient,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(folder) == []


def test_zipfile(folder: Path, identity: paes.Identity) -> None:
    with (
        paes.open(folder / "zip.paes", "wb", recipients=identity.recipient) as raw,
        zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr("a", TEXT)
        archive.writestr("b", b"b" * 100_000)
    with paes.open(folder / "zip.paes", identity=identity) as raw, zipfile.ZipFile(raw) as archive:
        assert archive.namelist() == ["a", "b"]
        assert archive.testzip() is None
        assert archive.read("a") == TEXT
        with archive.open("b") as member:
            member.seek(99_999)
            assert member.read() == b"b"


@pytest.mark.parametrize("how", ["", "gz"])
def test_tarfile(folder: Path, identity: paes.Identity, how: str) -> None:
    with (
        paes.open(folder / "tar.paes", "wb", recipients=identity.recipient) as raw,
        tarfile.open(fileobj=raw, mode=f"w|{how}") as archive,
    ):
        for name in ("a", "b", "c"):
            member = tarfile.TarInfo(name)
            member.size = len(TEXT)
            archive.addfile(member, io.BytesIO(TEXT))
    for mode in (f"r:{how}", f"r|{how}"):
        with (
            paes.open(folder / "tar.paes", identity=identity) as raw,
            tarfile.open(fileobj=raw, mode=mode) as archive,
        ):
            for member in archive:
                extracted = archive.extractfile(member)
                assert extracted is not None
                assert extracted.read() == TEXT
    with (
        paes.open(folder / "tar.paes", identity=identity) as raw,
        tarfile.open(fileobj=raw) as archive,
    ):
        assert archive.getnames() == ["a", "b", "c"]


def test_text(folder: Path, identity: paes.Identity) -> None:
    lines = [f"{number}: Grüße\n" for number in range(10_000)]
    with io.TextIOWrapper(
        paes.open(folder / "text", "wb", recipients=identity.recipient), encoding="utf-8"
    ) as file:
        file.writelines(lines)
    with io.TextIOWrapper(
        io.BufferedReader(paes.open(folder / "text", identity=identity)), encoding="utf-8"
    ) as file:
        assert list(file) == lines
        file.seek(0)
        assert file.readline() == lines[0]


class Source(io.BytesIO):
    """A file object whose reads do what `answer` makes of them."""

    def __init__(self, data: bytes, answer: Callable[[bytes, int], Any]) -> None:
        super().__init__(data)
        self.answer = answer
        self.reads = 0

    def read(self, size: int | None = -1, /) -> Any:
        self.reads += 1
        return self.answer(super().read(size), self.reads)


class Short(io.BytesIO):
    """A file object that returns fewer bytes than asked for, at least one."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.chance = random.Random(1)

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size >= 0
        return super().read(self.chance.randint(1, size) if size > 1 else size)


class BrokenError(Exception):
    pass


def break_after(reads: int) -> Callable[[bytes, int], bytes]:
    def answer(data: bytes, number: int) -> bytes:
        if number > reads:
            raise BrokenError(number)
        return data

    return answer


BIG_TEXT = varied_bytes(3 << 20)


def test_short_reads(folder: Path, seal: Seal, identity: paes.Identity) -> None:
    data = seal(BIG_TEXT).read_bytes()
    with paes.open(Short(data), identity=identity) as file:
        assert file.read() == BIG_TEXT
        assert file.read_at(100_000, 50_000) == BIG_TEXT[100_000:150_000]
    paes.decrypt_file(Short(data), folder / "opened", identity=identity)
    assert (folder / "opened").read_bytes() == BIG_TEXT
    paes.encrypt_file(Short(BIG_TEXT), folder / "again", recipients=identity.recipient)
    assert paes.verify_file(Short((folder / "again").read_bytes()), identity=identity)
    assert paes.inspect(Short(data)).text_bytes == len(BIG_TEXT)


def works_on(
    folder: Path, identity: paes.Identity, data: bytes, make: Callable[[bytes], Any]
) -> list[Callable[[], object]]:
    return [
        lambda: paes.open(make(data), identity=identity).read(),
        lambda: paes.decrypt_file(make(data), folder / "out", identity=identity),
        lambda: paes.verify_file(make(data), identity=identity),
        lambda: paes.encrypt_file(make(BIG_TEXT), folder / "out", recipients=identity.recipient),
    ]


@pytest.mark.parametrize("reads", [0, 1, 4])
def test_exceptions_of_a_source_come_through(
    folder: Path, seal: Seal, identity: paes.Identity, reads: int
) -> None:
    data = seal(BIG_TEXT).read_bytes()
    for work in works_on(folder, identity, data, lambda d: Source(d, break_after(reads))):
        with pytest.raises(BrokenError):
            work()
    assert os.listdir(folder) == ["sealed.paes"]


def test_a_reader_goes_on_after_an_exception_of_its_source(
    seal: Seal, identity: paes.Identity
) -> None:
    source = Source(seal(BIG_TEXT).read_bytes(), lambda data, number: data)
    with paes.open(source, identity=identity) as file:
        source.answer = break_after(0)
        with pytest.raises(BrokenError):
            file.read()
        assert file.tell() == 0
        source.answer = lambda data, number: data
        assert file.read() == BIG_TEXT
    assert not source.closed


@pytest.mark.parametrize(
    ("answer", "exception", "message"),
    [
        (lambda data, number: data + b"x", ValueError, "more bytes than"),
        (lambda data, number: data if number < 2 else None, BlockingIOError, "without waiting"),
        (lambda data, number: data if number < 2 else b"", paes.Error, "the file object"),
        (lambda data, number: "text", TypeError, "bytes-like"),
        (lambda data, number: 5, TypeError, "bytes-like"),
    ],
)
def test_sources_that_answer_wrongly(
    folder: Path,
    seal: Seal,
    identity: paes.Identity,
    answer: Callable[[bytes, int], Any],
    exception: type[Exception],
    message: str,
) -> None:
    data = seal(BIG_TEXT).read_bytes()
    for work in works_on(folder, identity, data, lambda d: Source(d, answer)):
        with pytest.raises(exception, match=message):
            work()
    assert os.listdir(folder) == ["sealed.paes"]


class Unready(io.FileIO):
    """A file whose reads or writes have nothing for a while, though its descriptor is ready."""

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self.until = time.monotonic() + 0.3
        self.calls = 0

    def is_unready(self) -> bool:
        self.calls += 1
        return time.monotonic() < self.until

    def readinto(self, buffer: Any, /) -> Any:
        return None if self.is_unready() else super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> Any:
        return None if self.is_unready() else super().read(size)

    def write(self, data: Any, /) -> Any:
        return None if self.is_unready() else super().write(data)


def test_a_descriptor_that_is_ready_too_early(folder: Path, identity: paes.Identity) -> None:
    plain = folder / "plain"
    plain.write_bytes(TEXT)
    for make in (lambda: Unready(plain, "rb"), lambda: io.BufferedReader(Unready(plain, "rb"))):
        with make() as source:
            paes.encrypt_file(source, folder / "sealed", recipients=identity.recipient)
            raw = source.raw if isinstance(source, io.BufferedReader) else source
            assert raw.calls < 200
        (folder / "sealed").unlink()
    with Unready(folder / "sealed", "wb") as target:
        with paes.open(target, "wb", recipients=identity.recipient) as file:
            file.write(TEXT)
        assert target.calls < 200
    assert paes.open(folder / "sealed", identity=identity).read() == TEXT
    # For as long as it takes.
    with plain.open("rb") as source:
        assert paes.sources._wait(source, select.POLLIN, 5000)


def test_a_file_that_grows_while_it_is_opened(
    folder: Path, identity: paes.Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes less room than it says, as files under /sys do."""
    growing = folder / "growing"
    growing.touch()
    os.truncate(growing, 100_000)
    read = os.pread

    def grow_and_read(number: int, size: int, offset: int) -> bytes:
        with growing.open("ab") as file:
            file.write(b"more")
        return read(number, size, offset)

    with growing.open("rb") as source, monkeypatch.context() as patched:
        patched.setattr("paes.sources.os.pread", grow_and_read)
        patched.setattr(
            "paes.sources._read_to_end", lambda file: pytest.fail("was read to its end")
        )
        paes.encrypt_file(source, folder / "sealed", recipients=identity.recipient)
    # What it held once it was opened.
    assert paes.open(folder / "sealed", identity=identity).read() == bytes(100_000) + b"more"


class Target:
    """A file object to write to, whose writes take what `taken` says."""

    def __init__(self, taken: Callable[[int], int | None]) -> None:
        self.taken = taken
        self.data = bytearray()
        self.writes = 0

    def write(self, data: bytes) -> int | None:
        self.writes += 1
        size = self.taken(len(data))
        self.data += data[: len(data) if size is None else size]
        return size


@pytest.mark.parametrize(
    "taken", [lambda size: size, lambda size: min(size, 1000), lambda size: None]
)
def test_targets_that_take_less(
    identity: paes.Identity, taken: Callable[[int], int | None]
) -> None:
    target = Target(taken)
    with paes.open(target, "wb", recipients=identity.recipient) as file:
        for start in range(0, len(TEXT), 7001):
            file.write(TEXT[start : start + 7001])
    with paes.open(io.BytesIO(target.data), identity=identity) as file:
        assert file.read() == TEXT


@pytest.mark.parametrize("answer", [0, -1, 10**9])
def test_targets_that_answer_wrongly(identity: paes.Identity, answer: int) -> None:
    target = Target(lambda size: answer)
    with pytest.raises(OSError, match=f"write returned {answer}"):
        paes.open(target, "wb", recipients=identity.recipient).close()
    assert target.writes == 1


@pytest.mark.parametrize("buffering", [0, 4096])
def test_a_target_that_has_to_wait(buffering: int, identity: paes.Identity, folder: Path) -> None:
    # Raw files of a descriptor that does not block say None, and buffered ones raise an exception.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got: list[bytes] = []

    def read() -> None:
        with os.fdopen(reading, "rb") as slow:
            while block := slow.read(10_000):
                got.append(block)
                time.sleep(0.001)

    reader = threading.Thread(target=read)
    with os.fdopen(writing, "wb", buffering=buffering) as target:
        file = paes.open(target, "wb", recipients=identity.recipient)
        reader.start()
        file.write(BIG_TEXT)
        file.close()
        os.set_blocking(writing, True)  # what a buffered file has left is its own to write
    reader.join()
    sealed = folder / "got"
    sealed.write_bytes(b"".join(got))
    assert paes.open(sealed, identity=identity).read() == BIG_TEXT


def test_a_target_that_cannot_wait(identity: paes.Identity) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object, /) -> None:  # type: ignore[override]
            return None

    with pytest.raises(BlockingIOError, match="cannot be written without waiting"):
        paes.open(Full(), "wb", recipients=identity.recipient)


def test_exceptions_of_a_target_come_through(identity: paes.Identity) -> None:
    def refuse(size: int) -> int:
        raise BrokenError(size)

    target = Target(lambda size: size)
    file = paes.open(target, "wb", recipients=identity.recipient)
    file.write(BIG_TEXT)
    target.taken = refuse
    with pytest.raises(BrokenError):
        while target.writes < 100:
            file.write(BIG_TEXT)
    # No chunk may be sealed twice, so that the file cannot be completed.
    with pytest.raises((paes.Error, BrokenError)):
        file.write(BIG_TEXT)
    with pytest.raises((paes.Error, BrokenError)):
        file.close()
    assert file.closed
    with pytest.raises(paes.CorruptError):
        paes.open(io.BytesIO(target.data), identity=identity).read()


def test_exceptions_of_a_target_come_through_close(identity: paes.Identity) -> None:
    def refuse(size: int) -> int:
        raise BrokenError(size)

    target = Target(lambda size: size)
    file = paes.open(target, "wb", recipients=identity.recipient)
    file.write(b"a little")
    target.taken = refuse
    with pytest.raises(BrokenError):
        file.close()
    assert file.closed


def send_ctrl_c_once(data: bytes, number: int) -> bytes:
    if number == 10:
        os.kill(os.getpid(), signal.SIGINT)
    return data


def test_ctrl_c_ends_a_long_read(folder: Path, identity: paes.Identity) -> None:
    size = 256 << 20
    with paes.open(folder / "long", "wb", recipients=identity.recipient) as writer:
        writer.write(mmap.mmap(-1, size))
    source = Source((folder / "long").read_bytes(), send_ctrl_c_once)
    buffer = mmap.mmap(-1, size)
    buffer[-1] = 1
    with paes.open(source, identity=identity, threads=1) as file:
        with pytest.raises(KeyboardInterrupt):
            file.readinto(buffer)
        assert file.tell() == 0
        assert buffer[-1] == 1
        assert file.read(10) == bytes(10)


@pytest.mark.parametrize("threads", [2, 0])
def test_ctrl_c_does_not_wait_for_all_of_a_slow_source(
    folder: Path, identity: paes.Identity, threads: int
) -> None:
    # Only the main thread handles a signal: it asks the source as the others do.
    with paes.open(folder / "long", "wb", recipients=identity.recipient) as writer:
        writer.write(mmap.mmap(-1, 64 << 20))
    source = Source((folder / "long").read_bytes(), send_ctrl_c_once)
    with paes.open(source, identity=identity, threads=threads) as file:
        with pytest.raises(KeyboardInterrupt):
            file.read()
        assert source.reads < 60  # in pieces of 256 KiB, of which the file has 257
        assert file.read(10) == bytes(10)


class Interrupted(io.BytesIO):
    """A file object that is interrupted by a signal between a seek and a read."""

    handler: Callable[[], object] | None = None

    def seek(self, offset: int, whence: int = 0, /) -> int:
        place = super().seek(offset, whence)
        handler, self.handler = self.handler, None
        if handler is not None:
            handler()
        return place


def test_a_signals_handler_reads_what_it_interrupts(seal: Seal, identity: paes.Identity) -> None:
    source = Interrupted(seal(BIG_TEXT).read_bytes())
    with paes.open(source, identity=identity, threads=1) as file:
        found: list[bytes] = []
        source.handler = lambda: found.append(file.read_at(1_000_000, 10))
        assert file.read_at(2_000_000, 10) == BIG_TEXT[2_000_000:2_000_010]
        assert found == [BIG_TEXT[1_000_000:1_000_010]]


def test_ctrl_c_ends_a_long_write(identity: paes.Identity) -> None:
    def interrupt(size: int) -> int:
        if target.writes == 10:
            os.kill(os.getpid(), signal.SIGINT)
        return size

    size = 256 << 20
    target = Target(interrupt)
    file = paes.open(target, "wb", recipients=identity.recipient, threads=1)
    with pytest.raises(KeyboardInterrupt):
        file.write(mmap.mmap(-1, size))
    assert len(target.data) < size
    # What was written is not written again.
    with pytest.raises(paes.Error, match="failed"):
        file.write(b"text")
    with pytest.raises(paes.Error, match="failed"):
        file.close()


@pytest.mark.parametrize("from_object", [False, True])
def test_eight_threads_on_one_reader(
    seal: Seal, identity: paes.Identity, from_object: bool
) -> None:
    sealed = seal(BIG_TEXT)
    source = io.BytesIO(sealed.read_bytes()) if from_object else sealed
    with paes.open(source, identity=identity) as file:

        def read_much(seed: int) -> int:
            chance = random.Random(seed)
            for _ in range(100):
                offset = chance.randrange(len(BIG_TEXT))
                size = chance.choice([1, 100, 4096, 100_000, 600_000])
                assert file.read_at(offset, size) == BIG_TEXT[offset : offset + size]
            return seed

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(read_much, range(8), timeout=100)) == list(range(8))


def test_threads_may_close_a_reader_that_others_use(seal: Seal, identity: paes.Identity) -> None:
    sealed = seal(BIG_TEXT)
    for _ in range(5):
        file = paes.open(sealed, identity=identity)

        def read_much(file: paes.EncryptedReader = file) -> str:
            while True:
                try:
                    assert file.read_at(1000, 1_000_000) == BIG_TEXT[1000:1_001_000]
                except ValueError as error:
                    return str(error)

        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read_much) for _ in range(2)]
            file.read_at(0, 100)
            file.close()
            assert {reader.result(timeout=100) for reader in readers} == {
                "I/O operation on closed file"
            }


def test_threads_may_close_a_writer_that_others_use(
    folder: Path, recipient: paes.Recipient
) -> None:
    for _ in range(5):
        file = paes.open(folder / "new", "wb", recipients=recipient)

        def write_much(file: paes.EncryptedWriter = file) -> str:
            while True:
                try:
                    file.write(BIG_TEXT)
                except ValueError as error:
                    return str(error)

        with ThreadPoolExecutor(2) as pool:
            writer = pool.submit(write_much)
            while file.tell() == 0:
                pass
            file.abandon()
            assert "closed" in writer.result(timeout=100)
        assert os.listdir(folder) == []


def test_many_open_readers_take_no_descriptors(
    seal: Seal, key_file: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    program = """
import io, resource, sys
import paes
import paes.sources
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
sealed = open(sys.argv[1], "rb").read()
[key] = paes.Identity.load(sys.argv[2])
files = [paes.open(io.BytesIO(sealed), identity=key) for _ in range(900)]
print(files[0].read() == files[-1].read() == b"text")
"""
    assert python(program, seal(b"text"), key_file).stdout == "True\n"
