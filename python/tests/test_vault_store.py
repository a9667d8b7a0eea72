# SPDX-License-Identifier: Apache-2.0
"""A vault in an object store (S3), with its requests and their bytes counted, and data tools."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_store import Store, running_store
from varied import varied_bytes
from vaults import MASTER_KEY, PASSPHRASE, Tree, stored_tree

import paes

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from paes.vault import VaultFileSystem  # noqa: E402

BLOCK = 4096 + 32
HEADER = 18
LONG = "long " * 40


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with running_store() as running:
        yield running


@pytest.fixture
def bucket(store: Store) -> str:
    return store.new_bucket()


@pytest.fixture
def pass_file(folder: Path) -> str:
    (folder / "pass").write_text(PASSPHRASE + "\n")
    return str(folder / "pass")


@pytest.fixture
def fs(store: Store, bucket: str, pass_file: str) -> VaultFileSystem:
    """A file system that knows nothing yet."""
    below = fsspec.filesystem("s3", **store.options, skip_instance_cache=True)
    return VaultFileSystem(f"{bucket}/vault", fs=below, passphrase_file=pass_file)


def hold(store: Store, bucket: str, tree: Tree) -> None:
    stored_tree(tree, lambda path, data: store.hold(f"{bucket}/vault/{path}", data))
    store.asked.reset()


def test_parts_of_a_large_file(store: Store, bucket: str, fs: VaultFileSystem) -> None:
    text = varied_bytes(50_000_000)
    hold(store, bucket, {"large": text})
    assert fs.size("large") == len(text)
    assert store.asked.sent < 1000  # the configuration, an IV, and no byte of the file
    chosen = random.Random(39)
    places = [chosen.randrange(len(text) - 4096) for _ in range(10)]
    store.asked.reset()
    with fs.open("large") as file:
        for place in places:
            file.seek(place)
            assert file.read(4096) == text[place : place + 4096]
    assert store.asked.sent <= HEADER + 10 * 2 * BLOCK
    # Its length, its header beside the first read, and a request for each read.
    assert len(store.asked.requests) == 12
    store.asked.reset()
    ends = [place + 4096 for place in places]
    found = fs.cat_ranges(["large"] * 10, places, ends)
    assert found == [text[place : place + 4096] for place in places]
    assert store.asked.sent <= HEADER + 10 * 2 * BLOCK
    assert len(store.asked.requests) == 12
    store.asked.reset()
    with fs.open("large") as file:
        for place in range(0, 20_000_000, 100_000):
            assert file.read(100_000) == text[place : place + 100_000]
    assert len(store.asked.requests) < 20
    assert store.asked.sent < 1.45 * 20_000_000
    store.asked.reset()
    assert fs.cat_file("large") == text
    assert store.asked.sent == fs.info("large")["encrypted_size"]


def test_listings(store: Store, bucket: str, fs: VaultFileSystem) -> None:
    tree = {f"many/{n:04}": b"x" * (n % 3) for n in range(500)}
    tree.update({f"many/{LONG}{n}": b"long" for n in range(20)})
    tree["many/in/one"] = b"1"
    hold(store, bucket, tree)
    fs.ls("")
    store.asked.reset()
    found = {entry["name"]: entry["size"] for entry in fs.ls("many")}
    assert found == {**{n: len(t) for n, t in tree.items() if n[5:8] != "in/"}, "many/in": 0}
    # A listing (1,000 keys at a time), the folder's IV, and the long names.
    own = 1 + 543 // 1000
    assert len(store.asked.requests) == own + 1 + 20
    fs.fs.invalidate_cache()
    store.asked.reset()
    fs.ls("many")
    assert len(store.asked.requests) == own + 20
    assert fs.du("") == sum(map(len, tree.values()))


def test_many_files_at_once(store: Store, bucket: str, fs: VaultFileSystem) -> None:
    tree = {f"{n}": varied_bytes(10_000 + n) for n in range(50)}
    hold(store, bucket, tree)
    assert fs.cat(list(tree)) == tree
    # For each its length and its content; and what opens the vault.
    assert len(store.asked.requests) <= 2 * 50 + 3
    damaged = fs.vault.stored("7")
    store.hold(damaged, b"\0" * 5000)
    found = fs.cat(list(tree), on_error="return")
    assert isinstance(found.pop("7"), paes.CorruptError)
    assert found == {path: text for path, text in tree.items() if path != "7"}
    store.hold(damaged, b"")
    assert fs.cat_file("7") == b""


def test_a_listing_may_be_older_than_a_file(store: Store, bucket: str, fs: VaultFileSystem) -> None:
    hold(store, bucket, {"file": b"x"})
    fs.ls("")
    for size in (8192, 100_000, 4096, 20):
        text = varied_bytes(size)
        other = stored_tree({"file": text}, lambda *_: None)  # under another IV, and so not used
        assert other
        header = fs.vault.key.new_header()
        store.hold(fs.vault.stored("file"), header + fs.vault.key.seal_blocks(header, 0, text))
        with fs.open("file") as file:
            assert file.read() == text
        assert fs.cat_file("file") == text
        fs.ls("")


def test_writing(store: Store, bucket: str, fs: VaultFileSystem, pass_file: str) -> None:
    hold(store, bucket, {"old": b"old"})
    text = varied_bytes(12 << 20)
    with fs.open("new/large", "wb", block_size=5 << 20) as file:
        for place in range(0, len(text), 1 << 20):
            file.write(text[place : place + (1 << 20)])
    assert len([r for r in store.asked.of("PUT") if "uploadId" in r[1]]) == 3
    fs.pipe({f"new/{LONG}": b"long", "new/empty": b""})
    with pytest.raises(ZeroDivisionError), fs.open("new/lost", "wb") as file:
        file.write(text)
        raise ZeroDivisionError
    other = fsspec.filesystem("s3", **store.options, skip_instance_cache=True)
    again = VaultFileSystem(f"{bucket}/vault", fs=other, passphrase_file=pass_file)
    assert again.cat(again.find("")) == {
        "old": b"old",
        "new/large": text,
        f"new/{LONG}": b"long",
        "new/empty": b"",
    }
    again.mv("new", "other")
    again.rm("old")
    assert again.find("") == sorted(["other/large", f"other/{LONG}", "other/empty"])
    again.rm("other", recursive=True)
    assert again.ls("") == []
    assert len(other.find(f"{bucket}/vault")) == 2  # the configuration, and the root's IV


def test_a_master_key_is_tried_once(store: Store, bucket: str, pass_file: str) -> None:
    def requests(names: list[str], **options: Any) -> int:
        below = fsspec.filesystem("s3", **store.options, skip_instance_cache=True)
        fs = VaultFileSystem(f"{bucket}/vault", fs=below, **options)
        store.asked.reset()
        for name in names:
            fs.pipe_file(name, b"new")
        return len(store.asked.requests)

    key = {"master_key": bytes.fromhex(MASTER_KEY)}
    hold(store, bucket, {"folder/in/file": b"x", **{f"{number}": b"x" for number in range(8)}})
    own = requests(["folder/in/1"], passphrase_file=pass_file)
    assert requests(["folder/in/2"], **key) == own  # the names of the folders prove it
    own = requests(["1a", "1b", "1c"], passphrase_file=pass_file)
    assert requests(["2a", "2b", "2c"], **key) <= own + 1  # a listing
    bucket = store.new_bucket()
    hold(store, bucket, {"file": varied_bytes(50_000)})
    own = requests(["1"], passphrase_file=pass_file)
    bucket = store.new_bucket()
    hold(store, bucket, {"file": varied_bytes(50_000)})
    assert requests(["2"], **key) <= own + 2  # and a first block
    assert store.asked.sent < 10_000


def address(bucket: str, path: str) -> str:
    return f"paes-vault://{path}::s3://{bucket}/vault"


@pytest.fixture
def options(store: Store, bucket: str, pass_file: str) -> dict[str, Any]:
    hold(store, bucket, {"first": b"1"})
    return {"paes-vault": {"passphrase_file": pass_file}, "s3": store.options}


def test_pandas_by_address(store: Store, bucket: str, options: dict[str, Any]) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pd.DataFrame({"number": range(1000), "word": "w"})
    for path, write, read in (
        ("in/t.parquet", table.to_parquet, pd.read_parquet),
        ("in/t.csv", lambda *a, **o: table.to_csv(*a, index=False, **o), pd.read_csv),
    ):
        write(address(bucket, path), storage_options=options)
        back = read(address(bucket, path), storage_options=options)
        pd.testing.assert_frame_equal(back, table)


def test_pyarrow_reads_columns_by_ranges(
    store: Store, bucket: str, options: dict[str, Any]
) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    numbers = random.Random(39)
    table = pa.table(
        {name: [numbers.random() for _ in range(100_000)] for name in "abcdefgh"}
    ).append_column("year", [[2025, 2026] * 50_000])
    fs, root = fsspec.url_to_fs(address(bucket, "lake"), **options)
    pq.write_table(table, f"{root}/whole.parquet", filesystem=fs)
    stored = fs.info("lake/whole.parquet")["encrypted_size"]
    store.asked.reset()
    two = pq.read_table("lake/whole.parquet", columns=["b", "g"], filesystem=fs)
    assert two.equals(table.select(["b", "g"]))
    assert store.asked.sent < 0.35 * stored
    ds.write_dataset(
        table,
        "hive",
        filesystem=fs,
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
    )
    lake = ds.dataset("hive", filesystem=fs, partitioning="hive")
    some = lake.to_table(columns=["a"], filter=ds.field("year") == 2025)
    assert some.num_rows == 50_000


def test_dask_by_address(bucket: str, options: dict[str, Any]) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"number": range(1000)}), npartitions=4)
    frame.to_parquet(address(bucket, "dask"), storage_options=options)
    lake = dd.read_parquet(address(bucket, "dask"), storage_options=options)
    # The workers are processes of their own, and open the vault by the name of its passphrase.
    assert lake["number"].sum().compute(scheduler="processes") == 499_500


def test_duckdb_by_address(bucket: str, options: dict[str, Any]) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    fs, _ = fsspec.url_to_fs(address(bucket, ""), **options)
    connection = duckdb.connect()
    connection.register_filesystem(fs)
    connection.execute(
        "copy (select range as number from range(1000)) to 'paes-vault://duck/one.parquet'"
    )
    [(total,)] = connection.execute(
        "select sum(number) from 'paes-vault://duck/*.parquet'"
    ).fetchall()
    assert total == 499_500
