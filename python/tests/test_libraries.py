# SPDX-License-Identifier: Apache-2.0
"""Libraries that read files of their own formats, through paes.open."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from varied import varied_bytes

import paes


def test_pandas(folder: Path, identity: paes.Identity) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame({"number": range(20_000), "word": [f"w{n}" for n in range(20_000)]})
    with paes.open(folder / "table", "wb", recipients=identity.recipient) as file:
        table.to_csv(file, index=False)
    with paes.open(folder / "table", identity=identity) as file:
        assert pandas.read_csv(file).equals(table)


def test_pyarrow_reads_two_columns_alone(folder: Path, identity: paes.Identity) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow has no parquet")
    rows = 20_000
    table = pyarrow.table(
        {f"c{n}": [varied_bytes(16, seed=n * rows + i) for i in range(rows)] for n in range(6)}
    )
    with paes.open(folder / "table", "wb", recipients=identity.recipient) as file:
        parquet.write_table(table, file)
    size = (folder / "table").stat().st_size
    assert size > 6 * 16 * rows

    read_bytes = 0

    class Counting(io.FileIO):
        def read(self, count: int | None = -1, /) -> bytes:
            nonlocal read_bytes
            data = super().read(-1 if count is None else count) or b""
            read_bytes += len(data)
            return data

    with (
        Counting(folder / "table") as counting,
        paes.open(counting, identity=identity) as file,
    ):
        found = parquet.read_table(file, columns=["c1", "c4"])
    assert found.equals(table.select(["c1", "c4"]))
    # The other columns stay where they are.
    assert read_bytes < 0.6 * size


def test_h5py(folder: Path, identity: paes.Identity) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    numbers = list(range(100_000))
    plain = io.BytesIO()
    with h5py.File(plain, "w") as file:
        file.create_dataset("numbers", data=numbers, chunks=(1000,))
    with paes.open(folder / "data", "wb", recipients=identity.recipient) as file:
        file.write(plain.getvalue())
    with paes.open(folder / "data", identity=identity) as raw, h5py.File(raw, "r") as file:
        assert file["numbers"][5000:5010].tolist() == numbers[5000:5010]
        assert file["numbers"][:].tolist() == numbers


def test_pillow(folder: Path, identity: paes.Identity) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image.frombytes("RGB", (200, 100), varied_bytes(200 * 100 * 3))
    with (
        paes.open(folder / "picture", "wb", recipients=identity.recipient) as raw,
        io.BufferedWriter(raw) as file,
    ):
        picture.save(file, format="PNG")
    with paes.open(folder / "picture", identity=identity) as file, image.open(file) as found:
        assert found.size == (200, 100)
        assert found.tobytes() == picture.tobytes()


def test_numpy(folder: Path, identity: paes.Identity) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    numbers = numpy.arange(100_000, dtype="<f8").reshape(100, 1000)
    with paes.open(folder / "array", "wb", recipients=identity.recipient) as file:
        numpy.save(file, numbers)
    with paes.open(folder / "array", identity=identity) as file:
        assert (numpy.load(file) == numbers).all()
        into = numpy.empty(10, dtype="<f8")
        start = file.size - 80
        assert file.read_at_into(start, into) == 80
        assert into.tolist() == numbers[-1, -10:].tolist()
        assert file.seek(numpy.int64(8)) == 8
        assert len(file.read(numpy.int64(8))) == 8
