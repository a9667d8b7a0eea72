# SPDX-License-Identifier: Apache-2.0
# Standard output that is a file: what the system says about it late, at a sync or at the close, is an
# error like any other. A library before the system's makes it say so.
import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
import threading
import time

import preload
import program
import pytest
from program import FAILURE, OK, PAES, succeed

SAYS = {"fsync": "standard output: Input/output error", "close": "standard output: No space left"}


@pytest.fixture
def late(preloaded):
    """run(call, arguments, stdout) with that call failing for the file that is standard output."""
    prefix = preloaded(preload.LATE)

    def run_late(call, *arguments, stdout, stdin=subprocess.DEVNULL):
        done = subprocess.run(
            [*prefix, f"FAILS={call}", PAES, *map(str, arguments)],
            env=program.clean_environment(),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=program.TIMEOUT_S,
            check=False,
        )
        return done.returncode, done.stderr.decode()

    return run_late


def check(late, call, arguments, file, stdin=subprocess.DEVNULL):
    code, err = late(call, *arguments, stdout=file, stdin=stdin)
    assert code == FAILURE, err
    program.assert_error_lines(err, SAYS[call])


@pytest.mark.parametrize("call", ["fsync", "close"])
@pytest.mark.parametrize("how", ["new", "append", "in the middle"])
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_text_that_is_lost_late(name, how, call, late, sealed, keys, folder, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    for command in (
        ["encrypt", "-r", keys.recipient, "-o", name, folder / "plain"],
        ["decrypt", "-i", keys.path, "-o", name, sealed],
        ["decrypt", "-i", keys.path, "--range", "5-9", "-o", name, sealed],
        ["cipher", "aes-256-ctr", "--key", key, "--iv", "00" * 16, "-o", name, folder / "plain"],
    ):
        (folder / "out").write_bytes(b"" if how == "new" else b"what was there")
        with open(folder / "out", "ab" if how == "append" else "r+b") as file:
            file.seek(4 if how == "in the middle" else 0)
            check(late, call, command, file)
        # What can be cut off is.
        assert how != "new" or (folder / "out").read_bytes() == b""


@pytest.mark.parametrize("call", ["fsync", "close"])
def test_a_key_that_is_lost_late(call, late, folder):
    with open(folder / "key", "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        check(late, call, ["keygen"], file)


def test_results_that_are_lost_late(late, sealed, keys, folder):
    for command in (
        ["inspect", sealed],
        ["inspect", "--json", sealed],
        ["verify", "--json", "-i", keys.path, sealed],
        ["encrypt", "--json", "-r", keys.recipient, "-o", folder / "again", folder / "plain"],
        ["keygen", "--json", "-o", folder / "key"],
        ["devices"],
        ["--version"],
        ["--help"],
    ):
        with open(folder / "out", "wb") as file:
            check(late, "close", command, file)


def test_nothing_fails_that_should_not(late, sealed, keys, folder):
    """The library itself, and a file that cannot be synced."""
    with open(folder / "out", "wb") as file:
        code, err = late("", "decrypt", "-i", keys.path, "-o", "-", sealed, stdout=file)
    assert (code, err) == (OK, "")
    assert (folder / "out").read_bytes() == (folder / "plain").read_bytes()
    with open(folder / "out", "wb") as file:
        code, err = late("sync", "decrypt", "-i", keys.path, "-o", "-", sealed, stdout=file)
    assert (code, err) == (OK, "")


# A reader that is slow, at the other end of a pipe that does not block


class SlowPipe:
    """A pipe of one page whose end for writing does not block, and what a slow reader gets of it."""

    def __init__(self):
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(self.writing, False)
        self.got = b""
        self.thread = threading.Thread(target=self.read)

    def read(self):
        while block := os.read(self.reading, 1024):
            self.got += block
            time.sleep(0.0005)

    def holds(self):
        """How many bytes wait in it."""
        return struct.unpack("i", fcntl.ioctl(self.reading, termios.FIONREAD, bytes(4)))[0]

    def end(self):
        self.thread.join()
        os.close(self.reading)
        return self.got


def wait_until_it_waits(process, pipes):
    """Until the program has written something and all of its threads sleep, or it has ended: no reader has
    begun, so that it waits for one. The files that it reads are local, and none of its threads sleeps for them."""
    end = time.monotonic() + program.TIMEOUT_S
    seen = 0
    while seen < 3:
        assert time.monotonic() < end
        time.sleep(0.005)
        try:
            threads = os.listdir(f"/proc/{process.pid}/task")
            states = {state_of(f"/proc/{process.pid}/task/{thread}/stat") for thread in threads}
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread has just ended
        if states == {"Z"}:
            return
        seen = seen + 1 if states == {"S"} and any(pipe.holds() for pipe in pipes) else 0


def state_of(path):
    with open(path) as file:
        return file.read().rpartition(")")[2].split()[0]


def run_slowly(*arguments):
    """Exit code, standard output and standard error, both read slowly once the program waits for that."""
    pipes = out, err = SlowPipe(), SlowPipe()
    process = program.start(*arguments, stdin=subprocess.DEVNULL, stdout=out.writing, stderr=err.writing)
    for pipe in pipes:
        os.close(pipe.writing)
    wait_until_it_waits(process, pipes)
    for pipe in pipes:
        pipe.thread.start()
    code = process.wait(timeout=program.TIMEOUT_S)
    return code, out.end(), err.end().decode()


@pytest.fixture
def many(folder, keys):
    names = []
    for number in range(40):
        name = folder / f"{number}{'n' * 200}"
        name.write_bytes(b"text")
        names.append(name)
    succeed("encrypt", "-q", "-r", keys.recipient, *names)
    return [f"{name}.paes" for name in names]


@pytest.mark.parametrize("command", ["verify", "verify --json", "decrypt -v -f", "decrypt -f --json"])
def test_a_slow_reader_gets_all(command, many, keys):
    words = [*command.split(), "-i", keys.path, *many]
    expected = program.run(*words)
    assert expected.code == OK and len(expected.out) + len(expected.err) > 8192
    code, out, err = run_slowly(*words)
    assert code == OK, err
    if words[0] == "verify" and "--json" not in words:
        assert (out, err) == (expected.out, expected.err)
    else:  # what it says of time differs
        assert out.count(b"\n") == expected.out.count(b"\n")
        assert err.count("\n") == expected.err.count("\n")
        assert "--json" not in words or json.loads(out)["counts"] == json.loads(expected.out)["counts"]


def test_a_slow_reader_gets_errors_and_help(folder, keys):
    names = [folder / f"{number}{'n' * 200}" for number in range(40)]
    for words in (["verify", "-i", keys.path, *names], ["encrypt", "--help"], ["age", "-h"]):
        expected = program.run(*words)
        assert run_slowly(*words) == (expected.code, expected.out, expected.err)


def test_a_slow_reader_gets_a_text(sealed, plain, keys):
    code, out, err = run_slowly("decrypt", "-q", "-i", keys.path, "-o", "-", sealed)
    assert (code, out, err) == (OK, plain.read_bytes(), "")


def test_a_closed_pipe_that_does_not_block(many, keys):
    reading, writing = os.pipe()
    os.close(reading)
    os.set_blocking(writing, False)
    process = program.start("verify", "-i", keys.path, *many, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.wait(timeout=program.TIMEOUT_S) == -signal.SIGPIPE
    assert process.stderr.read() == b""


# What nobody reads


def full_pipe():
    """A pipe that takes nothing more and does not block."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    return reading, writing


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stop_while_nobody_reads(stream, number, many, keys):
    """Messages wait for a reader, but not beyond a request to stop."""
    reading, writing = full_pipe()
    names = many if stream == "stdout" else [f"{name}.missing" for name in many]
    process = program.start("verify", "-i", keys.path, *names, **{"stderr": subprocess.DEVNULL, stream: writing})
    os.close(writing)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(number)
        assert process.wait(timeout=20) == -number
    finally:
        os.close(reading)
        process.kill()
        process.wait()


TAKES_NOTHING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>
ssize_t write(int file, const void* from, size_t bytes) {
  ssize_t (*real)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return file == 1 ? 0 : real(file, from, bytes);
}
ssize_t writev(int file, const struct iovec* from, int count) { return 0; }
ssize_t pwritev(int file, const struct iovec* from, int count, off_t at) { return 0; }
"""


def test_what_takes_nothing_is_an_error(preloaded, sealed, keys, folder):
    prefix = preloaded(TAKES_NOTHING)
    for words in (["devices"], ["keygen"], ["decrypt", "-i", keys.path, "-o", "-", sealed]):
        result = program.run(*words, prefix=prefix)
        assert result.code == FAILURE
        program.assert_error_lines(result.err, "standard output: Input/output error")
    program.fail("encrypt", "-r", keys.recipient, "-o", folder / "new", folder / "plain", prefix=prefix,
                 code=FAILURE, says="new: Input/output error")
    assert not (folder / "new").exists()
