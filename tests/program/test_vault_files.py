# SPDX-License-Identifier: Apache-2.0
# paes vault ls, cat, get, put and export: the files of a vault without a mount. gocryptfs reads what put has written, and
# wrote what get and export read. Runs that are killed, and calls of the system that fail, leave the old or the new.
import errno
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import gocryptfs
import preload
import program
import pytest
from program import CORRUPT, FAILURE, OK, SOME_FAILED, USAGE, WRONG_KEY, fail, run, succeed
from vault import CHEAP

BLOCK = 4096
EXHAUSTIVE = bool(os.environ.get("PAES_EXHAUSTIVE"))

# Options of gocryptfs for each kind of vault.
KINDS = {
    "aes-gcm": (),
    "aes-siv": ("-aessiv",),
    "xchacha": ("-xchacha",),
    "plain names": ("-plaintextnames",),
    "deterministic names": ("-deterministic-names",),
    "long names from 62 on": ("-longnamemax", "62"),
}


class Vault:
    """A vault that paes has made, and how commands open it."""

    def __init__(self, folder, *options):
        folder.mkdir()
        self.path = folder / "vault"
        self.path.mkdir()
        self.pass_file = folder / "pass"
        self.pass_file.write_text("words\n")
        self.key = ("--passphrase-file", self.pass_file)
        succeed("vault", "init", *CHEAP, *self.key, *options, self.path)

    def words(self, command, *arguments):
        return ("vault", command, *self.key, self.path, *arguments)

    def do(self, command, *arguments, **options):
        return succeed(*self.words(command, *arguments), **options)

    def refuse(self, command, *arguments, code, says="", **options):
        return fail(*self.words(command, *arguments), code=code, says=says, **options)

    def names(self, *options):
        return self.do("ls", "-R", "-0", *options).out.split(b"\0")[:-1]

    def leftovers(self):
        document = json.loads(run(*self.words("fsck"), "--json").out)
        return [one["path"] for one in document["leftovers"]]

    def check(self):
        """Nothing is damaged and nothing left over."""
        assert self.do("fsck", "-q").err == ""
        assert self.leftovers() == []


@pytest.fixture(name="vault")
def vault_fixture(tmp_path):
    return Vault(tmp_path / "made")


def text_of(size, seed=0):
    return random.Random(size + (seed << 32)).randbytes(size)


SIZES = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 262_144, 262_145, 2_500_003)


def make_tree(root):
    """Sizes around every edge, names of every length and kind, links, holes, deep folders, modes and times."""
    root.mkdir()
    top = os.fsencode(root)
    for size in SIZES:
        (root / f"of {size} bytes").write_bytes(text_of(size))
    names = [b"x" * 175, b"y" * 176, b"z" * 255, b"\xff\xfe\x80", b"a\nline", b"\x1b[31mred", "Grün".encode(), b"-n",
             b" ", b"gocryptfs.diriv2", b"gocryptfs.longname.x"]
    (root / "names").mkdir()
    for name in names:
        Path(os.fsdecode(top + b"/names/" + name)).write_bytes(name)
        os.mkdir(top + b"/names/" + name[:200] + b".d")
    os.symlink(b"target of a long name", top + b"/names/" + b"l" * 230)
    deep = root / "deep"
    for depth in range(60):
        deep /= f"folder {depth}"
    deep.mkdir(parents=True)
    (deep / "file").write_text("at the bottom")
    os.symlink("of 1 bytes", root / "link")
    os.symlink("/nowhere/at/all", root / "dangling")
    os.symlink(b"\xff" + b"t" * 2500, top + b"/far")
    with open(root / "sparse", "wb") as file:
        file.seek(64 * BLOCK)
        file.write(b"text")
        file.truncate(1 << 22)
    (root / "only a hole").write_bytes(b"")
    os.truncate(root / "only a hole", 300_000)
    (root / "zeros").write_bytes(bytes(20_000))
    (root / "empty folder").mkdir()
    for number, mode in enumerate((0o600, 0o640, 0o755, 0o400)):
        path = root / f"of mode {mode:o}"
        path.write_text(str(mode))
        path.chmod(mode)
        os.utime(path, ns=(1, 1_234_567_890_123_456_789 + number))
    (root / "empty folder").chmod(0o750)
    os.utime(root / "names", ns=(1, 987_654_321_987_654_321))
    os.utime(root / "link", ns=(1, 777_000_000_000_000_777), follow_symlinks=False)
    return root


def facts(root):
    """All that is kept of what lies below, by its path."""
    root = os.fsencode(root)
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = None
            if kind == stat.S_IFLNK:
                content = os.readlink(path)
            elif kind == stat.S_IFREG:
                with open(path, "rb") as file:
                    content = file.read()
            mode = None if kind == stat.S_IFLNK else stat.S_IMODE(status.st_mode)
            found[os.path.relpath(path, root)] = (kind, mode, status.st_mtime_ns, content)
    return found


def assert_same(one, other):
    ours, theirs = facts(one), facts(other)
    assert ours.keys() == theirs.keys()
    for path, fact in ours.items():
        assert fact == theirs[path], path


@pytest.fixture(name="tree")
def tree_fixture(tmp_path):
    return make_tree(tmp_path / "tree")


# ---- gocryptfs in both directions


@gocryptfs.NEEDS_MOUNTS
@pytest.mark.parametrize("kind", KINDS)
def test_gocryptfs_reads_what_put_writes(tmp_path, tree, kind):
    volume = gocryptfs.Volume(tmp_path / "volume", *KINDS[kind])
    key = ("--passphrase-file", volume.passphrase_file)
    succeed("vault", "put", *key, "--to", "new/folder", volume.stored, tree, f"{tree}/.", umask=0)
    with volume.mounted() as shown:
        assert_same(tree, shown / "new" / "folder" / "tree")
        shutil.rmtree(shown / "new" / "folder" / "tree")
        assert_same(tree, shown / "new" / "folder")
        # The blocks of holes are holes, and zeros that were written are no holes.
        assert (shown / "new" / "folder" / "sparse").stat().st_blocks < 100
        assert (shown / "new" / "folder" / "zeros").stat().st_blocks >= 40
    assert volume.fsck()[0] == 0
    assert succeed("vault", "fsck", *key, "-q", volume.stored).err == ""


@gocryptfs.NEEDS_MOUNTS
@pytest.mark.parametrize("kind", KINDS)
def test_get_and_export_read_what_gocryptfs_writes(tmp_path, tree, kind):
    volume = gocryptfs.Volume(tmp_path / "volume", *KINDS[kind])
    key = ("--passphrase-file", volume.passphrase_file)
    with volume.mounted() as shown:
        subprocess.run(["cp", "-a", "--sparse=always", tree, shown / "copy"], check=True)
    succeed("vault", "get", *key, volume.stored, "copy", tmp_path / "got", umask=0)
    assert_same(tree, tmp_path / "got")
    succeed("vault", "export", *key, volume.stored, tmp_path / "exported", umask=0)
    assert_same(tree, tmp_path / "exported" / "copy")
    assert (tmp_path / "got" / "sparse").stat().st_blocks < 100
    assert succeed("vault", "cat", *key, volume.stored, "copy/of mode 400").out == b"256"


def test_what_put_writes_get_brings_back(vault, tree, tmp_path):
    vault.do("put", tree, umask=0)
    vault.check()
    vault.do("get", "tree", tmp_path / "back", umask=0)
    assert_same(tree, tmp_path / "back")
    vault.do("export", "--threads", 1, tmp_path / "all", umask=0)
    assert_same(tree, tmp_path / "all" / "tree")


def test_the_umask_counts_for_what_get_makes(vault, tmp_path):
    (tmp_path / "open").write_text("text")
    (tmp_path / "open").chmod(0o6777)
    vault.do("put", tmp_path / "open")
    vault.do("get", "open", tmp_path / "got", umask=0o027)
    assert stat.S_IMODE((tmp_path / "got").stat().st_mode) == 0o750


# ---- where things go


def test_get_goes_into_a_folder_or_gets_a_name(vault, tmp_path, folder):
    (tmp_path / "file").write_text("text")
    vault.do("put", "--as", "a/b/file", tmp_path / "file")
    vault.do("get", "/a//b/./file", folder)
    assert (folder / "file").read_text() == "text"
    vault.do("get", "a/b/file", folder / "other")
    assert (folder / "other").read_text() == "text"
    vault.do("get", "a", cwd=folder)
    assert (folder / "a" / "b" / "file").read_text() == "text"
    vault.refuse("get", "a/b/file", folder / "none" / "file", code=FAILURE, says="No such file")


def test_links_that_lead_nowhere_are_put_as_links(vault, tmp_path):
    targets = {"loop": "loop", "long": "t" * 300, "to the vault": vault.path, "above": ".."}
    for name, target in targets.items():
        os.symlink(target, tmp_path / name)
    vault.do("put", *targets, cwd=tmp_path)
    vault.do("export", tmp_path / "out")
    assert {name: os.readlink(tmp_path / "out" / name) for name in targets} == {
        name: str(target) for name, target in targets.items()}
    vault.do("put", "--as", "one", tmp_path / "loop")
    os.symlink("loop", vault.path / "inside")
    vault.refuse("put", vault.path / "inside", code=USAGE, says="vault itself")
    (vault.path / "inside").unlink()
    vault.check()


def test_a_pipe_that_is_named_by_a_link_is_refused(vault):
    """A link would be put in the place of the text."""
    result = subprocess.run([program.PAES, *vault.words("put", "--as", "x", "/dev/stdin")], input=b"text", timeout=60,
                            capture_output=True, check=False, env=program.clean_environment())
    assert result.returncode == USAGE and b"neither a file nor a folder" in result.stderr, result.stderr
    assert vault.names() == []


@pytest.mark.parametrize("option", [(), ("-f",), ("--update",)])
def test_sources_of_one_name(vault, tmp_path, option):
    for folder in ("a", "b"):
        (tmp_path / folder / "both").mkdir(parents=True)
        (tmp_path / folder / "x").write_text(f"x of {folder}")
    (tmp_path / "c").mkdir()
    os.symlink("target", tmp_path / "c" / "both")
    for sources in (("a/x", "b/x"), ("a/x", "a/x"), ("a/both", "c/both"), ("c/both", "b/both/")):
        vault.refuse("put", *option, *sources, code=USAGE, says="one name in the vault", cwd=tmp_path)
    assert vault.names() == []


@pytest.mark.parametrize("sources", [("a/both", "b/both"), ("a/.", "b/.")])
def test_folders_of_one_name_become_one(vault, tmp_path, sources):
    for folder in ("a", "b"):
        (tmp_path / folder / "both").mkdir(parents=True)
        (tmp_path / folder / "both" / f"of {folder}").write_text("text")
        (tmp_path / folder / "both" / "same").write_text(folder)
    (tmp_path / "b" / "both" / "same").write_text("longer")
    result = run(*vault.words("put", *sources), cwd=tmp_path)
    assert result.code == SOME_FAILED and "already exists" in result.err, result.err
    assert vault.names() == [b"both", b"both/of a", b"both/of b", b"both/same"]
    assert vault.do("cat", "both/same").out == b"a"
    for option in ("-f", "--update"):
        vault.do("put", option, "--to", option, *sources, cwd=tmp_path)
        assert vault.do("cat", f"/{option}/both/same").out == b"longer"
        assert len(vault.names()) == (9 if option == "-f" else 14)
    vault.check()


def test_the_last_of_two_files_of_one_name_stays(vault, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same").write_text("text of " + folder)
    vault.do("put", "-f", "a/.", "b/.", cwd=tmp_path)
    assert vault.do("cat", "same").out == b"text of b"
    vault.check()


def test_put_from_standard_input(vault, tmp_path):
    text = text_of(1_000_000)
    vault.do("put", "--as", "from/pipe", "-", stdin=text)
    assert vault.do("cat", "from/pipe").out == text
    with open(tmp_path / "fed", "wb+") as feed:
        feed.write(text[:5000])
        feed.seek(0)
        vault.do("put", "-f", "--as", "from/pipe", "-", stdin=feed)
    assert vault.do("cat", "from/pipe").out == text[:5000]
    vault.refuse("put", "-", code=USAGE, says="--as gives it one")
    vault.refuse("put", "--as", "x", "-", "--passphrase-file", "-", code=USAGE, says="standard input|passphrase")
    vault.check()


@pytest.mark.parametrize("source", ["..", ".", "vault", "vault/gocryptfs.conf"])
def test_a_vault_is_not_put_into_itself(vault, source):
    before = program.tree(vault.path)
    vault.refuse("put", source, code=USAGE, says="vault itself", cwd=vault.path.parent)
    assert program.tree(vault.path) == before


@pytest.mark.parametrize("source", ["source", "source/shown", "source/shown/gocryptfs.conf"])
def test_a_vault_that_is_mounted_in_a_source_is_left_out(vault, tmp_path, mount_space, source):
    shown = tmp_path / "source" / "shown"
    shown.mkdir(parents=True)
    (tmp_path / "source" / "file").write_text("text")
    script = 'mount --bind "$1" "$2" || exit 99; shift 2; ulimit -f 1000; exec timeout 20 "$@"'
    words = (program.PAES, *vault.words("put", tmp_path / source))
    before = program.tree(vault.path)
    done = subprocess.run([*mount_space, "sh", "-c", script, "sh", vault.path, shown, *words], capture_output=True,
                          env=program.clean_environment(), timeout=program.TIMEOUT_S, check=False)
    if done.returncode == 99:
        pytest.skip(f"no mounts in a namespace here: {done.stderr.decode().strip()}")
    if done.returncode == 124:
        subprocess.run(["rm", "-rf", vault.path], check=False)  # too deep for what clears the folders of tests
    assert b"vault itself" in done.stderr, done.stderr
    if source == "source":
        assert done.returncode == SOME_FAILED
        assert vault.names() == [b"source", b"source/file"]
        vault.check()
    else:
        assert done.returncode == USAGE
        assert program.tree(vault.path) == before


@pytest.mark.parametrize("command", ["get vault", "get -f vault", "export", "export -f", "get file", "export to a new folder",
                                     "get to a dangling link"])
def test_a_vault_below_the_destination_is_not_written_into(vault, tmp_path, command):
    """What is in the vault has the vault's own name, or DEST leads there by the working folder or a link."""
    tree = tmp_path / "vault"
    (tree / "sub").mkdir(parents=True)
    for name in ("gocryptfs.conf", "sub/file"):
        (tree / name).write_text("text")
    vault.do("put", tree, tree / "sub" / "file")
    before = program.tree(vault.path)
    folder, words = {
        "get vault": (vault.path.parent, ("get", "vault")),
        "get -f vault": (vault.path.parent, ("get", "-f", "vault", ".")),
        "export": (vault.path.parent, ("export", ".")),
        "export -f": (vault.path.parent, ("export", "-f", ".")),
        "get file": (vault.path, ("get", "file", "new")),
        "export to a new folder": (vault.path, ("export", "new")),
        "get to a dangling link": (tmp_path, ("get", "file", "link")),
    }[command]
    os.symlink(tmp_path / "other", tmp_path / "link")
    os.symlink(vault.path / "new", tmp_path / "other")
    vault.refuse(*words, code=USAGE, says="lies in the vault itself|is the vault itself", cwd=folder)
    assert program.tree(vault.path) == before


@pytest.mark.parametrize("place", ["shown", "shown/new", "above"])
def test_a_vault_that_a_mount_shows_is_not_written_into(vault, tmp_path, mount_space, place):
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file", *(["--to", vault.path.name] if place == "above" else []))
    before = program.tree(vault.path)
    shown = tmp_path / "shown"
    shown.mkdir()
    where = tmp_path / "above" / vault.path.name if place == "above" else shown
    where.mkdir(parents=True, exist_ok=True)
    script = 'mount --bind "$1" "$2" || exit 99; shift 2; "$@"'
    for words in (("export", "-f"), ("get", "-f", vault.path.name if place == "above" else "file")):
        words = (program.PAES, *vault.words(*words, tmp_path / place))
        done = subprocess.run([*mount_space, "sh", "-c", script, "sh", vault.path, where, *words], capture_output=True,
                              env=program.clean_environment(), timeout=program.TIMEOUT_S, check=False)
        if done.returncode == 99:
            pytest.skip(f"no mounts in a namespace here: {done.stderr.decode().strip()}")
        assert done.returncode == USAGE and b"the vault itself" in done.stderr, done.stderr
    assert program.tree(vault.path) == before


@pytest.mark.parametrize("command", ["export", "get", "export above", "put"])
def test_a_folder_of_a_vault_that_a_mount_shows_is_not_written_into(vault, tmp_path, mount_space, command):
    """Nothing on its path is the folder of the vault."""
    tree = tmp_path / "shown"
    (tree / "in").mkdir(parents=True)
    (tree / "file").write_text("text")
    vault.do("put", tree)
    before = program.tree(vault.path)
    (stored,) = [path for path in vault.path.iterdir() if path.is_dir()]
    (inner,) = [path for path in stored.iterdir() if path.is_dir()]
    shown = tmp_path / "outside" / "shown"
    (shown / "in").mkdir(parents=True)
    words, where, which = {
        "export": (("export", "-f", shown / "new"), shown, inner),
        "get": (("get", "-f", "shown/file", shown), shown, stored),
        "export above": (("export", "-f", tmp_path / "outside"), shown / "in", inner),
        "put": (("put", "-f", tmp_path / "outside"), shown, stored),
    }[command]
    script = 'mount --bind "$1" "$2" || exit 99; shift 2; ulimit -f 1000; exec timeout 20 "$@"'
    done = subprocess.run([*mount_space, "sh", "-c", script, "sh", which, where, program.PAES, *map(str, vault.words(*words))],
                          capture_output=True, env=program.clean_environment(), timeout=program.TIMEOUT_S, check=False)
    if done.returncode == 99:
        pytest.skip(f"no mounts in a namespace here: {done.stderr.decode().strip()}")
    assert b"the vault itself" in done.stderr, done.stderr
    assert done.returncode == USAGE, done.stderr
    if command == "put":
        assert sorted(vault.names()) == [b"outside", b"shown", b"shown/file", b"shown/in"]
        vault.check()
    else:
        assert program.tree(vault.path) == before


@pytest.mark.parametrize("place", ["vault", "vault/new", "vault/../vault/x"])
def test_nothing_in_the_plain_is_written_into_a_vault(vault, tmp_path, place):
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file")
    before = program.tree(vault.path)
    vault.refuse("get", "file", place, code=USAGE, says="lies in the vault", cwd=vault.path.parent)
    vault.refuse("export", place, code=USAGE, says="lies in the vault", cwd=vault.path.parent)
    assert program.tree(vault.path) == before


def test_standard_output_is_no_destination(vault, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file")
    new = ("--new-passphrase-file", vault.pass_file)
    for words in (("get", "file", "-"), ("get", "-f", "file", "-"), ("export", "-"),
                  ("passwd", *new, "--new-config", "-")):
        vault.refuse(*words, code=USAGE, says="standard output", cwd=here)
        assert list(here.iterdir()) == []
    vault.do("get", "file", "./-", cwd=here)
    assert (here / "-").read_text() == "text"


def test_paths_that_lead_nowhere(vault, tmp_path):
    (tmp_path / "file").write_text("text")
    os.symlink("/etc", tmp_path / "etc")
    vault.do("put", tmp_path / "file", tmp_path / "etc")
    for command in ("cat", "get", "ls"):
        vault.refuse(command, "none", code=FAILURE, says="is not in the vault")
        vault.refuse(command, "../file", code=USAGE, says=r"has '\.\.'")
        vault.refuse(command, "file/x", code=FAILURE, says="is not a folder")
        vault.refuse(command, "etc/passwd", code=FAILURE, says="links in a vault are not followed")
        vault.refuse(command, "n" * 256, code=FAILURE, says="too long")
    vault.refuse("cat", "/", code=FAILURE, says="no regular file")
    vault.refuse("get", "/", code=USAGE, says="export")
    vault.refuse("put", tmp_path / "none", code=FAILURE, says="No such file")
    vault.refuse("put", "--to", "file/x", tmp_path / "file", code=FAILURE, says="not a folder")
    vault.refuse("put", "--to", "etc/x", tmp_path / "file", code=FAILURE, says="not a folder")


def test_names_that_the_vault_keeps_for_itself(tmp_path):
    vault = Vault(tmp_path / "made", "--plaintext-names")
    (tmp_path / "gocryptfs.conf").write_text("{}")
    before = program.tree(vault.path)
    vault.refuse("put", "-f", tmp_path / "gocryptfs.conf", code=FAILURE)
    vault.refuse("cat", "gocryptfs.conf", code=FAILURE)
    assert program.tree(vault.path) == before
    assert vault.do("ls").out == b""


def test_what_is_no_file_is_left_out(vault, tmp_path):
    (tmp_path / "tree").mkdir()
    os.mkfifo(tmp_path / "tree" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "tree" / "socket"))
        (tmp_path / "tree" / "file").write_text("text")
        result = vault.do("put", tmp_path / "tree")
    assert result.err.count("left out") == 2
    assert vault.names() == [b"tree", b"tree/file"]


# ---- nothing is replaced unless the user says so


def test_put_replaces_nothing_by_itself(vault, tmp_path):
    source = tmp_path / "file"
    source.write_text("old")
    vault.do("put", source)
    source.write_text("newer")
    before = program.tree(vault.path)
    vault.refuse("put", source, code=FAILURE, says="already exists in the vault")
    assert program.tree(vault.path) == before
    vault.do("put", "-f", source)
    assert vault.do("cat", "file").out == b"newer"
    source.unlink()
    source.mkdir()
    vault.refuse("put", "-f", source, code=FAILURE, says="not a folder in the vault")
    vault.do("put", "--as", "folder", source)
    source.rmdir()
    source.write_text("file")
    vault.refuse("put", "-f", "--as", "folder", source, code=FAILURE, says="is a folder in the vault")
    vault.check()


def test_get_replaces_nothing_by_itself(vault, tmp_path, folder):
    (tmp_path / "file").write_text("of the vault")
    os.symlink("target", tmp_path / "link")
    vault.do("put", tmp_path / "file", tmp_path / "link")
    for name in ("file", "link"):
        (folder / name).write_text("mine")
        result = vault.refuse("get", name, folder, code=FAILURE, says=f"{name}: already exists")
        assert "give -f" in result.err and "-o" not in result.err
        assert (folder / name).read_text() == "mine"
    result = run(*vault.words("export", folder))
    assert result.code == SOME_FAILED and result.err.count("exists") == 2, result.err
    assert (folder / "file").read_text() == (folder / "link").read_text() == "mine"
    vault.do("export", "-f", folder)
    assert (folder / "file").read_text() == "of the vault" and os.readlink(folder / "link") == "target"
    assert sorted(os.listdir(folder)) == ["file", "link"]


@pytest.mark.parametrize("option", ["--update", "-f"])
@pytest.mark.parametrize("what", ["passphrase", "config", "master key"])
def test_get_replaces_no_file_that_opens_the_vault(tmp_path, folder, what, option):
    vault = Vault(tmp_path / "own", "--master-key-out", tmp_path / "key")
    source = tmp_path / "source"
    source.mkdir()
    (source / "mine").write_text("of the vault")
    os.symlink("target", source / "link")
    vault.do("put", source, source / "mine")
    configuration = vault.path / "gocryptfs.conf"
    key = {"passphrase": ("--passphrase-file", "mine"), "config": (*vault.key, "--config", "mine"),
           "master key": ("--master-key", "mine")}[what]
    before = {"passphrase": vault.pass_file, "config": configuration, "master key": tmp_path / "key"}[what].read_bytes()
    (folder / "mine").write_bytes(before)
    for destination in (".", "mine"):
        fail("vault", "get", option, *key, vault.path, "mine", destination, code=USAGE, says=f"is the file of the {what}",
             cwd=folder)
    fail("vault", "get", option, *key, vault.path, "source/link", "mine", code=USAGE, says=f"is the file of the {what}",
         cwd=folder)
    result = run("vault", "export", option, *key, vault.path, ".", cwd=folder)
    assert result.code == SOME_FAILED and f"is the file of the {what}" in result.err, result.err
    assert (folder / "mine").read_bytes() == before and not (folder / "mine").is_symlink()
    assert (folder / "source" / "mine").read_text() == "of the vault"


def test_get_follows_no_link_below_its_folder(vault, tmp_path, folder):
    (tmp_path / "tree" / "in").mkdir(parents=True)
    (tmp_path / "tree" / "in" / "file").write_text("text")
    vault.do("put", tmp_path / "tree")
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "tree").mkdir()
    os.symlink(outside, folder / "tree" / "in")
    vault.refuse("get", "-f", "tree", folder, code=FAILURE, says="tree/in: Too many levels of symbolic links")
    assert list(outside.iterdir()) == []


def stored_files(vault):
    """The stored files by inode, so that one that was written anew is another."""
    statuses = [path.lstat() for path in program.all_below(vault.path)]
    return {status.st_ino for status in statuses if stat.S_ISREG(status.st_mode)}


def test_update_writes_what_has_changed_alone(vault, tree, tmp_path):
    vault.do("put", "--update", tree, umask=0)
    before = stored_files(vault)
    result = vault.do("put", "--update", tree)
    assert stored_files(vault) == before
    assert " 0 files" in result.err and "up to date" in result.err
    (tree / "of 1 bytes").write_bytes(b"!")  # another time
    keeps_time = tree / f"of {BLOCK} bytes"
    status = keeps_time.stat()
    keeps_time.write_bytes(b"longer" * BLOCK)
    os.utime(keeps_time, ns=(status.st_atime_ns, status.st_mtime_ns))
    (tree / "new").write_text("new")
    (tree / "link").unlink()
    os.symlink("elsewhere", tree / "link")
    (tree / "of mode 600").unlink()
    os.symlink("was a file", tree / "of mode 600")
    vault.do("put", "--update", tree, umask=0)
    assert len(before - stored_files(vault)) == 3
    shutil.rmtree(tmp_path / "back", ignore_errors=True)
    vault.do("get", "tree", tmp_path / "back", umask=0)
    assert_same(tree, tmp_path / "back")
    vault.check()


def state_of(path):
    """Another one of a new file, even if that has got the inode of the old one."""
    status = path.lstat()
    return status.st_ino, status.st_ctime_ns


def test_get_with_update(vault, tree, tmp_path, folder):
    vault.do("put", tree, umask=0)
    vault.do("get", "tree", folder, umask=0)
    states = {path: state_of(path) for path in program.all_below(folder) if path.is_symlink() or not path.is_dir()}
    (folder / "tree" / "zeros").write_text("changed")
    (folder / "tree" / "link").unlink()
    os.symlink("elsewhere", folder / "tree" / "link")
    (folder / "tree" / "mine").write_text("stays")
    vault.do("get", "--update", "tree", folder, umask=0)
    (folder / "tree" / "mine").unlink()
    os.utime(folder / "tree", ns=(0, tree.stat().st_mtime_ns))
    assert_same(tree, folder / "tree")
    assert [path.name for path, state in states.items() if state_of(path) != state] == ["link", "zeros"]
    result = vault.do("export", "--update", folder, umask=0)
    assert " 0 files" in result.err and "up to date" in result.err


def test_one_code_for_a_name_that_is_taken(vault, tmp_path, folder):
    """1 for one thing, whether it was named or found in a folder; 5 once others were written."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("text")
    vault.do("put", tree)
    vault.do("get", "tree", folder)
    for words in (("put", tree), ("put", tree / "file", "--to", "tree"), ("get", "tree", folder),
                  ("get", "tree/file", folder / "tree"), ("export", folder)):
        vault.refuse(*words, code=FAILURE, says="file: already exists")
    (tree / "other").write_text("text")
    assert run(*vault.words("put", tree)).code == SOME_FAILED
    assert run(*vault.words("get", "tree", folder)).code == SOME_FAILED


@pytest.mark.parametrize("command", ["put", "get"])
def test_update_of_a_folder_that_is_not_writable(vault, tmp_path, folder, command):
    """Its owner writes into it for the time of the run. Without --update nothing of a folder that exists changes."""
    no_override = program.without_override()
    locked = tmp_path / "tree" / "locked"
    (locked / "in").mkdir(parents=True)
    for path in (locked / "file", locked / "in" / "file"):
        path.write_text("old")

    def set_modes(mode):
        (locked / "in").chmod(mode)
        locked.chmod(mode)

    def write(text):
        set_modes(0o755)
        for name in ("file", "in/file", f"new {text}"):
            (locked / name).write_text(text)
        set_modes(0o555)

    def bring(*options, **more):
        return run(*vault.words("put", *options, tmp_path / "tree"), prefix=no_override, **more)

    def take(*options):
        return run(*vault.words("get", *options, "tree", folder), prefix=no_override)

    write("older")
    assert bring().code == OK and take().code == OK
    write("changed")
    if command == "put":
        result = bring("--to", "tree/locked")
        assert result.code == FAILURE and "tree/locked/tree: cannot be written: Permission denied" in result.err, result.err
        assert bring("--update").code == OK
    else:
        vault.do("put", "--update", tmp_path / "tree")
        assert take("--update").code == OK
    vault.do("get", "--update", "tree", folder)
    assert facts(folder / "tree") == facts(tmp_path / "tree")
    for path in (locked, folder / "tree" / "locked"):
        path.chmod(0o755)
        (path / "in").chmod(0o755)
    vault.check()


@pytest.mark.parametrize("option", [(), ("-f",), ("--update",)])
def test_modes_and_times_of_folders_that_exist(vault, tmp_path, folder, option):
    """Those of a named DEST stay. Others are replaced where files are."""
    tree = tmp_path / "tree"
    (tree / "in").mkdir(parents=True)
    (tree / "in" / "file").write_text("text")

    def set_facts(mode, time_ns):
        for path in (tree / "in", tree):
            path.chmod(mode)
            os.utime(path, ns=(0, time_ns))

    def shown(root):
        return {path: fact[1:3] for path, fact in facts(root).items() if fact[0] == stat.S_IFDIR}

    set_facts(0o755, 10**18)
    vault.do("put", tree)
    old = tmp_path / "old"
    vault.do("get", "tree", old)
    os.utime(old, ns=(0, 5 * 10**17))
    before = shown(tmp_path)[b"old/in"]
    set_facts(0o700, 2 * 10**18)
    (tree / "in" / "new").write_text("text")
    os.utime(tree / "in", ns=(0, 2 * 10**18))
    result = run(*vault.words("put", *option, tree))
    assert result.code == (OK if option else SOME_FAILED), result.err
    vault.do("get", "tree", tmp_path / "seen")
    assert (shown(tmp_path / "seen")[b"in"] == (0o700, 2 * 10**18)) == bool(option)
    assert (shown(tmp_path / "seen")[b"in"][0] == 0o755) == (not option)
    vault.do("put", "--update", tree)
    result = run(*vault.words("get", *option, "tree/in", old))
    assert result.code == (OK if option else SOME_FAILED), result.err
    assert (shown(old)[b"in"] == (0o700, 2 * 10**18)) == bool(option)
    assert shown(old)[b"in"][0] == (0o700 if option else before[0])
    assert stat.S_IMODE(old.stat().st_mode) == 0o755


@pytest.mark.parametrize("command", ["put", "get", "export"])
def test_force_and_update_exclude_each_other(vault, tmp_path, command):
    vault.refuse(command, "-f", "--update", tmp_path, *(["x"] if command == "get" else []), code=USAGE,
                 says=f"vault {command}: -f and --update cannot be combined")


# ---- deep and wide trees


def make_deep(root, levels):
    """A file in each of the folders that lie in each other."""
    for level in range(levels):
        root /= "d"
        root.mkdir(parents=True)
        (root / "a").write_text(f"on the way {level}")
        (root / "z").write_text(f"and back {level}")


def make_wide(root):
    for number in range(150):
        (root / f"{number:03}").mkdir(parents=True)
        (root / f"{number:03}" / "file").write_text(str(number))
        (root / f"file {number}").write_text(str(number))
        (root / f"{number:03}" / ("long name" * 22)).write_text(str(number))


@pytest.mark.parametrize("shape", ["deep", "wide"])
@pytest.mark.parametrize("most", [64, 128])
def test_few_descriptors_are_enough(vault, tmp_path, shape, most):
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is missing (Debian package util-linux)")
    tree = tmp_path / "tree"
    make_deep(tree, 150) if shape == "deep" else make_wide(tree)  # more than the larger limit
    limit = ["prlimit", f"--nofile={most}:{most}"]
    vault.do("put", tree, prefix=limit)
    assert len(vault.do("ls", "-R", prefix=limit).out.splitlines()) == len(facts(tree)) + 1
    vault.do("get", "tree", tmp_path / "back", prefix=limit)
    assert facts(tmp_path / "back") == facts(tree)
    for path in program.all_below(tree):
        if path.is_file():
            path.write_text("newer" + path.read_text())
    vault.do("put", "--update", tree, prefix=limit)
    vault.do("export", "-f", tmp_path / "exported", prefix=limit)
    assert contents(tmp_path / "exported" / "tree") == contents(tree)
    vault.check()
    counts = json.loads(vault.do("fsck", "--json", prefix=limit).out)["counts"]
    assert counts["folders"] == 2 + sum(path.is_dir() for path in program.all_below(tree))
    assert counts["files"] == sum(path.is_file() for path in program.all_below(tree))


@pytest.mark.parametrize("command", ["put", "get", "export"])
def test_the_work_for_a_folder_does_not_grow_with_its_depth(vault, tmp_path, command):
    levels = 200
    make_deep(tmp_path / "tree", levels)
    if command != "put":
        vault.do("put", tmp_path / "tree")
    arguments = {"put": [tmp_path / "tree"], "get": ["tree", tmp_path / "back"], "export": [tmp_path / "back"]}
    names = program.names_looked_up(tmp_path / "trace", *vault.words(command, *arguments[command]))
    assert names < 100 * levels


# ---- cat


def test_cat(vault, tmp_path):
    one, other = text_of(300_000), text_of(70_001)
    (tmp_path / "one").write_bytes(one)
    (tmp_path / "other").write_bytes(other)
    (tmp_path / "empty").write_bytes(b"")
    vault.do("put", tmp_path / "one", tmp_path / "other", tmp_path / "empty")
    assert vault.do("cat", "one", "empty", "other", "one").out == one + other + one
    with open(tmp_path / "out", "wb+") as file:
        file.write(b"before")
        file.flush()
        done = subprocess.run([program.PAES, *map(str, vault.words("cat", "other", "one"))], stdout=file, check=False,
                              env=program.clean_environment())
        assert done.returncode == OK
    assert (tmp_path / "out").read_bytes() == b"before" + other + one
    for first, last in ((0, 0), (0, BLOCK - 1), (1, BLOCK), (262_143, 262_144), (299_999, 299_999), (5, 400_000)):
        assert vault.do("cat", "--range", f"{first}-{last}", "one").out == one[first:last + 1]
    assert vault.do("cat", "--range", "262140-", "one").out == one[262_140:]
    vault.refuse("cat", "--range", "300000-", "one", code=USAGE, says="300000 bytes")
    vault.refuse("cat", "--range", "0-", "empty", code=USAGE, says="0 bytes")
    vault.refuse("cat", "--range", "0-1", "one", "other", code=USAGE, says="one PATH")
    vault.refuse("cat", "--range", "2-1", "one", code=USAGE)


def test_cat_asks_before_it_writes_to_a_terminal(vault, tmp_path):
    (tmp_path / "file").write_text("the text")
    vault.do("put", tmp_path / "file")
    code, shown = program.on_a_terminal(vault.words("cat", "file"), [])
    assert code == USAGE and "is a terminal" in shown and "the text" not in shown
    code, shown = program.on_a_terminal(vault.words("cat", "-f", "file"), [])
    assert code == OK and shown == "the text"


# ---- ls


def test_ls(vault, tree):
    vault.do("put", tree, umask=0)
    names = {os.fsencode(path.relative_to(tree.parent)) for path in (tree, *program.all_below(tree))}
    listed = vault.names()
    assert set(listed) == names
    assert listed[:2] == [b"tree", b"tree/dangling"]
    shown = vault.do("ls", "-R").out.decode()
    assert len(shown.splitlines()) == len(names)
    assert "\x1b" not in shown and r"tree/names/\x1b[31mred" in shown.splitlines()
    assert r"tree/names/a\x0aline" in shown.splitlines() and r"tree/names/\xff\xfe\x80" in shown.splitlines()
    assert vault.do("ls").out == b"tree\n" and vault.do("ls", "-d").out == b"/\n"
    assert vault.do("ls", "tree/link", "tree/zeros").out == b"tree/link\ntree/zeros\n"
    long = vault.do("ls", "-l", "tree").out.decode().splitlines()
    assert sum(line.startswith("-rwxr-xr-x ") and line.endswith("  tree/of mode 755") for line in long) == 1
    assert any(" 300000 " in line and line.endswith("only a hole") for line in long)
    assert any(line.startswith("lrwxrwxrwx ") and line.endswith("  tree/link -> of 1 bytes") for line in long)
    vault.refuse("ls", "-0", "-l", code=USAGE)


def test_ls_as_json(vault, tree):
    vault.do("put", tree, umask=0)
    document = json.loads(vault.do("ls", "-R", "--json").out)
    entries = {one["path"]: one for one in document["entries"]}
    assert entries["tree/of mode 640"]["mode"] == "0640"
    assert entries["tree/of mode 640"]["modified"] == "2009-02-13T23:31:30.123456790Z"
    assert entries["tree/sparse"]["bytes"] == 1 << 22
    assert entries["tree/link"] == {**entries["tree/link"], "type": "link", "target": "of 1 bytes", "bytes": 10}
    assert entries["tree/empty folder"]["type"] == "folder"


# ---- damage


def stored_file(vault, size):
    """The stored file of a text of that length."""
    stored = 18 + size + 32 * -(-size // BLOCK)
    (found,) = [path for path in program.all_below(vault.path) if path.lstat().st_size == stored]
    return found


def damage(vault, size, block):
    path = stored_file(vault, size)
    with open(path, "r+b") as file:
        file.seek(18 + block * (BLOCK + 32) + 100)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def test_what_is_not_authentic_does_not_leave(vault, tmp_path, folder):
    size = 1_000_003
    (tmp_path / "tree").mkdir()
    text = text_of(size)
    (tmp_path / "tree" / "damaged").write_bytes(text)
    (tmp_path / "tree" / "whole").write_text("whole")
    vault.do("put", tmp_path / "tree")
    bad = 150
    damage(vault, size, bad)
    vault.refuse("get", "tree/damaged", folder / "file", code=CORRUPT, says=f"tree/damaged: block {bad} is not authentic")
    assert list(folder.iterdir()) == []
    # A pipe gets what comes before, and a file nothing.
    result = run(*vault.words("cat", "-T", 1, "tree/damaged"))
    assert result.code == CORRUPT and text.startswith(result.out) and len(result.out) <= bad * BLOCK
    program.assert_error_lines(result.err, f"block {bad} is not authentic")
    with open(tmp_path / "out", "wb") as file:
        done = subprocess.run([program.PAES, *map(str, vault.words("cat", "tree/whole", "tree/damaged"))], stdout=file,
                              stderr=subprocess.PIPE, check=False, env=program.clean_environment())
    assert done.returncode == CORRUPT and (tmp_path / "out").read_bytes() == b""
    assert vault.do("cat", "--range", f"0-{bad * BLOCK - 1}", "tree/damaged").out in (text[:bad * BLOCK],)
    vault.refuse("cat", "--range", f"{bad * BLOCK}-{bad * BLOCK}", "tree/damaged", code=CORRUPT)
    for command in (("get", "tree"), ("export",)):
        place = folder / command[0]
        result = run(*vault.words(*command, place))
        assert result.code == SOME_FAILED and f"block {bad} is not authentic" in result.err, result.err
        assert [path.name for path in program.all_below(place) if path.is_file()] == ["whole"]
        assert [path.name for path in program.all_below(place) if ".paes" in path.name] == []


def test_damaged_names_are_told(vault, tmp_path):
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file")
    (vault.path / "foreign").write_text("no name of this vault")
    result = run(*vault.words("ls"))
    assert (result.code, result.out) == (CORRUPT, b"file\n")
    assert result.err == "paes: foreign: the name is damaged\n"
    document = json.loads(run(*vault.words("ls", "--json")).out)
    assert document["exit_code"] == CORRUPT and len(document["errors"]) == 1
    result = run(*vault.words("export", tmp_path / "out"))
    assert result.code == SOME_FAILED and (tmp_path / "out" / "file").read_text() == "text"


def test_a_folder_without_its_iv(vault, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_text("text")
    vault.do("put", tmp_path / "tree")
    (iv,) = [path for path in vault.path.glob("*/gocryptfs.diriv")]
    iv.unlink()
    vault.refuse("ls", "tree", code=CORRUPT, says="gocryptfs.diriv is missing")
    vault.refuse("cat", "tree/file", code=CORRUPT, says="gocryptfs.diriv is missing")
    result = run(*vault.words("put", "-f", tmp_path / "tree"))
    assert result.code == CORRUPT, result.err


def test_a_source_that_changes_is_refused(vault, tmp_path, preloaded):
    source = tmp_path / "file"
    source.write_bytes(text_of(100_000))
    vault.do("put", source)
    before = vault.do("cat", "file").out
    growing = preloaded(r"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <dlfcn.h>
        #include <unistd.h>
        #include <stdlib.h>
        ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset) {
          ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
          int other = open(getenv("GROWS"), O_WRONLY | O_APPEND);
          (void)!write(other, "more", 4);
          close(other);
          return real(file, from, bytes, offset);
        }
    """)
    result = run(*vault.words("put", "-f", source), prefix=[*growing, f"GROWS={source}"])
    assert result.code == FAILURE and "while it was read" in result.err, result.err
    assert vault.do("cat", "file").out == before
    vault.check()


# ---- kills and failures


def old_and_new(tmp_path, long_names=True):
    """Two trees of the same names."""
    names = ["small", "large", "x" * 200 if long_names else "x", "in/one", "in/two"]
    for state in ("old", "new"):
        for number, name in enumerate(names):
            path = tmp_path / state / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text_of(700_000 if name == "large" else 5000 + number, seed=state == "new"))
            os.utime(path, ns=(0, 10**18 + (state == "new")))
        os.symlink(state, tmp_path / state / "tree" / "link")
    (tmp_path / "new" / "tree" / "added").mkdir()
    (tmp_path / "new" / "tree" / "added" / ("y" * 200)).write_text("added")
    return tmp_path / "old" / "tree", tmp_path / "new" / "tree"


def contents(root):
    return {path: fact[3] for path, fact in facts(root).items() if fact[0] != stat.S_IFDIR}


def assert_old_or_new(vault, tmp_path, before, after):
    """Gives how many are new."""
    place = tmp_path / "seen"
    shutil.rmtree(place, ignore_errors=True)
    vault.do("get", "tree", place)
    seen = contents(place)
    for path, text in before.items():
        assert seen[path] in (text, after[path]), path
    for path, text in seen.items():
        assert path in before or text == after[path], path
    return sum(text == after[path] for path, text in seen.items())


def assert_next_run_completes(vault, tmp_path, new):
    vault.do("put", "--update", new)
    place = tmp_path / "seen"
    shutil.rmtree(place, ignore_errors=True)
    vault.do("get", "tree", place)
    assert contents(place) == contents(new)
    vault.check()


# Every kind of call that changes the vault ends some run.
KILLED_KINDS = {"encrypted names": (), "plain names": ("--plaintext-names",)}


@pytest.mark.parametrize("kind", KILLED_KINDS)
def test_a_killed_update_leaves_the_old_or_the_new(tmp_path, preloaded, kind):
    vault = Vault(tmp_path / "made", *KILLED_KINDS[kind])
    old, new = old_and_new(tmp_path)
    before, after = contents(old), contents(new)
    vault.do("put", old)
    saved = tmp_path / "saved"
    shutil.copytree(vault.path, saved, symlinks=True)
    killing = preloaded(preload.KILLED_AT)
    seen = set()
    left = 0
    call = 0
    while True:
        call += 1 if EXHAUSTIVE else random.randint(1, 2)
        shutil.rmtree(vault.path)
        shutil.copytree(saved, vault.path, symlinks=True)
        result = run(*vault.words("put", "-q", "--update", new),
                     prefix=[*killing, f"CALL={call}", f"PART={random.randrange(1000)}"])
        if result.code == OK:
            break
        assert result.code == -signal.SIGKILL, result.err
        assert run(*vault.words("fsck", "-q")).err.count("damaged") == 0
        seen.add(assert_old_or_new(vault, tmp_path, before, after))
        temporary = [path for path in program.all_below(vault.path) if ".paes-put-" in path.name or "paes-" in path.name]
        left += bool(temporary)
        assert_next_run_completes(vault, tmp_path, new)
        temporary = [path for path in program.all_below(vault.path) if ".paes-put-" in path.name or "paes-" in path.name]
        assert temporary == []
    assert call > 15 and len(seen) >= 3 and left >= 3


def test_an_update_that_is_killed_at_any_moment(tmp_path):
    vault = Vault(tmp_path / "made")
    old, new = old_and_new(tmp_path)
    before, after = contents(old), contents(new)
    start = time.monotonic()
    vault.do("put", old)
    took = time.monotonic() - start
    died = 0
    for number in range(200 if EXHAUSTIVE else 20):
        source = (new, old)[number % 2]
        process = program.start(*vault.words("put", "-q", "--update", source))
        time.sleep(random.random() * took)
        process.kill()
        died += process.wait() == -signal.SIGKILL
        assert_old_or_new(vault, tmp_path, before, after) if number % 2 == 0 else assert_no_damage(vault)
        if number % 2 == 1:
            vault.do("put", "-f", old)
    assert died > 5
    assert_next_run_completes(vault, tmp_path, new)


def assert_no_damage(vault):
    document = json.loads(run(*vault.words("fsck"), "--json").out)
    assert document["damaged"] == [] and document["unread"] == []


@gocryptfs.NEEDS_MOUNTS
def test_gocryptfs_ignores_what_a_killed_put_leaves(tmp_path, preloaded):
    volume = gocryptfs.Volume(tmp_path / "volume")
    old, new = old_and_new(tmp_path, long_names=False)
    words = ("vault", "put", "-q", "--passphrase-file", volume.passphrase_file, "--update", volume.stored)
    succeed(*words, old)
    result = run(*words, new, prefix=[*preloaded(preload.KILLED_AT), "CALL=4", "PART=500"])
    assert result.code == -signal.SIGKILL
    assert any("longname.paes-" in path.name for path in program.all_below(volume.stored))
    with volume.mounted() as shown:
        assert contents(shown / "tree") == contents(old)
    assert volume.fsck()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_put_that_is_stopped_leaves_nothing(vault, tmp_path, number):
    old, _ = old_and_new(tmp_path)
    vault.do("put", old)
    before = vault.names()
    process = program.start(*vault.words("put", "-q", "-f", "--as", "tree/small", "-"), stdin=subprocess.PIPE)
    process.stdin.write(text_of(900_000))
    process.stdin.flush()
    program.wait_until(lambda: len(vault.leftovers()) == 1, "the beginning of the file")
    process.send_signal(number)
    assert process.wait(30) == -number
    assert vault.names() == before
    vault.check()


def test_a_get_that_is_stopped_leaves_nothing(vault, tmp_path, folder):
    (tmp_path / "large").write_bytes(text_of(1 << 20) * 64)
    vault.do("put", tmp_path / "large")
    for number in range(10):
        process = program.start(*vault.words("get", "-q", "-T", 1, "large", folder), stderr=subprocess.DEVNULL)
        time.sleep(random.random() * 0.05)
        process.send_signal((signal.SIGTERM, signal.SIGKILL)[number % 2])
        code = process.wait(30)
        names = os.listdir(folder)
        assert names == (["large"] if code == OK else []) or "large" in names, names
        for name in names:
            (folder / name).unlink()


@pytest.mark.parametrize(("error", "goes_on"), [(errno.EIO, False), (errno.ENOSPC, False), (errno.ENOSPC, True)])
def test_a_put_whose_calls_fail(tmp_path, preloaded, error, goes_on):
    from test_mount_faults import Faults

    vault = Vault(tmp_path / "made")
    old, new = old_and_new(tmp_path)
    before, after = contents(old), contents(new)
    vault.do("put", old)
    saved = tmp_path / "saved"
    shutil.copytree(vault.path, saved, symlinks=True)
    faults = Faults(tmp_path / "faults", (error, goes_on))
    failing = preloaded(preload.FAILING_AT)
    words = vault.words("put", "-q", "--update", new)
    prefix = [*failing, f"FAULTS={faults.path}"]
    faults.arm(0)
    assert run(*words, prefix=prefix).code == OK
    total = faults.counted
    failed = set()
    step = 1 if EXHAUSTIVE else max(1, total // 40)
    for call in range(random.randint(1, step), total, step):
        shutil.rmtree(vault.path)
        shutil.copytree(saved, vault.path, symlinks=True)
        faults = Faults(faults.path, (error, goes_on))
        faults.arm(call)
        result = run(*words, prefix=prefix)
        faults.disarm()
        where = f"call {call} ({faults.name}): {result.err}"
        assert result.code >= 0, where
        if result.code == OK:
            # A call whose failure harms nobody: a hint, or a clean-up.
            assert contents_of(vault, tmp_path) == after, where
            continue
        failed.add(faults.name)
        assert result.err.startswith("paes: ") and os.strerror(error) in result.err, where
        assert_no_damage(vault)
        assert_old_or_new(vault, tmp_path, before, after)
        assert_next_run_completes(vault, tmp_path, new)
    assert len(failed) > 3, failed


def contents_of(vault, tmp_path):
    place = tmp_path / "seen"
    shutil.rmtree(place, ignore_errors=True)
    vault.do("get", "tree", place)
    return contents(place)


def test_a_get_whose_writes_fail(vault, tmp_path, folder):
    (tmp_path / "file").write_bytes(text_of(3_000_000))
    vault.do("put", tmp_path / "file")
    limit = ["prlimit", "--fsize=1000000"]
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is missing (Debian package util-linux)")
    vault.refuse("get", "file", folder, code=FAILURE, says="file", prefix=limit)
    assert list(folder.iterdir()) == []
    vault.refuse("put", "--as", "other", tmp_path / "file", code=FAILURE, says="other: cannot be written", prefix=limit)
    assert vault.names() == [b"file"]
    vault.check()


# ---- a second writer


def test_two_puts_at_once(vault, tmp_path):
    """One that reads a pipe has the lock for as long as the pipe is open."""
    (tmp_path / "file").write_text("text")
    first = program.start(*vault.words("put", "-q", "--as", "piped", "-"), stdin=subprocess.PIPE)
    try:
        program.wait_until(lambda: len(vault.leftovers()) == 1, "the first put")
        vault.refuse("put", tmp_path / "file", code=FAILURE,
                     says=rf"'paes vault put' \(process {first.pid}\) writes to it")
        second = program.start(*vault.words("put", "-q", tmp_path / "file"))
        time.sleep(0.3)
        first.communicate(b"piped text", timeout=30)
        assert first.returncode == OK and second.wait(30) == OK
    finally:
        first.kill()
        first.wait()
    assert vault.do("cat", "piped", "file").out == b"piped texttext"
    vault.check()


def test_another_program_that_locks_the_folder_stops_nobody(vault, tmp_path):
    (tmp_path / "file").write_text("text")
    locked = os.open(vault.path, os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    try:
        result = vault.do("put", tmp_path / "file")
    finally:
        os.close(locked)
    assert "another program has locked this folder: nothing holds another writer back" in result.err
    assert vault.do("cat", "file").out == b"text"


# ---- keys


def test_keys_that_do_not_open(vault, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("other words\n")
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file")
    before = program.tree(vault.path)
    for command in (("ls",), ("cat", "file"), ("get", "file", tmp_path / "got"), ("export", tmp_path / "got"),
                    ("put", tmp_path / "pass")):
        name, *operands = command
        fail("vault", name, "--passphrase-file", wrong, vault.path, *operands, code=WRONG_KEY)
        wrong_key = tmp_path / "key"
        wrong_key.write_text("00" * 32)
        fail("vault", name, "--master-key", wrong_key, vault.path, *operands, code=WRONG_KEY,
             says="is not the master key of this vault")
    assert program.tree(vault.path) == before and not (tmp_path / "got").exists()


def keys_of_another_vault(tmp_path, *options):
    """Options that open any vault: a master key, and a configuration beside its passphrase."""
    key = tmp_path / "other.key"
    other = Vault(tmp_path / "other", "--master-key-out", key, *options)
    config = other.path / "gocryptfs.conf"
    return {
        "is not the master key of this vault": ("--master-key", key),
        "gocryptfs.conf: is not the configuration of this vault": ("--config", config, *other.key),
    }


@pytest.mark.parametrize("kind", ["file", "folder", "two folders", "long name", "plain names"])
def test_a_key_of_another_vault_writes_nothing(tmp_path, kind):
    options = ["--plaintext-names"] if kind == "plain names" else []
    vault = Vault(tmp_path / "own", *options)
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("text")
    for name in {"folder": ["one"], "two folders": ["one", "two"], "long name": ["n" * 200]}.get(kind, []):
        (source / name).mkdir()
    folders = [path for path in source.iterdir() if path.is_dir()]
    vault.do("put", *(folders or [source / "file"]))
    (vault.path / "lost+found").mkdir()
    before = program.tree(vault.path)
    for says, key in keys_of_another_vault(tmp_path, *options).items():
        fail("vault", "put", *key, "--as", "new", vault.path, source / "file", code=WRONG_KEY, says=says)
    assert program.tree(vault.path) == before


def test_the_owner_gets_into_a_damaged_vault(tmp_path):
    """What does not open is damaged as long as something opens."""
    key = tmp_path / "key"
    vault = Vault(tmp_path / "own", "--master-key-out", key)
    folder = tmp_path / "source"
    folder.mkdir()
    keys = (("--master-key", key), (*vault.key, "--config", tmp_path / "moved.conf"))
    shutil.copy(vault.path / "gocryptfs.conf", tmp_path / "moved.conf")

    def put(name):
        for number, opened_by in enumerate(keys):
            (folder / f"{name}{number}").mkdir()
            succeed("vault", "put", *opened_by, vault.path, folder / f"{name}{number}")

    # Nothing but what others leave in a folder.
    (vault.path / "lost+found").mkdir()
    (vault.path / ".DS_Store").write_bytes(os.urandom(6148))
    (vault.path / ("x" * 22)).write_bytes(b"")
    put("first")
    # Names with a damaged character, and a few that are sound.
    for number in range(6):
        (folder / f"damaged{number}").mkdir()
        before = set(vault.path.iterdir())
        vault.do("put", folder / f"damaged{number}")
        [made] = set(vault.path.iterdir()) - before
        made.rename(made.with_name(made.name[:3] + ("A" if made.name[3] != "A" else "B") + made.name[4:]))
    put("second")
    # A file whose first block is damaged, and one that is sound.
    (folder / "damaged").write_text("text" * 5000)
    before = set(vault.path.iterdir())
    vault.do("put", folder / "damaged")
    [made] = set(vault.path.iterdir()) - before
    made.write_bytes(made.read_bytes()[:40] + b"damage" + made.read_bytes()[46:])
    (folder / "sound").write_text("text")
    vault.do("put", folder / "sound")
    put("third")
    for opened_by in keys:
        assert succeed("vault", "cat", *opened_by, vault.path, "sound").out == b"text"


def test_an_empty_vault_takes_any_key(vault, tmp_path):
    (tmp_path / "file").write_text("text")
    key = next(iter(keys_of_another_vault(tmp_path).values()))
    succeed("vault", "put", *key, vault.path, tmp_path / "file")
    assert succeed("vault", "cat", *key, vault.path, "file").out == b"text"


def test_several_passphrases(vault, tmp_path):
    """Each has a configuration of its own, and goes with it."""
    (tmp_path / "file").write_text("text")
    vault.do("put", tmp_path / "file")
    other = tmp_path / "other"
    other.write_text("battery staple\n")
    config = tmp_path / "ann.conf"
    before = (vault.path / "gocryptfs.conf").read_bytes()
    words = ("passwd", "--new-passphrase-file", other)
    vault.do(*words, "--new-config", config)
    assert (vault.path / "gocryptfs.conf").read_bytes() == before
    assert stat.S_IMODE(config.stat().st_mode) == 0o400
    ann = ("--config", config, "--passphrase-file", other, vault.path)
    assert succeed("vault", "cat", *ann, "file").out == vault.do("cat", "file").out == b"text"
    fail("vault", "cat", "--config", config, *vault.key, vault.path, "file", code=WRONG_KEY)
    fail("vault", "cat", "--passphrase-file", other, vault.path, "file", code=WRONG_KEY)
    vault.refuse(*words, "--new-config", config, code=FAILURE, says="already exists")
    vault.refuse(*words, "--new-config", vault.path / "ann.conf", code=USAGE, says="lie in the vault")
    vault.check()
    if shutil.which("gocryptfs-xray") is not None:
        done = subprocess.run(["gocryptfs-xray", "-dumpmasterkey", config], input=other.read_bytes(),
                              capture_output=True, check=True)
        assert len(done.stdout.split()[-1]) == 64
