# SPDX-License-Identifier: Apache-2.0
"""Post-quantum keys of age, where libcrypto has ML-KEM: wheels of a release bring one that has."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import paes

VECTORS = Path(__file__).parents[2] / "tests/unit/age/testkit_hybrid.txt"
KEY = "AGE-SECRET-KEY-PQ-1HZLGZUPT4ETPKDEV8HSGFDCYZ4E522W0A7PU2LHT8EH9W6YLNC3SW78XKG"


@pytest.fixture
def identity() -> paes.Identity:
    identity = paes.Identity(KEY)
    # Without ML-KEM a plugin has to know the recipient.
    if not str(identity.recipient) and os.environ.get("PAES_WANT_ML_KEM") != "1":
        pytest.skip("libcrypto has no ML-KEM")
    return identity


def vector(name: str) -> dict[str, str]:
    text = VECTORS.read_text().split(f"vector {name}\n")[1].split("\nvector ")[0]
    return dict(line.split(" ", 1) for line in text.splitlines())


def test_round_trip(identity: paes.Identity, folder: Path) -> None:
    recipient = identity.recipient
    assert str(recipient).startswith("age1pq1")
    with paes.open(folder / "sealed", "wb", recipients=paes.Recipient(str(recipient))) as file:
        file.write(bytes(100_000))
    with paes.open(folder / "sealed", identity=identity) as file:
        assert file.read() == bytes(100_000)
    with pytest.raises(paes.WrongKeyError):
        paes.open(folder / "sealed", identity=paes.Identity.generate())


def test_published_file(identity: paes.Identity, folder: Path) -> None:
    given = vector("hybrid")
    assert given["identity"] == KEY
    (folder / "file.age").write_bytes(bytes.fromhex(given["file"]))
    with paes.open(folder / "file.age", identity=identity) as file:
        assert hashlib.sha256(file.read()).hexdigest() == given["payload"]
