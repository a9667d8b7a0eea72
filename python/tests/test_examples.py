# SPDX-License-Identifier: Apache-2.0
"""The programs in python/examples."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from conftest import IS_EXHAUSTIVE
from varied import varied_bytes

import paes

EXAMPLES = Path(__file__).parents[1] / "examples"


def backup(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / "backup.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def documents(folder: Path) -> Path:
    documents = folder / "documents"
    (documents / "letters" / "old").mkdir(parents=True)
    (documents / "empty").mkdir()
    for number in range(50):
        (documents / "letters" / "old" / f"{number}").write_bytes(varied_bytes(number * 1000))
    (documents / "big").write_bytes(varied_bytes(3 << 20))
    (documents / "letters" / "link").symlink_to("old/1")
    return documents


def test_backup(folder: Path, documents: Path, key_file: Path, recipient: paes.Recipient) -> None:
    sealed = folder / "backup"
    saved = backup("save", documents, sealed, recipient)
    assert (saved.returncode, saved.stderr) == (0, "")
    assert paes.verify_file(sealed, identity=key_file)
    listed = backup("list", sealed, key_file)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "letters/old/49" in listed.stdout

    restored = backup("restore", sealed, key_file, folder / "all")
    assert (restored.returncode, restored.stderr) == (0, "")
    assert files_below(folder / "all") == files_below(documents)
    assert (folder / "all" / "empty").is_dir()
    assert (folder / "all" / "letters" / "link").is_symlink()
    assert backup("restore", sealed, key_file, folder / "part", "letters/old").returncode == 0
    assert files_below(folder / "part") == {
        name: data for name, data in files_below(documents).items() if "old" in name
    }
    missing = backup("restore", sealed, key_file, folder / "none", "letters/new")
    assert (missing.returncode, missing.stderr) == (1, "backup: not in the backup: letters/new\n")


def test_backup_that_fails(
    folder: Path, documents: Path, key_file: Path, recipient: paes.Recipient
) -> None:
    failed = backup("save", folder / "no such folder", folder / "backup", recipient)
    assert failed.returncode == 1
    assert "no such folder" in failed.stderr
    assert not (folder / "backup").exists()
    assert backup("save", documents, folder / "backup", recipient).returncode == 0
    again = backup("save", documents, folder / "backup", recipient)
    assert again.returncode == 1
    assert "backup" in again.stderr
    paes.keygen(folder / "other.txt")
    assert backup("list", folder / "backup", folder / "other.txt").returncode == 1
    damaged = bytearray((folder / "backup").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "backup").write_bytes(damaged)
    found = backup("restore", folder / "backup", key_file, folder / "restored")
    assert found.returncode == 1
    assert "damaged" in found.stderr
    for arguments in ([], ["save"], ["save", "a", "b"], ["list", "a"], ["other", "a", "b", "c"]):
        assert backup(*arguments).stderr.startswith("Back up a folder")


def tar_dataset(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives the example's module."""
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("tar_dataset")


def pack(path: Path, recipient: paes.Recipient, samples: list[bytes], mode: str) -> None:
    with (
        paes.open(path, "wb", recipients=recipient) as file,
        tarfile.open(fileobj=file, mode=mode) as archive,
    ):
        for number, sample in enumerate(samples):
            member = tarfile.TarInfo(f"{number:04}.bin")
            member.size = len(sample)
            archive.addfile(member, io.BytesIO(sample))


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="torch is tried with PAES_EXHAUSTIVE=1 alone")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_loader(
    folder: Path,
    key_file: Path,
    recipient: paes.Recipient,
    start: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = tar_dataset(monkeypatch)
    samples = [b"", *(varied_bytes(1000 + number, seed=number) for number in range(300))]
    pack(folder / "samples.tar.paes", recipient, samples, "w|")
    samples_of_file = module.EncryptedTar(str(folder / "samples.tar.paes"), str(key_file))
    assert bytes(samples_of_file[7].numpy()) == samples[7]
    loader = module.torch.utils.data.DataLoader(
        samples_of_file, batch_size=None, num_workers=2, multiprocessing_context=start, timeout=120
    )
    for _ in range(2):
        assert [bytes(tensor.numpy()) for tensor in loader] == samples


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="torch is tried with PAES_EXHAUSTIVE=1 alone")
def test_data_set_of_a_compressed_file(
    folder: Path, key_file: Path, recipient: paes.Recipient, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tar_dataset(monkeypatch)
    pack(folder / "samples.tar.gz.paes", recipient, [b"sample"], "w|gz")
    with pytest.raises(tarfile.ReadError):
        module.EncryptedTar(str(folder / "samples.tar.gz.paes"), str(key_file))
