# SPDX-License-Identifier: Apache-2.0
# Files of age itself: what paes writes `age` and pyrage open, what they write paes opens, armored
# or not, through files and pipes; and `paes age` takes age's own arguments. Needs age (Debian
# package age).
import json
import shutil

import pytest
from age_file import age
from program import CORRUPT, FAILURE, OK, USAGE, WRONG_KEY, as_age, fail, on_a_terminal, run, succeed

pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
pytestmark = pytest.mark.skipif(shutil.which("age") is None, reason="age is not installed")

CHUNK = 65536
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 9 * CHUNK + 5]
ARMOR = [[], ["-a"]]
BEGIN = b"-----BEGIN AGE ENCRYPTED FILE-----"


def header_bytes(sealed):
    return sealed.index(b"\n", sealed.index(b"\n--- ") + 1) + 1


@pytest.mark.parametrize("armor", ARMOR)
@pytest.mark.parametrize("size", SIZES)
def test_others_open_what_paes_made(size, armor, keys, random_bytes, folder):
    text = random_bytes(size)
    (folder / "text").write_bytes(text)
    succeed("encrypt", "--format", "age", *armor, "-r", keys.recipient, folder / "text")
    from_file = (folder / "text.age").read_bytes()
    from_pipe = succeed(
        "encrypt", "--format", "age", *armor, "-r", keys.recipient, stdin=text
    ).out
    for sealed in (from_file, from_pipe):
        assert sealed.startswith(BEGIN) == bool(armor)
        assert age("-d", "-i", keys.path, stdin=sealed) == text
        identity = pyrage.x25519.Identity.from_str(
            [line for line in keys.path.read_text().splitlines() if line[0] != "#"][0]
        )
        assert pyrage.decrypt(sealed, [identity]) == text


@pytest.mark.parametrize("armor", ARMOR)
@pytest.mark.parametrize("size", SIZES)
def test_paes_opens_what_others_made(size, armor, keys, random_bytes, folder):
    text = random_bytes(size)
    recipient = pyrage.x25519.Recipient.from_str(keys.recipient)
    for number, sealed in enumerate(
        [
            age("-r", keys.recipient, *armor, stdin=text),
            pyrage.encrypt(text, [recipient], armored=bool(armor)),
        ]
    ):
        (folder / f"{number}.age").write_bytes(sealed)
        succeed("decrypt", "-i", keys.path, folder / f"{number}.age")
        assert (folder / str(number)).read_bytes() == text
        assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == text
        for source in ({"stdin": sealed}, {}):
            name = "-" if source else folder / f"{number}.age"
            said = succeed("verify", "-i", keys.path, name, **source).out
            assert f"authentic, {size} bytes" in said.decode()


@pytest.mark.parametrize("armor", ARMOR)
def test_ranges(armor, keys, random_bytes, folder):
    text = random_bytes(3 * CHUNK + 100)
    (folder / "text.age").write_bytes(age("-r", keys.recipient, *armor, stdin=text))
    for first, last in [(0, 0), (CHUNK - 1, CHUNK), (3 * CHUNK, 4 * CHUNK), (5, 2 * CHUNK)]:
        for source in (folder / "text.age", "-"):
            stdin = (folder / "text.age").read_bytes() if source == "-" else b""
            part = succeed(
                "decrypt", "-i", keys.path, "--range", f"{first}-{last}", "-o", "-", source,
                stdin=stdin,
            ).out
            assert part == text[first : last + 1]


def test_damage_is_named_and_refused(keys, random_bytes, folder):
    text = random_bytes(5 * CHUNK)
    sealed = bytearray(age("-r", keys.recipient, stdin=text))
    first = header_bytes(sealed) + 16
    chunk = CHUNK + 16
    sealed[first + chunk] ^= 1
    sealed[first + 3 * chunk] ^= 1
    path = folder / "text.age"
    path.write_bytes(sealed)
    fail("decrypt", "-i", keys.path, path, code=CORRUPT, says="chunk 1|chunk 3")
    assert not (folder / "text").exists()
    done = run("verify", "-i", keys.path, path)
    assert done.code == CORRUPT
    assert "2 of 5 chunks" in done.err
    assert f"bytes {CHUNK}-{2 * CHUNK - 1} of the plaintext" in done.err
    # What is not damaged opens.
    kept = succeed("decrypt", "-i", keys.path, "--range", f"{2 * CHUNK}-{3 * CHUNK - 1}", "-o", "-",
                   path).out
    assert kept == text[2 * CHUNK : 3 * CHUNK]
    for bad in (sealed[:-1], sealed[: first + 2 * chunk], bytes(sealed) + b"x"):
        path.write_bytes(bad)
        fail("decrypt", "-i", keys.path, path, code=CORRUPT)
        assert not (folder / "text").exists()
        assert run("verify", "-i", keys.path, path).code == CORRUPT


def test_codes_of_failure(keys, random_bytes, folder):
    sealed = age("-r", keys.recipient, stdin=b"text")
    other = folder / "other.txt"
    succeed("keygen", "-o", other)
    fail("decrypt", "-i", other, stdin=sealed, code=WRONG_KEY)
    fail("decrypt", "-i", keys.path, stdin=sealed.replace(b"X25519", b"X25518"), code=WRONG_KEY)
    fail("decrypt", "-i", keys.path, stdin=BEGIN + b"\ngarbage\n", code=CORRUPT, says="armor")
    to = ["-r", keys.recipient, "-o", "-"]
    fail("encrypt", "--format", "age", "--suite", "aes-128-gcm", *to, code=USAGE, says="suite")
    fail("encrypt", "-a", *to, code=USAGE, says="armor")
    fail("encrypt", "--format", "zip", *to, code=USAGE, says="there are: paes, age")


def test_the_kernel_that_is_named_is_the_one_that_worked(keys, folder):
    (folder / "text").write_bytes(b"text")
    identity = ["-i", keys.path, folder / "text.age"]
    for command in (["encrypt", "-f", "--format", "age", "-r", keys.recipient, folder / "text"],
                    ["verify", *identity], ["decrypt", "-f", *identity]):
        document = json.loads(succeed(*command, "--json", "--kernel", "bitslice").out)
        assert document["kernel"] == "openssl"
        assert "kernel openssl" in succeed(*command, "-v").err


# --- paes age ---


def test_age_arguments_both_ways(keys, random_bytes, folder):
    text = random_bytes(CHUNK + 1)
    (folder / "text").write_bytes(text)
    as_age("-r", keys.recipient, "-o", folder / "sealed", folder / "text")
    assert age("-d", "-i", keys.path, folder / "sealed") == text
    as_age("--decrypt", f"--identity={keys.path}", "-output", folder / "back", folder / "sealed")
    assert (folder / "back").read_bytes() == text
    armored = as_age("-e", "-i", keys.path, "--armor", stdin=text).out
    assert armored.startswith(BEGIN)
    assert as_age("-d", "-i", keys.path, stdin=armored).out == text
    # An output that exists is replaced, without a question.
    as_age("-d", "-i", keys.path, "-o", folder / "text", folder / "sealed")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 1, "Usage:"),
        (["-x"], 2, "flag provided but not defined: -x"),
        (["-o"], 2, "flag needs an argument: -o"),
        (["-d", "-a"], 1, "age: error: -a/--armor can't be used with -d/--decrypt"),
        (["-i", "key"], 1, "without -e/--encrypt"),
        (["-e"], 1, "missing recipients"),
        (["-d", "-i", "none"], 1, "age: error: none: "),
        (["-r", "age1", "a", "-o", "b"], 1, "the input file must come after all flags"),
        (["-d", "none"], 1, "age: error: none: "),
    ],
)
def test_age_refusals(arguments, code, says, folder):
    done = as_age(*arguments, code=code, cwd=folder)
    assert done.out == b""
    assert says in done.err


def test_age_tells_of_what_is_named_twice(keys, other_keys, folder):
    to = ["-r", keys.recipient]
    (folder / "text").write_bytes(b"text")
    twice = f'age: warning: duplicate recipient "{keys.recipient}"\n'
    assert as_age(*to, "-r", other_keys.recipient, *to, *to, "-o", folder / "sealed", folder / "text").err == twice
    (folder / "readers").write_text(keys.recipient)
    said = as_age("-R", "readers", "-R", "readers", "-o", "sealed", "text", cwd=folder).err
    assert said == 'age: warning: duplicate recipients file "readers"\n'
    named = ["-d", "-i", keys.path]
    said = as_age(*named, "-i", other_keys.path, "-i", keys.path, folder / "sealed")
    assert (said.out, said.err) == (b"text", f'age: warning: duplicate identity file "{keys.path}"\n')
    assert as_age(*to, "-r", other_keys.recipient, "-o", folder / "sealed", folder / "text").err == ""


def test_age_says_that_a_key_is_missing(keys, folder):
    (folder / "sealed").write_bytes(age("-r", keys.recipient, stdin=b"text"))
    said = as_age("-d", folder / "sealed", code=FAILURE).err
    assert said.startswith("age: error: file is not passphrase-encrypted, identities are required\n")


@pytest.mark.parametrize("text", [b"", b"one\r\n\ttwo \xc3\xa4\n", bytes(range(32, 127)) * 3000])
def test_age_shows_text_on_a_terminal(text, keys, folder):
    (folder / "sealed").write_bytes(age("-r", keys.recipient, stdin=text))
    code, shown = on_a_terminal(["age", "-d", "-i", keys.path, folder / "sealed"], [])
    assert (code, shown) == (OK, text.decode().replace("\n", "\r\n"))


@pytest.mark.parametrize("bad", [b"\0", b"\x1b[2J", b"\x7f", b"\x9b2J", b"\xc2\x9b2J", b"\xff", b"\xc3"])
def test_age_shows_nothing_else_on_a_terminal(bad, keys, folder):
    """Also what comes last: nothing has been shown before."""
    (folder / "sealed").write_bytes(age("-r", keys.recipient, stdin=b"text" * CHUNK + bad))
    assert on_a_terminal(["age", "-d", "-i", keys.path, folder / "sealed"], []) == (
        FAILURE, 'age: error: refusing to output binary to the terminal\r\nage: hint: force it with "-o -"\r\n')


def test_age_shows_anything_on_a_terminal_that_is_named(keys, folder):
    (folder / "sealed").write_bytes(age("-r", keys.recipient, stdin=b"text\x1b[m"))
    assert on_a_terminal(["age", "-d", "-i", keys.path, "-o", "-", folder / "sealed"], []) == (OK, "text\x1b[m")


def test_age_shows_nothing_of_a_damaged_file_on_a_terminal(keys, folder):
    sealed = bytearray(age("-r", keys.recipient, stdin=b"word" * CHUNK))
    sealed[-1] ^= 1
    (folder / "sealed").write_bytes(sealed)
    code, shown = on_a_terminal(["age", "-d", "-i", keys.path, folder / "sealed"], [])
    assert code == FAILURE and "word" not in shown


def test_age_leaves_no_output_behind(keys, folder):
    sealed = bytearray(age("-r", keys.recipient, stdin=bytes(3 * CHUNK)))
    sealed[-1] ^= 1
    (folder / "sealed").write_bytes(sealed)
    (folder / "out").write_bytes(b"kept")
    as_age("-d", "-i", keys.path, "-o", folder / "out", folder / "sealed", code=FAILURE)
    assert (folder / "out").read_bytes() == b"kept"
