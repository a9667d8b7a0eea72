# SPDX-License-Identifier: Apache-2.0
# File systems of the machine on a disk whose writes and flushes are logged (logged_disk.cpp), and the disk as a power
# failure may leave it at any moment.
#
# What a disk had written before a flush that it has answered is there. Of what it took after that, a power failure
# leaves any part: whole writes, single sectors of 512 bytes of them, or nothing.
import contextlib
import ctypes
import errno
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 60
SECTOR = 512


@dataclass
class Kind:
    """A file system: how it is made and mounted, and where its superblock lies, which it expects a disk to write whole."""

    name: str
    make: tuple
    bytes: int
    options: str = "nodiscard"
    superblock: range = range(0)
    is_layered: bool = False


KINDS = {
    "ext4": Kind("ext4", ("mkfs.ext4", "-q", "-E", "nodiscard"), 96 << 20, superblock=range(0, 4096)),
    # The least that it takes; most of it stays a hole.
    "xfs": Kind("xfs", ("mkfs.xfs", "-q", "-K"), 300 << 20),
    "btrfs": Kind("btrfs", ("mkfs.btrfs", "-q", "-K"), 160 << 20, superblock=range(65536, 65536 + 4096)),
}
KINDS["overlayfs"] = Kind("ext4", KINDS["ext4"].make, KINDS["ext4"].bytes, superblock=KINDS["ext4"].superblock, is_layered=True)


def missing(kind):
    """Why a file system of this kind cannot be used here, or nothing."""
    if os.geteuid() != 0:
        return "only root can mount"
    for tool in ("losetup", "mount", "umount", kind.make[0]):
        if shutil.which(tool) is None:
            return f"{tool} is missing"
    for path in ("/dev/fuse", "/dev/loop-control"):
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError as error:
            return f"{path}: {error.strerror}"
    return ""


def call(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise OSError(errno.EIO, f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout.strip()


def fast_folder():
    """Where images are copied again and again."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


@contextlib.contextmanager
def unmounted_at_the_end(point):
    try:
        yield point
    finally:
        for _ in range(50):
            if subprocess.run(["umount", point], capture_output=True, timeout=TIMEOUT_S, check=False).returncode == 0:
                break
            time.sleep(0.02)
        else:
            subprocess.run(["umount", "-l", point], capture_output=True, timeout=TIMEOUT_S, check=False)


@contextlib.contextmanager
def attached(kind, image, point, is_direct=False):
    """The image's file system, mounted at this folder. The loop device goes with its last user."""
    device = call("losetup", "-f", "--show", *(["--direct-io=on"] if is_direct else []), image)
    try:
        call("mount", "-t", kind.name, "-o", kind.options, device, point)
    finally:
        call("losetup", "-d", device)
    with unmounted_at_the_end(point):
        yield point


@contextlib.contextmanager
def mounted(kind, image, place, is_direct=False):
    """The folder in which a scenario has its files: the root of the file system, or of an overlay on it."""
    below, merged = place / "below", place / "merged"
    below.mkdir(exist_ok=True)
    merged.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(attached(kind, image, below, is_direct))
        if not kind.is_layered:
            folder = below / "folder"
            folder.mkdir(exist_ok=True)
            yield folder
            return
        lower, upper, work = (below / name for name in ("folder", "upper", "work"))
        for path in (lower, upper, work):
            path.mkdir(exist_ok=True)
        call("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", merged)
        stack.enter_context(unmounted_at_the_end(merged))
        yield merged


def make_image(kind, path):
    """An empty file system, with the folders that `mounted` makes already on it."""
    with open(path, "wb") as file:
        file.truncate(kind.bytes)
    call(*kind.make, path)


def copy_image(image, to):
    """Holes stay holes."""
    call("cp", "--sparse=always", image, to)
    return to


class Written:
    """What was done to a disk, in order: ("W", offset, content), ("F", ""), ("M", words)."""

    HEAD = struct.Struct("<QQQ")

    def __init__(self, path):
        log = memoryview(Path(path).read_bytes())
        self.records = []
        at = 0
        while at < len(log):
            kind, offset, size = self.HEAD.unpack_from(log, at)
            at += self.HEAD.size
            content = log[at : at + size]
            at += size
            word = chr(kind)
            self.records.append((word, offset, content) if word == "W" else (word, bytes(content).decode()))

    def marks(self):
        return [(at, record[1]) for at, record in enumerate(self.records) if record[0] == "M"]

    def said_before(self, end):
        return {record[1] for record in self.records[:end] if record[0] == "M"}


class LoggedDisk:
    """A mounted file system on a logged disk. `marks` is a file: what is written there stands in the log."""

    def __init__(self, program, place):
        self.program, self.place = program, place
        self.point = place / "disk"
        self.log = place / "log"

    @contextlib.contextmanager
    def mounted(self, kind, image):
        self.point.mkdir(exist_ok=True)
        with subprocess.Popen([self.program, image, self.log, self.point], start_new_session=True) as process:
            try:
                deadline = time.monotonic() + TIMEOUT_S
                while not os.path.ismount(self.point):
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise OSError(errno.EIO, "logged_disk does not mount")
                    time.sleep(0.005)
                with unmounted_at_the_end(self.point), mounted(kind, self.point / "disk", self.place, True) as folder:
                    yield folder
                process.wait(TIMEOUT_S)
            finally:
                process.kill()

    def mark(self, words):
        with open(self.point / "marks", "wb", buffering=0) as file:
            file.write(words.encode())


@contextlib.contextmanager
def synced_now_and_then(folder, chance):
    """As the system writes what it holds by itself every few seconds, but more often."""
    syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    end = threading.Event()

    def sync():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            while not end.wait(chance.uniform(0.01, 0.15)):
                syncfs(descriptor)
        finally:
            os.close(descriptor)

    thread = threading.Thread(target=sync)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@dataclass
class Failure:
    """A power failure after so many records. `kept`: how much of what no flush had ordered is there."""

    at: int
    kept: float
    tears: bool
    seed: str


class Disks:
    """The disk as failures leave it, in the order of their moments."""

    def __init__(self, kind, image, written, place):
        self.kind, self.written, self.place = kind, written, place
        self.durable = copy_image(image, place / "durable")
        self.next = 0

    def after(self, failure, chance):
        records = self.written.records
        flushes = [at for at in range(self.next, failure.at) if records[at][0] == "F"]
        if flushes:
            self.write(self.durable, [one[1:] for one in records[self.next : flushes[-1]] if one[0] == "W"])
            self.next = flushes[-1]
        late = [one[1:] for one in records[self.next : failure.at] if one[0] == "W"]
        left = copy_image(self.durable, self.place / "left")
        self.write(left, self.some_of(late, failure, chance))
        return left

    def some_of(self, writes, failure, chance):
        """Two writes to one place are in order already: a disk that has only the first of them is one of the choices."""
        for offset, content in writes:
            if failure.kept < 1 and chance.random() >= failure.kept:
                continue
            if not failure.tears or chance.random() < 0.2 or offset in self.kind.superblock:
                yield offset, content
                continue
            for begin in range(0, len(content), SECTOR):
                if chance.random() < 0.5:
                    yield offset + begin, content[begin : begin + SECTOR]

    @staticmethod
    def write(image, writes):
        with open(image, "r+b", buffering=0) as file:
            for offset, content in writes:
                file.seek(offset)
                file.write(content)
