# SPDX-License-Identifier: Apache-2.0
# rekey: another list of recipients or another passphrase, in place, the payload untouched; the lock
# against a second rekey; and the copy of the old envelope that saves the file when the machine
# stops in the middle.
import base64
import fcntl
import json
import os
import random
import signal
import stat
import subprocess
import time

import age_file
import container
import preload
import program
import pytest
from program import CORRUPT, FAILURE, PAES, SOME_FAILED, USAGE, WRONG_KEY, fail, run, succeed
from test_json import validator


@pytest.fixture
def text(random_bytes):
    return random_bytes(100_000)


@pytest.fixture
def sealed(folder, keys, text):
    path = folder / "sealed.paes"
    path.write_bytes(
        container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    )
    return path


@pytest.fixture(scope="module")
def passphrase_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pass") / "pass"
    path.write_text("open sesame\n")
    return path


def opens(path, text, *options):
    result = run("decrypt", *options, "-o", "-", path)
    needs_terminal = "there is no terminal" in result.err  # for the passphrase that it wants
    assert result.code in (0, FAILURE if needs_terminal else WRONG_KEY), result.err
    assert result.out == (text if result.code == 0 else b"")
    return result.code == 0


def payload_of(path):
    return path.read_bytes()[container.PAGE_BYTES - container.PREFIX_BYTES :]


def test_replace(sealed, keys, other_keys, text, folder):
    before = payload_of(sealed)
    inode = sealed.stat().st_ino
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    assert opens(sealed, text, "-i", other_keys.path)
    assert not opens(sealed, text, "-i", keys.path)
    assert payload_of(sealed) == before
    assert sealed.stat().st_ino == inode
    assert [path.name for path in folder.iterdir()] == [sealed.name]
    with open(sealed, "rb") as file:
        preamble = container.read_preamble(file)
    assert age_file.age_decrypt(preamble.envelope, other_keys.path)


def test_add(sealed, keys, other_keys, text, folder):
    before = payload_of(sealed)
    (folder / "recipients").write_text(other_keys.recipient + "\n")
    succeed("rekey", "-i", keys.path, "--add", "-R", folder / "recipients", sealed)
    for pair in (keys, other_keys):
        assert opens(sealed, text, "-i", pair.path)
        with open(sealed, "rb") as file:
            assert age_file.age_decrypt(container.read_preamble(file).envelope, pair.path)
    assert payload_of(sealed) == before


def test_add_keeps_stanzas_nobody_here_knows(keys, other_keys, text, folder):
    grease = age_file.stanza([b"joint-grease", b"a~b"], bytes(100))
    path = folder / "sealed.paes"
    path.write_bytes(
        container.make(
            2, text, lambda key: age_file.seal(key, [keys.recipient], more_stanzas=[grease])
        )
    )
    succeed("rekey", "-i", keys.path, "--add", "-r", other_keys.recipient, path)
    assert grease in path.read_bytes()
    assert opens(path, text, "-i", keys.path) and opens(path, text, "-i", other_keys.path)


def test_remove(sealed, keys, other_keys, text):
    succeed("rekey", "-i", keys.path, "--add", "-r", other_keys.recipient, sealed)
    before = payload_of(sealed)
    done = succeed("rekey", "--json", "-i", keys.path, "--remove", "1", sealed)
    assert validator("rekey").is_valid(document := json.loads(done.out)), document
    assert document["action"] == "removed"
    assert document["files"] == [{"input": str(sealed), "status": "done", "recipients": 1}]
    assert opens(sealed, text, "-i", other_keys.path)
    assert not opens(sealed, text, "-i", keys.path)
    assert payload_of(sealed) == before


def test_remove_and_add(sealed, keys, other_keys, text):
    succeed("rekey", "-i", keys.path, "--add", "-r", keys.recipient, sealed)
    succeed("rekey", "-i", keys.path, "--remove", "2", "--add", "-r", other_keys.recipient, sealed)
    assert json.loads(succeed("inspect", "--json", sealed).out)["recipients"] == [{"type": "X25519"}] * 2
    assert opens(sealed, text, "-i", other_keys.path) and opens(sealed, text, "-i", keys.path)


def test_replace_the_key_that_opens_it(sealed, keys, other_keys, text):
    succeed("rekey", "-i", keys.path, "--remove", "1", "--add", "-r", other_keys.recipient, sealed)
    assert opens(sealed, text, "-i", other_keys.path)
    assert not opens(sealed, text, "-i", keys.path)


@pytest.mark.parametrize("options, why", [
    (["--remove", "2"], "there is no number 2"),
    (["--remove", "1"], "without its last recipient"),
    (["--remove", "0"], "--remove"),
    (["--remove", "1", "-r", "RECIPIENT"], "there is none to remove"),
    (["--remove", "1", "--new-passphrase"], "there is none to remove"),
])
def test_what_cannot_be_removed(sealed, keys, folder, options, why):
    before = program.tree(folder)
    options = [keys.recipient if word == "RECIPIENT" else word for word in options]
    fail("rekey", "-i", keys.path, *options, sealed, code=USAGE, says=why)
    assert program.tree(folder) == before


@pytest.fixture
def several(folder, keys):
    """Three files in two folders, and one that is none of paes."""
    paths = [folder / "tree" / name for name in ("a.paes", "b.paes", "below/c.paes")]
    paths[2].parent.mkdir(parents=True)
    for path in paths:
        succeed("encrypt", "-r", keys.recipient, "-o", path, stdin=path.name.encode())
    (folder / "tree" / "note").write_text("not encrypted")
    return paths


@pytest.fixture(params=[[], ["-a"]], ids=["binary", "armored"])
def age_sealed(request, folder, keys, text):
    """A file of age, and how its payload can be compared."""
    path = folder / "sealed.age"
    succeed("encrypt", "--format", "age", *request.param, "-r", keys.recipient, "-o", path, stdin=text)
    path.chmod(0o640)
    return path


def age_payload_of(path):
    data = path.read_bytes()
    if data.startswith(b"-----BEGIN"):
        data = base64.b64decode(b"".join(data.split(b"\n")[1:-2]))
    return data[data.index(b"\n", data.index(b"\n---") + 1) :]


def test_age_replace(age_sealed, keys, other_keys, text, folder):
    before, mode = age_payload_of(age_sealed), age_sealed.stat().st_mode
    done = succeed("rekey", "--json", "-i", keys.path, "-r", other_keys.recipient, age_sealed)
    assert json.loads(done.out)["files"] == [{"input": str(age_sealed), "status": "done", "recipients": 1}]
    assert age_file.age_decrypt(age_sealed.read_bytes(), other_keys.path) == text
    assert opens(age_sealed, text, "-i", other_keys.path) and not opens(age_sealed, text, "-i", keys.path)
    assert age_payload_of(age_sealed) == before and age_sealed.stat().st_mode == mode
    assert [path.name for path in folder.iterdir()] == [age_sealed.name]


def test_age_add_remove_and_passphrase(age_sealed, keys, other_keys, text, passphrase_file):
    before = age_payload_of(age_sealed)
    succeed("rekey", "-i", keys.path, "--add", "-r", other_keys.recipient, age_sealed)
    assert opens(age_sealed, text, "-i", keys.path) and opens(age_sealed, text, "-i", other_keys.path)
    succeed("rekey", "-i", keys.path, "--remove", "1", age_sealed)
    assert opens(age_sealed, text, "-i", other_keys.path) and not opens(age_sealed, text, "-i", keys.path)
    succeed("rekey", "-i", other_keys.path, "--new-passphrase-file", passphrase_file, age_sealed)
    assert opens(age_sealed, text, "--passphrase-file", passphrase_file)
    assert not opens(age_sealed, text, "-i", other_keys.path)
    succeed("rekey", "--passphrase-file", passphrase_file, "-r", keys.recipient, age_sealed)
    assert opens(age_sealed, text, "-i", keys.path) and age_payload_of(age_sealed) == before


@pytest.mark.parametrize("size", [0, 1, 65536, 3 << 20])
def test_age_of_any_size(size, folder, keys, other_keys, random_bytes):
    text, path = random_bytes(size), folder / "sealed.age"
    succeed("encrypt", "--format", "age", "-r", keys.recipient, "-o", path, stdin=text)
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, path)
    assert age_file.age_decrypt(path.read_bytes(), other_keys.path) == text


def test_age_refusals_change_nothing(age_sealed, keys, other_keys, folder):
    before = program.tree(folder)
    fail("rekey", "-i", other_keys.path, "-r", other_keys.recipient, age_sealed, code=WRONG_KEY)
    fail("rekey", "-i", keys.path, "--remove", "2", age_sealed, code=USAGE, says="there is no number 2")
    fail("rekey", "-i", keys.path, "--remove", "1", age_sealed, code=USAGE, says="without its last recipient")
    assert program.tree(folder) == before
    (folder / "second").hardlink_to(age_sealed)
    before = program.tree(folder)
    fail("rekey", "-i", keys.path, "-r", other_keys.recipient, age_sealed, code=FAILURE, says="has 2 names")
    assert program.tree(folder) == before


def test_age_through_a_link(age_sealed, keys, other_keys, text, folder):
    (folder / "link.age").symlink_to(age_sealed.name)
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, folder / "link.age")
    assert (folder / "link.age").is_symlink() and opens(age_sealed, text, "-i", other_keys.path)


def test_age_among_several_files(several, keys, other_keys, folder):
    path = folder / "tree" / "d.age"
    succeed("encrypt", "--format", "age", "-r", keys.recipient, "-o", path, stdin=b"text")
    succeed("rekey", "-q", "-i", keys.path, "-r", other_keys.recipient, "--recursive", folder / "tree")
    for path, text in [*((path, path.name.encode()) for path in several), (path, b"text")]:
        assert opens(path, text, "-i", other_keys.path) and not opens(path, text, "-i", keys.path)


def test_age_killed_at_any_time_has_the_old_recipients_or_the_new(folder, keys, other_keys, random_bytes):
    text, path = random_bytes(2_000_000), folder / "sealed.age"
    chooser = random.Random(11)
    for _ in range(30):
        path.unlink(missing_ok=True)
        succeed("encrypt", "--format", "age", "-r", keys.recipient, "-o", path, stdin=text)
        child = subprocess.Popen([PAES, "rekey", "-i", keys.path, "-r", other_keys.recipient, path], stderr=subprocess.DEVNULL)
        time.sleep(chooser.uniform(0, 0.04))
        child.kill()
        child.wait()
        opened = [opens(path, text, "-i", pair.path) for pair in (keys, other_keys)]
        assert sorted(opened) == [False, True]


@pytest.mark.parametrize("way", ["named", "recursive", "listed"])
def test_several_files(several, keys, other_keys, folder, way):
    arguments = {"named": several, "recursive": ["--recursive", folder / "tree"],
                 "listed": ["--files-from", "-"]}[way]
    names = "\n".join(map(str, several)).encode() if way == "listed" else b""
    done = succeed("rekey", "--json", "-i", keys.path, "-r", other_keys.recipient, *arguments, stdin=names)
    document = json.loads(done.out)
    validator("rekey").validate(document)
    assert document["counts"]["done"] == 3
    assert document["counts"]["skipped"]["no-suffix"] == (1 if way == "recursive" else 0)
    assert ("rekey: 3 files" in done.err) == (way != "named")
    for path in several:
        assert opens(path, path.name.encode(), "-i", other_keys.path)
        assert not opens(path, path.name.encode(), "-i", keys.path)


def test_several_files_of_which_one_fails(several, keys, other_keys):
    damaged = bytearray(several[1].read_bytes())
    damaged[60] ^= 1
    several[1].write_bytes(damaged)
    result = run("rekey", "--json", "-i", keys.path, "--add", "-r", other_keys.recipient, *several)
    assert result.code == SOME_FAILED
    document = json.loads(result.out)
    validator("rekey").validate(document)
    assert [file["status"] for file in document["files"]] == ["done", "failed", "done"]
    assert several[1].read_bytes() == damaged
    for path in (several[0], several[2]):
        assert opens(path, path.name.encode(), "-i", other_keys.path)


def test_several_files_to_one_passphrase(several, keys, passphrase_file):
    succeed("rekey", "-i", keys.path, "--new-passphrase-file", passphrase_file, *several)
    for path in several:
        assert opens(path, path.name.encode(), "--passphrase-file", passphrase_file)


@pytest.mark.parametrize("options", [["--remove", "1", "FILES"], ["--remove", "1", "--recursive", "TREE"]])
def test_remove_takes_one_file(several, keys, folder, options):
    before = program.tree(folder)
    arguments = {"FILES": several, "TREE": [folder / "tree"]}
    words = [word for option in options for word in arguments.get(option, [option])]
    fail("rekey", "-i", keys.path, *words, code=USAGE, says="counts the recipients of one file")
    assert program.tree(folder) == before


def test_no_file_to_rekey(keys):
    fail("rekey", "-i", keys.path, "-r", keys.recipient, code=USAGE, says="FILE is required")
    fail("rekey", "-i", keys.path, "-r", keys.recipient, "-0", "x", code=USAGE, says="--files-from")


def test_reserved_room(folder, keys, other_keys):
    """Without room for it a recipient is refused, and what was reserved suffices."""
    more = [word for _ in range(40) for word in ("-r", other_keys.recipient)]
    for options, fits in ((["--reserve", "0"], False), (["--reserve", "40"], True)):
        path = folder / "room.paes"
        succeed("encrypt", "-f", *options, "-r", keys.recipient, "-o", path, stdin=b"text")
        result = run("rekey", "-i", keys.path, "--add", *more, path)
        assert (result.code == 0) == fits, result.err
        assert fits or "--reserve" in result.err
        assert opens(path, b"text", "-i", keys.path)
        assert opens(path, b"text", "-i", other_keys.path) == fits
    assert path.stat().st_size == 2 * container.PAGE_BYTES + len(b"text") + 16


@pytest.mark.parametrize("options, why", [
    (["--reserve", "9000"], "--reserve"),
    (["--reserve", "-1"], "--reserve"),
    (["--reserve", "x"], "--reserve"),
    (["--format", "age", "--reserve", "9"], "cannot be combined with --format age"),
])
def test_what_cannot_be_reserved(folder, keys, options, why):
    fail("encrypt", *options, "-r", keys.recipient, "-o", folder / "x", stdin=b"text", code=USAGE, says=why)
    assert not list(folder.iterdir())


def test_to_a_passphrase_and_back(sealed, keys, other_keys, text, passphrase_file):
    succeed("rekey", "-i", keys.path, "--new-passphrase-file", passphrase_file, sealed)
    assert not opens(sealed, text, "-i", keys.path)
    assert opens(sealed, text, "--passphrase-file", passphrase_file)
    unlock = ("--passphrase-file", passphrase_file)
    fail("rekey", *unlock, "--add", "-r", other_keys.recipient, sealed, code=USAGE)
    succeed("rekey", *unlock, "-r", other_keys.recipient, sealed)
    assert opens(sealed, text, "-i", other_keys.path)


def test_to_a_passphrase_from_a_descriptor(sealed, keys, text, passphrase_file):
    reader, writer = os.pipe()
    os.write(writer, b"open sesame\n")
    os.close(writer)
    succeed("rekey", "-i", keys.path, "--new-passphrase-fd", reader, sealed, pass_fds=[reader])
    os.close(reader)
    assert opens(sealed, text, "--passphrase-file", passphrase_file)


def test_a_longer_envelope_then_a_shorter_one(sealed, keys, other_keys, text):
    """What the longer one leaves behind must become zero bytes again."""
    many = [word for _ in range(7) for word in ("-r", keys.recipient)]
    succeed("rekey", "-i", keys.path, *many, sealed)
    assert opens(sealed, text, "-i", keys.path)
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    with open(sealed, "rb") as file:
        preamble = container.read_preamble(file)
    assert len(preamble.envelope) < 400
    assert opens(sealed, text, "-i", other_keys.path)


def test_an_envelope_that_does_not_fit(sealed, keys, text, folder):
    before = program.tree(folder)
    many = [word for _ in range(60) for word in ("-r", keys.recipient)]
    for add in ([], ["--add"]):
        result = fail("rekey", "-i", keys.path, *add, *many, sealed, code=(FAILURE, USAGE))
        assert "hint" in result.err
        assert program.tree(folder) == before
    assert opens(sealed, text, "-i", keys.path)


def test_a_wrong_key_changes_nothing(sealed, keys, other_keys, folder):
    before = program.tree(folder)
    fail("rekey", "-i", other_keys.path, "-r", other_keys.recipient, sealed, code=WRONG_KEY)
    assert program.tree(folder) == before


def test_the_commitment_is_checked_first(sealed, keys, other_keys, folder):
    """An envelope that opens but belongs to another payload must not be carried on."""
    other = container.make(2, b"x", lambda key: age_file.age_encrypt(key, [keys.recipient]))
    end = container.PAGE_BYTES - container.PREFIX_BYTES
    sealed.write_bytes(other[:end] + sealed.read_bytes()[end:])
    before = program.tree(folder)
    for add in ([], ["--add"]):
        fail(
            *("rekey", *add, "-i", keys.path, "-r", other_keys.recipient, sealed), code=CORRUPT
        )
        assert program.tree(folder) == before


def test_a_second_rekey_is_locked_out(sealed, keys, other_keys, folder):
    before = program.tree(folder)
    with open(sealed, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fail(
            *("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed),
            code=FAILURE,
            says="another|lock|busy|in use",
        )
    assert program.tree(folder) == before
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)


def test_modes_links_and_times(sealed, keys, other_keys, text, folder):
    """In place means: the same inode under all its names, with its mode."""
    sealed.chmod(0o640)
    (folder / "hard").hardlink_to(sealed)
    (folder / "soft").symlink_to(sealed)
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, folder / "soft")
    assert opens(folder / "hard", text, "-i", other_keys.path)
    assert (folder / "soft").is_symlink()
    assert stat.S_IMODE(sealed.stat().st_mode) == 0o640
    assert {path.name for path in folder.iterdir()} == {"sealed.paes", "hard", "soft"}


def test_standard_input_cannot_be_rekeyed(sealed, keys):
    fail(
        *("rekey", "-i", keys.path, "-r", keys.recipient, "-"),
        stdin=sealed.read_bytes(),
        code=(USAGE, FAILURE),
    )


# The leftover: what an interrupted rekey leaves is played here by hand, byte for byte as a crash
# between its steps would leave it.


def leftover_of(path):
    return path.with_name(path.name + ".rekey")


def preamble_of(data):
    return data[: container.PAGE_BYTES - container.PREFIX_BYTES]


@pytest.fixture
def interrupted(sealed, keys, other_keys):
    """A file whose envelope is half the old one and half the new, and the copy beside it."""
    old = sealed.read_bytes()
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    new = sealed.read_bytes()
    leftover_of(sealed).write_bytes(preamble_of(old))
    sealed.write_bytes(new[:150] + old[150:])
    return sealed


def test_restore(interrupted, keys, other_keys, text, folder):
    assert not opens_or_is_corrupt(interrupted, keys)
    assert not opens_or_is_corrupt(interrupted, other_keys)
    inode = interrupted.stat().st_ino
    succeed("rekey", "--restore", "-i", keys.path, interrupted)
    assert opens(interrupted, text, "-i", keys.path)
    assert not opens(interrupted, text, "-i", other_keys.path)
    assert interrupted.stat().st_ino == inode
    assert [path.name for path in folder.iterdir()] == [interrupted.name]


def opens_or_is_corrupt(path, pair):
    result = run("verify", "-i", pair.path, path)
    assert result.code in (0, CORRUPT, WRONG_KEY)
    return result.code == 0


def test_every_command_says_how_to_restore(interrupted, keys, other_keys, folder, text):
    before = program.tree(folder)
    commands = [
        ["decrypt", "-i", keys.path, "-o", "-", interrupted],
        ["verify", "-i", keys.path, interrupted],
        ["inspect", interrupted],
        ["rekey", "-i", keys.path, "-r", other_keys.recipient, interrupted],
    ]
    for command in commands:
        result = run(*command)
        assert "rekey --restore" in result.err, command
        assert program.tree(folder) == before
    # Also where the file itself still opens.
    interrupted.write_bytes(
        leftover_of(interrupted).read_bytes()
        + interrupted.read_bytes()[container.PAGE_BYTES - container.PREFIX_BYTES :]
    )
    for command in commands:
        result = run(*command)
        assert "rekey --restore" in result.err, command
        assert (result.code == 0) == (command[0] != "rekey"), result.err
    # And where the name is about to be taken by a new file.
    (folder / "sealed").write_bytes(b"another text")
    result = run("encrypt", "-f", "-r", keys.recipient, folder / "sealed")
    assert "rekey --restore" in result.err


def test_the_way_to_restore_can_be_copied_into_a_shell(interrupted, keys, folder, text):
    name = "-x $(touch harm) 'y'.paes"
    leftover_of(interrupted).rename(folder / (name + ".rekey"))
    path = interrupted.rename(folder / name)
    says = run("verify", "-i", keys.path, "--", name, cwd=folder).err
    line = "paes rekey" + says.split("paes rekey", 1)[1].replace("IDENTITY", str(keys.path))
    environment = program.clean_environment(PAES=program.PAES)
    shell = 'paes() { "$PAES" "$@"; }; ' + line
    subprocess.run(["sh", "-c", shell], cwd=folder, env=environment, check=True)
    assert opens(path, text, "-i", keys.path)
    assert [path.name for path in folder.iterdir()] == [name]


def test_restore_from_a_fifo_is_refused(interrupted, keys):
    leftover_of(interrupted).unlink()
    os.mkfifo(leftover_of(interrupted))
    options = ("rekey", "--restore", "-i", keys.path)
    fail(*options, interrupted, code=CORRUPT, timeout_s=20)


def test_restore_with_a_wrong_key_is_refused(interrupted, other_keys, folder):
    before = program.tree(folder)
    fail("rekey", "--restore", "-i", other_keys.path, interrupted, code=WRONG_KEY)
    assert program.tree(folder) == before


def test_restore_of_another_files_copy_is_refused(interrupted, keys, folder):
    """Its key opens the copy, but does not match the payload's commitment."""
    other = container.make(2, b"x", lambda key: age_file.age_encrypt(key, [keys.recipient]))
    leftover_of(interrupted).write_bytes(preamble_of(other))
    before = program.tree(folder)
    fail("rekey", "--restore", "-i", keys.path, interrupted, code=CORRUPT)
    assert program.tree(folder) == before


def test_restore_of_a_damaged_copy_is_refused(interrupted, keys, folder):
    whole = leftover_of(interrupted).read_bytes()
    for damaged in (whole[:-1], whole + b"\0", b"", whole[:3000] + b"\1" + whole[3001:]):
        leftover_of(interrupted).write_bytes(damaged)
        before = program.tree(folder)
        fail("rekey", "--restore", "-i", keys.path, interrupted, code=CORRUPT)
        assert program.tree(folder) == before


def test_restore_without_a_leftover(sealed, keys, other_keys, folder):
    before = program.tree(folder)
    fail("rekey", "--restore", "-i", keys.path, sealed, code=FAILURE)
    fail("rekey", "--restore", "-i", keys.path, "-r", other_keys.recipient, sealed, code=USAGE)
    assert program.tree(folder) == before


def test_killed_at_any_moment(sealed, keys, other_keys, text, folder):
    """SIGKILL after a random time: the file opens for exactly one side, or the copy brings it
    back for the old one."""
    pairs = [keys, other_keys]
    started = time.monotonic()
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    whole_s = time.monotonic() - started
    chooser = random.Random(5)
    killed = 0
    for _ in range(40):
        new, old = pairs
        process = program.start("rekey", "-i", old.path, "-r", new.recipient, sealed)
        time.sleep(chooser.uniform(0, whole_s))
        process.kill()
        killed += process.wait(timeout=30) != 0
        if leftover_of(sealed).exists():
            succeed("rekey", "--restore", "-i", old.path, sealed)
            assert opens(sealed, text, "-i", old.path)
        by_old, by_new = (opens(sealed, text, "-i", pair.path) for pair in (old, new))
        assert by_old != by_new
        assert [path.name for path in folder.iterdir()] == [sealed.name]
        if by_new:
            pairs.reverse()
    assert killed > 0


def test_interrupted_at_any_moment(sealed, keys, other_keys, text, folder):
    """SIGINT asks, and rekey tidies up: it is done or it is not, and nothing lies about."""
    pairs = [keys, other_keys]
    started = time.monotonic()
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, sealed)
    whole_s = time.monotonic() - started
    chooser = random.Random(6)
    for _ in range(100):
        new, old = pairs
        process = program.start(
            *("rekey", "-i", old.path, "-r", new.recipient, sealed), stderr=subprocess.DEVNULL
        )
        time.sleep(chooser.uniform(0, whole_s))
        process.send_signal(signal.SIGINT)
        done = process.wait(timeout=30) == 0
        assert [path.name for path in folder.iterdir()] == [sealed.name]
        if done:
            pairs.reverse()
    assert opens(sealed, text, "-i", pairs[1].path)


def test_a_full_disk_changes_nothing(keys, other_keys, text, tmp_path, mount_space):
    """No room for the copy: nothing may have happened to the file."""
    disk = tmp_path / "disk"
    disk.mkdir()
    content = container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    (tmp_path / "sealed.paes").write_bytes(content)
    # The file takes all of the disk but the copy's last page.
    script = """
    mount -t tmpfs -o size="$1" none "$2" && cp "$3" "$2/sealed.paes" || exit 99
    shift 3
    "$@"
    code=$?
    cmp "$SEALED" "$DISK/sealed.paes" && ls -A "$DISK"
    exit $code
    """
    pages = -(-len(content) // container.PAGE_BYTES)
    done = subprocess.run(
        [*mount_space, "sh", "-c", script, "sh", str(pages * container.PAGE_BYTES)]
        + [disk, tmp_path / "sealed.paes", PAES, "rekey", "-i", keys.path]
        + ["-r", other_keys.recipient, disk / "sealed.paes"],
        env=program.clean_environment(DISK=str(disk), SEALED=str(tmp_path / "sealed.paes")),
        capture_output=True,
        check=False,
    )
    if done.returncode in (99, 1) and b"paes" not in done.stderr:
        pytest.skip(f"no mounts in a namespace here: {done.stderr.decode().strip()}")
    assert done.returncode == FAILURE, done.stderr
    program.assert_error_lines(done.stderr.decode(), "No space left")
    assert done.stdout == b"sealed.paes\n"


# What it says has to be so: whether the recipients are the new ones, and whether the copy is there


def check_what_it_said(result, sealed, keys, other_keys, text):
    """`result` is what `rekey --json -i keys -r other_keys` gave."""
    document = json.loads(result.out)
    validator("rekey").validate(document)
    (file,) = document["files"]
    assert document["exit_code"] == result.code
    assert (result.code == 0) == ("error" not in file)
    copy = leftover_of(sealed)
    if result.code == 0:
        assert opens(sealed, text, "-i", other_keys.path)
        assert not opens(sealed, text, "-i", keys.path)
        assert not copy.exists() or f"{copy}: could not be removed" in result.err
        assert "--restore" not in result.err
        return
    assert result.code == FAILURE
    if copy.exists():
        assert "rekey --restore" in file["error"]["hint"]
        succeed("rekey", "--restore", "-i", keys.path, sealed)
    assert opens(sealed, text, "-i", keys.path)
    assert not opens(sealed, text, "-i", other_keys.path)
    assert [path.name for path in sealed.parent.iterdir()] == [sealed.name]


@pytest.mark.parametrize("mode", [0o700, 0o300])
def test_what_it_says_is_so_whatever_fails(
    mode, sealed, keys, other_keys, text, folder, tmp_path, preloaded
):
    content = sealed.read_bytes()
    calls = tmp_path / "calls"
    calls.touch()
    environment = [f"CALLS={calls}", *preloaded(preload.FAILING)[1:]]
    prefix = program.without_override()
    codes = []
    for fail_at in range(100):
        leftover_of(sealed).unlink(missing_ok=True)
        sealed.write_bytes(content)
        calls.write_bytes(b"")
        folder.chmod(mode)
        result = run(
            *("rekey", "--json", "-i", keys.path, "-r", other_keys.recipient, sealed),
            prefix=[*prefix, "env", f"FAIL_AT={fail_at}", *environment],
        )
        folder.chmod(0o700)
        check_what_it_said(result, sealed, keys, other_keys, text)
        codes.append(result.code)
        if fail_at == 0:
            assert result.code == 0 and result.err == ""
            made = calls.read_text().split()
        if fail_at == len(made):
            break
    # The copy and its name are synced before the file is written, and the file before the copy goes.
    synced = "fsync" if mode == 0o700 else "fsync syncfs"
    assert made == f"fsync {synced} fsync unlinkat {synced}".split()
    # Once the file itself is synced nothing fails any more.
    after = made.index("unlinkat")
    assert codes[after + 1 :] == [0] * (len(made) - after)
    assert FAILURE in codes[1 : after + 1]


@pytest.mark.parametrize("restores", [False, True])
def test_a_folder_that_cannot_be_listed(restores, sealed, keys, other_keys, text, folder):
    """Mode 0300: files can be made there, and it cannot be opened to be synced."""
    prefix = program.without_override()
    words = ["-r", other_keys.recipient]
    if restores:
        leftover_of(sealed).write_bytes(preamble_of(sealed.read_bytes()))
        words = ["--restore", "-q"]
    folder.chmod(0o300)
    try:
        result = succeed("rekey", "-i", keys.path, *words, sealed, prefix=prefix)
    finally:
        folder.chmod(0o700)
    assert result.err == ""
    assert opens(sealed, text, "-i", keys.path if restores else other_keys.path)
    assert [path.name for path in folder.iterdir()] == [sealed.name]
