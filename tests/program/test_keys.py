# SPDX-License-Identifier: Apache-2.0
# Keys and passphrases: keygen and --new-identity, files of identities and recipients, passphrases
# from files, descriptors and the terminal, and that no secret shows where others can look.
import os
import stat
import subprocess
import time

import age_file
import container
import program
import pytest
from program import FAILURE, PAES, USAGE, WRONG_KEY, fail, on_a_terminal, start, succeed


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_keygen_makes_what_age_reads(folder):
    path = folder / "key.txt"
    err = succeed("keygen", "-o", path).err
    recipient = age_file.recipient_of(path)
    assert recipient in err
    assert f"# public key: {recipient}\n" in path.read_text()
    assert mode_of(path) == 0o600
    sealed = age_file.age_encrypt(b"hello", [recipient])
    assert age_file.age_decrypt(sealed, path) == b"hello"


def test_keygen_to_standard_output(folder):
    result = succeed("keygen")
    path = folder / "key.txt"
    path.write_bytes(result.out)
    assert age_file.recipient_of(path) in result.err
    assert "AGE-SECRET-KEY" not in result.err


def test_two_keys_differ():
    assert succeed("keygen").out != succeed("keygen").out


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_key_files_are_for_their_owner_alone(umask, folder, random_bytes):
    succeed("keygen", "-o", folder / "one.txt", umask=umask)
    assert mode_of(folder / "one.txt") == 0o600
    (folder / "plain").write_bytes(random_bytes(100))
    succeed("encrypt", "--new-identity", folder / "two.txt", folder / "plain", umask=umask)
    assert mode_of(folder / "two.txt") == 0o600


@pytest.mark.parametrize("force", [[], ["-f"]])
def test_key_files_never_replace_a_file(force, folder, random_bytes):
    """Not with -f either: that is for outputs, and a lost key loses every file made for it."""
    taken = folder / "key.txt"
    taken.write_text("precious")
    (folder / "plain").write_bytes(random_bytes(100))
    before = program.tree(folder)
    fail("keygen", "-o", taken, code=FAILURE, says="exists")
    fail(
        *("encrypt", *force, "--new-identity", taken, folder / "plain"),
        code=FAILURE,
        says="key.txt: .*exists",
    )
    assert program.tree(folder) == before
    (folder / "link.txt").symlink_to(folder / "nowhere.txt")
    fail("keygen", "-o", folder / "link.txt", code=FAILURE)
    assert not (folder / "nowhere.txt").exists()


def test_an_output_never_replaces_the_new_key(folder, random_bytes):
    """-f is for outputs that were there: a ciphertext in the key's place could never be opened."""
    (folder / "plain").write_bytes(random_bytes(100))
    (folder / "sub").mkdir()
    before = program.tree(folder)
    for key, output in (
        ("key", ["-o", "key"]),
        ("key", ["-o", "sub/../key"]),
        ("plain.paes", []),
    ):
        for force in ([], ["-f"]):
            fail(
                *("encrypt", *force, "--new-identity", key, *output, "plain"),
                code=USAGE,
                says="new key",
                cwd=folder,
            )
            assert program.tree(folder) == before


def test_the_main_job(folder, random_bytes):
    """One command makes a key and encrypts; the next opens with that key."""
    text = random_bytes(1 << 20)
    (folder / "FILE").write_bytes(text)
    succeed("encrypt", "--new-identity", "key.txt", "FILE", cwd=folder)
    (folder / "FILE").unlink()
    succeed("decrypt", "-i", "key.txt", "FILE.paes", cwd=folder)
    assert (folder / "FILE").read_bytes() == text


def test_no_new_key_is_left_when_encryption_cannot_start(folder):
    fail(
        *("encrypt", "--new-identity", folder / "key.txt", folder / "missing"),
        code=FAILURE,
        says="missing: No such file",
    )
    assert program.tree(folder) == {}


def test_no_new_key_is_left_beside_an_old_output(folder, random_bytes):
    """That the name of the output is taken does not mean that this run made what has it."""
    (folder / "plain").write_bytes(random_bytes(4 << 20))
    (folder / "taken").write_bytes(b"old")
    before = program.tree(folder)
    fail(
        *("encrypt", "-f", "--new-identity", folder / "key.txt", "-o", folder / "taken"),
        folder / "plain",
        prefix=["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"],
        code=FAILURE,
        says="taken: File too large",
    )
    assert program.tree(folder) == before


def test_several_identities(keys, other_keys, folder, random_bytes):
    """Any of them may open: several -i, several keys a file, comments and empty lines between."""
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=random_bytes(10)).out
    many = folder / "many.txt"
    own = keys.path.read_text().splitlines()[-1]
    other = other_keys.path.read_text().splitlines()[-1]
    many.write_text(f"# mine\n\n{other}\n# and\n{own}\n")
    for options in (["-i", other_keys.path, "-i", keys.path], ["-i", many]):
        assert succeed("decrypt", *options, stdin=sealed).out == random_bytes(10)
    many.write_text(f"{other}\r\n{own}\r\n")
    assert succeed("decrypt", "-i", many, stdin=sealed).out == random_bytes(10)


@pytest.mark.parametrize("content", ["", "# only a comment\n", "nonsense\n", "AGE-SECRET-KEY-1QQ\n"])
def test_identity_files_without_an_identity(content, keys, folder, random_bytes):
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=random_bytes(10)).out
    path = folder / "bad.txt"
    path.write_text(content)
    fail("decrypt", "-i", path, stdin=sealed, code=USAGE, says="bad.txt")


def test_a_mistyped_key_is_found_by_its_checksum(keys, folder, random_bytes):
    wrong = keys.recipient[:-1] + ("q" if keys.recipient[-1] != "q" else "p")
    fail("encrypt", "-r", wrong, stdin=b"x", code=USAGE)
    lines = keys.path.read_text().splitlines()
    secret = lines[-1][:-1] + ("Q" if lines[-1][-1] != "Q" else "P")
    (folder / "bad.txt").write_text(secret + "\n")
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=random_bytes(10)).out
    result = fail("decrypt", "-i", folder / "bad.txt", stdin=sealed, code=USAGE)
    assert secret[16:40] not in result.err


# Passphrases. Envelopes with a small work factor keep these tests short.

PASSPHRASE = b"open sesame"


@pytest.fixture(scope="module")
def sealed_by_passphrase():
    return container.make(2, b"text", lambda key: age_file.seal(key, passphrase=PASSPHRASE))


@pytest.mark.parametrize(
    "content, opens",
    [
        (PASSPHRASE, True),
        (PASSPHRASE + b"\n", True),
        (PASSPHRASE + b"\n\n", False),
        (PASSPHRASE + b"\r\n", False),
        (b" " + PASSPHRASE, False),
        (b"", False),
    ],
)
def test_one_trailing_newline_is_dropped(content, opens, sealed_by_passphrase, folder):
    (folder / "pass").write_bytes(content)
    options = ("decrypt", "--passphrase-file", folder / "pass")
    if opens:
        assert succeed(*options, stdin=sealed_by_passphrase).out == b"text"
    else:
        fail(*options, stdin=sealed_by_passphrase, code=(WRONG_KEY, USAGE))


def test_passphrase_from_a_descriptor(sealed_by_passphrase):
    reader, writer = os.pipe()
    os.write(writer, PASSPHRASE + b"\n")
    os.close(writer)
    result = succeed(
        "decrypt", "--passphrase-fd", reader, stdin=sealed_by_passphrase, pass_fds=[reader]
    )
    os.close(reader)
    assert result.out == b"text"


@pytest.mark.parametrize("number", [1, *range(3, 9), 99])
def test_a_descriptor_that_is_not_open(number, sealed_by_passphrase):
    """Also when paes itself opens something under that number: it must not read its own."""
    options = ("decrypt", "--passphrase-fd", number)
    fail(*options, stdin=sealed_by_passphrase, code=FAILURE, timeout_s=20)


def test_passphrase_from_standard_input(sealed_by_passphrase, folder):
    path = folder / "sealed.paes"
    path.write_bytes(sealed_by_passphrase)
    result = succeed("decrypt", "--passphrase-fd", 0, "-o", "-", path, stdin=PASSPHRASE)
    assert result.out == b"text"
    # It cannot be both the passphrase and the data.
    fail("decrypt", "--passphrase-fd", 0, stdin=sealed_by_passphrase, code=USAGE)


def test_an_empty_passphrase_is_refused(folder):
    (folder / "empty").write_bytes(b"\n")
    (folder / "pass").write_bytes(b"word\n")
    sealed = succeed("encrypt", "--passphrase-file", folder / "pass", stdin=b"x").out
    fail(
        *("decrypt", "--passphrase-file", folder / "empty"),
        stdin=sealed, code=WRONG_KEY, says="passphrase: is empty",
    )
    fail("encrypt", "--passphrase-file", folder / "empty", stdin=b"x", code=USAGE, says="empty")


def test_the_terminal_is_asked_when_the_envelope_needs_it(sealed_by_passphrase, folder):
    path = folder / "sealed.paes"
    path.write_bytes(sealed_by_passphrase)
    for options in ([], ["-p"]):
        out = folder / "out"
        code, shown = on_a_terminal(["decrypt", *options, "-o", out, path], [PASSPHRASE])
        assert code == 0, shown
        assert out.read_bytes() == b"text"
        assert PASSPHRASE.decode() not in shown, "echo must be off"
        out.unlink()
    code, shown = on_a_terminal(["decrypt", "-o", folder / "out", path], [b"wrong"])
    assert code == WRONG_KEY, shown
    assert not (folder / "out").exists()


def test_a_new_passphrase_is_asked_twice(folder, random_bytes):
    plain, sealed = folder / "plain", folder / "plain.paes"
    plain.write_bytes(random_bytes(100))
    code, shown = on_a_terminal(["encrypt", "-p", plain], [PASSPHRASE, b"open seseme"])
    assert code in (FAILURE, USAGE), shown
    assert not sealed.exists()
    code, shown = on_a_terminal(["encrypt", "-p", plain], [PASSPHRASE, PASSPHRASE])
    assert code == 0, shown
    assert PASSPHRASE.decode() not in shown
    (folder / "pass").write_bytes(PASSPHRASE)
    opened = succeed("decrypt", "--passphrase-file", folder / "pass", "-o", "-", sealed)
    assert opened.out == random_bytes(100)


def test_without_a_terminal_nothing_waits_for_one(sealed_by_passphrase, folder):
    """One exit code, whatever the passphrase is for: no key was wrong, none could be asked for."""
    (folder / "f.paes").write_bytes(sealed_by_passphrase)
    (folder / "salted").write_bytes(b"Salted__12345678" + bytes(32))
    started = time.monotonic()
    for words in (
        "encrypt -p -o out f.paes",
        "decrypt",
        "verify f.paes",
        "rekey --new-passphrase f.paes",
        "cipher aes-256-cbc --openssl f.paes",
        "cipher aes-256-cbc --openssl -d salted",
    ):
        fail(
            *words.split(), stdin=sealed_by_passphrase, prefix=["setsid", "-w"], cwd=folder,
            code=FAILURE, says="passphrase: there is no terminal",
        )
    assert time.monotonic() - started < 30


# Where secrets must not be


def test_no_option_takes_a_secret():
    """Arguments are visible to every user of the machine."""
    for command in ("encrypt", "decrypt", "verify", "rekey"):
        shown = succeed(command, "--help").out.decode()
        for line in shown.splitlines():
            if "passphrase" in line.split("  ")[0] and line.lstrip().startswith("-"):
                assert any(word in line for word in ("FILE", "N", "-p,")), line


def test_the_environment_holds_no_secret_and_decides_nothing(sealed_by_passphrase, keys):
    """Plausible names of variables; also none in the binary (see test_same_output)."""
    changes = {
        name: PASSPHRASE.decode()
        for name in ("PASSPHRASE", "PAES_PASSPHRASE", "AGE_PASSPHRASE", "PAES_KEY", "PAES_SALT")
    }
    done = subprocess.run(
        ["setsid", "-w", PAES, "decrypt"],
        input=sealed_by_passphrase,
        env=program.clean_environment(**changes),
        capture_output=True,
        check=False,
    )
    assert done.returncode == FAILURE


def test_no_core_dumps(keys):
    """The limit is zero while paes runs."""
    process = start(
        "encrypt", "-r", keys.recipient, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        process.stdin.write(bytes(4 << 20))
        process.stdin.flush()
        with open(f"/proc/{process.pid}/limits", encoding="ascii") as file:
            limits = file.read()
    except PermissionError:
        pytest.skip("the process is not dumpable, so only root sees its limits")
    finally:
        process.stdin.close()
        process.wait(timeout=30)
    line = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert line.split()[4:6] == ["0", "0"]


def test_a_wrong_recipient_is_named(keys):
    """By itself, for it is public; where it does not look like one, by its number."""
    good = keys.recipient
    typed = good[:-1]
    said = fail("encrypt", "-r", good, "-r", typed, stdin=b"x", code=USAGE, says="not 62 characters")
    assert f"recipient '{typed}': " in said.err
    fail("encrypt", "-r", good, "-r", "bob", stdin=b"x", code=USAGE, says="recipient number 2: does not begin")
    said = fail("encrypt", "-r", "age1" + "q" * 500, stdin=b"x", code=USAGE, says=r"q\.\.\.': is not 62")
    assert len(said.err) < 200


def test_the_line_of_a_wrong_recipient_is_named(keys, folder):
    (folder / "list").write_text(f"# all\n{keys.recipient}\n{keys.recipient[:-1]}\n")
    fail("encrypt", "-R", "list", stdin=b"x", cwd=folder, code=USAGE, says="list line 3: recipient: is not 62")


SECRET = "QQQ7RSZ9X8"


@pytest.mark.parametrize(
    "text",
    ["AGE-SECRET-KEY-1{}", "age-secret-key-1{}", " AGE-SECRET-KEY-1{}", "AGE-SECRET-KEY-PQ-1{}", "'AGE-SECRET-KEY-1{}'",
     "age1 AGE-SECRET-KEY-1{}", "{}", "key={}"],
)  # fmt: skip
def test_a_secret_key_for_a_recipient_is_never_shown(text, keys, folder):
    value = text.format(SECRET)
    for options in (["-r", value], ["-r", keys.recipient, "-r", value]):
        said = fail("encrypt", *options, stdin=b"x", code=USAGE, says="recipient number")
        assert SECRET not in said.err
        assert ("is a secret key" in said.err) == ("secret-key" in text.lower())
    (folder / "list").write_text(value + "\n")
    said = fail("encrypt", "-R", "list", stdin=b"x", cwd=folder, code=USAGE, says="list line 1: recipient: ")
    assert SECRET not in said.err


def test_a_passphrase_file_with_crlf(folder):
    """What the passphrase is does not change: with its carriage return, as in age's own files."""
    (folder / "crlf").write_bytes(b"word\r\n")
    (folder / "lf").write_bytes(b"word\n")
    (folder / "other").write_bytes(b"words\n")
    (folder / "plain").write_bytes(b"text")
    done = succeed("encrypt", "--passphrase-file", "crlf", "plain", cwd=folder)
    assert "paes: warning: crlf: has CRLF line ends" in done.err
    succeed("verify", "--passphrase-file", "crlf", "plain.paes", cwd=folder)
    assert succeed("encrypt", "-f", "--passphrase-file", "lf", "plain", cwd=folder).err == ""
    said = fail("verify", "--passphrase-file", "crlf", "plain.paes", cwd=folder, code=WRONG_KEY, says="wrong")
    assert "hint: crlf has CRLF line ends" in said.err
    said = fail("verify", "--passphrase-file", "other", "plain.paes", cwd=folder, code=WRONG_KEY, says="wrong")
    assert "hint" not in said.err
    with open(folder / "crlf", "rb") as file:
        number = file.fileno()
        said = fail("decrypt", "--passphrase-fd", number, "-o", "out", "plain.paes", cwd=folder,
                    code=WRONG_KEY, says="wrong", pass_fds=[number])  # fmt: skip
        assert f"hint: descriptor {number} has CRLF" in said.err


@pytest.mark.parametrize("command", ["decrypt", "verify"])
def test_secret_key_in_place_of_a_file(command, keys, folder):
    """It is not shown again where logs keep it."""
    secret = next(line for line in keys.path.read_text().splitlines() if line.startswith("AGE-SECRET"))
    path = folder / "sealed.paes"
    succeed("encrypt", "-r", keys.recipient, "-o", path, stdin=b"text")
    plugins = age_file.bech32("AGE-PLUGIN-NOBODY-", bytes(range(20)))
    for key in (secret, plugins, plugins.lower()):
        result = fail(command, "-i", key, path, code=USAGE, says="a file of keys: a secret key is given")
        assert key not in result.err
    fail(command, "-i", "age-plugin-nobody-1.txt", path, code=FAILURE, says="age-plugin-nobody-1.txt: No such file")
