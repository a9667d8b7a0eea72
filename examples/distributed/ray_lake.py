# SPDX-License-Identifier: Apache-2.0
"""Encrypt a folder of many files with Ray, and read Parquet files there.

    python3 ray_lake.py encrypt FOLDER SEALED RECIPIENT
    python3 ray_lake.py sum SEALED KEY_FILE COLUMN

RAY_ADDRESS names a cluster; without it Ray starts on this machine. Paths are absolute, and the same
on all nodes. Ray does again what is lost with a worker. A file has its name once it is complete,
and whoever encrypts it again replaces it, so none is there twice or by half.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import fsspec
import ray

import paes


@ray.remote(num_cpus=1, max_retries=5)
def seal(source: str, target: str, recipient: str) -> int:
    """Runs on a worker, which has other tasks for the other processors."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    paes.encrypt_file(source, target, recipients=recipient, threads=1, overwrite=True)
    return Path(source).stat().st_size


def encrypt(folder: Path, sealed: Path, recipient: str) -> tuple[int, int]:
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    sizes = [seal.remote(str(folder / name), str(sealed / name), recipient) for name in names]
    return len(names), sum(ray.get(sizes))


def total(sealed: Path, key_file: str, column: str) -> int:
    # Ray sends the file system to its workers: the key is named, and not given.
    fs = fsspec.filesystem("paes", target_protocol="file", identity=key_file, threads=1)
    return int(ray.data.read_parquet(str(sealed), columns=[column], filesystem=fs).sum(column))


def main(command: str, *arguments: str) -> None:
    address = os.environ.get("RAY_ADDRESS")
    ray.init(**({} if address else {"num_cpus": os.cpu_count(), "include_dashboard": False}))
    if command == "encrypt":
        folder, sealed, recipient = arguments
        files, size = encrypt(Path(folder), Path(sealed), recipient)
        print(f"{files} files, {size} bytes")
    else:
        sealed, key_file, column = arguments
        print(total(Path(sealed), key_file, column))


if __name__ == "__main__":
    main(*sys.argv[1:])
