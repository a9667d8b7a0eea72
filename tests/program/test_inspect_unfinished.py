# SPDX-License-Identifier: Apache-2.0
# `paes inspect` of what --resume has not finished: the partial file, and the output that is not there
# yet. It says how much is done, from the journal and without a key, and how to go on.
import json
import os
from pathlib import Path

import program
import pytest
from program import CORRUPT, FAILURE, fail, run, succeed
from test_json import validator
from test_resume import STRIPE_BYTES, beside, interrupt, recorded

TEXT_BYTES = 8 * STRIPE_BYTES + 12345


@pytest.fixture(scope="module")
def text():
    return os.urandom(TEXT_BYTES)


@pytest.fixture
def plain(folder, text):
    path = folder / "plain"
    path.write_bytes(text)
    return path


@pytest.fixture
def encryption(plain, keys):
    """An interrupted one; its output, and the command that continues it."""
    output = Path(f"{plain}.paes")
    command = ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, "-T", "1", plain]
    interrupt(command, output)
    return output, command


@pytest.fixture
def decryption(plain, keys, folder):
    succeed("encrypt", "-r", keys.recipient, plain)
    output = folder / "back"
    command = ["decrypt", "--resume", "-i", keys.path, "-T", "1", "-o", output, f"{plain}.paes"]
    interrupt(command, output)
    return output, command


def inspected(path, code):
    """The JSON document of a file that is not as it should be."""
    result = run("inspect", "--json", path)
    assert result.code == code
    program.assert_error_lines(result.err)
    document = json.loads(result.out)
    validator("inspect").validate(document)
    return document


def test_an_unfinished_encryption(encryption, keys):
    output, command = encryption
    partial, _ = beside(output)
    before = program.tree(output.parent)
    result = run("inspect", partial)
    assert result.code == CORRUPT
    done = rf"{recorded(output) * STRIPE_BYTES / 1e6:.2f} MB of 33.57 MB are done"
    program.assert_error_lines(result.err, rf"partial: unfinished, {done}\n.*hint: .*--resume")
    shown = result.out.decode()
    assert "recipients  1: X25519" in shown
    assert f"length      unfinished: {done} (not authenticated)" in shown
    assert "complete, as far" not in shown
    assert inspected(partial, CORRUPT)["unfinished"] == {
        "work": "encrypt",
        "text_bytes": TEXT_BYTES,
        "complete_text_bytes": recorded(output) * STRIPE_BYTES,
    }
    assert program.tree(output.parent) == before
    # Once continued it is a file like any other.
    succeed(*command)
    document = json.loads(succeed("inspect", "--json", output).out)
    validator("inspect").validate(document)
    assert document["unfinished"] is None and document["text_bytes"] == TEXT_BYTES


def test_the_output_of_an_unfinished_encryption_is_not_there(encryption):
    output, _ = encryption
    says = r"plain.paes: No such file.*\n.*hint: .*plain.paes.partial is the unfinished output of an " \
        r"encryption, of which \S+ MB of 33.57 MB are done: "
    fail("inspect", output, code=FAILURE, says=says)
    error = inspected(output, FAILURE)["error"]
    assert error["code"] == FAILURE and "plain.paes.partial" in error["hint"]


def test_an_unfinished_decryption(decryption):
    """Its text is no file of paes; the error stays what it was, and says what the file is."""
    output, _ = decryption
    says = "hint: .*back.partial is the unfinished output of a decryption, of which .* are done"
    fail("inspect", beside(output)[0], code=CORRUPT, says=says)
    fail("inspect", output, code=FAILURE, says=says)


def test_what_is_no_journal_says_nothing(encryption, folder):
    """A partial file alone is looked at as any file, and a foreign journal is not believed."""
    output, _ = encryption
    partial, journal = beside(output)
    whole = journal.read_bytes()
    for contents in (b"", whole[:255], b"x" + whole[1:], whole[:8] + b"\2" + whole[9:]):
        journal.write_bytes(contents)
        assert json.loads(succeed("inspect", "--json", partial).out)["unfinished"] is None
        assert "hint" not in fail("inspect", output, code=FAILURE, says="No such file").err
    journal.unlink()
    os.mkfifo(journal)
    assert json.loads(succeed("inspect", "--json", partial).out)["unfinished"] is None
    journal.unlink()
    fail("inspect", output, code=FAILURE, says="No such file")
    fail("inspect", folder / ".partial", code=FAILURE, says="No such file")
