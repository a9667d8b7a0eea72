# SPDX-License-Identifier: Apache-2.0
# `paes cipher` and requests that make no sense, secrets that are not what they should be, and outputs that
# are never replaced: one clear line, the right exit code, and nothing written.
import re
import subprocess

import pytest
from program import FAILURE, OK, USAGE, fail, run, succeed

IV = "000102030405060708090a0b0c0d0eff"

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
    ("des-ede3-cbc --no-block-limit --key k24 --iv 0001020304050607", "NIST disallows"),
    ("aes-128-cbc --no-block-limit --key k16 --iv IV", "--no-block-limit: only 3DES has a limit of blocks"),
    ("des-ede3-cbc -d --no-block-limit --key k24 --iv 0001020304050607", "--no-block-limit: decryption has no limit"),
    ("aes-128-gcm -d --legacy --no-block-limit --key k16 --iv 000102030405060708090a0b", "only 3DES has a limit"),
    ("aes-128-cbc --key k16 --iv IV --passphrase-file pass", "only --openssl"),
    ("aes-128-cbc --key k16 --iv IV --iter 5", "belongs to --openssl"),
    ("aes-128-cbc --key k16 --iv IV --md md5", "--md: belongs to --openssl"),
    ("aes-128-cbc -d --key k16 --iv IV --no-pbkdf2", "--no-pbkdf2: belongs to --openssl"),
    ("aes-128-cbc --openssl --passphrase-file pass --md md4", "'md4'.*there are: md5, sha1, sha224, sha256, sha384, sha512"),
    ("aes-128-cbc --openssl --passphrase-file pass --no-pbkdf2", "--no-pbkdf2: only reads what exists, with -d"),
    ("aes-128-cbc -d --openssl --passphrase-file pass --no-pbkdf2 --iter 5", "--no-pbkdf2: cannot be combined with --iter"),
    ("aes-128-cbc --openssl --passphrase-file pass --key k16", "leave out --key"),
    ("aes-128-cbc --openssl --passphrase-file pass --iv IV", "leave out --key"),
    ("aes-128-gcm --openssl --passphrase-file pass", "openssl enc has no"),
    ("aes-128-xts --openssl --passphrase-file pass", "openssl enc has no"),
    ("des-ede3-ctr --legacy --openssl --passphrase-file pass", "openssl enc has no"),
    ("aes-128-cbc --openssl --passphrase-file pass --iter 0", "--iter"),
    ("aes-128-cbc --openssl --passphrase-file pass --iter 1000000000", "--iter"),
    ("aes-128-cbc --key k16 --iv IV --kernel warp", "unknown name"),
    ("aes-128-cbc --key k16 --iv IV --kernel copy", "unknown name"),
    ("aes-128-cbc --key k16 --iv IV --no-pad", "not a whole number of blocks"),
    ("aes-128-xts --key k32 --iv IV --unit 999", "fewer than 16 bytes"),
]


@pytest.mark.parametrize("arguments, says", WRONG, ids=[words for words, _ in WRONG])
def test_usage_errors(arguments, says, keys_of, unchanged):
    check = unchanged()
    words = [word.replace("IV", IV) for word in arguments.split(" ") if word]
    fail("cipher", *words, "plain", code=USAGE, says=f"(?s){says}", cwd=keys_of)
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
