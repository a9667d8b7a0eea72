# SPDX-License-Identifier: Apache-2.0
"""fsspec's file systems with paes on top: "paes::" before an address."""

from __future__ import annotations

import importlib.metadata
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Seal
from varied import varied_bytes

import paes

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from paes.filesystem import PaesFileSystem  # noqa: E402

TEXT = varied_bytes(200_001)


def is_a_distribution() -> bool:
    return any(True for _ in importlib.metadata.distributions(name="paes"))


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    """Registers what the package's entry point registers, where only its files are there."""
    if not is_a_distribution():
        fsspec.register_implementation("paes", PaesFileSystem)


@pytest.mark.skipif(not is_a_distribution(), reason="paes has not been installed as a package")
def test_entry_point() -> None:
    [found] = importlib.metadata.entry_points(group="fsspec.specs", name="paes")
    assert found.load() is PaesFileSystem
    assert fsspec.get_filesystem_class("paes") is PaesFileSystem


@pytest.fixture
def keys(key_file: Path, recipient: paes.Recipient) -> dict[str, Any]:
    return {"identity": str(key_file), "recipients": str(recipient)}


@pytest.fixture(params=["local", "memory"])
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The address of a folder below paes."""
    if request.param == "local":
        yield f"file://{folder}"
    else:
        memory = fsspec.filesystem("memory")
        memory.makedirs("/folder")
        yield "memory://folder"
        memory.rm("/folder", recursive=True)


def test_write_and_read(address: str, keys: dict[str, Any]) -> None:
    url = f"paes::{address}/sealed"
    with fsspec.open(url, "wb", paes=keys) as file:
        file.write(TEXT)
    with fsspec.open(f"{address}/sealed", "rb") as file:
        assert TEXT[:1000] not in file.read()
    with fsspec.open(url, "rb", paes=keys) as file:
        assert file.read() == TEXT
        file.seek(100_000)
        assert file.read(10) == TEXT[100_000:100_010]


def test_text_mode(address: str, keys: dict[str, Any]) -> None:
    lines = [f"{number}: Grüße\n" for number in range(5000)]
    url = f"paes::{address}/sealed"
    with fsspec.open(url, "wt", encoding="utf-8", paes=keys) as file:
        file.writelines(lines)
    with fsspec.open(url, "rt", encoding="utf-8", paes=keys) as file:
        assert list(file) == lines


def test_file_system(address: str, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    assert isinstance(fs, PaesFileSystem)
    path = f"{root}/sealed"
    assert not fs.exists(path)
    fs.pipe_file(path, TEXT)
    assert fs.exists(path)
    [entry] = fs.ls(root)
    assert entry["size"] is None
    [entry] = fs.ls(root, sizes=True)
    assert entry["size"] == len(TEXT)
    info = fs.info(path)
    assert info["size"] == len(TEXT)
    assert info["encrypted_size"] > len(TEXT)
    assert fs.size(path) == len(TEXT)
    assert fs.isfile(path)
    assert fs.isdir(root)
    assert fs.cat_file(path) == TEXT
    assert fs.cat_file(path, 5, 20_000) == TEXT[5:20_000]
    assert fs.cat_file(path, -10) == TEXT[-10:]
    assert fs.cat_file(path, 5, -5) == TEXT[5:-5]
    assert fs.head(path, 10) == TEXT[:10]
    assert fs.tail(path, 10) == TEXT[-10:]
    assert fs.cat_ranges([path, path], [0, 100], [10, 200]) == [TEXT[:10], TEXT[100:200]]
    assert entry["encrypted_size"] == info["encrypted_size"]
    assert [name.rsplit("/", 1)[1] for name in fs.ls(root, detail=False)] == ["sealed"]
    fs.makedirs(f"{root}/inner/most")
    assert fs.isdir(f"{root}/inner/most")
    assert fs.info(f"{root}/inner")["type"] == "directory"
    assert fs.isdir(f"{root}/inner/most")
    fs.rmdir(f"{root}/inner/most")
    assert not fs.exists(f"{root}/inner/most")
    fs.rm_file(path)
    assert not fs.exists(path)


def test_a_writer_that_is_refused_leaves_the_old_file(address: str, keys: dict[str, Any]) -> None:
    url = f"paes::{address}/sealed"
    with fsspec.open(url, "wb", paes=keys) as file:
        file.write(TEXT)
    for given in ({}, {**keys, "kernel": "none such"}, {**keys, "key_bits": 5}):
        with pytest.raises(paes.UsageError), fsspec.open(url, "wb", paes=given):
            pass
    with fsspec.open(url, "rb", paes=keys) as file:
        assert file.read() == TEXT


def test_files_that_are_not_encrypted(address: str, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    for name, text in (("plain", b"text"), ("long", b"text" * 1000)):
        path = f"{root}/{name}"
        fs.fs.pipe_file(path, text)
        assert fs.isfile(path)
        assert not fs.isdir(path)
        info = fs.info(path)
        assert (info["size"], info["is_encrypted"]) == (len(text), False)
        with pytest.raises(paes.CorruptError):
            fs.cat_file(path)
    fs.pipe_file(f"{root}/sealed", b"text")
    assert fs.du(root) == 4 + 4000 + 4
    assert not fs.isfile(f"{root}/none")
    assert not fs.isdir(f"{root}/none")
    # What only looks like one is damaged.
    fs.fs.pipe_file(f"{root}/cut", fs.fs.cat_file(f"{root}/sealed")[:4100])
    with pytest.raises(paes.CorruptError, match="cut: truncated"):
        fs.info(f"{root}/cut")
    fs.fs.pipe_file(f"{root}/cut", b"\x89PAES\r\n\x1a\1\2" + bytes(1000))
    with pytest.raises(paes.CorruptError, match="cut"):
        fs.info(f"{root}/cut")


def test_sizes_of_age_files(address: str, keys: dict[str, Any], folder: Path) -> None:
    """Their payload begins where the header ends, which may be beyond what is read of it first."""
    pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    mine = pyrage.x25519.Recipient.from_str(keys["recipients"])
    others = [pyrage.x25519.Identity.generate().to_public() for _ in range(100)]
    for recipients in ([mine], [*others, mine]):
        for size in (0, 1, 65_536, 65_537, 300_000):
            text = varied_bytes(size)
            fs.fs.pipe_file(f"{root}/age", pyrage.encrypt(text, recipients))
            assert fs.size(f"{root}/age") == size
            assert fs.cat_file(f"{root}/age") == text
            assert fs.cat_file(f"{root}/age", -10) == text[-10:]
            assert fs.cat_ranges([f"{root}/age"] * 2, [0, size // 2], [9, size]) == [
                text[:9],
                text[size // 2 :],
            ]
    fs.fs.pipe_file(f"{root}/age", pyrage.encrypt(text, [mine], armored=True))
    assert fs.info(f"{root}/age")["size"] is None
    with pytest.raises(paes.UsageError, match="armor"):
        fs.cat_file(f"{root}/age")


def test_many_recipients_move_the_text(address: str, keys: dict[str, Any]) -> None:
    everyone = [keys["recipients"], *(paes.Identity.generate().recipient for _ in range(200))]
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes={**keys, "recipients": everyone})
    for size in (0, 1, 16_384, 16_385, 100_000):
        fs.pipe_file(f"{root}/file", varied_bytes(size))
        assert fs.size(f"{root}/file") == size
        assert fs.cat_file(f"{root}/file") == varied_bytes(size)
        assert fs.cat_file(f"{root}/file", 1, 20_000) == varied_bytes(size)[1:20_000]


def test_open_files_does_not_pass_by_the_encryption(folder: Path, keys: dict[str, Any]) -> None:
    """fsspec asks a cache below for the files of a list, and a cache knows no encryption."""
    options = {"paes": keys, "simplecache": {"cache_storage": str(folder / "cache")}}
    url = f"paes::simplecache::file://{folder}/sealed"
    with fsspec.open_files([url], "wb", **options) as [file]:
        file.write(TEXT)
    assert paes.inspect(folder / "sealed").text_bytes == len(TEXT)
    with fsspec.open_files([url], "rb", **options) as [file]:
        assert file.read() == TEXT


def test_file_systems_below_that_are_chained(folder: Path, keys: dict[str, Any]) -> None:
    (folder / "inner").mkdir()
    local = fsspec.filesystem("file")
    for fs in (
        PaesFileSystem("dir", {"path": f"{folder}/inner", "fs": local}, **keys),
        PaesFileSystem("asyncwrapper", {"fs": local, "asynchronous": False}, **keys),
    ):
        root = "" if type(fs.fs).__name__ == "DirFileSystem" else f"{folder}/inner/"
        fs.pipe_file(f"{root}one", TEXT)
        assert fs.cat_file(f"{root}one") == TEXT
        assert fs.cat_file(f"{root}one", 5, 10) == TEXT[5:10]
        with fs.open(f"{root}one") as file:
            assert file.read() == TEXT
        assert fs.du(root or "/") == len(TEXT)
        assert paes.inspect(folder / "inner" / "one").text_bytes == len(TEXT)


def test_files_are_copied_moved_and_removed(address: str, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    fs.makedirs(f"{root}/from/inner")
    fs.pipe_file(f"{root}/from/one", TEXT)
    fs.pipe_file(f"{root}/from/inner/two", b"text")
    fs.cp_file(f"{root}/from/one", f"{root}/copy")
    assert fs.cat_file(f"{root}/copy") == TEXT
    assert fs.fs.cat_file(f"{root}/copy") == fs.fs.cat_file(f"{root}/from/one")
    fs.copy(f"{root}/from", f"{root}/to", recursive=True)
    assert fs.cat_file(f"{root}/to/inner/two") == b"text"
    fs.mv(f"{root}/copy", f"{root}/moved")
    assert fs.cat_file(f"{root}/moved") == TEXT
    assert not fs.exists(f"{root}/copy")
    fs.rm(f"{root}/from", recursive=True)
    assert not fs.exists(f"{root}/from")
    assert sorted(name.rsplit("/", 1)[1] for name in fs.ls(root, detail=False)) == ["moved", "to"]


def test_several_files_are_named_in_a_list(
    address: str, folder: Path, keys: dict[str, Any]
) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    both = [f"{root}/one", f"{root}/two"]
    moved = [f"{root}/three", f"{root}/four"]
    fs.pipe(dict.fromkeys(both, TEXT))
    fs.mv(both, moved)
    assert fs.cat(moved) == dict.fromkeys(map(fs._strip_protocol, moved), TEXT)
    fs.get(moved, [str(folder / "plain1"), str(folder / "plain2")])
    assert (folder / "plain2").read_bytes() == TEXT
    fs.rm(moved)
    assert fs.ls(root) == [] or all("plain" in entry["name"] for entry in fs.ls(root))


def test_files_come_and_go_whole(address: str, folder: Path, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    (folder / "plain").write_bytes(TEXT)
    fs.put_file(str(folder / "plain"), f"{root}/sealed")
    fs.get_file(f"{root}/sealed", str(folder / "again"))
    assert (folder / "again").read_bytes() == TEXT


def test_exception_leaves_nothing_that_opens(address: str, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    path = f"{root}/sealed"
    with pytest.raises(KeyError), fs.open(path, "wb") as file:
        file.write(TEXT)
        raise KeyError
    assert file.closed
    if fs.exists(path):
        with pytest.raises(paes.CorruptError):
            fs.cat_file(path)


def test_exception_leaves_a_local_file_as_it_was(folder: Path, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::file://{folder}", paes=keys)
    for before in ([], ["sealed"]):
        with pytest.raises(KeyError), fs.open(f"{root}/sealed", "wb") as file:
            file.write(TEXT)
            raise KeyError
        assert os.listdir(folder) == before
        fs.pipe_file(f"{root}/sealed", b"old")
        assert fs.cat_file(f"{root}/sealed") == b"old"
    file = fs.open(f"{root}/sealed", "wb")
    file.write(TEXT)
    del file
    assert fs.cat_file(f"{root}/sealed") == b"old"
    # An option of fsspec's local files.
    options = {"file": {"auto_mkdir": True}}
    with fsspec.open(f"paes::file://{root}/new/one", "wb", paes=keys, **options) as file:
        file.write(TEXT)
    assert fs.cat_file(f"{root}/new/one") == TEXT


@pytest.mark.parametrize("of_the_inner", [False, True])
def test_transactions(address: str, keys: dict[str, Any], of_the_inner: bool) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    transacting = fs.fs if of_the_inner else fs
    with transacting.transaction:
        fs.pipe_file(f"{root}/one", TEXT)
        assert not fs.exists(f"{root}/one")
        with pytest.raises(KeyError), fs.open(f"{root}/cut", "wb") as file:
            file.write(TEXT)
            raise KeyError
    assert fs.cat_file(f"{root}/one") == TEXT
    assert not fs.exists(f"{root}/cut")
    with pytest.raises(KeyError), transacting.transaction:
        fs.pipe_file(f"{root}/one", b"new")
        raise KeyError
    assert fs.cat_file(f"{root}/one") == TEXT


def test_wrong_key_and_damage(address: str, keys: dict[str, Any]) -> None:
    url = f"paes::{address}/sealed"
    with fsspec.open(url, "wb", paes=keys) as file:
        file.write(TEXT)
    other = {"identity": paes.Identity.generate()}
    with pytest.raises(paes.WrongKeyError), fsspec.open(url, paes=other):
        pass
    fs, path = fsspec.core.url_to_fs(f"{address}/sealed")
    sealed = bytearray(fs.cat_file(path))
    sealed[-20_000] ^= 1
    fs.pipe_file(path, bytes(sealed))
    with pytest.raises(paes.CorruptError), fsspec.open(url, paes=keys) as file:
        file.read()


def test_mode_must_be_known(address: str, keys: dict[str, Any]) -> None:
    fs, root = fsspec.core.url_to_fs(f"paes::{address}", paes=keys)
    with pytest.raises(ValueError, match="mode must be"):
        fs.open(f"{root}/sealed", "ab")


def test_options_of_the_file_system(folder: Path) -> None:
    key = paes.CobblestoneKey(b"k" * 16, b"context")
    fs = PaesFileSystem(target_protocol="file", key=key, key_bits=128, threads=1)
    fs.pipe_file(str(folder / "sealed"), TEXT)
    with paes.open(folder / "sealed", key=key) as file:
        assert file.read() == TEXT
    assert fs.cat_file(str(folder / "sealed")) == TEXT


def test_names_are_those_of_other_chained_file_systems(
    folder: Path, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative names above all: a pattern is compared with what `ls` calls the files."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    fs = fsspec.filesystem("paes", target_protocol="file", **keys)
    other = fsspec.filesystem("simplecache", target_protocol="file")
    fs.makedirs("data/inner")
    fs.pipe({"data/a.paes": b"first", "data/inner/b.paes": b"second"})
    for root in ("data", f"{folder}/data", "~/data", f"file://{folder}/data", "paes://data"):
        same = root.removeprefix("paes://")
        for pattern in ("*.paes", "**/*.paes", "a.paes", "in*", "none*"):
            found = fs.glob(f"{root}/{pattern}")
            assert found == other.glob(f"{same}/{pattern}")
            assert bool(found) == (pattern != "none*")
        assert fs.find(root) == other.find(same)
        assert fs.expand_path(root, recursive=True) == other.expand_path(same, recursive=True)
        assert list(fs.walk(root)) == list(other.walk(same))
        assert fs.ls(root, detail=False) == other.ls(same, detail=False)
        assert fs.du(root) == len(b"firstsecond")
        assert set(fs.du(root, total=False)) == set(other.du(same, total=False))
        assert fs.cat(f"{root}/a.paes") == b"first"
        assert fs.cat(f"{root}/*.paes") == {str(folder / "data/a.paes"): b"first"}
        assert fs.info(f"{root}/a.paes")["name"] == other.info(f"{same}/a.paes")["name"]
    fs.get("data", "plain", recursive=True)
    assert (folder / "plain/inner/b.paes").read_bytes() == b"second"
    fs.put("plain", "again", recursive=True)
    assert fs.cat_file("again/inner/b.paes") == b"second"
    with fsspec.open_files("paes::data/*.paes", "rb", paes=keys)[0] as file:
        assert file.read() == b"first"


class Handler(BaseHTTPRequestHandler):
    """Files of a folder, whole or in ranges, with a note of each range."""

    protocol_version = "HTTP/1.1"
    root: Path
    ranges: list[tuple[int, int]]

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, with_body: bool) -> None:
        path = self.root / os.path.basename(self.path)
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        size = len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            first, last = int(wanted[1]), min(int(wanted[2] or size - 1), size - 1)
            data = data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        else:
            first = 0
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_body:
            self.ranges.append((first, first + len(data)))
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The address of an HTTP server for `folder`, and the ranges that it has sent."""
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    ranges: list[tuple[int, int]] = []
    handler = type("FolderHandler", (Handler,), {"root": folder, "ranges": ranges})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", ranges
        listening.shutdown()
        thread.join()


def test_ranges_alone_are_fetched(
    server: tuple[str, list[tuple[int, int]]], seal: Seal, keys: dict[str, Any]
) -> None:
    """Without an option of the file system below, whose own caches take much more."""
    base, ranges = server
    text = varied_bytes(40 << 20)
    sealed = seal(text)
    with fsspec.open(f"paes::{base}/{sealed.name}", "rb", paes=keys) as file:
        for offset in range(3 << 20, 33 << 20, 3 << 20):
            file.seek(offset)
            assert file.read(4096) == text[offset : offset + 4096]
    # Ten chunks, the last chunk of the file, and what stands before the first.
    assert sum(end - first for first, end in ranges) < 12 * 16400 + 10_000
    assert len(ranges) < 20
    ranges.clear()
    fs, path = fsspec.core.url_to_fs(f"paes::{base}/{sealed.name}", paes=keys)
    with fs.open(path, cache_type="all") as file:
        assert file.read(10) == text[:10]
    assert ranges == [(0, sealed.stat().st_size)]


@pytest.mark.parametrize("size", [1000, 300_000, 40 << 20])
def test_what_is_read_in_order_takes_few_requests(
    server: tuple[str, list[tuple[int, int]]], seal: Seal, keys: dict[str, Any], size: int
) -> None:
    base, ranges = server
    text = varied_bytes(40 << 20)
    sealed = seal(text)
    with fsspec.open(f"paes::{base}/{sealed.name}", "rb", paes=keys) as file:
        read = bytearray()
        while piece := file.read(size):
            read += piece
    assert read == text
    assert len(ranges) < 40
    assert sum(end - first for first, end in ranges) < 1.2 * len(text)


def test_http(server: tuple[str, list[tuple[int, int]]], seal: Seal, keys: dict[str, Any]) -> None:
    base, ranges = server
    sealed = seal(varied_bytes(8 << 20))
    url = f"paes::{base}/{sealed.name}"
    options = {"paes": keys, "http": {"block_size": 65536}}
    with fsspec.open(url, "rb", **options) as file:
        file.seek(4 << 20)
        assert file.read(100) == varied_bytes(8 << 20)[4 << 20 : (4 << 20) + 100]
    # The file is read where it is needed alone.
    assert sum(end - first for first, end in ranges) < 2 << 20
    with fsspec.open(url, "rb", **options) as file:
        assert file.read() == varied_bytes(8 << 20)
    fs, path = fsspec.core.url_to_fs(url, **options)
    assert fs.info(path)["size"] == 8 << 20
    assert fs.cat_file(path, 10, 20) == varied_bytes(20)[10:]
    with pytest.raises(FileNotFoundError), fsspec.open(f"paes::{base}/none", "rb", **options):
        pass
