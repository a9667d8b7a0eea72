# SPDX-License-Identifier: Apache-2.0
"""Vaults for tests: one that is made of its parts, and those that programs make."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paes.vault import VaultKey

PASSPHRASE = "correct horse"
# gocryptfs 2.3 has made it, with the passphrase above and scrypt at its cheapest.
CONFIGURATION = json.dumps(
    {
        "Creator": "gocryptfs 2.3",
        "EncryptedKey": "6UjgUQbEALi6CBdswYkP/uWgnw0dyu0jKK+rdEX4v5lSLC4W2BfGWO3Tm4t8HPBUTGzc"
        "upTIAyOA5AiLxUGrlQ==",
        "ScryptObject": {
            "Salt": "8uQgDmS91K8v0mEfiv/Bey/vI5i4LeOgdpP7AN2+cAM=",
            "N": 1024,
            "R": 8,
            "P": 1,
            "KeyLen": 32,
        },
        "Version": 2,
        "FeatureFlags": ["HKDF", "GCMIV128", "DirIV", "EMENames", "LongNames", "Raw64"],
    }
).encode()
MASTER_KEY = "fd966e5206f641d2afcc938298e358df203b2f8bbc0449d2cd95eb9e5e5859dc"

# Another vault's, with the same passphrase.
OTHER_CONFIGURATION = json.dumps(
    {
        **json.loads(CONFIGURATION),
        "EncryptedKey": "B0YhZ3N0ewQDrRiHmqLJrZE4qcZ84Ow7BXrxohfb2jqLebuCJQVhJ6KeazoqcNgSEGNL4HqF82"
        "DsRhNATDEMgA==",
        "ScryptObject": {
            **json.loads(CONFIGURATION)["ScryptObject"],
            "Salt": "RFpLVInWM1fI9yhQdv8tayVrfFS4BADHniRCkoo4+AU=",
        },
    }
).encode()

Tree = dict[str, bytes]


def opened() -> VaultKey:
    return VaultKey.with_master_key(CONFIGURATION, bytes.fromhex(MASTER_KEY))


def stored_text(key: VaultKey, text: bytes) -> bytes:
    header = key.new_header()
    return header + key.seal_blocks(header, 0, text) if text else b""


def stored_tree(tree: Tree, hold: Callable[[str, bytes], object]) -> dict[str, str]:
    """Make a vault of these files, and hold what is stored. Returns where each path is stored."""
    key = opened()
    hold("gocryptfs.conf", CONFIGURATION)
    folders = {"": ("", key.new_folder_iv())}
    hold("gocryptfs.diriv", folders[""][1])
    places: dict[str, str] = {}

    def place(path: str) -> str:
        above, _, name = path.rpartition("/")
        if above not in folders:
            iv = key.new_folder_iv()
            folders[above] = (place(above) + "/", iv)
            hold(folders[above][0] + "gocryptfs.diriv", iv)
        prefix, iv = folders[above]
        stored, encoded = key.stored_name(os.fsencode(name), iv, not above)
        places[path] = prefix + stored.decode()
        if encoded:
            hold(places[path] + ".name", encoded)
        return places[path]

    for path, text in tree.items():
        hold(place(path), stored_text(key, text))
    return places


def write_tree(folder: Path, tree: Tree) -> None:
    for path, text in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


def read_tree(folder: Path) -> Tree:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Gocryptfs:
    """The program whose format it is."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("gocryptfs") is None or not os.path.exists("/dev/fuse"):
            pytest.skip("gocryptfs cannot mount here")
        self._mountpoint = folder / "mountpoint"
        self._mountpoint.mkdir()
        self._pass = folder / "gocryptfs.pass"
        self._pass.write_text(PASSPHRASE + "\n")

    def make(self, vault: Path, *options: str) -> None:
        vault.mkdir()
        self._run("-init", "-scryptn", "10", *options, str(vault))

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            ["gocryptfs", "-q", "-passfile", str(self._pass), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"gocryptfs: {done.stderr}") if "fuse" in done.stderr else None
            raise AssertionError(done.stdout + done.stderr)

    def within(self, vault: Path, work: Callable[[Path], object]) -> None:
        """Mount the vault, and do something with its files."""
        self._run(str(vault), str(self._mountpoint))
        try:
            work(self._mountpoint)
        finally:
            for _ in range(50):
                done = subprocess.run(["fusermount3", "-u", str(self._mountpoint)], check=False)
                if done.returncode == 0:
                    break
                time.sleep(0.1)

    def fsck(self, vault: Path) -> None:
        """Fail if the program finds damage."""
        self._run("-fsck", str(vault))
