# SPDX-License-Identifier: Apache-2.0
# File systems that are not as Linux's own: permissions that nobody can set, files that get no second
# name, folders that are mounted when somebody walks in, files that are shorter than they say, short
# names, access control lists. Most are played by a library before the system's.
import errno
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

import automount
import preload
import program
import pytest
from program import FAILURE, OK, USAGE, fail, run, succeed

CHEAP = ["--work-factor", "10"]
OPEN_TO_ALL = "other users have more access than they should"
STRIPE_BYTES = 4 << 20


@pytest.fixture
def sealing(keys):
    return ["encrypt", "-r", keys.recipient]


@pytest.fixture
def passphrase(tmp_path):
    path = tmp_path / "pass"
    path.write_text("open sesame\n")
    return path


def opens_to(sealed, text, keys):
    return succeed("decrypt", "-i", keys.path, "-o", "-", sealed).out == text


# Permissions that nobody can set


@pytest.fixture(params=[(), ("-DNAMED",)], ids=["unnamed", "named"])
def modeless(request, preloaded):
    """The prefix under which all may do all with every file."""
    return preloaded(preload.MODELESS, *request.param)


def warned_of(result, *files):
    assert result.code == OK, result.err
    for file in files:
        assert f"warning: {file}: {OPEN_TO_ALL}" in result.err, result.err
    assert result.err.count(OPEN_TO_ALL) == len(files), result.err


def test_secrets_that_all_can_read_are_warned_of(modeless, plain, folder):
    key = folder / "key"
    warned_of(run("keygen", "-o", key, prefix=modeless), key)
    sealed = folder / "plain.paes"
    result = run("encrypt", "--new-identity", folder / "new", plain, prefix=modeless)
    warned_of(result, folder / "new")
    result = run("decrypt", "-i", folder / "new", "-o", folder / "back", sealed, prefix=modeless)
    warned_of(result, folder / "back")
    result = run("decrypt", "-i", folder / "new", "--range", "0-9", "-o", folder / "part", sealed, prefix=modeless)
    warned_of(result, folder / "part")


def test_many_texts_that_all_can_read_are_warned_of(modeless, sealing, keys, folder):
    names = [f"{number}.paes" for number in range(3)]
    for name in names:
        succeed(*sealing, "-o", folder / name, stdin=b"text")
    result = run("decrypt", "-i", keys.path, *names, prefix=modeless, cwd=folder)
    warned_of(result, *(name.removesuffix(".paes") for name in names))


def test_other_texts_that_all_can_read_are_warned_of(modeless, plain, keys, folder):
    (folder / "raw").write_bytes(bytes(32))
    result = run(
        *("cipher", "aes-256-ctr", "-d", "--key", folder / "raw", "--iv", "00" * 16, "-o", folder / "out", plain),
        prefix=modeless,
    )
    warned_of(result, folder / "out")
    succeed("age", "-r", keys.recipient, "-o", folder / "sealed.age", plain)
    result = run("age", "-d", "-i", keys.path, "-o", folder / "text", folder / "sealed.age", prefix=modeless, umask=0o077)
    warned_of(result, folder / "text")


def test_a_vaults_secrets_that_all_can_read_are_warned_of(modeless, passphrase, folder, tmp_path):
    vault, key = folder / "vault", tmp_path / "master"
    vault.mkdir()
    words = ["vault", "init", *CHEAP, "--passphrase-file", passphrase, "--master-key-out", key, vault]
    configuration = vault / "gocryptfs.conf"
    warned_of(run(*words, prefix=modeless), key, configuration)
    words = ["vault", "passwd", "--passphrase-file", passphrase, "--new-passphrase-file", passphrase, vault]
    warned_of(run(*words, prefix=modeless), configuration)


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_resume_refuses_where_files_are_everybodys(command, modeless, keys, folder, random_bytes, unchanged):
    """Whoever could exchange the journal could choose the key. Nothing is left in the way."""
    plain = folder / "large"
    plain.write_bytes(random_bytes(STRIPE_BYTES) + b"more")
    words = ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, plain]
    if command == "decrypt":
        succeed(*words)
        words = ["decrypt", "--resume", "-i", keys.path, "-o", folder / "back", folder / "large.paes"]
    check = unchanged()
    for _ in range(2):
        fail(*words, code=USAGE, says="can be written by other users, which --resume does not take", prefix=modeless)
        check()
    succeed(*words)


@pytest.fixture
def ntfs(loop_device_of, tmp_path):
    """A folder on an NTFS that ntfs-3g mounts as it does without options."""
    if shutil.which("mkntfs") is None or shutil.which("ntfs-3g") is None:
        pytest.skip("mkntfs or ntfs-3g is missing (Debian package ntfs-3g)")
    device = loop_device_of(40 << 20)
    subprocess.run(["mkntfs", "-q", "-Q", "-F", device], check=True, capture_output=True)
    place = tmp_path / "ntfs"
    place.mkdir()
    mounted = subprocess.run(["ntfs-3g", device, place], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"NTFS cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_ntfs(ntfs, keys, plain, sealing, random_bytes):
    """The file system that ntfs-3g has without options."""
    warned_of(run("keygen", "-o", ntfs / "key"), ntfs / "key")
    assert run(*sealing, "-o", ntfs / "sealed", plain).code == OK
    warned_of(run("decrypt", "-i", keys.path, "-o", ntfs / "text", ntfs / "sealed"), ntfs / "text")
    large = plain.with_name("large")
    large.write_bytes(random_bytes(STRIPE_BYTES) + b"more")
    for _ in range(2):
        fail(*sealing, "--resume", "-i", keys.path, "-o", ntfs / "resumed", large, code=USAGE, says="on its file system")
        assert sorted(os.listdir(ntfs)) == ["key", "sealed", "text"]


# Files that get no second name


LINK_ERRORS = ["EPERM", "EACCES", "ENOSYS", "EOPNOTSUPP", "EXDEV", "EMLINK"]
RENAME_ERRORS = ["EPERM", "EINVAL", "ENOSYS"]


@pytest.mark.parametrize("named", [(), ("-DNAMED",)], ids=["unnamed", "named"])
@pytest.mark.parametrize(
    ("link", "rename"),
    [(link, "") for link in LINK_ERRORS] + [("", rename) for rename in RENAME_ERRORS] + [("EPERM", rename) for rename in RENAME_ERRORS],
)
def test_files_get_their_names_without_links(link, rename, named, preloaded, plain, sealing, keys, folder):
    errors = [f"-D{call}={error}" for call, error in (("LINK", link), ("RENAME", rename)) if error]
    prefix = preloaded(preload.LINKLESS, *errors, *named)
    text = plain.read_bytes()
    sealed = folder / "plain.paes"
    succeed(*sealing, plain, prefix=prefix)
    assert opens_to(sealed, text, keys)
    before = sealed.read_bytes()
    fail(*sealing, plain, code=FAILURE, says="already exists", prefix=prefix)
    assert sealed.read_bytes() == before
    succeed(*sealing, "-f", plain, prefix=prefix)
    assert sealed.read_bytes() != before and opens_to(sealed, text, keys)
    succeed("keygen", "-o", folder / "key", prefix=prefix)
    key = (folder / "key").read_bytes()
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    fail("keygen", "-o", folder / "key", code=FAILURE, says="already exists", prefix=prefix)
    assert (folder / "key").read_bytes() == key
    assert sorted(os.listdir(folder)) == ["key", "plain", "plain.paes"]


def test_many_files_get_their_names_without_links(preloaded, sealing, keys, folder):
    prefix = preloaded(preload.LINKLESS, "-DLINK=EPERM")
    names = [f"{number}" for number in range(20)]
    for name in names:
        (folder / name).write_text(name)
    succeed(*sealing, *names, prefix=prefix, cwd=folder)
    for name in names:
        assert opens_to(folder / f"{name}.paes", name.encode(), keys)
    assert len(os.listdir(folder)) == 2 * len(names)


def test_resume_without_links(preloaded, plain, sealing, keys, folder):
    prefix = preloaded(preload.LINKLESS, "-DLINK=EPERM", "-DRENAME=EINVAL")
    succeed(*sealing, "--resume", "-i", keys.path, plain, prefix=prefix)
    assert opens_to(folder / "plain.paes", plain.read_bytes(), keys)
    assert sorted(os.listdir(folder)) == ["plain", "plain.paes"]


# Folders that are mounted when somebody walks in


def automounted(tmp_path):
    trap, real = tmp_path / "trap", tmp_path / "real"
    trap.mkdir(exist_ok=True)
    real.mkdir(exist_ok=True)
    return trap, real


@pytest.mark.parametrize("command", ["keygen", "encrypt", "new identity", "decrypt", "age", "vault", "resume"])
def test_outputs_where_something_is_to_be_mounted(command, plain, sealed, sealing, keys, passphrase, tmp_path):
    trap, real = automounted(tmp_path)
    out = trap / "out"
    words = {
        "keygen": ["keygen", "-o", out],
        "encrypt": [*sealing, "-o", out],
        "new identity": ["encrypt", "--new-identity", out, "-o", "-"],
        "decrypt": ["decrypt", "-i", keys.path, "-o", out, sealed],
        "age": ["age", "-r", keys.recipient, "-o", out],
        "vault": ["vault", "init", *CHEAP, "--passphrase-file", passphrase, "--config", out, tmp_path / "vault"],
        "resume": [*sealing, "--resume", "-i", keys.path, "-o", out, plain],
    }[command]
    (tmp_path / "vault").mkdir()
    with automount.at(trap, real):
        succeed(*words, stdin=b"text")
    assert os.listdir(real) == ["out"]


def test_a_link_to_where_something_is_to_be_mounted(sealing, tmp_path):
    trap, real = automounted(tmp_path)
    (tmp_path / "link").symlink_to("trap")
    with automount.at(trap, real):
        succeed(*sealing, "-o", tmp_path / "link" / "out", stdin=b"text")
    assert os.listdir(real) == ["out"]


def test_inputs_where_something_is_to_be_mounted(sealing, tmp_path):
    trap, real = automounted(tmp_path)
    (real / "text").write_text("text")
    with automount.at(trap, real):
        succeed(*sealing, "--recursive", trap)
    assert sorted(os.listdir(real)) == ["text", "text.paes"]


# Files that are shorter than they say


@pytest.fixture
def short_file():
    for path in map(Path, ("/sys/class/net/lo/mtu", "/sys/kernel/fscaps", "/sys/kernel/uevent_seqnum")):
        if path.exists() and path.stat().st_size > len(path.read_bytes()) > 0:
            return path
    pytest.skip("no file below /sys is shorter than it says")


def test_files_that_are_shorter_than_they_say(short_file, sealing, keys, folder):
    text = short_file.read_bytes()
    out = folder / "out"
    succeed(*sealing, "-o", out, short_file)
    assert opens_to(out, text, keys)
    with open(short_file, "rb") as file:
        assert succeed("decrypt", "-i", keys.path, stdin=succeed(*sealing, stdin=file).out).out == text
    succeed(*sealing, "--format", "age", "-o", folder / "a", short_file)
    assert opens_to(folder / "a", text, keys)
    succeed("age", "-r", keys.recipient, "-o", folder / "b", short_file)
    assert succeed("age", "-d", "-i", keys.path, folder / "b").out == text
    succeed(*sealing, "--resume", "-i", keys.path, "-o", folder / "c", short_file)
    assert opens_to(folder / "c", text, keys)
    (folder / "raw").write_bytes(bytes(32))
    for cipher in ("ctr", "cbc", "gcm"):
        words = ["cipher", f"aes-256-{cipher}", "--key", folder / "raw", "--iv", "00" * (12 if cipher == "gcm" else 16)]
        succeed(*words, "-o", folder / cipher, short_file)
        assert succeed(*words, "-d", "-o", "-", folder / cipher).out == text


def test_many_files_that_are_shorter_than_they_say(short_file, sealing, keys, folder):
    (folder / "list").write_text(f"{short_file}\n/proc/version\n")
    succeed(*sealing, "--files-from", folder / "list", "--output-dir", folder / "out")
    for name in (short_file, Path("/proc/version")):
        assert opens_to(folder / "out" / f"{name}.paes".lstrip("/"), name.read_bytes(), keys)


def test_sparse_files_are_not_taken_for_short_ones(sealing, keys, folder):
    with open(folder / "sparse", "wb") as file:
        file.truncate(3 << 20)
    document = json.loads(succeed(*sealing, "--json", folder / "sparse").out)
    assert document["files"][0]["text_bytes"] == 3 << 20
    assert opens_to(folder / "sparse.paes", bytes(3 << 20), keys)


# Names that leave no room for a suffix


NAMES = ["n" * 250, "n" * 255, "\u6f22" * 85]  # bytes; the last one has 255


@pytest.mark.parametrize("name", NAMES, ids=["250", "255", "UTF-8"])
def test_rekey_of_long_names(name, folder, sealing, keys, other_keys, preloaded):
    path = folder / name
    succeed(*sealing, "-o", path, stdin=b"text")
    succeed("rekey", "-i", keys.path, "-r", other_keys.recipient, path)
    assert opens_to(path, b"text", other_keys)
    assert os.listdir(folder) == [name]
    # Killed while its copy lies there, which is then found.
    killed = preloaded(preload.KILLED, '-DFUNCTION="unlinkat"')
    result = run("rekey", "-i", other_keys.path, "-r", keys.recipient, path, prefix=killed)
    left = sorted(set(os.listdir(folder)) - {name})
    assert result.code != OK and len(left) == 1 and left[0].endswith(".rekey"), (result, left)
    assert left[0].startswith(name[:50]) and len(left[0].encode()) <= 255
    fail("rekey", "-i", other_keys.path, "-r", keys.recipient, path, code=FAILURE, says="an interrupted rekey left")
    succeed("rekey", "--restore", "-i", other_keys.path, path)
    assert opens_to(path, b"text", other_keys)
    assert os.listdir(folder) == [name]


@pytest.mark.parametrize("name", [*NAMES, "n" * 248], ids=["250", "255", "UTF-8", "248"])
def test_resume_of_long_names(name, folder, keys, random_bytes):
    plain = folder / "plain"
    plain.write_bytes(random_bytes(STRIPE_BYTES) * 8)
    out = folder / name
    words = ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, "-T", "1", "-o", out, plain]

    def journal():
        return [folder / file for file in os.listdir(folder) if file.endswith(".journal")]

    process = program.start(*words, "--kernel", "compute", stderr=subprocess.DEVNULL)
    try:
        program.wait_until(
            lambda: process.poll() is not None
            or any(any(path.read_bytes()[256:]) for path in journal()),
            "a record",
        )
    finally:
        process.kill()
        process.wait(timeout=30)
    assert len(journal()) == 1
    for file in (out, Path(str(journal()[0]).replace(".journal", ".partial"))):
        result = run("inspect", file)
        assert "are done" in result.err + result.out.decode(), (file, result)
    document = json.loads(succeed(*words, "--json").out)
    assert document["files"][0]["resumed_bytes"] >= STRIPE_BYTES
    assert opens_to(out, plain.read_bytes(), keys)
    assert sorted(os.listdir(folder)) == sorted(["plain", name])


# Access control lists


ACL_USER_OBJ, ACL_USER, ACL_GROUP_OBJ, ACL_MASK, ACL_OTHER = 1, 2, 4, 16, 32


def set_acl(path, attribute, *entries):
    """Of (tag, permissions, id); skips where the file system has no lists."""
    packed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, f"system.posix_acl_{attribute}", packed)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        pytest.skip("the temporary folder's file system has no access control lists")


NAMED_USER = [
    (ACL_USER_OBJ, 7, 0xFFFFFFFF), (ACL_USER, 6, 4000018), (ACL_GROUP_OBJ, 0, 0xFFFFFFFF),
    (ACL_MASK, 6, 0xFFFFFFFF), (ACL_OTHER, 0, 0xFFFFFFFF),
]


def test_the_owning_group_gains_nothing_from_a_list(sealing, folder, tmp_path):
    """With a list, the group's bits of a mode are the mask of all whom it names."""
    shared = folder / "shared"
    (shared / "sub").mkdir(parents=True)
    for place in (shared, shared / "sub"):
        set_acl(place, "default", *NAMED_USER)
    (shared / "sub" / "text").write_text("text")
    os.chmod(shared / "sub" / "text", 0o660)  # the mask
    set_acl(shared / "sub", "access", *NAMED_USER)
    assert (shared / "sub").stat().st_mode & 0o070
    succeed(*sealing, "-o", folder / "out", shared / "sub" / "text")
    assert (folder / "out").stat().st_mode & 0o777 == 0o600
    succeed(*sealing, "--recursive", "--output-dir", folder / "all", shared)
    for path in (folder / "all" / "sub", folder / "all" / "sub" / "text.paes"):
        assert path.stat().st_mode & 0o070 == 0, path
    # Where the group itself may read, it may read the output.
    set_acl(
        shared / "sub" / "text", "access",
        *[(tag, 4 if tag == ACL_GROUP_OBJ else bits, who) for tag, bits, who in NAMED_USER],
    )
    succeed(*sealing, "-f", "-o", folder / "out", shared / "sub" / "text")
    assert (folder / "out").stat().st_mode & 0o777 == 0o740


# Sources that nobody can change


def test_resume_from_an_image(keys, folder, tmp_path, random_bytes):
    if os.geteuid() != 0 or shutil.which("mksquashfs") is None:
        pytest.skip("this takes root and mksquashfs (Debian package squashfs-tools)")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "text").write_bytes(random_bytes(STRIPE_BYTES) * 2)
    image, place = tmp_path / "image", tmp_path / "image.d"
    place.mkdir()
    subprocess.run(["mksquashfs", tmp_path / "tree", image, "-quiet", "-no-progress"], check=True, capture_output=True)
    mounted = subprocess.run(["mount", "-o", "loop,ro", image, place], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no squashfs here: {mounted.stderr.strip()}")
    try:
        succeed("encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, "-o", folder / "out", place / "text")
    finally:
        subprocess.run(["umount", place], check=True)
    assert opens_to(folder / "out", random_bytes(STRIPE_BYTES) * 2, keys)


@pytest.mark.parametrize(("kind", "takes"), [("0x73717368", True), ("0x9660", True), ("0xe0f5e1e2", True), ("0x6969", False)])
def test_resume_from_a_folder_that_takes_no_file(kind, takes, keys, folder, preloaded, plain, random_bytes):
    """squashfs, iso9660 and erofs keep what they have; a server of NFS may change it."""
    prefix = preloaded(preload.CLAIMING + preload.UNWRITABLE, f"-DKIND={kind}")
    words = ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, plain]
    if takes:
        succeed(*words, "-o", folder.parent / "out", prefix=prefix)
    else:
        fail(*words, "-o", folder.parent / "out", code=USAGE, says="may keep no time of change", prefix=prefix)
