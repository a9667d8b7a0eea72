# SPDX-License-Identifier: Apache-2.0
# Vaults between paes and pygocryptfs (PyPI), which was written in Python by somebody else from the
# format's description, and needs no mount. What both read of gocryptfs's trees: test_vault_trees.py.
import hashlib
import json
import os
import subprocess

import program
import pytest
from program import CORRUPT, FAILURE, WRONG_KEY, fail, succeed
from vault import CHEAP, Secrets, gocryptfs, needs_gocryptfs

pygocryptfs = pytest.importorskip("pygocryptfs", reason="pygocryptfs is missing (PyPI)")

LIST_VOLUME = os.environ.get("LIST_VOLUME", "")
BLOCK = 4096

# Options of `paes vault init`, and those of pygocryptfs for the same.
KINDS = {
    "default": ((), {}),
    "aessiv": (("--cipher", "aes-siv"), {"aessiv": True}),
    "xchacha": (("--cipher", "xchacha20-poly1305"), {"xchacha": True}),
    "plaintextnames": (("--plaintext-names",), {"plain_names": True, "raw64": False}),
    "deterministic-names": (("--deterministic-names",), {"diriv": False}),
    "longnamemax-62": (("--long-name-max", 62), {"longnamemax": 62}),
}
# The kinds of which pygocryptfs makes configurations that are none: what paes says of them.
REFUSED = {
    "plaintextnames": "PlaintextNames and DirIV cannot be combined",
    "longnamemax-62": "LongNameMax is only one of flag and value",
}
each_kind = pytest.mark.parametrize(("ours", "theirs"), KINDS.values(), ids=KINDS.keys())


@pytest.fixture(name="secrets")
def secrets_fixture(tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    return Secrets(folder)


@pytest.fixture(name="secret")
def secret_fixture(secrets):
    return secrets.file("correct horse")


@pytest.fixture(name="tree")
def tree_fixture(tmp_path):
    """Files for a vault: sizes around the edges of blocks, holes, names of many lengths."""
    tree = tmp_path / "tree"
    (tree / ("d" * 230) / "below").mkdir(parents=True)
    (tree / ("d" * 230) / "below" / "file").write_bytes(b"deep")
    for size in (0, 1, 15, 16, 17, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 33 * BLOCK + 100):
        (tree / f"{size}").write_bytes(os.urandom(size))
    (tree / "hole").write_bytes(os.urandom(BLOCK) + bytes(3 * BLOCK) + b"end")
    (tree / "zeros").write_bytes(bytes(BLOCK + 7))
    for length in range(1, 256, 7):
        (tree / ("n" * length)).write_bytes(b"%d" % length)
    (tree / "\u00e9t\u00e9 \U0001f511").write_bytes(b"no ASCII")
    return tree


def texts(tree):
    return {
        os.fsencode(path.relative_to(tree)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tree.rglob("*")
        if path.is_file()
    }


def check_and_list(folder, secret, key):
    """The texts that paes reads in a vault in which nothing is damaged."""
    counts = json.loads(
        succeed("vault", "fsck", "--json", "--passphrase-file", secret, folder).out
    )["counts"]
    assert counts["damaged"] == counts["unread"] == counts["others"] == 0
    listed = subprocess.run(
        [LIST_VOLUME, folder], input=key.encode(), capture_output=True,
        timeout=program.TIMEOUT_S, check=True,
    )
    assert listed.stderr == b""
    files = [entry for entry in json.loads(listed.stdout) if entry["type"] == "file"]
    assert counts["files"] == len(files)
    return {bytes.fromhex(entry["path"]): entry["sha256"] for entry in files}


def write(vault, tree):
    for path in tree.iterdir():
        if path.is_dir():
            vault.encryptDir(str(path), "/")
        else:
            vault.encryptFile(str(path), f"/{path.name}")


@pytest.mark.skipif(not LIST_VOLUME, reason="LIST_VOLUME does not name the program list_volume (tests/unit/volume)")
@each_kind
def test_files_in_a_vault_of_paes(ours, theirs, folder, secret, tree):
    key = secret.with_name("master.key")
    succeed(
        *("vault", "init", *CHEAP, *ours, "--passphrase-file", secret, "--master-key-out", key, folder)
    )
    vault = pygocryptfs.Vault(folder, password="correct horse")
    assert vault.pk.hex() == key.read_text().strip().replace("-", "")
    write(vault, tree)
    assert check_and_list(folder, secret, vault.pk.hex()) == texts(tree)


@pytest.mark.skipif(not LIST_VOLUME, reason="LIST_VOLUME does not name the program list_volume (tests/unit/volume)")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REFUSED])
def test_files_in_a_vault_of_pygocryptfs(kind, folder, secret, tree):
    pygocryptfs.init_vault(folder, password="correct horse", scryptn=10, **KINDS[kind][1])
    vault = pygocryptfs.Vault(folder, password="correct horse")
    write(vault, tree)
    assert check_and_list(folder, secret, vault.pk.hex()) == texts(tree)


@needs_gocryptfs
@pytest.mark.parametrize("kind", REFUSED)
def test_vaults_that_gocryptfs_refuses_as_well(kind, folder, secret):
    pygocryptfs.init_vault(folder, password="correct horse", scryptn=10, **KINDS[kind][1])
    fail("vault", "fsck", "--passphrase-file", secret, folder, code=(CORRUPT, FAILURE), says=REFUSED[kind])
    code, said = gocryptfs("-info", folder)
    assert code != 0, said


def test_passphrases(folder, secrets, secret):
    other, third = secrets.file("battery staple"), secrets.file("third")
    succeed("vault", "init", *CHEAP, "--passphrase-file", secret, folder)
    key = pygocryptfs.Vault(folder, password="correct horse").pk
    change = ("vault", "passwd", "--passphrase-file")
    succeed(*change, secret, "--new-passphrase-file", other, folder)
    vault = pygocryptfs.Vault(folder, password="battery staple")
    assert vault.pk == key
    with pytest.raises(ValueError, match="wrong password"):
        pygocryptfs.Vault(folder, password="correct horse")
    (folder / "gocryptfs.conf").chmod(0o600)
    vault.change_password("battery staple", "third")
    fail(*change, other, "--new-passphrase-file", secret, folder, code=WRONG_KEY, says="is wrong")
    succeed(*change, third, "--new-passphrase-file", secret, folder)
    assert pygocryptfs.Vault(folder, password="correct horse").pk == key
