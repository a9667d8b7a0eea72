# SPDX-License-Identifier: Apache-2.0
# `paes cipher` where its input is none, where there are limits, and where it fails in the middle: one clear
# line, the right exit code, no output, no temporary file, and the source as it was.
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import program
import pytest
from program import CORRUPT, FAILURE, OK, PAES, USAGE, fail, run, start, succeed

IV = "000102030405060708090a0b0c0d0eff"
DES_BLOCKS_BYTES = 8 << 20  # 2^20 blocks


# Ciphertexts that are none


@pytest.mark.parametrize("way", ["file", "pipe"])
@pytest.mark.parametrize("size", [0, 1, 15, 17, 33, 300_001])
def test_truncated_input(size, way, keys_of, unchanged):
    (keys_of / "in").write_bytes(bytes(size))
    check = unchanged()
    for name in ("aes-128-cbc", "aes-128-ecb"):
        iv = ["--iv", IV] if name.endswith("cbc") else []
        source = {"in": ["in"], "stdin": b""} if way == "file" else {"in": [], "stdin": bytes(size)}
        fail(
            *("cipher", name, "-d", "--key", "k16", *iv, "-o", "out", *source["in"]),
            stdin=source["stdin"], code=CORRUPT, says="not a whole number of blocks", cwd=keys_of,
        )
    check()


@pytest.mark.parametrize("way", ["file", "pipe"])
@pytest.mark.parametrize("size", [100, 262_144 - 1, 262_144, 1 << 20])
def test_bad_padding_says_one_thing(size, way, keys_of, unchanged):
    """Whatever is wrong with it: the count of 0, one too large, or a byte among them."""
    common = ("cipher", "aes-128-cbc", "--key", keys_of / "k16", "--iv", IV)
    messages = set()
    blocks = [bytes(16), b"\x11" * 16, b"\x02" * 13 + b"\x01\x03\x03", b"\xff" * 16]
    text = bytes(size // 16 * 16)
    for last in blocks:
        sealed = succeed(*common, "--no-pad", stdin=text + last).out
        (keys_of / "in").write_bytes(sealed)
        check = unchanged()
        result = fail(
            *(*common, "-d", "-o", keys_of / "out"),
            *([keys_of / "in"] if way == "file" else []),
            stdin=b"" if way == "file" else sealed,
            code=CORRUPT, says="the padding is wrong",
        )
        messages.add(result.err)
        check()
    assert len(messages) == 1


def test_a_late_failure_in_a_pipe_says_what_went_out(keys_of):
    common = ("cipher", "aes-128-cbc", "--key", keys_of / "k16", "--iv", IV)
    sealed = succeed(*common, "--no-pad", stdin=bytes(1 << 20)).out
    result = run(*common, "-d", "-T", 1, stdin=sealed)
    assert result.code == CORRUPT
    assert result.out == bytes(3 << 18)
    program.assert_error_lines(result.err, "the padding is wrong; 786432 bytes .* already written")


@pytest.mark.parametrize("head", [b"", b"Salted_", b"Salted__1234567", b"salted__12345678", bytes(32)])
def test_not_a_salted_file(head, keys_of, unchanged):
    (keys_of / "in").write_bytes(head)
    check = unchanged()
    arguments = ("cipher", "aes-128-ctr", "-d", "--openssl", "--passphrase-file", "pass")
    fail(*arguments, "-o", "out", "in", code=CORRUPT, says="in: header", cwd=keys_of)
    fail(*arguments, stdin=head, code=CORRUPT, says="standard input: header", cwd=keys_of)
    check()


def test_the_wrong_passphrase_is_bad_padding_at_best(keys_of):
    (keys_of / "other").write_text("other")
    arguments = ("cipher", "aes-128-cbc", "--openssl", "--passphrase-file")
    refused = 0
    for _ in range(4):  # one in 256 has padding by chance
        sealed = succeed(*arguments, keys_of / "pass", stdin=b"text").out
        result = run(*arguments, keys_of / "other", "-d", stdin=sealed)
        if result.code == CORRUPT:
            refused += 1
            assert re.search("the passphrase, --iter, --md or the mode .*without -pbkdf2", result.err)
            assert "the key, the IV" not in result.err
    assert refused >= 2


def test_a_failed_poll_does_not_leave_a_derivation(keys_of):
    """What waits for a key must not give up and let exit handlers run beside the derivation."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    process = start(
        *("cipher", "aes-128-cbc", "-T", 1, "--openssl", "--iter", 3_000_000),
        *("--passphrase-file", keys_of / "pass", "-o", keys_of / "out", keys_of / "plain"),
        stderr=subprocess.PIPE,
    )
    tasks = Path(f"/proc/{process.pid}/task")
    program.wait_until(lambda: len(list(tasks.iterdir())) > 1, "a thread that derives")
    time.sleep(0.05)  # to let it open what it needs
    # A poll of more descriptors than a process may have fails, and one that was stopped begins anew.
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (2, limits[1]))
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.05)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, limits)
    _, err = process.communicate(timeout=60)
    assert process.returncode == OK, err
    assert err == b""


# Limits


@pytest.mark.parametrize("name, most", [("des-ede3-cbc", DES_BLOCKS_BYTES - 1), ("des-ede3-ofb", DES_BLOCKS_BYTES)])
def test_triple_des_encrypts_no_more_than_its_limit(name, most, keys_of):
    """The last byte that fits, and one more; decryption has no limit."""
    common = ("cipher", name, "--legacy", "-q", "--key", keys_of / "k24", "--iv", IV[:16])
    above = ": with its padding" if name.endswith("cbc") else r"in\w*:"
    (keys_of / "in").write_bytes(bytes(most + 1))
    for source, data in (([keys_of / "in"], b""), ([], bytes(most + 1))):
        fail(
            *common, "-o", keys_of / "out", *source,
            stdin=data, code=USAGE, says=f"{above} more than 1048576 blocks",
        )
        assert not (keys_of / "out").exists()
    (keys_of / "in").write_bytes(bytes(most))
    note = succeed(*[word for word in common if word != "-q"], "-o", keys_of / "out", keys_of / "in")
    assert "NIST" in note.err
    assert (keys_of / "out").stat().st_size == DES_BLOCKS_BYTES
    two = (keys_of / "out").read_bytes()
    decrypt = [word for word in common if word != "--legacy"]
    if name.endswith("ofb"):
        assert len(succeed(*decrypt, "-d", stdin=two + two).out) == 2 * DES_BLOCKS_BYTES
    assert succeed(*decrypt, "-d", stdin=two).out == bytes(most)


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_data_unit_has_at_most_16_mib(way, keys_of):
    common = ("cipher", "aes-128-xts", "--key", keys_of / "k32", "--iv", IV)
    for extra in (0, 1, 16):
        data = bytes((16 << 20) + extra)
        (keys_of / "in").write_bytes(data)
        result = run(
            *(*common, "-o", keys_of / "out"),
            *([keys_of / "in"] if way == "file" else []),
            stdin=b"" if way == "file" else data,
        )
        if extra == 0:
            assert result.code == OK, result.err
            (keys_of / "out").unlink()
            continue
        assert result.code == USAGE
        program.assert_error_lines(result.err, "(?s)one data unit.*--unit")
        assert not (keys_of / "out").exists()


@pytest.mark.parametrize("unit, size", [(None, (16 << 20) + 1), ("8MiB", (8 << 20) + 15)])
def test_a_text_with_bytes_too_many_is_refused_before_any_of_it_is_written(unit, size, keys_of):
    """From a pipe, where the length is not known beforehand."""
    words = ["cipher", "aes-128-xts", "--key", keys_of / "k32", "--iv", IV]
    words += ["--unit", unit] if unit else []
    for direction, code in (([], USAGE), (["-d"], CORRUPT if unit else USAGE)):
        fail(*words, *direction, stdin=bytes(size), code=code, says="one data unit|fewer than 16")
        with open(keys_of / "whole", "wb") as output:
            feed = subprocess.run(
                [PAES, *map(str, words), *direction],
                input=bytes(size), stdout=output, stderr=subprocess.PIPE, check=False,
            )
        assert feed.returncode == code
        assert (keys_of / "whole").stat().st_size == 0


def test_long_units_from_a_pipe_are_those_of_a_file(keys_of, random_bytes):
    """Units of more than a thread's piece, the last one of every kind of length."""
    words = ["cipher", "aes-128-xts", "--key", keys_of / "k32", "--iv", IV, "--unit", "5MiB"]
    text = random_bytes(4 << 20) * 3
    for size in (0, 16, 5 << 20, (5 << 20) + 16, (10 << 20) - 1, 10 << 20, (10 << 20) + 17):
        (keys_of / "in").write_bytes(text[:size])
        piped = succeed(*words, stdin=text[:size]).out
        (keys_of / "first").write_bytes(text[5 << 20 : min(size, 10 << 20)])
        assert piped == succeed(*words, keys_of / "in").out
        if size > 5 << 20:  # the second unit alone, by its number
            second = [*words[:5], f"{int(IV[:2], 16) + 1:02x}{IV[2:]}"]
            alone = succeed(*second, keys_of / "first").out
            assert piped[5 << 20 : 10 << 20] == alone
        assert succeed(*words, "-d", stdin=piped).out == text[:size]


# Faults around the work


@pytest.mark.parametrize("name", ["aes-128-cbc", "aes-128-ctr", "aes-128-gcm"])
def test_full_disk(name, small_disk, keys_of, unchanged):
    (keys_of / "plain").write_bytes(os.urandom(4 << 20))
    check = unchanged()
    iv = IV[:24] if name.endswith("gcm") else IV
    for source, data in (([keys_of / "plain"], b""), ([], bytes(4 << 20))):
        code, err, left = small_disk(
            *("cipher", name, "--key", keys_of / "k16", "--iv", iv),
            *("-o", small_disk.path / "out", *source),
            stdin=data,
        )
        assert code == FAILURE, err
        program.assert_error_lines(err, "No space left")
        assert left == b""
    check()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["aes-128-cbc", "aes-128-ctr", "aes-128-gcm"])
def test_signal_in_the_middle(name, threads, keys_of):
    """The writer pauses for ever, with the work half done."""
    iv = IV[:24] if name.endswith("gcm") else IV
    before = program.tree(keys_of)
    process = start(
        *("cipher", name, "-T", threads, "--key", keys_of / "k16", "--iv", iv),
        *("-o", keys_of / "out", "-"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    process.stdin.write(bytes(4 << 20))
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert program.died_of(process.wait(timeout=5), signal.SIGINT)
    program.assert_error_lines(process.stderr.read().decode(), "interrupt")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    assert program.tree(keys_of) == before


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["aes-128-cbc", "aes-128-ctr", "aes-128-gcm"])
def test_closed_pipe(name, threads, keys_of):
    iv = IV[:24] if name.endswith("gcm") else IV
    (keys_of / "plain").write_bytes(bytes(16 << 20))
    process = start(
        *("cipher", name, "-T", threads, "--key", keys_of / "k16", "--iv", iv, keys_of / "plain"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    assert len(process.stdout.read(1)) == 1
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert (process.wait(timeout=30), err) == (-signal.SIGPIPE, "")


def test_a_source_that_changes_while_it_is_read(keys_of):
    """GCM decryption reads twice: what changes in between must not come out as authentic."""
    common = ("cipher", "aes-128-gcm", "--key", keys_of / "k16", "--iv", IV[:24])
    source = keys_of / "in"
    source.write_bytes(succeed(*common, stdin=bytes(48 << 20)).out)
    process = start(
        *(*common, "-d", "--kernel", "bitslice", "-T", 1, "-o", keys_of / "out", source),
        stderr=subprocess.PIPE,
    )
    time.sleep(0.02)
    while process.poll() is None:
        with open(source, "r+b") as file:
            file.seek(40 << 20)
            file.write(os.urandom(16))
        time.sleep(0.02)
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.returncode in (CORRUPT, FAILURE)
    program.assert_error_lines(err, "changed|tag does not match")
    assert not (keys_of / "out").exists()
