# SPDX-License-Identifier: Apache-2.0
# Writing through paes-mount. The same operations on an ordinary folder beside it say what must come of them;
# gocryptfs's check and its own mount, and `paes vault fsck`, say whether the vault is one that others read.
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import random
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import time

import gocryptfs
import preload
import program
import pytest
from test_mount import (  # noqa: F401  (fixtures among them)
    BLOCK,
    HEADER,
    LIMIT_S,
    FORMATS,
    MOUNT,
    STRIDE,
    Mounts,
    Vault,
    fill,
    has_ended,
    is_mounted,
    mounts,
    needs_root,
    needs_runuser,
    own_vault,
    processes_of,
    public_folder,
    remount,
    snapshot,
    unmount_when_free,
    vault_of_format,
    wait_ended,
    why_not_beside_gocryptfs,
)

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))

CACHES = {"back": [], "through": ["--cache=through"], "shared": ["--shared"]}
TIMES = ("modified", "changed", "blocks")  # which are not the same in two trees


@pytest.fixture(params=CACHES)
def cache(request):
    return CACHES[request.param]


def said_by_gocryptfs(vault, *options):
    """Exit code and lines of its check of a vault that is not mounted."""
    words = ["gocryptfs", "-q", "-fsck", "-nosyslog", "-passfile", vault.passfile, *options, vault.path]
    # On a busy machine it has been seen to panic, twice in about 1,000 checks, and then to find nothing in the same
    # vault. What it had mounted stays.
    place = vault.path.parent
    for _ in range(3):
        done = subprocess.run(
            words, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(place)}, timeout=5 * LIMIT_S,
            check=False,
        )
        if "panic: " not in done.stdout + done.stderr:
            break
        gocryptfs.unmount_checks(place)
    # Where there is no syslog, gocryptfs says so. It mounts to check, and its FUSE library at times tells that the
    # unmounted system did not wait for the answer to RELEASE or RELEASEDIR: that is nothing it found.
    noise = ("SwitchLoggerToSyslog", "opcode: RELEASE")
    said = (done.stdout + done.stderr).splitlines()
    return done.returncode, [line for line in said if not any(part in line for part in noise)]


def check(vault, *options):
    """Nobody finds anything wrong in a vault that is not mounted."""
    assert said_by_gocryptfs(vault, *options) == (0, [])
    result = program.run("vault", "fsck", "--passphrase-file", vault.passfile, vault.path)
    assert result.code == 0, result.err


def facts(root, *left_out):
    """Sizes of folders are those of the file system below, and hard links have the same inode."""
    seen = snapshot(root)
    for one in seen.values():
        for fact in (*TIMES, *left_out):
            del one[fact]
        if stat.S_ISDIR(one["mode"]):
            del one["size"]
            del one["links"]
    return seen


def end(mounts, point):
    (pid,) = processes_of(point)
    unmount_when_free(point)
    wait_ended(pid)


def assert_same(seen, expected):
    """pytest would take minutes to tell the difference of large trees."""
    different = {name for name in {*seen, *expected} if seen.get(name) != expected.get(name)}
    told = [(name, seen.get(name), expected.get(name)) for name in sorted(different)[:5]]
    assert not told, told


def check_same(mounts, vault, point, model):
    """What the mount shows, what it shows anew, and what gocryptfs shows."""
    expected = facts(model)
    assert_same(facts(point), expected)
    end(mounts, point)
    check(vault)
    again = mounts.by_paes(vault)
    assert_same(facts(again), expected)
    end(mounts, again)
    theirs = mounts.by_gocryptfs(vault, "-ro")
    assert_same(facts(theirs), expected)
    unmount_when_free(theirs)


def both(point, model, work):
    """Runs the same on the mount and on the model. Both answer the same, errors too."""
    answers = []
    for root in (point, model):
        try:
            answer = work(root)
            answers.append("a path" if isinstance(answer, os.PathLike) else answer)
        except OSError as error:
            answers.append(errno.errorcode[error.errno])
    assert answers[0] == answers[1]
    return answers[0]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    return path


# ---- all operations


@pytest.mark.parametrize("name", FORMATS)
def test_a_tree_is_written(name, mounts, model, tmp_path):
    vault = vault_of_format(tmp_path / "own", name)
    point = mounts.by_paes(vault, "-w")
    fill(point)
    # Names that this vault cannot hold are in neither tree.
    fill(model)
    here = {path.relative_to(point) for path in program.all_below(point)}
    for path in reversed(program.all_below(model)):
        if path.relative_to(model) not in here:
            assert len(path.name) > 150 and not path.is_symlink()
            path.rmdir() if path.is_dir() else path.unlink()
    check_same(mounts, vault, point, model)


LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def rename(old, new, flags):
    if LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def allocate(descriptor, mode, offset, length):
    LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if LIBC.fallocate(descriptor, mode, offset, length) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextlib.contextmanager
def opened(path, flags, mode=0o666):
    descriptor = os.open(path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


LONG, LONGER = "l" * 200, "m" * 255
NOREPLACE, EXCHANGE = 1, 2


def test_names_are_changed(own_vault, mounts, model, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)

    def do(work):
        return both(point, model, work)

    for name in ("a", LONG):
        other = name + "2"
        do(lambda r: (r / name).write_text("first"))
        do(lambda r: (r / name).mkdir())  # EEXIST
        do(lambda r: os.link(r / name, r / other))
        do(lambda r: (r / other).stat().st_nlink)
        do(lambda r: (r / name).unlink())
        do(lambda r: ((r / other).stat().st_nlink, (r / other).read_text()))
        do(lambda r: (r / name).write_text("second"))
        do(lambda r: rename(r / name, r / other, NOREPLACE))
        do(lambda r: rename(r / name, r / other, EXCHANGE))
        do(lambda r: ((r / name).read_text(), (r / other).read_text()))
        do(lambda r: (r / name).rename(r / other))
        do(lambda r: (r / name).exists())
        do(lambda r: os.link(r / other, r / name))
        do(lambda r: (r / name).rename(r / other))  # two names of one file: nothing happens
        do(lambda r: (r / name).exists() and (r / other).exists())
        folder = "folder " + name
        do(lambda r: (r / folder / "x").mkdir(parents=True))
        do(lambda r: (r / folder / "x" / "file").write_text("text"))
        do(lambda r: (r / folder).rmdir())
        do(lambda r: (r / folder).rename(r / folder / "x" / "below"))
        do(lambda r: (r / folder / "x").rename(r / (name[:-1] + "moved")))
        do(lambda r: (r / (name[:-1] + "moved") / "file").read_text())
        do(lambda r: (r / folder).rmdir())
        do(lambda r: (r / folder).mkdir())
        do(lambda r: (r / (name[:-1] + "moved")).rename(r / folder))  # over an empty folder
        do(lambda r: (r / folder / "file").read_text())
        do(lambda r: (r / folder).rename(r / name))  # ENOTDIR
        do(lambda r: (r / name).rename(r / folder))  # EISDIR
        do(lambda r: rename(r / folder, r / name, EXCHANGE))
        do(lambda r: (r / name / "file").read_text())
        do(lambda r: (r / (name[:-1] + "link")).symlink_to("target"))
        do(lambda r: os.readlink(r / (name[:-1] + "link")))
        do(lambda r: os.mkfifo(r / (name[:-1] + "pipe"), 0o640))
    do(lambda r: (r / LONGER).write_text("x"))
    do(lambda r: (r / (LONGER + "x")).write_text("x"))
    do(lambda r: (r / "a" / "missing" / "x").mkdir())
    do(lambda r: (r / "missing").unlink())
    do(lambda r: (r / "missing").rename(r / "b"))
    do(lambda r: (r / "a").unlink())
    do(lambda r: (r / LONGER).rmdir())
    check_same(mounts, own_vault, point, model)


def test_attributes_are_changed(own_vault, mounts, model, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)

    def do(work):
        return both(point, model, work)

    def seen(path):
        status = path.lstat()
        return status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_atime_ns, status.st_size

    do(lambda r: (r / "file").write_bytes(b"x" * 10_000))
    do(lambda r: (r / "folder").mkdir())
    do(lambda r: (r / "link").symlink_to("file"))
    for name in ("file", "folder"):
        for mode in (0o600, 0o4755, 0o2755, 0o1777, 0o751):
            do(lambda r: (r / name).chmod(mode))
            do(lambda r: stat.S_IMODE((r / name).stat().st_mode))
    for name in ("file", "folder", "link"):
        do(lambda r: os.utime(r / name, ns=(10**18 + 1, 11 * 10**17 + 7), follow_symlinks=False))
        do(lambda r: seen(r / name))
    for length in (20_000, 5000, 4096, 4095, 1, 0, 123_456):
        do(lambda r: os.truncate(r / "file", length))
        do(lambda r: (r / "file").read_bytes())
        with opened(point / "file", os.O_RDWR) as one, opened(model / "file", os.O_RDWR) as two:
            for descriptor in (one, two):
                os.pwrite(descriptor, b"y", length // 2)
                os.ftruncate(descriptor, length + 3)
                assert os.fstat(descriptor).st_size == length + 3
        do(lambda r: (r / "file").read_bytes())
    for name in ("file", "folder"):
        do(lambda r: os.setxattr(r / name, "user.a", b"value"))
        do(lambda r: os.setxattr(r / name, "user.a", b"", os.XATTR_CREATE))
        do(lambda r: os.setxattr(r / name, "user.b", b"", os.XATTR_REPLACE))
        do(lambda r: os.setxattr(r / name, "user.empty", b""))
        do(lambda r: os.setxattr(r / name, "user.a", b"other", os.XATTR_REPLACE))
        do(lambda r: os.removexattr(r / name, "user.none"))
        do(lambda r: os.removexattr(r / name, "user.empty"))
        do(lambda r: (sorted(os.listxattr(r / name)), os.getxattr(r / name, "user.a")))
    check_same(mounts, own_vault, point, model)


@pytest.mark.parametrize("name", ["aes-gcm", "padded names"])
def test_lengths_of_links(name, mounts, cache, tmp_path):
    """Each answer about a link has the length of its target: who makes it, names it or sets its times."""
    vault = vault_of_format(tmp_path / "own", name)
    point = mounts.by_paes(vault, "-w", *cache)
    lengths = {}

    def check_length(path, length):
        lengths[path.name] = length
        assert path.lstat().st_size == length

    for length in (1, 2, 3, 1000):
        made, second = point / f"made {length}", point / f"second {length}"
        made.symlink_to("t" * length)
        check_length(made, length)
        os.utime(made, ns=(0, 0), follow_symlinks=False)
        check_length(made, length)
        os.link(made, second, follow_symlinks=False)
        check_length(second, length)
    end(mounts, point)
    for options in ([], ["--shared"]):  # names and attributes that the system keeps, and such that it asks for
        point = mounts.by_paes(vault, *options)
        assert {entry.name: entry.stat(follow_symlinks=False).st_size for entry in os.scandir(point)} == lengths
        for name, length in lengths.items():
            check_length(point / name, length)


PRIVILEGED = ("written", "cut", "cut open", "emptied", "owned", "allocated", "copied")


def test_writes_ask_for_no_capabilities(own_vault, mounts, preloaded, tmp_path):
    """One request a write would take longer than the write itself."""
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (5, 11):
        pytest.skip("this system asks for them before each write")
    counts = tmp_path / "counts"
    point, process = mounts.in_foreground(own_vault, "-w", prefix=preloaded(preload.REQUESTS), REQUESTS=str(counts))
    with opened(point / "file", os.O_RDWR | os.O_CREAT) as file:
        for turn in range(200):
            os.pwrite(file, b"x" * 4096, turn * 4096)
    unmount_when_free(point)
    assert process.wait(LIMIT_S) == 0
    seen = dict(map(int, line.split()) for line in counts.read_text().splitlines())
    opcodes = {"write": 16, "getxattr": 22}
    assert seen[opcodes["write"]] > 0
    assert seen.get(opcodes["getxattr"], 0) < 20


@needs_root
def test_owners_and_privileges(own_vault, mounts, model):
    point = mounts.by_paes(own_vault, "-w", "--allow-other", "-o", "suid")
    for root in (point, model):
        root.chmod(0o777)
        (root / "set").mkdir()
        os.chown(root / "set", 1, 2)
        (root / "set").chmod(0o2777)

    def as_user(root, *words):
        # Nobody can reach pytest's own folders, so the user comes with an open folder.
        script = "import os,sys; os.fchdir(int(sys.argv[1])); os.setgroups([]); os.setgid(65534); os.setuid(65534); os.umask(0o027); exec(sys.argv[2])"
        with opened(root, os.O_RDONLY | os.O_DIRECTORY) as folder:
            done = subprocess.run([sys.executable, "-c", script, str(folder), "\n".join(words)], pass_fds=[folder], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, done.stderr

    for root in (point, model):
        as_user(
            root, "os.mkdir('made')", "open('made/file', 'w').write('x')", "os.symlink('x', 'made/link')",
            "os.mkfifo('made/pipe')", "os.mkdir('set/made')", "open('set/file', 'w').write('x')",
        )
        os.chown(root / "made" / "file", 1, -1)
        os.chown(root / "made" / "link", 3, 4, follow_symlinks=False)
        for name in PRIVILEGED:
            (root / name).write_bytes(b"x" * 5000)
            os.chown(root / name, 65534, 65534)
            (root / name).chmod(0o6777)
        as_user(
            root, "open('written', 'r+').write('y')", "os.truncate('cut', 10)", "open('emptied', 'w').close()",
            "f = os.open('allocated', os.O_RDWR)", "os.posix_fallocate(f, 0, 9000)",
            "t = os.open('copied', os.O_RDWR)", "os.copy_file_range(f, t, 4096)",
            "os.ftruncate(os.open('cut open', os.O_RDWR), 10)",
        )
        os.chown(root / "owned", 5, 6)
    for name in PRIVILEGED:
        assert stat.S_IMODE((point / name).stat().st_mode) == stat.S_IMODE((model / name).stat().st_mode) == 0o777
    check_same(mounts, own_vault, point, model)


def test_umask_and_default_acls(own_vault, mounts, model):
    if shutil.which("setfacl") is None:
        pytest.skip("setfacl is missing (Debian package acl)")
    point = mounts.by_paes(own_vault, "-w", "--acl")
    for root in (point, model):
        (root / "folder").mkdir()
        done = subprocess.run(["setfacl", "-d", "-m", "u:nobody:rwx", root / "folder"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"this file system has no ACLs: {done.stderr.strip()}")
        before = os.umask(0o077)
        try:
            for parent in (root, root / "folder"):
                (parent / "below").mkdir()
                (parent / "file").write_text("text")
        finally:
            os.umask(before)

    def acls(root):
        done = subprocess.run(["getfacl", "-R", "-n", "."], cwd=root, capture_output=True, text=True, check=True)
        return sorted(done.stdout.split("\n\n"))

    assert acls(point) == acls(model)
    check_same(mounts, own_vault, point, model)


# ---- holes


def seek(file, offset, whence):
    """The answer, or an errno as a negative number."""
    try:
        return os.lseek(file.fileno(), offset, whence)
    except OSError as error:
        return -error.errno


def test_holes_are_told(own_vault, mounts, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)
    length, at = 1 << 30, 600 << 20
    for name, size in (("holes", length), ("short", length + 5)):
        with open(point / name, "wb") as file:
            file.truncate(size)
            file.seek(at)
            file.write(os.urandom(3 * BLOCK))
    stored = own_vault.stored(HEADER + length // BLOCK * STRIDE)
    with open(stored, "rb") as file:
        if seek(file, 1 << 20, os.SEEK_DATA) < at:
            pytest.skip("the vault's file system knows no holes")
    with open(point / "holes", "rb") as file:
        # The system tells a mount only some time later that a file was closed.
        program.wait_until(lambda: seek(file, 0, os.SEEK_DATA) == at, "the writer's end")
        assert [seek(file, place, os.SEEK_DATA) for place in (0, at, at + 3 * BLOCK, length)] == [
            at, at, -errno.ENXIO, -errno.ENXIO]
        assert [seek(file, place, os.SEEK_HOLE) for place in (7, at, at + BLOCK, at + 3 * BLOCK, length)] == [
            7, at + 3 * BLOCK, at + 3 * BLOCK, at + 3 * BLOCK, -errno.ENXIO]
    with open(point / "short", "rb") as file:
        program.wait_until(lambda: seek(file, 0, os.SEEK_DATA) == at, "the writer's end")
        assert seek(file, at + 3 * BLOCK, os.SEEK_DATA) == length  # a short block is never a hole
    copy = own_vault.path.parent / "copy"
    subprocess.run(["cp", "--sparse=auto", point / "holes", copy], timeout=LIMIT_S, check=True)
    assert copy.stat().st_size == length and copy.stat().st_blocks < 1000
    with open(copy, "rb") as file, open(point / "holes", "rb") as ours:
        file.seek(at - BLOCK)
        ours.seek(at - BLOCK)
        assert file.read(5 * BLOCK) == ours.read(5 * BLOCK)


@pytest.mark.parametrize("how", ["write", "map"])
def test_what_the_system_holds_is_no_hole(own_vault, mounts, cache, how):
    """It is not in the vault yet, which alone a mount knows."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    length, at = 64 << 20, 40 << 20
    with open(point / "file", "w+b", buffering=0) as writer, open(point / "file", "rb") as reader:
        writer.truncate(length)
        if how == "write":
            os.pwrite(writer.fileno(), b"text", at)
        else:
            mapped = mmap.mmap(writer.fileno(), length)
            mapped[at : at + 4] = b"text"
        for place in (0, at - BLOCK, at):
            for file in (reader, writer):
                data, hole = seek(file, place, os.SEEK_DATA), seek(file, place, os.SEEK_HOLE)
                assert data == -errno.EINVAL or place <= data <= at
                assert hole == -errno.EINVAL or hole >= at + 4
        copy = own_vault.path.parent / "copy"
        subprocess.run(["cp", "--sparse=auto", point / "file", copy], timeout=LIMIT_S, check=True)
        with open(copy, "rb") as file:
            file.seek(at)
            assert file.read(4) == b"text"
        if how == "map":
            mapped.close()
    with open(point / "file", "rb") as reader:
        # The system tells a mount only some time later that a file was closed.
        program.wait_until(lambda: seek(reader, 0, os.SEEK_DATA) != -errno.EINVAL, "the writer's end")
        assert 0 <= seek(reader, 0, os.SEEK_DATA) <= at


# ---- containers


@needs_root
def test_the_upper_folder_of_overlayfs(own_vault, mounts, tmp_path, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)
    for folder in (point / "upper", point / "work", tmp_path / "lower", tmp_path / "merged"):
        folder.mkdir()
    for name in ("removed", "moved", "changed", "x" * 200):
        (tmp_path / "lower" / name).write_text("below")
    layers = f"lowerdir={tmp_path}/lower,upperdir={point}/upper,workdir={point}/work,userxattr"
    merged = tmp_path / "merged"
    done = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", layers, merged], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0 and not can_whiteout(own_vault.path):
        pytest.skip("the vault's file system leaves no whiteouts")
    if "unknown filesystem" in done.stderr:
        pytest.skip("this system has no overlayfs")
    assert done.returncode == 0, done.stderr
    try:
        (merged / "removed").unlink()
        (merged / "moved").rename(merged / "there")
        (merged / ("x" * 200)).rename(merged / ("y" * 200))
        (merged / "changed").write_text("above")
        expected = {"there": "below", "y" * 200: "below", "changed": "above"}
        assert {path.name: path.read_text() for path in merged.iterdir()} == expected
    finally:
        subprocess.run(["umount", merged], timeout=LIMIT_S, check=True)
    assert stat.S_ISCHR((point / "upper" / "moved").stat().st_mode)
    assert (point / "upper" / "there").read_text() == "below"
    program.succeed("umount", point)
    program.succeed("vault", "fsck", "--passphrase-file", own_vault.passfile, own_vault.path)


def can_whiteout(folder):
    """Whether the file system does what overlayfs wants: renameat2(2) with RENAME_WHITEOUT."""
    libc = ctypes.CDLL(None, use_errno=True)
    (folder / "probe").write_text("")
    done = libc.renameat2(-100, os.fsencode(folder / "probe"), -100, os.fsencode(folder / "probe2"), 4)
    for name in ("probe", "probe2"):
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
    return done == 0


# ---- ACLs


def acl(*entries):
    """The value of an ACL's attribute (linux/posix_acl_xattr.h): tag, rights, number."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER, NOBODY = 1, 2, 4, 8, 16, 32, 0xFFFFFFFF
ACCESS = "system.posix_acl_access"


def as_user(user, group, *words):
    words = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *words]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def probe_attribute(folder, name):
    """Skips the test where a folder takes no such ACL, or no attributes of users."""
    entries = [(USER_OBJ, 7, NOBODY), (GROUP_OBJ, 5, NOBODY), (OTHER, 5, NOBODY)]
    try:
        os.setxattr(folder, name, acl(*entries))
        os.removexattr(folder, name)
    except OSError as error:
        pytest.skip(f"this file system takes no {name}: {error}")


needs_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing (Debian package util-linux)")


@needs_root
@needs_setpriv
def test_the_mask_of_an_acl_lets_no_group_in(public_folder, request):  # noqa: F811
    """A mode's middle bits are the mask, where a file has an ACL."""
    mounts = Mounts(public_folder)  # noqa: F811
    request.addfinalizer(mounts.end)
    own_vault = Vault(public_folder / "own")  # noqa: F811
    point = mounts.by_paes(own_vault, "-w", "--allow-other")
    point.chmod(0o755)
    file = point / "file"
    file.write_text("text")
    os.chown(file, 0, 1234)
    file.chmod(0o600)
    rights = [(USER_OBJ, 6, NOBODY), (USER, 6, 4242), (GROUP_OBJ, 0, NOBODY), (MASK, 6, NOBODY), (OTHER, 0, NOBODY)]
    try:
        os.setxattr(file, ACCESS, acl(*rights))
    except OSError as error:
        pytest.skip(f"this file system has no ACLs: {error}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o660
    assert "Permission denied" in as_user(3333, 1234, "cat", file).stderr
    assert as_user(4242, 4242, "cat", file).stdout == "text"


# What a system before Linux 6.2 lets pass: it enforces no ACLs, and anyone may ask for one to be set.
OLD_SYSTEM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/fuse.h>
struct request { size_t size; int flags; void *text; };  // the beginning of libfuse's fuse_buf
void fuse_session_process_buf(void* session, const struct request* request) {
  void (*real)(void*, const struct request*) = dlsym(RTLD_NEXT, "fuse_session_process_buf");
  struct fuse_in_header* header = request->text;
  if (header->opcode == FUSE_INIT) ((struct fuse_init_in*)(header + 1))->flags &= ~FUSE_POSIX_ACL;
  if (header->opcode == FUSE_SETXATTR || header->opcode == FUSE_REMOVEXATTR) header->uid = header->gid = ASKING;
  real(session, request);
}
"""


@needs_root
@pytest.mark.parametrize("name", [ACCESS, "system.posix_acl_default", "system.other"])
@pytest.mark.parametrize("asking", [1000, 1001, 0])
def test_acls_are_the_owners(own_vault, mounts, preloaded, asking, name):  # noqa: F811
    point, process = mounts.in_foreground(
        own_vault, "-w", "--allow-other", prefix=preloaded(OLD_SYSTEM, f"-DASKING={asking}"))
    (point / "folder").mkdir()
    os.chown(point / "folder", 1000, 1000)
    stored = next(path.parent for path in own_vault.path.glob("*/gocryptfs.diriv"))
    probe_attribute(stored, "user.probe" if name == "system.other" else name)  # it is stored as a user's
    value = acl((USER_OBJ, 7, NOBODY), (GROUP_OBJ, 7, NOBODY), (OTHER, 7, NOBODY))
    before = os.listxattr(stored)

    def attempt(change, *words):
        try:
            change(*words)
        except OSError as error:
            return error.errno
        return 0

    assert attempt(os.setxattr, point / "folder", name, value) == (errno.EPERM if asking == 1001 else 0)
    if asking == 1001:
        assert os.listxattr(stored) == before
        os.setxattr(stored, name, value) if name == "system.posix_acl_default" else None
        assert attempt(os.removexattr, point / "folder", name) == errno.EPERM
        assert name != "system.posix_acl_default" or name in os.listxattr(stored)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0
    assert process.stderr.read().count("the system enforces no ACLs here") == 1


# ---- files that are open


def test_files_without_names(own_vault, mounts, model, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)

    def work(root):
        seen = []
        with opened(root / "file", os.O_RDWR | os.O_CREAT) as first:
            os.write(first, b"a" * 6000)
            with opened(root / "file", os.O_RDONLY) as second:
                (root / "file").unlink()
                seen.append((root / "file").exists())
                with opened(root / "file", os.O_RDWR | os.O_CREAT | os.O_EXCL) as third:
                    os.write(third, b"new")
                os.pwrite(first, b"b" * 100, 5950)
                seen.append(os.pread(second, 10_000, 0))
                os.ftruncate(first, 7)
                seen.append((os.fstat(second).st_size, os.fstat(second).st_nlink))
            os.fchmod(first, 0o600)
            os.pwrite(first, b"c", 8000)
            seen.append((os.fstat(first).st_size, stat.S_IMODE(os.fstat(first).st_mode)))
            (root / "other").write_bytes(b"other")
            with opened(root / "other", os.O_RDONLY) as replaced:
                (root / "file").rename(root / "other")
                seen.append((os.read(replaced, 100), (root / "other").read_bytes()))
                with opened(root / "other", os.O_RDONLY) as now:
                    seen.append(os.read(now, 100))
            seen.append(os.pread(first, 10_000, 0))
        return seen

    both(point, model, work)
    check_same(mounts, own_vault, point, model)


def test_inodes_used_anew(own_vault, mounts, cache):
    """A new file often gets the inode of one that was removed just now."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    for turn in range(200):
        text = bytes([turn % 251 + 1]) * (turn * 37 % 9000)
        (point / "file").write_bytes(text)
        status = (point / "file").stat()
        assert (status.st_size, (point / "file").read_bytes()) == (len(text), text)
        if turn % 3 == 0:
            (point / "file").rename(point / "other")
        else:
            (point / "file").unlink()
    end(mounts, point)
    check(own_vault)


def test_sync_after_files_were_removed(own_vault, mounts, cache):
    """The system still writes back the times of files that have no name any more."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    libc = ctypes.CDLL(None)
    folder = os.open(point, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(3):
        (point / "tree").mkdir()
        for number in range(50):
            (point / "tree" / str(number)).write_bytes(b"text")
        shutil.rmtree(point / "tree")
        assert libc.syncfs(folder) == 0
    os.close(folder)
    end(mounts, point)
    check(own_vault)


def test_sync_after_one_of_several_names_was_removed(own_vault, mounts, cache):
    """The system then writes back the times of a file that is known under the name that it has lost."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    libc = ctypes.CDLL(None)
    with opened(point, os.O_RDONLY | os.O_DIRECTORY) as folder:
        for turn in range(5):
            (point / "first").write_text("text")
            for name in ("second", "third"):
                os.link(point / "first", point / name)
            (point / "third").unlink()
            assert libc.syncfs(folder) == 0
            assert (point / "second").stat().st_nlink == 2
            (point / "first").unlink()
            assert libc.syncfs(folder) == 0
            (point / "second").unlink()
    end(mounts, point)
    check(own_vault)


def test_what_has_lost_one_of_its_names_is_changed_under_another(own_vault, mounts, cache):
    """The mount knows the file under the lost name, and the system does not look for the other one anew."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    changes = {
        "mode": (lambda path: path.chmod(0o600), lambda status: status.st_mode == stat.S_IFREG | 0o600),
        "times": (lambda path: os.utime(path, (10**9, 10**9)), lambda status: status.st_mtime == 10**9),
        "length": (lambda path: os.truncate(path, 2), lambda status: status.st_size == 2),
    }
    for name, (change, is_done) in changes.items():
        kept, lost = point / name, point / f"{name} lost"
        kept.write_text("text")
        os.link(kept, lost)
        lost.unlink()
        change(kept)
        assert is_done(kept.stat()) and kept.stat().st_nlink == 1
    end(mounts, point)
    point = mounts.by_paes(own_vault)
    assert all(is_done((point / name).stat()) for name, (_, is_done) in changes.items())
    unmount_when_free(point)
    check(own_vault)


def test_appending_from_two_processes(own_vault, mounts, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)
    script = "import os,sys; f=os.open(sys.argv[1], os.O_WRONLY|os.O_APPEND|os.O_CREAT)\nfor i in range(300): os.write(f, (sys.argv[2]*(i%50+1)+'\\n').encode())"
    writers = [subprocess.Popen([sys.executable, "-c", script, point / "log", letter]) for letter in "ab"]
    for writer in writers:
        assert writer.wait(LIMIT_S) == 0
    lines = (point / "log").read_text().splitlines()
    for letter in "ab":
        assert [line for line in lines if line[0] == letter] == [letter * (i % 50 + 1) for i in range(300)]
    assert len(lines) == 600
    end(mounts, point)
    check(own_vault)


def test_mapped_direct_and_synced_writes(own_vault, mounts, model):
    point = mounts.by_paes(own_vault, "-w")

    def work(root):
        seen = []
        with open(root / "file", "w+b", buffering=0) as file:
            file.truncate(3 * 4096 + 100)
            with mmap.mmap(file.fileno(), 0) as mapped:
                mapped[5000:5010] = b"0123456789"
                mapped[-1] = 7
                mapped.flush()
                seen.append(os.pread(file.fileno(), 100_000, 0))
                mapped[0:4] = b"head"
            os.pwrite(file.fileno(), b"tail", 20_000)
            os.fdatasync(file.fileno())
            seen.append(os.pread(file.fileno(), 100_000, 0))
        try:
            direct = os.open(root / "file", os.O_RDWR | os.O_DIRECT)
        except OSError:
            return seen  # tmpfs of older systems
        page = mmap.mmap(-1, 8192)
        page[:] = b"d" * 8192
        os.pwritev(direct, [page], 4096)
        os.close(direct)
        page.close()
        seen.append((root / "file").read_bytes())
        with opened(root, os.O_RDONLY | os.O_DIRECTORY) as folder:
            os.fsync(folder)
        return seen

    both(point, model, work)
    check_same(mounts, own_vault, point, model)


def test_locks(own_vault, mounts):
    point = mounts.by_paes(own_vault, "-w")
    (point / "file").write_text("x")
    with open(point / "file", "r+") as one, open(point / "file", "r+") as two:
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.lockf(one, fcntl.LOCK_EX)
        script = "import fcntl,sys\ntry: fcntl.lockf(open(sys.argv[1],'r+'), fcntl.LOCK_EX|fcntl.LOCK_NB)\nexcept OSError: sys.exit(3)"
        assert subprocess.run([sys.executable, "-c", script, point / "file"], check=False).returncode == 3


KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16


def exercise(point, model, seed, operations):
    """Random operations on one file, the same on both. All that is read is compared."""
    chance = random.Random(seed)
    limit = 300_000

    def place():
        offset = chance.randrange(limit)
        length = min(chance.choice((1, 100, 4096, 5000, 40_000)) + chance.randrange(3), limit - offset)
        if chance.random() < 0.4:
            offset -= offset % 4096
        return offset, max(length, 1)

    files = [os.open(root / "exercised", os.O_RDWR | os.O_CREAT) for root in (point, model)]
    try:
        for count in range(operations):
            kind = chance.choice(("write", "write", "write", "read", "read", "cut", "punch", "zero", "allocate", "copy", "map", "sync", "reopen", "append"))
            where = f"seed {seed}, operation {count}: {kind}"
            offset, length = place()
            text = chance.randbytes(length)
            other, _ = place()
            size = os.fstat(files[1]).st_size
            answers = []
            for i, root in enumerate((point, model)):
                file = files[i]
                try:
                    if kind == "write":
                        answers.append(os.pwrite(file, text, offset))
                    elif kind == "read":
                        answers.append(os.pread(file, length, offset))
                    elif kind == "cut":
                        answers.append(os.ftruncate(file, offset) if length % 2 else os.truncate(root / "exercised", offset))
                    elif kind == "punch":
                        answers.append(allocate(file, PUNCH_HOLE | KEEP_SIZE, offset, length))
                    elif kind == "zero":
                        # tmpfs has no such call: zeros are written in its place.
                        if i == 0:
                            answers.append(allocate(file, ZERO_RANGE | KEEP_SIZE, offset, length))
                        else:
                            end_of = min(offset + length, size)
                            if end_of > offset:
                                os.pwrite(file, bytes(end_of - offset), offset)
                            answers.append(None)
                    elif kind == "allocate":
                        answers.append(allocate(file, 0, offset, length))
                    elif kind == "copy":
                        count_copied = min(length, abs(offset - other))
                        answers.append(os.copy_file_range(file, file, count_copied, offset, other) if count_copied else 0)
                    elif kind == "map":
                        if offset + length <= size:
                            with mmap.mmap(file, size) as mapped:
                                mapped[offset : offset + length] = text
                        answers.append(None)
                    elif kind == "sync":
                        answers.append(os.fsync(file))
                    elif kind == "append":
                        with opened(root / "exercised", os.O_WRONLY | os.O_APPEND) as added:
                            answers.append(os.write(added, text[: max(0, limit - size)]))
                    else:
                        os.close(file)
                        files[i] = os.open(root / "exercised", os.O_RDWR)
                        if length % 2:
                            os.posix_fadvise(files[i], 0, 0, os.POSIX_FADV_DONTNEED)
                        answers.append(None)
                except OSError as error:
                    answers.append(errno.errorcode[error.errno])
            assert answers[0] == answers[1], where
            assert os.fstat(files[0]).st_size == os.fstat(files[1]).st_size, where
            if count % 50 == 0:
                assert os.pread(files[0], limit, 0) == os.pread(files[1], limit, 0), where
    finally:
        for file in files:
            os.close(file)
    assert (point / "exercised").read_bytes() == (model / "exercised").read_bytes(), f"seed {seed}"


EXHAUSTIVE = os.environ.get("PAES_EXHAUSTIVE") == "1"


@pytest.mark.parametrize("name", ["aes-gcm", "aes-siv", "xchacha", "plaintext names"])
def test_random_operations(name, mounts, model, tmp_path, cache):
    vault = vault_of_format(tmp_path / "own", name)
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    for turn in range(20 if EXHAUSTIVE else 2):
        point = mounts.by_paes(vault, "-w", *cache)
        exercise(point, model, seed + turn, 5000 if EXHAUSTIVE else 300)
        end(mounts, point)
        check(vault)
    point = mounts.by_paes(vault)
    assert (point / "exercised").read_bytes() == (model / "exercised").read_bytes()


# ---- how a mount ends


def test_sigterm_at_the_beginning_loses_nothing(own_vault, mounts, preloaded):
    """As soon as a mount answers, others write to it, whatever its first thread is at."""
    point, process = mounts.in_foreground(own_vault, "-w", prefix=preloaded(preload.LATE_TO_WAKE))
    (point / "file").write_bytes(b"x" * 100_000)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0
    assert (mounts.by_paes(own_vault) / "file").read_bytes() == b"x" * 100_000


def test_sigterm_loses_nothing(own_vault, mounts):
    text = random.Random(1).randbytes(5_000_000)
    for is_open in (False, True):
        point, process = mounts.in_foreground(own_vault, "-w")
        files = []
        for name in ("a", "b"):
            file = os.open(point / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.write(file, text)
            files.append(file)
        mapped = mmap.mmap(files[0], 8192)
        mapped[0:3] = b"map"
        os.close(files[1])
        if not is_open:
            mapped.close()
            os.close(files[0])
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
        if is_open:
            mapped.close()
            with contextlib.suppress(OSError):
                os.close(files[0])
        assert not is_mounted(point)
        check(own_vault)
        again = mounts.by_paes(own_vault)
        assert (again / "a").read_bytes() == b"map" + text[3:]
        assert (again / "b").read_bytes() == text
        end(mounts, again)


def test_killed_after_a_sync(own_vault, mounts):
    point, process = mounts.in_foreground(own_vault, "-w")
    (point / "folder").mkdir()
    text = random.Random(2).randbytes(1_234_567)
    with open(point / "folder" / LONG, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    process.kill()
    process.wait(LIMIT_S)
    subprocess.run(["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
    check(own_vault)
    again = mounts.by_paes(own_vault, "-w")
    assert (again / "folder" / LONG).read_bytes() == text
    (again / "folder" / LONG).write_bytes(b"new")
    end(mounts, again)
    check(own_vault)


@pytest.mark.parametrize("threads", ["1", "4"])
def test_thread_that_fails(own_vault, mounts, preloaded, tmp_path, threads):
    """Whatever ends a mount, what the system holds is written first."""
    prefix = preloaded(preload.DEAF)
    now = tmp_path / "now"
    point, process = mounts.in_foreground(own_vault, "-w", "-o", f"threads={threads}", prefix=prefix, DEAF=str(now))
    text = random.Random(5).randbytes(3_000_000)
    with open(point / "file", "wb") as file:
        file.write(text)
        file.flush()
        now.touch()
        # A thread has to ask before it can fail.
        with contextlib.suppress(OSError):
            (point / "missing").exists()
        assert process.wait(LIMIT_S) == program.FAILURE
        with contextlib.suppress(OSError):
            file.close()
    assert "what the system asks cannot be received" in process.stderr.read()
    assert not is_mounted(point)
    check(own_vault)
    again = mounts.by_paes(own_vault)
    assert (again / "file").read_bytes() == text
    end(mounts, again)


def small_disk(mounts, tmp_path, size):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], check=False).returncode != 0:
        pytest.skip("this machine lets nobody mount a tmpfs")
    mounts.points.append(disk)
    return disk


def on_a_disk_nearly_full(mounts, tmp_path):
    """A mount, and its disk with the file that leaves too little room for 1 MiB."""
    disk = small_disk(mounts, tmp_path, "2M")
    vault = Vault(disk / "own")
    point, process = mounts.in_foreground(vault, "-w")
    (disk / "filled").write_bytes(bytes(1_400_000))
    return disk, vault, point, process


@needs_root
def test_part_of_a_request_that_fits(mounts, tmp_path):
    """The system takes what it held back for written unless it hears of an error, which a sync then tells."""
    disk, vault, point, process = on_a_disk_nearly_full(mounts, tmp_path)
    text = os.urandom(1 << 20)
    with open(point / "large", "wb", buffering=0) as file:
        assert file.write(text) == len(text)
        with pytest.raises(OSError) as caught:
            os.fsync(file.fileno())
    assert caught.value.errno == errno.ENOSPC
    (disk / "filled").unlink()
    (point / "large").write_bytes(text)
    unmount_when_free(point)
    assert process.wait(LIMIT_S) == 0
    assert ": what was written to it cannot be stored" in process.stderr.read()
    check(vault)
    again = mounts.by_paes(vault)
    assert (again / "large").read_bytes() == text
    end(mounts, again)


def test_the_time_that_is_shown_is_kept(own_vault, mounts, cache):
    """A write that the system holds back comes later than the time that it has given the file."""
    point = mounts.by_paes(own_vault, "-w", *cache)
    shown = {}

    def write_late(name, flags, then):
        with opened(point / name, os.O_RDWR | flags) as file:
            os.write(file, b"x" * 5000)
            time.sleep(0.03)  # more than a step of the system's clock, of which one has the file and the write
            then(file)
        shown[name] = (point / name).stat().st_mtime_ns

    for number in range(8):
        write_late(f"new {number}", os.O_CREAT, lambda file: None)
        write_late(f"synced {number}", os.O_CREAT, os.fsync)
        (point / f"emptied {number}").write_bytes(b"x" * 9000)
        write_late(f"emptied {number}", os.O_TRUNC, lambda file: None)
        (point / f"old {number}").write_bytes(b"x" * 9000)
        write_late(f"old {number}", 0, lambda file: os.utime(file, ns=(10**18, 10**18)))
        assert shown[f"old {number}"] == 10**18
    end(mounts, point)
    again = mounts.by_paes(own_vault)
    assert {name: (again / name).stat().st_mtime_ns for name in shown} == shown
    end(mounts, again)


@needs_root
@pytest.mark.parametrize("names", [1, 2])
def test_what_is_shown_after_writes_that_are_lost(mounts, tmp_path, names):
    """The system has a size of its own for what it holds back, and zeros where nothing was stored."""
    disk, vault, point, _ = on_a_disk_nearly_full(mounts, tmp_path)
    (point / "large").touch()
    for number in range(1, names):
        os.link(point / "large", point / f"name {number}")
        (point / f"name {number}").stat()
    with pytest.raises(OSError) as caught:
        with open(point / "large", "wb", buffering=0) as file:
            file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
    assert caught.value.errno == errno.ENOSPC
    # By another of its names the system sees it once it has let go of the file that was written to.
    late = LIMIT_S if names > 1 else 0
    size, text = (point / "large").stat().st_size, (point / "name 1" if late else point / "large").read_bytes()
    if late:
        program.wait_until(lambda: (point / "large").stat().st_size == len(text), "the size", late)
        size = (point / "large").stat().st_size
    others = [(point / f"name {number}").read_bytes() for number in range(1, names)]
    (disk / "filled").unlink()
    with open(point / "large", "ab") as file:
        file.write(b"more")
    assert (point / "large").read_bytes() == text + b"more"
    unmount_when_free(point)
    again = mounts.by_paes(vault)
    assert (again / "large").read_bytes() == text + b"more"
    assert size == len(text) and others == [text] * (names - 1)
    end(mounts, again)
    check(vault)


@needs_root
def test_end_without_room(mounts, tmp_path):
    """Whoever ends a mount is told what it could not write."""
    _, vault, point, process = on_a_disk_nearly_full(mounts, tmp_path)
    with open(point / "large", "wb", buffering=0) as file:
        file.write(os.urandom(1 << 20))
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == -signal.SIGTERM  # a mount that has lost nothing ends with 0
        with contextlib.suppress(OSError):
            file.close()
    assert os.strerror(errno.ENOSPC) in process.stderr.read()
    check(vault)


@needs_root
def test_full_file_system(mounts, tmp_path, cache):
    disk = small_disk(mounts, tmp_path, "2M")
    vault = Vault(disk / "own")
    point = mounts.by_paes(vault, "-w", *cache)
    kept = random.Random(3).randbytes(500_000)
    (point / "kept").write_bytes(kept)
    with pytest.raises(OSError) as caught:
        with open(point / "large", "wb", buffering=0) as file:
            for _ in range(50):
                file.write(os.urandom(100_000))
            os.fsync(file.fileno())
    assert caught.value.errno == errno.ENOSPC
    assert (point / "kept").read_bytes() == kept
    os.truncate(point / "large", 0)
    (point / "large").unlink()
    (point / "small").write_bytes(kept)
    end(mounts, point)
    check(vault)
    again = mounts.by_paes(vault)
    assert (again / "small").read_bytes() == kept == (again / "kept").read_bytes()
    end(mounts, again)


def test_few_descriptors(own_vault, mounts):
    """Folders that are open but not used give way to what is made."""
    point = mounts.by_paes(own_vault, "-w", prefix=["prlimit", "--nofile=64:64"])
    folders = [point / str(number) for number in range(12)]
    for folder in folders:
        folder.mkdir()
    (point / "file").write_text("text")
    with opened(point, os.O_RDONLY | os.O_DIRECTORY) as folder:
        os.fsync(folder)
    held = []
    try:
        with contextlib.suppress(OSError):
            while len(held) < 64:
                held.append(os.open(point / "file", os.O_RDONLY))
        assert len(held) < 64
        for _ in range(14):
            os.close(held.pop())
        for folder in folders:
            os.listdir(folder)
        for folder in folders[:4]:
            (folder / "made").mkdir()
    finally:
        for file in held:
            os.close(file)
    end(mounts, point)
    check(own_vault)


def test_changes_by_others_between(own_vault, mounts):
    """A file that is not open may be changed below: the mount shows what it has then."""
    point = mounts.by_paes(own_vault, "-w", "--shared")
    theirs = mounts.by_gocryptfs(own_vault, "-sharedstorage")
    for turn, size in enumerate((100, 9000, 4096, 0, 70_000)):
        text = bytes([turn + 1]) * size
        (theirs / "file").write_bytes(text)
        assert (point / "file").read_bytes() == text
        (point / "file").write_bytes(text + b"ours")
        assert (theirs / "file").read_bytes() == text + b"ours"
    unmount_when_free(theirs)
    end(mounts, point)
    check(own_vault)


@pytest.mark.parametrize("change", ["mode", "times", "owner", "length"])
def test_changes_by_others_before_one_of_attributes(own_vault, mounts, change):
    """Our change of the attributes does not make theirs of the content unseen."""
    point = mounts.by_paes(own_vault, "-w")
    theirs = mounts.by_gocryptfs(own_vault, "-sharedstorage")
    (point / "file").write_bytes(b"a" * 10_000)
    assert (point / "file").read_bytes() == b"a" * 10_000
    (theirs / "file").write_bytes(b"b" * 10_000)
    expected = b"b" * 10_000
    if change == "mode":
        (point / "file").chmod(0o600)
    elif change == "times":
        os.utime(point / "file", ns=(10**18, 10**18))
    elif change == "owner":
        os.chown(point / "file", os.getuid(), os.getgid())
    else:
        os.truncate(point / "file", 5000)
        expected = expected[:5000]
    assert (point / "file").read_bytes() == expected
    unmount_when_free(theirs)
    end(mounts, point)
    check(own_vault)


# ---- programs


def test_database(own_vault, mounts, cache):
    point = mounts.by_paes(own_vault, "-w", *cache)
    for mode in ("delete", "wal"):
        path = point / f"{mode}.db"
        base = sqlite3.connect(path, isolation_level=None)
        base.execute(f"pragma journal_mode={mode}")
        base.execute("create table t (a integer primary key, b blob)")
        base.execute("begin")
        for i in range(500):
            base.execute("insert into t values (?, ?)", (i, bytes([i % 256]) * (i * 7 % 3000)))
        base.execute("commit")
        base.execute("delete from t where a % 3 = 0")
        base.execute("vacuum")
        assert base.execute("pragma integrity_check").fetchone() == ("ok",)
        base.close()
    end(mounts, point)
    check(own_vault)
    again = mounts.by_paes(own_vault, "-w")
    for mode in ("delete", "wal"):
        base = sqlite3.connect(again / f"{mode}.db")
        assert base.execute("select count(*), sum(length(b)) from t").fetchone() == (
            sum(1 for i in range(500) if i % 3), sum(i * 7 % 3000 for i in range(500) if i % 3),
        )
        base.close()
    end(mounts, again)


def test_repository(own_vault, mounts):
    if shutil.which("git") is None:
        pytest.skip("git is missing (Debian package git)")
    point = mounts.by_paes(own_vault, "-w")
    environment = program.clean_environment(HOME=str(point), GIT_CONFIG_NOSYSTEM="1")

    def git(*words):
        command = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=m", *words]
        return subprocess.run(command, cwd=point / "r", env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout

    (point / "r").mkdir()
    git("init", "-q")
    chance = random.Random(4)
    for turn in range(3):
        for i in range(20):
            (point / "r" / f"file {i % 13} {turn}").write_bytes(chance.randbytes(i * 500))
        git("add", "-A")
        git("commit", "-q", "-m", str(turn))
    git("gc", "-q")
    git("fsck", "--strict")
    git("clone", "-q", ".", "../copy")
    assert git("status", "--porcelain") == ""
    end(mounts, point)
    check(own_vault)


# ---- options


@needs_root
def test_read_only_and_writable_options(own_vault, mounts, tmp_path):
    point = mounts.by_paes(own_vault, "-o", "rw")
    (point / "file").write_text("text")
    assert remount(point, "ro")
    with pytest.raises(OSError) as caught:
        (point / "file").write_text("other")
    assert caught.value.errno == errno.EROFS
    assert remount(point, "rw")
    (point / "file").write_text("again")
    end(mounts, point)
    for options in (["-r"], ["-o", "ro"], ["-r", "-o", "rw"], []):
        point = mounts.by_paes(own_vault, *options)
        with pytest.raises(OSError) as caught:
            (point / "file").write_text("other")
        assert caught.value.errno == errno.EROFS
        assert (point / "file").read_text() == "again"
        end(mounts, point)
    done = subprocess.run([MOUNT, "-o", "cache=none", own_vault.path, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == program.USAGE
    program.assert_error_lines(done.stderr, "neither back nor through")


@needs_root
def test_backing_tree_that_is_read_only(own_vault, mounts, tmp_path):
    point = mounts.by_paes(own_vault, "-w")
    (point / "file").write_text("text")
    end(mounts, point)
    bound = tmp_path / "bound"
    bound.mkdir()
    if subprocess.run(["mount", "--bind", own_vault.path, bound], check=False).returncode != 0:
        pytest.skip("this machine lets nobody make a bind mount")
    mounts.points.append(bound)
    subprocess.run(["mount", "-i", "-o", "remount,ro,bind", bound], check=True)
    point = mounts.point()
    words = [MOUNT, "-w", "--passphrase-file", own_vault.passfile, bound, point]
    subprocess.run(words, stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
    for change in (
        lambda: (point / "file").write_text("x"), lambda: (point / "new").mkdir(), lambda: (point / "file").unlink(),
        lambda: (point / "file").chmod(0o600), lambda: (point / "new").write_text("x"),
    ):
        with pytest.raises(OSError) as caught:
            change()
        assert caught.value.errno == errno.EROFS
    assert (point / "file").read_text() == "text"
    end(mounts, point)
