# SPDX-License-Identifier: Apache-2.0
# A file that the mount knows under a name that is gone by now, or that another takes away at that moment. And
# file systems that keep a name for what is removed while it is open.
import contextlib
import errno
import fcntl
import os
import shutil
import stat
import subprocess
import threading
import time

import program
import pytest
from test_mount import needs_root, why_not
from test_umount import Vault, mounts, umount, vault  # noqa: F401  (fixtures)

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

CACHES = {"back": [], "through": ["--cache=through"], "shared": ["--shared"]}
LONG_AGO = 978_307_200


@pytest.fixture(params=CACHES)
def point(request, vault, mounts):  # noqa: F811
    return mounts.by_paes(vault, "-w", *CACHES[request.param])


def checked_umount(point, vault):  # noqa: F811
    umount(point)
    result = program.run("vault", "fsck", "--passphrase-file", vault.passfile, vault.path)
    assert result.code == 0, result.err


# ---- names that are gone


def simply_lost(lost, _):
    lost.unlink()


def replaced(lost, other):
    other.write_bytes(b"other")
    other.rename(lost)


def replaced_and_gone(lost, other):
    replaced(lost, other)
    lost.unlink()


def a_folder(lost, other):
    replaced_and_gone(lost, other)
    lost.mkdir()


def a_pipe(lost, other):
    replaced_and_gone(lost, other)
    os.mkfifo(lost)


def a_link(lost, other):
    replaced_and_gone(lost, other)
    lost.symlink_to("nowhere")


def a_moved_folder(lost, other):
    other.mkdir()
    replaced_by = lost.with_name("again")
    lost.unlink()
    other.rename(replaced_by)
    replaced_by.rename(lost)


LOSSES = [simply_lost, replaced, replaced_and_gone, a_folder, a_pipe, a_link, a_moved_folder]


def append(path):
    with open(path, "ab") as file:
        file.write(b"more")
    assert path.read_bytes() == b"text of itmore"


def truncate(path):
    os.truncate(path, 4)
    assert path.read_bytes() == b"text"


def set_mode(path):
    path.chmod(0o604)
    assert path.stat().st_mode == stat.S_IFREG | 0o604


def set_owner(path):
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def set_modified(path):
    """As `touch -m`: nothing else is asked for."""
    subprocess.run(["touch", "-c", "-m", "-d", f"@{LONG_AGO}", path], check=True)
    status = path.stat()
    assert (status.st_mtime, status.st_mode, status.st_size) == (LONG_AGO, stat.S_IFREG | 0o640, 10)


def set_both_times(path):
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert (path.stat().st_atime, path.stat().st_mtime) == (LONG_AGO, LONG_AGO)


def set_attribute(path):
    os.setxattr(path, "user.note", b"value")
    assert os.listxattr(path) == ["user.note"] and os.getxattr(path, "user.note") == b"value"
    os.removexattr(path, "user.note")
    assert os.listxattr(path) == []


def add_name(path):
    os.link(path, path.with_name("third"))
    assert path.with_name("third").read_bytes() == b"text of it"


def look(path):
    status = path.stat()
    assert (status.st_mode, status.st_size, status.st_nlink) == (stat.S_IFREG | 0o640, 10, 1)


def allocate(path):
    with open(path, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 100)
    assert path.read_bytes() == b"text of it" + bytes(90)


def copy_range(path):
    with open(path, "r+b") as file:
        os.copy_file_range(file.fileno(), file.fileno(), 4, 0, 6)
    assert path.read_bytes() == b"textof" + b"text" or path.read_bytes()[6:] == b"text"


def lock_and_sync(path):
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.fsync(file)


OPERATIONS = [
    append, truncate, set_mode, set_owner, set_modified, set_both_times, set_attribute, add_name, look, allocate,
    copy_range, lock_and_sync,
]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_file_whose_other_name_is_gone(point, vault, lose):  # noqa: F811
    """Under which name it was found last makes no difference to what can be done with it."""
    for found_last in ("kept", "lost"):
        for operation in OPERATIONS:
            folder = point / f"{found_last} {operation.__name__}"
            folder.mkdir()
            first, second = ("lost", "kept") if found_last == "kept" else ("kept", "lost")
            (folder / first).write_bytes(b"text of it")
            (folder / first).chmod(0o640)
            os.link(folder / first, folder / second)
            lose(folder / "lost", folder / "other")
            operation(folder / "kept")
    os.sync()
    checked_umount(point, vault)


def test_times_that_were_set_last(vault, mounts):  # noqa: F811
    """They are in the vault, not only in what the system keeps."""
    point = mounts.by_paes(vault, "-w")
    (point / "kept").write_bytes(b"text of it")
    (point / "kept").chmod(0o640)
    os.link(point / "kept", point / "lost")
    (point / "lost").unlink()
    set_modified(point / "kept")
    umount(point)
    again = mounts.by_paes(vault)
    assert (again / "kept").stat().st_mtime == LONG_AGO


def test_a_link_whose_other_name_is_gone(point, vault):  # noqa: F811
    (point / "kept").symlink_to("here")
    os.link(point / "kept", point / "lost", follow_symlinks=False)
    (point / "lost").unlink()
    (point / "lost").symlink_to("there")
    assert [os.readlink(point / name) for name in ("kept", "lost")] == ["here", "there"]
    checked_umount(point, vault)


def test_a_file_with_many_names(point, vault):  # noqa: F811
    (point / "0").write_bytes(b"text of it")
    (point / "0").chmod(0o640)
    for number in range(1, 200):
        os.link(point / "0", point / str(number))
    for number in range(1, 200):
        (point / str(number)).unlink()
    look(point / "0")
    append(point / "0")
    checked_umount(point, vault)


# ---- names that are taken away at that moment


class Others:
    """Threads that do something all the time until the block ends. What they raise comes out."""

    def __init__(self, *works):
        self.works, self.stop, self.errors = works, threading.Event(), []

    def repeat(self, work):
        try:
            while not self.stop.is_set():
                work()
        except OSError as error:
            self.errors.append(error)

    def __enter__(self):
        self.threads = [threading.Thread(target=self.repeat, args=(work,)) for work in self.works]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.errors


SECONDS = 4


def repeatedly(work):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        work()


def test_reading_what_is_replaced(point, vault):  # noqa: F811
    """The name has a file all the time, as editors and package managers replace it."""
    path, new = point / "file", point / "new"
    path.write_bytes(b"text")

    def replace():
        new.write_bytes(b"text")
        new.rename(path)

    def read():
        assert path.read_bytes() == b"text"
        assert path.stat().st_size == 4

    with Others(replace):
        repeatedly(read)
    checked_umount(point, vault)


def test_following_what_is_replaced(point, vault):  # noqa: F811
    path, new = point / "link", point / "new"
    path.symlink_to("there")

    def replace():
        new.symlink_to("there")
        new.rename(path)

    with Others(replace):
        repeatedly(lambda: os.readlink(path))
    checked_umount(point, vault)


def test_creating_what_is_removed(point, vault):  # noqa: F811
    """Whether there is such a file or not, whoever lets it be created has one."""

    def add():
        with open(point / "log", "ab") as file:
            file.write(b"line\n")

    def remove():
        with contextlib.suppress(FileNotFoundError):
            (point / "log").unlink()

    with Others(remove, add):
        repeatedly(add)
    checked_umount(point, vault)


def test_what_was_found_is_opened_after_it_has_gone(vault, mounts):  # noqa: F811
    """The system holds what it has found, as it does between the lookup and the open of one call."""
    point = mounts.by_paes(vault, "-w")
    (point / "file").write_bytes(b"old")
    place = os.open(point / "file", os.O_PATH)
    (point / "new").write_bytes(b"new")
    (point / "new").rename(point / "file")
    with open(f"/proc/self/fd/{place}", "rb") as old:
        assert old.read() == b"old"
    assert os.stat(f"/proc/self/fd/{place}").st_size == 3
    os.close(place)
    assert (point / "file").read_bytes() == b"new"
    checked_umount(point, vault)


OTHER_USER = 4_000_018


@needs_root
def test_what_somebody_else_has_made_is_opened_by_its_rules(vault, mounts):  # noqa: F811
    """Whoever may not open a file does not get it by letting it be created."""
    point = mounts.by_paes(vault, "-w", "--allow-other")
    (point / "public").mkdir()
    (point / "public").chmod(0o777)
    folder = os.open(point / "public", os.O_PATH)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
            os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
            owners = set()
            repeatedly(lambda: owners.add(owner_of_what_is_created(folder)))
            os._exit(0 if owners <= {OTHER_USER, None} and OTHER_USER in owners else 1)
        except BaseException:
            os._exit(2)
    secret = point / "public" / "secret"

    def make_and_remove():
        with contextlib.suppress(FileNotFoundError):
            secret.touch(0o600)
            secret.unlink()

    with Others(make_and_remove):
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(folder)
    checked_umount(point, vault)


def owner_of_what_is_created(folder):
    """None if it may not be opened, or has always changed its owner by then."""
    try:
        file = os.open("secret", os.O_CREAT | os.O_RDWR, 0o600, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.ESTALE):
            raise
        return None
    owner = os.fstat(file).st_uid
    os.close(file)
    with contextlib.suppress(FileNotFoundError):
        os.unlink("secret", dir_fd=folder)
    return owner


# ---- file systems that keep a name for what is removed while it is open


def ntfs(disk):
    return [["mkntfs", "-q", "-Q", "-F", disk]], "ntfs-3g", "ntfs-3g"


def exfat(disk):
    return [["mkfs.exfat", disk]], "mount.exfat-fuse", "exfat-fuse and exfatprogs"


@needs_root
@pytest.mark.parametrize("kind", [ntfs, exfat])
def test_folders_are_removed_on_other_file_systems(kind, mounts, tmp_path):  # noqa: F811
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(50 << 20)
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        commands, mount, package = kind(device)
        for name in (commands[0][0], mount):
            if shutil.which(name) is None:
                pytest.skip(f"{name} is missing (Debian package {package})")
        for words in commands:
            subprocess.run(words, check=True, capture_output=True)
        done = subprocess.run([mount, device, disk], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{mount} cannot mount here: {done.stderr.strip()}")
        mounts.points.append(disk)
        a_vault_without_folders_left(mounts, Vault(disk / "own"))
    finally:
        subprocess.run(["losetup", "-d", device], check=True)  # once it is unmounted


def files_in(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def a_vault_without_folders_left(mounts, vault):  # noqa: F811
    before = sorted(path.name for path in vault.path.iterdir())
    point = mounts.by_paes(vault, "-w")
    long_name = "l" * 200
    for _ in range(5):
        (point / "folder").mkdir()
        (point / "folder").rmdir()
        (point / "folder").mkdir()
        (point / "folder" / long_name).mkdir()
        (point / "folder" / long_name).rmdir()
        files = files_in(vault.path)
        (point / "folder" / "file").write_bytes(b"text")
        (point / "folder" / "file").unlink()
        # The system closes it a moment later; until then ntfs-3g keeps it under a name of its own.
        program.wait_until(lambda: files_in(vault.path) <= files, "the file to go")
        (point / "folder").rmdir()
    checked_umount(point, vault)
    assert sorted(path.name for path in vault.path.iterdir()) == before
