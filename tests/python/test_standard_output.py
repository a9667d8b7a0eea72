# Standard output that is a file: what the system says about it late, at a sync or at the close, is an
# error like any other. A library before the system's makes it say so.
import os
import subprocess

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
