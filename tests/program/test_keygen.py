# SPDX-License-Identifier: Apache-2.0
# `paes keygen` beyond a plain key pair: public keys of identities, keys under a passphrase, and where
# keys may be read from.
import json
import os
from pathlib import Path

import age_file
import pytest
from program import FAILURE, OK, USAGE, WRONG_KEY, assert_error_lines, fail, on_a_terminal, run, succeed

PASSPHRASE = b"correct horse"


@pytest.fixture
def text(folder, random_bytes):
    path = folder / "text"
    path.write_bytes(random_bytes(5000))
    return path


@pytest.mark.parametrize("route", ["file", "standard input"])
def test_public_keys_of_identities(keys, other_keys, folder, route):
    both = folder / "both"
    both.write_bytes(keys.path.read_bytes() + other_keys.path.read_bytes())
    arguments, stdin = (["-y", both], b"") if route == "file" else (["-y"], both.read_bytes())
    assert succeed("keygen", *arguments, stdin=stdin).out.decode().split() == [keys.recipient, other_keys.recipient]


def test_public_keys_of_what_is_no_identity(folder):
    (folder / "none").write_text("# nothing\n")
    fail("keygen", "-y", folder / "none", code=USAGE, says="holds no identity")
    fail("keygen", "-y", folder / "missing", code=FAILURE, says="No such file")


@pytest.mark.parametrize("options", [["-p"], ["--post-quantum"], ["-o", "x"]])
def test_showing_makes_no_key(keys, folder, options):
    fail("keygen", "-y", keys.path, *options, cwd=folder, code=USAGE, says="makes no key")
    assert not (folder / "x").exists()


def test_a_file_without_y(keys):
    fail("keygen", keys.path, code=USAGE, says="not expected")


def test_a_key_under_a_passphrase(folder):
    (folder / "pass").write_bytes(PASSPHRASE)
    result = succeed("keygen", "--passphrase-file", folder / "pass", "-o", folder / "key")
    made = folder / "key"
    assert made.stat().st_mode & 0o777 == 0o600
    assert b"SECRET" not in made.read_bytes()
    opened = age_file.age_decrypt_with_passphrase(made.read_bytes(), PASSPHRASE, folder)
    (folder / "opened").write_bytes(opened)
    public_key = result.err.strip().removeprefix("Public key: ")
    assert age_file.recipient_of(folder / "opened") == public_key


def test_a_key_under_a_passphrase_opens_and_seals(folder, text):
    """The passphrase is asked for once, for the key's file, and typed wrong it is said of that file."""
    (folder / "pass").write_bytes(PASSPHRASE)
    made = folder / "key"
    public_key = succeed("keygen", "--passphrase-file", folder / "pass", "-o", made).err.split()[-1]
    succeed("encrypt", "-r", public_key, text)
    decrypt = ["decrypt", "-q", "-i", made, f"{text}.paes", "-o"]
    code, shown = on_a_terminal([*decrypt, folder / "again"], [PASSPHRASE])
    assert code == 0 and shown.count("Enter passphrase for") == 1 and str(made) in shown, shown
    assert (folder / "again").read_bytes() == text.read_bytes()
    code, shown = on_a_terminal([*decrypt, folder / "more"], [b"wrong"])
    assert code == WRONG_KEY and f"{made}: envelope: the passphrase is wrong" in shown, shown
    fail(*decrypt, folder / "more", code=FAILURE, says="terminal", prefix=["setsid", "-w"])
    assert not (folder / "more").exists()
    code, shown = on_a_terminal(["encrypt", "-q", "-i", made, text, "-o", folder / "own.paes"], [PASSPHRASE])
    assert code == 0, shown
    code, shown = on_a_terminal(["keygen", "-y", made], [PASSPHRASE])
    assert code == 0 and public_key in shown, shown


def test_a_key_that_age_encrypted(folder, keys, text):
    """age -p makes it of age-keygen's list, armored or not."""
    succeed("encrypt", "-r", keys.recipient, text)
    for options in ([], ["-a"]):
        encrypted = age_file.age_encrypt_with_passphrase(keys.path.read_bytes(), PASSPHRASE, folder, *options)
        (folder / "key.age").write_bytes(encrypted)
        code, shown = on_a_terminal(
            ["decrypt", "-q", "-f", "-i", folder / "key.age", f"{text}.paes", "-o", folder / "again"], [PASSPHRASE])
        assert code == 0, shown
        assert (folder / "again").read_bytes() == text.read_bytes()


def test_nothing_is_asked_for_a_file_that_exists(folder):
    (folder / "key").write_text("precious")
    code, shown = on_a_terminal(["keygen", "-p", "-o", folder / "key"], [PASSPHRASE, PASSPHRASE])
    assert code == FAILURE and "exists" in shown and "assphrase:" not in shown
    assert (folder / "key").read_text() == "precious"


def test_the_passphrase_is_asked_twice(folder):
    code, shown = on_a_terminal(["keygen", "-p", "-o", folder / "key"], [PASSPHRASE, PASSPHRASE])
    assert code == 0, shown
    assert PASSPHRASE.decode() not in shown
    code, shown = on_a_terminal(["keygen", "-p"], [])
    assert code == USAGE and "not text for a terminal" in shown


def test_post_quantum_keys_need_a_new_libcrypto(folder):
    result = run("keygen", "--post-quantum", "-o", folder / "key")
    if result.code == OK:
        assert (folder / "key").read_text().splitlines()[-1].startswith("AGE-SECRET-KEY-PQ-1")
        assert succeed("keygen", "-y", folder / "key").out.startswith(b"age1pq1")
    else:
        assert result.code == FAILURE
        assert_error_lines(result.err, "no ML-KEM-768.*\n.*OpenSSL 3.5")
        assert not (folder / "key").exists()


def test_encryption_to_an_identity(keys, other_keys, text, folder):
    succeed("encrypt", "-i", keys.path, "-r", other_keys.recipient, text)
    for pair in (keys, other_keys):
        succeed("decrypt", "-f", "-i", pair.path, "-o", folder / "again", f"{text}.paes")
        assert (folder / "again").read_bytes() == text.read_bytes()


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_an_identity_is_a_recipient_whether_a_run_is_resumed_or_not(resume, keys, other_keys, text, folder):
    sealed = folder / "sealed"
    succeed("encrypt", *resume, "-i", keys.path, "-r", other_keys.recipient, "-o", sealed, text)
    for pair in (keys, other_keys):
        assert succeed("decrypt", "-i", pair.path, "-o", "-", sealed).out == text.read_bytes()
    # One key that is given twice is one recipient.
    succeed("encrypt", *resume, "-f", "-i", keys.path, "-r", keys.recipient, "-o", sealed, text)
    envelope = json.loads(succeed("inspect", "--json", sealed).out)
    assert len(envelope["recipients"]) == 1, envelope


def test_keys_from_standard_input(keys, text, folder):
    recipients = (keys.recipient + "\n").encode()
    succeed("encrypt", "-R", "-", text, stdin=recipients)
    succeed("decrypt", "-i", "-", "-o", folder / "again", f"{text}.paes", stdin=keys.path.read_bytes())
    assert (folder / "again").read_bytes() == text.read_bytes()
    fail("decrypt", "-i", "-", "-o", folder / "more", stdin=keys.path.read_bytes(), code=USAGE, says="one purpose")
    fail("encrypt", "-R", "-", "-i", "-", text, "-o", folder / "more", stdin=recipients, code=USAGE, says="one purpose")
    assert not (folder / "more").exists()


def test_errors_name_standard_input(text):
    fail("encrypt", "-R", "-", text, stdin=b"bob\n", code=USAGE, says="standard input line 1: recipient")
    assert not Path(os.fspath(text) + ".paes").exists()
