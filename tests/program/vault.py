# SPDX-License-Identifier: Apache-2.0
# Vaults for tests: made by gocryptfs, and files for them sealed here, by nobody's program but by the
# format's description alone.
import base64
import hashlib
import hmac
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import program
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from gocryptfs import unmount_checks

# 2^10: the least that gocryptfs takes, so that a derivation costs a millisecond.
CHEAP = ("--work-factor", 10)

needs_gocryptfs = pytest.mark.skipif(
    shutil.which("gocryptfs") is None or shutil.which("gocryptfs-xray") is None,
    reason="gocryptfs is missing (Debian package gocryptfs)",
)


@dataclass
class Secrets:
    """Files of passphrases beside the vaults."""

    folder: Path

    def file(self, text):
        path = self.folder / ("pass-" + hashlib.sha256(text.encode()).hexdigest()[:8])
        path.write_text(text + "\n")
        return path


def has_fuse():
    """Whether gocryptfs can mount, which its -fsck does."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return os.geteuid() == 0 or shutil.which("fusermount3") is not None


needs_fuse = pytest.mark.skipif(not has_fuse(), reason="/dev/fuse cannot be opened, and -fsck mounts")


def gocryptfs(*arguments, stdin=b"", command="gocryptfs", **changes):
    """Gives the exit code and all that it said."""
    done = subprocess.run(
        [command, *map(str, arguments)],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=program.clean_environment(**changes),
        timeout=program.TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def assert_no_problems(folder, passphrase_file, place, *options):
    """What gocryptfs -fsck says. It mounts the vault below `place` for a moment."""
    try:
        code, said = gocryptfs(
            "-fsck", "-passfile", passphrase_file, *options, folder, TMPDIR=str(place)
        )
        assert code == 0 and "no problems found" in said, said
    finally:
        unmount_checks(place)


def accepted(configuration, passphrase_file):
    """Whether gocryptfs reads the configuration and opens it with the passphrase, without a mount."""
    code, said = gocryptfs("-info", "-config", configuration, Path(configuration).parent)
    assert code == 0 and "contentEncryption" in said, said
    code, said = gocryptfs(
        "-dumpmasterkey", configuration,
        stdin=passphrase_file.read_bytes().split(b"\n")[0] + b"\n", command="gocryptfs-xray",
    )
    assert code == 0 or "Password incorrect" in said, said
    return code == 0


def master_key(configuration, passphrase):
    """As gocryptfs-xray has it, in hexadecimal."""
    code, said = gocryptfs(
        "-dumpmasterkey", configuration, stdin=passphrase.encode() + b"\n", command="gocryptfs-xray"
    )
    assert code == 0, said
    key = said.splitlines()[-1]
    assert len(key) == 64 and int(key, 16) >= 0, said
    return key


@dataclass
class Stored:
    """What gocryptfs stores for the same names, links and files in volumes of one kind."""

    names: list
    links: list
    files: list


ANSWERS = Path(__file__).resolve().parents[1] / "unit" / "vault" / "gocryptfs_answers.txt"


def answers():
    """Master key, the root's IV, and what is stored, by kind (tests/unit/vault/gocryptfs_answers.txt)."""
    key = iv = None
    kinds = {}
    for line in ANSWERS.read_text().splitlines():
        word, *values = line.split(" ")
        if word == "master_key":
            key = values[0]
        elif word == "folder_iv":
            iv = bytes.fromhex(values[0])
        elif word == "volume":
            kind = kinds.setdefault(values[0], Stored([], [], []))
        elif word == "name":
            kind.names.append(bytes.fromhex(values[1]).decode())
        elif word == "link":
            kind.links.append(bytes.fromhex(values[1]))
        elif word == "file" and values[1] != "-":
            kind.files.append(base64.b64decode(values[1]))
    return key, iv, kinds


def hkdf(key, info, length=32):
    """RFC 5869 with SHA-256, without a salt, up to one block."""
    extracted = hmac.new(bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\1", hashlib.sha256).digest()[:length]


def sealed_file(key, text):
    """A file of one block of AES-GCM, of a volume with HKDF."""
    file_id, iv = os.urandom(16), os.urandom(16)
    content = AESGCM(hkdf(bytes.fromhex(key), b"AES-GCM file content encryption"))
    return b"\0\2" + file_id + iv + content.encrypt(iv, text, bytes(8) + file_id)
