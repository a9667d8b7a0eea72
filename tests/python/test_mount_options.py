# What the system lets a mount of paes-mount do: suid, dev, exec, ro and rw as /proc/self/mountinfo has them,
# and what root may set for its cache.
import os
import shutil
import stat
import subprocess
from pathlib import Path

import program
import pytest
import test_umount
from test_mount import LIMIT_S, MOUNT, needs_root, needs_runuser
from test_umount import mounts, public_folder, umount, vault  # noqa: F401  (fixtures)

needs_mounts = pytest.mark.skipif(test_umount.why_not() is not None, reason=str(test_umount.why_not()))


def allowed_on(point):
    """The options of the place, without those of times."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4] == str(point):
            return set(fields[5].split(",")) - {"relatime", "noatime"}
    raise AssertionError("not mounted")


# ---- what is allowed on the mount


@needs_mounts
@pytest.mark.parametrize(("given", "expected"), [
    ([], "ro,nosuid,nodev"),
    (["-o", "ro,nosuid,nodev,exec"], "ro,nosuid,nodev"),
    (["-o", "rw,noexec"], "rw,nosuid,nodev,noexec"),
    (["-w", "-o", "noexec,exec"], "rw,nosuid,nodev"),
    (["-o", "exec", "-o", "noexec"], "ro,nosuid,nodev,noexec"),
    (["-o", "rw", "-o", "ro"], "ro,nosuid,nodev"),
    pytest.param(["-o", "rw,suid,dev"], "rw", marks=needs_root),
    pytest.param(["-o", "suid"], "ro,nodev", marks=needs_root),
    pytest.param(["-o", "suid,dev,nosuid"], "ro,nosuid", marks=needs_root),
])
def test_flags_of_the_mount(vault, mounts, given, expected):  # noqa: F811
    assert allowed_on(mounts.by_paes(vault, *given)) == set(expected.split(","))


@needs_mounts
def test_programs_run_unless_noexec(vault, mounts):  # noqa: F811
    for options, code in ([], 0), (["-o", "noexec"], None):
        point = mounts.by_paes(vault, "-w", *options)
        script = point / "script"
        if not script.exists():
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o755)
        if code is None:
            with pytest.raises(PermissionError):
                subprocess.run([script], check=False)
        else:
            assert subprocess.run([script], check=False, timeout=LIMIT_S).returncode == code
        umount(point)


@needs_mounts
@needs_root
def test_device_files_open_with_dev(vault, mounts):  # noqa: F811
    point = mounts.by_paes(vault, "-o", "rw,dev")
    os.mknod(point / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (point / "null").write_bytes(b"gone")
    umount(point)
    point = mounts.by_paes(vault, "-w")
    with pytest.raises(PermissionError):
        (point / "null").read_bytes()


@needs_mounts
@needs_root
@needs_runuser
@pytest.mark.parametrize("option", ["suid", "dev"])
def test_only_root_allows_them(public_folder, option):  # noqa: F811
    vault = test_umount.Vault(public_folder / "own")  # noqa: F811
    point = public_folder / "text"
    point.mkdir()
    for path in (vault.path, *vault.path.rglob("*"), vault.passfile, point):
        shutil.chown(path, "nobody")
    binary = shutil.copy(MOUNT, public_folder)
    words = [binary, "-o", f"exec,{option}", "--passphrase-file", vault.passfile, vault.path, point]
    done = subprocess.run(
        ["runuser", "-u", "nobody", "--", *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == program.FAILURE
    program.assert_error_lines(done.stderr, f"-o {option}: only root may mount with it")


# ---- what root sets for the cache


def bdi_of(point):
    device = os.stat(point).st_dev
    folder = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}")
    if not folder.is_dir():
        pytest.skip("/sys/class/bdi is missing here")
    if not os.access(folder / "read_ahead_kb", os.W_OK) or os.statvfs(folder).f_flag & os.ST_RDONLY:
        pytest.skip("/sys can only be read here")
    return folder


def value_of(path):
    return int(path.read_text())


@needs_mounts
@needs_root
def test_cache_of_a_mount_that_writes(vault, mounts):  # noqa: F811
    bdi = bdi_of(mounts.by_paes(vault, "-w"))
    assert value_of(bdi / "read_ahead_kb") == 1024
    assert value_of(bdi / "max_ratio") == 100


@needs_mounts
@needs_root
def test_strict_limit_of_a_mount_that_writes(vault, mounts):  # noqa: F811
    bdi = bdi_of(mounts.by_paes(vault, "-w"))
    if not (bdi / "strict_limit").exists():
        pytest.skip("this system has no strict_limit, which exists since Linux 6.2")
    assert value_of(bdi / "strict_limit") == 0


@needs_mounts
@needs_root
def test_cache_of_a_mount_that_reads(vault, mounts):  # noqa: F811
    bdi = bdi_of(mounts.by_paes(vault))
    assert value_of(bdi / "read_ahead_kb") == 1024
