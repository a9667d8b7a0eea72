# SPDX-License-Identifier: Apache-2.0
# What the system lets a mount of paes-mount do: suid, dev, exec, ro and rw as /proc/self/mountinfo has them,
# what root may set for its cache, and the ways in which systems mount by themselves: /etc/fstab and systemd.
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import program
import pytest
import recipes
from test_mount import LIMIT_S, MOUNT, needs_root, needs_runuser, why_not
from test_umount import Vault, mounts, public_folder, umount, vault  # noqa: F401  (fixtures)

UNITS = recipes.ROOT / "packaging/systemd"

needs_mounts = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


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
    vault = Vault(public_folder / "own")  # noqa: F811
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


# ---- /etc/fstab

# mount(8) and mount.fuse3 look for the program in the system's own folders.
BY_MOUNT = """
set -eu
mount -t tmpfs none /usr/local/bin
ln -s "$1" "$2" /usr/local/bin
paes=$1
shift 2
trap 'umount -l text 2>/dev/null || true' EXIT
eval "$@"
findmnt --noheadings --output FSTYPE,SOURCE,VFS-OPTIONS,FS-OPTIONS text
if [ -e expect-write ]; then echo new >text/file; elif touch text/file 2>/dev/null; then exit 1; fi
"$paes" umount text
if findmnt text; then exit 1; fi
"""

# Options for mount(8), and whether the mount can be written to. With none, the mount of another file system
# would be "rw,suid,dev,exec", and so is this one.
OPTIONS_OF_TABLES = {
    "rw,noauto,nofail,_netdev,x-systemd.automount,x-systemd.idle-timeout=15min,allow_other": True,
    "rw,user,acl,noatime": True,
    "rw,user,exec": True,
    "ro,users,idle=10m,threads=2": False,
    "defaults,nonempty": True,
    "suid,nodev,noexec,exec": True,
    "nosuid,dev": True,
    "rw,noexec,cache=through,fsname=notes": True,
}


def mount_by(mount_space, command, vault, folder, writes):  # noqa: F811
    for name in ("mount.fuse3", "findmnt"):
        if shutil.which(name) is None and not Path("/sbin", name).exists():
            pytest.skip(f"{name} is missing (Debian packages fuse3 and mount)")
    (folder / "text").mkdir()
    if writes:
        (folder / "expect-write").touch()
    done = subprocess.run(
        [*mount_space, "sh", "-c", BY_MOUNT, "sh", program.PAES, MOUNT, command], cwd=folder,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )
    assert done.returncode == 0, done.stderr
    kind, source, flags, more = done.stdout.split()
    assert kind == "fuse.paes-mount"
    return source, set(flags.split(",")), set(more.split(","))


@needs_mounts
@needs_root
@pytest.mark.parametrize("options", OPTIONS_OF_TABLES)
def test_mounted_by_mount(vault, tmp_path, mount_space, options):  # noqa: F811
    writes = OPTIONS_OF_TABLES[options]
    command = f"mount -t fuse.paes-mount '{vault.path}' text -o '{options},passfile={vault.passfile}'"
    source, flags, more = mount_by(mount_space, command, vault, tmp_path, writes)
    given = options.split(",")
    assert source == ("notes" if "fsname=notes" in given else str(vault.path))
    assert ("rw" if writes else "ro") in flags
    by_users = {"user", "users"} & set(given)
    assert ("nosuid" in flags) == bool(by_users or "nosuid" in given)
    assert ("nodev" in flags) == bool(by_users or "nodev" in given)
    assert ("noexec" in flags) == bool((by_users or "noexec" in given) and "exec" not in given)
    assert ("allow_other" in more) == ("allow_other" in given)


def lines_of_fstab():
    """Those of the document."""
    blocks = [block for kind, block in recipes.blocks("docs/mount.md") if kind == "text"]
    return [line for block in blocks for line in block.splitlines() if re.match(r"/\S+\s.*fuse\.paes-mount", line)]


@needs_mounts
@needs_root
@pytest.mark.parametrize("line", lines_of_fstab(), ids=lambda line: line.split()[3][:20])
def test_lines_of_the_document(vault, tmp_path, mount_space, line):  # noqa: F811
    _, _, kind, options, dump, check = line.split()
    assert (kind, dump, check) == ("fuse.paes-mount", "0", "0")
    options = re.sub(r"passfile=[^,]*", f"passfile={vault.passfile}", options)
    table = tmp_path / "fstab"
    table.write_text(f"{vault.path} {tmp_path}/text {kind} {options} 0 0\n")
    _, flags, _ = mount_by(mount_space, f"mount --fstab '{table}' text", vault, tmp_path, "rw" in options.split(","))
    assert "nosuid" in flags and "nodev" in flags


def test_there_are_lines_in_the_document():
    assert len(lines_of_fstab()) >= 2


# ---- systemd


def verify(folder, *words):
    """What systemd says of the units in this folder; what it says of the machine's own is not ours to mend."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing (Debian package systemd)")
    ours = [path.name for path in folder.iterdir()]  # before systemd makes folders for the machine's own
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *words], capture_output=True, text=True, cwd=folder,
        env=program.clean_environment(XDG_RUNTIME_DIR=str(folder), HOME=str(folder)), timeout=LIMIT_S, check=False,
    )
    if "verify" in done.stderr and "Unknown" in done.stderr and "option" in done.stderr:
        pytest.skip("this systemd-analyze is too old for --man")
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze cannot work here: {done.stderr.strip()}")
    findings = [line for line in done.stderr.splitlines() if any(name in line for name in ours)]
    return done.returncode, "\n".join(findings)


def service():
    return (UNITS / "paes-mount@.service").read_text()


def copy_units(folder):
    """With a program that exists, whether it was built or not: it is installed with the units."""
    for path in UNITS.iterdir():
        text = path.read_text().replace("ExecStart=paes-mount ", "ExecStart=/bin/true ")
        (folder / path.name).write_text(text)


@pytest.mark.parametrize("unit", ["srv-text.mount", "srv-text.automount"])
def test_units_of_the_system(tmp_path, unit):
    copy_units(tmp_path)
    assert verify(tmp_path, unit) == (0, "")


def test_unit_of_a_user(tmp_path):
    copy_units(tmp_path)
    (tmp_path / "paes-mount@notes.service").write_text((tmp_path / "paes-mount@.service").read_text())
    assert verify(tmp_path, "--user", "paes-mount@notes.service") == (0, "")


def test_a_wrong_unit_is_noticed(tmp_path):
    copy_units(tmp_path)
    unit = tmp_path / "srv-text.mount"
    unit.write_text(unit.read_text().replace("Options=", "Option="))
    assert verify(tmp_path, "srv-text.mount") != (0, "")


def test_units_have_the_names_of_their_folders():
    """systemd takes no other."""
    for path in UNITS.glob("*mount"):
        (where,) = re.findall(r"^Where=(\S+)$", path.read_text(), re.MULTILINE)
        assert where.strip("/").replace("/", "-") == path.stem


@needs_mounts
def test_command_of_the_user_unit(vault, mounts):  # noqa: F811
    """As systemd would expand it."""
    (command,) = re.findall(r"^ExecStart=(.*)$", service(), re.MULTILINE)
    point = mounts.point()
    environment = program.clean_environment(
        VAULT=str(vault.path), MOUNTPOINT=str(point), OPTIONS="-w --idle 1h", PASSPHRASE_FILE=str(vault.passfile)
    )
    command = re.sub(r"\$\{(\w+)\}", r'"$\1"', command).replace("paes-mount", MOUNT, 1)
    done = subprocess.run(["sh", "-c", command], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    (point / "file").write_text("new")
    umount(point)


def test_defaults_of_the_user_unit():
    """Each variable of the command has one."""
    (command,) = re.findall(r"^ExecStart=(.*)$", service(), re.MULTILINE)
    names = set(re.findall(r"\$\{?(\w+)\}?", command))
    defaults = re.findall(r"^Environment=(.*)$", service(), re.MULTILINE)
    assert names == {word.split("=")[0] for line in defaults for word in line.split()}
