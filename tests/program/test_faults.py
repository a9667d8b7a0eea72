# SPDX-License-Identifier: Apache-2.0
# Everything that goes wrong around the work itself: for each fault one clear line, the right exit
# code, no partial output, no temporary file, and the source as it was.
import json
import os
import re
import shutil
import subprocess

import preload
import program
import pytest
from program import FAILURE, PAES, USAGE, WRONG_KEY, fail, run, succeed


# Keys and passphrases


def test_wrong_identity(sealed, other_keys, folder, unchanged):
    check = unchanged()
    fail("decrypt", "-i", other_keys.path, "-o", folder / "out", sealed, code=WRONG_KEY)
    check()
    fail("verify", "-i", other_keys.path, sealed, code=WRONG_KEY)
    fail("decrypt", "-i", other_keys.path, stdin=sealed.read_bytes(), code=WRONG_KEY)


def test_wrong_passphrase(plain, folder, unchanged):
    (folder / "right").write_text("right\n")
    (folder / "wrong").write_text("wrong\n")
    sealed = folder / "sealed.paes"
    succeed("encrypt", "--passphrase-file", folder / "right", "-o", sealed, plain)
    check = unchanged()
    fail(
        *("decrypt", "--passphrase-file", folder / "wrong", "-o", folder / "out", sealed),
        code=WRONG_KEY,
        says="passphrase",
    )
    check()


def test_missing_identity_file(sealed, folder, unchanged):
    check = unchanged()
    fail(
        *("decrypt", "-i", folder / "nobody.txt", "-o", folder / "out", sealed),
        code=FAILURE,
        says="nobody.txt: No such file",
    )
    check()


def test_no_identity_given(sealed, folder, unchanged):
    check = unchanged()
    fail("decrypt", "-o", folder / "out", sealed, code=(USAGE, WRONG_KEY), says="-i")
    check()


def test_a_recipient_where_an_identity_belongs(sealed, keys, folder, unchanged):
    (folder / "recipient.txt").write_text(keys.recipient + "\n")
    check = unchanged()
    fail("decrypt", "-i", folder / "recipient.txt", "-o", folder / "out", sealed, code=USAGE)
    check()


def test_an_identity_where_a_recipient_belongs_is_not_quoted(plain, keys, folder, unchanged):
    secret = keys.path.read_text().splitlines()[-1]
    check = unchanged()
    result = fail("encrypt", "-r", secret, "-o", folder / "out", plain, code=USAGE)
    assert secret[16:30] not in result.err
    result = fail("encrypt", "-R", keys.path, "-o", folder / "out", plain, code=USAGE)
    assert secret[16:30] not in result.err
    check()


# Outputs that are there already


def test_output_exists(plain, sealed, keys, folder, unchanged):
    taken = folder / "taken"
    taken.write_text("precious")
    check = unchanged()
    fail(
        *("encrypt", "-r", keys.recipient, "-o", taken, plain),
        code=FAILURE,
        says="taken: .*exists",
    )
    fail("decrypt", "-i", keys.path, "-o", taken, sealed, code=FAILURE, says="taken: .*exists")
    check()
    succeed("decrypt", "-f", "-i", keys.path, "-o", taken, sealed)
    assert taken.read_bytes() == plain.read_bytes()


def test_a_derived_output_name_that_exists(plain, keys, folder, unchanged):
    (folder / "plain.paes").write_text("precious")
    check = unchanged()
    fail("encrypt", "-r", keys.recipient, plain, code=FAILURE, says="plain.paes: .*exists")
    check()


def test_a_failure_with_force_keeps_the_old_output(sealed, keys, folder, unchanged):
    taken = folder / "taken"
    taken.write_text("precious")
    sealed.write_bytes(sealed.read_bytes()[:-1])
    check = unchanged()
    fail("decrypt", "-f", "-i", keys.path, "-o", taken, sealed, code=program.CORRUPT)
    check()


def test_a_dangling_link_as_output_is_not_followed(plain, keys, folder, unchanged):
    (folder / "link").symlink_to(folder / "elsewhere")
    check = unchanged()
    fail("encrypt", "-r", keys.recipient, "-o", folder / "link", plain, code=FAILURE)
    check()


@pytest.mark.parametrize("force", [[], ["-f"]])
@pytest.mark.parametrize("link", ["itself", "symlink", "hard link", "another spelling"])
def test_input_is_output(link, force, plain, sealed, keys, folder, unchanged):
    for command, source in (
        (["encrypt", "-r", keys.recipient], plain),
        (["decrypt", "-i", keys.path], sealed),
    ):
        target = folder / f"target-{source.name}"
        if link == "itself":
            target = source
        elif link == "symlink":
            target.symlink_to(source)
        elif link == "hard link":
            target.hardlink_to(source)
        else:
            (folder / "sub").mkdir(exist_ok=True)
            target = folder / "sub" / ".." / source.name
        check = unchanged()
        fail(*command, *force, "-o", target, source, code=(FAILURE, USAGE))
        check()


@pytest.mark.parametrize("mode", ["r+b", "ab"])
def test_standard_output_is_the_input(mode, plain, keys, unchanged):
    check = unchanged()
    with open(plain, mode) as file:
        done = subprocess.run(
            [PAES, "encrypt", "-r", keys.recipient, "-o", "-", plain],
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode in (FAILURE, USAGE)
    program.assert_error_lines(done.stderr.decode())
    check()


# Inputs that are none


def test_directory_as_input(keys, folder, unchanged):
    (folder / "directory.paes").mkdir()
    check = unchanged()
    for command in (["encrypt", "-r", keys.recipient], ["decrypt", "-i", keys.path]):
        fail(
            *(*command, "-o", folder / "out", folder / "directory.paes"),
            code=FAILURE,
            says="directory",
        )
        fail(*command, folder / "directory.paes", code=FAILURE, says="directory")
    fail("verify", "-i", keys.path, folder / "directory.paes", code=FAILURE, says="directory")
    fail("inspect", folder / "directory.paes", code=FAILURE, says="directory")
    check()


def test_directory_as_output(plain, keys, folder, unchanged):
    (folder / "directory").mkdir()
    check = unchanged()
    for force in ([], ["-f"], ["--resume", "-i", keys.path]):
        fail(
            *("encrypt", *force, "-r", keys.recipient, "-o", folder / "directory", plain),
            code=USAGE,
            says="directory: is a directory",
        )
    check()


def test_missing_input(keys, folder, unchanged):
    check = unchanged()
    for command in (
        ["encrypt", "-r", keys.recipient],
        ["decrypt", "-i", keys.path],
        ["verify", "-i", keys.path],
        ["inspect"],
        ["rekey", "-i", keys.path, "-r", keys.recipient],
    ):
        fail(*command, folder / "nothing.paes", code=FAILURE, says="nothing.paes: No such file")
    check()


def test_missing_output_folder(plain, keys, folder, unchanged):
    check = unchanged()
    fail(
        *("encrypt", "-r", keys.recipient, "-o", folder / "no" / "out", plain),
        code=FAILURE,
        says="No such file",
    )
    check()


def test_unreadable_input(plain, sealed, keys, folder):
    prefix = program.without_override()
    plain.chmod(0)
    sealed.chmod(0)
    for command, path in (
        (["encrypt", "-r", keys.recipient], plain),
        (["decrypt", "-i", keys.path], sealed),
        (["verify", "-i", keys.path], sealed),
        (["inspect"], sealed),
    ):
        before = sorted(os.listdir(folder))
        fail(*command, path, prefix=prefix, code=FAILURE, says=f"{path.name}: Permission denied")
        assert sorted(os.listdir(folder)) == before


def test_unreadable_identity(sealed, keys, folder, unchanged):
    prefix = program.without_override()
    check = unchanged()
    hidden = folder / "hidden.txt"
    shutil.copy(keys.path, hidden)
    hidden.chmod(0)
    fail(
        *("decrypt", "-i", hidden, "-o", folder / "out", sealed),
        prefix=prefix,
        code=FAILURE,
        says="hidden.txt: Permission denied",
    )
    hidden.unlink()
    check()


def test_unwritable_output_folder(plain, keys, folder):
    prefix = program.without_override()
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    fail(
        *("encrypt", "-r", keys.recipient, "-o", closed / "out", plain),
        prefix=prefix,
        code=FAILURE,
        says="Permission denied",
    )
    assert program.tree(closed) == {}


# Full disk

@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_full_disk(source, threads, small_disk, folder, random_bytes, keys, unchanged):
    (folder / "big").write_bytes(random_bytes(4 << 20))
    succeed("encrypt", "-r", keys.recipient, folder / "big")
    check = unchanged()
    for command, path in (
        (["encrypt", "-r", keys.recipient], folder / "big"),
        (["decrypt", "-i", keys.path], folder / "big.paes"),
    ):
        code, err, left = small_disk(
            *(*command, "-T", threads, "-o", small_disk.path / "out"),
            *([path] if source == "file" else ["-"]),
            stdin=b"" if source == "file" else path.read_bytes(),
        )
        assert code == FAILURE, err
        # Text may become holes, so that its length is only a warning.
        said = err.splitlines()
        if source == "file" and command[0] == "decrypt":
            assert re.fullmatch("paes: warning: .*: may not fit: .*", said.pop(0))
        program.assert_error_lines("\n".join(said), "No space left")
        assert left == b""
    check()


def test_full_device_as_output(plain, keys, unchanged):
    check = unchanged()
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PAES, "encrypt", "-r", keys.recipient, "-o", "-", plain],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == FAILURE
    program.assert_error_lines(done.stderr.decode(), "No space left")
    check()


@pytest.mark.parametrize("threads", [1, 2])
def test_file_size_limit(threads, folder, random_bytes, keys, unchanged):
    """`ulimit -f`: an error like any other, not a death by SIGXFSZ without a word."""
    (folder / "big").write_bytes(random_bytes(4 << 20))
    check = unchanged()
    fail(
        *("encrypt", "-T", threads, "-r", keys.recipient, folder / "big"),
        prefix=["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"],
        code=FAILURE,
        says="big.paes: File too large",
    )
    check()


# Syncing the folder: the last step, when the output is there already


@pytest.fixture
def failing(tmp_path, preloaded):
    """failing(k): the prefix under which the call number k to sync something fails."""
    (tmp_path / "calls").touch()
    library = preloaded(preload.FAILING)
    return lambda number: [*library, f"CALLS={tmp_path / 'calls'}", f"FAIL_AT={number}"]


@pytest.mark.parametrize("command", ["encrypt", "decrypt", "encrypt --resume"])
def test_a_folder_that_cannot_be_synced(command, plain, sealed, keys, folder, failing, tmp_path):
    """The output is complete, but a power failure could take its name away: that is an error, which
    says both."""
    words = ["-i", keys.path, sealed] if command == "decrypt" else ["-r", keys.recipient, plain]
    if "--resume" in command:
        words = ["-i", keys.path, *words]
    succeed(*command.split(), "-o", folder / "out", *words, prefix=failing(0))
    called = (tmp_path / "calls").read_text().split()
    if "--resume" in command:
        assert called.pop() == "unlinkat"  # of the journal
    calls = len(called)
    for number in range(1, calls + 1):
        for path in folder.glob("out*"):
            path.unlink()
        result = run(*command.split(), "--json", "-o", folder / "out", *words, prefix=failing(number))
        assert result.code == FAILURE
        document = json.loads(result.out)
        assert document["exit_code"] == FAILURE and document["files"][0]["status"] == "failed"
        said = "out: complete, but its folder could not be synced: Input/output error" in result.err
        assert said == (folder / "out").exists()
        assert said == (number == calls)
        if "--resume" not in command:
            assert sorted(path.name for path in folder.glob("*out*")) == (["out"] if said else [])


def test_a_key_that_may_not_last_is_removed_again(plain, folder, failing):
    for number in (1, 2):
        before = program.tree(folder)
        fail("keygen", "-o", folder / "key", prefix=failing(number), code=FAILURE, says="key: ")
        fail(
            *("encrypt", "--new-identity", folder / "key", "-o", folder / "out", plain),
            prefix=failing(number), code=FAILURE, says="key: ",
        )
        assert program.tree(folder) == before


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_folder_that_cannot_be_listed_is_synced_too(resume, plain, keys, folder, failing, tmp_path):
    prefix = [*program.without_override(), *failing(0)]
    folder.chmod(0o300)
    try:
        words = ["-r", keys.recipient, *(["-i", keys.path, *resume] if resume else []), plain]
        succeed("encrypt", *words, "-o", folder / "out", prefix=prefix)
    finally:
        folder.chmod(0o700)
    called = (tmp_path / "calls").read_text().split()
    assert [call for call in called if call != "unlinkat"][-2:] == ["fsync", "syncfs"]
