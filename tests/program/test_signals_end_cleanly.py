# SPDX-License-Identifier: Apache-2.0
# Signals and closed pipes in the middle of the work: it ends at once, in one clear line, with no partial
# output and no temporary file, and the source as it was.
import os
import signal
import subprocess
import time

import program
import pytest
from program import start, succeed

# Closed pipe


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_closed_pipe(command, threads, folder, keys, random_bytes, unchanged):
    plain = folder / "plain"
    plain.write_bytes(random_bytes(4 << 20) * 4)
    succeed("encrypt", "-r", keys.recipient, "-o", folder / "sealed", plain)
    check = unchanged()
    arguments = {
        "encrypt": ["-r", keys.recipient, "-o", "-", plain],
        "decrypt": ["-i", keys.path, "-o", "-", folder / "sealed"],
    }[command]
    process = start(
        command, "-T", threads, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    first = process.stdout.read(1)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=30) == -signal.SIGPIPE
    assert (len(first), err) == (1, "")
    check()


# Signals


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupt(process, number):
    process.send_signal(number)
    sent = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - sent < 5, "a signal ends the work at the next batch"
    assert program.died_of(process.returncode, number), process.returncode
    program.assert_error_lines(err.decode(), "interrupt")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("number", program.SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_signal_in_the_middle_of_a_file(command, number, threads, folder, keys, unchanged):
    source = folder / "source"
    if command == "encrypt":
        source.touch()
        os.truncate(source, 1 << 30)
        arguments = ["-r", keys.recipient]
    else:
        (folder / "zeros").touch()
        os.truncate(folder / "zeros", 256 << 20)
        succeed("encrypt", "-r", keys.recipient, "-o", source, folder / "zeros")
        (folder / "zeros").unlink()
        arguments = ["-i", keys.path]
    before = sorted(os.listdir(folder)), source.stat()
    # The slowest kernel that is chosen without a warning, so that there is a middle.
    process = start(
        *(command, "-T", threads, "--kernel", "bitslice", *arguments),
        *("-o", folder / "out", source),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.wait_until(
        lambda: process.poll() is not None or cpu_seconds(process.pid) > 0.1, "paes to be at work"
    )
    assert process.poll() is None, process.communicate()
    interrupt(process, number)
    assert sorted(os.listdir(folder)) == before[0]
    assert source.stat().st_size == before[1].st_size
    assert source.stat().st_mtime_ns == before[1].st_mtime_ns


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("number", program.SIGNALS, ids=lambda number: number.name)
def test_signal_while_a_pipe_is_silent(number, threads, folder, keys, random_bytes):
    """The writer pauses for ever: the signal must end the wait, too."""
    process = start(
        *("encrypt", "-T", threads, "-r", keys.recipient, "-o", folder / "out", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # More than a pipe holds: it returns only when paes has read.
    process.stdin.write(random_bytes(4 << 20))
    process.stdin.flush()
    process.send_signal(number)
    assert program.died_of(process.wait(timeout=5), number)
    program.assert_error_lines(process.stderr.read().decode(), "interrupt")
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()
    assert program.tree(folder) == {}


@pytest.mark.parametrize("number", program.SIGNALS, ids=lambda number: number.name)
def test_signal_while_nobody_reads(number, keys, folder, random_bytes):
    """Standard output is a full pipe: the signal must end that wait, too."""
    (folder / "plain").write_bytes(random_bytes(4 << 20) * 4)
    process = start(
        *("encrypt", "-r", keys.recipient, "-o", "-", folder / "plain"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.read(1) != b""
    time.sleep(0.2)
    process.send_signal(number)
    assert program.died_of(process.wait(timeout=5), number)
    program.assert_error_lines(process.stderr.read().decode(), "interrupt")
    process.stdout.close()
    process.stderr.close()
