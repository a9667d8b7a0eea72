# SPDX-License-Identifier: Apache-2.0
# Fixtures shared by every test here. The binary comes from the environment variable PAES, which
# ctest sets; there is no default, so that no test runs against the wrong build by accident.
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import age_file
import program
import pytest

# A shell starts what it puts into the background with ^C ignored, and children inherit that: the
# tests would wait without end for programs that they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    if not os.access(program.PAES, os.X_OK):
        raise pytest.UsageError(f"PAES must name the paes binary, is {program.PAES!r}")
    for needed in ("age", "age-keygen"):
        if shutil.which(needed) is None:
            raise pytest.UsageError(f"{needed} is missing (Debian package age)")


def pytest_sessionfinish(session, exitstatus):
    """pytest keeps a folder that it was told to use."""
    folder = session.config.option.basetemp
    if exitstatus == 0 and folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class KeyPair:
    path: Path
    recipient: str


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """A key pair made by age-keygen."""
    path = tmp_path_factory.mktemp("keys") / "key.txt"
    return KeyPair(path, age_file.keygen(path))


@pytest.fixture(scope="session")
def other_keys(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "other.txt"
    return KeyPair(path, age_file.keygen(path))


@pytest.fixture(scope="session")
def random_bytes():
    """random_bytes(n): a prefix of one random string, so that large texts cost nothing."""
    text = os.urandom((4 << 20) + 1)
    return lambda size: text[:size]


@pytest.fixture
def folder(tmp_path):
    """A folder whose contents a test compares before and after."""
    path = tmp_path / "folder"
    path.mkdir()
    path.chmod(0o755)  # under any umask: where others can write, paes writes into no FIFO
    return path


@pytest.fixture
def plain(folder, random_bytes):
    """A file of some chunks, the last of them partial."""
    path = folder / "plain"
    path.write_bytes(random_bytes(100_000))
    return path


@pytest.fixture
def sealed(folder, plain, keys):
    """What paes makes of `plain`, which may be a module's own."""
    path = folder / "sealed.paes"
    program.succeed("encrypt", "-r", keys.recipient, "-o", path, plain)
    return path


@pytest.fixture
def preloaded(tmp_path):
    """preloaded(text, ...): the prefix under which a program calls the functions of a library
    of preload.py."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is in PATH")

    def build(text, *options):
        library = tmp_path / f"preloaded{len(list(tmp_path.glob('preloaded*.so')))}.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", *options, "-x", "c", "-", "-o", library],
            input=text.encode(), check=True,
        )
        return ["env", f"LD_PRELOAD={library}"]

    return build


@pytest.fixture
def unchanged(folder):
    """Call it before the fault, and what it returns after."""

    def remember():
        before = program.tree(folder)

        def check():
            assert program.tree(folder) == before

        return check

    return remember


@pytest.fixture
def keys_of(folder):
    """Key files by their length, in the folder that every test compares."""
    for size in (8, 15, 16, 17, 24, 32, 64, 10_000):
        (folder / f"k{size}").write_bytes(os.urandom(size))
    half = os.urandom(32)
    (folder / "equal").write_bytes(half + half)
    (folder / "pass").write_text("word\n")
    (folder / "plain").write_bytes(os.urandom(1000))
    return folder


@pytest.fixture
def loop_device_of(tmp_path):
    """loop_device_of(bytes, text): a loop device of that many bytes, which begins with the text."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a loop device")
    if shutil.which("losetup") is None:
        pytest.skip("losetup is missing (Debian package mount)")
    devices = []

    def make(size, text=b""):
        image = tmp_path / f"image{len(devices)}"
        image.write_bytes(text)
        os.truncate(image, size)
        made = subprocess.run(
            ["losetup", "-f", "--show", image], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            pytest.skip(f"no loop device here: {made.stderr.strip()}")
        devices.append(made.stdout.strip())
        return devices[-1]

    yield make
    for device in devices:
        subprocess.run(["losetup", "-d", device], check=True)


@pytest.fixture
def loop_device(loop_device_of, random_bytes):
    """A loop device of 1 MiB of random_bytes."""
    return loop_device_of(1 << 20, random_bytes(1 << 20))


@pytest.fixture
def mount_space():
    """The words that a command begins with which has a space of mounts of its own."""
    words = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is missing (Debian package util-linux)")
    # Where the root is not a mount of its own, as after chroot(8), unshare(1) cannot make it private.
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no namespace of mounts here: {tried.stderr.strip()}")
    return words


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=1m none "$DISK" || exit 99
sh -c "$BEFORE"
if [ "$TO" ]; then "$@" > "$TO"; else "$@"; fi
code=$?
ls -A "$DISK"
exit $code
"""


@pytest.fixture
def small_disk(tmp_path, mount_space):
    """run(arguments, stdin) with $DISK a full-to-be 1 MiB file system; gives the result and what
    is left there. A shell command to come before, a file for standard output and another command than
    paes, with its environment, can be asked for."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["sh", "-c", 'mount -t tmpfs -o size=1m none "$1"', "sh", str(disk)]
    allowed = subprocess.run([*mount_space, *mount], capture_output=True, check=False)
    if allowed.returncode != 0:
        pytest.skip(f"no mounts in a namespace here: {allowed.stderr.decode().strip()}")

    def run_there(
        *arguments, stdin=b"", before="", to="", command=(program.PAES,), environment=None
    ):
        words = [*command, *map(str, arguments)]
        done = subprocess.run(
            [*mount_space, "sh", "-c", ON_A_SMALL_DISK, "sh", *words],
            input=stdin,
            capture_output=True,
            env=(environment or program.clean_environment())
            | {"DISK": str(disk), "BEFORE": before, "TO": str(to)},
            timeout=program.TIMEOUT_S,
            check=False,
        )
        return done.returncode, done.stderr.decode(), done.stdout

    run_there.path = disk
    return run_there
