# SPDX-License-Identifier: Apache-2.0
# paes-mount against gocryptfs: what gocryptfs has written through its own mount must be what paes-mount
# shows, to the byte. And the life of a mount: how it begins, how it ends, and what it says when it cannot
# begin. Whatever a test leaves mounted or running is unmounted and ended after it.
import contextlib
import ctypes
import ctypes.util
import errno
import functools
import hashlib
import mmap
import os
import random
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import gocryptfs
import preload
import program
import pytest
import recipes

MOUNT = str(Path(program.PAES).with_name("paes-mount")) if program.PAES else ""
PASSPHRASE = "correct horse battery staple"
LIMIT_S = 120
BLOCK, HEADER, STRIDE = 4096, 18, 4128


def why_not(**packages):
    """Why nothing can be mounted here, or None. `packages`: which Debian package has a program that is needed, too."""
    if not os.access(MOUNT, os.X_OK):
        return "paes-mount was not built (Debian packages libfuse3-dev and pkg-config)"
    for name, package in {"fusermount3": "fuse3", **packages}.items():
        if shutil.which(name) is None:
            return f"{name} is missing (Debian package {package})"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse cannot be used: {error.strerror}"
    return None


def why_not_beside_gocryptfs():
    return why_not(gocryptfs="gocryptfs")


pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))


# ---- how the system's requests come

URING = Path("/sys/module/fuse/parameters/enable_uring")
BY_RINGS = "requests come through io_uring\n"


@functools.cache
def libfuse_is_alone():
    """Whether this libfuse was built without what lets a program read and write for it, as Debian testing's was."""
    name = ctypes.util.find_library("fuse3")
    if name is None:
        return False
    # Whatever the version takes: this is no descriptor, which another libfuse says with EBADF.
    return ctypes.CDLL(name).fuse_session_custom_io(None, None, -1, -1) == -errno.ENOTSUP


def why_not_rings():
    """Why no requests come through io_uring here, or None."""
    if libfuse_is_alone():
        return "requests cannot come through io_uring here: this libfuse reads and writes by itself"
    if not URING.exists():
        return f"requests cannot come through io_uring here: there is no {URING} (Linux 6.14)"
    if URING.read_text().strip() != "Y":
        return f"requests do not come through io_uring here: root turns that on with `echo 1 >{URING}`"
    return None


# By test: paes-mount's options, and what it says with -v.
WAYS = [
    pytest.param(("--io-uring=off", "requests come through /dev/fuse, not through io_uring: --io-uring=off\n"), id="device"),
    pytest.param(
        ("--io-uring=auto", BY_RINGS), id="io_uring",
        marks=pytest.mark.skipif(why_not_rings() is not None, reason=str(why_not_rings())),
    ),
]


# ---- mounting and unmounting, whatever happens


def is_mounted(path):
    """Without touching the mount, whose process may be gone."""
    return any(line.split()[4] == str(path) for line in Path("/proc/self/mountinfo").read_text().splitlines())


def processes_of(path):
    """The programs that were started with this mountpoint: those in the background, too."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(path) in words and Path(os.fsdecode(words[0])).name in ("paes-mount", "gocryptfs"):
                found.append(int(entry.name))
    return found


def has_ended(pid):
    """A process whose new parent collects nobody stays in the table. The first of its threads may be there
    as ended while others still have the process's files open."""
    try:
        is_over = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        return is_over and len(os.listdir(f"/proc/{pid}/task")) <= 1
    except OSError:
        return True


def wait_until_it_answers(point):
    """The system lists a mount before that answers, and until then a signal ends its process. This asks for no file."""
    os.statvfs(point)


def unmount(path):
    return subprocess.run(["fusermount3", "-u", path], capture_output=True, text=True, timeout=LIMIT_S, check=False)


def unmount_when_free(path):
    """Whoever has begun to look at a mount, or has just ended, keeps it busy for a moment."""
    program.wait_until(lambda: unmount(path).returncode == 0, "the mount to be free", LIMIT_S)


class Mounts:
    def __init__(self, folder, way=None):
        self.folder = folder
        self.way, self.told = ([way[0]], way[1]) if way else ([], None)
        self.points = []
        self.started = []

    def point(self):
        path = self.folder / f"mnt{len(self.points)}"
        path.mkdir()
        self.points.append(path)
        return path

    def by_gocryptfs(self, vault, *options):
        point = self.point()
        words = ["gocryptfs", "-q", "-nosyslog", "-passfile", vault.passfile, *options, vault.path, point]
        # It keeps its standard output open in the background.
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
        return point

    def by_paes(self, vault, *options, point=None, prefix=(), code=0):
        """In the background. Gives the mountpoint, or with an exit code the lines of the error."""
        point = point or self.point()
        verbose = ["-v"] if self.told else []
        words = [*prefix, MOUNT, *self.way, *verbose, "--passphrase-file", vault.passfile, *options, vault.path, point]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=program.clean_environment(),
            timeout=LIMIT_S, check=False,
        )
        assert done.returncode == code, done.stderr
        if code != 0:
            return done.stderr
        assert is_mounted(point) and done.stderr == (self.told or "")
        return point

    def in_foreground(self, vault, *options, prefix=(), **variables):
        """The mountpoint and the process, whose standard error is a pipe."""
        point = self.point()
        words = [*prefix, MOUNT, *self.way, "-f", "--passphrase-file", vault.passfile, *options, vault.path, point]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=program.clean_environment(**variables),
        )
        self.started.append(process)
        program.wait_until(lambda: is_mounted(point) or process.poll() is not None, "the mount", LIMIT_S)
        assert process.poll() is None, process.stderr.read()
        return point, process

    def end(self):
        for point in reversed(self.points):
            pids = processes_of(point)
            while is_mounted(point):
                if subprocess.run(["fusermount3", "-uz", point], capture_output=True, timeout=60, check=False).returncode:
                    subprocess.run(["umount", "-l", point], capture_output=True, timeout=60, check=True)
            for pid in pids:
                deadline = time.monotonic() + 30
                while not has_ended(pid) and time.monotonic() < deadline:
                    time.sleep(0.01)
                if not has_ended(pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT_S)
            process.stderr.close()


@pytest.fixture(params=WAYS)
def mounts(tmp_path, request):
    """Every test that mounts does so both ways, where the system has both."""
    made = Mounts(tmp_path, request.param)
    yield made
    made.end()


# ---- vaults


class Vault:
    """A new one, made by gocryptfs; without the features that `without` names (gocryptfs.drop_features)."""

    def __init__(self, folder, *options, without=()):
        self.path = folder / "vault"
        self.path.mkdir(parents=True)
        self.passfile = folder / "passphrase"
        self.passfile.write_text(PASSPHRASE + "\n")
        words = ["gocryptfs", "-q", "-init", "-scryptn", "10", "-passfile", self.passfile, *options, self.path]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            pytest.skip(f"this gocryptfs makes no such vault: {done.stderr.strip()}")
        if without:
            gocryptfs.drop_features(self.path / "gocryptfs.conf", PASSPHRASE.encode(), without)

    def stored(self, size):
        """The one backing file of that size."""
        found = [path for path in self.path.rglob("*") if path.is_file() and path.stat().st_size == size]
        assert len(found) == 1, found
        return found[0]


# gocryptfs's options, and features that its new vaults always have.
FORMATS = {
    "aes-gcm": ([], []), "aes-siv": (["-aessiv"], []), "xchacha": (["-xchacha"], []),
    "plaintext names": (["-plaintextnames"], []), "deterministic names": (["-deterministic-names"], []),
    "padded names": ([], ["Raw64"]), "short names": (["-longnamemax", "100"], []), "no hkdf": ([], ["HKDF"]),
}


def vault_of_format(folder, name):
    options, without = FORMATS[name]
    return Vault(folder, *options, without=without)


EDGES = [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 131_071, 131_072, 131_073, (1 << 20) + 5, (3 << 20) + 777]
LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 100, 143, 144, 160, 175, 176, 177, 190, 191, 192, 223, 254, 255]


def fill(root, seed=1):
    """A tree with everything that a vault can hold, the same for each seed."""
    chance = random.Random(seed)
    for size in EDGES:
        (root / f"size {size}").write_bytes(chance.randbytes(size))
    with open(root / "holes", "wb") as file:
        file.truncate(10 << 20)
        file.seek((4 << 20) + 100)
        file.write(chance.randbytes(10_000))
    names = root / "names"
    names.mkdir()
    for length in LENGTHS:
        try:
            (names / ("n" * length)).write_text(str(length))
            (names / ("d" * length)).mkdir()
        except OSError as error:
            assert error.errno == errno.ENAMETOOLONG
    (names / "Grüße, 世界 \n\\").write_text("any bytes")
    with contextlib.suppress(OSError):
        (names / ("世" * 85)).write_text("255 bytes")
    links = root / "links"
    links.mkdir()
    for length in (1, 2, 3, 16, 100, 1000, 2500):
        (links / f"to {length}").symlink_to("t" * length)
    (links / "up").symlink_to("../size 4097")
    os.link(root / "size 4096", links / "second name")
    os.mkfifo(root / "pipe")
    deep = root
    for level in range(20):
        deep = deep / f"level {level}"
        deep.mkdir()
        (deep / "file").write_text(str(level))
    (root / "empty folder").mkdir()
    for path, mode in ((root / "size 1", 0o640), (root / "names", 0o750)):
        path.chmod(mode)
    os.utime(root / "size 4095", ns=(1_000_000_000_123_456_789, 1_100_000_000_987_654_321))
    os.setxattr(root / "size 8192", "user.one", b"value")
    os.setxattr(root / "size 8192", "user." + "x" * 100, chance.randbytes(1000))
    os.setxattr(root / "empty folder", "user.empty", b"")


def snapshot(root):
    """What anybody can see of a tree: path -> facts. Inodes are compared by which paths share one."""
    seen, inodes = {}, {}
    for path in [root, *program.all_below(root)]:
        status = path.lstat()
        name = str(path.relative_to(root))
        facts = {
            "mode": status.st_mode, "owner": (status.st_uid, status.st_gid), "links": status.st_nlink,
            "size": status.st_size, "blocks": status.st_blocks, "modified": status.st_mtime_ns,
            "changed": status.st_ctime_ns, "inode": inodes.setdefault(status.st_ino, name),
        }
        if path.is_symlink():
            facts["target"] = os.readlink(path)
        elif path.is_file():
            facts["content"] = program.digest(path)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            facts["attributes"] = {key: os.getxattr(path, key) for key in os.listxattr(path)}
        seen[name] = facts
    return seen


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """made(format): a vault and what gocryptfs shows of it. For tests that only read it."""
    known = {}

    def make(name="aes-gcm"):
        if name not in known:
            folder = tmp_path_factory.mktemp("vault")
            vault = vault_of_format(folder, name)
            mounts = Mounts(folder)
            try:
                point = mounts.by_gocryptfs(vault)
                fill(point)
                seen = snapshot(point)
            finally:
                mounts.end()
            known[name] = vault, seen
        return known[name]

    return make


@pytest.fixture
def vault(made):
    return made()[0]


@pytest.fixture
def own_vault(tmp_path):
    """For tests that change it."""
    return Vault(tmp_path / "own")


def wait_ended(*pids):
    for pid in pids:
        program.wait_until(lambda pid=pid: has_ended(pid), f"the end of process {pid}", LIMIT_S)


# ---- what is shown


@pytest.mark.parametrize("name", FORMATS)
def test_trees_of_gocryptfs(made, mounts, name):
    vault, seen = made(name)
    point = mounts.by_paes(vault)
    assert snapshot(point) == seen  # from the vault
    assert snapshot(point) == seen  # from what the system has cached


def test_listing_is_that_of_gocryptfs(vault, mounts):
    theirs, ours = mounts.by_gocryptfs(vault, "-ro"), mounts.by_paes(vault)

    def listed(point):
        words = ["ls", "-lRA", "--time-style=full-iso"]
        return subprocess.run(words, cwd=point, capture_output=True, timeout=LIMIT_S, check=True).stdout

    assert listed(ours) == listed(theirs)
    found = {p: subprocess.run(["find"], cwd=p, capture_output=True, check=True).stdout.splitlines() for p in (theirs, ours)}
    assert sorted(found[ours]) == sorted(found[theirs])


def test_nothing_can_be_written(vault, mounts):
    point = mounts.by_paes(vault)
    for change in (
        lambda: (point / "new").write_text(""), lambda: (point / "new").mkdir(),
        lambda: (point / "size 1").unlink(), lambda: (point / "size 1").rename(point / "new"),
        lambda: (point / "size 1").chmod(0o600), lambda: (point / "new").symlink_to("x"),
        lambda: os.link(point / "size 1", point / "new"), lambda: os.truncate(point / "size 1", 0),
        lambda: os.setxattr(point / "size 1", "user.x", b""), lambda: os.open(point / "size 1", os.O_RDWR),
    ):
        with pytest.raises(OSError) as caught:
            change()
        assert caught.value.errno == errno.EROFS
    # Nor after somebody has made the mount itself writable.
    if remount(point, "rw"):
        with pytest.raises(OSError) as caught:
            (point / "new").mkdir()
        assert caught.value.errno == errno.EROFS


def test_missing_names(vault, mounts):
    point = mounts.by_paes(vault)
    assert not (point / "missing").exists()
    assert not (point / "gocryptfs.diriv").exists() and not (point / "gocryptfs.conf").exists()
    with pytest.raises(OSError) as caught:
        (point / ("n" * 256)).lstat()
    assert caught.value.errno == errno.ENAMETOOLONG


def test_statistics_of_the_file_system(vault, mounts):
    point = mounts.by_paes(vault)
    ours, below = os.statvfs(point), os.statvfs(vault.path)
    assert (ours.f_blocks, ours.f_bsize, ours.f_files) == (below.f_blocks, below.f_bsize, below.f_files)
    assert ours.f_namemax == 255 and ours.f_flag & os.ST_RDONLY


def test_parallel_random_reads(vault, made, mounts):
    point = mounts.by_paes(vault)
    path = point / f"size {EDGES[-1]}"
    text = path.read_bytes()
    assert hashlib.sha256(text).hexdigest() == made()[1][path.name]["content"]
    wrong = []

    def read(seed):
        chance = random.Random(seed)
        with open(path, "rb", buffering=0) as file:
            for turn in range(200):
                if turn % 50 == 0:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                offset, size = chance.randrange(len(text) + 5000), chance.choice((1, 100, 4096, 5000, 70_000, 300_000))
                if os.pread(file.fileno(), size, offset) != text[offset : offset + size]:
                    wrong.append((seed, offset, size))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    assert not wrong


def test_mapped_and_direct_reads(vault, mounts):
    point = mounts.by_paes(vault)
    path = point / f"size {EDGES[-1]}"
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        text = path.read_bytes()
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert mapped[:] == text
        assert mapped[-1:] == text[-1:]
    direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        pages = mmap.mmap(-1, 2 << 20)
        assert os.preadv(direct, [pages], 1 << 20) == 2 << 20
        assert pages[:] == text[1 << 20 : 3 << 20]
        pages.close()
    finally:
        os.close(direct)


LIBC = ctypes.CDLL(None, use_errno=True)
for function in (LIBC.opendir, LIBC.readdir):
    function.restype = ctypes.c_void_p
LIBC.opendir.argtypes = [ctypes.c_char_p]
LIBC.readdir.argtypes = LIBC.telldir.argtypes = LIBC.rewinddir.argtypes = LIBC.closedir.argtypes = [ctypes.c_void_p]
LIBC.telldir.restype = ctypes.c_long
LIBC.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
D_NAME = 19  # where glibc's dirent has the name


def next_name(folder):
    entry = LIBC.readdir(folder)
    return ctypes.string_at(entry + D_NAME) if entry else None


@pytest.mark.parametrize("options", [[], ["--shared"]])
def test_positions_in_a_folder(own_vault, mounts, options):
    theirs = mounts.by_gocryptfs(own_vault)
    for number in range(1500):
        (theirs / f"{number} {'x' * (number % 200)}").touch()
    ours = mounts.by_paes(own_vault, *options)
    folder = LIBC.opendir(os.fsencode(ours))
    assert folder
    try:
        order, positions = [], []
        while True:
            position = LIBC.telldir(folder)
            name = next_name(folder)
            if name is None:
                break
            order.append(name)
            positions.append(position)
        assert sorted(map(os.fsdecode, order)) == sorted([".", "..", *os.listdir(theirs)])
        chance = random.Random(5)
        for index in chance.sample(range(len(order)), 300):
            LIBC.seekdir(folder, positions[index])
            assert next_name(folder) == order[index]
        (theirs / "new").touch()
        LIBC.rewinddir(folder)
        again = [name for name in iter(lambda: next_name(folder), None)]
        assert set(order) <= set(again)
    finally:
        LIBC.closedir(folder)


# ---- damage


def test_only_the_damaged_block_is_lost(own_vault, mounts):
    theirs = mounts.by_gocryptfs(own_vault)
    text = os.urandom(600 * BLOCK + 5)
    (theirs / "file").write_bytes(text)
    (theirs / "other").write_bytes(b"whole")
    unmount_when_free(theirs)
    stored = own_vault.stored(HEADER + 600 * STRIDE + 32 + 5)
    damaged = 77
    with open(stored, "r+b") as file:
        file.seek(HEADER + damaged * STRIDE + 1000)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    ours, process = mounts.in_foreground(own_vault)
    with open(ours / "file", "rb", buffering=0) as file:
        for turn in range(2):
            for block in range(601):
                expected = text[block * BLOCK : (block + 1) * BLOCK]
                if block == damaged:
                    with pytest.raises(OSError) as caught:
                        os.pread(file.fileno(), BLOCK, block * BLOCK)
                    assert caught.value.errno == errno.EIO
                else:
                    assert os.pread(file.fileno(), BLOCK, block * BLOCK) == expected, (turn, block)
    assert (ours / "other").read_bytes() == b"whole"
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 0
    assert f"{stored.name}: block {damaged}" in said, said
    assert said.count("block") == 1, said  # told once, however often it was asked for


def test_damaged_names_links_and_folders(own_vault, mounts):
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "folder").mkdir()
    (theirs / "folder" / "inside").write_text("text")
    (theirs / "link").symlink_to("target")
    (theirs / "file").write_text("text")
    (theirs / "with").write_text("text")
    os.setxattr(theirs / "with", "user.name", b"value")
    unmount_when_free(theirs)
    stored_folder = next(own_vault.path.glob("*/gocryptfs.diriv")).parent
    (stored_folder / "gocryptfs.diriv").unlink()
    stored_link = next(path for path in own_vault.path.iterdir() if path.is_symlink())
    target = os.readlink(stored_link)
    stored_link.unlink()
    stored_link.symlink_to(("A" if target[30] != "A" else "B").join((target[:30], target[31:])))
    (own_vault.path / "no name of gocryptfs").write_text("")
    marked = next(p for p in own_vault.path.iterdir() if p.is_file() and os.listxattr(p))
    name = next(key for key in os.listxattr(marked) if key.startswith("user.gocryptfs."))
    value = bytearray(os.getxattr(marked, name))
    value[-1] ^= 1
    os.setxattr(marked, name, bytes(value))
    ours, process = mounts.in_foreground(own_vault)
    assert sorted(os.listdir(ours)) == ["file", "folder", "link", "with"]
    for broken in (
        lambda: os.listdir(ours / "folder"), lambda: (ours / "folder" / "inside").read_text(),
        lambda: os.readlink(ours / "link"), lambda: os.getxattr(ours / "with", "user.name"),
    ):
        with pytest.raises(OSError) as caught:
            broken()
        assert caught.value.errno == errno.EIO
    assert (ours / "file").read_text() == (ours / "with").read_text() == "text"
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=LIMIT_S)[1]
    for path in (stored_folder.name, stored_link.name, marked.name, "no name of gocryptfs"):
        assert f"{path}: " in said, said


@pytest.mark.parametrize("where", ["journal", "terminal"])
def test_no_log_names_a_file_of_the_vault(own_vault, mounts, where):
    """A service stays in the foreground, and its standard error goes to a log that is kept."""
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "divorce-lawyer").write_text("text")
    unmount_when_free(theirs)
    stored = own_vault.stored(HEADER + 32 + 4)
    stored.write_bytes(stored.read_bytes()[:-1] + b"X")
    point = mounts.point()
    reading, writing = os.openpty() if where == "terminal" else os.pipe()
    words = [MOUNT, "-f", "--passphrase-file", own_vault.passfile, own_vault.path, point]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stderr=writing, env=program.clean_environment()
    ) as process, program.killed_on_failure(process):
        os.close(writing)
        program.wait_until(lambda: is_mounted(point) or process.poll() is not None, "the mount", LIMIT_S)
        with pytest.raises(OSError):
            (point / "divorce-lawyer").read_text()
        said = os.read(reading, 4096).decode()
        process.send_signal(signal.SIGTERM)
    os.close(reading)
    assert "block 0 is not authentic" in said
    assert ("divorce-lawyer" in said) == (where == "terminal"), said
    assert (stored.name in said) == (where == "journal"), said


# ---- beginning and end


def test_background(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    assert os.readlink(f"/proc/{pid}/cwd") == "/" and os.getsid(pid) == pid
    for number in range(3):
        assert os.readlink(f"/proc/{pid}/fd/{number}") == "/dev/null"
    children = [p for p in Path("/proc").glob("[0-9]*") if f"\nPPid:\t{pid}\n" in read_or_empty(p / "status")]
    assert not children
    assert "Max core file size        0 " in Path(f"/proc/{pid}/limits").read_text()
    assert int(status["VmLck"].split()[0]) > 0
    unmount_when_free(point)
    wait_ended(pid)


def test_background_tells_syslog(own_vault, mounts, preloaded, tmp_path):
    """What is damaged, by the name of the encrypted file and by no name of the vault."""
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "hidden folder").mkdir()
    (theirs / "hidden folder" / "hidden file").write_bytes(b"x" * 5000)
    unmount_when_free(theirs)
    stored = own_vault.stored(18 + 2 * 32 + 5000)
    data = bytearray(stored.read_bytes())
    data[-1] ^= 1
    stored.write_bytes(data)
    log = tmp_path / "log"
    point = mounts.by_paes(own_vault, prefix=[*preloaded(preload.LOGGING), f"LOG={log}"])
    (pid,) = processes_of(point)
    for _ in range(2):
        with pytest.raises(OSError) as raised:
            (point / "hidden folder" / "hidden file").read_bytes()
        assert raised.value.errno == errno.EIO
    unmount_when_free(point)
    wait_ended(pid)
    begin, *damage, end = log.read_text().splitlines()
    assert (begin, end) == (f"mounted on {point}", f"unmounts {point}")
    (line,) = damage  # each is told once
    assert line.startswith(f"{stored.relative_to(own_vault.path)}: ") and "block 1" in line
    assert "hidden" not in line


def read_or_empty(path):
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_unmount(vault, mounts, number):
    point, process = mounts.in_foreground(vault)
    used = os.open(point / "size 1", os.O_RDONLY)  # also while it is used
    try:
        process.send_signal(number)
        assert process.wait(LIMIT_S) == 0
        assert not is_mounted(point)
    finally:
        with contextlib.suppress(OSError):  # nobody answers any more
            os.close(used)
    background = mounts.by_paes(vault)
    (pid,) = processes_of(background)
    os.kill(pid, number)
    wait_ended(pid)
    assert not is_mounted(background)


@pytest.mark.parametrize("by", ["fusermount3", "umount"])
def test_unmounting_ends_the_program(vault, mounts, by):
    if by == "umount" and os.geteuid() != 0:
        pytest.skip("only root can use umount")
    point, process = mounts.in_foreground(vault)
    words = [by, "-u", point] if by == "fusermount3" else [by, point]
    program.wait_until(lambda: subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False).returncode == 0,
                       "the mount to be free", LIMIT_S)
    assert process.wait(LIMIT_S) == 0
    assert not is_mounted(point) and process.stderr.read() == ""


def test_unmounted_as_soon_as_it_answers(vault, mounts, preloaded):
    point, process = mounts.in_foreground(vault, prefix=preloaded(preload.LATE_TO_WAKE))
    assert (point / "size 1").stat().st_size == 1
    unmount_when_free(point)
    assert process.wait(LIMIT_S) == 0
    assert process.stderr.read() == ""


def test_busy_mount_stays(vault, mounts):
    point = mounts.by_paes(vault)
    with open(point / "size 4097", "rb") as file:
        assert unmount(point).returncode != 0
        assert len(file.read()) == 4097
    unmount_when_free(point)


def test_idle_mount_is_unmounted(vault, mounts):
    point, process = mounts.in_foreground(vault, "--idle", "1s")
    with open(point / "size 1", "rb"):
        begin = time.monotonic()
        program.wait_until(lambda: time.monotonic() - begin > 3 or not is_mounted(point), "three times that long", LIMIT_S)
        assert is_mounted(point) and process.poll() is None
    assert process.wait(LIMIT_S) == 0
    assert not is_mounted(point)


def test_idle_mount_that_is_watched_is_unmounted(vault, mounts):
    """What df asks for again and again is no use of a mount."""
    # The system asks for the attributes of the root at most once a second.
    point, process = mounts.in_foreground(vault, "--shared", "--idle", "3s")
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        os.statvfs(point)
        os.stat(point)
        time.sleep(0.05)
    assert process.wait(LIMIT_S) == 0 and time.monotonic() < deadline
    assert not is_mounted(point)


def test_idle_mount_in_use_stays(vault, mounts):
    """Somebody is in it, without any request."""
    point, process = mounts.in_foreground(vault, "-o", "idle=1")
    visitor = subprocess.Popen(["sleep", "1000"], cwd=point / "names")
    try:
        begin = time.monotonic()
        program.wait_until(lambda: time.monotonic() - begin > 3 or not is_mounted(point), "three times that long", LIMIT_S)
        assert is_mounted(point)
    finally:
        visitor.kill()
        visitor.wait()
    assert process.wait(LIMIT_S) == 0


def test_killed_and_mounted_anew(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    os.kill(pid, signal.SIGKILL)
    wait_ended(pid)
    said = mounts.by_paes(vault, point=point, code=program.FAILURE)
    program.assert_error_lines(said, "its process is gone")
    assert f"fusermount3 -u {point}" in said
    unmount_when_free(point)
    mounts.by_paes(vault, point=point)
    assert (point / "size 1").stat().st_size == 1


def test_many_opens_keep_no_descriptor(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    snapshot(point)
    before = len(os.listdir(f"/proc/{pid}/fd"))
    for turn in range(3000):
        with open(point / "names" / "n", "rb") as file:
            file.read(1)
        if turn % 100 == 0:
            os.listdir(point / "names")
    program.wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before, "descriptors to be closed", LIMIT_S)


def test_few_descriptors(own_vault, mounts):
    """More folders than descriptors: those that are not used are closed, and opened when they are."""
    theirs = mounts.by_gocryptfs(own_vault)
    for number in range(200):
        (theirs / f"{number}" / "in").mkdir(parents=True)
        (theirs / f"{number}" / "in" / "file").write_text(str(number))
    ours = mounts.by_paes(own_vault, "-t", "2", prefix=["prlimit", "--nofile=64:64"])
    for turn in range(2):
        for number in range(200):
            assert (ours / f"{number}" / "in" / "file").read_text() == str(number), turn
            os.stat(ours / f"{number}")
    (pid,) = processes_of(ours)
    assert len(os.listdir(f"/proc/{pid}/fd")) <= 64


# ---- what others change meanwhile


def test_shared_vault(own_vault, mounts):
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "file").write_text("old")
    (theirs / "folder").mkdir()
    ours = mounts.by_paes(own_vault, "--shared")
    assert (ours / "file").read_text() == "old" and os.listdir(ours / "folder") == []

    def shows(path, text):
        program.wait_until(lambda: path.exists() and path.read_text() == text, f"{path.name}: {text[:20]}", LIMIT_S)

    with open(theirs / "file", "a") as file:
        file.write(" and more" * 10_000)
    shows(ours / "file", "old" + " and more" * 10_000)
    (theirs / "new").write_text("replaced")
    (theirs / "new").rename(theirs / "file")
    shows(ours / "file", "replaced")
    (theirs / "folder" / "later").write_text("new")
    program.wait_until(lambda: os.listdir(ours / "folder") == ["later"], "the new name", LIMIT_S)
    (theirs / "folder").rename(theirs / "moved")
    shows(ours / "moved" / "later", "new")
    assert not (ours / "folder").exists()
    (theirs / "file").unlink()
    program.wait_until(lambda: not (ours / "file").exists(), "the end of the file", LIMIT_S)


def test_open_sees_the_newest(own_vault, mounts):
    """Without --shared, too: what is opened after a change shows it, however long the system may believe
    what it was told."""
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "file").write_text("first")
    ours = mounts.by_paes(own_vault)
    for turn in range(5):
        text = f"text {turn} " * (turn * 3000 + 1)
        assert (ours / "file").read_text() != text
        (theirs / "file").write_text(text)
        program.wait_until(lambda text=text: (ours / "file").read_text() == text, f"turn {turn}", LIMIT_S)


def test_an_open_file_outlives_its_name(own_vault, mounts):
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "file").write_bytes(bytes(range(256)) * 100)
    ours = mounts.by_paes(own_vault, "--shared")
    with open(ours / "file", "rb") as file:
        (theirs / "file").unlink()
        assert file.read() == bytes(range(256)) * 100
        assert os.fstat(file.fileno()).st_size == 25_600


# ---- users


@pytest.fixture
def public_folder():
    """Where everybody may go: pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="paes-mount-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(*words):
    return subprocess.run(["runuser", "-u", "nobody", "--", *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)


def remount(point, options):
    """Changes a mount's options, and gives whether that succeeded. By mount(2), as older programs do it: the
    calls that mount(8) of util-linux 2.39 and later prefers fail for every file system in user space."""
    environment = os.environ | {"LIBMOUNT_FORCE_MOUNT2": "always"}
    words = ["mount", "-i", "-o", f"remount,{options}", point]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
needs_runuser = pytest.mark.skipif(shutil.which("runuser") is None, reason="runuser is missing (Debian package util-linux)")


@needs_root
def test_mountpoint_that_is_replaced_meanwhile(vault, mounts, tmp_path):
    """The folder that was checked is mounted on, and not what others put in its place."""
    point, moved, passphrase = mounts.point(), tmp_path / "moved", tmp_path / "pipe"
    os.mkfifo(passphrase)
    words = [MOUNT, "-f", "--passphrase-file", passphrase, vault.path, point]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=program.clean_environment())
    mounts.started.append(process)
    with open(passphrase, "w", encoding="utf-8") as pipe:  # it has checked the folder by now
        point.rename(moved)
        mounts.points.append(moved)
        point.mkdir()
        (point / "file").write_text("of others")
        pipe.write(PASSPHRASE + "\n")
    program.wait_until(lambda: is_mounted(moved) or process.poll() is not None, "the mount", LIMIT_S)
    assert process.poll() is None, process.stderr.read()
    assert (point / "file").read_text() == "of others" and not is_mounted(point)
    program.wait_until(lambda: (moved / "size 1").exists(), "the files", LIMIT_S)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0
    assert not is_mounted(moved)


@needs_root
def test_the_file_system_below_stays(vault, mounts, mount_space):
    """Somebody has unmounted the vault here, and it lives on in another space of mounts."""
    point = mounts.point()
    if subprocess.run(["mount", "-t", "tmpfs", "below", point], capture_output=True, check=False).returncode != 0:
        pytest.skip("this root may mount no tmpfs")
    mounts.by_paes(vault, point=point)
    (pid,) = processes_of(point)
    words = [*mount_space, "sh", "-c", "echo holds && read line"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as elsewhere:
        assert elsewhere.stdout.readline() == b"holds\n"
        unmount_when_free(point)
        os.kill(pid, signal.SIGTERM)
        wait_ended(pid)
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        assert [line.split(" - ")[1].split()[:2] for line in lines if line.split()[4] == str(point)] == [["tmpfs", "below"]]
        elsewhere.communicate(b"\n", timeout=LIMIT_S)


# What somebody mounts over the vault: a file system of another device, or a folder of the one below.
COVERS = {"another file system": ["-t", "tmpfs", "cover"], "a folder": ["--bind"]}


@needs_root
@pytest.mark.parametrize("end", ["idle", "SIGTERM"])
@pytest.mark.parametrize("cover", COVERS)
@pytest.mark.parametrize("where", ["on top", "in its place"])
def test_what_others_mount_there_stays(vault, mounts, tmp_path, where, cover, end):
    """To unmount takes away what is on top, whatever it is."""
    covering = tmp_path / "covering"
    covering.mkdir()
    point, process = mounts.in_foreground(vault, *(["--idle", "1s"] if end == "idle" else []))
    program.wait_until(lambda: (point / "size 1").exists(), "the files", LIMIT_S)
    with contextlib.ExitStack() as held:
        if where == "in its place":
            held.enter_context(open(point / "size 1", "rb"))  # the vault lives on for it
            subprocess.run(["umount", "-l", point], check=True, timeout=LIMIT_S)
        words = ["mount", *COVERS[cover], *([covering] if cover == "a folder" else []), point]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if done.returncode != 0:
            pytest.skip(f"this root may not mount this: {done.stderr.strip()}")
        (point / "of others").write_text("text")
        if end == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
        elif where == "on top":
            time.sleep(4)
            assert process.poll() is None
    if where == "in its place":
        assert process.wait(LIMIT_S) == 0
    assert (point / "of others").read_text() == "text"


@needs_root
@pytest.mark.parametrize("system", ["this", "before 6.6"])
def test_without_proc(own_vault, mounts, mount_space, preloaded, system):
    """Containers and rescue systems have none, or not yet."""
    point = mounts.point()
    code = """
umount -l /proc || exit 99
$5 "$1" -w --passphrase-file "$2" "$3" "$4" || exit
mkdir "$4/closed" && chmod 700 "$4/closed" && test "$(stat -c %a "$4/closed")" = 700 || exit 90
echo text > "$4/new" && touch "$4/new" && chmod 640 "$4/new" && mkdir "$4/made" || exit 91
ln "$4/new" "$4/second" && mv "$4/second" "$4/made" && sync || exit 92
test "$(stat -c %a "$4/new")" = 640 || exit 93
cp -a "$4/new" "$4/copied" || exit 94
mkfifo "$4/pipe" || exit 95
said=$(chmod 600 "$4/pipe" 2>&1) || case $said in *"not supported"*) ;; *) echo "$said" >&2; exit 96 ;; esac
umount "$4"
"""
    words = [*mount_space, "sh", "-c", code, "sh", MOUNT, own_vault.passfile, own_vault.path, point,
             " ".join(preloaded(preload.NO_FCHMODAT2) if system == "before 6.6" else [])]
    done = subprocess.run(words, capture_output=True, text=True, env=program.clean_environment(), timeout=LIMIT_S, check=False)
    if done.returncode == 99:
        pytest.skip(f"this root may not unmount /proc: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    program.wait_until(lambda: not processes_of(point), "the program's end", LIMIT_S)
    program.succeed("vault", "fsck", "--passphrase-file", own_vault.passfile, own_vault.path)


@needs_root
@needs_runuser
def test_other_users(public_folder, request):
    mounts = Mounts(public_folder)
    request.addfinalizer(mounts.end)
    vault = Vault(public_folder / "own")
    theirs = mounts.by_gocryptfs(vault)
    (theirs / "open").write_text("for all")
    (theirs / "closed").write_text("for root")
    (theirs / "closed").chmod(0o600)
    theirs.chmod(0o755)
    alone = mounts.by_paes(vault)
    assert as_nobody("cat", str(alone / "open")).returncode != 0
    for options in (["--allow-other"], ["-o", "noauto,allow_other,x-systemd.automount"]):
        shared = mounts.by_paes(vault, *options)
        assert as_nobody("cat", str(shared / "open")).stdout == "for all"
        assert "Permission denied" in as_nobody("cat", str(shared / "closed")).stderr


@needs_root
@needs_runuser
def test_mounted_by_an_ordinary_user(public_folder, request):
    if stat.S_IMODE(os.stat("/dev/fuse").st_mode) & 0o006 != 0o006:
        pytest.skip("/dev/fuse is closed to ordinary users here")
    mounts = Mounts(public_folder)
    request.addfinalizer(mounts.end)
    vault = Vault(public_folder / "own")
    theirs = mounts.by_gocryptfs(vault)
    (theirs / "file").write_text("text")
    unmount_when_free(theirs)
    subprocess.run(["chown", "-R", "nobody", vault.path, vault.passfile], check=True)
    point = mounts.point()
    shutil.chown(point, "nobody")
    binary = shutil.copy(MOUNT, public_folder)
    done = as_nobody(binary, "--passphrase-file", str(vault.passfile), str(vault.path), str(point))
    assert done.returncode == 0, done.stderr
    assert as_nobody("cat", str(point / "file")).stdout == "text"
    (pid,) = processes_of(point)
    assert as_nobody("fusermount3", "-u", str(point)).returncode == 0
    wait_ended(pid)


# ---- the command line


def test_paes_mount_starts_it(vault, mounts, tmp_path):
    point = mounts.point()
    program.succeed("mount", "--passphrase-file", vault.passfile, vault.path, point)
    assert (point / "size 1").stat().st_size == 1
    assert b"MOUNTPOINT" in program.succeed("mount", "--help").out
    alone = shutil.copy(program.PAES, tmp_path / "paes")
    result = program.run("mount", "--help", binary=alone, prefix=["env", "PATH=/nonexistent"])
    assert result.code == program.FAILURE
    program.assert_error_lines(result.err, "paes-mount is not installed")
    assert "package paes-mount" in result.err


def test_wrong_passphrase(vault, mounts, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("something else")
    for options in ([], ["-f"]):
        point = mounts.point()
        done = subprocess.run([MOUNT, *options, "--passphrase-file", wrong, vault.path, point], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == program.WRONG_KEY
        program.assert_error_lines(done.stderr, "passphrase is wrong")
        assert not is_mounted(point) and not processes_of(point)


def test_refusals(vault, mounts, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    inside = vault.path / "inside"
    inside.mkdir()
    (tmp_path / "empty").mkdir()

    def refused(says, *words, code=program.FAILURE, hint=""):
        done = subprocess.run([MOUNT, "--passphrase-file", vault.passfile, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == code, done.stderr
        program.assert_error_lines(done.stderr, says)
        assert hint in done.stderr

    reverse = tmp_path / "reverse"
    reverse.mkdir()
    (reverse / ".gocryptfs.reverse.conf").write_text("{}")

    try:
        refused("is not empty", vault.path, full)
        refused("lies in the vault", vault.path, inside)
        refused("contains the vault", vault.path, vault.path.parent)
        refused("lies in the vault", vault.path, vault.path)
        refused("No such file", vault.path, tmp_path / "missing")
        refused("is not a folder", vault.path, full / "file")
        refused("no gocryptfs.conf", full, tmp_path / "empty")
        refused("no such option", "-o", "ro,bogus", vault.path, tmp_path / "empty", code=program.USAGE)
        refused("is not a time", "--idle", "soon", vault.path, tmp_path / "empty", code=program.USAGE)
        refused("unknown name", "--kernel", "bogus", vault.path, tmp_path / "empty", code=program.USAGE)
        refused("MOUNTPOINT", vault.path, code=program.USAGE)
        refused("reverse mode", reverse, tmp_path / "empty")
        # As somebody types it who knows gocryptfs.
        for words, hint in (
            (["-ro"], "-ro is an option of gocryptfs: use -r\n"),
            (["-allow_other"], "-allow_other is an option of gocryptfs: use --allow-other\n"),
            (["-passfile", "file"], "-passfile is an option of gocryptfs: use --passphrase-file FILE\n"),
            (["--masterkey=00"], "--masterkey is an option of gocryptfs: use --master-key FILE\n"),
            (["-fido2", "x"], "-fido2 is an option of gocryptfs: use --fido2 DEVICE\n"),
            (["-o", "reverse"], "reverse is an option of gocryptfs: paes does not have that\n"),
            (["--config", "x", "--bogus"], "hint: paes-mount --help\n"),
            (["-idle", "1m"], "-idle is an option of gocryptfs: use --idle TIME\n"),
        ):
            refused("", *words, vault.path, tmp_path / "empty", code=program.USAGE, hint=hint)
    finally:
        inside.rmdir()
    point = mounts.by_paes(vault, "-o", "nonempty", point=full)
    mounts.points.append(full)
    assert not (point / "file").exists()


def test_master_key_configuration_and_source(own_vault, mounts, tmp_path):
    theirs = mounts.by_gocryptfs(own_vault)
    (theirs / "file").write_text("text")
    unmount_when_free(theirs)
    moved = tmp_path / "elsewhere.conf"
    (own_vault.path / "gocryptfs.conf").rename(moved)
    point = mounts.by_paes(own_vault, "--config", moved, "--fsname", "a, \\ b", "--kernel", "bitslice", "-t", "1")
    assert (point / "file").read_text() == "text"
    (line,) = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {point} " in line]
    options = line.split(" - ")[1]
    assert options.startswith("fuse.paes-mount a,\\040\\134\\040b ro,") and "default_permissions" in options
    assert "nosuid,nodev" in line
    listed = mounts.by_paes(own_vault, "-o", f"ro,config={moved},noexec,x-gvfs-hide,_netdev,threads=3")
    assert (listed / "file").read_text() == "text"
    assert any(f" {listed} " in line and "noexec" in line for line in Path("/proc/self/mountinfo").read_text().splitlines())

    key = tmp_path / "key"
    shown = subprocess.run(
        ["gocryptfs-xray", "-dumpmasterkey", moved], input=PASSPHRASE + "\n", capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )
    if shown.returncode != 0:
        pytest.skip(f"gocryptfs-xray does not show the master key: {shown.stderr.strip()}")
    key.write_text(shown.stdout)
    by_key = mounts.point()
    done = subprocess.run([MOUNT, "--config", moved, "--master-key", key, own_vault.path, by_key], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert (by_key / "file").read_text() == "text"


@pytest.mark.parametrize("kind", ["folders", "file", "plain names"])
def test_a_key_of_another_vault_mounts_nothing(tmp_path, mounts, kind):
    """What a mount wrote under it, nobody could read."""
    options = ["-plaintextnames"] if kind == "plain names" else []
    vault = Vault(tmp_path / "own", *options)
    theirs = mounts.by_gocryptfs(vault)
    if kind == "folders":
        (theirs / "one").mkdir()
        (theirs / ("n" * 200)).mkdir()
    else:
        (theirs / "file").write_text("text")
    unmount_when_free(theirs)
    other = Vault(tmp_path / "other", *options).path / "gocryptfs.conf"
    key = tmp_path / "key"
    key.write_text("00" * 32)
    point = mounts.point()
    moved = tmp_path / "moved.conf"
    shutil.copy(vault.path / "gocryptfs.conf", moved)
    opened_by = ("--config", other, "--passphrase-file", vault.passfile)
    for words, says in (
        (("--master-key", key), f"{key}: is not the master key of this vault"),
        (opened_by, f"{other}: is not the configuration of this vault"),
    ):
        done = subprocess.run([MOUNT, "-w", *words, vault.path, point], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == program.WRONG_KEY, done.stderr
        program.assert_error_lines(done.stderr, says)
    ours = mounts.by_paes(vault, "-w", "--config", moved)
    (ours / "new").write_text("new")
    unmount_when_free(ours)
    assert (mounts.by_gocryptfs(vault) / "new").read_text() == "new"


@contextlib.contextmanager
def at_a_terminal(*words):
    """Starts the program there, as a shell would, and waits until it asks: (process, terminal)."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", "-w", *words], stdin=slave, stdout=slave, stderr=slave, env=program.clean_environment()
    )
    os.close(slave)
    try:
        shown = b""
        while b"Passphrase: " not in shown:
            assert select.select([master], [], [], LIMIT_S)[0], shown
            shown += os.read(master, 4096)
        yield process, master
    finally:
        os.close(master)
        process.kill()
        process.wait(LIMIT_S)


def test_passphrase_at_the_terminal(vault, mounts):
    """The program asks there, and then leaves the terminal, whose end does not end it."""
    point = mounts.point()
    with at_a_terminal(MOUNT, vault.path, point) as (process, terminal):
        os.write(terminal, PASSPHRASE.encode() + b"\n")
        assert process.wait(LIMIT_S) == 0
    (pid,) = processes_of(point)
    assert len((point / "size 1").read_bytes()) == 1 and not has_ended(pid)
    assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4] == "0"  # no terminal


def test_asking_can_be_interrupted(vault, mounts):
    """Both of its processes end then."""
    point = mounts.point()
    with at_a_terminal(MOUNT, vault.path, point) as (process, terminal):
        os.write(terminal, b"\x03")  # Ctrl-C
        assert process.wait(LIMIT_S) != 0
    program.wait_until(lambda: not processes_of(point), "the end of both", LIMIT_S)
    assert not is_mounted(point)


def test_passphrase_from_a_descriptor(vault, mounts):
    point = mounts.point()
    with open(vault.passfile, "rb") as file:
        done = subprocess.run(
            [MOUNT, "--passphrase-fd", str(file.fileno()), vault.path, point], pass_fds=[file.fileno()],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )
    assert done.returncode == 0, done.stderr
    assert (point / "size 1").exists()


@needs_root
def test_as_fstab_mounts_it(vault, mounts):
    """mount(8) calls mount.fuse, which starts the program."""
    if shutil.which("mount.fuse3") is None:
        pytest.skip("mount.fuse3 is missing (Debian package fuse3)")
    point = mounts.point()
    # With the type fuse.paes-mount, it would look for the program in the system's own path.
    words = ["mount", "-t", "fuse", "-o", f"ro,noauto,user,passfile={vault.passfile}", f"{MOUNT}#{vault.path}", point]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert (point / "size 1").exists()
    (pid,) = processes_of(point)
    unmount_when_free(point)
    wait_ended(pid)


# ---- the document


def test_commands_of_the_document(mounts, tmp_path):
    """docs/mount.md, as it stands."""
    folder, programs = tmp_path / "folder", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    for binary in (program.PAES, MOUNT):
        (programs / Path(binary).name).symlink_to(binary)
    recipes.furnish(folder)
    mounts.points.append(folder / "text")
    environment = program.clean_environment(HOME=str(folder), PATH=f"{programs}:{os.environ['PATH']}")
    commands = [block for kind, block in recipes.blocks("docs/mount.md") if kind == ""]
    assert any("paes-mount" in block for block in commands)
    for block in commands:
        recipes.run_block("", block, folder, environment)
