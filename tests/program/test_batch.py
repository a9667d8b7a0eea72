# SPDX-License-Identifier: Apache-2.0
# Many files in one command: folders and lists, what is taken and what is skipped, where the outputs
# lie, clashes, --skip-existing, counts and exit codes. A run that is killed at any moment leaves
# only whole outputs, and the same command completes the tree.
import fcntl
import json
import os
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import time
from pathlib import Path

import jsonschema
import preload
import program
import pytest
from program import FAILURE, OK, SOME_FAILED, USAGE, fail, run, start, succeed

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schema" / "transfer.schema.json"
LARGE = 9 << 20  # more than a file that one thread takes
OLD_NS = 1_234_567_890_123_456_789


@pytest.fixture
def source(folder, random_bytes):
    """A tree of files of all sizes, with what is not a regular file."""
    top = folder / "source"
    for name, size in {
        "a": 4096, "b": 0, "sub/a": 20_000, "sub/deep/c": 1, "sub/deep/large": LARGE, "z z\n\xff": 10,
    }.items():
        path = top / os.fsdecode(name.encode("latin1"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((random_bytes(4096) * (size // 4096 + 1))[:size])
    (top / "empty").mkdir()
    (top / "link").symlink_to("a")
    (top / "linked folder").symlink_to("sub")
    os.mkfifo(top / "fifo")
    return top


FILES = 6
NOT_REGULAR = 3


def contents(top, ending=""):
    """Relative name, less the ending -> bytes, of the regular files below."""
    return {
        str(path.relative_to(top)).removesuffix(ending): path.read_bytes()
        for path in sorted(top.rglob(f"*{ending}"))
        if path.is_file() and not path.is_symlink()
    }


def document(result):
    found = json.loads(result.out)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found


def summary(result):
    lines = [line for line in result.err.splitlines() if re.match(r"paes: \w+: \d+ files?, ", line)]
    assert len(lines) == 1, result.err
    return lines[0]


def sealed_tree(source, keys, out, *options):
    return run("encrypt", "-r", keys.recipient, "--recursive", source, "--output-dir", out, *options)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_tree_there_and_back(threads, source, keys, folder):
    before = program.tree(source)
    result = sealed_tree(source, keys, folder / "out", "-T", threads)
    assert result.code == OK, result.err
    assert f"{FILES} files" in summary(result)
    assert f"{NOT_REGULAR} skipped: {NOT_REGULAR} no regular file" in summary(result)
    assert program.tree(source) == before
    assert not (folder / "out/empty").exists()
    result = succeed("verify", "-i", keys.path, "--recursive", folder / "out")
    assert len(result.out.splitlines()) == FILES
    succeed("decrypt", "-i", keys.path, "--recursive", folder / "out", "-o", f"{folder}/back/")
    assert contents(folder / "back") == contents(source)


def test_beside_their_inputs(source, keys):
    texts = contents(source)
    succeed("encrypt", "-r", keys.recipient, "--recursive", source)
    assert contents(source, ".paes").keys() >= texts.keys()
    result = succeed("encrypt", "-r", keys.recipient, "--recursive", "--skip-existing", source)
    assert summary(result).startswith("paes: encrypt: 0 files, ")
    assert f"{FILES} encrypted already" in summary(result)
    assert f"{FILES} with an output that exists" in summary(result)
    for name in texts:
        (source / name).unlink()
    result = succeed("decrypt", "-i", keys.path, "--recursive", source)
    assert {name: contents(source)[name] for name in texts} == texts


@pytest.mark.parametrize("text", [b"\n", b" ", b"\n\n-", b"\n" * 2000, b" " * 40 + b"text\n", b"-----BEGIN"])
def test_what_only_resembles_armor_is_encrypted(text, keys, folder):
    """A text that were skipped as encrypted already would be lost with its source."""
    (folder / "tree").mkdir()
    (folder / "tree/file").write_bytes(text)
    sealed_tree(folder / "tree", keys, folder / "out")
    succeed("decrypt", "-i", keys.path, "--recursive", folder / "out", "--output-dir", folder / "back")
    assert (folder / "back/file").read_bytes() == text


@pytest.mark.parametrize(
    "text",
    [
        b"age-encryption.org/ is where I read about it. My PIN is 1234\n",
        b"age-encryption.org/v1\n-> X25519 and so on\n",
        b"-----BEGIN AGE ENCRYPTED FILE-----: how to read such files\n",
        b" \n\n  -----BEGIN AGE ENCRYPTED FILE----- and so on, a diary\n",
        b"-----BEGIN AGE ENCRYPTED FILE-----\nit begins so\n",
        b"\x89PAES\r\n\x1a",
        b"\x89PAES\r\n\x1a" + b"\1\2\0\1\0\0\0\4text" + bytes(8192),
    ],
)
def test_only_a_whole_head_makes_a_file_encrypted(text, keys, folder):
    (folder / "tree").mkdir()
    (folder / "tree/file").write_bytes(text)
    sealed_tree(folder / "tree", keys, folder / "out")
    succeed("decrypt", "-i", keys.path, "--recursive", folder / "out", "--output-dir", folder / "back")
    assert (folder / "back/file").read_bytes() == text


def test_text_after_armor_is_no_armor(keys, folder):
    (folder / "tree").mkdir()
    armor = succeed("encrypt", "-r", keys.recipient, "--format", "age", "-a", stdin=b"text").out
    (folder / "tree/file").write_bytes(armor + b"My PIN is 1234\n")
    result = sealed_tree(folder / "tree", keys, folder / "out")
    assert result.code == OK and (folder / "out/file.paes").exists()


def test_a_truncated_file_is_encrypted_already(keys, folder, random_bytes):
    (folder / "tree").mkdir()
    for options in ([], ["--format", "age"]):
        whole = succeed("encrypt", "-r", keys.recipient, *options, stdin=random_bytes(100_000)).out
        (folder / f"tree/file{len(options)}").write_bytes(whole[:-1])
    assert "2 encrypted already" in summary(sealed_tree(folder / "tree", keys, folder / "out"))


def test_armor_after_whitespace_is_encrypted_already(keys, folder):
    (folder / "tree").mkdir()
    plain = folder / "plain"
    plain.write_bytes(b"text")
    succeed("encrypt", "-r", keys.recipient, "--format", "age", "-a", "-o", folder / "armor", plain)
    (folder / "tree/file").write_bytes(b"\n \n" + (folder / "armor").read_bytes())
    result = sealed_tree(folder / "tree", keys, folder / "out")
    assert result.code == OK and "1 encrypted already" in summary(result)


def test_what_is_named_is_always_taken(sealed, keys):
    """Only what was found in a folder is skipped for its magic."""
    succeed("encrypt", "-r", keys.recipient, "-o", f"{sealed}.twice", sealed)


def test_files_that_lack_the_suffix_are_skipped_where_they_are_found(source, keys, folder):
    sealed_tree(source, keys, folder / "out")
    (folder / "out/notes").write_text("text")
    for command in ("verify", "decrypt"):
        result = succeed(command, "-i", keys.path, "--recursive", folder / "out")
        assert "1 skipped: 1 of another suffix" in summary(result)


def test_modes_and_times(source, keys, folder):
    (source / "sub").chmod(0o750)
    (source / "a").chmod(0o640)
    for name in ("a", "sub/a", "sub/deep/large", "b"):
        os.utime(source / name, ns=(OLD_NS, OLD_NS))
    sealed_tree(source, keys, folder / "out")
    succeed("decrypt", "-i", keys.path, "--recursive", folder / "out", "--output-dir", folder / "back")
    for top, ending in ((folder / "out", ".paes"), (folder / "back", "")):
        for name in ("a", "sub/a", "sub/deep/large", "b"):
            assert (top / f"{name}{ending}").stat().st_mtime_ns == OLD_NS
        assert stat.S_IMODE((top / "sub").stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "out/a.paes").stat().st_mode) == 0o640
    assert stat.S_IMODE((folder / "back/a").stat().st_mode) == 0o600


def test_a_single_file_keeps_its_time_too(plain, keys, folder):
    os.utime(plain, ns=(OLD_NS, OLD_NS))
    succeed("encrypt", "-r", keys.recipient, plain)
    succeed("decrypt", "-i", keys.path, "-o", folder / "back", f"{plain}.paes")
    assert Path(f"{plain}.paes").stat().st_mtime_ns == OLD_NS
    assert (folder / "back").stat().st_mtime_ns == OLD_NS


@pytest.mark.parametrize("from_pipe", [False, True])
def test_a_list(from_pipe, source, keys, folder):
    names = [os.fsencode(source / name) for name in contents(source)]
    text = b"\0".join([*names, b""])
    (folder / "list").write_bytes(text)
    options = ["encrypt", "-r", keys.recipient, "-0", "--files-from"]
    if from_pipe:
        succeed(*options, "-", stdin=text)
    else:
        succeed(*options, folder / "list")
    assert contents(source, ".paes").keys() == contents(source, "").keys() - {
        f"{name}.paes" for name in contents(source)
    }


def test_a_list_keeps_its_folders_below_the_output_folder(source, keys, folder):
    """Without -0 each line is a name, and the last line may lack its end."""
    (folder / "list").write_text("source/a\n\nsource/sub/a")
    options = ("-r", keys.recipient, "--files-from", "list", "--output-dir", "out")
    succeed("encrypt", *options, cwd=folder)
    assert set(contents(folder / "out")) == {"source/a.paes", "source/sub/a.paes"}
    (folder / "list").write_text("source/../source/a\n")
    fail("encrypt", *options, cwd=folder, code=USAGE, says="out of the output folder")


def test_a_list_that_cannot_be_one(folder, keys):
    options = ("encrypt", "-r", keys.recipient, "--files-from")
    fail(*options, folder / "missing", code=FAILURE, says="No such file")
    fail(*options, "-", stdin=b"a\0b", code=USAGE, says="-0")
    fail(*options, "-", "-0", stdin=b"a" * 4096, code=USAGE, says="more than 4095 bytes")
    fail("encrypt", "-r", keys.recipient, "-0", "a", code=USAGE, says="--files-from")
    fail(*options, "-", "-", code=USAGE, says="standard input")
    assert succeed(*options, "-").out == b""  # an empty list is no mistake


def test_a_name_that_means_something_else_outside_a_list(folder, keys):
    for name in ("-", "--json"):
        (folder / name).write_text(name)
    succeed("encrypt", "-r", keys.recipient, "--files-from", "/dev/stdin", stdin=b"-\n--json\n", cwd=folder)
    assert {"-.paes", "--json.paes"} < set(os.listdir(folder))


@pytest.mark.parametrize(
    "names", [["a", "a"], ["a", "sub/../a"], ["a", "./a"], ["a", "linked folder/../a"], ["sub", "sub/a"],
              ["sub/a", "linked folder/a"]]
)
def test_two_inputs_with_one_output_are_refused(names, source, keys):
    before = program.tree(source)
    fail("encrypt", "-r", keys.recipient, "--recursive", *names, cwd=source, code=USAGE,
         says="would be the output of both")
    assert program.tree(source) == before


def test_no_output_replaces_another_input(source, keys):
    (source / "a.paes").write_text("precious")
    before = program.tree(source)
    for names in (["a", "a.paes"], ["a.paes", "sub/../a"]):
        fail("encrypt", "-f", "-r", keys.recipient, *names, cwd=source, code=USAGE, says="a.paes: is an input, and")
    assert program.tree(source) == before
    # Without -f nothing is replaced, and what a folder has is its own matter.
    run("encrypt", "-r", keys.recipient, "a", "a.paes", cwd=source)
    assert (source / "a.paes").read_text() == "precious"


def test_no_output_replaces_an_input_that_was_found(source, keys):
    """It would be gone before it is read, or after."""
    (source / "a.paes").write_text("precious")
    before = program.tree(source)
    says = "a.paes: is an input, and would be the output of"
    fail("encrypt", "-f", "-r", keys.recipient, "--recursive", ".", cwd=source, code=USAGE, says=says)
    assert program.tree(source) == before
    (source / "a.paes").unlink()
    succeed("encrypt", "-q", "-r", keys.recipient, "a", cwd=source)
    # What an earlier run has made is no input.
    for _ in range(2):
        result = succeed("encrypt", "-f", "-r", keys.recipient, "--recursive", ".", cwd=source)
    assert f"{FILES} files" in summary(result) and f"{FILES} encrypted already" in summary(result)
    assert not list(source.rglob("*.paes.paes"))
    succeed("encrypt", "-q", "-r", keys.recipient, "--format", "age", "-o", "a.paes.age", "sub/a", cwd=source)
    before = program.tree(source)
    fail("decrypt", "-f", "-i", keys.path, "--recursive", ".", cwd=source, code=USAGE, says=says)
    assert program.tree(source) == before


def test_an_input_is_known_by_all_its_names(source, keys, folder):
    """A link is followed where it is named. A hard link keeps what it holds."""
    seal = ("encrypt", "-q", "-r", keys.recipient)
    succeed(*seal, "a", cwd=source)
    succeed(*seal, "--format", "age", "-o", "a.paes.age", "sub/a", cwd=source)
    (folder / "link.paes").symlink_to(source / "a.paes")
    (folder / "hard.paes").hardlink_to(source / "a.paes")
    options = ("decrypt", "-q", "-f", "-i", keys.path, "-o", "out/", "a.paes.age")
    command = ("decrypt", "-q", "-f", "-i", keys.path, "a.paes.age")
    for name in (folder / "link.paes", source / "sub/../a.paes"):
        fail(*command, name, cwd=source, code=USAGE, says="is an input, and would be the output of a.paes.age")
    (folder / "hard.paes").unlink()
    fail(*command, folder / "link.paes", cwd=source, code=USAGE, says="is an input, and")
    (folder / "hard.paes").hardlink_to(source / "a.paes")
    succeed(*options, folder / "link.paes", cwd=source)  # into another folder
    succeed(*command, folder / "hard.paes", cwd=source)
    assert (source / "a.paes").read_bytes() == (source / "sub/a").read_bytes()
    assert (folder / "hard").read_bytes() == (source / "a").read_bytes()


@pytest.fixture
def caseless(preloaded):
    return preloaded(preload.CASELESS)


@pytest.fixture
def fat(tmp_path):
    """A mounted file system on which A and a are one name."""
    if os.geteuid() != 0 or shutil.which("mkfs.vfat") is None:
        pytest.skip("mounting FAT needs root and mkfs.vfat (Debian package dosfstools)")
    image, top = tmp_path / "image", tmp_path / "fat"
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    top.mkdir()
    subprocess.run(["mkfs.vfat", image], check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["mount", "-t", "vfat", "-o", "loop", image, top], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no FAT here: {made.stderr.strip()}")
    yield top
    subprocess.run(["umount", top], check=True)


def test_names_that_fat_does_not_tell_apart(fat, source, keys):
    check_alike(fat, source, keys, [])


def test_names_that_a_file_system_does_not_tell_apart(folder, caseless, source, keys):
    (folder / "top").mkdir()
    check_alike(folder / "top", source, keys, caseless)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("names", [("a", "A"), ("\u00e4", "\u00c4")], ids=["ASCII", "Latin-1"])
def test_outputs_that_a_file_system_does_not_tell_apart(names, at_once, folder, caseless, keys):
    """The first of them stays, in whatever letters the case differs."""
    (folder / "top").mkdir()
    for name in names:
        (folder / name).write_bytes(name.encode() if at_once else bytes(20 << 20))
    for _ in range(2):  # the second time both replace what was there
        result = run("encrypt", "-f", "-r", keys.recipient, "-o", "top/", *names, cwd=folder, prefix=caseless)
        assert result.code == SOME_FAILED and "is the output of another input already" in result.err
        assert os.listdir(folder / "top") == [f"{names[0]}.paes"]
    succeed("decrypt", "-q", "-i", keys.path, "-o", folder / "back", folder / f"top/{names[0]}.paes")
    first = (folder / "back").read_bytes()
    assert first in [(folder / name).read_bytes() for name in names]


def test_outputs_whose_numbers_change(folder, preloaded, keys):
    """FAT gives a file another number once it has left memory. Names that lead to two files still replace both."""
    (folder / "top").mkdir()
    names = ["a", "A", "\u00e4", "\u00c4"]
    for name in names:
        (folder / name).write_text(name)
    # One after the other: the file system of the test lists a file in small letters, whoever made it first.
    sealing = ("encrypt", "-f", "-T", "1", "-r", keys.recipient, "-o", "top/", *names)
    succeed(*sealing, cwd=folder)
    succeed(*sealing, cwd=folder, prefix=preloaded(preload.CASELESS, "-DNUMBERS_CHANGE"))
    shutil.rmtree(folder / "top")
    (folder / "top").mkdir()
    result = run(*sealing, cwd=folder, prefix=preloaded(preload.CASELESS, "-DNUMBERS_CHANGE"))
    assert result.code == SOME_FAILED and result.err.count("is the output of another input already") == 2
    assert sorted(os.listdir(folder / "top")) == ["a.paes", "\u00e4.paes"]


def check_alike(fat, source, keys, prefix):
    (source / "A").write_text("other")
    sealing = ("encrypt", "-q", "-r", keys.recipient, "a", "A")
    result = run(*sealing, "-f", "-o", f"{fat}/out/", cwd=source, prefix=prefix)
    assert result.code == SOME_FAILED and "is the output of another input already" in result.err
    assert len(list(fat.rglob("*"))) == 2
    shutil.rmtree(fat / "out")
    succeed(*sealing, cwd=source)
    for name in ("A.paes", "a.paes"):
        (source / name).unlink()
    succeed(*sealing[:4], "-o", fat / "one.paes", "a", cwd=source)
    succeed(*sealing[:4], "--format", "age", "-o", fat / "ONE.paes.age", "A", cwd=source)
    before = program.tree(fat)
    for what in (["ONE.paes.age", "one.paes"], ["--recursive", "."]):
        fail("decrypt", "-f", "-i", keys.path, *what, cwd=fat, prefix=prefix, code=USAGE,
             says="one.paes: is an input, and")
    assert program.tree(fat) == before


def test_one_name_in_two_folders_clashes_in_an_output_folder(source, keys, folder):
    options = ("encrypt", "-r", keys.recipient, "--new-identity", folder / "key", "a", "sub/a")
    fail(*options, "--output-dir", folder / "out", cwd=source, code=USAGE, says="both a and sub/a")
    assert not (folder / "out").exists()
    assert not (folder / "key").exists()
    succeed(*options, cwd=source)


def test_options_that_contradict_each_other(source, keys, folder):
    options = ("encrypt", "-r", keys.recipient, source / "a")
    fail(*options, "-f", "--skip-existing", code=USAGE, says="--skip-existing")
    fail(*options, "-o", "x", "--output-dir", "y", code=USAGE, says="--output-dir")
    fail(*options, "--recursive", "-o", folder / "x", code=USAGE, says="--output-dir DIR")
    fail(*options, "-", "--output-dir", folder / "x", code=USAGE, says="standard input")
    fail("encrypt", "-r", keys.recipient, "--recursive", code=USAGE, says="folder")


def test_a_folder_without_the_option(source, keys):
    fail("encrypt", "-r", keys.recipient, source, code=FAILURE, says="is a directory")


def test_existing_outputs(source, keys, folder):
    out = folder / "out"
    out.mkdir()
    (out / "a.paes").write_text("old")
    result = sealed_tree(source, keys, out)
    assert result.code == SOME_FAILED
    assert "a.paes: already exists" in result.err
    assert "; 1 failed" in summary(result)
    assert (out / "a.paes").read_text() == "old"
    found = document(sealed_tree(source, keys, out, "--skip-existing", "--json"))
    assert found["counts"]["skipped"]["exists"] == FILES
    assert found["counts"]["done"] == 0
    assert sealed_tree(source, keys, out, "-f").code == OK
    succeed("verify", "-q", "-i", keys.path, "--recursive", out)


def test_an_unreadable_file_and_folder_in_the_middle(source, keys, folder):
    (source / "sub/a").chmod(0)
    (source / "sub/deep").chmod(0)
    result = run("encrypt", "-r", keys.recipient, "--recursive", source, "--output-dir", folder / "out",
                 "--json", prefix=program.without_override())
    (source / "sub/deep").chmod(0o755)
    assert result.code == SOME_FAILED
    found = document(result)
    failed = {file["input"] for file in found["files"] if file["status"] == "failed"}
    assert failed == {str(source / "sub/a"), str(source / "sub/deep")}
    assert found["counts"] == {
        "done": 3, "failed": 2, "not_begun": 0,
        "skipped": {"not-regular": NOT_REGULAR, "encrypted": 0, "no-suffix": 0, "unfinished": 0, "exists": 0},
    }
    assert set(contents(folder / "out", ".paes")) == {"a", "b", os.fsdecode(b"z z\n\xff")}


def test_a_damaged_file_in_the_middle(source, keys, folder):
    out = folder / "out"
    sealed_tree(source, keys, out)
    damaged = out / "sub/a.paes"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    result = run("verify", "-i", keys.path, "--recursive", out)
    assert result.code == SOME_FAILED
    assert f"paes: {damaged}: " in result.err
    assert len(result.out.splitlines()) == FILES - 1
    result = run("decrypt", "-i", keys.path, "--recursive", out, "--output-dir", folder / "back")
    assert result.code == SOME_FAILED
    assert set(contents(folder / "back")) == set(contents(source)) - {"sub/a"}


def test_results_come_in_order(folder, keys, random_bytes):
    names = [f"{i:03}" for i in range(200)]
    for name in names:
        (folder / name).write_bytes(random_bytes(int(name) * 997 % 50_000))
    succeed("encrypt", "-q", "-r", keys.recipient, *names, cwd=folder)
    result = succeed("verify", "-i", keys.path, *(f"{name}.paes" for name in names), cwd=folder)
    assert [line.split(b":")[0].decode() for line in result.out.splitlines()] == [f"{n}.paes" for n in names]


def test_the_output_folder_may_lie_in_the_tree(source, keys):
    for _ in range(2):
        succeed("encrypt", "-r", keys.recipient, "--recursive", ".", "--skip-existing", "-o", "out/", cwd=source)
        assert len(contents(source / "out", ".paes")) == FILES


def test_what_other_runs_are_writing_is_left_out(source, keys):
    """A name alone says nothing: the user may have chosen it, or the run was killed."""
    path = source / ".paes-0123456789abcdef"
    path.write_text("half")
    with open(path, "r+b") as file:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, (1 << 63) - 2, 1, 0)
        fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK
        result = succeed("encrypt", "-r", keys.recipient, "--recursive", source)
        assert "1 of an unfinished run" in summary(result)
        assert not (source / f"{path.name}.paes").exists()
    result = succeed("encrypt", "-r", keys.recipient, "--recursive", source, "--skip-existing")
    assert (source / f"{path.name}.paes").exists()


def test_an_empty_tree_is_no_failure(folder, keys):
    result = run("encrypt", "--json", "-r", keys.recipient, "--recursive", folder)
    assert (result.code, document(result)["files"]) == (OK, [])


def test_a_passphrase_for_several(folder, random_bytes):
    (folder / "pass").write_text("word\n")
    for name in ("a", "b", "c"):
        (folder / name).write_bytes(random_bytes(100))
    options = ("--passphrase-file", "pass", "--output-dir", "out")
    succeed("encrypt", *options, "a", "b", "c", cwd=folder)
    succeed("decrypt", "--passphrase-file", "pass", "--recursive", "out", "-o", "back/", cwd=folder)
    assert contents(folder / "back") == dict.fromkeys("abc", random_bytes(100))


def test_the_new_key_is_kept_if_one_file_is_done(folder, keys, random_bytes):
    for name in ("a", "b"):
        (folder / name).write_bytes(random_bytes(100))
        (folder / f"{name}.paes").touch()
    assert run("encrypt", "--new-identity", "key", "a", "b", cwd=folder).code == SOME_FAILED
    assert not (folder / "key").exists()
    (folder / "b.paes").unlink()
    assert run("encrypt", "--new-identity", "key", "a", "b", cwd=folder).code == SOME_FAILED
    succeed("verify", "-i", "key", "b.paes", cwd=folder)


def test_many_files_need_few_descriptors(folder, keys):
    top = folder / "many"
    top.mkdir()
    for i in range(500):
        (top / f"{i}").write_bytes(b"text")
    prefix = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"]
    succeed("encrypt", "-q", "-r", keys.recipient, "--recursive", top, prefix=prefix)
    assert len(contents(top, ".paes")) == 500


FILES_TO_KILL = 1500


OUTPUTS = {"encrypt": ("in", "out"), "decrypt": ("out", "back")}
# The most that each small file may add. With random numbers in user space (glibc 2.41) encryption makes one fewer.
CALLS_OF_A_FILE = {"encrypt": 19, "decrypt": 17}
# Nobody has listed the folders of files that a user names.
CALLS_OF_A_NAMED_FILE = {"encrypt": 19, "decrypt": 20}


@pytest.mark.parametrize("most, is_named", [(CALLS_OF_A_FILE, False), (CALLS_OF_A_NAMED_FILE, True)], ids=["found", "named"])
def test_system_calls_of_a_file(folder, keys, most, is_named):
    """What is true of a whole folder is asked for once, and a small file is read at once."""
    can_trace = shutil.which("strace") and subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], check=False)
    if not can_trace or can_trace.returncode != 0:
        pytest.skip("strace is missing, or may trace nothing here")

    def calls(count, command, *arguments):
        counts = folder / "counts"
        taken, made = (folder / str(count) / name for name in OUTPUTS[command])
        inputs = sorted(os.listdir(taken)) if is_named else ["--recursive", taken]
        result = subprocess.run(
            ["strace", "-f", "-c", "-U", "calls,name", "-o", counts, program.PAES, command, "-T", "1", *arguments,
             *inputs, "--output-dir", made],
            cwd=taken, env=program.clean_environment(), check=False, capture_output=True)
        assert result.returncode == OK, result.stderr
        return int(re.search(r"(\d+) total", counts.read_text())[1])

    few, many = 40, 140
    for count in (few, many):
        (folder / str(count) / "in").mkdir(parents=True)
        for number in range(count):
            (folder / str(count) / "in" / f"{number:03}").write_bytes(os.urandom(4096))
    for command, *keys_of_command in (("encrypt", "-r", keys.recipient), ("decrypt", "-i", keys.path)):
        of_each = (calls(many, command, *keys_of_command) - calls(few, command, *keys_of_command)) / (many - few)
        assert round(of_each, 1) <= most[command], f"{command}: {of_each} a file"
    assert contents(folder / str(many) / "in") == contents(folder / str(many) / "back")


def test_what_earlier_runs_left_is_told_of_once_for_each_file(folder, keys, random_bytes):
    """It is looked for where a listing of the folder has such a name."""
    for name in ("in/a", "in/b", "in/c", "in/sub/a"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(random_bytes(100))
    encrypt = ("encrypt", "-f", "-r", keys.recipient, "--recursive", folder / "in", "--output-dir", folder / "out")
    assert "left" not in succeed(*encrypt).err
    (folder / "out/a.paes.rekey").write_bytes(b"copy")
    (folder / "out/b.paes.partial").write_bytes(b"part")
    (folder / "out/b.paes.journal").write_bytes(b"journal")
    (folder / "out/c.paes.partial").write_bytes(b"without a journal it is not paes's")

    def told(result):
        return sorted(re.findall(r"^paes: warning: (\S+): an interrupted (\w+) left", result.err, re.MULTILINE))

    rekeyed, partial = (str(folder / "out/a.paes"), "rekey"), (str(folder / "out/b.paes.partial"), "run")
    assert told(succeed(*encrypt)) == [rekeyed, partial]
    decrypt = ("decrypt", "-f", "-i", keys.path, "--recursive", folder / "out", "--output-dir", folder / "back")
    assert told(succeed(*decrypt)) == [rekeyed]
    assert told(succeed("verify", "-i", keys.path, "--recursive", folder / "out")) == [rekeyed]
    (folder / "back/sub/a.partial").write_bytes(b"part")
    (folder / "back/sub/a.journal").write_bytes(b"journal")
    assert told(succeed(*decrypt)) == sorted([rekeyed, (str(folder / "back/sub/a.partial"), "run")])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    top = tmp_path_factory.mktemp("many") / "source"
    for i in range(FILES_TO_KILL):
        path = top / f"{i % 10}" / f"{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"text {i} ".encode() * 500)
    return top


def test_killed_at_any_moment_and_run_again(many, keys, tmp_path):
    """Whatever has its name is whole, and the same command with --skip-existing does the rest."""
    texts = contents(many)
    command = ["encrypt", "-q", "-r", keys.recipient, "--recursive", many, "--skip-existing",
               "--output-dir", tmp_path / "out"]
    begun = time.monotonic()
    succeed(*command)
    seconds = time.monotonic() - begun
    shutil.rmtree(tmp_path / "out")
    moments = random.Random(1)
    kills = 0
    for _ in range(20):
        process = start(*command)
        time.sleep(moments.uniform(0, seconds / 4))
        process.send_signal(moments.choice([signal.SIGKILL, signal.SIGTERM]))
        kills += process.wait() != OK
        if (tmp_path / "out").exists():
            sealed = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
            assert all(path.name.endswith(".paes") or path.name.startswith(".paes-") for path in sealed)
            assert succeed("verify", "-q", "-i", keys.path, "--recursive", tmp_path / "out").out == b""
    assert kills > 0
    succeed(*command)
    assert set(contents(tmp_path / "out", ".paes")) == set(texts)
    succeed("decrypt", "-q", "-i", keys.path, "--recursive", tmp_path / "out", "--output-dir", tmp_path / "back")
    assert contents(tmp_path / "back") == texts


def test_stopped_by_a_signal(many, keys, tmp_path):
    process = start("encrypt", "--json", "-r", keys.recipient, "--recursive", many, "--output-dir",
                    tmp_path / "out", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.wait_until(lambda: any((tmp_path / "out").rglob("*.paes")), "the first output")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    if process.returncode == OK:
        pytest.skip("the run was over before the signal came")
    assert process.returncode == -signal.SIGTERM
    found = document(program.Result(0, out, err))
    counts = found["counts"]
    done = {file["output"] for file in found["files"] if file["status"] == "done"}
    assert done == {str(path) for path in (tmp_path / "out").rglob("*.paes")}
    assert counts["done"] == len(done) and counts["not_begun"] > 0
    assert b": interrupted: not begun, nor " in err


def test_names_appear_after_their_data_is_synced(many, keys, tmp_path):
    """As the system calls of a run tell: no link before a sync of everything written before it."""
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    log = tmp_path / "calls"
    succeed("encrypt", "-q", "-T", 1, "-r", keys.recipient, "--recursive", many / "1", "--output-dir",
            tmp_path / "out", prefix=["strace", "-f", "-o", log, "-e",
                                      "trace=pwritev,syncfs,fsync,linkat,renameat2,rename"])
    written = synced = syncs = named = 0
    for line in log.read_text(errors="replace").splitlines():
        if "pwritev(" in line:
            written += 1
        elif "syncfs(" in line:
            synced = written
            syncs = FILES_TO_KILL  # it is for all of them
        elif "fsync(" in line:
            synced = written
            syncs += 1
        elif "linkat(" in line or "renameat2(" in line:
            assert synced == written  # with one thread nothing is written meanwhile
            named += 1
    assert named == FILES_TO_KILL // 10
    assert syncs >= named


@pytest.mark.parametrize("fail_at, code", [("1", OK), ("1-", SOME_FAILED), ("2-", SOME_FAILED)])
def test_a_sync_that_fails(fail_at, code, many, keys, tmp_path, preloaded):
    """If all of the file system cannot be synced, each file is; one that cannot be gets no name."""
    (tmp_path / "out").mkdir()  # or the first sync would be that of the folder where it is made
    environment = [f"FAIL_AT={fail_at}", f"CALLS={tmp_path / 'calls'}"]
    result = run("encrypt", "--json", "-T", "1", "-r", keys.recipient, "--recursive", many / "1", "--output-dir",
                 tmp_path / "out", prefix=[*preloaded(preload.FAILING), *environment])
    assert result.code == code, result.err
    found = document(result)
    done = {file["output"] for file in found["files"] if file["status"] == "done"}
    assert {str(path) for path in (tmp_path / "out").rglob("*.paes")} >= done
    if code == OK:
        assert len(done) == FILES_TO_KILL // 10
    else:
        failed = [file["error"]["message"] for file in found["files"] if file["status"] == "failed"]
        assert failed and all("Input/output error" in message for message in failed)
    assert not list((tmp_path / "out").rglob(".*"))


def test_files_of_age(many, keys, tmp_path):
    succeed("encrypt", "-q", "--format", "age", "-r", keys.recipient, "--recursive", many / "3", "--output-dir",
            tmp_path / "out")
    sealed = sorted((tmp_path / "out").iterdir())
    assert len(sealed) == FILES_TO_KILL // 10 and all(path.suffix == ".age" for path in sealed)
    assert sealed[0].read_bytes().startswith(b"age-encryption.org/v1\n")
    succeed("verify", "-q", "-i", keys.path, "--recursive", tmp_path / "out")
    succeed("decrypt", "-q", "-i", keys.path, "--recursive", tmp_path / "out", "--output-dir", tmp_path / "back")
    assert contents(tmp_path / "back") == contents(many / "3")


def test_age_opens_what_many_threads_wrote(many, keys, tmp_path):
    """The envelope of each file is of its own key."""
    succeed("encrypt", "-q", "-r", keys.recipient, "--recursive", many / "2", "--output-dir", tmp_path / "out")
    heads = {path.read_bytes()[16:200] for path in (tmp_path / "out").iterdir()}
    assert len(heads) == FILES_TO_KILL // 10
