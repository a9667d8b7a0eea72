# SPDX-License-Identifier: Apache-2.0
# What is said when work into a pipe ends early: how much went out, for it cannot be taken back.
import os
import re
import signal
import subprocess
from pathlib import Path

import age_file
import container
import program
import pytest
from program import FAILURE, PAES, fail, start, succeed

TEXT_BYTES = 8 << 20


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes(random_bytes(1 << 20) * 8)
    return path


def arguments_for(command, plain, keys):
    if command == "encrypt":
        return ["encrypt", "-r", keys.recipient, "-o", "-", plain]
    succeed("encrypt", "-r", keys.recipient, plain)
    return ["decrypt", "-i", keys.path, "-o", "-", f"{plain}.paes"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_signal_says_how_much_went_out(command, threads, plain, keys):
    process = start(
        *(*arguments_for(command, plain, keys), "-T", threads),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    received = process.stdout.read(100_000)
    process.send_signal(signal.SIGTERM)
    # Everything that paes wrote is still in the pipe, so that the number can be checked.
    assert program.died_of(process.wait(timeout=30), signal.SIGTERM)
    received += process.stdout.read()
    err = process.stderr.read().decode()
    process.stdout.close()
    process.stderr.close()
    program.assert_error_lines(err, "interrupted: ")
    said = re.search(r"; (\d+) bytes before that were already written to standard output$", err, re.M)
    assert said, err
    assert int(said[1]) == len(received)


def test_a_closed_pipe_says_it_too(plain, keys):
    """Where SIGPIPE is ignored, as Python itself does; otherwise it dies of that."""
    process = start(
        *arguments_for("encrypt", plain, keys),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        restore_signals=False,
    )
    assert process.stdout.read(1)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=30) == FAILURE
    program.assert_error_lines(err, r"Broken pipe; \d+ bytes before that were already written")


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_nothing_is_said_where_nothing_went_out(command, plain, keys):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PAES, *map(str, arguments_for(command, plain, keys))],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == FAILURE
    assert b"already written" not in done.stderr


def test_nor_where_it_was_taken_back(plain, keys, folder):
    succeed("encrypt", "-r", keys.recipient, plain)
    sealed = folder / "plain.paes"
    os.truncate(sealed, sealed.stat().st_size - 1)
    result = fail(
        *("decrypt", "-i", keys.path, "-o", folder / "out", "-"),
        stdin=sealed.read_bytes(),
        code=program.CORRUPT,
    )
    assert "already written" not in result.err


# Key derivations, of which libcrypto never ends its own early


def hard_envelope(work_factor):
    """A container whose passphrase nobody knows, and takes long to be wrong."""
    stanza = age_file.stanza(
        [b"scrypt", age_file.base64_unpadded(bytes(16)), b"%d" % work_factor], bytes(32)
    )
    envelope = b"age-encryption.org/v1\n" + stanza + b"--- " + b"A" * 43 + b"\n" + bytes(64)
    return container.preamble(2, envelope) + bytes(1000)


def computes(process, seconds):
    """Whether so much processor time has gone by."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12]) >= seconds * os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", program.SIGNALS)
@pytest.mark.parametrize(
    "words",
    [
        ["cipher", "aes-256-cbc", "--openssl", "--iter", "100000000", "-o", "out", "plain"],
        ["cipher", "aes-256-cbc", "-d", "--openssl", "--iter", "100000000", "-o", "out", "salted"],
        ["cipher", "aes-256-cbc", "--openssl", "--iter", "100000000", "plain"],
        ["decrypt", "--max-work-factor", "21", "-o", "out", "hard.paes"],
        ["verify", "--max-work-factor", "21", "hard.paes"],
        ["rekey", "--max-work-factor", "21", "--new-passphrase-file", "pass", "hard.paes"],
    ],
)
def test_a_signal_ends_a_key_derivation(words, number, plain, folder):
    (folder / "pass").write_text("word\n")
    (folder / "salted").write_bytes(b"Salted__12345678" + bytes(64))
    (folder / "hard.paes").write_bytes(hard_envelope(21))
    before = program.tree(folder)
    process = start(
        *words, "--passphrase-file", "pass",
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    program.wait_until(lambda: computes(process, 0.2), "the derivation to begin")
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("the derivation goes on")
    assert program.died_of(process.returncode, number)
    program.assert_error_lines(err.decode(), "interrupted: ")
    assert out == b""
    assert program.tree(folder) == before
