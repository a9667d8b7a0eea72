# SPDX-License-Identifier: Apache-2.0
# A mount whose vault's file system fails: a script of operations runs again and again, and another call of the mount
# on the vault fails each time. In every test run those are a few of the calls, with PAES_EXHAUSTIVE all of them.
#
# The error comes out of the operation, or of the fsync or close that belongs to it. What was there before is
# intact, and the operation succeeds once the trouble is over. So at the end the tree is as that of an ordinary folder
# that has seen the same operations, whichever call it was, and both checks find nothing.
import collections
import contextlib
import errno
import mmap
import os
import random
import shutil
import signal
import struct
from dataclasses import dataclass

import preload
import program
import pytest
from test_mount import (  # noqa: F401  (fixtures among them)
    BLOCK,
    LIMIT_S,
    mounts,
    own_vault,
    unmount_when_free,
    vault_of_format,
    why_not_beside_gocryptfs,
)
from test_mount_writes import (
    CACHES,
    EXCHANGE,
    EXHAUSTIVE,
    KEEP_SIZE,
    LONG,
    LONGER,
    PUNCH_HOLE,
    ZERO_RANGE,
    allocate,
    assert_same,
    check,
    facts,
    opened,
    rename,
)

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))

SAMPLE = 2
KINDS = ("aes-gcm", "aes-siv", "xchacha", "plaintext names", "deterministic names")
# Calls of each script that can fail so.
AT_LEAST = {"error": 450, "no room": 60, "full": 60}
SYNCS = ("fsync", "fdatasync", "syncfs")
# What fails: its errno, and whether all that comes after it fails, too, until somebody makes room.
FAULTS = {"error": (errno.EIO, False), "no room": (errno.ENOSPC, False), "full": (errno.ENOSPC, True)}


# ---- what fails


class Faults:
    """What the library of preload.py shares with this process."""

    LAYOUT = "5q24s"

    def __init__(self, path, fault):
        self.error, self.goes_on = fault
        self.path = path
        path.write_bytes(bytes(struct.calcsize(self.LAYOUT)))
        with opened(path, os.O_RDWR) as file:
            self.shared = mmap.mmap(file, 0)

    def arm(self, at):
        """Counts from 1 on. 0: nothing fails."""
        struct.pack_into("4q", self.shared, 0, 0, at, self.goes_on, self.error)

    def disarm(self):
        struct.pack_into("q", self.shared, 8, 0)

    @property
    def counted(self):
        return struct.unpack_from("q", self.shared)[0]

    @property
    def name(self):
        """That of the call that has failed first, if one has."""
        *_, failed, name = struct.unpack_from(self.LAYOUT, self.shared)
        return name.split(b"\0")[0].decode() if failed else None


# ---- the script


@dataclass
class Step:
    """`do` gets the root of a tree. `touched`: paths that need not be as before after an error. `is_done`: whether it
    has happened in spite of the error, where doing it twice is not the same as doing it once."""

    do: object
    touched: tuple
    is_done: object = lambda root: False


def text_of(number, length):
    return random.Random(number).randbytes(length)


def put(path, text, offset=0, sync=os.fsync):
    """The error of what the system held back comes from the sync or the close."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while text:
            done = os.pwrite(file, text, offset)
            text, offset = text[done:], offset + done
        sync(file)
    except OSError:
        with contextlib.suppress(OSError):
            os.close(file)
        raise
    os.close(file)


def in_file(path, work):
    """`work` gets the file open, which is synced then."""
    with opened(path, os.O_RDWR) as file:
        work(file)
        os.fsync(file)


def sync_folder(path):
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as folder:
        os.fsync(folder)


def copy_range(root):
    with opened(root / "file", os.O_RDONLY) as source, opened(root / "copy", os.O_RDWR | os.O_CREAT) as target:
        done = 0
        while done < 30_000:
            done += os.copy_file_range(source, target, 30_000 - done, 100 + done, 5000 + done)
        os.fsync(target)


def write_nameless(root):
    """A file is written that has lost its name."""
    with opened(root / "nameless", os.O_RDWR | os.O_CREAT) as file:
        with contextlib.suppress(FileNotFoundError):
            (root / "nameless").unlink()
        os.pwrite(file, text_of(9, 9000), 0)
        os.fsync(file)
        assert os.pread(file, 10_000, 0) == text_of(9, 9000)


def read_all(root):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with opened(path, os.O_RDONLY) as file:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                while os.read(file, 1 << 20):
                    pass


def exists(path):
    return lambda root: os.path.lexists(root / path)


def is_gone(path):
    return lambda root: not os.path.lexists(root / path)


def moved(old, new):
    return Step(lambda r: (r / old).rename(r / new), (old, new), is_gone(old))


def steps():
    long_file, long_folder = f"folder/{LONG}", f"folder/{LONGER}"
    return [
        Step(lambda r: put(r / "file", text_of(1, 3 * BLOCK + 100)), ("file",)),
        Step(lambda r: (r / "folder").mkdir(), ("folder",), exists("folder")),
        Step(lambda r: put(r / "folder" / "large", text_of(2, 700_000)), ("folder/large",)),
        Step(lambda r: put(r / "closed", text_of(3, 50_000), sync=lambda file: None), ("closed",)),
        Step(lambda r: put(r / long_file, text_of(4, 10)), (long_file,)),
        Step(lambda r: (r / long_folder).mkdir(), (long_folder,), exists(long_folder)),
        Step(lambda r: sync_folder(r / "folder"), ()),
        Step(lambda r: put(r / "file", text_of(5, 5000), 2 * BLOCK - 7), ("file",)),
        Step(lambda r: put(r / "file", text_of(6, 60_000), 4 * BLOCK + 100, os.fdatasync), ("file",)),
        Step(lambda r: os.truncate(r / "file", 40_001), ("file",)),
        Step(lambda r: in_file(r / "file", lambda f: os.ftruncate(f, 90_000)), ("file",)),
        Step(lambda r: in_file(r / "file", lambda f: allocate(f, PUNCH_HOLE | KEEP_SIZE, 5000, 20_000)), ("file",)),
        Step(lambda r: in_file(r / "file", lambda f: allocate(f, ZERO_RANGE | KEEP_SIZE, 30_000, 9000)), ("file",)),
        Step(lambda r: in_file(r / "file", lambda f: allocate(f, 0, 80_000, 20_000)), ("file",)),
        Step(copy_range, ("copy",)),
        Step(lambda r: (r / "file").chmod(0o640), ("file",)),
        Step(lambda r: os.utime(r / "file", ns=(10**18, 10**18)), ("file",)),
        Step(lambda r: os.chown(r / "file", os.getuid(), os.getgid()), ("file",)),
        Step(lambda r: os.setxattr(r / "file", "user.a", b"value"), ("file",)),
        Step(lambda r: os.setxattr(r / "folder", "user.b", b"x" * 300), ("folder",)),
        Step(lambda r: (r / "link").symlink_to("target"), ("link",), exists("link")),
        Step(lambda r: os.link(r / "closed", r / f"folder/{LONG}2"), ("closed", f"folder/{LONG}2"),
             exists(f"folder/{LONG}2")),
        Step(lambda r: os.mkfifo(r / "pipe"), ("pipe",), exists("pipe")),
        moved(long_file, f"{LONG}3"),
        moved("folder/large", "large"),
        Step(lambda r: put(r / "large", text_of(7, BLOCK), 10 * BLOCK), ("large",)),
        Step(lambda r: put(r / "replaced", b"old"), ("replaced",)),
        moved("copy", "replaced"),
        Step(lambda r: rename(r / "file", r / "replaced", EXCHANGE), ("file", "replaced"),
             lambda r: (r / "replaced").stat().st_size == 100_000),
        Step(lambda r: (r / "empty").mkdir(), ("empty",), exists("empty")),
        moved(long_folder, "empty"),
        moved("empty", f"{LONGER[1:]}4"),
        Step(lambda r: (r / f"{LONGER[1:]}4").rmdir(), (f"{LONGER[1:]}4",), is_gone(f"{LONGER[1:]}4")),
        Step(lambda r: (r / f"{LONG}3").unlink(), (f"{LONG}3",), is_gone(f"{LONG}3")),
        Step(write_nameless, ("nameless",)),
        Step(lambda r: sorted(os.listdir(r / "folder")), ()),
        Step(lambda r: os.readlink(r / "link"), ()),
        Step(lambda r: (os.listxattr(r / "replaced"), os.getxattr(r / "replaced", "user.a")), ()),
        Step(lambda r: os.removexattr(r / "replaced", "user.a"), ("replaced",),
             lambda r: "user.a" not in os.listxattr(r / "replaced")),
        Step(lambda r: os.statvfs(r).f_bsize, ()),
        Step(read_all, ()),
        Step(lambda r: sync_folder(r), ()),
    ]


# ---- one run of it


@dataclass
class Run:
    counted: int  # calls of the mount on the vault
    name: str  # of the one that has failed
    step: int  # which got the error


def without(seen, touched):
    return {name: one for name, one in seen.items() if not any(name == t or name.startswith(t + "/") for t in touched)}


def go_on_after_error(step, point, model, where):
    assert_same(without(facts(point), step.touched), without(facts(model), step.touched))
    if step.is_done(point):
        return
    try:
        step.do(point)
    except OSError as error:
        raise AssertionError(f"{where} fails again, without a fault: {error}") from error


def run_script(point, model, faults):
    """Gives the number of the step that has got the error, or None."""
    failed = None
    for number, step in enumerate(steps()):
        try:
            step.do(point)
        except OSError as error:
            faults.disarm()
            where = f"step {number}, of which {faults.name} has failed,"
            assert faults.name and failed is None and error.errno == faults.error, f"{where} ends with {error}"
            failed = number
            go_on_after_error(step, point, model, where)
        step.do(model)
    return failed


def run_with_fault(mounts, vault, folder, prefix, fault, cache, at):  # noqa: F811
    model, faults = folder / "model", Faults(folder / "faults", fault)
    model.mkdir()
    point, process = mounts.in_foreground(vault, "-w", *cache, prefix=prefix, FAULTS=str(faults.path))
    os.listdir(point)  # what fails before a mount answers ends it
    faults.arm(at)
    step = run_script(point, model, faults)
    unmount_when_free(point)
    code, said = process.wait(LIMIT_S), process.stderr.read()
    run = Run(faults.counted, faults.name, step)
    assert code == 0 or (run.name and code in (program.FAILURE, -signal.SIGTERM)), said
    assert run.name not in SYNCS or step is not None or code != 0, f"{run}: a failed sync is a success"
    faults.disarm()
    check_all(mounts, vault, model)
    return run


def check_all(mounts, vault, model):  # noqa: F811
    check(vault)
    expected = facts(model)
    for point in (mounts.by_paes(vault), mounts.by_gocryptfs(vault, "-ro")):
        assert_same(facts(point), expected)
        unmount_when_free(point)


def numbers_of(fault, seed, run):
    """Which calls fail. How many there are differs a little from run to run."""
    if EXHAUSTIVE:
        return range(1, run(0).counted + 20)
    return sorted(random.Random(seed).sample(range(1, AT_LEAST[fault]), SAMPLE))


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_call_fails(mounts, preloaded, tmp_path, fault, cache):  # noqa: F811
    """PAES_SEED chooses vaults and calls."""
    # The ordinary run is always the same.
    seed = int(os.environ.get("PAES_SEED") or (random.SystemRandom().randrange(1 << 32) if EXHAUSTIVE else 1))
    prefix = preloaded(preload.FAILING_AT)

    def run(at):
        kind = random.Random(f"{seed} {at}").choice(KINDS)
        folder = tmp_path / str(at)
        vault = vault_of_format(folder, kind)
        print(f"PAES_SEED={seed}: {kind}, call {at}")
        done = run_with_fault(mounts, vault, folder, prefix, FAULTS[fault], CACHES[cache], at)
        shutil.rmtree(folder)
        return done

    runs = [run(at) for at in numbers_of(fault, seed, run)]
    print("failed:", collections.Counter(done.name for done in runs))
    assert any(done.name for done in runs)


def test_writes_that_are_lost_are_found(own_vault, mounts, preloaded, tmp_path):  # noqa: F811
    with pytest.raises(AssertionError):
        run_with_fault(mounts, own_vault, tmp_path, preloaded(preload.FAILING_AT), (0, False), [], 4)
