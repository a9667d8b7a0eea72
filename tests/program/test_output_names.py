# SPDX-License-Identifier: Apache-2.0
# What a name leads to decides what happens there: links, devices, FIFOs, and names that nobody gave.
import os
import shutil
import stat
import subprocess
import threading

import program
import pytest
from program import FAILURE, OK, PAES, USAGE, fail, run, succeed


@pytest.fixture
def sealing(keys):
    return ["encrypt", "-r", keys.recipient]


def opens_to(path, text, keys):
    return succeed("decrypt", "-i", keys.path, "-o", "-", path).out == text


# Links


def test_force_follows_a_link_that_is_live(plain, sealing, keys, folder):
    (folder / "target").write_bytes(b"old")
    (folder / "link").symlink_to("target")
    succeed(*sealing, "-f", "-o", folder / "link", plain)
    assert os.readlink(folder / "link") == "target"
    assert opens_to(folder / "target", plain.read_bytes(), keys)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("absolute", [False, True])
def test_force_follows_a_link_that_dangles(absolute, resume, plain, sealing, keys, folder):
    """A chain of two, in folders of their own: a relative link counts from where it lies."""
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
    (folder / "a" / "first").symlink_to("../b/second")
    end = folder / "c" / "target"
    (folder / "b" / "second").symlink_to(end if absolute else "../c/target")
    more = ["--resume", "-i", keys.path] if resume else []
    before = program.tree(folder)
    fail(*sealing, *more, "-o", "a/first", plain, cwd=folder, code=FAILURE, says="already exists")
    assert program.tree(folder) == before
    succeed(*sealing, *more, "-f", "-o", "a/first", plain, cwd=folder)
    assert os.readlink(folder / "a" / "first") == "../b/second"
    assert (folder / "b" / "second").is_symlink()
    assert opens_to(end, plain.read_bytes(), keys)
    assert os.listdir(folder / "c") == ["target"]


def test_links_that_lead_nowhere_are_errors(plain, sealing, folder, unchanged):
    (folder / "loop").symlink_to("pool")
    (folder / "pool").symlink_to("loop")
    (folder / "lost").symlink_to("no/such/folder")
    check = unchanged()
    for force in ([], ["-f"]):
        fail(
            *sealing, *force, "-o", folder / "loop", plain,
            code=FAILURE, says="loop: Too many levels",
        )
        fail(*sealing, *force, "-o", folder / "lost", plain, code=FAILURE, says="lost: No such file")
    check()


def test_a_name_that_ends_in_a_slash_is_a_folder(plain, sealing, folder, unchanged):
    (folder / "sub").mkdir()
    check = unchanged()
    fail(*sealing, "-o", folder / "sub", plain, code=USAGE, says="is a directory")
    check()
    for name in ("sub", "new"):
        succeed(*sealing, "-o", f"{folder}/{name}/", plain)
        assert os.listdir(folder / name) == ["plain.paes"]


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o1775], ids=oct)
def test_a_planted_link_is_not_followed(mode, plain, sealing, tmp_path):
    """More than where fs.protected_symlinks is set, which it need not be."""
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's link")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    private = tmp_path / "private"
    private.mkdir()
    victim = private / "victim"
    victim.write_bytes(b"precious")
    planted = shared / "out"
    # As the output's own name, and on the way to it.
    for target, output in ((victim, planted), (private / "new", planted),
                           (private, planted / "victim"), (private, planted / "new")):
        planted.symlink_to(target)
        os.chown(planted, 4000018, 4000018, follow_symlinks=False)
        fail(*sealing, "-f", "-o", output, plain, code=FAILURE, says="another user's symbolic link")
        planted.unlink()
    assert victim.read_bytes() == b"precious"
    assert os.listdir(private) == ["victim"]


def test_folders_behind_ones_own_links_are_entered(plain, sealing, keys, folder):
    """Relative and absolute, one after the other, and `..` counts from where a link leads."""
    (folder / "deep" / "est").mkdir(parents=True)
    (folder / "first").symlink_to("second//")
    (folder / "second").symlink_to(folder / "deep" / "est")
    succeed(*sealing, "-o", "first/../est/out", plain, cwd=folder)
    assert opens_to(folder / "deep" / "est" / "out", plain.read_bytes(), keys)


def test_descriptors_of_others_are_not_handed_over(plain, sealing, tmp_path):
    """Another process's pipe under /proc, which a planted name could lead to."""
    reads, writes = os.pipe()
    name = f"/proc/{os.getpid()}/fd/{writes}"
    fail(*sealing, "-o", name, plain, code=FAILURE, says="may be another user's")
    os.close(writes)
    assert os.read(reads, 1) == b""
    os.close(reads)


# Block devices


@pytest.mark.parametrize("spelling", ["itself", "a link", "another node", "standard output"])
def test_a_device_is_not_its_own_output(spelling, loop_device, sealing, random_bytes, tmp_path):
    output = loop_device
    if spelling == "a link":
        output = tmp_path / "link"
        output.symlink_to(loop_device)
    elif spelling == "another node":
        output = tmp_path / "node"
        os.mknod(output, 0o600 | stat.S_IFBLK, os.stat(loop_device).st_rdev)
        try:
            output.open("rb").close()
        except OSError as error:
            pytest.skip(f"no devices in the temporary folder: {error}")
    elif spelling == "standard output":
        output = "-"
    (tmp_path / "key").write_bytes(bytes(range(32)))
    cipher = ["cipher", "aes-256-ctr", "--key", tmp_path / "key", "--iv", "00" * 16]
    for command in (sealing, cipher):
        with open(loop_device, "r+b") as there:
            done = subprocess.run(
                [PAES, *map(str, command), "-f", "-o", str(output), loop_device],
                stdout=there if spelling == "standard output" else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == USAGE, done.stderr
        program.assert_error_lines(done.stderr.decode(), "is the input itself")
        with open(loop_device, "rb") as there:
            assert there.read() == random_bytes(1 << 20)


def test_a_device_gets_what_comes_from_elsewhere(loop_device, plain, sealing, keys, tmp_path):
    fail(*sealing, "-o", loop_device, plain, code=FAILURE, says="already exists")
    succeed(*sealing, "-f", "-o", loop_device, plain)
    size = succeed(*sealing, "-o", tmp_path / "sealed", plain) and (tmp_path / "sealed").stat().st_size
    with open(loop_device, "rb") as there:
        sealed = there.read(size)
    assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == plain.read_bytes()


# Names that nobody gave


@pytest.mark.parametrize("force", [[], ["-f"]])
@pytest.mark.parametrize("name", ["/dev/null", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_nothing_is_written_among_devices_unasked(name, force, sealing):
    made = f"{name}.paes"
    try:
        fail(*sealing, *force, name, code=USAGE, says=r"hint: name the output with -o")
        assert not os.path.lexists(made)
    finally:
        if os.path.lexists(made):
            os.unlink(made)


def test_shared_memory_is_no_device(sealing, keys, random_bytes):
    if not os.access("/dev/shm", os.W_OK) or not os.path.ismount("/dev/shm"):
        pytest.skip("no /dev/shm of its own here")
    name = f"/dev/shm/paes-test-{os.getpid()}"
    try:
        with open(name, "wb") as file:
            file.write(random_bytes(1000))
        succeed(*sealing, name)
        assert opens_to(f"{name}.paes", random_bytes(1000), keys)
    finally:
        for path in (name, f"{name}.paes"):
            if os.path.exists(path):
                os.unlink(path)


class Reader:
    """Reads a FIFO for as long as it exists, without waiting for a writer."""

    def __init__(self, path):
        self.loot = b""
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.thread = threading.Thread(target=self.read)
        self.ends = threading.Event()
        self.thread.start()

    def read(self):
        while True:
            last = self.ends.is_set()
            try:
                while got := os.read(self.descriptor, 1 << 16):
                    self.loot += got
            except BlockingIOError:
                if last:
                    return
                self.ends.wait(0.001)

    def close(self):
        self.ends.set()
        self.thread.join()
        os.close(self.descriptor)
        return self.loot


def planted(path, mode=0o666, owner=None):
    os.mkfifo(path)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return Reader(path)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o757])
def test_a_fifo_where_others_write_gets_nothing_unasked(mode, plain, sealing, keys, folder):
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(mode)
    succeed(*sealing, plain)
    reader = planted(shared / "out")
    (folder / "link").symlink_to(shared / "out")
    try:
        for name in ("shared/out", "link"):
            fail(
                "decrypt", "-i", keys.path, "-o", name, "plain.paes",
                cwd=folder, code=FAILURE, says="not a regular file, and may be another user's",
            )
    finally:
        loot = reader.close()
    assert loot == b""
    reader = Reader(shared / "out")
    succeed("decrypt", "-f", "-i", keys.path, "-o", shared / "out", f"{plain}.paes")
    assert reader.close() == plain.read_bytes()


def test_a_fifo_of_another_user_gets_nothing_unasked(plain, sealing, keys, folder):
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's FIFO")
    succeed(*sealing, plain)
    reader = planted(folder / "out", owner=4000018)
    try:
        fail(
            "decrypt", "-i", keys.path, "-o", folder / "out", f"{plain}.paes",
            code=FAILURE, says="may be another user's",
        )
    finally:
        assert reader.close() == b""


def test_a_link_that_others_may_have_planted_leads_to_no_fifo(plain, sealing, keys, folder):
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    succeed(*sealing, plain)
    reader = planted(folder / "private")
    (shared / "out").symlink_to(folder / "private")
    try:
        fail(
            "decrypt", "-i", keys.path, "-o", shared / "out", f"{plain}.paes",
            code=FAILURE, says="may be another user's",
        )
    finally:
        assert reader.close() == b""


@pytest.mark.parametrize("force", [[], ["-f"]])
def test_a_fifo_under_a_derived_name_needs_force(force, plain, sealing, keys, folder):
    succeed(*sealing, plain)
    text = plain.read_bytes()
    plain.unlink()
    reader = planted(plain)
    try:
        done = run("decrypt", *force, "-i", keys.path, f"{plain}.paes")
    finally:
        loot = reader.close()
    assert (done.code, loot) == ((OK, text) if force else (FAILURE, b""))
    if not force:
        program.assert_error_lines(done.err, "not a regular file")


def test_own_fifos_and_descriptors_are_written_to(plain, sealing, keys, folder):
    """What the user made where nobody else writes, and what a shell hands over."""
    succeed(*sealing, plain)
    text = plain.read_bytes()
    opening = ["decrypt", "-i", keys.path]
    reader = planted(folder / "mine", 0o600)
    succeed(*opening, "-o", folder / "mine", f"{plain}.paes")
    assert reader.close() == text
    succeed(*opening, "-o", "/dev/null", f"{plain}.paes")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert succeed(*opening, "-o", name, f"{plain}.paes").out == text
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as reading:
        got = []
        thread = threading.Thread(target=lambda: got.append(reading.read()))
        thread.start()
        succeed(*opening, "-o", f"/dev/fd/{write_end}", f"{plain}.paes", pass_fds=[write_end])
        os.close(write_end)
        thread.join()
    assert got == [text]


def test_process_substitution(plain, sealing, keys, folder):
    if shutil.which("bash") is None:
        pytest.skip("bash is missing")
    succeed(*sealing, plain)
    script = '"$@" -o >(cat >copy; echo >done)'
    command = ["bash", "-c", script, "bash", PAES, "decrypt", "-i", keys.path, f"{plain}.paes"]
    subprocess.run(command, cwd=folder, check=True)
    program.wait_until(lambda: (folder / "done").exists(), "the reader's end")
    assert (folder / "copy").read_bytes() == plain.read_bytes()
