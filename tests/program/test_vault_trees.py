# SPDX-License-Identifier: Apache-2.0
# Trees that gocryptfs wrote, read by paes: everything that its mount shows, byte for byte, and the same
# verdict on each kind of damage.
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import gocryptfs
import jsonschema
import program
import pytest
from gocryptfs import PASSPHRASE

LIST_VOLUME = os.environ.get("LIST_VOLUME", "")
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs/schema/vault_fsck.schema.json").read_text()
)

pytestmark = gocryptfs.NEEDS_MOUNTS

# Every choice that changes what is stored; features that new volumes always have are left out last.
VOLUMES = {
    "default": ([], []),
    "plaintextnames": (["-plaintextnames"], []),
    "deterministic-names": (["-deterministic-names"], []),
    "xchacha": (["-xchacha"], []),
    "aessiv": (["-aessiv"], []),
    "longnamemax-62": (["-longnamemax", "62"], []),
    "longnamemax-150": (["-longnamemax", "150"], []),
    "padded-base64": ([], ["Raw64"]),
    "no-hkdf": ([], ["HKDF"]),
    "no-hkdf-aessiv": (["-aessiv"], ["HKDF", "Raw64"]),
    "no-longnames": ([], ["LongNames"]),
    "version-0.7": ([], ["HKDF", "Raw64", "LongNames"]),
}

BLOCK = 4096
SIZES = sorted(
    {0, 1, 15, 16, 17, 18, 19, 31, 32, 33, 34, 50, 51}
    | {blocks * BLOCK + more for blocks in (1, 2, 3) for more in (-1, 0, 1, 15, 16, 17, 18, 32, 33)}
    | {32 * BLOCK - 1, 32 * BLOCK, 32 * BLOCK + 1, 300_001}
)
ACL_OF_USER_1 = bytes.fromhex(
    "02000000 01000600ffffffff 0200040001000000 04000400ffffffff 10000600ffffffff 20000400ffffffff".replace(
        " ", ""
    )
)


def text_of(size):
    return bytes((i * 7 + size) % 251 for i in range(size))


def make_tree(root):
    """Names of every length, also such that are no UTF-8; sizes around every edge; links, attributes,
    holes, hard links and what is no file."""
    names = root / "names"
    names.mkdir()
    for length in range(1, 256):
        os.close(os.open(os.fsencode(names) + b"/" + b"%c" % (97 + length % 26) * length, os.O_CREAT, 0o644))
    for odd in (b"\xff\xfe", b"a\nb", b" ", b"\xc3\xa9t\xc3\xa9", b"\xf0\x9f\x94\x91" * 63, b"-", b"...", b"\x01"):
        os.close(os.open(os.fsencode(names) + b"/" + odd, os.O_CREAT, 0o644))
    (root / ("d" * 230)).mkdir()
    (root / ("d" * 230) / ("e" * 200)).mkdir()
    (root / ("d" * 230) / ("e" * 200) / "f").write_bytes(b"deep")

    sizes = root / "sizes"
    sizes.mkdir()
    for size in SIZES:
        (sizes / str(size)).write_bytes(text_of(size))

    links = root / "links"
    links.mkdir()
    for length in [*range(1, 40), 100, 255, 256, 1000, 2000, 2900]:
        (links / str(length)).symlink_to("t" * length)
    (links / ("l" * 220)).symlink_to("/nowhere/at all")
    os.symlink(b"\xff\xfe", os.fsencode(links / "odd"))

    attributes = root / "attributes"
    attributes.mkdir()
    (attributes / "file").write_bytes(b"text")
    for path in (attributes, attributes / "file"):
        os.setxattr(path, "user.short", b"value")
        os.setxattr(path, "user.empty", b"")
        os.setxattr(path, "user." + "n" * 120, bytes(range(256)))
        os.setxattr(path, "user.binary", b"\x00\xff")
    os.setxattr(attributes / "file", "system.posix_acl_access", ACL_OF_USER_1)
    os.setxattr(attributes, "system.posix_acl_default", ACL_OF_USER_1)

    holes = root / "holes"
    holes.mkdir()
    with open(holes / "one", "wb") as file:
        file.seek(1_000_000)
        file.write(b"end")
    with open(holes / "between", "wb") as file:
        file.write(b"begin")
        file.seek(20 * BLOCK + 5)
        file.write(b"middle")
        file.truncate(70 * BLOCK + 1)
    with open(holes / "grown", "wb") as file:
        file.truncate(12345)

    (root / "first").write_bytes(b"linked")
    os.link(root / "first", root / "second")
    os.link(root / "first", root / ("h" * 200))
    os.mkfifo(root / "pipe")
    changed = root / "changed"
    changed.write_bytes(text_of(3 * BLOCK + 100))
    with open(changed, "r+b") as file:
        file.seek(BLOCK - 10)
        file.write(b"x" * 20)
        file.truncate(2 * BLOCK + 50)
        file.truncate(2 * BLOCK + 5000)


def listed(volume):
    """What src/volume reads in the volume; nothing may be damaged."""
    done = subprocess.run(
        [LIST_VOLUME, volume.stored],
        input=volume.master_key.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=program.TIMEOUT_S,
        check=True,
    )
    assert done.stderr == b""
    return {bytes.fromhex(entry.pop("path")): entry for entry in json.loads(done.stdout)}


def fsck(volume, *more, code=program.OK):
    """The document of paes's check, which must end with `code`."""
    result = program.run(
        "vault", "fsck", "--json", "--master-key", volume.master_key_file, volume.stored, *more
    )
    assert result.code == code, result.err + result.out.decode()
    document = json.loads(result.out)
    jsonschema.validate(document, SCHEMA)
    assert document["exit_code"] == code
    return document


@pytest.fixture(name="made", scope="module", params=VOLUMES, ids=VOLUMES.keys())
def made_fixture(request, tmp_path_factory):
    """A volume with the whole tree in it, and what gocryptfs then showed."""
    flags, without = VOLUMES[request.param]
    volume = gocryptfs.Volume(tmp_path_factory.mktemp("made") / "volume", *flags, without=without)
    with volume.mounted() as shown:
        make_tree(shown)
    # Mounted anew, so that nothing is shown that was not stored.
    with volume.mounted() as shown:
        found = gocryptfs.everything_in(shown)
    return volume, found


@pytest.mark.skipif(not LIST_VOLUME, reason="LIST_VOLUME does not name the program list_volume (tests/unit/volume)")
def test_everything_reads_as_gocryptfs_shows_it(made):
    volume, shown = made
    read = listed(volume)
    assert read.keys() == shown.keys()
    for path, entry in shown.items():
        assert read[path] == entry, path
    assert len(shown[b"attributes/file"]["attributes"]) == 5


@pytest.mark.skipif(not LIST_VOLUME, reason="LIST_VOLUME does not name the program list_volume (tests/unit/volume)")
def test_pygocryptfs_reads_the_same(made, tmp_path):
    """A third reader, which needs no mount. It knows neither links nor attributes."""
    pygocryptfs = pytest.importorskip("pygocryptfs", reason="pygocryptfs is missing (PyPI)")
    volume, _ = made
    key = bytes.fromhex(volume.master_key)
    if "HKDF" in volume.without:
        with pytest.raises(AssertionError, match="HKDF feature flag required"):
            pygocryptfs.Vault(volume.stored, pk=key)
        return
    other = pygocryptfs.Vault(volume.stored, password=PASSPHRASE.decode())
    assert other.pk == key
    # It hashes names without padding, where gocryptfs hashes them with the padding of a volume
    # without Raw64.
    longest = 175 if "Raw64" in volume.without else 255

    def is_found(path):
        return path and all(len(name) <= longest for name in path.split(b"/"))

    def as_text(path):
        try:
            return path.decode()
        except UnicodeDecodeError:  # shown so, but not found by the name that is shown
            return os.fsdecode(path) if other.plain_names else path.decode("latin-1")

    read = {path: entry for path, entry in listed(volume).items() if is_found(path)}
    shown = {
        f"{folder.rstrip('/')}/{name}"[1:]
        for folder, folders, files in other.walk("/")
        for name in folders + files
        if is_found(os.fsencode(name))
    }
    assert shown == {as_text(path) for path in read}
    copy = tmp_path / "copy"
    compared = 0
    for path, entry in read.items():
        if entry["type"] == "file" and os.fsencode(as_text(path)) == path:
            other.decryptFile(f"/{as_text(path)}", str(copy), force=True)
            assert hashlib.sha256(copy.read_bytes()).hexdigest() == entry["sha256"], path
            copy.unlink()  # which is missing where a block was not authentic
            compared += 1
    assert compared > 200


def test_the_check_counts_all_of_it(made):
    volume, shown = made
    counts = fsck(volume)["counts"]
    kinds = [entry["type"] for entry in shown.values()]
    assert counts["folders"] == kinds.count("folder")
    assert counts["files"] == kinds.count("file")
    assert counts["links"] == kinds.count("link")
    assert counts["others"] == kinds.count("other")
    linked = shown[b"first"]["size"]
    texts = [entry["size"] for entry in shown.values() if entry["type"] == "file"]
    assert counts["text_bytes"] == sum(texts) - 2 * linked
    assert counts["damaged"] == counts["unread"] == 0


def test_a_part_is_checked_by_its_path(made):
    volume, shown = made
    assert fsck(volume, "sizes/4097")["counts"]["text_bytes"] == 4097
    deep = "d" * 230
    assert fsck(volume, deep)["counts"] == {
        "folders": 2,
        "files": 1,
        "links": 0,
        "others": 0,
        "text_bytes": 4,
        "damaged": 0,
        "unread": 0,
        "leftovers": 0,
    }


# Each kind of damage, as a function of a volume with files "f" and "long name", a folder "d" and a
# link "l". gocryptfs's verdict on each is the second member.
def only(found):
    (one,) = found
    return one


def change(path, offset, mask=1):
    data = bytearray(path.read_bytes())
    data[offset] ^= mask
    path.chmod(0o600)
    path.write_bytes(data)


def file_of(volume):
    return max((path for path in volume.stored.iterdir() if path.is_file()), key=lambda path: path.stat().st_size)


def rewrite(path, data):
    path.chmod(0o600)
    path.write_bytes(data)


def retarget(path, target):
    path.unlink()
    path.symlink_to(target)


def link_of(volume):
    return only(path for path in volume.stored.iterdir() if path.is_symlink())


def folder_of(volume):
    return only(path for path in volume.stored.iterdir() if path.is_dir())


def long_of(volume):
    return only(volume.stored.glob("gocryptfs.longname.*.name"))


def break_attribute(path, value):
    (name,) = os.listxattr(path)
    os.setxattr(path, name, value)


DAMAGES = {
    "header version": lambda v: change(file_of(v), 1),
    "header id": lambda v: change(file_of(v), 5),
    "zero id": lambda v: rewrite(file_of(v), b"\0\2" + bytes(16) + file_of(v).read_bytes()[18:]),
    "first block": lambda v: change(file_of(v), 100),
    "last block": lambda v: change(file_of(v), -1),
    "iv": lambda v: change(file_of(v), 18),
    "zero iv": lambda v: rewrite(
        file_of(v), file_of(v).read_bytes()[:18] + bytes(16) + file_of(v).read_bytes()[34:]
    ),
    "blocks swapped": lambda v: rewrite(
        file_of(v),
        file_of(v).read_bytes()[:18]
        + file_of(v).read_bytes()[18 + 4128 : 18 + 2 * 4128]
        + file_of(v).read_bytes()[18 : 18 + 4128]
        + file_of(v).read_bytes()[18 + 2 * 4128 :],
    ),
    "cut in a block": lambda v: os.truncate(file_of(v), 5000),
    "cut in an IV": lambda v: os.truncate(file_of(v), 18 + 4128 + 10),
    "cut after an IV and a tag": lambda v: os.truncate(file_of(v), 18 + 4128 + 32),
    "folder without IV": lambda v: (folder_of(v) / "gocryptfs.diriv").unlink(),
    "empty folder IV": lambda v: rewrite(folder_of(v) / "gocryptfs.diriv", b""),
    "zero folder IV": lambda v: rewrite(folder_of(v) / "gocryptfs.diriv", bytes(16)),
    "long folder IV": lambda v: rewrite(folder_of(v) / "gocryptfs.diriv", b"1" * 17),
    "another folder IV": lambda v: change(folder_of(v) / "gocryptfs.diriv", 3),
    "foreign name": lambda v: (v.stored / "foreign").write_bytes(b""),
    "second configuration": lambda v: shutil.copy(v.stored / "gocryptfs.conf", folder_of(v) / "gocryptfs.conf"),
    "long name missing": lambda v: long_of(v).unlink(),
    "long name damaged": lambda v: change(long_of(v), 20),
    "long name empty": lambda v: rewrite(long_of(v), b""),
    "long name too long": lambda v: rewrite(long_of(v), b"A" * 345),
    "link target": lambda v: retarget(link_of(v), "A" * 60),
    "link target cut": lambda v: retarget(link_of(v), os.readlink(link_of(v))[:-4]),
    "attribute": lambda v: break_attribute(file_of(v), b"x" * 40),
    "short attribute": lambda v: break_attribute(file_of(v), b"x"),
    "attribute name": lambda v: os.setxattr(file_of(v), "user.gocryptfs.AAAA", b""),
}
# What counts as damage for paes alone. gocryptfs says it, and ends with 0.
ONLY_PAES = {f"header cut to {length}": lambda v, length=length: os.truncate(file_of(v), length) for length in (1, 17)}
# Neither can tell: the format has no length.
UNDETECTED = {
    "cut to nothing": lambda v: os.truncate(file_of(v), 0),
    "cut to the header": lambda v: os.truncate(file_of(v), 18),
    "cut after a block": lambda v: os.truncate(file_of(v), 18 + 4128),
    "a block of zeros": lambda v: rewrite(
        file_of(v), file_of(v).read_bytes()[:18] + bytes(4128) + file_of(v).read_bytes()[18 + 4128 :]
    ),
}


@pytest.fixture(name="small", scope="module")
def small_fixture(tmp_path_factory):
    volume = gocryptfs.Volume(tmp_path_factory.mktemp("small") / "volume")
    with volume.mounted() as shown:
        (shown / "f").write_bytes(text_of(2 * BLOCK + 100))
        os.setxattr(shown / "f", "user.a", b"value")
        (shown / ("l" * 200)).write_bytes(b"x")
        (shown / "d").mkdir()
        for name in "abcdef":
            (shown / "d" / name).write_bytes(b"y")
        (shown / "link").symlink_to("target")
    return volume


@pytest.fixture(name="damaged")
def damaged_fixture(small, tmp_path):
    """A copy of the small volume, to be damaged; its keys are the same."""

    class Copy:
        stored = tmp_path / "stored"
        master_key_file = small.master_key_file

        def fsck(self):
            volume = object.__new__(gocryptfs.Volume)
            volume.__dict__.update(small.__dict__)
            volume.stored = self.stored
            return volume.fsck()

    subprocess.run(["cp", "-a", small.stored, Copy.stored], check=True)
    return Copy()


@pytest.mark.parametrize("kind", DAMAGES)
def test_the_same_verdict_as_gocryptfs(damaged, kind):
    DAMAGES[kind](damaged)
    code, said = damaged.fsck()
    assert code == gocryptfs.FSCK_ERRORS, said
    assert fsck(damaged, code=program.CORRUPT)["counts"]["damaged"] >= 1


@pytest.mark.parametrize("kind", ONLY_PAES)
def test_found_by_paes_alone(damaged, kind):
    ONLY_PAES[kind](damaged)
    code, said = damaged.fsck()
    assert code == 0 and "corrupt file" in said
    assert fsck(damaged, code=program.CORRUPT)["counts"]["damaged"] == 1


@pytest.mark.parametrize("kind", UNDETECTED)
def test_found_by_nobody(damaged, kind):
    UNDETECTED[kind](damaged)
    code, said = damaged.fsck()
    assert code == 0, said
    fsck(damaged)


def test_what_a_crash_leaves_over_is_no_damage(damaged):
    hidden = f"gocryptfs.longname.paes-{0:016x}.name"
    (folder_of(damaged) / hidden).mkdir()
    assert damaged.fsck()[0] == 0
    document = fsck(damaged)
    assert (document["counts"]["damaged"], document["counts"]["leftovers"]) == (0, 1)
    assert [one["path"] for one in document["leftovers"]] == [f"d/{hidden}"]


def test_long_name_that_nothing_has_is_left_over(damaged):
    """gocryptfs makes and removes in the same order, so its crashes leave it as well."""
    orphan = long_of(damaged)
    orphan.with_name(orphan.name[: -len(".name")]).unlink()
    assert damaged.fsck()[0] == 0
    document = fsck(damaged)
    assert (document["counts"]["damaged"], document["counts"]["leftovers"]) == (0, 1)
    assert document["leftovers"] == [{"path": orphan.name, "what": "what has this long name is missing"}]


def test_no_damage_no_finding(damaged):
    assert damaged.fsck()[0] == 0
    fsck(damaged)


def test_lines_for_people(damaged):
    """Each finding on a line of its own, names made harmless, and a last line with the verdict."""
    change(file_of(damaged), 100)
    (damaged.stored / "\x1b[31m").write_bytes(b"")
    result = program.run(
        "vault", "fsck", "--master-key", damaged.master_key_file, damaged.stored
    )
    assert result.code == program.CORRUPT
    assert result.out == b""
    lines = result.err.splitlines()
    assert "paes: f: damaged: block 0 is not authentic" in lines
    assert "paes: \\x1b[31m: damaged: the name is damaged" in lines
    assert f"paes: {damaged.stored}: 2 things are damaged" in lines
    quiet = program.run(
        "vault", "fsck", "-q", "--master-key", damaged.master_key_file, damaged.stored, "d"
    )
    assert (quiet.code, quiet.out, quiet.err) == (program.OK, b"", "")


def test_requests_that_make_no_sense(damaged):
    program.fail(
        "vault", "fsck", "--master-key", damaged.master_key_file, damaged.stored, "none",
        code=program.USAGE, says="none: No such file or directory",
    )  # fmt: skip
    program.fail(
        "vault", "fsck", "--master-key", damaged.master_key_file, damaged.stored / "none",
        code=program.FAILURE, says="No such file or directory",
    )  # fmt: skip


def test_a_passphrase_opens_it(small):
    program.succeed("vault", "fsck", "--passphrase-file", small.passphrase_file, small.stored)
