# SPDX-License-Identifier: Apache-2.0
# `paes cipher` beside the programs whose data it reads and writes: openssl enc, byte for byte, in
# the modes it has and in its Salted__ files, and PyPI cryptography for GCM and XTS.
import os
import subprocess
import sys
from array import array

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from program import CORRUPT, USAGE, assert_error_lines, choices_of, clean_environment, fail, run, succeed

SIZES = [0, 1, 15, 16, 17, 4096, (1 << 20) + 5]
AES_MODES = ["ecb", "cbc", "cfb", "ofb", "ctr"]
AES = {f"aes-{bits}-{mode}": bits // 8 for bits in (128, 192, 256) for mode in AES_MODES}
DES = {f"des-ede3-{mode}": 24 for mode in ("ecb", "cbc", "cfb", "ofb")}
MORE_THAN_A_PIPE_MAY_KEEP = (64 << 20) + 1


def openssl(*arguments, stdin=b""):
    done = subprocess.run(
        ["openssl", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=clean_environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def openssl_enc(name, key, iv, text, *options):
    arguments = ["enc", f"-{name}", "-K", key.hex(), *options]
    return openssl(*arguments, *(["-iv", iv.hex()] if iv else []), stdin=text)


def iv_of(name):
    if name.endswith("-ecb"):
        return b""
    return bytes(range(0xF1, 0xF1 + (8 if name.startswith("des") else 16) - 1)) + b"\xfe"


class Ciphers:
    """Keys in files, and the arguments that name them."""

    def __init__(self, folder):
        self.folder = folder

    def key(self, size):
        return bytes((7 * i + size) % 251 for i in range(size))

    def arguments(self, name, key, iv):
        path = self.folder / f"key-{key.hex()[:16]}-{len(key)}"
        path.write_bytes(key)
        legacy = ["--legacy", "-q"] if name.startswith("des") else []
        return ["cipher", name, *legacy, "--key", path, *(["--iv", iv.hex()] if iv else [])]


@pytest.fixture
def ciphers(tmp_path):
    return Ciphers(tmp_path)


def through(arguments, data, way, folder, threads):
    """The output of paes, by files or by pipes."""
    arguments = [*arguments, "-T", threads]
    if way == "pipe":
        return succeed(*arguments, stdin=data).out
    source, target = folder / "in", folder / "out"
    source.write_bytes(data)
    succeed(*arguments, "-f", "-o", target, source)
    return target.read_bytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", [*AES, *DES])
def test_as_openssl(name, threads, ciphers, folder, random_bytes):
    key, iv = ciphers.key({**AES, **DES}[name]), iv_of(name)
    arguments = ciphers.arguments(name, key, iv)
    for size in SIZES:
        text = random_bytes(size)
        want = openssl_enc(name, key, iv, text)
        for way in ("file", "pipe"):
            assert through(arguments, text, way, folder, threads) == want, (size, way)
            opened = through([*arguments, "-d"], want, way, folder, threads)
            assert opened == text, (size, way)


@pytest.mark.parametrize("name", ["aes-128-ecb", "aes-256-cbc"])
def test_without_padding(name, ciphers, folder, random_bytes):
    key, iv = ciphers.key(AES[name]), iv_of(name)
    arguments = [*ciphers.arguments(name, key, iv), "--no-pad"]
    for size in (0, 16, 4096, 1 << 20):
        text = random_bytes(size)
        want = openssl_enc(name, key, iv, text, "-nopad")
        for way in ("file", "pipe"):
            assert through(arguments, text, way, folder, 2) == want
            assert through([*arguments, "-d"], want, way, folder, 2) == text


def des_ctr_by_openssl(key, iv, text):
    """openssl enc has no such mode, so its ECB encrypts the counters, which carry through all 64 bits."""
    blocks = (len(text) + 7) // 8
    first = int.from_bytes(iv, "big")
    before_carry = min(blocks, 2**64 - first)
    counters = array("Q", range(first, first + before_carry))
    counters.extend(range(blocks - before_carry))
    if sys.byteorder == "little":
        counters.byteswap()
    stream = openssl_enc("des-ede3-ecb", key, b"", counters.tobytes(), "-nopad")[: len(text)]
    return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(text), "big")


def test_triple_des_in_counter_mode(ciphers, folder, random_bytes):
    key, iv, text = ciphers.key(24), bytes.fromhex("fffffffffffffffd"), random_bytes(4099)
    want = des_ctr_by_openssl(key, iv, text)
    arguments = ciphers.arguments("des-ede3-ctr", key, iv)
    assert through(arguments, text, "file", folder, 2) == want
    assert through([*arguments, "-d"], want, "pipe", folder, 1) == text


@pytest.mark.parametrize(
    "name, size, way",
    [(name, 9_000_000, "file") for name in [*DES, "des-ede3-ctr"]]
    + [(f"des-ede3-{mode}", 9_000_000, "pipe") for mode in ("ecb", "cbc")]
    + [(f"des-ede3-{mode}", 100_000_000, "file") for mode in ("ecb", "cbc", "ctr")],
)
def test_triple_des_of_any_size(name, size, way, ciphers, folder):
    """Beyond the limit of SP 800-67, if the user says so, with a warning that -q keeps; decryption needs no option."""
    is_slow = size > 9_000_000 and name.endswith("-cbc")  # one block after the other, and bit slices are made for many
    key, iv, text = ciphers.key(24), iv_of(name), os.urandom(size)
    want = des_ctr_by_openssl(key, iv, text) if name.endswith("-ctr") else openssl_enc(name, key, iv, text)
    arguments = ciphers.arguments(name, key, iv)
    source, target = folder / "in", folder / "out"
    source.write_bytes(text)
    to = ["-o", target, *([source] if way == "file" else [])]
    stdin = b"" if way == "file" else text
    fail(*arguments, *to, stdin=stdin, code=USAGE,
         says="more than 1048576 blocks, the most that one key of this cipher may encrypt\npaes: hint: use AES; .*--no-block-limit")
    assert [path.name for path in folder.iterdir()] == ["in"]
    kernel = ["--kernel", "openssl"] if is_slow else []
    *of_kernel, warned = succeed(*arguments, "--no-block-limit", *kernel, *to, stdin=stdin).err.splitlines()
    assert len(of_kernel) == is_slow
    assert warned.startswith(f"paes: warning: {name}: SP 800-67 allows 2^20 blocks (8 MiB) under one key")
    assert target.read_bytes() == want
    decrypt = [word for word in arguments if word != "--legacy"]
    opened = succeed(*decrypt, "-d", *([target] if way == "file" else []), stdin=b"" if way == "file" else want)
    assert (opened.out, opened.err) == (text, "")


def kernels():
    import json

    return json.loads(succeed("devices", "--json").out)["kernels"]


def test_every_kernel(ciphers, random_bytes, folder):
    """Each writes the same bytes; a kernel that does not run here or lacks a mode says so."""
    text = random_bytes(70_001)
    used = set()
    for name in ("aes-256-cbc", "aes-192-ctr", "aes-128-cfb"):
        key, iv = ciphers.key(AES[name]), iv_of(name)
        want = openssl_enc(name, key, iv, text)
        for row in kernels():
            result = run(
                *ciphers.arguments(name, key, iv), "--kernel", row["name"], stdin=text
            )
            if result.code == 0:
                assert result.out == want, row["name"]
                used.add(row["name"])
            else:
                assert result.code == USAGE, result.err
    assert {"bitslice", "openssl", "compute"} <= used


@pytest.mark.parametrize("piece", [1, 16384, 20000, 4 << 20])
def test_piece_and_schedule_change_no_byte(piece, ciphers, folder, random_bytes):
    text = random_bytes((1 << 20) + 5)
    for name in ("aes-128-cbc", "aes-128-cfb", "aes-128-ctr", "aes-128-ofb"):
        key, iv = ciphers.key(16), iv_of(name)
        want = openssl_enc(name, key, iv, text)
        for schedule in choices_of("cipher", "--schedule"):
            arguments = [
                *ciphers.arguments(name, key, iv), "--piece", piece, "--schedule", schedule
            ]
            assert through(arguments, text, "file", folder, 2) == want
            assert through([*arguments, "-d"], want, "file", folder, 2) == text
            assert through([*arguments, "-d"], want, "pipe", folder, 2) == text


@pytest.mark.parametrize("last_block", ["00" * 16, "ff" * 15 + "fe", "ff" * 16])
def test_counters_wrap(last_block, ciphers, folder, random_bytes):
    """At a piece's edge as well: the counter of each is computed from its place."""
    iv = bytes.fromhex(last_block.rjust(32, "f"))
    if last_block.startswith("00"):
        iv = bytes.fromhex("00" * 12 + "ffffffff")
    key, text = ciphers.key(32), random_bytes(100_000)
    want = openssl_enc("aes-256-ctr", key, iv, text)
    arguments = [*ciphers.arguments("aes-256-ctr", key, iv), "--piece", 16384]
    for way in ("file", "pipe"):
        assert through(arguments, text, way, folder, 2) == want


# GCM


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_gcm(bits, size, ciphers, folder, random_bytes):
    key, iv, text = ciphers.key(bits // 8), bytes(range(12)), random_bytes(size)
    (folder / "aad").write_bytes(b"who and when")
    for aad, options in ((b"", []), (b"who and when", ["--aad", folder / "aad"])):
        want = AESGCM(key).encrypt(iv, text, aad)
        arguments = [*ciphers.arguments(f"aes-{bits}-gcm", key, iv), *options]
        for way in ("file", "pipe"):
            for threads in (1, 2):
                assert through(arguments, text, way, folder, threads) == want
                assert through([*arguments, "-d"], want, way, folder, threads) == text


@pytest.mark.parametrize("place", ["first", "middle", "tag", "cut", "longer", "tag alone"])
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_gcm_refuses_every_change(way, place, ciphers, folder, random_bytes):
    key, iv, text = ciphers.key(16), bytes(range(12)), random_bytes(600_000)
    sealed = bytearray(AESGCM(key).encrypt(iv, text, b""))
    if place in ("cut", "longer"):
        sealed = sealed[:-1] if place == "cut" else sealed + b"\0"
    elif place == "tag alone":
        sealed = sealed[-16:]
    else:
        sealed[{"first": 0, "middle": 300_000, "tag": -1}[place]] ^= 1
    arguments = [*ciphers.arguments("aes-128-gcm", key, iv), "-d"]
    (folder / "in").write_bytes(sealed)
    source = {"file": [folder / "in"], "pipe": []}[way]
    stdin = b"" if way == "file" else bytes(sealed)
    for options in (["-o", folder / "out"], []):
        fail(*arguments, *options, *source, stdin=stdin, code=CORRUPT, says="tag does not match")
    assert sorted(os.listdir(folder)) == ["in"]
    (folder / "aad").write_bytes(b"x")
    good = AESGCM(key).encrypt(iv, text, b"")
    fail(*arguments, "--aad", folder / "aad", stdin=good, code=CORRUPT, says="tag")


@pytest.mark.parametrize("size", [0, 1, 15])
def test_gcm_without_room_for_a_tag(size, ciphers):
    arguments = ciphers.arguments("aes-128-gcm", ciphers.key(16), bytes(12))
    fail(*arguments, "-d", stdin=bytes(size), code=CORRUPT, says="too short")


def test_gcm_from_a_pipe_is_kept_up_to_64_mib(ciphers, folder):
    """One byte more is refused before anything is written; from a file there is no such limit."""
    key, iv = ciphers.key(32), bytes(12)
    arguments = ciphers.arguments("aes-256-gcm", key, iv)
    text = bytes(MORE_THAN_A_PIPE_MAY_KEEP - 1)
    sealed = succeed(*arguments, stdin=text).out
    assert succeed(*arguments, "-d", stdin=sealed).out == text
    (folder / "in").write_bytes(text + b"\0")
    succeed(*arguments, "-o", folder / "sealed", folder / "in")
    sealed = (folder / "sealed").read_bytes()
    fail(*arguments, "-d", stdin=sealed, code=USAGE, says="64 MiB")
    succeed(*arguments, "-d", "-o", folder / "out", folder / "sealed")
    assert (folder / "out").read_bytes() == text + b"\0"


# XTS


def xts(key, number, unit):
    encryptor = Cipher(algorithms.AES(key), modes.XTS(number.to_bytes(16, "little"))).encryptor()
    return encryptor.update(unit) + encryptor.finalize()


@pytest.mark.parametrize("bits", [128, 256])
def test_xts(bits, ciphers, folder, random_bytes):
    key = ciphers.key(bits // 4)
    number = 2**64 - 2  # carries into the upper half
    iv = number.to_bytes(16, "little")
    arguments = ciphers.arguments(f"aes-{bits}-xts", key, iv)
    for unit, size in (
        (None, 16), (None, 17), (None, 4096), (None, (1 << 20) + 5),
        (16, 160), (33, 33 * 600 + 20), (512, 512 * 2049), (4096, 4096 * 3 + 16), (4096, 100),
    ):
        text = random_bytes(size)
        step = unit or size
        want = b"".join(
            xts(key, number + i, text[at : at + step])
            for i, at in enumerate(range(0, size, step))
        )
        options = [*arguments, *(["--unit", unit] if unit else [])]
        for way, threads in (("file", 1), ("file", 2), ("pipe", 2)):
            assert through(options, text, way, folder, threads) == want, (unit, size)
            assert through([*options, "-d"], want, way, folder, threads) == text


def test_xts_with_units_of_megabytes(ciphers, folder):
    """Units beyond what a thread takes at a time: all threads work on one."""
    key = ciphers.key(64)
    text = os.urandom(13 << 20)
    arguments = [*ciphers.arguments("aes-256-xts", key, bytes(16)), "--unit", "6MiB"]
    want = b"".join(
        xts(key, i, text[at : at + (6 << 20)]) for i, at in enumerate(range(0, 13 << 20, 6 << 20))
    )
    for way in ("file", "pipe"):
        assert through(arguments, text, way, folder, 2) == want
        assert through([*arguments, "-d"], want, way, folder, 2) == text


# Salted__ files


@pytest.fixture
def password(folder):
    path = folder / "password"
    path.write_text("correct horse\n")
    return path


@pytest.mark.parametrize("name", ["aes-128-ecb", "aes-192-cfb", "aes-256-cbc", "aes-256-ctr", "aes-128-ofb", "des-ede3-cbc"])
def test_salted_files_both_ways(name, password, folder, random_bytes):
    legacy = ["--legacy", "-q"] if name.startswith("des") else []
    arguments = ["cipher", name, *legacy, "--openssl", "--passphrase-file", password]
    for iterations, options in ((None, []), (77, ["--iter", 77])):
        theirs = ["enc", f"-{name}", "-pbkdf2", "-pass", f"file:{password}"]
        theirs += [] if iterations is None else ["-iter", iterations]
        for size in (0, 1, 16, 300_000):
            text = random_bytes(size)
            sealed = openssl(*theirs, stdin=text)
            for way in ("file", "pipe"):
                assert through([*arguments, *options, "-d"], sealed, way, folder, 2) == text
                ours = through([*arguments, *options], text, way, folder, 2)
                assert ours.startswith(b"Salted__")
                assert openssl(*theirs, "-d", stdin=ours) == text
    one, two = (succeed(*arguments, stdin=b"x").out for _ in range(2))
    assert one[8:16] != two[8:16], "each file has a salt of its own"


DIGESTS = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
# Around a block of each cipher, and around a line of Base 64.
SALTED_SIZES = [0, 1, 15, 16, 17, 47, 48, 49, 100_000]
SALTED_CIPHERS = {
    "aes-256-cbc": SALTED_SIZES,
    "aes-128-cbc": [0, 17],
    "aes-192-cbc": [15, 100_000],
    "aes-256-ctr": [0, 1, 100_000],
    "des-ede3-cbc": [0, 17, 100_000],
}


@pytest.mark.parametrize("derivation", [["-pbkdf2"], ["-pbkdf2", "-iter", "3"], []], ids=" ".join)
@pytest.mark.parametrize("digest", DIGESTS)
def test_salted_files_of_every_digest(digest, derivation, password, folder, random_bytes):
    """With and without -pbkdf2; what a file was made with is openssl's default, or is named."""
    options = ["--iter", 3] if len(derivation) == 3 else [] if derivation else ["--no-pbkdf2"]
    options += [] if digest == "sha256" else ["--md", digest]
    for name, sizes in SALTED_CIPHERS.items():
        theirs = ["enc", f"-{name}", *derivation, "-md", digest, "-pass", f"file:{password}"]
        ours = ["cipher", name, "--openssl", "--passphrase-file", password, *options]
        for size in sizes:
            text = random_bytes(size)
            # Each size comes in each of them, with two of the digests.
            lines = [[], ["-a"], ["-a", "-A"]][(size + DIGESTS.index(digest)) % 3]
            result = succeed(*ours, "-d", *lines[:1], stdin=openssl(*theirs, *lines, stdin=text))
            assert result.out == text, (name, size, lines)
            assert ("one hash" in result.err) == (not derivation)
    if derivation:
        made = succeed(*ours[:2], "--legacy", "-q", *ours[2:], stdin=text).out
        assert openssl(*theirs, "-d", stdin=made) == text
        return
    assert "encrypt the text anew with paes encrypt" in result.err
    sealed = folder / "sealed"
    sealed.write_bytes(openssl(*theirs, stdin=text))
    assert "one hash" in succeed(*ours, "-d", "-q", "-o", folder / "out", sealed).err
    assert (folder / "out").read_bytes() == text


@pytest.mark.parametrize("lines", [["-a"], ["-a", "-A"]], ids=" ".join)
@pytest.mark.parametrize("route", ["file", "pipe"])
def test_salted_files_in_base_64(lines, route, password, folder, random_bytes):
    ours = ["cipher", "aes-256-cbc", "-d", "--openssl", "-a", "--passphrase-file", password]
    for size in [0, 1, 15, 16, 17, 47, 48, 49, 1_000_000]:
        text = random_bytes(size)
        sealed = openssl("enc", "-aes-256-cbc", "-pbkdf2", *lines, "-pass", f"file:{password}", stdin=text)
        (folder / "sealed").write_bytes(sealed)
        arguments, stdin = ([folder / "sealed"], b"") if route == "file" else ([], sealed)
        assert succeed(*ours, *arguments, stdin=stdin).out == text, size
    fail(*ours, "-o", folder / "out", stdin=sealed[:-7], code=CORRUPT)
    bad = bytearray(sealed)
    bad[500] = ord("!")
    fail(*ours, "-o", folder / "out", stdin=bytes(bad), code=CORRUPT, says="Base 64")
    assert not (folder / "out").exists()
    fail(*ours, stdin=b"Salted__ is not Base 64", code=CORRUPT)
    binary = [word for word in ours if word != "-a"]
    fail(*binary, stdin=sealed, code=CORRUPT, says="not a file of openssl enc.*\\n.*in Base 64: add -a")


@pytest.mark.parametrize("options, why", [
    (["-a"], "belongs to --openssl"),
    (["--openssl", "-a"], "only reads what exists"),
    (["--openssl", "--no-pbkdf2"], "only reads what exists"),
])
def test_what_only_reads(options, why, password):
    fail("cipher", "aes-256-cbc", *options, "--passphrase-file" if "--openssl" in options else "--key", password,
         stdin=b"", code=USAGE, says=why)


@pytest.mark.parametrize("made_with", [["-pbkdf2", "-md", "sha512"], ["-md", "md5"], []], ids=" ".join)
def test_a_wrong_derivation_is_bad_padding_at_best(made_with, password):
    """One in 256 has padding by chance."""
    right = ["--md", made_with[-1]] if made_with else []
    right += [] if "-pbkdf2" in made_with else ["--no-pbkdf2"]
    ways = [[], ["--iter", "9"], ["--md", "sha512"], ["--no-pbkdf2"], ["--no-pbkdf2", "--md", "md5"]]
    theirs = ["enc", "-aes-256-cbc", *made_with, "-pass", f"file:{password}"]
    sealed = openssl(*theirs, stdin=b"text")
    refused = 0
    wrong = [way for way in ways if sorted(way) != sorted(right)]
    for way in wrong:
        result = run("cipher", "aes-256-cbc", "-d", "--openssl", "--passphrase-file", password, *way, stdin=sealed)
        if result.code == CORRUPT:
            refused += 1
            assert result.out == b""
            hint = "OpenSSL used md5 before" if "--no-pbkdf2" in way else "try --no-pbkdf2.* --md md5"
            assert_error_lines(result.err, f"standard input: the padding is wrong(?s:.)*{hint}")
    assert refused >= len(wrong) - 2


def test_large_file_and_pipe(ciphers, folder):
    """64 MiB; 1 GiB is for the deep run."""
    text = os.urandom(1 << 20) * 64
    key = ciphers.key(16)
    for name in ("aes-128-ctr", "aes-128-cbc"):
        arguments = ciphers.arguments(name, key, iv_of(name))
        want = openssl_enc(name, key, iv_of(name), text)
        assert through(arguments, text, "file", folder, 2) == want
        assert through([*arguments, "-d"], want, "pipe", folder, 2) == text
        assert through([*arguments, "-d"], want, "file", folder, 2) == text
