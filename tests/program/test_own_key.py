# SPDX-License-Identifier: Apache-2.0
# Files under a key that its owner keeps: as PyPI cryptography's Cobblestone reads and writes them, from
# every source and in every encoding of the key, and what is refused.
import base64
import json
import os
from pathlib import Path

import container
import jsonschema
import program
import pytest
from program import CORRUPT, USAGE, WRONG_KEY, fail, run, succeed

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
KEYS = {16: bytes(range(16)), 32: bytes(range(100, 132))}
SUITES = {16: 1, 32: 2}
SIZES = [0, 1, 16383, 16384, 16385, 1_000_000]
ENCODINGS = {
    "raw": lambda key: [key],
    "hex": lambda key: [key.hex().encode(), key.hex().upper().encode() + b"\n", key.hex().encode() + b"\r\n"],
    "base64": lambda key: [base64.b64encode(key), base64.b64encode(key) + b"\n", base64.b64encode(key).rstrip(b"=")],
}


def as_cobblestone(key, text, context=b""):
    encryptor = container.ENCRYPTORS[SUITES[len(key)]](key, context)
    return encryptor.update(text) + encryptor.finalize()


def of_cobblestone(key, sealed, context=b""):
    decryptor = container.DECRYPTORS[SUITES[len(key)]](key, context)
    return decryptor.update(sealed) + decryptor.finalize()


@pytest.fixture
def key_file(folder):
    (folder / "key").write_bytes(KEYS[32])
    return folder / "key"


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("size", SIZES)
def test_files_are_cobblestone_alone(bits, size, folder, random_bytes):
    key, text = KEYS[bits // 8], random_bytes(size)
    (folder / "key").write_bytes(key)
    (folder / "text").write_bytes(text)
    own = ["--key-file", folder / "key", "--key-context", "invoices"]
    succeed("encrypt", *own, folder / "text")
    sealed = folder / "text.cobblestone"
    assert of_cobblestone(key, sealed.read_bytes(), b"invoices") == text
    sealed.write_bytes(as_cobblestone(key, text, b"invoices"))
    succeed("verify", *own, sealed)
    (folder / "text").unlink()
    succeed("decrypt", *own, sealed)
    assert (folder / "text").read_bytes() == text
    assert succeed("decrypt", *own, "-o", "-", stdin=sealed.read_bytes()).out == text
    assert of_cobblestone(key, succeed("encrypt", *own, stdin=text).out, b"invoices") == text


@pytest.mark.parametrize("bytes_", [16, 32])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_keys_come_in_three_encodings_from_files_and_descriptors(bytes_, encoding, folder):
    key = KEYS[bytes_]
    sealed = as_cobblestone(key, b"text")
    for written in ENCODINGS[encoding](key):
        (folder / "key").write_bytes(written)
        how = ["--key-encoding", encoding, "-o", "-"]
        assert succeed("decrypt", "--key-file", folder / "key", *how, stdin=sealed).out == b"text"
        assert of_cobblestone(key, succeed("encrypt", "--key-file", folder / "key", *how, stdin=b"more").out) == b"more"
        read_end, write_end = os.pipe()
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(written)
        assert succeed("decrypt", "--key-fd", read_end, *how, stdin=sealed, pass_fds=[read_end]).out == b"text"
        os.close(read_end)


@pytest.mark.parametrize("encoding, written", [
    ("raw", b""), ("raw", bytes(15)), ("raw", bytes(24)), ("raw", bytes(31)), ("raw", bytes(33)), ("raw", KEYS[32].hex().encode()),
    ("hex", KEYS[32]), ("hex", KEYS[32].hex().encode()[:-1]), ("hex", b"g" + KEYS[32].hex().encode()[1:]),
    ("hex", KEYS[32].hex().encode() + b"\n\n"), ("hex", bytes(24).hex().encode()), ("hex", b" " + KEYS[16].hex().encode()),
    ("base64", KEYS[32]), ("base64", base64.b64encode(KEYS[32])[:-1] + b"=="), ("base64", base64.b64encode(bytes(24))),
    ("base64", base64.b64encode(b"\xff" * 32).replace(b"/", b"_")), ("base64", base64.b64encode(KEYS[16])[:-3] + b"R=="),
    ("base64", b"=" + base64.b64encode(KEYS[32])[:-1])])
def test_what_is_no_key_is_refused_and_not_shown(encoding, written, folder):
    (folder / "key").write_bytes(written)
    (folder / "text").write_bytes(b"text")
    before = program.tree(folder)
    for command in ("encrypt", "decrypt", "verify"):
        done = run(command, "--key-file", folder / "key", "--key-encoding", encoding, folder / "text", "--json")
        assert done.code == USAGE
        error = json.loads(done.out)["error"]
        assert error["message"].startswith(f"{folder}/key: is no key of 16 or 32 bytes as ")
        assert len(written) < 4 or written.decode("latin-1").strip() not in done.err + done.out.decode()
    assert program.tree(folder) == before


def test_a_key_file_that_is_too_long_is_not_read(folder):
    (folder / "key").write_bytes(bytes(5000))
    fail("decrypt", "--key-file", folder / "key", "-o", "-", stdin=b"", code=USAGE, says="key: longer than")


def test_hexadecimal_digits_as_raw_bytes_are_told(folder):
    (folder / "key").write_bytes(KEYS[16].hex().encode())
    done = succeed("encrypt", "--key-file", folder / "key", stdin=b"text")
    assert "holds hexadecimal digits" in done.err and of_cobblestone(KEYS[16].hex().encode(), done.out) == b"text"


def test_another_key_or_context_opens_nothing(key_file, folder):
    sealed = as_cobblestone(KEYS[32], b"text", b"one")
    (folder / "other").write_bytes(bytes(32))
    for own in ((folder / "other", "--key-context", "one"), (key_file, "--key-context", "another"), (key_file,)):
        for command in (["decrypt", "-o", "-"], ["verify", "-"]):
            fail(*command, "--key-file", *own, stdin=sealed, code=WRONG_KEY, says="key or context")


def test_damage_is_found(key_file, folder, random_bytes):
    sealed = bytearray(as_cobblestone(KEYS[32], random_bytes(50_000)))
    sealed[40_000] ^= 1
    (folder / "text.cobblestone").write_bytes(sealed)
    fail("verify", "--key-file", key_file, folder / "text.cobblestone", code=CORRUPT)
    fail("decrypt", "--key-file", key_file, folder / "text.cobblestone", code=CORRUPT)
    assert not (folder / "text").exists()


def test_a_range_is_a_slice(key_file, folder, random_bytes):
    text = random_bytes(100_000)
    (folder / "text.cobblestone").write_bytes(as_cobblestone(KEYS[32], text))
    for first, last in ((0, 0), (16383, 16384), (50_000, 99_999), (99_999, 99_999)):
        assert succeed("decrypt", "--key-file", key_file, "--range", f"{first}-{last}", "-o", "-",
                       folder / "text.cobblestone").out == text[first : last + 1]


def test_a_key_is_in_no_argument_and_in_no_output(key_file, folder):
    (folder / "text").write_bytes(b"text")
    done = succeed("encrypt", "--key-file", key_file, "--key-id", "projects/backup/7", "--json", folder / "text")
    document = json.loads(done.out)
    assert document["key_id"] == "projects/backup/7" and KEYS[32].hex() not in str(document)
    for command in (["verify"], ["decrypt", "-f"]):
        done = succeed(*command, "--key-file", key_file, "--key-id", "projects/backup/7", "--json", folder / "text.cobblestone")
        assert json.loads(done.out)["key_id"] == "projects/backup/7"
    assert "key_id" not in json.loads(succeed("verify", "--key-file", key_file, "--json", folder / "text.cobblestone").out)


@pytest.mark.parametrize("command, says", [
    ("encrypt --key-file key -r {recipient}", "key: cannot be combined with"),
    ("encrypt --key-file key -p", "key: cannot be combined with"),
    ("encrypt --key-file key --new-identity new", "key: cannot be combined with"),
    ("encrypt --key-file key --format paes", "key: cannot be combined with --format paes"),
    ("encrypt --key-file key --format age", "key: cannot be combined with --format age"),
    ("encrypt --key-file key --suite aes-128-gcm", "suite: cannot be combined with --format cobblestone"),
    ("encrypt --key-file key --resume", "resume: cannot be combined with --format cobblestone"),
    ("encrypt --key-file key --armor", "armor: cannot be combined with --format cobblestone"),
    ("encrypt --format cobblestone -r {recipient}", "format: a file of cobblestone has no recipients"),
    ("encrypt --key-context x -r {recipient}", "key: .* none is given"),
    ("encrypt --key-id x -r {recipient}", "key: .* none is given"),
    ("encrypt --key-encoding hex -r {recipient}", "key: .* none is given"),
    ("encrypt --key-file key --key-encoding base32", "key-encoding: unknown name 'base32'"),
    ("decrypt --key-file key -i {identity} -o out", "key: cannot be combined with"),
    ("verify --key-file key --passphrase-file key", "key: cannot be combined with"),
    ("decrypt --key-file key --resume -o out", "continues no such file"),
    ("encrypt --key-file key --key-fd 0", "--key-file excludes --key-fd"),
])
def test_options_that_do_not_go_together_are_refused(command, says, key_file, keys, folder):
    (folder / "text").write_bytes(as_cobblestone(KEYS[32], b"text"))
    before = program.tree(folder)
    words = command.format(recipient=keys.recipient, identity=keys.path).split()
    fail(*words, "text", cwd=folder, code=USAGE, says=says)
    assert program.tree(folder) == before


def test_an_output_never_replaces_the_key(key_file, folder):
    (folder / "text").write_bytes(b"text")
    (folder / "text.cobblestone").write_bytes(as_cobblestone(KEYS[32], b"text"))
    for words in (["encrypt", "text"], ["decrypt", "text.cobblestone"]):
        fail(words[0], "-f", "--key-file", "key", "-o", "key", words[1], cwd=folder, code=USAGE, says="is the file of the key")
    assert key_file.read_bytes() == KEYS[32]


def test_trees(key_file, folder):
    """What is encrypted already is left alone; with a key, files of recipients are, and the other way round."""
    tree = folder / "tree"
    (tree / "sub").mkdir(parents=True)
    for name in ("one", "sub/two"):
        (tree / name).write_bytes(name.encode())
    (tree / "other.paes").write_bytes(b"not looked at")
    succeed("encrypt", "--key-file", key_file, "--recursive", tree)
    again = succeed("encrypt", "--key-file", key_file, "--recursive", "--skip-existing", tree, "--json")
    assert json.loads(again.out)["counts"]["skipped"]["encrypted"] == 3
    for name in ("one", "sub/two", "other.paes"):
        (tree / name).unlink()
    done = json.loads(succeed("decrypt", "--key-file", key_file, "--recursive", tree, "--json").out)
    assert done["counts"]["done"] == 3 and (tree / "sub" / "two").read_bytes() == b"sub/two"


def test_inspect_says_what_a_name_and_a_length_tell(key_file, folder):
    (folder / "text").write_bytes(bytes(20_000))
    succeed("encrypt", "--key-file", key_file, folder / "text")
    said = succeed("inspect", folder / "text.cobblestone").out.decode()
    assert "format      cobblestone 1\n" in said and "recipients  none: its owner keeps the key\n" in said
    assert "plaintext   20000 bytes in 2 chunks" in said
    found = json.loads(succeed("inspect", "--json", folder / "text.cobblestone").out)
    assert (found["format"], found["recipients"], found["text_bytes"], found["truncated"]) == ("cobblestone", [], 20_000, False)
    os.truncate(folder / "text.cobblestone", 60)
    done = run("inspect", folder / "text.cobblestone")
    assert done.code == CORRUPT and b"truncated or extended" in done.out and "truncated or extended" in done.err


def test_without_the_key_the_message_says_what_to_give(key_file, keys, folder):
    (folder / "text").write_bytes(b"text")
    succeed("encrypt", "--key-file", key_file, folder / "text")
    fail("decrypt", "-i", keys.path, "-f", folder / "text.cobblestone", code=CORRUPT, says="give --key-file FILE")


# rekey


@pytest.mark.parametrize("size", SIZES)
def test_rekey_from_a_key_to_an_envelope_and_back(size, key_file, keys, folder, random_bytes):
    text = random_bytes(size)
    sealed, envelope = folder / "text.cobblestone", folder / "text.paes"
    sealed.write_bytes(as_cobblestone(KEYS[32], text, b"one"))
    own = ["--key-file", key_file, "--key-context", "one"]
    done = succeed("rekey", *own, "-r", keys.recipient, sealed)
    assert f"{sealed}: encrypted anew to {envelope}; the old file is still there" in done.err
    assert succeed("decrypt", "-i", keys.path, "-o", "-", envelope).out == text
    assert of_cobblestone(KEYS[32], sealed.read_bytes(), b"one") == text
    (folder / "next").write_text(KEYS[16].hex())
    new = ["--new-key-file", folder / "next", "--new-key-encoding", "hex", "--new-key-context", "two"]
    before = sealed.read_bytes()
    done = fail("rekey", "-i", keys.path, *new, envelope, code=program.FAILURE, says="text.cobblestone: already exists")
    assert "-f" not in done.err and "-o" in done.err
    assert sealed.read_bytes() == before
    sealed.unlink()
    done = succeed("rekey", "-i", keys.path, *new, "--new-key-id", "backups/8", "--json", envelope)
    document = json.loads(done.out)
    assert document["action"] == "encrypted-anew" and document["key_id"] == "backups/8"
    assert document["files"] == [{"input": str(envelope), "status": "done", "output": str(sealed)}]
    jsonschema.validate(document, json.loads((SCHEMAS / "rekey.schema.json").read_text()))
    assert of_cobblestone(KEYS[16], sealed.read_bytes(), b"two") == text
    assert sealed.stat().st_mode == envelope.stat().st_mode


@pytest.mark.parametrize("size", [0, 65536, 65537, 300_000])
def test_rekey_from_a_file_of_age_and_between_keys(size, key_file, keys, folder, random_bytes):
    text = random_bytes(size)
    (folder / "text").write_bytes(text)
    succeed("encrypt", "--format", "age", "-r", keys.recipient, folder / "text")
    succeed("rekey", "-i", keys.path, "--new-key-file", key_file, folder / "text.age")
    assert of_cobblestone(KEYS[32], (folder / "text.cobblestone").read_bytes()) == text
    (folder / "next").write_bytes(KEYS[16])
    change = ["rekey", "--key-file", key_file, "--new-key-file", folder / "next", folder / "text.cobblestone"]
    fail(*change, code=USAGE, says="is the input itself\n.*-o")
    succeed(*change, "-o", folder / "out")
    assert of_cobblestone(KEYS[16], (folder / "out").read_bytes()) == text


def test_rekey_refuses_two_files_with_one_output(key_file, keys, folder):
    """As the commands do that encrypt and decrypt: before anything is written."""
    (folder / "text").write_text("text")
    for format_ in ("age", "paes"):
        succeed("encrypt", "--format", format_, "-r", keys.recipient, folder / "text")
    before = program.tree(folder)
    names = [folder / "text.age", folder / "text.paes"]
    fail("rekey", "-i", keys.path, "--new-key-file", key_file, *names, code=USAGE, says="would be the output of both")
    document = json.loads(program.run("rekey", "--json", "-i", keys.path, "--new-key-file", key_file, *names).out)
    assert document["exit_code"] == USAGE
    assert program.tree(folder) == before


def test_rekey_writes_nothing_of_what_is_damaged_or_cut(key_file, keys, folder, random_bytes):
    """Decryption into a pipe would end early, and an encryption behind it take that for the end."""
    whole = as_cobblestone(KEYS[32], random_bytes(3_000_000))
    damaged = bytearray(whole)
    damaged[2_000_000] ^= 1
    before = program.tree(folder)
    for contents in (damaged, whole[:-1], whole[: 56 + 16400], whole + b"x"):
        (folder / "text.cobblestone").write_bytes(contents)
        fail("rekey", "--key-file", key_file, "-r", keys.recipient, folder / "text.cobblestone", code=CORRUPT)
        (folder / "text.cobblestone").unlink()
        assert program.tree(folder) == before


def test_what_rekey_does_not_take_with_a_key(key_file, keys, folder):
    (folder / "text.cobblestone").write_bytes(as_cobblestone(KEYS[32], b"text"))
    (folder / "text").write_bytes(b"text")
    succeed("encrypt", "--format", "age", "--armor", "-r", keys.recipient, folder / "text")
    sealed, own, to = folder / "text.cobblestone", ["--key-file", key_file], ["-r", keys.recipient]
    for arguments, says in (
        ([*own, *to, "--add", sealed], "no recipients that could stay or go"),
        ([*own, "--remove", "1", sealed], "no recipients that could stay or go"),
        ([*own, "--restore", sealed], "no recipients that could stay or go"),
        ([*own, sealed], "no new recipients"),
        ([*own, "-i", keys.path, *to, sealed], "key: cannot be combined with"),
        (["-i", keys.path, "--new-key-file", key_file, *to, sealed], "new-key: cannot"),
        (["-i", keys.path, *to, "-o", folder / "out", sealed], "-o names the one file"),
        ([*own, *to, "-o", folder / "out", sealed, sealed], "-o names the one file"),
        ([*own, *to, "-o", "-", sealed], "rekey makes a new file"),
        ([*own, *to, "-o", "/dev/stdout", sealed], "is not a regular file"),
        (["--new-key-context", "x", "-i", keys.path, *to, sealed], "--new-key-file FILE or --new-key-fd N"),
        (["-i", keys.path, "--new-key-file", key_file, folder / "text.age"], "is a pipe or text"),
    ):
        before = program.tree(folder)
        fail("rekey", *arguments, code=USAGE, says=says)
        assert program.tree(folder) == before
    fail("rekey", "--key-file", folder / "text", *to, sealed, code=USAGE, says="is no key of 16 or 32 bytes")
    (folder / "other").write_bytes(bytes(32))
    fail("rekey", "--key-file", folder / "other", *to, sealed, code=WRONG_KEY, says="key or context")
