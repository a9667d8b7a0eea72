# SPDX-License-Identifier: Apache-2.0
"""Encrypted files in an object store (S3), with its requests and their bytes counted."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from object_store import Store, running_store
from varied import varied_bytes

import paes

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from paes.filesystem import PaesFileSystem  # noqa: E402

CHUNK = 16_400
KEY = paes.CobblestoneKey(b"k" * 32, b"context")


def the_key() -> paes.CobblestoneKey:
    return KEY


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with running_store() as running:
        yield running


@pytest.fixture
def bucket(store: Store) -> str:
    return store.new_bucket()


@pytest.fixture
def fs(store: Store, bucket: str, key_file: Path, recipient: paes.Recipient) -> PaesFileSystem:
    return PaesFileSystem("s3", store.options, identity=str(key_file), recipients=str(recipient))


def sealed_bytes(text: bytes, recipient: paes.Recipient) -> bytes:
    out = io.BytesIO()
    with paes.open(out, "wb", recipients=recipient) as file:
        file.write(text)
    return out.getvalue()


def test_parts_of_a_large_object(
    store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient
) -> None:
    text = varied_bytes(200_000_000)
    store.hold(f"{bucket}/large", sealed_bytes(text, recipient))
    chosen = random.Random(39)
    places = [chosen.randrange(len(text) - 4096) for _ in range(10)]
    with fs.open(f"{bucket}/large", "rb") as file:
        for place in places:
            file.seek(place)
            assert file.read(4096) == text[place : place + 4096]
    head = 8192
    assert store.asked.sent <= 10 * 24 * 1024 + head
    # Its length, its head, its last chunk, and a request for each read.
    assert len(store.asked.requests) <= 13
    store.asked.reset()
    with fs.open(f"{bucket}/large", "rb") as file:
        assert file.read_at(100_000_000, 4096) == text[100_000_000:][:4096]
    assert store.asked.sent <= 3 * CHUNK  # the head was kept
    store.asked.reset()
    wanted = [fs.cat_file(f"{bucket}/large", place, place + 4096) for place in places[:3]]
    assert wanted == [text[place : place + 4096] for place in places[:3]]
    assert store.asked.sent <= 3 * 3 * CHUNK
    store.asked.reset()
    paths = [f"{bucket}/large"] * 10
    ends = [place + 4096 for place in places]
    assert fs.cat_ranges(paths, places, ends) == [text[p : p + 4096] for p in places]
    assert store.asked.sent <= 10 * 24 * 1024
    assert len(store.asked.requests) <= 12


def test_long_reads(
    store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient
) -> None:
    """What is read in order, or at once, takes few requests and nothing twice."""
    text = varied_bytes(60_000_000)
    store.hold(f"{bucket}/large", sealed_bytes(text, recipient))
    with fs.open(f"{bucket}/large", "rb") as file:
        buffered = io.BufferedReader(file, 100_000)
        for place in range(0, 40_000_000, 100_000):
            assert buffered.read(100_000) == text[place : place + 100_000]
    assert len(store.asked.requests) < 20
    assert store.asked.sent < 1.3 * 40_000_000
    store.asked.reset()
    assert fs.cat_file(f"{bucket}/large", 1, 50_000_000) == text[1:50_000_000]
    assert store.asked.sent < 1.001 * 50_000_000 + 4 * CHUNK
    assert len(store.asked.requests) <= 2 + 50_000_000 // (8 << 20) + 2


def test_listings(store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient) -> None:
    sealed = {size: sealed_bytes(varied_bytes(size), recipient) for size in (0, 5, 40_000)}
    sizes = {f"{bucket}/many/{n:04}": (0, 5, 40_000)[n % 3] for n in range(1000)}
    for name, size in sizes.items():
        store.hold(name, sealed[size])

    def asked_for(call: Callable[[], Any]) -> tuple[int, Any]:
        store.s3.invalidate_cache()
        store.asked.reset()
        result = call()
        return len(store.asked.requests), result

    for name in ("ls", "find"):
        own, _ = asked_for(lambda name=name: getattr(store.s3, name)(f"{bucket}/many", detail=True))
        ours, found = asked_for(
            lambda name=name: getattr(fs, name)(f"{bucket}/many", detail=True, sizes=False)
        )
        assert ours == own
        assert len(found) == 1000
    assert asked_for(lambda: fs.ls(f"{bucket}/many"))[0] == own
    assert {entry["size"] for entry in fs.ls(f"{bucket}/many")} == {None}
    # Heads are read for sizes, once.
    own, _ = asked_for(lambda: store.s3.find(f"{bucket}/many"))
    asked, total = asked_for(lambda: fs.du(f"{bucket}/many"))
    assert total == sum(sizes.values())
    assert asked == own + 1000
    assert store.asked.sent < 1000 * 8192 + 2_000_000
    again, found = asked_for(lambda: fs.ls(f"{bucket}/many", detail=True))
    assert again == own
    assert {entry["name"]: entry["size"] for entry in found} == sizes
    asked, found = asked_for(lambda: fs.find(f"{bucket}/many", detail=True))
    assert asked == own
    assert {name: entry["size"] for name, entry in found.items()} == sizes
    # One more for the file itself.
    one, info = asked_for(lambda: fs.info(f"{bucket}/many/0002"))
    assert (one, info["size"]) == (1, 40_000)
    # A file that has changed is read again.
    store.s3.pipe_file(f"{bucket}/many/0002", sealed[5])
    two, info = asked_for(lambda: fs.info(f"{bucket}/many/0002"))
    assert (two, info["size"]) == (2, 5)
    assert store.asked.sent <= 8192


def test_another_file_of_the_same_length(
    store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient
) -> None:
    """What a head said holds for that file, and not for another one of its name and length."""
    others = [paes.Identity.generate().recipient for _ in range(60)]
    out = io.BytesIO()
    with paes.open(out, "wb", recipients=[recipient, *others]) as file:
        file.write(b"text")
    long = 4 + len(out.getvalue()) - len(sealed_bytes(b"text", recipient))
    first = sealed_bytes(varied_bytes(long), recipient)
    assert len(first) == len(out.getvalue())
    for stored, size in ((first, long), (out.getvalue(), 4)):
        store.hold(f"{bucket}/file", stored)
        store.s3.invalidate_cache()
        assert fs.size(f"{bucket}/file") == size
        assert len(fs.cat_file(f"{bucket}/file", 0, 100_000)) == size


def test_a_callers_key_needs_no_head(store: Store, bucket: str) -> None:
    fs = PaesFileSystem("s3", store.options, key=the_key)
    texts = {f"{bucket}/{size}": varied_bytes(size) for size in (0, 1, 16_384, 16_385, 50_000)}
    fs.pipe(texts)
    store.s3.pipe_file(f"{bucket}/plain", b"no payload is as short")
    store.asked.reset()
    found = {entry["name"]: entry for entry in fs.ls(bucket)}
    assert len(store.asked.requests) == 1
    assert {name: found[name]["size"] for name in texts} == {n: len(t) for n, t in texts.items()}
    assert found[f"{bucket}/1"]["encrypted_size"] == 1 + 72
    assert not found[f"{bucket}/plain"]["is_encrypted"]
    store.asked.reset()
    assert fs.cat(list(texts)) == texts
    assert len(store.asked.of("GET")) == len(texts)
    assert store.asked.sent <= sum(map(len, texts.values())) + 100 * len(texts) + 4 * 16


def test_plain_files_beside(
    store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient
) -> None:
    fs.pipe_file(f"{bucket}/data/sealed", b"text")
    store.s3.pipe_file(f"{bucket}/data/_SUCCESS", b"")
    store.s3.pipe_file(f"{bucket}/data/README", b"Read me. " * 100)
    found = {entry["name"].rsplit("/", 1)[1]: entry for entry in fs.ls(f"{bucket}/data")}
    # Only the one that is too short to be encrypted is known to be plain without a read.
    assert found["_SUCCESS"]["size"] == 0
    assert found["README"]["size"] is None
    assert fs.du(f"{bucket}/data") == 4 + 900
    assert not fs.info(f"{bucket}/data/README")["is_encrypted"]
    assert fs.info(f"{bucket}/data/sealed")["is_encrypted"]
    with pytest.raises(paes.CorruptError):
        fs.cat_file(f"{bucket}/data/README")
    with pytest.raises(paes.CorruptError), fs.open(f"{bucket}/data/README"):
        pass
    with pytest.raises(FileNotFoundError):
        fs.cat_file(f"{bucket}/data/none")
    with pytest.raises(FileNotFoundError), fs.open(f"{bucket}/data/none"):
        pass
    with pytest.raises(IsADirectoryError), fs.open(f"{bucket}/data"):
        pass


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_writers_send_parts_and_complete_once(
    store: Store, bucket: str, fs: PaesFileSystem
) -> None:
    text = varied_bytes(33 << 20)
    with fs.open(f"{bucket}/parts", "wb", block_size=8 << 20) as file:
        for place in range(0, len(text), 1 << 20):
            file.write(text[place : place + (1 << 20)])
        assert len(store.asked.of("PUT")) >= 3
        assert not store.s3.exists(f"{bucket}/parts")
        store.s3.invalidate_cache()
    assert len(store.asked.of("PUT")) == 5
    assert len([one for one in store.asked.of("POST") if "uploads" in one[1]]) == 1
    assert len([one for one in store.asked.of("POST") if "uploadId" in one[1]]) == 1
    assert fs.cat_file(f"{bucket}/parts") == text
    # A small file is one request.
    store.asked.reset()
    with fs.open(f"{bucket}/small", "wb") as file:
        file.write(b"text")
    assert [one[0] for one in store.asked.requests] == ["PUT"]
    # After an exception there is neither a file nor a part.
    for size in (100, 33 << 20):
        with pytest.raises(KeyError), fs.open(f"{bucket}/cut", "wb", block_size=8 << 20) as file:
            file.write(text[:size])
            raise KeyError
        del file
        gc.collect()  # which completes what nobody closed
        store.s3.invalidate_cache()
        assert not store.s3.exists(f"{bucket}/cut")
        assert store.s3.list_multipart_uploads(bucket) == []


def test_transactions(store: Store, bucket: str, fs: PaesFileSystem) -> None:
    with fs.transaction:
        fs.pipe_file(f"{bucket}/one", b"first")
        with fs.open(f"{bucket}/two", "wb") as file:
            file.write(b"second")
        assert not store.s3.exists(f"{bucket}/one")
        assert not store.s3.exists(f"{bucket}/two")
    store.s3.invalidate_cache()
    assert fs.cat([f"{bucket}/one", f"{bucket}/two"]) == {
        f"{bucket}/one": b"first",
        f"{bucket}/two": b"second",
    }
    with pytest.raises(KeyError), fs.transaction:
        fs.pipe_file(f"{bucket}/one", b"new")
        fs.pipe_file(f"{bucket}/three", b"third")
        raise KeyError
    store.s3.invalidate_cache()
    assert fs.cat_file(f"{bucket}/one") == b"first"
    assert not store.s3.exists(f"{bucket}/three")
    assert store.s3.list_multipart_uploads(bucket) == []


def test_folders_come_and_go(store: Store, bucket: str, fs: PaesFileSystem, folder: Path) -> None:
    texts = {f"{n % 7}/{n}": varied_bytes(n * 997, seed=n) for n in range(60)}
    for name, text in texts.items():
        (folder / "plain" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "plain" / name).write_bytes(text)
    fs.put(f"{folder}/plain", f"{bucket}/sealed", recursive=True)
    assert len(store.asked.of("PUT")) == len(texts)
    store.asked.reset()
    fs.get(f"{bucket}/sealed", f"{folder}/back", recursive=True)
    # Small files come whole: a request for the length of each at most, and one for it.
    assert len(store.asked.requests) <= 2 * len(texts) + 20
    for name, text in texts.items():
        assert (folder / "back" / name).read_bytes() == text
    assert {p.relative_to(folder / "back") for p in (folder / "back").rglob("*")} == {
        p.relative_to(folder / "plain") for p in (folder / "plain").rglob("*")
    }
    assert fs.cat(f"{bucket}/sealed", recursive=True, on_error="omit") == {
        f"{bucket}/sealed/{name}": text for name, text in texts.items()
    }


def test_names(store: Store, bucket: str, fs: PaesFileSystem, key_file: Path) -> None:
    fs.pipe({f"{bucket}/data/a.paes": b"first", f"{bucket}/data/in/b.paes": b"second"})
    s3 = store.s3
    for root in (f"{bucket}/data", f"s3://{bucket}/data", f"paes::s3://{bucket}/data"):
        own = root.removeprefix("paes::")
        for pattern in ("*.paes", "**/*.paes", "a.paes", "in*", "in/", "*/", "none*"):
            assert fs.glob(f"{root}/{pattern}") == s3.glob(f"{own}/{pattern}")
        assert fs.find(root) == s3.find(own)
        assert fs.expand_path(root, recursive=True) == s3.expand_path(own, recursive=True)
        assert fs.ls(root, detail=False) == s3.ls(own, detail=False)
        assert sorted(map(str, fs.walk(root))) == sorted(map(str, s3.walk(own)))
        assert fs.cat(f"{root}/*.paes") == {f"{bucket}/data/a.paes": b"first"}
        assert fs.info(f"{root}/a.paes")["name"] == f"{bucket}/data/a.paes"
    assert fs.unstrip_protocol(f"{bucket}/data/a.paes") == f"paes://{bucket}/data/a.paes"
    assert fs.cat_file(f"paes://{bucket}/data/a.paes") == b"first"
    options = {"s3": store.options, "paes": {"identity": str(key_file)}}
    with fsspec.open_files(f"paes::s3://{bucket}/data/*.paes", "rb", **options) as files:
        assert [file.read() for file in files] == [b"first"]
    with fsspec.open(f"paes::s3://{bucket}/data/in/b.paes", **options) as file:
        assert file.read() == b"second"


def test_caches_below_when_they_are_asked_for(
    store: Store,
    bucket: str,
    fs: PaesFileSystem,
    folder: Path,
    key_file: Path,
    recipient: paes.Recipient,
) -> None:
    text = varied_bytes(3 << 20)
    fs.pipe_file(f"{bucket}/file", text)
    paes_options = {"identity": str(key_file), "recipients": str(recipient)}
    for cache in ("blockcache", "filecache", "simplecache"):
        options = {
            cache: {"cache_storage": str(folder / cache)},
            "s3": store.options,
            "paes": paes_options,
        }
        url = f"paes::{cache}::s3://{bucket}/file"
        for _ in range(2):
            store.asked.reset()
            with fsspec.open(url, **options) as file:
                file.seek(1 << 20)
                assert file.read(1000) == text[1 << 20 :][:1000]
        assert store.asked.of("GET") == []
        # A cache keeps what is in the store.
        assert all(
            text[1 << 20 :][:1000] not in one.read_bytes()
            for one in (folder / cache).iterdir()
            if one.is_file()
        )
        with fsspec.open_files([url], "rb", **options) as files:
            assert files[0].read() == text
    with fs.open(f"{bucket}/file", cache_type="all") as file:
        assert file.read() == text
    with fsspec.open_files([f"paes::simplecache::s3://{bucket}/new"], "wb", **options) as files:
        files[0].write(text)
    store.s3.invalidate_cache()
    assert text[:1000] not in store.s3.cat_file(f"{bucket}/new")
    assert fs.cat_file(f"{bucket}/new") == text


def test_a_listing_may_be_older_than_a_file(
    store: Store, bucket: str, fs: PaesFileSystem, recipient: paes.Recipient
) -> None:
    for size in (100_000, 50_000, 200_000, 1_000_000):
        text = varied_bytes(size)
        # Past the file system, which remembers its listing.
        store.hold(f"{bucket}/file", sealed_bytes(text, recipient))
        with fs.open(f"{bucket}/file") as file:
            assert file.read() == text
        store.s3.ls(bucket)


def test_awaited(store: Store, bucket: str, key_file: Path, recipient: paes.Recipient) -> None:
    text = varied_bytes(1 << 20)

    async def work(folder: str) -> None:
        fs = PaesFileSystem(
            "s3", store.options, identity=str(key_file), recipients=recipient, asynchronous=True
        )
        session = await fs.set_session()
        names = [f"{folder}/{n}" for n in range(20)]
        await fs._pipe({name: text[: 1000 * n] for n, name in enumerate(names)})
        await fs._pipe_file(f"{folder}/large", text)
        assert await fs._cat_file(f"{folder}/large") == text
        assert await fs._cat_file(f"{folder}/large", -5000, -10) == text[-5000:-10]
        assert (await fs._info(f"{folder}/large"))["size"] == len(text)
        assert await fs._du(folder) == len(text) + sum(1000 * n for n in range(20))
        assert len(await fs._find(folder)) == 21
        assert {e["size"] for e in await fs._ls(folder, sizes=True)} >= {0, 1000, len(text)}
        assert await fs._sizes(names[:3]) == [0, 1000, 2000]
        assert await fs._glob(f"{folder}/1*") == sorted(n for n in names if "/1" in n[-3:])
        found = await fs._cat_ranges([names[5], names[6], f"{folder}/none"], 10, 20)
        assert found[:2] == [text[10:20]] * 2
        assert isinstance(found[2], FileNotFoundError)
        with pytest.raises(FileNotFoundError):
            await fs._cat_file(f"{folder}/none")
        assert await fs._exists(names[0])
        await fs._rm_file(names[0])
        assert not await fs._exists(names[0])
        await fs._cp_file(names[1], f"{folder}/copy")
        assert await fs._cat_file(f"{folder}/copy") == text[:1000]
        async with await fs.open_async(f"{folder}/large") as file:
            file.seek(500_000)
            assert await file.read(10) == text[500_000:500_010]
        await session.close()

    asyncio.run(work(bucket))


def test_objects_travel_without_secrets(
    store: Store,
    bucket: str,
    key_file: Path,
    identity: paes.Identity,
    recipient: paes.Recipient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAES_TEST_KEY", str(key_file))
    for named in (str(key_file), key_file, "$PAES_TEST_KEY", "${PAES_TEST_KEY}", [str(key_file)]):
        fs = PaesFileSystem("s3", store.options, identity=named, recipients=[recipient])
        copy = pickle.loads(pickle.dumps(fs))
        assert copy == fs
        assert hash(copy) == hash(fs)
        copy.pipe_file(f"{bucket}/file", b"text")
        assert fs.cat_file(f"{bucket}/file") == b"text"
    fs = PaesFileSystem("s3", store.options, identity="$PAES_TEST_KEY", recipients=[recipient])
    assert type(fs).from_json(fs.to_json()).cat_file(f"{bucket}/file") == b"text"
    other = PaesFileSystem("s3", store.options, identity="$OTHER", recipients=[recipient])
    assert other != fs
    with pytest.raises(paes.UsageError, match="has no OTHER in its environment"):
        other.cat_file(f"{bucket}/file")
    fs = PaesFileSystem("s3", store.options, key=the_key)
    pickle.loads(pickle.dumps(fs)).pipe_file(f"{bucket}/keyed", b"text")
    assert fs.cat_file(f"{bucket}/keyed") == b"text"
    secret = "AGE-SECRET-KEY-1" + "Q" * 58
    for options in (
        {"identity": identity},
        {"identity": [str(key_file), identity]},
        {"identity": secret},
        {"passphrase": "a passphrase"},
        {"passphrase": paes.Passphrase("a passphrase")},
        {"key": KEY},
    ):
        fs = PaesFileSystem("s3", store.options, **options)
        for travel in (pickle.dumps, lambda fs: fs.to_json()):
            with pytest.raises(TypeError, match="a secret does not travel") as told:
                travel(fs)
            assert secret not in str(told.value)
        assert fs != PaesFileSystem("s3", store.options, **options)
