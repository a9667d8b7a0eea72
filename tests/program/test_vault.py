# SPDX-License-Identifier: Apache-2.0
# paes vault init, passwd and info, with gocryptfs as the judge in both directions. Only its -fsck
# mounts anything.
import json
import os
import re
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import preload
import program
import pytest
from program import CORRUPT, FAILURE, OK, USAGE, WRONG_KEY, fail, run, succeed
from vault import (
    CHEAP,
    Secrets,
    accepted,
    answers,
    assert_no_problems,
    gocryptfs,
    master_key,
    needs_fuse,
    needs_gocryptfs,
    sealed_file,
)

CONFIGURATION = "gocryptfs.conf"
DIRECTORY_IV = "gocryptfs.diriv"

# Options of paes, those of gocryptfs for the same, and the flags that come of them.
ENCRYPTED_NAMES = {"EMENames", "LongNames", "Raw64"}
KINDS = [
    ((), (), {"GCMIV128", "DirIV", *ENCRYPTED_NAMES}),
    (("--cipher", "aes-siv"), ("-aessiv",), {"GCMIV128", "AESSIV", "DirIV", *ENCRYPTED_NAMES}),
    (
        ("--cipher", "xchacha20-poly1305"),
        ("-xchacha",),
        {"XChaCha20Poly1305", "DirIV", *ENCRYPTED_NAMES},
    ),
    (("--plaintext-names",), ("-plaintextnames",), {"GCMIV128", "PlaintextNames"}),
    (("--deterministic-names",), ("-deterministic-names",), {"GCMIV128", *ENCRYPTED_NAMES}),
    (
        ("--long-name-max", 100),
        ("-longnamemax", "100"),
        {"GCMIV128", "DirIV", "LongNameMax", *ENCRYPTED_NAMES},
    ),
    (
        ("--cipher", "xchacha20-poly1305", "--deterministic-names", "--long-name-max", 62),
        ("-xchacha", "-deterministic-names", "-longnamemax", "62"),
        {"XChaCha20Poly1305", "LongNameMax", *ENCRYPTED_NAMES},
    ),
]
each_kind = pytest.mark.parametrize(("ours", "theirs", "flags"), KINDS)


@pytest.fixture
def secrets(tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    return Secrets(folder)


@pytest.fixture
def secret(secrets):
    return secrets.file("correct horse")


@pytest.fixture
def other(secrets):
    return secrets.file("battery staple")


@pytest.fixture
def made(folder, secret):
    """A vault that paes made, and the file of its master key."""
    key = secret.with_name("master.key")
    succeed("vault", "init", *CHEAP, "--passphrase-file", secret, "--master-key-out", key, folder)
    return folder, key


def passwd(folder, old, new, *options, **more):
    return run(
        *("vault", "passwd", "--passphrase-file", old, "--new-passphrase-file", new),
        *(*options, folder),
        **more,
    )


def opens(folder, passphrase_file, *options):
    """Whether the passphrase opens the vault. A new one that is the old one changes no secret."""
    copy = folder.with_name("opened")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, symlinks=True)
    code = passwd(copy, passphrase_file, passphrase_file, *options).code
    shutil.rmtree(copy)
    assert code in (OK, WRONG_KEY)
    return code == OK


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def info(*arguments):
    return json.loads(succeed("vault", "info", "--json", *arguments).out)


# What each makes, the other opens


@needs_gocryptfs
@each_kind
def test_gocryptfs_takes_what_init_makes(ours, theirs, flags, folder, secret, other):
    key = secret.with_name("master.key")
    result = succeed(
        *("vault", "init", *CHEAP, *ours, "--passphrase-file", secret),
        *("--master-key-out", key, folder),
    )
    assert result.out == b""
    assert accepted(folder / CONFIGURATION, secret) and not accepted(folder / CONFIGURATION, other)
    code, said = gocryptfs("-info", folder)
    assert code == 0, said
    assert set(re.search("FeatureFlags: *(.*)", said).group(1).split()) == {"HKDF", *flags}
    assert master_key(folder / CONFIGURATION, "correct horse") == key.read_text().strip().replace("-", "")
    has_iv = "DirIV" in flags
    assert {path.name for path in folder.iterdir()} == {CONFIGURATION, *([DIRECTORY_IV] if has_iv else [])}
    assert (mode(folder / CONFIGURATION), mode(key)) == (0o400, 0o600)
    if has_iv:
        assert mode(folder / DIRECTORY_IV) == 0o444
        assert len(set((folder / DIRECTORY_IV).read_bytes())) > 1
        assert (folder / DIRECTORY_IV).stat().st_size == 16


@needs_gocryptfs
@each_kind
def test_what_gocryptfs_makes(ours, theirs, flags, folder, secret, other):
    code, said = gocryptfs("-init", "-scryptn", "10", "-passfile", secret, *theirs, folder)
    assert code == 0, said
    document = info(folder)
    assert set(document["flags"]) == {"HKDF", *flags}
    assert document["creator"].startswith("gocryptfs ")
    before = master_key(folder / CONFIGURATION, "correct horse")
    assert passwd(folder, secret, other).code == OK
    assert accepted(folder / CONFIGURATION, other) and not accepted(folder / CONFIGURATION, secret)
    assert master_key(folder / CONFIGURATION, "battery staple") == before
    assert info(folder) == document
    assert mode(folder / CONFIGURATION) == 0o400


@needs_gocryptfs
def test_gocryptfs_changes_the_passphrase(made, secret, other):
    folder, _ = made
    both = secret.read_bytes() + other.read_bytes()
    code, said = gocryptfs("-passwd", folder, stdin=both)
    assert code == 0, said
    assert opens(folder, other) and not opens(folder, secret)


@needs_gocryptfs
def test_a_configuration_elsewhere(folder, secret, other):
    path = secret.with_name("elsewhere.conf")
    succeed("vault", "init", *CHEAP, "--passphrase-file", secret, "--config", path, folder)
    assert [one.name for one in folder.iterdir()] == [DIRECTORY_IV]
    assert accepted(path, secret)
    assert info("--config", path)["file"] == str(path)
    assert passwd(folder, secret, other, "--config", path).code == OK
    assert accepted(path, other)
    second = folder.with_name("second")
    second.mkdir()
    fail(
        *("vault", "init", *CHEAP, "--passphrase-file", secret, "--config", path, second),
        code=FAILURE, says="elsewhere.conf: already exists",
    )
    assert list(second.iterdir()) == []


@needs_gocryptfs
def test_only_the_first_line_of_a_passphrase_file_counts(folder, secrets, secret):
    """As with -passfile, so that one file serves both programs."""
    lines = secrets.file("correct horse\nsecond line")
    result = succeed("vault", "init", *CHEAP, "--passphrase-file", lines, folder)
    assert "several lines" in result.err
    assert accepted(folder / CONFIGURATION, lines) and accepted(folder / CONFIGURATION, secret)
    assert opens(folder, lines)


@needs_gocryptfs
def test_a_master_key_that_exists(made, folder, secret, other):
    """A vault made again around it, as after the loss of a configuration."""
    first, key = made
    second = folder.with_name("second")
    second.mkdir()
    succeed("vault", "init", *CHEAP, "--passphrase-file", other, "--master-key", key, second)
    assert master_key(second / CONFIGURATION, "battery staple") == master_key(
        first / CONFIGURATION, "correct horse"
    )


@needs_gocryptfs
@needs_fuse
@each_kind
def test_gocryptfs_finds_nothing_wrong(ours, theirs, flags, folder, secret, other, tmp_path):
    succeed("vault", "init", *CHEAP, *ours, "--passphrase-file", secret, folder)
    assert_no_problems(folder, secret, tmp_path)
    assert passwd(folder, secret, other).code == OK
    assert_no_problems(folder, other, tmp_path)


# The passphrase


def test_a_wrong_passphrase(made, secret, other, unchanged):
    check = unchanged()
    result = passwd(made[0], other, secret)
    assert (result.code, result.out) == (WRONG_KEY, b"")
    program.assert_error_lines(result.err, "gocryptfs.conf: the passphrase is wrong")
    check()


@pytest.mark.parametrize("text", ["", "\nsecond line"])
def test_an_empty_passphrase(text, folder, secrets, made, secret, unchanged):
    empty = secrets.file(text)
    check = unchanged()
    assert passwd(folder, empty, secret).code == WRONG_KEY
    assert passwd(folder, secret, empty).code == USAGE
    check()


def test_no_terminal_to_ask_at(made, secret, unchanged):
    check = unchanged()
    fail("vault", "passwd", made[0], code=FAILURE, says="no terminal", prefix=["setsid"])
    check()


def test_at_a_terminal(folder, secret, other):
    code, shown = program.on_a_terminal(
        ("vault", "init", *CHEAP, "--show-master-key", folder), [b"correct horse"] * 2
    )
    assert code == OK, shown
    assert "correct horse" not in shown
    assert re.search("Master key: [0-9a-f]{8}(-[0-9a-f]{8}){7}\r\n", shown), shown
    assert opens(folder, secret)
    code, shown = program.on_a_terminal(
        ("vault", "passwd", folder), [b"correct horse", b"battery staple", b"battery staple"]
    )
    assert code == OK, shown
    assert opens(folder, other)


def test_work_factors(made, secret, other):
    folder, _ = made
    assert info(folder)["scrypt"]["log2_n"] == 10
    assert passwd(folder, secret, other, "--work-factor", 11).code == OK
    assert info(folder)["scrypt"]["log2_n"] == 11
    assert passwd(folder, other, secret).code == OK
    assert info(folder)["scrypt"]["log2_n"] == 11
    result = passwd(folder, secret, other, "--max-work-factor", 10)
    assert result.code == FAILURE
    program.assert_error_lines(result.err, "work factor 11, above the limit of 10")


def edit(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.chmod(0o600)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("member", ["N", "R", "P"])
def test_a_cost_above_the_limit_is_not_paid(member, made, secret, unchanged):
    """Two hours or a terabyte: the limit counts all three parameters."""
    folder, _ = made
    values = {"N": 1 << 30, "R": 1 << 16, "P": 1 << 20}
    edit(folder / CONFIGURATION, lambda all: all["ScryptObject"].update({member: values[member]}))
    if member == "R":
        edit(folder / CONFIGURATION, lambda all: all["ScryptObject"].update(N=1 << 14))
    check = unchanged()
    result = passwd(folder, secret, secret, timeout_s=60)
    assert result.code == FAILURE
    program.assert_error_lines(result.err, "above the limit of 20")
    check()


# The master key in place of a passphrase


def test_a_lost_passphrase(made, other):
    folder, key = made
    (folder / "anything").write_bytes(sealed_file(key.read_text().strip().replace("-", ""), b"text"))
    succeed("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, folder)
    assert opens(folder, other)
    assert not (folder / "gocryptfs.conf.bak").exists()


def test_a_cost_above_the_limit_is_not_taken_over(made, other):
    """A master key needs no derivation, and the old work factor is anybody's."""
    folder, key = made
    (folder / "anything").write_bytes(sealed_file(key.read_text().strip().replace("-", ""), b"text"))
    edit(folder / CONFIGURATION, lambda all: all["ScryptObject"].update(N=1 << 30))
    command = ("vault", "passwd", "--master-key", key, "--new-passphrase-file", other)
    succeed(*command, folder, timeout_s=60)
    assert info(folder)["scrypt"]["log2_n"] == 16
    assert opens(folder, other)
    succeed(*command, "--work-factor", 11, folder)
    assert info(folder)["scrypt"]["log2_n"] == 11


OPTIONS_OF = {
    "aes_256_gcm": (),
    "aes_siv": ("--cipher", "aes-siv"),
    "xchacha20_poly1305": ("--cipher", "xchacha20-poly1305"),
    "no_folder_ivs": ("--deterministic-names",),
}


def with_content(folder, kind, things, secret):
    """A vault of gocryptfs's own stored things, and files of its master key and of a wrong one."""
    key, iv, kinds = answers()
    stored = getattr(kinds[kind], things)
    right, wrong = secret.with_name("right.key"), secret.with_name("wrong.key")
    right.write_text(key)
    wrong.write_text(key[:-1] + "0")
    if kind != "no_folder_ivs":
        (folder / DIRECTORY_IV).write_bytes(iv)  # as an interrupted init leaves it
    succeed(
        *("vault", "init", *CHEAP, *OPTIONS_OF[kind], "--master-key", right),
        *("--passphrase-file", secret, folder),
    )
    for number, content in enumerate(stored):
        if things == "names":
            (folder / content).touch()
        elif things == "links":
            os.symlink(content, folder / f"link{number}")
        else:
            (folder / "below").mkdir(exist_ok=True)
            (folder / "below" / f"file{number}").write_bytes(content)
    return right, wrong, len(stored)


@pytest.mark.parametrize(
    ("kind", "things"),
    [(kind, things) for kind in OPTIONS_OF for things in ("files", "links", "names")
     if kind == "aes_256_gcm" or (things == "names") == (kind == "no_folder_ivs")],
)
def test_what_proves_a_master_key(kind, things, folder, secret, other, unchanged):
    right, wrong, count = with_content(folder, kind, things, secret)
    assert count >= (4 if things == "names" else 1)
    check = unchanged()
    new = ("--new-passphrase-file", other, folder)
    fail("vault", "passwd", "--master-key", wrong, *new, code=WRONG_KEY, says="not that of this vault")
    check()
    succeed("vault", "passwd", "--master-key", right, *new)
    assert opens(folder, other)


def test_a_link_in_plain_text_proves_no_master_key(folder, secret, other, unchanged):
    """With names in plain text a target is nothing but what it is under every key."""
    right, wrong = secret.with_name("right.key"), secret.with_name("wrong.key")
    succeed(
        *("vault", "init", *CHEAP, "--plaintext-names", "--passphrase-file", secret),
        *("--master-key-out", right, folder),
    )
    wrong.write_text("00" * 32)
    new = ("--new-passphrase-file", other, folder)
    os.symlink("anywhere", folder / "link")
    check = unchanged()
    for key in (right, wrong):
        fail(
            "vault", "passwd", "--master-key", key, *new, code=FAILURE, says="too little to prove"
        )
        check()
    (folder / "file").write_bytes(sealed_file(right.read_text().strip().replace("-", ""), b"text"))
    check = unchanged()
    fail("vault", "passwd", "--master-key", wrong, *new, code=WRONG_KEY, says="not that of this vault")
    check()
    succeed("vault", "passwd", "--master-key", right, *new)
    assert opens(folder, other)


def test_a_lost_configuration(folder, secret, other):
    """As paes-vault(1) has it."""
    right, _, _ = with_content(folder, "xchacha20_poly1305", "files", secret)
    (folder / CONFIGURATION).unlink()
    empty = folder.with_name("empty")
    empty.mkdir()
    succeed(
        *("vault", "init", *CHEAP, "--cipher", "xchacha20-poly1305", "--master-key", right),
        *("--passphrase-file", other, empty),
    )
    shutil.copy(empty / CONFIGURATION, folder)
    succeed("vault", "passwd", "--master-key", right, "--new-passphrase-file", other, folder)
    assert opens(folder, other)


def test_what_proves_no_master_key(folder, secret, other, unchanged):
    """Three names, holes, foreign files: too little for the right key, while a wrong one opens no name."""
    right, wrong, _ = with_content(folder, "aes_256_gcm", "names", secret)
    for path in sorted(folder.iterdir())[5:]:
        if path.name not in (CONFIGURATION, DIRECTORY_IV):
            path.unlink()
    kept = [path for path in folder.iterdir() if path.name not in (CONFIGURATION, DIRECTORY_IV)]
    for path in kept[3:]:
        path.unlink()
    kept[0].write_bytes(b"\0\2" + os.urandom(16) + bytes(4128))
    kept[1].write_bytes(b"\1\2" + os.urandom(5000))
    kept[2].write_bytes(b"short")
    check = unchanged()
    command = ("vault", "passwd", "--new-passphrase-file", other, folder)
    fail(*command, "--master-key", right, code=FAILURE, says="too little to prove")
    fail(*command, "--master-key", wrong, code=WRONG_KEY, says="is not that of this vault")
    check()


@pytest.mark.parametrize(
    "form", [str.upper, lambda text: text.replace("-", ""), lambda text: f"\n    {text[:36]}\n    {text[36:]}\n\n"]
)
def test_forms_of_a_master_key(form, made, other):
    folder, key = made
    text = key.read_text().strip()
    (folder / "anything").write_bytes(sealed_file(text.replace("-", ""), b"text"))
    succeed(
        *("vault", "passwd", "--master-key", "-", "--new-passphrase-file", other, folder),
        stdin=form(text).encode(),
    )
    assert opens(folder, other)


def test_another_master_key(made, other, unchanged):
    folder, key = made
    (folder / "anything").write_bytes(sealed_file(key.read_text().strip().replace("-", ""), b"text"))
    wrong = key.with_name("wrong.key")
    wrong.write_text("00" * 32)
    check = unchanged()
    fail(
        *("vault", "passwd", "--master-key", wrong, "--new-passphrase-file", other, folder),
        code=WRONG_KEY, says="is not that of this vault",
    )
    check()


def test_one_planted_file_does_not_keep_the_owner_out(made, other, unchanged):
    """Nothing passes, and one file fails under every key."""
    folder, key = made
    (folder / "planted").write_bytes(b"\0\2" + os.urandom(16 + 4128))
    check = unchanged()
    command = ("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, folder)
    fail(*command, code=WRONG_KEY, says="hint: .* -f takes it as it is")
    check()
    before = (folder / CONFIGURATION).read_bytes()
    succeed(*command, "-f")
    assert opens(folder, other)
    assert (folder / "gocryptfs.conf.bak").read_bytes() == before


def test_a_master_key_that_nothing_proves(made, secret, other, unchanged):
    """An empty vault: the old configuration stays beside the new one."""
    folder, key = made
    check = unchanged()
    command = ("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, folder)
    fail(*command, code=FAILURE, says="too little to prove")
    check()
    before = (folder / CONFIGURATION).read_bytes()
    succeed(*command, "-f")
    assert opens(folder, other)
    backup = folder / "gocryptfs.conf.bak"
    assert backup.read_bytes() == before
    again = (folder / CONFIGURATION).read_bytes()
    fail(*command, "-f", code=FAILURE, says="gocryptfs.conf.bak: already exists")
    assert (folder / CONFIGURATION).read_bytes() == again


@pytest.mark.parametrize(
    "text", ["", "00" * 31, "00" * 33, "0g" + "00" * 31, "00" * 31 + "\xe9", "0x" + "00" * 32],
    ids=["empty", "short", "long", "letter", "utf8", "prefix"],
)
def test_what_is_no_master_key(text, made, other, unchanged):
    key = made[1].with_name("other.key")
    key.write_text(text)
    check = unchanged()
    result = fail(
        *("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, made[0]),
        code=USAGE, says="holds no master key",
    )
    assert "0000" not in result.err
    check()


def test_a_key_on_the_command_line_is_not_repeated(made, other):
    text = made[1].read_text().strip()
    for key in (text, text.replace("-", "")):
        result = fail(
            *("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, made[0]),
            code=USAGE, says="the key itself is given",
        )
        assert text[:8] not in result.err


def test_a_key_and_a_passphrase(made, secret, other):
    fail(
        *("vault", "passwd", "--master-key", made[1], "--passphrase-file", secret),
        *("--new-passphrase-file", other, made[0]),
        code=USAGE, says="cannot be combined",
    )
    fail("vault", "passwd", "-f", "--passphrase-file", secret, made[0], code=USAGE, says="-f")


# What init refuses


def test_folders_that_are_no_place_for_a_vault(folder, secret, unchanged):
    def refused(where, says, code, *options):
        check = unchanged()
        fail(
            *("vault", "init", *CHEAP, *options, "--passphrase-file", secret, where),
            code=code, says=says,
        )
        check()

    refused(folder / "missing", "missing: No such file or directory\npaes: hint: make the folder", FAILURE)
    (folder / "file").touch()
    refused(folder / "file", "file: Not a directory", FAILURE)
    refused(folder, "is not empty", USAGE)
    (folder / "file").unlink()
    succeed("vault", "init", *CHEAP, "--passphrase-file", secret, folder)
    refused(folder, "is a vault already", FAILURE)
    more = [folder / f"file {number}" for number in range(20)]
    for path in more:
        path.touch()
    refused(folder, "is a vault already", FAILURE)
    for path in more:
        path.unlink()
    (folder / CONFIGURATION).unlink()
    refused(folder, "is not empty", USAGE, "--plaintext-names")


def test_requests_that_make_no_sense(folder, secret, unchanged):
    check = unchanged()
    for options, says in [
        (("--plaintext-names", "--deterministic-names"), "cannot be combined"),
        (("--plaintext-names", "--long-name-max", 100), "never too long"),
        (("--long-name-max", 61), "long-name-max"),
        (("--long-name-max", 256), "long-name-max"),
        (("--cipher", "aes-128-gcm"), "cipher"),
        (("--cipher", "1"), "cipher"),
        (("--work-factor", 9), "work-factor"),
        (("--work-factor", "0x10"), "decimal"),
        (("--config", ""), "is empty"),
    ]:
        fail("vault", "init", *options, "--passphrase-file", secret, folder, code=USAGE, says=says)
    check()


def test_a_key_file_that_exists(folder, secret, unchanged):
    check = unchanged()
    fail(
        *("vault", "init", *CHEAP, "--passphrase-file", secret, "--master-key-out", secret, folder),
        code=FAILURE, says="already exists",
    )
    check()
    assert secret.read_text() == "correct horse\n"


def test_a_key_file_in_the_vault(folder, secret, unchanged):
    """It would open the vault for anyone who has it."""
    (folder.parent / "link").symlink_to(folder)
    check = unchanged()
    for path in (folder / "key", folder.parent / "link" / "key", folder / ".." / folder.name / "key"):
        fail(
            *("vault", "init", *CHEAP, "--passphrase-file", secret, "--master-key-out", path, folder),
            code=USAGE, says="would lie in the vault",
        )
    check()


def test_a_passphrase_that_gocryptfs_does_not_take(folder, secrets, unchanged):
    check = unchanged()
    fail(
        *("vault", "init", *CHEAP, "--passphrase-file", secrets.file("x" * 2049), folder),
        code=USAGE, says="2048",
    )
    check()


# What a configuration may hold


def test_unknown_members_stay(made, secret, other):
    folder, _ = made
    edit(folder / CONFIGURATION, lambda all: all.update(Comment={"of": ["mine", 1]}))
    assert passwd(folder, secret, other).code == OK
    assert json.loads((folder / CONFIGURATION).read_text())["Comment"] == {"of": ["mine", 1]}
    assert opens(folder, other)


def test_who_owns_the_configuration(made, secret, other):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder, _ = made
    os.chown(folder / CONFIGURATION, 12345, 23456)
    assert passwd(folder, secret, other).code == OK
    status = (folder / CONFIGURATION).stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


def test_a_link_to_the_configuration(made, secret, other):
    folder, _ = made
    real = secret.with_name("real.conf")
    shutil.move(folder / CONFIGURATION, real)
    (folder / CONFIGURATION).symlink_to(real)
    assert passwd(folder, secret, other).code == OK
    assert (folder / CONFIGURATION).is_symlink()
    assert passwd(folder, other, secret, "--config", real).code == OK


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", CORRUPT, "it is empty"),
        ("{", CORRUPT, "not a JSON object"),
        ("{} x", CORRUPT, "not a JSON object"),
        ("\ufeff{}", CORRUPT, "byte order mark"),
        ("[" * 60_000, CORRUPT, "nested too deeply"),
        ("x" * 70_000, CORRUPT, "too long"),
        ('{"Version": 2, "Version": 2}', CORRUPT, "twice"),
        ('{"Version": 1e999}', CORRUPT, "not a JSON object"),
        ('{"Version": "2"}', CORRUPT, "Version"),
        ('{"Version": 3}', FAILURE, "version 3 of the format"),
        ('{"Version": 2, "FeatureFlags": ["New\u202e"]}', FAILURE, r"does not know: New\\xe2\\x80\\xae"),
        ('{"Version": 2, "FeatureFlags": ["GCMIV128", "EMENames", "FIDO2"]}', CORRUPT, "FIDO2 is only one"),
    ],
)
def test_bad_configurations(text, code, says, folder, secret, unchanged):
    (folder / CONFIGURATION).write_text(text)
    check = unchanged()
    for command in (("info",), ("passwd", "--passphrase-file", secret, "--new-passphrase-file", secret)):
        result = fail("vault", *command, folder, code=code, says=says)
        assert CONFIGURATION in result.err
    check()


@needs_gocryptfs
@pytest.mark.parametrize(
    ("change", "by_gocryptfs", "by_paes"),
    [
        (lambda text: text, True, True),
        (lambda text: text.replace('"Version"', '"vERSION"'), True, True),
        (lambda text: text.replace('"Version": 2,', '"Version": 2, "Extra": {"a": [1]},'), True, True),
        (lambda text: text.rstrip(), True, True),
        (lambda text: text + " \n\t", True, True),
        # Two values, of which gocryptfs takes the last.
        (lambda text: text.replace('"Version": 2,', '"Version": 3, "Version": 2,'), True, False),
        (lambda text: text.replace('"DirIV"', '"dirIV"'), False, False),
        (lambda text: "\ufeff" + text, False, False),
        (lambda text: text + "x", False, False),
        (lambda text: text + "\0", False, False),
        (lambda text: text.replace('"Version": 2', '"Version": 2.0'), False, False),
        (lambda text: text.replace('"Version": 2', '"Version": 65538'), False, False),
        (lambda text: text.replace('"R": 8', '"R": 7'), False, False),
        (lambda text: text.replace('"KeyLen": 32', '"KeyLen": 31'), False, False),
        (lambda text: text.replace('"GCMIV128",', ""), False, False),
        (lambda text: text.replace('"GCMIV128"', '"GCMIV128", "XChaCha20Poly1305"'), False, False),
        (lambda text: text.replace('"EMENames"', '"EMENames", "PlaintextNames"'), False, False),
        (lambda text: text.replace('"Version"', '"LongNameMax": 100, "Version"'), False, False),
    ],
)
def test_who_reads_what(change, by_gocryptfs, by_paes, made):
    path = made[0] / CONFIGURATION
    text = change(path.read_text())
    path.unlink()
    path.write_text(text)
    code, said = gocryptfs("-info", made[0])
    assert (code == 0) == by_gocryptfs, said
    assert (run("vault", "info", made[0]).code == OK) == by_paes


def test_folders_that_are_no_vault(folder):
    fail("vault", "info", folder, code=FAILURE, says="is not a vault: there is no gocryptfs.conf in it")
    fail("vault", "info", folder / "missing", code=FAILURE, says="No such file or directory")
    fail("vault", "info", code=USAGE, says="neither a folder nor --config")
    (folder / ".gocryptfs.reverse.conf").write_text("{}")
    fail("vault", "info", folder, code=FAILURE, says="reverse mode")
    fail("vault", "info", "--config", folder / ".gocryptfs.reverse.conf", code=FAILURE, says="reverse mode")


def test_info_as_text(folder, secret):
    succeed(
        *("vault", "init", *CHEAP, "--long-name-max", 99, "--passphrase-file", secret, folder)
    )
    said = succeed("vault", "info", folder).out.decode()
    for line in (
        "format +gocryptfs 2", "creator +paes ", "content +aes-256-gcm", "names +encrypted.*above 99 bytes",
        "name length +up to 255 bytes", r"passphrase +scrypt, work factor 2\^10, r 8, p 1, 1.05 MB",
    ):
        assert re.search(line, said), said


def test_documents_of_failures(folder, made, secret, other):
    result = run("vault", "info", "--json", folder / "missing")
    assert json.loads(result.out)["error"]["code"] == FAILURE
    for arguments in (("vault", "--json"), ("vault", "nothing", "--json")):
        result = run(*arguments)
        assert result.code == USAGE
        document = json.loads(result.out)
        assert document["command"] == " ".join(one for one in arguments if one != "--json")


# Full disks, interruptions


def test_passwd_on_a_full_disk(small_disk, made, secret, other):
    folder, _ = made
    disk = small_disk.path
    code, err, left = small_disk(
        *("vault", "passwd", "--passphrase-file", secret, "--new-passphrase-file", other, disk / "vault"),
        before=f"cp -a {folder} {disk}/vault && (cat /dev/zero >{disk}/fill; true) 2>/dev/null;"
        f" cp {disk}/vault/{CONFIGURATION} {secret.parent}/before",
        command=("sh", "-c", f'"$0" "$@"; code=$?; cp {disk}/vault/{CONFIGURATION} {secret.parent}/after;'
                 f" ls -A {disk}/vault >{secret.parent}/left; exit $code", program.PAES),
    )
    assert code == FAILURE, err
    program.assert_error_lines(err, "gocryptfs.conf: No space left on device")
    assert (secret.parent / "after").read_bytes() == (secret.parent / "before").read_bytes()
    assert (secret.parent / "left").read_text().split() == [CONFIGURATION, DIRECTORY_IV]


def test_init_on_a_full_disk(small_disk, secret):
    disk = small_disk.path
    key = secret.with_name("master.key")
    code, err, _ = small_disk(
        *("vault", "init", *CHEAP, "--passphrase-file", secret, "--master-key-out", key, disk / "vault"),
        before=f"mkdir {disk}/vault && (cat /dev/zero >{disk}/fill; true) 2>/dev/null",
        command=("sh", "-c", f'"$0" "$@"; code=$?; ls -A {disk}/vault >{secret.parent}/left; exit $code',
                 program.PAES),
    )
    assert code == FAILURE, err
    program.assert_error_lines(err, "gocryptfs.diriv: No space left on device")
    assert (secret.parent / "left").read_text() == ""
    assert not key.exists()


@pytest.mark.parametrize("bytes_allowed", [0, 16, 100])
def test_a_limit_on_the_length_of_files(bytes_allowed, made, secret, other, unchanged):
    """RLIMIT_FSIZE: what was made before the failure goes away again."""
    folder, _ = made
    limit = ["prlimit", f"--fsize={bytes_allowed}"]
    check = unchanged()
    result = passwd(folder, secret, other, prefix=limit)
    assert result.code == FAILURE
    program.assert_error_lines(result.err, "gocryptfs.conf: File too large")
    check()
    second = folder.with_name("second")
    second.mkdir()
    key = secret.with_name("second.key")
    fail(
        *("vault", "init", *CHEAP, "--passphrase-file", secret, "--master-key-out", key, second),
        code=FAILURE, says="File too large", prefix=limit,
    )
    assert list(second.iterdir()) == [] and not key.exists()


@pytest.mark.parametrize(
    ("function", "named"),
    [(function, ()) for function in ("fsync", "fchmod", "linkat", "renameat")]
    + [(function, ("-DNAMED",)) for function in ("fsync", "fchmod", "renameat")],
)
def test_passwd_that_is_killed(function, named, made, secret, other, preloaded):
    """Wherever it dies, one of the two passphrases opens the vault, and the next run goes on."""
    folder, _ = made
    killed = preloaded(preload.KILLED, f'-DFUNCTION="{function}"', *named)
    assert program.died_of(passwd(folder, secret, other, prefix=killed).code, signal.SIGKILL)
    assert opens(folder, secret)
    assert passwd(folder, secret, other).code == OK
    assert opens(folder, other) and not opens(folder, secret)


@needs_gocryptfs
@pytest.mark.parametrize("kept", ["iv", "nothing"])
def test_init_that_is_killed(kept, folder, secret, preloaded):
    """Before the configuration has its name there is no vault, and init can be repeated."""
    command = ("vault", "init", *CHEAP, "--passphrase-file", secret, folder)
    killed = preloaded(preload.KILLED, '-DFUNCTION="linkat"')
    assert program.died_of(run(*command, prefix=killed).code, signal.SIGKILL)
    assert list(folder.iterdir()) == []
    if kept == "iv":
        (folder / DIRECTORY_IV).write_bytes(bytes(range(16)))
        succeed(*command)
        assert (folder / DIRECTORY_IV).read_bytes() == bytes(range(16))
    else:
        succeed(*command)
    assert accepted(folder / CONFIGURATION, secret)


@pytest.mark.parametrize("damage", [b"", bytes(16), bytes(range(17)), bytes(1000)], ids=len)
def test_a_damaged_rest_of_an_init(damage, folder, secret, unchanged):
    (folder / DIRECTORY_IV).write_bytes(damage)
    check = unchanged()
    fail(
        *("vault", "init", *CHEAP, "--passphrase-file", secret, folder),
        code=(USAGE, FAILURE), says="gocryptfs.diriv: (is damaged|longer than)",
    )
    check()


@pytest.mark.parametrize("number", program.SIGNALS)
def test_a_signal_during_the_derivation(number, made, secret, other, unchanged):
    """Minutes of scrypt, which takes its time by P and little memory."""
    folder, _ = made
    edit(folder / CONFIGURATION, lambda all: all["ScryptObject"].update(P=1 << 16))
    check = unchanged()
    process = program.start(
        *("vault", "passwd", "--max-work-factor", 30, "--passphrase-file", secret),
        *("--new-passphrase-file", other, folder),
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )

    def has_begun():  # nothing else takes that long
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) / os.sysconf("SC_CLK_TCK") > 0.5

    try:
        program.wait_until(has_begun, "the derivation", timeout_s=60)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert program.died_of(process.returncode, number)
    program.assert_error_lines(err.decode(), "interrupted")
    check()


def test_the_folder_cannot_be_synced(made, secret, other, preloaded, tmp_path):
    """The new configuration is there, but whether it lasts is not known, and that is an error."""
    folder, _ = made
    failing = preloaded(preload.FAILING)
    calls = tmp_path / "calls"
    result = passwd(
        folder, secret, other, prefix=[*failing, f"CALLS={calls}", "FAIL_AT=2"]
    )
    assert result.code == FAILURE, result.err
    program.assert_error_lines(result.err, "complete, but its folder could not be synced")
    assert calls.read_text().split() == ["fsync", "fsync"]
    assert opens(folder, other)


def test_the_new_file_cannot_be_synced(made, secret, other, preloaded, tmp_path, unchanged):
    folder, _ = made
    check = unchanged()
    result = passwd(
        folder, secret, other,
        prefix=[*preloaded(preload.FAILING), f"CALLS={tmp_path / 'calls'}", "FAIL_AT=1"],
    )
    assert result.code == FAILURE
    program.assert_error_lines(result.err, "gocryptfs.conf: Input/output error")
    check()


def test_an_old_configuration_keeps_its_owner(made, other):
    folder, key = made
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(folder / CONFIGURATION, 12345, 12346)
    succeed(
        *("vault", "passwd", "--master-key", key, "--new-passphrase-file", other, "-f", folder)
    )
    for name in (CONFIGURATION, "gocryptfs.conf.bak"):
        status = (folder / name).stat()
        assert (status.st_uid, status.st_gid) == (12345, 12346), name


def test_a_configuration_under_another_name_in_the_vault(folder, secret, unchanged):
    check = unchanged()
    command = ("vault", "init", *CHEAP, "--passphrase-file", secret, "--config")
    fail(*command, folder / "other.conf", folder, code=USAGE, says="would lie in the vault")
    check()
    succeed(*command, folder / CONFIGURATION, folder)
    assert opens(folder, secret)


@pytest.mark.parametrize("command", ["info", "fsck", "passwd"])
def test_a_pipe_in_place_of_the_configuration(command, folder, secret):
    os.mkfifo(folder / CONFIGURATION)
    options = () if command == "info" else ("--passphrase-file", secret)
    fail("vault", command, *options, folder, code=FAILURE, says="gocryptfs.conf: is not a regular file",
         timeout_s=60)


# The check of hostile trees


def test_the_check_of_a_deep_tree_takes_little_memory(folder, secret):
    """As much for each folder as its name has, and not as much as its path has."""
    depth, name = 3000, "d" * 250
    vault = folder / "vault"
    vault.mkdir()
    succeed("vault", "init", *CHEAP, "--plaintext-names", "--passphrase-file", secret, vault)
    try:
        at = os.open(vault, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir(name, dir_fd=at)
            below = os.open(name, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        damaged = os.open("damaged", os.O_WRONLY | os.O_CREAT, dir_fd=at)
        os.write(damaged, b"\1")
        os.close(damaged)
        os.close(at)
        with open(folder / "found", "wb") as found:
            process = program.start(
                *("vault", "fsck", "--json", "-T", 1, "--passphrase-file", secret, vault),
                stdin=subprocess.DEVNULL, stdout=found,
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        document = json.loads((folder / "found").read_bytes())
        assert process.returncode == CORRUPT, document["counts"]
        assert (document["counts"]["folders"], document["counts"]["unread"]) == (depth + 1, 0)
        assert [one["path"] for one in document["damaged"]] == [f"{name}/" * depth + "damaged"]
        assert used.ru_maxrss < 300 * 1024  # in KiB; whole paths alone would be 1.1 GB
    finally:  # shutil's removal is no match for the depth
        subprocess.run(["rm", "-rf", vault], check=True, timeout=program.TIMEOUT_S)
