# SPDX-License-Identifier: Apache-2.0
"""A data key that a key manager makes and unwraps (AWS KMS, by moto), handed to `paes` in a
descriptor and to Python as an object. Neither keeps it, and nothing of it is in the arguments.

PAES names the program; without it only Python is tried.
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from varied import varied_bytes

import paes

boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
moto = pytest.importorskip("moto", reason="moto is not installed")

PROGRAM = os.environ.get("PAES", "")
WRONG_KEY = 4
needs_program = pytest.mark.skipif(not PROGRAM, reason="PAES does not name the program")


@dataclass
class Manager:
    kms: Any
    key_id: str

    def new_key(self, name: str) -> tuple[bytes, bytes]:
        """A data key, and what the manager unwraps it from again."""
        made = self.kms.generate_data_key(
            KeyId=self.key_id, KeySpec="AES_256", EncryptionContext={"file": name}
        )
        return made["Plaintext"], made["CiphertextBlob"]

    def unwrap(self, blob: bytes, name: str) -> bytes:
        answer = self.kms.decrypt(CiphertextBlob=blob, EncryptionContext={"file": name})
        key: bytes = answer["Plaintext"]
        return key


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with moto.mock_aws():
        kms = boto3.client("kms", region_name="eu-central-1")
        key = kms.create_key(Description="backups")["KeyMetadata"]["Arn"]
        yield Manager(kms, key)


def with_key(
    key: bytes, *arguments: object, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Runs the program, which reads the key from a pipe."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(key)
    try:
        words = [PROGRAM, *map(str, arguments), "--key-fd", str(reader)]
        return subprocess.run(words, input=stdin, capture_output=True, pass_fds=[reader])
    finally:
        os.close(reader)


@needs_program
def test_the_program_and_python_open_each_others_files(manager: Manager, folder: Path) -> None:
    text = varied_bytes(200_000)
    (folder / "photos").write_bytes(text)
    key, blob = manager.new_key("photos")
    sealed = folder / "photos.cobblestone"
    done = with_key(key, "encrypt", "--json", "--key-id", manager.key_id, folder / "photos")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["key_id"] == manager.key_id
    assert key not in sealed.read_bytes()

    again = manager.unwrap(blob, "photos")
    assert with_key(again, "decrypt", "-o", "-", sealed).stdout == text
    as_text = base64.b64encode(again)  # as the manager's own program prints it
    encoded = ["--key-encoding", "base64", "-o", "-"]
    assert with_key(as_text, "decrypt", *encoded, sealed).stdout == text
    with paes.open(sealed, key=paes.CobblestoneKey(again)) as file:
        assert file.read() == text

    by_python = folder / "by-python"
    with paes.open(by_python, "wb", key=paes.CobblestoneKey(key)) as file:
        file.write(text)
    assert with_key(again, "decrypt", "-o", "-", by_python).stdout == text
    assert with_key(again, "verify", by_python).returncode == 0


@needs_program
def test_another_data_key_opens_nothing(manager: Manager, folder: Path) -> None:
    (folder / "photos").write_bytes(b"text")
    key, _ = manager.new_key("photos")
    other, _ = manager.new_key("photos")
    assert with_key(key, "encrypt", folder / "photos").returncode == 0
    done = with_key(other, "decrypt", "-o", "-", folder / "photos.cobblestone")
    assert (done.returncode, done.stdout) == (WRONG_KEY, b"")
    assert len(done.stderr.splitlines()) <= 2


def test_the_manager_binds_the_key_to_its_use(manager: Manager) -> None:
    _, blob = manager.new_key("photos")
    with pytest.raises(manager.kms.exceptions.InvalidCiphertextException):
        manager.unwrap(blob, "other")


def test_a_key_of_the_manager_that_rotates_leaves_the_files(manager: Manager) -> None:
    """The manager wraps the data key anew; what it opens stays as it is."""
    key, blob = manager.new_key("photos")
    sealed = io.BytesIO()
    with paes.open(sealed, "wb", key=paes.CobblestoneKey(key)) as file:
        file.write(b"text")
    successor = manager.kms.create_key(Description="next")["KeyMetadata"]["Arn"]
    moved = manager.kms.re_encrypt(
        CiphertextBlob=blob,
        SourceEncryptionContext={"file": "photos"},
        DestinationKeyId=successor,
        DestinationEncryptionContext={"file": "photos"},
    )
    assert moved["CiphertextBlob"] != blob
    again = manager.unwrap(moved["CiphertextBlob"], "photos")
    sealed.seek(0)
    with paes.open(sealed, key=paes.CobblestoneKey(again)) as file:
        assert file.read() == b"text"
