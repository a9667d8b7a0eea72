# SPDX-License-Identifier: Apache-2.0
# `paes umount`: it returns when the program of a mount is gone and everything is written, and otherwise it
# says in one line why not. Whatever a test leaves mounted or running is unmounted and ended after it.
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import program
import pytest
from test_mount import (
    LIMIT_S,
    MOUNT,
    Mounts,
    WAYS,
    has_ended,
    is_mounted,
    needs_root,
    needs_runuser,
    processes_of,
    wait_ended,
    why_not,
)


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(params=WAYS)
def mounts(tmp_path, request):
    made = Mounts(tmp_path, request.param)
    yield made
    made.end()


class Vault:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "vault"
        self.path.mkdir()
        self.passfile = folder / "passphrase"
        self.passfile.write_text("correct horse\n")
        program.succeed("vault", "init", "--work-factor", 10, "--passphrase-file", self.passfile, self.path)


@pytest.fixture
def vault(tmp_path):
    return Vault(tmp_path / "own")


@contextlib.contextmanager
def holder(code, *arguments, start=(sys.executable, "-S"), **options):
    """A process that holds something, once it says so."""
    words = [*start, "-c", code + "\nprint('holds', flush=True)\ninput()", *map(str, arguments)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    try:
        assert process.stdout.readline() == b"holds\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=LIMIT_S)


def umount(*words, code=0, says="", **options):
    result = program.run("umount", *words, **options)
    assert (result.code, result.out) == (code, b""), result.err
    if code == 0:
        assert result.err == ""
    elif code == program.FAILURE:
        program.assert_error_lines(result.err, says)
    return result.err


# ---- it waits


def test_returns_when_the_program_is_gone(vault, mounts):
    point = mounts.by_paes(vault, "-w")
    (pid,) = processes_of(point)
    text = os.urandom(5 << 20)
    (point / "file").write_bytes(text)
    umount(point)
    assert has_ended(pid) and not is_mounted(point)
    program.succeed("vault", "fsck", "--passphrase-file", vault.passfile, vault.path)
    again = mounts.by_paes(vault)
    assert (again / "file").read_bytes() == text
    umount(again)


def test_in_the_foreground(vault, mounts):
    point, process = mounts.in_foreground(vault)
    umount(point)
    assert has_ended(process.pid)
    assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("name", ["with a space", "back\\slash\\040", "line\nfeed", "-z"])
def test_odd_names(vault, mounts, tmp_path, name):
    point = tmp_path / name
    point.mkdir()
    mounts.points.append(point)
    program.succeed("mount", "--passphrase-file", vault.passfile, vault.path, point)
    (pid,) = processes_of(point)
    umount("--", name, cwd=tmp_path)
    assert has_ended(pid)


@pytest.mark.parametrize("end", ["/", "/.", "//./"])
def test_other_names_of_the_folder(vault, mounts, tmp_path, end):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    (tmp_path / "link").symlink_to(point)
    umount(f"{tmp_path}/link{end}")
    assert has_ended(pid)


def test_several(vault, mounts, tmp_path):
    points = [mounts.by_paes(vault), mounts.by_paes(vault)]
    pids = [pid for point in points for pid in processes_of(point)]
    said = umount(points[0], tmp_path, points[1], code=program.SOME_FAILED)
    program.assert_error_lines(said, f"{tmp_path}: nothing is mounted there")
    assert all(map(has_ended, pids))


def test_a_killed_program(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    os.kill(pid, signal.SIGKILL)
    wait_ended(pid)
    umount(point)


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    program.wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "a stop")
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_the_wait_has_an_end(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    with stopped(pid):
        umount("--timeout", 1, point, code=program.FAILURE, says=rf"{point}: is unmounted, .*\({pid}\) still works after 1 s")
        assert not is_mounted(point) and not has_ended(pid)
    wait_ended(pid)


def umount_that_waits(point):
    """Has unmounted, and waits for the program behind the mount."""
    waiting = program.start("umount", point, stderr=subprocess.PIPE, text=True)
    program.wait_until(lambda: not is_mounted(point), "the mount to go", LIMIT_S)
    return waiting


def test_a_program_that_dies_meanwhile(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    with stopped(pid):
        waiting = umount_that_waits(point)
        os.kill(pid, signal.SIGKILL)
        said = waiting.communicate(timeout=LIMIT_S)[1]
    assert waiting.returncode == program.FAILURE
    program.assert_error_lines(said, "ended before all was written")


def test_a_signal_ends_the_wait(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    with stopped(pid):
        waiting = umount_that_waits(point)
        waiting.send_signal(signal.SIGTERM)
        said = waiting.communicate(timeout=LIMIT_S)[1]
    assert program.died_of(waiting.returncode, signal.SIGTERM)
    program.assert_error_lines(said, "interrupted")
    wait_ended(pid)


# ---- it is in use

HOLDING = {
    "a file": "import sys; file = open(sys.argv[1] + '/file')",
    "a folder": "import os, sys; folder = os.open(sys.argv[1], os.O_RDONLY)",
    "its folder": "import os, sys; os.chdir(sys.argv[1])",
    "a map": "import mmap, os, sys; number = os.open(sys.argv[1] + '/file', os.O_RDONLY);"
             " mapped = mmap.mmap(number, 0, prot=mmap.PROT_READ); os.close(number)",
}


@pytest.mark.parametrize("what", HOLDING)
def test_who_holds_it(vault, mounts, what):
    point = mounts.by_paes(vault, "-w")
    (pid,) = processes_of(point)
    (point / "file").write_bytes(b"text" * 5000)
    with holder(HOLDING[what], point) as process:
        name = Path(f"/proc/{process.pid}/comm").read_text().strip()
        said = umount(point, code=program.FAILURE, says="--lazy")
        assert f"{point}: is in use by {name} ({process.pid})\n" in said
        assert is_mounted(point) and (point / "file").read_bytes() == b"text" * 5000
    umount(point)
    assert has_ended(pid)


@needs_root
def test_a_mount_in_it(vault, mounts, tmp_path):
    point = mounts.by_paes(vault, "-w")
    (point / "folder").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", point / "folder"], check=True)
    try:
        umount(point, code=program.FAILURE, says=f"in use by the mount {point}/folder")
    finally:
        subprocess.run(["umount", point / "folder"], check=True)
    umount(point)


def test_lazy(vault, mounts):
    point = mounts.by_paes(vault, "-w")
    (pid,) = processes_of(point)
    (point / "file").write_bytes(b"text" * 5000)
    with holder("import sys; file = open(sys.argv[1] + '/file', 'r+b', buffering=0)", point) as process:
        # What it has open, as this process reaches it through /proc.
        result = program.run("umount", "--lazy", point)
        assert (result.code, result.out) == (0, b"")
        assert "is unmounted for all but " in result.err and f"({process.pid})" in result.err
        assert not is_mounted(point) and not has_ended(pid)
        (number,) = [one.name for one in Path(f"/proc/{process.pid}/fd").iterdir() if os.readlink(one).endswith("/file")]
        with open(f"/proc/{process.pid}/fd/{number}", "rb") as file:
            assert file.read() == b"text" * 5000
    wait_ended(pid)
    program.succeed("vault", "fsck", "--passphrase-file", vault.passfile, vault.path)


def test_lazy_waits_when_nobody_uses_it(vault, mounts):
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    umount("--lazy", point)
    assert has_ended(pid)


# ---- it is not to be unmounted


def test_nothing_is_mounted_there(vault, mounts, tmp_path):
    point = mounts.by_paes(vault, "-w")
    (point / "folder").mkdir()
    umount(tmp_path, code=program.FAILURE, says=f"{tmp_path}: nothing is mounted there$")
    umount(point / "folder", code=program.FAILURE, says=f"it lies in the mount {point}$")
    umount(vault.path, code=program.FAILURE, says=f"this vault is mounted on {point}$")
    umount(tmp_path / "missing", code=program.FAILURE, says="missing: No such file")
    assert is_mounted(point)


def test_what_others_have_mounted():
    umount("/proc", code=program.FAILURE, says="/proc: is not a mount of paes: its type is proc\n")
    assert is_mounted("/proc")


def test_requests_that_make_no_sense(tmp_path):
    for words in ([], ["--timeout", "x", tmp_path], ["--timeout", "010", tmp_path], ["--bogus", tmp_path], [""]):
        result = program.run("umount", *words)
        assert result.code == program.USAGE, words
        program.assert_error_lines(result.err, "umount: ")


# ---- users and containers


@needs_root
def test_a_program_in_another_network(vault, mounts):
    """Its socket is not there for us, and nobody claims then that it has ended."""
    point = mounts.by_paes(vault)
    (pid,) = processes_of(point)
    umount(point, prefix=["unshare", "--net"], code=program.FAILURE, says="is unmounted, but its program cannot be seen")
    wait_ended(pid)


@needs_root
def test_where_proc_shows_processes_alone(vault, mounts, mount_space):
    """As for a service with ProcSubset=pid, which has no /proc/net."""
    point = mounts.point()
    code = """
mount -t proc -o subset=pid proc /proc || exit 99
"$1" --passphrase-file "$2" "$3" "$4" || exit 98
exec "$5" umount "$4"
"""
    words = [*mount_space, "sh", "-c", code, "sh", MOUNT, vault.passfile, vault.path, point, program.PAES]
    done = subprocess.run(words, capture_output=True, text=True, env=program.clean_environment(), timeout=LIMIT_S, check=False)
    if done.returncode == 99:
        pytest.skip(f"this root may not mount such a /proc: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    assert not processes_of(point)


# What keeps a mount busy, and no process has it open: a descriptor on its way to somebody.
BUSY = """
import os, socket, sys
here, there = socket.socketpair()
folder = os.open(sys.argv[1], os.O_RDONLY)
socket.send_fds(here, [b"x"], [folder])
os.close(folder)
"""


@needs_root
def test_a_folder_above_is_exchanged_meanwhile(vault, mounts, tmp_path):
    """Whoever owns that folder chooses what has the path. Root unmounts nothing else."""
    others, user = tmp_path / "others", tmp_path / "user"
    (others / "text").mkdir(parents=True)
    (user / "text").mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "tmpfs", others / "text"]
    if subprocess.run(mount, capture_output=True, timeout=LIMIT_S, check=False).returncode != 0:
        pytest.skip("this root may mount no tmpfs")
    mounts.points.append(others / "text")
    point = mounts.by_paes(vault, point=user / "text")
    with holder(BUSY, point):
        with umount_in_background(point) as process:
            # Once it holds the folder around the mountpoint, it tries for two seconds.
            program.wait_until(lambda: str(user) in open_paths(process.pid), "the folder to be open", LIMIT_S)
            user.rename(tmp_path / "gone")
            user.symlink_to(others)
            mounts.points.append(tmp_path / "gone" / "text")
            _, said = process.communicate(timeout=LIMIT_S)
    assert is_mounted(others / "text")
    assert process.returncode == program.FAILURE
    program.assert_error_lines(said.decode(), "is in use by someone who cannot be seen from here")
    # By the time that it begins, something else may have the place already.
    umount(user / "text", code=program.FAILURE, says="is not a mount of paes: its type is tmpfs")
    umount(tmp_path / "gone" / "text")


def open_paths(pid):
    """What a process has open."""
    paths = []
    with contextlib.suppress(OSError):  # it has ended, or it has just closed one
        paths.extend(os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir())
    return paths


def umount_in_background(point):
    return program.start("umount", point, stderr=subprocess.PIPE)


# Takes all names that a program of a mount could announce itself with, if they can be guessed.
SQUATTING = """
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
taken = []
for number in range(*map(int, sys.argv[1:])):
    one = socket.socket(socket.AF_UNIX)
    try:
        one.bind(f"\\0paes-mount/0:{number}")
    except OSError:
        continue  # somebody has it already
    one.listen()
    taken.append(one)
"""


@needs_root
def test_names_that_somebody_else_has_taken(vault, mounts):
    """They keep neither a mount from being found nor the one that waits for it."""
    first = mounts.by_paes(vault)
    near = os.minor(os.stat(first).st_dev)  # the system gives the lowest that is free
    umount(first)
    taken = range(max(near - 200, 1), near + 200)
    took_s = []
    with holder(SQUATTING, taken.start, taken.stop):
        for _ in range(3):
            begin = time.monotonic()
            point = mounts.by_paes(vault)
            assert os.minor(os.stat(point).st_dev) in taken
            (pid,) = processes_of(point)
            umount(point)
            took_s.append(time.monotonic() - begin)
            assert has_ended(pid)
    # Where the names held it up, it was two seconds each time. Other work holds up one or the other.
    begin = time.monotonic()
    umount(mounts.by_paes(vault))
    assert min(took_s) < max(1.5, 3 * (time.monotonic() - begin))


@pytest.fixture
def public_folder():
    """Where everybody may go: pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="paes-umount-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


# A space of mounts in which everybody may open /dev/fuse.
OPEN_FUSE = """
set -e
mount -t tmpfs none "$1"
mknod "$1/fuse" c 10 229
chmod 666 "$1/fuse"
mount --bind "$1/fuse" /dev/fuse
echo holds
read line
"""


@pytest.fixture
def ordinary(public_folder, mount_space):
    """run(words...) as an ordinary user, or with root=True as root, in that space of mounts."""
    (public_folder / "devices").mkdir()
    keeper = subprocess.Popen(
        [*mount_space, "sh", "-c", OPEN_FUSE, "sh", public_folder / "devices"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    inside = ["nsenter", "--mount", f"--target={keeper.pid}", "--"]
    as_nobody = [*inside, "runuser", "-u", "nobody", "--"]

    def run(*words, root=False):
        return subprocess.run(
            [*(inside if root else as_nobody), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, env=program.clean_environment(), timeout=LIMIT_S, check=False,
        )

    run.prefix = as_nobody
    try:
        if keeper.stdout.readline() != b"holds\n":
            pytest.skip(f"no namespace of mounts with a device file here: {keeper.stderr.read().decode().strip()}")
        yield run
        run("umount", "-l", public_folder / "text", root=True)
    finally:
        keeper.communicate(b"\n", timeout=LIMIT_S)


@needs_root
@needs_runuser
def test_ordinary_users(public_folder, ordinary):
    vault = Vault(public_folder / "own")
    point = public_folder / "text"
    point.mkdir()
    for path in (vault.path, *vault.path.rglob("*"), vault.passfile, point):
        shutil.chown(path, "nobody")
    paes, paes_mount = (shutil.copy(binary, public_folder) for binary in (program.PAES, MOUNT))
    mounting = [paes_mount, "-w", "--passphrase-file", vault.passfile, vault.path, point]

    def succeed(*words, **options):
        done = ordinary(*words, **options)
        assert done.returncode == 0, done.stderr

    def refused(says):
        done = ordinary(paes, "umount", point)
        assert done.returncode == program.FAILURE
        program.assert_error_lines(done.stderr, says)

    succeed(*mounting)
    (pid,) = processes_of(point)
    succeed("cp", vault.passfile, point / "file")
    succeed(paes, "umount", point)
    assert has_ended(pid)

    succeed(*mounting)
    (pid,) = processes_of(point)
    words = [*ordinary.prefix, "sh", "-c", 'exec 3<"$1/file"; echo holds; read line', "sh", point]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"holds\n"
        refused(r"is in use by sh \(\d+\)\n")
        process.communicate(b"\n", timeout=LIMIT_S)
    succeed(paes, "umount", point, root=True)
    assert has_ended(pid)

    succeed(*mounting[:2], "--allow-other", *mounting[2:], root=True)
    refused("user 0 has mounted it")
    succeed(paes, "umount", point, root=True)


@needs_root
@needs_runuser
def test_a_folder_above_is_exchanged_under_an_ordinary_user(public_folder, ordinary):
    """fusermount3 alone would unmount what has the path by now, if that is of the same user."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no python3 that every user may start")
    vaults = [Vault(public_folder / name) for name in ("own", "other")]
    points = [public_folder / name / "above" / "text" for name in ("own", "other")]
    for point in points:
        point.mkdir(parents=True)
    for path in (path for name in ("own", "other") for path in (public_folder / name).rglob("*")):
        shutil.chown(path, "nobody")
    paes, paes_mount = (shutil.copy(binary, public_folder) for binary in (program.PAES, MOUNT))
    for vault, point in zip(vaults, points, strict=True):
        done = ordinary(paes_mount, "--passphrase-file", vault.passfile, vault.path, point)
        assert done.returncode == 0, done.stderr
    above, others = points[0].parent, points[1].parent

    def holds_folder():
        words = [os.fsencode(paes), b"umount"]
        return any(
            str(above) in open_paths(path.name)
            for path in Path("/proc").iterdir() if path.name.isdecimal() and words_of(path)[:2] == words
        )

    with holder(BUSY, points[0], start=(*ordinary.prefix, python)):
        words = [*ordinary.prefix, paes, "umount", points[0]]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=program.clean_environment()) as process:
            program.wait_until(holds_folder, "the folder to be open", LIMIT_S)
            above.rename(above.with_name("gone"))
            above.symlink_to(others)
            said = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == program.FAILURE
    # fusermount3 sees the exchange itself if it runs at that moment or after it.
    program.assert_error_lines(said, "is in use by someone who cannot be seen from here|mountpoint moved|not found in /etc/mtab")
    table = ordinary("cat", "/proc/self/mountinfo").stdout
    for point in (points[1], above.with_name("gone") / "text"):
        assert f" {point} " in table
        done = ordinary(paes, "umount", point)
        assert done.returncode == 0, done.stderr


def words_of(process):
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes().split(b"\0")
    return []
