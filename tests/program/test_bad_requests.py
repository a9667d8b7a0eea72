# SPDX-License-Identifier: Apache-2.0
# Requests: those that make no sense, those of several files of which some fail, and names that a
# terminal would obey.
import json
import os

import program
import pytest
from program import FAILURE, USAGE, fail, run, succeed


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes(random_bytes(1000))
    return path


# Several files


def test_some_of_several_files_fail(keys, folder, random_bytes):
    for name in ("one", "two", "three"):
        (folder / name).write_bytes(random_bytes(1000))
    result = run(
        "encrypt", "-r", keys.recipient, "one", "missing", "two", "three", cwd=folder
    )
    assert result.code == program.SOME_FAILED
    assert "paes: missing: No such file" in result.err
    assert {path.name for path in folder.iterdir()} == {
        *("one", "two", "three", "one.paes", "two.paes", "three.paes")
    }
    damaged = folder / "two.paes"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    for name in ("one", "two", "three"):
        (folder / name).unlink()
    result = run("decrypt", "-i", keys.path, "one.paes", "two.paes", "three.paes", cwd=folder)
    assert result.code == program.SOME_FAILED
    assert result.err.count("\n") in (1, 2)
    assert "two.paes" in result.err
    assert (folder / "one").read_bytes() == (folder / "three").read_bytes() == random_bytes(1000)
    assert not (folder / "two").exists()


def test_all_of_several_files_fail_alike(keys, folder):
    result = run("verify", "-i", keys.path, "a.paes", "b.paes", cwd=folder)
    assert result.code in (FAILURE, program.SOME_FAILED)
    assert len([line for line in result.err.splitlines() if "No such file" in line]) == 2


# Requests that make no sense


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["encipher"],
        ["encrypt", "plain"],
        ["encrypt", "-r", "nonsense", "plain"],
        ["encrypt", "-r", "RECIPIENT", "-p", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--passphrase-file", "plain", "plain"],
        ["encrypt", "-R", "recipients", "-p", "plain"],
        ["encrypt", "--new-identity", "key", "-p", "plain"],
        ["encrypt", "-r", "RECIPIENT", "-o", "out", "plain", "plain2"],
        ["encrypt", "-r", "RECIPIENT", "--suite", "aes-192-gcm", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--kernel", "warp", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--kernel", "copy", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--kernel", "vaes_loop", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--schedule", "sometimes", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--piece", "0", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--piece", "1GiB", "plain"],
        ["encrypt", "-r", "RECIPIENT", "-T", "-1", "plain"],
        ["encrypt", "-r", "RECIPIENT", "-T", "many", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--salt", "00", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--key", "00", "plain"],
        ["decrypt", "-i", "KEYS", "--range", "5-4", "sealed.paes"],
        ["decrypt", "-i", "KEYS", "--range", "x", "sealed.paes"],
        ["decrypt", "-i", "KEYS", "--range", "-5", "sealed.paes"],
        ["decrypt", "-i", "KEYS", "--range", "", "-o", "out", "sealed.paes"],
        ["decrypt", "-i", "KEYS", "-o", "", "sealed.paes"],
        ["decrypt", "-i", "KEYS", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--new-identity", "", "-o", "out", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--kernel", "", "-o", "out", "plain"],
        ["encrypt", "-r", "RECIPIENT", ""],
        ["verify", "-i", "KEYS"],
        ["rekey", "-i", "KEYS", "sealed.paes"],
        ["inspect"],
        ["keygen", "surplus"],
    ],
    ids=" ".join,
)
def test_usage_errors(arguments, plain, sealed, keys, folder, unchanged):
    (folder / "plain2").write_bytes(b"2")
    (folder / "recipients").write_text(keys.recipient)
    check = unchanged()
    words = {"RECIPIENT": keys.recipient, "KEYS": keys.path}
    fail(*(words.get(word, word) for word in arguments), code=USAGE, cwd=folder)
    check()


# Help before the command, and words that say what a file is


@pytest.mark.parametrize("command", ["encrypt", "verify", "cipher", "rekey"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_before_the_command(option, command):
    page = succeed(command, "--help").out
    assert succeed(option, command).out == page
    assert len(page.splitlines()) > 8


def test_help_of_no_command():
    assert succeed("-h").out == succeed("--help").out
    fail("-h", "frobnicate", code=USAGE, says="no command 'frobnicate'")
    fail("-h", "", code=USAGE, says="the command is empty")


def test_standard_input_is_called_so(plain, sealed, keys, folder):
    """Wherever a person reads; JSON has the word of the command line."""
    said = succeed("verify", "-v", "-i", keys.path, "-", stdin=sealed.read_bytes())
    assert said.err.startswith("paes: standard input: 1.00 kB in ")
    assert said.out.startswith(b"standard input: authentic, ")
    with open(sealed, "rb") as file:
        assert succeed("inspect", "-", stdin=file).out.startswith(b"standard input\n")
    with open(plain, "rb") as file:
        result = run("inspect", "-", stdin=file)
    assert result.err.startswith("paes: standard input: ")
    (folder / "cut").write_bytes(sealed.read_bytes()[:-1011])
    with open(folder / "cut", "rb") as file:
        assert run("inspect", "-", stdin=file).err.startswith("paes: standard input: truncated")
    document = json.loads(succeed("inspect", "--json", "-", stdin=sealed.read_bytes()).out)
    assert document["file"] == "-"


def test_control_characters_in_a_name_do_not_reach_the_terminal(keys, folder):
    result = fail("inspect", folder / "bad\x1b[31m\nname", code=FAILURE)
    assert "bad\\x1b[31m\\x0aname" in result.err
    # The same sequence begun by one character above 0x7f, in UTF-8 and in Latin-1.
    result = fail("inspect", folder / "bad\u009b31mname", code=FAILURE)
    assert "bad\\xc2\\x9b31mname" in result.err
    result = fail("inspect", folder / os.fsdecode(b"bad\x9b31mname"), code=FAILURE)
    assert "bad\\x9b31mname" in result.err
    result = fail("inspect", folder / "r\u00e9sum\u00e9 \u65e5\u672c \U0001f510", code=FAILURE)
    assert "r\u00e9sum\u00e9 \u65e5\u672c \U0001f510" in result.err
