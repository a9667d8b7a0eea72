# What is said when work into a pipe ends early: how much went out, for it cannot be taken back.
import os
import re
import signal
import subprocess

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
    process = start(
        *arguments_for("encrypt", plain, keys), stdout=subprocess.PIPE, stderr=subprocess.PIPE
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
