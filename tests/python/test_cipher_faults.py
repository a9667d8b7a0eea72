# `paes cipher` where it must refuse or fails in the middle: one clear line, the right exit code, no
# output, no temporary file, and the source as it was.
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


@pytest.fixture
def keys_of(folder):
    """Key files by their length, in the folder that every test compares."""
    for size in (8, 15, 16, 17, 24, 32, 64, 10_000):
        (folder / f"k{size}").write_bytes(os.urandom(size))
    half = os.urandom(32)
    (folder / "equal").write_bytes(half + half)
    (folder / "pass").write_text("word\n")
    (folder / "plain").write_bytes(os.urandom(1000))
    return folder


@pytest.fixture
def unchanged(folder):
    before = {}

    def remember():
        before.update(program.tree(folder))

        def check():
            assert program.tree(folder) == before

        return check

    return remember


WRONG = [
    # what, what the message says
    ("", "NAME"),
    ("rot13 --key k16", "unknown name"),
    ("aes-192-xts --key k16", "unknown name"),
    ("des-ede3-gcm --key k24", "unknown name"),
    ("aes-128-cbc --iv IV", "--key"),
    ("aes-128-cbc --key k15 --iv IV", "k15: has 15 bytes.*takes a key of 16 raw bytes"),
    ("aes-128-cbc --key k17 --iv IV", "k17: has 17 bytes"),
    ("aes-128-cbc --key k10000 --iv IV", "takes a key of 16 raw bytes"),
    ("aes-256-xts --key k32 --iv IV", "takes a key of 64"),
    ("aes-128-cbc --key k16", "--iv: is missing"),
    ("aes-128-ctr --key k16", "--iv: is missing"),
    ("aes-128-gcm --key k16", "--iv: is missing"),
    ("aes-128-cbc --key k16 --iv IV00", "--iv: has 34 digits"),
    ("aes-128-cbc --key k16 --iv 00", "--iv: has 2 digits"),
    ("aes-128-gcm --key k16 --iv IV", "takes 12 bytes"),
    ("aes-128-cbc --key k16 --iv 000102030405060708090a0b0c0d0e0g", "not hexadecimal"),
    ("aes-128-cbc --key k16 --iv 0x0102030405060708090a0b0c0d0e0f", "not hexadecimal"),
    ("aes-128-cbc --key k16 --iv 0\x10010203040506708090a0b0c0d0e0f0", "not hexadecimal"),
    ("des-ede3-cbc --legacy --key k24 --iv IV", "takes 8 bytes"),
    ("aes-128-ecb --key k16 --iv IV", "takes none"),
    ("aes-128-ctr --key k16 --iv IV --no-pad", "no padding"),
    ("aes-128-cbc --key k16 --iv IV --aad plain", "only GCM"),
    ("aes-128-cbc --key k16 --iv IV --unit 512", "only XTS"),
    ("aes-128-xts --key k32 --iv IV --unit 15", "16 bytes to 16 MiB"),
    ("aes-128-xts --key k32 --iv IV --unit 16777217", "16 bytes to 16 MiB"),
    ("aes-128-xts --key k32 --iv IV --unit 0512", "decimal"),
    ("aes-256-xts --key equal --iv IV", "halves are equal"),
    ("des-ede3-cbc --key k24 --iv 0001020304050607", "NIST disallows"),
    ("aes-128-cbc --key k16 --iv IV --passphrase-file pass", "only --openssl"),
    ("aes-128-cbc --key k16 --iv IV --iter 5", "belongs to --openssl"),
    ("aes-128-cbc --openssl --passphrase-file pass --key k16", "leave out --key"),
    ("aes-128-cbc --openssl --passphrase-file pass --iv IV", "leave out --key"),
    ("aes-128-gcm --openssl --passphrase-file pass", "openssl enc has no"),
    ("aes-128-xts --openssl --passphrase-file pass", "openssl enc has no"),
    ("des-ede3-ctr --legacy --openssl --passphrase-file pass", "openssl enc has no"),
    ("aes-128-cbc --openssl --passphrase-file pass --iter 0", "--iter"),
    ("aes-128-cbc --openssl --passphrase-file pass --iter 1000000000", "--iter"),
    ("aes-128-cbc --key k16 --iv IV --kernel warp", "unknown name"),
    ("aes-128-cbc --key k16 --iv IV --kernel copy", "bench"),
    ("aes-128-cbc --key k16 --iv IV --json", "--json"),
    ("aes-128-cbc --key k16 --iv IV --no-pad", "not a whole number of blocks"),
    ("aes-128-xts --key k32 --iv IV --unit 999", "fewer than 16 bytes"),
]


@pytest.mark.parametrize("arguments, says", WRONG, ids=[words for words, _ in WRONG])
def test_usage_errors(arguments, says, keys_of, unchanged):
    check = unchanged()
    words = [word.replace("IV", IV) for word in arguments.split(" ") if word]
    fail("cipher", *words, "plain", code=USAGE, says=f"(?s){says}", cwd=keys_of)
    if "--json" not in words:
        fail("cipher", *words, "-o", "out", "plain", code=USAGE, says=f"(?s){says}", cwd=keys_of)
    check()


def test_equal_halves_can_be_read(keys_of):
    result = run("cipher", "aes-256-xts", "-d", "--key", keys_of / "equal", "--iv", IV, stdin=bytes(16))
    assert result.code == OK
    assert "warning" in result.err
    assert "halves are equal" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["cipher", "aes-256-ctr", "--iv", IV, "--key", "/dev/stdin"],
        ["cipher", "aes-256-gcm", "--iv", "00" * 12, "--key", "k32", "--aad", "/dev/stdin"],
        ["cipher", "aes-256-ctr", "--openssl", "--passphrase-file", "/dev/fd/0"],
        ["encrypt", "--passphrase-file", "/dev/stdin"],
        # Twice, and the file to encrypt is another.
        ["cipher", "aes-256-gcm", "--iv", "00" * 12, "plain", "--key", "/dev/stdin", "--aad", "/dev/stdin"],
        ["cipher", "aes-256-gcm", "--iv", "00" * 12, "plain", "--key", "/dev/fd/0", "--aad", "/proc/self/fd/0"],
        # The file to encrypt, by another name than "-".
        ["cipher", "aes-256-ctr", "--iv", IV, "--key", "/dev/stdin", "/dev/stdin"],
        ["cipher", "aes-256-gcm", "--iv", "00" * 12, "--key", "k32", "--aad", "/dev/stdin", "/dev/fd/0"],
        ["cipher", "aes-256-ctr", "--openssl", "--passphrase-fd", "0", "/proc/self/fd/0"],
        ["encrypt", "--passphrase-fd", "0", "-o", "out", "/dev/stdin"],
        ["encrypt", "-R", "/dev/stdin", "-o", "out"],
        ["encrypt", "-R", "/dev/stdin", "-R", "/dev/fd/0", "-o", "out", "plain"],
        ["encrypt", "-R", "k32", "/dev/stdin", "-"],
        ["decrypt", "--passphrase-fd", "0", "-o", "out", "/dev/stdin"],
        ["decrypt", "-i", "/dev/stdin", "-o", "out"],
        ["decrypt", "-i", "/dev/stdin", "--passphrase-fd", "0", "-o", "out", "plain"],
        ["verify", "--passphrase-fd", "0", "/dev/stdin"],
        ["verify", "-i", "k32", "/dev/fd/0", "/dev/stdin"],
        ["verify", "-i", "/dev/stdin", "-i", "/dev/stdin", "plain"],
        ["rekey", "-i", "/dev/stdin", "-R", "/dev/stdin", "plain"],
        ["rekey", "-i", "/dev/stdin", "--new-passphrase-fd", "0", "plain"],
    ],
    ids=" ".join,
)
def test_standard_input_serves_one_purpose(arguments, keys_of):
    secret = bytes(range(32))
    fail(*arguments, code=USAGE, says="one purpose", cwd=keys_of, stdin=secret)
    with open(keys_of / "k32", "rb") as opened:
        fail(*arguments, code=USAGE, says="one purpose", cwd=keys_of, stdin=opened)


def test_key_from_standard_input(keys_of):
    arguments = ["cipher", "aes-256-ctr", "--iv", IV, "plain", "--key"]
    piped = succeed(*arguments, "/dev/stdin", cwd=keys_of, stdin=(keys_of / "k32").read_bytes())
    assert piped.out == succeed(*arguments, "k32", cwd=keys_of).out
    text = (keys_of / "plain").read_bytes()
    arguments = ["cipher", "aes-256-ctr", "--iv", IV, "--key", "k32", "/dev/stdin"]
    assert succeed(*arguments, cwd=keys_of, stdin=text).out == piped.out


def test_a_key_in_hexadecimal_is_noticed(keys_of):
    words = ("cipher", "aes-128-ctr", "--iv", IV, "plain", "--key")
    for text in ("0123456789abcdefABCDEF9876543210", "0123456789abcdef0123456789abcdef\n"):
        (keys_of / "hex").write_text(text)
        fail(*words, "hex", code=USAGE, says="(?s)hex: has 3[23] bytes.*xxd -r -p", cwd=keys_of)
    # One byte beside the digits, wherever it stands and on either side of a range of them.
    hexadecimal = b"0123456789abcdefABCDEF9876543210"
    for place in (0, 7, 31):
        for byte in b"/:@G`g\n\0\x80\xb0\xff":
            (keys_of / "hex").write_bytes(hexadecimal[:place] + bytes([byte]) + hexadecimal[place + 1 :])
            is_line = byte == 10 and place == 31
            says = fail(*words, "hex", code=USAGE, says="hex: has 32 bytes", cwd=keys_of).err
            assert ("xxd" in says) == is_line
    (keys_of / "hex").write_text("0123456789abcde\n")
    assert succeed(*words, "hex", cwd=keys_of).err == ""
    (keys_of / "hex").write_text("0123456789abcdef")  # as long as a key, and most likely half of one
    assert "holds hexadecimal digits" in succeed(*words, "hex", cwd=keys_of).err
    assert succeed(*words, "k16", cwd=keys_of).err == ""
    assert "xxd" not in fail(*words, "k32", code=USAGE, cwd=keys_of).err


def openssl_enc(passphrase_file, derivation="-pbkdf2"):
    words = ["openssl", "enc", "-aes-128-cbc", derivation, "-pass", f"file:{passphrase_file}"]
    return subprocess.run(
        words, input=b"text", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    ).stdout


def test_openssl_passphrases_that_are_not_one_line(keys_of):
    """openssl takes the first line alone, and an empty one too."""
    words = ("cipher", "aes-128-cbc", "--openssl", "--passphrase-file")
    (keys_of / "lines").write_text("first\nsecond\n")
    (keys_of / "empty").write_text("\n")
    assert "several lines" in succeed(*words, keys_of / "lines", stdin=b"text").err
    assert succeed(*words, keys_of / "pass", stdin=b"text").err == ""
    for words_taken, more, warning in (
        (b"word", b"\0more\n", "NUL"),
        (b"x" * 1023, b"y\n", "has 1024 bytes, of which .* at most 1023"),
    ):
        (keys_of / "taken").write_bytes(words_taken + b"\n")
        (keys_of / "more").write_bytes(words_taken + more)
        assert re.search(warning, succeed(*words, keys_of / "more", stdin=b"text").err)
        made = openssl_enc(keys_of / "more")
        taken = succeed(*words, keys_of / "taken", "-d", stdin=made)
        assert (taken.out, taken.err) == (b"text", "")
    fail(*words, keys_of / "empty", stdin=b"text", code=USAGE, says="is empty")
    assert succeed(*words, keys_of / "empty", "-d", stdin=openssl_enc(keys_of / "empty")).out == b"text"


def test_missing_files(keys_of, unchanged):
    check = unchanged()
    common = ("cipher", "aes-128-cbc", "--iv", IV)
    fail(*common, "--key", "nobody", "plain", code=FAILURE, says="nobody: No such", cwd=keys_of)
    fail(*common, "--key", "k16", "nobody", code=FAILURE, says="nobody: No such", cwd=keys_of)
    fail(
        *("cipher", "aes-128-gcm", "--key", "k16", "--iv", "00" * 12, "--aad", "nobody", "plain"),
        code=FAILURE, says="nobody: No such", cwd=keys_of,
    )
    check()


@pytest.mark.parametrize("force", [[], ["-f"]])
@pytest.mark.parametrize("target", ["plain", "k16", "aad", "pass", "taken"])
def test_what_is_never_replaced(target, force, keys_of, unchanged):
    (keys_of / "taken").write_text("precious")
    (keys_of / "aad").write_text("precious")
    check = unchanged()
    arguments = ["aes-128-cbc", "--key", "k16", "--iv", IV]
    if target == "aad":
        arguments = ["aes-128-gcm", "--key", "k16", "--iv", IV[:24], "--aad", "aad"]
    if target == "pass":
        arguments = ["aes-128-cbc", "--openssl", "--passphrase-file", "pass"]
    arguments = ["cipher", *arguments, *force, "-o", target, "plain"]
    if target == "taken" and force:
        succeed(*arguments, cwd=keys_of)
        return
    fail(*arguments, code=(USAGE, FAILURE), cwd=keys_of)
    check()


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
            assert re.search("the passphrase, --iter or the mode .*without -pbkdf2", result.err)
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
    """Units of more than a thread's grain, the last one of every kind of length."""
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
    assert process.wait(timeout=30) == FAILURE
    program.assert_error_lines(err, "Broken pipe")


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


def test_raw_bytes_are_not_written_to_a_terminal(keys_of):
    pid, terminal = os.forkpty()
    if pid == 0:
        key, plain = str(keys_of / "k16"), str(keys_of / "plain")
        os.execv(PAES, [PAES, "cipher", "aes-128-ctr", "--key", key, "--iv", IV, plain])
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
