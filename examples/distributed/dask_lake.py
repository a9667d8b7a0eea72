# SPDX-License-Identifier: Apache-2.0
"""Encrypt a folder of many files on a Dask cluster, and read Parquet files there.

    python3 dask_lake.py SCHEDULER encrypt FOLDER SEALED RECIPIENT
    python3 dask_lake.py SCHEDULER sum SEALED KEY_FILE COLUMN

SCHEDULER is an address such as tcp://127.0.0.1:8786. Both folders and the file of the key are at
the same place on all workers. Dask does again what is lost with a worker. A file has its name once
it is complete, and whoever encrypts it again replaces it, so none is there twice or by half.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dask.dataframe as dd
from distributed import Client

import paes


def seal(source: str, target: str, recipient: str) -> int:
    """Runs on a worker, which has other tasks for the other processors."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    paes.encrypt_file(source, target, recipients=recipient, threads=1, overwrite=True)
    return Path(source).stat().st_size


def encrypt(client: Client, folder: Path, sealed: Path, recipient: str) -> tuple[int, int]:
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    sizes = client.map(
        seal,
        [str(folder / name) for name in names],
        [str(sealed / name) for name in names],
        recipient=recipient,
        pure=False,
    )
    return len(names), sum(client.gather(sizes))


def total(sealed: Path, key_file: str, column: str) -> int:
    options = {"paes": {"identity": key_file, "threads": 1}}
    table = dd.read_parquet(f"paes::file://{sealed}", columns=[column], storage_options=options)
    return int(table[column].sum().compute())


def main(scheduler: str, command: str, *arguments: str) -> None:
    with Client(scheduler) as client:
        if command == "encrypt":
            folder, sealed, recipient = arguments
            files, size = encrypt(client, Path(folder), Path(sealed), recipient)
            print(f"{files} files, {size} bytes")
        else:
            sealed, key_file, column = arguments
            print(total(Path(sealed), key_file, column))


if __name__ == "__main__":
    main(*sys.argv[1:])
