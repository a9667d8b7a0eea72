# SPDX-License-Identifier: Apache-2.0
"""Train from an encrypted tar file: a data set whose samples are the files in it.

The workers of a DataLoader read at the places where the samples lie. Nothing is unpacked, and no
plaintext is written to a disk.
"""

from __future__ import annotations

import io
import os
import tarfile

import torch

import paes


class EncryptedTar(torch.utils.data.Dataset[torch.Tensor]):
    """The files of an encrypted tar file, in its order, as tensors of bytes."""

    def __init__(self, path: str, key_file: str) -> None:
        """Find out where the samples lie."""
        self._path = path
        self._key_file = key_file
        self._opened: tuple[int, paes.EncryptedReader] | None = None
        with (
            paes.open(path, identity=key_file) as file,
            # Not compressed, because samples in a compressed file have no places.
            tarfile.open(fileobj=io.BufferedReader(file, 1 << 20), mode="r:") as archive,
        ):
            self._places = [(one.offset_data, one.size) for one in archive if one.isfile()]

    def __len__(self) -> int:
        """Tell how many samples there are."""
        return len(self._places)

    def __getitem__(self, number: int) -> torch.Tensor:
        """Decrypt one sample."""
        place, size = self._places[number]
        if size == 0:  # torch makes no tensor of an empty buffer
            return torch.empty(0, dtype=torch.uint8)
        data = bytearray(size)
        self._file().read_at_into(place, data)
        return torch.frombuffer(data, dtype=torch.uint8)

    def _file(self) -> paes.EncryptedReader:
        # Each worker opens the file once. The workers are the threads, so a reader needs none.
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), paes.open(self._path, identity=self._key_file, threads=1)
        return self._opened[1]

    def __getstate__(self) -> dict[str, object]:
        """Give a spawned worker everything but the open file."""
        return {**self.__dict__, "_opened": None}
