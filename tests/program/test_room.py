# SPDX-License-Identifier: Apache-2.0
# Too little room for an output: said before the work where that is certain, with both figures, a
# warning where it is not, and how much was missing where it ran out after all.
import os
import re
import shutil
import stat
import subprocess

import mpi
import preload
import program
import pytest
from program import FAILURE, OK, succeed

MIB = 1 << 20
REFUSED = r"No space left on device: needs (\d+) bytes,(?: has \d+ of them,)? and (\d+) are free"
WARNED = r"^paes: warning: \S+: may not fit: needs (up to )?(\d+) bytes,(?: has \d+ of them,)? and (\d+) are free$"


@pytest.fixture
def big(folder, random_bytes):
    path = folder / "big"
    path.write_bytes(random_bytes(3 * MIB))
    return path


@pytest.fixture
def big_sealed(big, keys):
    succeed("encrypt", "-r", keys.recipient, big)
    return big.with_name("big.paes")


def refused(result, needs=None):
    """Said once and at once, with nothing left."""
    code, err, left = result
    assert code == FAILURE, err
    program.assert_error_lines(err, REFUSED)
    assert "hint: make room" in err
    needed, free = map(int, re.search(REFUSED, err).groups())
    assert free <= MIB < needed
    assert needs is None or needed == needs
    return left


@pytest.mark.parametrize("resume", [False, True])
def test_encryption_is_refused(resume, small_disk, big, big_sealed, keys):
    words = ["encrypt", "-r", keys.recipient, "-o", small_disk.path / "out", big]
    if resume:
        words += ["--resume", "-i", keys.path]
    left = refused(small_disk(*words), needs=big_sealed.stat().st_size)
    assert left == b""


@pytest.mark.parametrize("cipher", ["aes-256-ctr", "aes-256-cbc", "aes-256-ecb", "aes-256-gcm", "aes-256-xts"])
def test_raw_modes_are_refused(cipher, small_disk, folder, big):
    """In both directions: on this file system all takes the room that it is long."""
    (folder / "key").write_bytes(os.urandom(64 if "xts" in cipher else 32))
    words = ["cipher", cipher, "-q", "--key", folder / "key"]
    if "xts" in cipher:
        words += ["--unit", "512"]
    if "ecb" not in cipher:
        words += ["--iv", "00" * (12 if "gcm" in cipher else 16)]
    succeed(*words, "-o", folder / "sealed", big)
    sealed_bytes = (folder / "sealed").stat().st_size
    assert refused(small_disk(*words, "-o", small_disk.path / "out", big), needs=sealed_bytes) == b""
    words += ["-d", "-o", small_disk.path / "out", folder / "sealed"]
    assert refused(small_disk(*words)) == b""


def test_standard_output_that_is_a_file(small_disk, big, big_sealed, keys):
    words = ["encrypt", "-r", keys.recipient, "-o", "-", big]
    left = refused(small_disk(*words, to=small_disk.path / "out"), needs=big_sealed.stat().st_size)
    assert left == b"out\n"


def test_standard_output_that_appends(small_disk, big, big_sealed, keys):
    """Compared as well; and where room runs out after all, how much was needed."""
    append = ["sh", "-c", 'exec "$@" >>"$DISK/out"', "sh", program.PAES]
    words = ["encrypt", "-r", keys.recipient, "-o", "-"]
    refused(small_disk(*words, big, command=append), needs=big_sealed.stat().st_size)
    fill = 'head -c 100000 /dev/zero > "$DISK/out"'
    code, err, _ = small_disk(*words, stdin=big.read_bytes(), command=append, before=fill)
    assert code == FAILURE
    assert re.search(r"No space left on device: found room for \d+ bytes; \d+ bytes before", err), err


def test_what_is_set_aside_makes_it_uncertain(loop_device, tmp_path, keys, random_bytes):
    """Blocks that some users may take: a warning for the others, who may be some of them."""
    words = ["mkfs.ext4", "-q", "-m", "50", loop_device]
    if shutil.which(words[0]) is None or shutil.which("setpriv") is None:
        pytest.skip("mkfs.ext4 or setpriv is missing (Debian packages e2fsprogs, util-linux)")
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    disk = tmp_path / "ext4"
    disk.mkdir()
    subprocess.run(["mount", "-o", "resuid=4000018", loop_device, disk], check=True)
    try:
        (disk / "own").mkdir()
        os.chown(disk / "own", 4000018, 4000018)
        free = os.statvfs(disk)
        size = (free.f_bavail + free.f_bfree) // 2 * free.f_frsize
        assert free.f_bavail * free.f_frsize < size < free.f_bfree * free.f_frsize - 20_000
        result = program.run(
            *("encrypt", "-r", keys.recipient, "-o", "out", "/dev/stdin"),
            stdin=open(sparse(tmp_path / "plain", size), "rb"), cwd=disk / "own",
            prefix=("setpriv", "--reuid=4000018", "--regid=4000018", "--clear-groups"),
        )
        assert result.code == OK, result.err
        assert re.search(WARNED.replace(r"\S+", "out"), result.err, re.MULTILINE), result.err
    finally:
        subprocess.run(["umount", disk], check=True)


def sparse(path, size):
    with open(path, "wb") as file:
        file.truncate(size)
    path.chmod(0o644)
    return path


def test_what_will_be_replaced_is_not_free_yet(small_disk, folder, random_bytes, keys):
    """The old output stays until the new one is complete."""
    plain = folder / "plain"
    plain.write_bytes(random_bytes(600_000))
    words = ["encrypt", "-f", "-r", keys.recipient, "-o", small_disk.path / "out", plain]
    assert small_disk(*words)[0] == OK
    code, err, left = small_disk(*words, before='head -c 600000 /dev/zero > "$DISK/out"')
    assert code == FAILURE and left == b"out\n"
    program.assert_error_lines(err, REFUSED)


@pytest.mark.parametrize("resume", [False, True])
def test_decryption_warns_and_says_what_it_found_room_for(resume, small_disk, big, big_sealed, keys):
    words = ["decrypt", "-i", keys.path, "-o", small_disk.path / "out", big_sealed]
    code, err, left = small_disk(*words, *(["--resume"] if resume else []))
    assert code == FAILURE and left == b""
    warning, error = err.splitlines()[:2]
    assert re.fullmatch(WARNED, warning)[2] == str(big.stat().st_size)
    said = re.search(r"No space left on device: needs up to (\d+) bytes, and found room for (\d+)$", error)
    assert int(said[1]) == big.stat().st_size and int(said[2]) <= MIB
    assert int(said[2]) > MIB * 3 // 4


def test_holes_need_no_room(small_disk, folder, keys):
    """So nothing is certain, and the text fits."""
    with open(folder / "sparse", "wb") as file:
        file.truncate(20 * MIB)
    succeed("encrypt", "-r", keys.recipient, folder / "sparse")
    words = ["decrypt", "-i", keys.path, "-o", small_disk.path / "out", folder / "sparse.paes"]
    code, err, left = small_disk(*words)
    assert code == OK and left == b"out\n"
    assert re.fullmatch(WARNED + "\n", err, re.MULTILINE)


def test_a_range_needs_no_more_than_it_is_long(small_disk, big_sealed, keys):
    words = ["decrypt", "-i", keys.path, "-o", small_disk.path / "out", big_sealed]
    code, err, left = small_disk(*words, "--range", "1000-99999")
    assert (code, err, left) == (OK, "", b"out\n")


def test_a_pipe_says_what_there_was_room_for(small_disk, big, keys):
    words = ["encrypt", "-r", keys.recipient, "-o", small_disk.path / "out", "-"]
    code, err, left = small_disk(*words, stdin=big.read_bytes())
    assert code == FAILURE and left == b""
    program.assert_error_lines(err, r"No space left on device: found room for \d{6,7} bytes")


FUSE = "0x65735546"
BTRFS = "0x9123683E"


@pytest.mark.parametrize(
    "options, command, warns",
    [
        ([f"-DKIND={FUSE}"], "encrypt", True),
        ([f"-DKIND={BTRFS}"], "encrypt", False),
        ([f"-DKIND={BTRFS}"], "cipher", True),
        (["-DUNKNOWN"], "encrypt", None),
    ],
)
def test_figures_that_say_little(options, command, warns, small_disk, folder, big, keys, preloaded):
    """FUSE may claim anything, btrfs compresses what it can, and some have no figures."""
    (folder / "key").write_bytes(os.urandom(16))
    words = ["encrypt", "-r", keys.recipient] if command == "encrypt" else \
        ["cipher", "aes-128-ecb", "-q", "--key", folder / "key"]
    code, err, left = small_disk(
        *words, "-o", small_disk.path / "out", big,
        command=[*preloaded(preload.CLAIMING, *options), program.PAES],
    )
    assert code == FAILURE and left == b""
    assert "No space left on device: needs" in err
    assert (re.search(WARNED, err, re.MULTILINE) is not None) == bool(warns)
    assert (re.search(REFUSED, err) is not None) == (warns is False)


@mpi.each_library
@pytest.mark.parametrize("access", ["posix", "mpi"])
def test_many_ranks_are_refused_as_one(library, access, small_disk, big, big_sealed, keys):
    def start(*words):
        command = mpi.command(library, 2, program_path=mpi.paes_mpi(library))
        code, err, left = small_disk(
            *words, "--access", access, command=command, environment=mpi.environment()
        )
        said = [line for line in err.splitlines() if line.startswith("paes: ")]
        return code, "\n".join(said), left

    words = ["encrypt", "-r", keys.recipient, "-o", small_disk.path / "out", big]
    assert refused(start(*words), needs=big_sealed.stat().st_size) == b""
    code, err, left = start("decrypt", "-i", keys.path, "-o", small_disk.path / "out", big_sealed)
    assert code == FAILURE and left == b""
    assert re.search(WARNED, err, re.MULTILINE)
    if access == "posix":
        assert re.search(r"needs up to \d+ bytes, and found room for \d+$", err, re.MULTILINE)


def test_a_block_device_that_is_too_small(loop_device, big, keys, random_bytes):
    assert stat.S_ISBLK(os.stat(loop_device).st_mode)
    program.fail(
        *("encrypt", "-f", "-r", keys.recipient, "-o", loop_device, big),
        code=FAILURE, says=r"has 1048576 bytes, and \d+ are needed",
    )
    with open(loop_device, "rb") as there:
        assert there.read() == random_bytes(MIB)
