# SPDX-License-Identifier: Apache-2.0
# gocryptfs (Debian package) as the other reader and writer of vaults: volumes made by it, mounted and
# checked by it. Mounts lie below the test's own folder and end with it, also when it fails.
import base64
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PASSPHRASE = b"correct horse"
FSCK_ERRORS = 26
TIMEOUT_S = 120


def missing():
    """Why gocryptfs cannot mount here, or nothing."""
    for tool in ("gocryptfs", "gocryptfs-xray", "fusermount3"):
        if shutil.which(tool) is None:
            return f"{tool} is missing (Debian packages gocryptfs and fuse3)"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    return ""


NEEDS_MOUNTS = pytest.mark.skipif(bool(missing()), reason=missing())


def _run(*command, **options):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False, **options
    )


def unmount_checks(place):
    """gocryptfs -fsck mounts the volume below TMPDIR, and the mount stays when the check is killed."""
    for left in Path(place).glob("gocryptfs.fsck.*"):
        subprocess.run(["umount", "-l", left], capture_output=True, check=False)


def drop_features(configuration, passphrase, features):
    """Makes the empty volume one without these features (HKDF, Raw64, LongNames), as older versions of
    gocryptfs made them. Newer ones mount such volumes, but make none, whatever their options say."""
    path = Path(configuration)
    document = json.loads(path.read_text())
    assert set(features) <= set(document["FeatureFlags"])
    document["FeatureFlags"] = [flag for flag in document["FeatureFlags"] if flag not in features]
    if "HKDF" in features:  # the key is wrapped with the bare output of scrypt and a short IV
        done = _run("gocryptfs-xray", "-dumpmasterkey", path, input=passphrase + b"\n")
        assert done.returncode == 0, done.stdout
        master_key = bytes.fromhex(done.stdout.decode().split()[-1].replace("-", ""))
        scrypt = document["ScryptObject"]
        key = hashlib.scrypt(
            passphrase, salt=base64.b64decode(scrypt["Salt"]), n=scrypt["N"], r=scrypt["R"], p=scrypt["P"],
            dklen=scrypt["KeyLen"],
        )
        iv = secrets.token_bytes(12)
        wrapped = iv + AESGCM(key).encrypt(iv, master_key, bytes(8))
        document["EncryptedKey"] = base64.b64encode(wrapped).decode()
    path.chmod(0o600)
    path.write_text(json.dumps(document, indent="\t") + "\n")


class Volume:
    """A volume that gocryptfs has made, without the features of drop_features that `without` names."""

    def __init__(self, folder, *flags, without=()):
        folder.mkdir()
        self.stored = folder / "stored"
        self.stored.mkdir()
        self.shown = folder / "shown"
        self.shown.mkdir()
        self.passphrase_file = folder / "passphrase"
        self.passphrase_file.write_bytes(PASSPHRASE)
        self.without = without
        done = _run(
            "gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", self.passphrase_file, *flags, self.stored
        )
        assert done.returncode == 0, done.stdout
        done = _run(
            "gocryptfs-xray", "-dumpmasterkey", self.stored / "gocryptfs.conf", input=PASSPHRASE + b"\n"
        )
        assert done.returncode == 0, done.stdout
        self.master_key = done.stdout.decode().split()[-1].replace("-", "")
        self.master_key_file = folder / "master-key"
        self.master_key_file.write_text(self.master_key + "\n")
        if without:
            drop_features(self.stored / "gocryptfs.conf", PASSPHRASE, without)

    @contextlib.contextmanager
    def mounted(self):
        """The folder in which gocryptfs shows the volume."""
        daemon = subprocess.Popen(
            ["gocryptfs", "-fg", "-q", "-nosyslog", "-acl", "-passfile", self.passphrase_file,
             self.stored, self.shown],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            end = time.monotonic() + TIMEOUT_S
            while not os.path.ismount(self.shown):
                assert daemon.poll() is None, daemon.stdout.read()
                assert time.monotonic() < end, "gocryptfs does not mount"
                time.sleep(0.01)
            yield self.shown
        finally:
            if _run("fusermount3", "-u", self.shown).returncode != 0:
                _run("fusermount3", "-uz", self.shown)
            try:
                daemon.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
            daemon.stdout.close()

    def fsck(self):
        """The exit code of gocryptfs's own check, and what it said."""
        place = self.stored.parent
        try:
            done = _run(
                "gocryptfs", "-fsck", "-q", "-passfile", self.passphrase_file, self.stored,
                env={**os.environ, "TMPDIR": str(place)},
            )
        finally:
            unmount_checks(place)
        return done.returncode, done.stdout.decode(errors="replace")


def everything_in(root):
    """All that a mounted volume shows, as list_volume prints it (tests/unit/volume)."""
    root = os.fsencode(root)
    found = {}

    def attributes(path):
        # A mount shows labels and capabilities of its own as well.
        names = [
            name
            for name in os.listxattr(path, follow_symlinks=False)
            if name.startswith("user.") or name.startswith("system.posix_acl")
        ]
        return {
            os.fsencode(name).hex(): os.getxattr(path, name, follow_symlinks=False).hex() for name in names
        }

    def add(path):
        status = os.lstat(path)
        name = os.path.relpath(path, root)
        name = b"" if name == b"." else name
        kind = status.st_mode & 0o170000
        if kind == 0o040000:
            found[name] = {"type": "folder", "attributes": attributes(path)}
            for entry in os.listdir(path):
                add(os.path.join(path, entry))
        elif kind == 0o100000:
            text = Path(os.fsdecode(path)).read_bytes()
            found[name] = {
                "type": "file",
                "size": status.st_size,
                "read": len(text),
                "sha256": hashlib.sha256(text).hexdigest(),
                "attributes": attributes(path),
            }
        elif kind == 0o120000:
            found[name] = {"type": "link", "size": status.st_size, "target": os.readlink(path).hex()}
        else:
            found[name] = {"type": "other"}

    add(root)
    return found
