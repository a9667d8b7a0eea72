# SPDX-License-Identifier: Apache-2.0
# What -f does not replace: the identity or the passphrase that opens the file.
import os

import program
import pytest
from program import USAGE, fail, run, succeed


@pytest.fixture
def locked(folder, random_bytes):
    """key.txt and key.txt.paes, encrypted to it; word and word.paes, encrypted to the passphrase."""
    (folder / "plain").write_bytes(random_bytes(1000))
    (folder / "word").write_text("a passphrase\n")
    succeed("encrypt", "--new-identity", "key.txt", "-o", "key.txt.paes", "plain", cwd=folder)
    succeed("encrypt", "--passphrase-file", "word", "-o", "word.paes", "plain", cwd=folder)
    return folder


@pytest.mark.parametrize("spelling", ["itself", "derived", "symlink", "hard link"])
@pytest.mark.parametrize("name, option", [("key.txt", "-i"), ("word", "--passphrase-file")])
def test_decrypt_keeps_what_opened_the_file(name, option, spelling, locked):
    target = name
    if spelling == "symlink":
        (locked / "link").symlink_to(name)
        target = "link"
    elif spelling == "hard link":
        os.link(locked / name, locked / "link")
        target = "link"
    before = program.tree(locked)
    output = [] if spelling == "derived" else ["-o", target]
    fail(
        *("decrypt", "-f", option, name, *output, f"{name}.paes"),
        code=USAGE,
        says=f"{target}: is the file of the",
        cwd=locked,
    )
    assert program.tree(locked) == before


def test_only_the_file_concerned_is_refused(locked, random_bytes):
    """The others of several inputs are decrypted, and so are outputs of another name and pipes."""
    (locked / "taken").write_bytes(b"old")
    succeed("decrypt", "-f", "-i", "key.txt", "-o", "taken", "key.txt.paes", cwd=locked)
    assert (locked / "taken").read_bytes() == random_bytes(1000)
    key = (locked / "key.txt").read_bytes()
    os.link(locked / "key.txt.paes", locked / "other.paes")
    arguments = ["decrypt", "-f", "-i", "key.txt", "key.txt.paes", "other.paes"]
    assert run(*arguments, cwd=locked).code == program.SOME_FAILED
    assert (locked / "other").read_bytes() == random_bytes(1000)
    assert (locked / "key.txt").read_bytes() == key
    assert succeed("decrypt", "-f", "-i", "key.txt", "-o", "-", "key.txt.paes", cwd=locked).out
    # As a pipe an identity has no name to lose.
    shell = ["sh", "-c", 'cat key.txt | "$@"', "sh"]
    arguments = ["decrypt", "-f", "-i", "/dev/stdin", "-o", "/dev/null", "key.txt.paes"]
    succeed(*arguments, prefix=shell, cwd=locked)


def test_encrypt_keeps_its_passphrase(locked):
    before = program.tree(locked)
    fail(
        *("encrypt", "-f", "--passphrase-file", "word", "-o", "word", "plain"),
        code=USAGE,
        says="word: is the file of the passphrase",
        cwd=locked,
    )
    assert program.tree(locked) == before


def test_encrypt_keeps_its_recipients(locked, keys):
    (locked / "list").write_text(keys.recipient + "\n")
    before = program.tree(locked)
    fail(
        *("encrypt", "-f", "-R", "list", "-o", "list", "plain"),
        code=USAGE,
        says="list: is the file of the recipients",
        cwd=locked,
    )
    assert program.tree(locked) == before
