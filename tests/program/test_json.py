# SPDX-License-Identifier: Apache-2.0
# --json of every command against its schema in docs/schema, in success and in failure, and the
# parts of inspect and devices that people and programs rely on.
import copy
import json
import os
import re
from pathlib import Path

import age_file
import container
import jsonschema
import pytest
from program import CORRUPT, FAILURE, OK, SOME_FAILED, USAGE, WRONG_KEY, run, succeed

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"


# A configuration that gocryptfs made.
VAULT = Path(__file__).resolve().parents[1] / "unit" / "vault" / "configurations" / "longnamemax.conf"


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


# What has no schema of its own name.
SCHEMA_OF = dict.fromkeys(["encrypt", "decrypt", "verify", "cipher"], "transfer")
COMMANDS = ["encrypt", "decrypt", "verify", "cipher", "inspect", "rekey", "keygen", "devices",
            "vault info", "vault fsck", "vault ls"]
# The schema of a document whose command failed before it had anything else to report.
FAILED = "failure"


def schema_of(command):
    return SCHEMA_OF.get(command, command.replace(" ", "_"))


def checked(command, *arguments, code=OK, **options):
    """Runs `paes command --json ...` and gives its document, which obeys the schema."""
    result = run(*command.split(), "--json", *arguments, **options)
    assert result.code == code, result.err
    document = json.loads(result.out)
    validator(schema_of(command)).validate(document)
    assert document["command"] == command
    return document


@pytest.fixture(name="vault_with_key")
def vault_with_key_fixture(tmp_path):
    """A new vault and the file of its master key."""
    passphrase = tmp_path / "passphrase"
    passphrase.write_bytes(b"words\n")
    made = tmp_path / "vault"
    made.mkdir()
    key = tmp_path / "master-key"
    succeed("vault", "init", "--work-factor", 10, "--passphrase-file", passphrase, "--master-key-out", key, made)
    return made, key


def test_vault_fsck(vault_with_key):
    made, key = vault_with_key
    document = checked("vault fsck", "--master-key", key, made)
    assert document["counts"]["folders"] == 1
    (made / "foreign").write_bytes(b"")
    document = checked("vault fsck", "--master-key", key, made, code=CORRUPT)
    assert document["damaged"] == [{"path": "foreign", "what": "the name is damaged"}]


def test_vault_ls(vault_with_key, plain):
    made, key = vault_with_key
    os.symlink("target", plain.parent / "link")
    os.symlink(b"\xff", plain.parent / "link to no UTF-8")
    succeed("vault", "put", "--master-key", key, made, plain.parent)
    document = checked("vault ls", "-R", "--master-key", key, made)
    assert [one["type"] for one in document["entries"]] == ["folder", "link", "link", "file"]
    # As everywhere: what is no UTF-8 is U+FFFD, and what a terminal would obey is escaped.
    odd = os.fsencode(plain.parent) + b"/\xff\x1b[31m"
    os.symlink(b"\xfe\x9b", odd)
    os.mkdir(odd + b".d")
    succeed("vault", "put", "--master-key", key, "--to", "odd", made, os.fsdecode(odd), os.fsdecode(odd + b".d"))
    result = run("vault", "ls", "--json", "--master-key", key, made, "odd")
    document = json.loads(result.out)
    validator("vault_ls").validate(document)
    assert [one["path"] for one in document["entries"]] == ["odd/\ufffd\x1b[31m", "odd/\ufffd\x1b[31m.d"]
    assert document["entries"][0]["target"] == "\ufffd\ufffd"
    assert b"\x1b" not in result.out
    (made / "foreign").write_bytes(b"")
    document = checked("vault ls", "--master-key", key, made, code=CORRUPT)
    assert [one["message"] for one in document["errors"]] == ["foreign: the name is damaged"]


def test_every_schema_refuses_what_it_should(sealed, keys, folder, vault_with_key):
    """A schema that takes anything proves nothing: an unknown member and a missing one fail."""
    made, key = vault_with_key
    documents = {
        "inspect": checked("inspect", sealed),
        "verify": checked("verify", "-i", keys.path, sealed),
        "devices": checked("devices"),
        "vault info": checked("vault info", "--config", VAULT),
        "vault fsck": checked("vault fsck", "--master-key", key, made),
        "vault ls": checked("vault ls", "--master-key", key, made),
    }
    for name, document in documents.items():
        check = validator(schema_of(name))
        with pytest.raises(jsonschema.ValidationError):
            check.validate({**document, "surplus": 1})
        for member in document:
            fewer = copy.deepcopy(document)
            del fewer[member]
            with pytest.raises(jsonschema.ValidationError):
                check.validate(fewer)


def test_every_schema_is_used_here():
    found = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")}
    assert found == {FAILED, *map(schema_of, COMMANDS)}


def test_encrypt_and_decrypt(plain, keys, folder):
    document = checked("encrypt", "-r", keys.recipient, plain)
    assert len(document["files"]) == 1
    entry = document["files"][0]
    assert entry["input"] == str(plain)
    assert entry["output"] == f"{plain}.paes"
    assert entry["status"] == "done"
    assert entry["text_bytes"] == 100_000
    document = checked("decrypt", "-i", keys.path, "-o", folder / "opened", f"{plain}.paes")
    assert document["files"][0]["text_bytes"] == 100_000


def test_cipher(plain, folder):
    (folder / "key").write_bytes(bytes(range(16)))
    common = ("aes-128-gcm", "--key", folder / "key", "--iv", "00" * 12)
    document = checked("cipher", *common, "-o", folder / "sealed", plain)
    assert (document["cipher"], document["direction"]) == ("aes-128-gcm", "encrypt")
    assert document["files"][0]["text_bytes"] == 100_000
    document = checked("cipher", *common, "-d", "-o", folder / "opened", folder / "sealed")
    assert document["direction"] == "decrypt"
    assert document["files"][0]["text_bytes"] == 100_000
    document = checked("cipher", *common, "-d", "-o", folder / "no", plain, code=CORRUPT)
    assert document["files"][0]["error"]["code"] == CORRUPT
    check = validator("transfer")
    for wrong in ({"cipher": "rot13"}, {"direction": "up"}, {"command": "encrypt"}):
        with pytest.raises(jsonschema.ValidationError):
            check.validate({**document, **wrong})


def test_encrypt_with_a_new_identity(plain, keys, folder):
    document = checked("encrypt", "--new-identity", folder / "key.txt", plain)
    assert "AGE-SECRET-KEY" not in json.dumps(document)


def test_a_value_asks_for_no_document(keys):
    """The name of an output, or what stands after `--`."""
    for words in (["-o", "--json"], ["--", "--json"]):
        result = run("encrypt", "-r", "bad", *words)
        assert (result.code, result.out) == (USAGE, b"")


def test_standard_output_cannot_be_both(plain, keys):
    result = run("encrypt", "--json", "-r", keys.recipient, "-o", "-", plain)
    assert result.code == USAGE
    failure_of(result)


def failure_of(result):
    """The one document of a command that failed before it had anything else to report."""
    document = json.loads(result.out)
    validator(FAILED).validate(document)
    assert document["exit_code"] == document["error"]["code"] == result.code
    assert f"paes: {document['error']['message']}\n" in result.err
    return document


@pytest.mark.parametrize(
    "words, code",
    [
        ("--json", USAGE),
        ("frobnicate --json", USAGE),
        ("encrypt --json plain", USAGE),
        ("encrypt --json --frobnicate plain", USAGE),
        ("encrypt --json -r RECIPIENT -T 010 plain", USAGE),
        ("encrypt --json -r RECIPIENT -o out plain plain", USAGE),
        ("encrypt --json -R missing plain", FAILURE),
        ("decrypt --json -i missing plain", FAILURE),
        ("verify --json -i KEYS --files-from missing", FAILURE),
        ("decrypt --json -i KEYS --range 0-9 sealed.paes", USAGE),
        ("verify --json", USAGE),
        ("verify --json -i plain sealed.paes", USAGE),
        ("verify --json -i KEYS --kernel warp sealed.paes", USAGE),
        ("cipher --json rot13 plain", USAGE),
        ("cipher --json aes-128-ctr --key missing --iv 00 -o out plain", USAGE),
        ("cipher --json aes-128-ctr --key missing --iv 00 plain", USAGE),
        ("inspect --json", USAGE),
        ("rekey --json sealed.paes", USAGE),
        ("rekey --json -i missing -r RECIPIENT sealed.paes", FAILURE),
        ("keygen --json", USAGE),
        ("devices --json surplus", USAGE),
        ("vault --json", USAGE),
        ("vault info --json", USAGE),
        ("vault info --json missing surplus", USAGE),
    ],
)
def test_errors_before_there_is_anything_to_report(words, code, plain, sealed, keys, folder):
    known = {"RECIPIENT": keys.recipient, "KEYS": str(keys.path)}
    arguments = [known.get(word, word) for word in words.split()]
    before = sorted(os.listdir(folder))
    result = run(*arguments, cwd=folder)
    assert result.code == code, result.err
    document = failure_of(result)
    command = " ".join(arguments[: arguments.index("--json")])
    assert document.get("command", "") == command
    for file in document.get("files", []):
        assert file["input"] in ("plain", "sealed.paes")
    assert sorted(os.listdir(folder)) == before
    if arguments[0] != "keygen":  # which would print a key
        without = [word for word in arguments if word != "--json"]
        assert run(*without, cwd=folder).out == b""


def test_an_argument_that_only_looks_like_the_option(folder, keys):
    """Behind -- it is a file."""
    result = run("verify", "-i", keys.path, "--", "--json", cwd=folder)
    assert (result.code, result.out) == (FAILURE, b"")
    assert "paes: --json: No such file" in result.err


def test_several_files_some_failing(sealed, keys, folder):
    damaged = folder / "damaged.paes"
    damaged.write_bytes(sealed.read_bytes()[:-1])
    document = checked(
        *("verify", "-i", keys.path, sealed, damaged, folder / "missing.paes"), code=SOME_FAILED
    )
    codes = [entry.get("error", {"code": OK})["code"] for entry in document["files"]]
    assert codes == [OK, CORRUPT, FAILURE]
    assert [entry["status"] for entry in document["files"]] == ["done", "failed", "failed"]
    assert document["exit_code"] == SOME_FAILED
    assert document["files"][1]["error"]["message"].startswith(str(damaged))


def test_a_single_failure(sealed, other_keys, folder):
    document = checked("verify", "-i", other_keys.path, sealed, code=WRONG_KEY)
    assert document["exit_code"] == document["files"][0]["error"]["code"] == WRONG_KEY
    checked(
        "decrypt", "-i", other_keys.path, "-o", folder / "out", sealed, code=WRONG_KEY
    )


@pytest.mark.parametrize("suite", container.SUITES)
@pytest.mark.parametrize("size", [0, 1, 16384, 100_000])
def test_inspect_a_recipient(size, suite, keys, folder, random_bytes):
    path = folder / "sealed.paes"
    path.write_bytes(
        container.make(
            container.SUITES[suite],
            random_bytes(size),
            lambda key: age_file.age_encrypt(key, [keys.recipient]),
        )
    )
    document = checked("inspect", path)
    text = json.dumps(document)
    assert suite in text
    assert document["suite"] == suite
    assert document["text_bytes"] == size
    assert document["payload_offset"] == container.PAGE_BYTES - container.PREFIX_BYTES
    assert [stanza["type"] for stanza in document["recipients"]] == ["X25519"]


def test_inspect_needs_no_key_and_says_what_is_needed(folder):
    path = folder / "sealed.paes"
    path.write_bytes(
        container.make(2, b"text", lambda key: age_file.seal(key, passphrase=b"x", work_factor=11))
    )
    document = checked("inspect", path)
    assert document["recipients"] == [{"type": "scrypt", "work_factor": 11}]
    assert b"passphrase" in succeed("inspect", path).out


def test_inspect_for_people(sealed):
    shown = succeed("inspect", sealed).out.decode()
    assert "aes-256-gcm" in shown
    assert "100000" in shown.replace(",", "").replace(" ", "") or "100.00 kB" in shown
    assert "not authenticated" in shown


def test_devices_says_which_kernels_are_insecure():
    """Those that look up tables, and no others."""
    insecure = re.findall(r"^. (\w+) .* insecure: ", succeed("devices").out.decode(), re.M)
    assert insecure == ["tables", "compute", "tables", "openssl", "compute"]


def test_devices():
    document = checked("devices")
    rows = document["kernels"]
    names = [row["name"] for row in rows if row["cipher"] == "aes"]
    for name in ("compute", "bitslice", "aesni", "vaes256", "vaes512", "openssl"):
        assert name in names
    for cipher in {row["cipher"] for row in rows}:
        (selected,) = [row for row in rows if row["cipher"] == cipher and row["selected"]]
        assert selected["available"]
        assert all(name.startswith(cipher) for name in selected["ciphers"])
    for row in rows:
        assert row["reason"]
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    by_name = {row["name"]: row for row in rows if row["cipher"] == "aes"}
    assert set(by_name["bitslice"]["ciphers"]) == set(by_name["openssl"]["ciphers"])
    assert len(by_name["bitslice"]["ciphers"]) == 20
    assert by_name["bitslice"]["available"]
    assert by_name["compute"]["available"]
    if flags:
        assert by_name["aesni"]["available"] == {"aes", "pclmulqdq"}.issubset(flags)
        if not {"vaes", "vpclmulqdq", "avx512f"}.issubset(flags):
            assert not by_name["vaes512"]["available"]
            assert "vaes" in by_name["vaes512"]["reason"] or "avx512" in by_name["vaes512"]["reason"]


def test_devices_says_what_a_device_kernel_computes():
    kernels = {row["name"]: row for row in checked("devices")["cuda"]["kernels"]}
    aes = set(kernels["cuda_tables"]["ciphers"])
    assert aes == {
        *(f"aes-{bits}-{mode}" for bits in (128, 192, 256) for mode in "ecb cbc cfb ctr gcm".split()),
        "aes-128-xts",
        "aes-256-xts",
    }
    assert set(kernels["cuda_compute"]["ciphers"]) == aes
    # Hence not for paes's own files, which the man page says.
    assert set(kernels["cuda_bitslice"]["ciphers"]) == {n for n in aes if not n.endswith("gcm")}
    des = {f"des-ede3-{mode}" for mode in ("ecb", "cbc", "cfb", "ctr")}
    assert set(kernels["cuda_des_bitslice"]["ciphers"]) == des


def test_the_selected_kernel_is_the_one_used(plain, keys):
    document = checked("devices")
    selected = next(
        row["name"] for row in document["kernels"] if row["selected"] and row["cipher"] == "aes"
    )
    err = succeed("encrypt", "-v", "-r", keys.recipient, "-o", "/dev/null", plain).err
    assert selected in err


@pytest.mark.parametrize("path", sorted(VAULT.parent.glob("*.conf")), ids=lambda path: path.stem)
def test_vault_info(path):
    """Of gocryptfs's own configurations, old ones too."""
    if path.stem == "example-v0.6":
        document = checked("vault info", "--config", path, code=FAILURE)
        assert document["error"]["code"] == FAILURE
        return
    document = checked("vault info", "--config", path)
    known = json.loads(path.read_text())
    assert set(document["flags"]) == set(known["FeatureFlags"])
    assert 2 ** document["scrypt"]["log2_n"] == known["ScryptObject"]["N"]
    assert document["creator"] == known.get("Creator", "")
    assert document["max_name_bytes"] == 255
    limit = known.get("LongNameMax", 255) if "PlaintextNames" not in known["FeatureFlags"] else None
    assert document["long_name_max"] == limit


def test_rekey(sealed, keys, other_keys):
    checked("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)


def test_keygen(folder):
    document = checked("keygen", "-o", folder / "key.txt")
    assert document["public_key"] == age_file.recipient_of(folder / "key.txt")
    assert "AGE-SECRET-KEY" not in json.dumps(document)


def test_names_that_are_not_utf8_are_still_json(folder, keys):
    name = os.fsdecode(b"caf\xe9.paes")
    (folder / name).write_bytes(b"nonsense")
    checked("inspect", folder / name, code=CORRUPT)


def test_controls_are_escaped(folder):
    """Whoever shows the document at a terminal must not obey what a name holds."""
    name = "a\x1b\x7f\x80\u009b31m\u009f\u00a0\u00e9\u0142\U0001f510"
    path = folder / name
    path.write_bytes(b"nonsense")
    result = run("inspect", "--json", path)
    assert result.code == CORRUPT
    shown = result.out.decode()
    assert not any(c != "\n" and (c < " " or "\x7f" <= c < "\xa0") for c in shown)
    assert "\u00a0\u00e9\u0142\U0001f510" in shown
    assert json.loads(shown)["file"] == str(path)


def listed(kind, times):
    return ", ".join([kind] * times)


@pytest.mark.parametrize(
    "recipients, others, shown",
    [
        (20, [], "20: " + listed("X25519", 20)),
        (21, [], "21: " + listed("X25519", 20) + ", and 1 more of type X25519"),
        (
            *(26, ["a", "b", "a", "b", "b"]),
            f"31: {listed('X25519', 20)}, and 6 more of type X25519, 2 more of type a, "
            "3 more of type b",
        ),
        (
            *(0, ["x"] * 20 + [f"t{i}" for i in range(300)]),
            f"320: {listed('x', 20)}, and 1 more of type t0, 1 more of type t1, "
            "1 more of type t2, 1 more of type t3, 1 more of type t4, 295 more of other types",
        ),
    ],
    ids=["20", "21", "mixed", "hostile"],
)
def test_inspect_shortens_a_long_list_for_people_only(recipients, others, shown, folder, keys):
    more = [age_file.stanza([kind.encode(), b"argument"], b"body") for kind in others]

    def seal(key):
        return age_file.seal(key, [keys.recipient] * recipients, more_stanzas=more)

    path = folder / "many.paes"
    path.write_bytes(container.make(2, b"text", seal))
    document = checked("inspect", path)
    assert [row["type"] for row in document["recipients"]] == ["X25519"] * recipients + others
    lines = succeed("inspect", path).out.decode().splitlines()
    assert f"  recipients  {shown}" in lines
