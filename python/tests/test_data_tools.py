# SPDX-License-Identifier: Apache-2.0
"""Tools for data read and write encrypted files as they do plain ones.

Each test does the same to plain and to encrypted files. docs/data-tools.md shows the same steps.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import IS_EXHAUSTIVE
from object_store import Store, running_store
from varied import varied_bytes

import paes

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from paes.filesystem import PaesFileSystem  # noqa: E402

ROWS = 20_000


def module(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed")


@pytest.fixture(autouse=True)
def registered() -> None:
    """Registers what the package's entry point registers, where only its files are there."""
    fsspec.register_implementation("paes", PaesFileSystem, clobber=True)


@pytest.fixture
def options(key_file: Path, recipient: paes.Recipient) -> dict[str, Any]:
    return {"paes": {"identity": str(key_file), "recipients": str(recipient)}}


@pytest.fixture(params=["file", "paes"])
def place(
    request: pytest.FixtureRequest, folder: Path, options: dict[str, Any]
) -> tuple[str, dict[str, Any], Any]:
    """A folder's address, options for it, and its file system: a plain one and an encrypted one."""
    if request.param == "file":
        return str(folder), {}, fsspec.filesystem("file")
    return f"paes::file://{folder}", options, PaesFileSystem("file", **options["paes"])


@pytest.fixture
def fs(options: dict[str, Any]) -> PaesFileSystem:
    return PaesFileSystem("file", **options["paes"])


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with running_store() as running:
        yield running


@pytest.fixture
def s3(store: Store, options: dict[str, Any]) -> tuple[str, dict[str, Any], PaesFileSystem]:
    """An address in an object store, options for it, and its file system."""
    fs = PaesFileSystem("s3", store.options, **options["paes"])
    return f"paes::s3://{store.new_bucket()}", {**options, "s3": store.options}, fs


def columns() -> dict[str, list[Any]]:
    return {
        "number": list(range(ROWS)),
        "word": [f"w{n % 997}" for n in range(ROWS)],
        "year": [2020 + n % 4 for n in range(ROWS)],
        "blob": [varied_bytes(64, seed=n) for n in range(ROWS)],
    }


def assert_sealed(folder: Path) -> None:
    """Requires that all files below are encrypted."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        paes.inspect(path)


def test_pandas(place: Any) -> None:
    pandas = module("pandas")
    module("pyarrow")
    root, options, _ = place
    table = pandas.DataFrame(columns())
    table.to_parquet(f"{root}/table.parquet", storage_options=options or None)
    found = pandas.read_parquet(
        f"{root}/table.parquet", columns=["word", "year"], storage_options=options or None
    )
    assert found.equals(table[["word", "year"]])
    table[["number", "word"]].to_csv(f"{root}/t.csv", index=False, storage_options=options or None)
    found = pandas.read_csv(f"{root}/t.csv", storage_options=options or None)
    assert found.equals(table[["number", "word"]])


def test_pyarrow_data_set(place: Any, folder: Path) -> None:
    pyarrow, dataset = module("pyarrow"), module("pyarrow.dataset")
    _, options, fs = place
    table = pyarrow.table(columns())
    dataset.write_dataset(
        table,
        f"{folder}/lake",
        filesystem=fs,
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
    )
    if options:
        assert_sealed(folder / "lake")
    lake = dataset.dataset(f"{folder}/lake", filesystem=fs, partitioning="hive")
    assert lake.count_rows() == ROWS
    found = lake.to_table(columns=["number"], filter=dataset.field("year") == 2021)
    assert found["number"].to_pylist() == list(range(1, ROWS, 4))
    for format in ("feather", "csv"):
        some = table.select(["number", "word"])
        dataset.write_dataset(some, f"{folder}/{format}", filesystem=fs, format=format)
        again = dataset.dataset(f"{folder}/{format}", filesystem=fs, format=format)
        assert again.to_table().equals(some)


def test_pyarrow_reads_columns_by_ranges(store: Store, s3: Any) -> None:
    pyarrow, parquet = module("pyarrow"), module("pyarrow.parquet")
    url, _, fs = s3
    rows = 200_000
    table = pyarrow.table({f"c{n}": [n * rows + i for i in range(rows)] for n in range(20)})
    path = f"{url.rpartition('/')[2]}/table.parquet"
    with fs.open(path, "wb") as file:
        parquet.write_table(table, file, compression="none", use_dictionary=False)
    size = store.s3.info(path)["size"]
    assert size > 20 * 8 * rows
    store.s3.invalidate_cache()
    store.asked.reset()
    found = parquet.read_table(path, columns=["c3", "c16"], filesystem=fs)
    assert found.equals(table.select(["c3", "c16"]))
    # The two columns, the footer, and the chunks at the ends of each.
    assert store.asked.sent < 2 * 8 * rows * 1.01 + 10 * 16_400
    assert len(store.asked.requests) < 20
    data = module("pyarrow.dataset").dataset(path, filesystem=fs)
    store.asked.reset()
    assert data.to_table(columns=["c3", "c16"]).equals(table.select(["c3", "c16"]))
    assert store.asked.sent < 2 * 8 * rows * 1.01 + 10 * 16_400


def test_dask(place: Any, folder: Path) -> None:
    dask = module("dask")
    module("dask.bag")
    module("dask.dataframe")
    pandas = module("pandas")
    root, options, _ = place
    table = pandas.DataFrame(columns()).drop(columns="blob")  # Dask takes bytes for text
    frame = dask.dataframe.from_pandas(table, npartitions=4)
    with dask.config.set(scheduler="processes", num_workers=2):
        frame.to_parquet(f"{root}/lake", storage_options=options)
        found = dask.dataframe.read_parquet(
            f"{root}/lake", columns=["number", "year"], storage_options=options
        )
        assert found[found.year == 2021].number.sum().compute() == sum(range(1, ROWS, 4))
        frame[["number", "word"]].to_csv(f"{root}/csv/*.csv", index=False, storage_options=options)
        again = dask.dataframe.read_csv(f"{root}/csv/*.csv", storage_options=options)
        assert again.number.sum().compute() == sum(range(ROWS))
        lines = dask.bag.read_text(f"{root}/csv/*.csv", storage_options=options)
        assert lines.count().compute() == ROWS + 4
    if options:
        assert_sealed(folder / "lake")
        assert_sealed(folder / "csv")


def test_duckdb(place: Any, folder: Path) -> None:
    duckdb = module("duckdb")
    _, options, fs = place
    connection = duckdb.connect()
    prefix = ""
    if options:
        connection.register_filesystem(fs)
        prefix = "paes://"
    folder.joinpath("lake").mkdir()
    connection.execute(
        f"copy (select range as number, range % 4 as part from range({ROWS})) "
        f"to '{prefix}{folder}/lake/one.parquet' (format parquet)"
    )
    connection.execute(
        f"copy (select range + {ROWS} as number, 5 as part from range(10)) "
        f"to '{prefix}{folder}/lake/two.parquet' (format parquet)"
    )
    [(total, rows)] = connection.execute(
        f"select sum(number), count(*) from read_parquet('{prefix}{folder}/lake/*.parquet')"
    ).fetchall()
    assert (total, rows) == (sum(range(ROWS + 10)), ROWS + 10)
    connection.execute(f"copy (select 7 as n) to '{prefix}{folder}/t.csv' (header)")
    assert connection.execute(f"from read_csv('{prefix}{folder}/t.csv')").fetchall() == [(7,)]
    if options:
        assert_sealed(folder / "lake")


def test_polars(place: Any, folder: Path) -> None:
    polars = module("polars")
    _, options, fs = place
    frame = polars.DataFrame(columns())
    with fs.open(f"{folder}/t.parquet", "wb") as file:
        frame.write_parquet(file)
    with fs.open(f"{folder}/t.parquet", "rb") as file:
        assert polars.read_parquet(file, columns=["word"]).equals(frame.select("word"))
    with fs.open(f"{folder}/t.parquet", "rb") as file:
        found = polars.scan_parquet(file).filter(polars.col("year") == 2021)
        assert found.select("number").sum().collect().item() == sum(range(1, ROWS, 4))
    with fs.open(f"{folder}/t.csv", "wb") as file:
        frame.select("number", "word").write_csv(file)
    with fs.open(f"{folder}/t.csv", "rb") as file:
        assert polars.read_csv(file).equals(frame.select("number", "word"))
    if options:
        assert_sealed(folder)


@pytest.mark.parametrize("kind", ["envelope", "key"])
def test_zarr(store: Store, options: dict[str, Any], kind: str) -> None:
    zarr = module("zarr")
    numpy = module("numpy")
    bucket = store.new_bucket()
    given = options["paes"] if kind == "envelope" else {"key": the_key}
    stored = zarr.storage.FsspecStore.from_url(
        f"paes::s3://{bucket}/array", storage_options={"paes": given, "s3": store.options}
    )
    array = zarr.create_array(
        stored, shape=(1000, 1000), chunks=(100, 100), dtype="i4", compressors=None
    )
    numbers = numpy.arange(1_000_000, dtype="i4").reshape(1000, 1000)
    array[:] = numbers
    again = zarr.open_array(stored, mode="r")
    assert (again[150:350, 20:30] == numbers[150:350, 20:30]).all()
    assert (again[:] == numbers).all()
    sizes = [size for size in store.s3.du(bucket, total=False).values() if size > 40_000]
    # What an envelope and a caller's key cost a chunk of 40,000 bytes, which is three of ours.
    assert set(sizes) == {40_000 + (4096 if kind == "envelope" else 56) + 3 * 16}


def the_key() -> paes.CobblestoneKey:
    return paes.CobblestoneKey(b"k" * 32, b"context")


def test_zarr_in_a_folder(folder: Path, options: dict[str, Any]) -> None:
    zarr = module("zarr")
    stored = zarr.storage.FsspecStore.from_url(
        f"paes::file://{folder}/array", storage_options={**options, "file": {"auto_mkdir": True}}
    )
    array = zarr.create_array(stored, shape=(100,), chunks=(10,), dtype="i4")
    array[:] = range(100)
    assert zarr.open_array(stored, mode="r")[:].tolist() == list(range(100))
    assert_sealed(folder / "array")


def test_h5py(place: Any, folder: Path) -> None:
    h5py = module("h5py")
    _, options, fs = place
    numbers = list(range(100_000))
    whole = io.BytesIO()
    with h5py.File(whole, "w") as file:
        file.create_dataset("numbers", data=numbers, chunks=(1000,))
    fs.pipe_file(f"{folder}/data.h5", whole.getvalue())
    with fs.open(f"{folder}/data.h5", "rb") as raw, h5py.File(raw, "r") as file:
        assert file["numbers"][5000:5010].tolist() == numbers[5000:5010]
    if options:
        # It goes back in what it writes, and a writer cannot.
        with (
            pytest.raises(io.UnsupportedOperation, match="seek"),
            fs.open(f"{folder}/no.h5", "wb") as raw,
            h5py.File(raw, "w") as file,
        ):
            file.create_dataset("numbers", data=numbers)
        assert not (folder / "no.h5").exists()


def test_webdataset(place: Any, folder: Path, options: dict[str, Any]) -> None:
    webdataset = module("webdataset")
    root, given, fs = place
    texts = {f"{n:04}": varied_bytes(1000 + n, seed=n) for n in range(200)}
    for shard in range(2):
        with (
            fs.open(f"{folder}/{shard}.tar", "wb") as file,
            webdataset.TarWriter(file) as writer,
        ):
            for name, text in list(texts.items())[shard::2]:
                writer.write({"__key__": name, "bin": text})
    gopen = module("webdataset.gopen")
    if given:
        gopen.gopen_schemes["paes"] = lambda url, mode="rb", bufsize=8192, **_: fsspec.open(
            url, mode, **options
        ).open()
    urls = [f"{root}/{shard}.tar" for shard in range(2)]
    found = webdataset.WebDataset(urls, shardshuffle=False)
    assert {sample["__key__"]: sample["bin"] for sample in found} == texts
    if given:
        assert_sealed(folder)


def test_safetensors(place: Any, folder: Path) -> None:
    safetensors = module("safetensors.numpy")
    numpy = module("numpy")
    _, options, fs = place
    tensors = {f"t{n}": numpy.arange(1000 * n, dtype="f4").reshape(n, 1000) for n in range(1, 9)}
    fs.pipe_file(f"{folder}/model.safetensors", safetensors.save(tensors))
    with fs.open(f"{folder}/model.safetensors", "rb") as file:
        [length] = struct.unpack("<Q", file.read(8))
        about = json.loads(file.read(length))["t5"]
        start, end = about["data_offsets"]
        tensor = numpy.empty(about["shape"], dtype="f4")
        file.seek(8 + length + start)
        assert file.readinto(tensor) == end - start
    assert (tensor == tensors["t5"]).all()
    if options:
        assert_sealed(folder)


LOADER = """
import sys

import torch

import paes
from paes.filesystem import PaesFileSystem


class Samples(torch.utils.data.Dataset):
    def __init__(self, fs, folder):
        self.fs = fs
        self.names = fs.ls(folder, detail=False)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, number):
        return torch.frombuffer(bytearray(self.fs.cat_file(self.names[number])), dtype=torch.uint8)


if __name__ == "__main__":
    fs = PaesFileSystem("file", identity=sys.argv[1])
    loader = torch.utils.data.DataLoader(
        Samples(fs, sys.argv[2]), num_workers=2, multiprocessing_context=sys.argv[3]
    )
    print(sum(int(sample.sum()) for sample in loader))
"""


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="torch is tried with PAES_EXHAUSTIVE=1 alone")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_loader(fs: PaesFileSystem, folder: Path, key_file: Path, start: str) -> None:
    module("torch")
    texts = [varied_bytes(1000 + n, seed=n) for n in range(100)]
    (folder / "samples").mkdir()
    for n, text in enumerate(texts):
        fs.pipe_file(f"{folder}/samples/{n}", text)
    (folder / "loader.py").write_text(LOADER)
    found = subprocess.run(
        [sys.executable, folder / "loader.py", key_file, folder / "samples", start],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout) == (0, f"{sum(map(sum, texts))}\n"), found.stderr


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="Ray is tried with PAES_EXHAUSTIVE=1 alone")
def test_ray(place: Any, folder: Path) -> None:
    ray = module("ray")
    module("ray.data")
    pandas = module("pandas")
    _, options, fs = place
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True, log_to_driver=False)
    try:
        table = pandas.DataFrame(columns())
        ray.data.from_pandas(table).repartition(3).write_parquet(f"{folder}/lake", filesystem=fs)
        found = ray.data.read_parquet(f"{folder}/lake", filesystem=fs, columns=["number"])
        assert found.count() == ROWS
        assert found.sum("number") == sum(range(ROWS))
        doubled = found.map_batches(lambda batch: {"number": batch["number"] * 2})
        doubled.write_csv(f"{folder}/csv", filesystem=fs)
        again = ray.data.read_csv(f"{folder}/csv", filesystem=fs)
        assert again.sum("number") == 2 * sum(range(ROWS))
    finally:
        ray.shutdown()
    if options:
        assert_sealed(folder / "lake")
        assert_sealed(folder / "csv")
