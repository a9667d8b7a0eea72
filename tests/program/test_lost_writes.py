# SPDX-License-Identifier: Apache-2.0
# A disk that takes what is written and cannot keep it, below an overlay, as the root of a container is one.
# The sync of a whole overlay tells nobody of what the file system below could not write. Only the sync of
# each file does.
import contextlib
import os
import re
import shutil
import subprocess

import program
import pytest
from program import OK
from test_mount import needs_root, why_not
from test_umount import Vault, mounts  # noqa: F401  (a fixture)

FILES = 20
BLOCK = 4096
# It has room for all that the tests write.
DISK_BYTES = 40 << 20

pytestmark = needs_root


class FailingDisk:
    """An overlay on an ext4 whose image lies on a tmpfs. fail() takes the room for all that is not yet in use."""

    def __init__(self, folder, points):
        for name in ("mkfs.ext4", "dumpe2fs", "mount", "fallocate"):
            if shutil.which(name) is None:
                pytest.skip(f"{name} is missing (Debian packages e2fsprogs, mount and util-linux)")
        self.ram, self.lower, self.disk, self.root = (folder / name for name in ("ram", "lower", "disk", "root"))
        for path in (self.ram, self.lower, self.disk, self.root):
            path.mkdir()
        self.points = points
        self.mount(self.ram, "-t", "tmpfs", "-o", f"size={DISK_BYTES + (4 << 20)}", "none")
        self.image = self.ram / "image"
        self.image.write_bytes(b"\xff" * DISK_BYTES)
        # Without a journal, the failure of which would make it read-only at once; and blocks are found when
        # something is written, so that only the data itself is lost.
        words = ["mkfs.ext4", "-q", "-b", str(BLOCK), "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=0"]
        subprocess.run([*words, self.image], check=True, capture_output=True)
        self.mount_both()
        for name in ("upper", "work"):
            (self.disk / name).mkdir()
        subprocess.run(["umount", self.disk], check=True)
        self.points.remove(self.disk)
        self.mount_both()
        self.mount_overlay()

    def mount(self, point, *words):
        done = subprocess.run(["mount", *words, point], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot be mounted here: {done.stderr.strip()}")
        self.points.append(point)

    def mount_both(self):
        self.mount(self.disk, "-o", "loop,nodelalloc", self.image)

    def mount_overlay(self):
        layers = f"lowerdir={self.lower},upperdir={self.disk / 'upper'},workdir={self.disk / 'work'}"
        self.mount(self.root, "-t", "overlay", "-o", layers, "overlay")

    def fail(self):
        os.sync()
        told = subprocess.run(["dumpe2fs", self.image], capture_output=True, text=True, check=True).stdout
        for line in re.findall(r"^  Free blocks: (.*)$", told, re.MULTILINE):
            for span in filter(None, line.split(", ")):
                first, last = (int(number) for number in (span.split("-") * 2)[:2])
                length = (last - first + 1) * BLOCK
                words = ["fallocate", "-p", "-o", str(first * BLOCK), "-l", str(length), self.image]
                subprocess.run(words, check=True)
        with contextlib.suppress(OSError), open(self.ram / "filled", "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))

    def look_again(self):
        """Nothing is in the system's cache any more."""
        for point in (self.root, self.disk):
            subprocess.run(["umount", point], check=True)
            self.points.remove(point)
        self.mount_both()
        self.mount_overlay()


@pytest.fixture
def failing_disk(mounts, tmp_path):  # noqa: F811
    return FailingDisk(tmp_path, mounts.points)


def test_a_group_of_files(failing_disk, tmp_path):
    key = tmp_path / "key"
    program.succeed("keygen", "-o", key)
    plain = tmp_path / "plain"
    plain.mkdir()
    for number in range(FILES):
        (plain / str(number)).write_bytes(os.urandom(20_000))
    out = failing_disk.root / "out"
    out.mkdir()
    (out / "first").write_bytes(b"so that the folder has its blocks")
    failing_disk.fail()
    result = program.run("encrypt", "--recursive", "-i", key, "--output-dir", out, plain)
    failing_disk.look_again()
    named = sorted(out.rglob("*.paes"))
    unread = [path for path in named if program.run("verify", "-i", key, path).code != OK]
    assert result.code != OK or (len(named) == FILES and not unread)
    assert not unread
    assert result.code != OK and result.err.count(": Input/output error") + result.err.count(": No space") >= 1


needs_a_mount = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@needs_a_mount
@pytest.mark.parametrize("cache", ["back", "through"])
def test_an_unmounted_vault(failing_disk, mounts, cache):  # noqa: F811
    """The file was closed long before. Who unmounts hears that it is lost."""
    vault = Vault(failing_disk.root / "own")
    point = mounts.by_paes(vault, "-w", f"--cache={cache}")
    failing_disk.fail()
    with contextlib.suppress(OSError):  # its writer may hear of it, too
        (point / "file").write_bytes(os.urandom(200_000))
    result = program.run("umount", point)
    assert result.code != OK, "a lost file is told as written"


@needs_a_mount
def test_many_files_of_the_vault_itself(failing_disk, mounts):  # noqa: F811
    """Each long name has a file of its own. A sync is not one unless all of these are on disk."""
    vault = Vault(failing_disk.root / "own")
    point = mounts.by_paes(vault, "-w")
    names = [point / f"{number:0240}" for number in range(100)]
    for name in names:
        os.mknod(name)
    for name in names:
        name.unlink()  # its folder keeps the blocks, so that nothing but the content is lost
    with open(point / "kept", "wb", buffering=0) as kept:
        kept.write(b"text")
        os.fsync(kept)
        failing_disk.fail()
        with pytest.raises(OSError):
            for name in names:
                os.mknod(name)
            os.fsync(kept)
    assert program.run("umount", point).code != OK
