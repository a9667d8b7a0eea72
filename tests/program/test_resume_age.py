# SPDX-License-Identifier: Apache-2.0
# --resume with files of age: what was killed is continued to a file that age opens, under the header
# and the nonce that it had, and decryption continues as well. test_resume.py has the rest.
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import preload
import program
import pytest
from age_file import age
from program import USAGE, fail, run, start, succeed
from test_resume import assert_nothing_beside, beside, recorded, resumed_bytes

STRIPE_BYTES = 16 << 20
TEXT_BYTES = 2 * STRIPE_BYTES + 12345
KILLS = 5
NONCE_BYTES = 16


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text"
    block = os.urandom((1 << 20) - 8192) + bytes(8192)
    path.write_bytes(b"".join(number.to_bytes(8, "big") + block[8:] for number in range(32)) + os.urandom(12345))
    assert path.stat().st_size == TEXT_BYTES
    return path


@pytest.fixture
def plain(folder, text):
    path = folder / "plain"
    path.write_bytes(text.read_bytes())
    return path


@pytest.fixture
def slow(preloaded):
    return program.clean_environment(LD_PRELOAD=preloaded(preload.SLOW)[1].split("=")[1])


@pytest.fixture
def sealing(keys):
    return ["encrypt", "--resume", "--format", "age", "-r", keys.recipient, "-i", keys.path, "-T", "1"]


@pytest.fixture
def opening(keys):
    return ["decrypt", "--resume", "-i", keys.path, "-T", "1"]


def head_of(path):
    """Header and nonce."""
    whole = path.read_bytes()[:100_000]
    end = whole.index(b"\n", whole.index(b"\n--- ") + 1) + 1
    return whole[: end + NONCE_BYTES]


def interrupt(command, output, slow, stripes=1):
    process = start(*command, env=slow, stderr=subprocess.DEVNULL)
    try:
        program.wait_until(lambda: recorded(output) >= stripes or process.poll() is not None, "a record")
    finally:
        process.kill()
        code = process.wait(timeout=30)
    assert code == -signal.SIGKILL, "it was done before it could be interrupted"
    assert not output.exists()
    assert recorded(output) >= stripes


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_killed_many_times_it_still_gets_there(command, plain, sealing, opening, keys, slow, folder):
    output = Path(f"{plain}.age")
    arguments = [*sealing, plain]
    if command == "decrypt":
        succeed("encrypt", "--format", "age", "-r", keys.recipient, plain)
        output = folder / "back"
        arguments = [*opening, "-o", output, f"{plain}.age"]
    random.seed(command)
    for _ in range(KILLS):
        process = start(*arguments, env=slow, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.8))
        process.kill()
        process.wait(timeout=30)
        if output.exists():
            break
    succeed(*arguments, *(["-f"] if output.exists() else []))
    assert_nothing_beside(output)
    if command == "encrypt":
        assert age("-d", "-i", keys.path, output) == plain.read_bytes()
    else:
        assert program.digest(output) == program.digest(plain)


def test_encryption_continues_with_the_header_and_nonce_it_had(plain, sealing, keys, slow):
    output = Path(f"{plain}.age")
    interrupt([*sealing, plain], output, slow)
    head = head_of(beside(output)[0])
    assert resumed_bytes(*sealing, plain) >= STRIPE_BYTES
    assert head_of(output) == head
    assert_nothing_beside(output)
    assert age("-d", "-i", keys.path, output) == plain.read_bytes()


def test_decryption_continues_what_age_wrote_and_after_rekey(plain, opening, keys, other_keys, slow, folder):
    sealed, back = folder / "sealed.age", folder / "back"
    sealed.write_bytes(age("-r", keys.recipient, plain))
    interrupt([*opening, "-o", back, sealed], back, slow)
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    assert resumed_bytes("decrypt", "--resume", "-i", other_keys.path, "-o", back, sealed) >= STRIPE_BYTES
    assert program.digest(back) == program.digest(plain)
    assert_nothing_beside(back)


def test_with_a_passphrase(plain, tmp_path, slow):
    secret = tmp_path / "secret"
    secret.write_text("correct horse")
    command = ["encrypt", "--resume", "--format", "age", "--passphrase-file", secret, "-T", "1", plain]
    output = Path(f"{plain}.age")
    interrupt(command, output, slow)
    assert resumed_bytes(*command) >= STRIPE_BYTES
    succeed("verify", "--passphrase-file", secret, output)


def test_a_changed_source_starts_afresh(plain, sealing, keys, slow):
    output = Path(f"{plain}.age")
    interrupt([*sealing, plain], output, slow)
    head = head_of(beside(output)[0])
    with open(plain, "r+b") as file:
        file.write(b"other")
    result = succeed(*sealing, plain)
    assert f"{output}.partial: starting afresh, because {plain} has changed" in result.err
    assert head_of(output)[-NONCE_BYTES:] != head[-NONCE_BYTES:]
    assert head_of(output)[:-NONCE_BYTES] != head[:-NONCE_BYTES]
    assert age("-d", "-i", keys.path, output) == plain.read_bytes()


def test_no_format_continues_another(plain, sealing, keys, slow, folder):
    output = folder / "out"
    interrupt([*sealing, "-o", output, plain], output, slow)
    container = [word for word in sealing if word not in ("--format", "age")]
    result = succeed(*container, "-o", output, plain)
    assert "starting afresh, because it is of another format" in result.err
    assert succeed("decrypt", "-i", keys.path, "-o", "-", output).out == plain.read_bytes()
    output.unlink()
    interrupt([*container, "-o", output, plain], output, slow)
    assert "starting afresh, because it is of another format" in succeed(*sealing, "-o", output, plain).err
    assert age("-d", "-i", keys.path, output) == plain.read_bytes()


def test_inspect_says_how_much_is_done(plain, sealing, slow):
    output = Path(f"{plain}.age")
    interrupt([*sealing, plain], output, slow)
    done = recorded(output) * STRIPE_BYTES / 1e6
    result = run("inspect", beside(output)[0])
    assert result.code == program.CORRUPT
    assert f"{done:.2f} MB of {TEXT_BYTES / 1e6:.2f} MB are done" in result.err


def test_text_is_not_continued(plain, sealing, opening, keys, folder):
    before = program.tree(folder)
    fail(*sealing, "--armor", plain, code=USAGE, says="cannot be combined with --armor")
    assert program.tree(folder) == before
    succeed("encrypt", "--format", "age", "--armor", "-r", keys.recipient, "-o", folder / "text", plain)
    fail(*opening, "-o", folder / "back", folder / "text", code=USAGE, says="continues no such file")
    assert not (folder / "back").exists()
