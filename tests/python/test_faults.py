# Everything that goes wrong around the work itself: for each fault one clear line, the right exit
# code, no partial output, no temporary file, and the source as it was.
import os
import shutil
import subprocess
import time

import program
import pytest
from program import FAILURE, PAES, USAGE, WRONG_KEY, fail, run, start, succeed

TEXT_BYTES = 300_000


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes(random_bytes(TEXT_BYTES))
    return path


@pytest.fixture
def sealed(folder, plain, keys):
    path = folder / "sealed.paes"
    succeed("encrypt", "-r", keys.recipient, "-o", path, plain)
    return path


@pytest.fixture
def unchanged(folder):
    """Call it before the fault, and what it returns after."""

    def remember():
        before = program.tree(folder)

        def check():
            assert program.tree(folder) == before

        return check

    return remember


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
    for force in ([], ["-f"]):
        fail(
            *("encrypt", *force, "-r", keys.recipient, "-o", folder / "directory", plain),
            code=(FAILURE, USAGE),
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


def without_override():
    """A prefix under which permissions count, also for root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("as root this needs setpriv (Debian package util-linux)")
    # Needs no other user: the owner's bits bind a root that lacks these two capabilities.
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def test_unreadable_input(plain, sealed, keys, folder):
    prefix = without_override()
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
    prefix = without_override()
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
    prefix = without_override()
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
        program.assert_error_lines(err, "No space left")
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
    assert process.wait(timeout=30) == FAILURE
    assert len(first) == 1
    program.assert_error_lines(err, "Broken pipe")
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
        ["encrypt", "-r", "RECIPIENT", "--grain", "0", "plain"],
        ["encrypt", "-r", "RECIPIENT", "--grain", "1GiB", "plain"],
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


def test_binary_is_not_written_to_a_terminal(plain, keys):
    pid, terminal = os.forkpty()
    if pid == 0:
        os.execv(PAES, [PAES, "encrypt", "-r", keys.recipient, "-o", "-", str(plain)])
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # EIO: closed
            break
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == USAGE, shown
    program.assert_error_lines(shown.decode().replace("\r\n", "\n"), "terminal")


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

