# Vaults for tests: made by gocryptfs, and files for them sealed here, by nobody's program but by the
# format's description alone.
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


def gocryptfs(*arguments, stdin=b"", command="gocryptfs"):
    """Runs it without any mount. Gives the exit code and all that it said."""
    done = subprocess.run(
        [command, *map(str, arguments)],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=program.clean_environment(),
        timeout=program.TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def accepted(folder, passphrase_file, *options):
    """Whether gocryptfs opens the vault with it and finds nothing wrong."""
    code, said = gocryptfs("-fsck", "-passfile", passphrase_file, *options, folder)
    assert code in (0, 12), said  # 12: the password is wrong
    assert code == 12 or "no problems found" in said, said
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


def hkdf(key, info, length=32):
    """RFC 5869 with SHA-256, without a salt, up to one block."""
    extracted = hmac.new(bytes(32), key, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\1", hashlib.sha256).digest()[:length]


def sealed_file(key, text):
    """A file of one block of AES-GCM, of a volume with HKDF."""
    file_id, iv = os.urandom(16), os.urandom(16)
    content = AESGCM(hkdf(bytes.fromhex(key), b"AES-GCM file content encryption"))
    return b"\0\2" + file_id + iv + content.encrypt(iv, text, bytes(8) + file_id)
