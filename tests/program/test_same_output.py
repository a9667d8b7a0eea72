# SPDX-License-Identifier: Apache-2.0
# The bytes of an encrypted file depend on key, salt and text alone: never on the kernel, the number
# of threads, the schedule or the piece. The test program seal_fixed injects key and salt; nothing in
# the release binary can, which is tested as well. What the bytes must be is computed here a second
# time, from the C2SP chunked-encryption text and one AES-GCM call a chunk.
import hmac
import itertools
import json
import os
import re
import subprocess

import age_file
import container
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from program import PAES, choices_of, clean_environment, succeed

SEAL_FIXED = os.environ.get("SEAL_FIXED", "")

AEAD_NAMES = {1: b"AEAD_AES_128_GCM", 2: b"AEAD_AES_256_GCM"}
SALT = bytes(range(100, 124))
ENVELOPE = b"any bytes at all" * 20


def hkdf_expand_sha512(key, info, size):
    out, block = b"", b""
    for number in itertools.count(1):
        if len(out) >= size:
            return out[:size]
        block = hmac.digest(key, block + info + bytes([number]), "sha512")
        out += block


def expected_payload(suite, key, salt, text):
    info = b"c2sp.org/chunked-encryption@v1+" + AEAD_NAMES[suite] + b"\0"
    key_bytes = container.KEY_BYTES[suite]
    derived = hkdf_expand_sha512(key, info + salt + container.context(suite), key_bytes + 44)
    aead = AESGCM(derived[:key_bytes])
    base_nonce = int.from_bytes(derived[key_bytes : key_bytes + 12], "big")
    out = [salt, derived[key_bytes + 12 :]]
    for number in range(len(text) // container.TEXT_BYTES + 1):
        chunk = text[number * container.TEXT_BYTES :][: container.TEXT_BYTES]
        out.append(aead.encrypt((base_nonce ^ number).to_bytes(12, "big"), chunk, None))
    return b"".join(out)


def kernels():
    """Rows that may encrypt a file, and the names of those this machine cannot run."""
    done = subprocess.run([PAES, "devices", "--json"], capture_output=True, check=True)
    rows = json.loads(done.stdout)["kernels"]
    rows = [row for row in rows if row["cipher"] == "aes"]
    return (
        [row["name"] for row in rows if row["available"]],
        {row["name"]: row["reason"] for row in rows if not row["available"]},
    )


AVAILABLE, MISSING = kernels() if PAES else ([], {})


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixed")
    (folder / "salt").write_bytes(SALT)
    (folder / "envelope").write_bytes(ENVELOPE)
    for suite, key_bytes in container.KEY_BYTES.items():
        (folder / f"key{suite}").write_bytes(bytes(range(key_bytes)))
    return folder


@pytest.fixture(scope="module")
def expected(random_bytes):
    known = {}

    def container_of(suite, size):
        if (suite, size) not in known:
            key = bytes(range(container.KEY_BYTES[suite]))
            payload = expected_payload(suite, key, SALT, random_bytes(size))
            known[suite, size] = container.preamble(suite, ENVELOPE) + payload
        return known[suite, size]

    return container_of


def seal(fixed, suite, kernel, schedule, threads, piece, text, route):
    command = [SEAL_FIXED, suite, fixed / f"key{suite}", fixed / "salt", fixed / "envelope"]
    command += [kernel, schedule, threads, piece]
    if route == "file":
        source, target = fixed / "in", fixed / "out"
        source.write_bytes(text)
        target.unlink(missing_ok=True)
        command += [source, target]
    done = subprocess.run(
        list(map(str, command)),
        input=text if route == "pipe" else b"",
        capture_output=True,
        timeout=60,
        env=clean_environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return target.read_bytes() if route == "file" else done.stdout


SCHEDULES = [("serial", 1), *itertools.product(choices_of("encrypt", "--schedule"), (2, 5))]
PIECES = [1, 16384, 100_000, 256 << 10, 4 << 20]
SIZES = [0, 1, 16383, 16384, 16385, 300_000, (4 << 20) - 1, 4 << 20, (4 << 20) + 1]


@pytest.mark.parametrize("suite", container.KEY_BYTES)
@pytest.mark.parametrize("route", ["file", "pipe"])
@pytest.mark.parametrize("kernel", AVAILABLE)
def test_same_bytes(kernel, route, suite, fixed, expected, random_bytes):
    settings = [(300_000, *how, piece) for how in SCHEDULES for piece in PIECES]
    settings += [(size, "dynamic", 2, 256 << 10) for size in SIZES]
    settings += [((4 << 20) + 1, *how, 100_000) for how in SCHEDULES]
    for size, schedule, threads, piece in settings:
        got = seal(fixed, suite, kernel, schedule, threads, piece, random_bytes(size), route)
        assert got == expected(suite, size), (size, schedule, threads, piece)


def test_kernels_that_did_not_run():
    """So that the report says which kernels the tests above do not speak of."""
    if MISSING:
        pytest.skip("; ".join(f"{kernel}: {reason}" for kernel, reason in MISSING.items()))
    assert len(AVAILABLE) >= 3


def test_the_reference_here_agrees_with_cryptography(random_bytes):
    """So that what the tests above expect is not merely what we believe."""
    for suite, key_bytes in container.KEY_BYTES.items():
        text, key = random_bytes(40_000), random_bytes(key_bytes)
        payload = expected_payload(suite, key, SALT, text)
        assert container.open_payload(suite, key, payload) == text


@pytest.mark.parametrize("kernel", AVAILABLE)
@pytest.mark.parametrize("schedule", choices_of("encrypt", "--schedule"))
def test_every_setting_of_the_command_line_opens_it(
    kernel, schedule, keys, random_bytes, folder
):
    text = random_bytes(2_000_000)
    plain, sealed = folder / "plain", folder / "plain.paes"
    plain.write_bytes(text)
    for threads, piece in [(1, "16384"), (2, "256KiB"), (5, "1MiB")]:
        how = ("--kernel", kernel, "--schedule", schedule, "-T", threads, "--piece", piece)
        succeed("encrypt", "-f", *how, "-r", keys.recipient, plain)
        preamble = sealed.read_bytes()[: container.PAGE_BYTES]
        key = age_file.age_decrypt(
            preamble[16 : 16 + int.from_bytes(preamble[12:16], "big")], keys.path
        )
        payload = sealed.read_bytes()[container.PAGE_BYTES - container.PREFIX_BYTES :]
        assert container.open_payload(2, key, payload) == text
        assert succeed("decrypt", *how, "-i", keys.path, "-o", "-", sealed).out == text
        succeed("verify", *how, "-i", keys.path, sealed)


# Nothing in the release binary fixes key or salt.


def test_the_same_file_twice_shares_nothing(keys, random_bytes):
    """Input key, salt and envelope are fresh each time."""
    text = random_bytes(20_000)
    one, two = (succeed("encrypt", "-r", keys.recipient, stdin=text).out for _ in range(2))
    start = container.PAGE_BYTES - container.PREFIX_BYTES
    salt_end = start + container.SALT_BYTES
    assert one[start:salt_end] != two[start:salt_end]
    opened = []
    for data in (one, two):
        size = int.from_bytes(data[12:16], "big")
        opened.append(age_file.age_decrypt(data[16 : 16 + size], keys.path))
    assert opened[0] != opened[1]
    for at in range(container.PAGE_BYTES, len(one) - 16, 16):
        assert one[at : at + 16] != two[at : at + 16]


def test_no_symbol_of_the_binary_takes_a_salt():
    done = subprocess.run(["nm", "-C", PAES], capture_output=True, check=True)
    names = done.stdout.decode()
    assert "main" in names, "a stripped binary shows no symbols, so this test would prove nothing"
    assert not re.search(r"with_salt|fixed_salt|seal_fixed", names)


def test_no_option_takes_a_key_or_a_salt():
    for command in ("encrypt", "decrypt", "verify", "rekey", "keygen", "inspect", "devices"):
        shown = succeed(command, "--help").out.decode()
        options = set(re.findall(r"--[a-z][a-z-]*", shown))
        assert options, command
        assert not [
            option for option in options if re.search("salt|seed|nonce|random|iv$|key$", option)
        ]


def test_the_binary_knows_no_variables_of_its_own():
    """Names of the form PAES_SOMETHING would be read from the environment."""
    with open(PAES, "rb") as file:
        found = set(re.findall(rb"\0(PAES_[A-Z_]{2,})\0", file.read()))
    assert found == set()
