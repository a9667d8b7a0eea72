# SPDX-License-Identifier: Apache-2.0
"""Vaults on file systems of fsspec: what gocryptfs and paes have written, and damage."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pickle
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from varied import varied_bytes
from vaults import (
    CONFIGURATION,
    MASTER_KEY,
    OTHER_CONFIGURATION,
    PASSPHRASE,
    Gocryptfs,
    Tree,
    opened,
    read_tree,
    stored_text,
    stored_tree,
    write_tree,
)

import paes

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from paes.vault import VaultFileSystem, VaultKey, _master_key_of  # noqa: E402

PROGRAM = os.environ.get("PAES", "")

LONG = "long " * 40 + "name"
TREE: Tree = {
    "empty": b"",
    "one": b"1",
    "block": varied_bytes(4096),
    "more": varied_bytes(4097),
    "folder/large": varied_bytes(3_000_001),
    f"folder/{LONG}": b"long",
    f"{LONG}/within": b"within",
    "folder/deep/er/\u00e4 \u20ac": b"deep",
    "folder/deep/gocryptfs.conf": b"no configuration",
}
FOLDERS = {"folder", LONG, "folder/deep", "folder/deep/er"}
KINDS = {
    "gcm": (),
    "siv": ("-aessiv",),
    "xchacha": ("-xchacha",),
    "plain": ("-plaintextnames",),
    "deterministic": ("-deterministic-names",),
    "longnamemax": ("-longnamemax", "100"),
}


def passphrase() -> str:
    return PASSPHRASE


def check(fs: VaultFileSystem, tree: Tree, folders: set[str]) -> None:
    """Everything in the vault, by each way to read it."""
    assert set(fs.find("")) == set(tree)
    assert {path for path, _, _ in fs.walk("") if path} == folders
    for path, text in tree.items():
        info = fs.info(path)
        assert (info["name"], info["type"], info["size"]) == (path, "file", len(text))
        assert fs.exists(path) and fs.isfile(path) and not fs.isdir(path)
        assert fs.cat_file(path) == text
        assert fs.cat_file(path, -7, None) == text[-7:]
        assert fs.cat_file(path, 4090, 5000) == text[4090:5000]
        assert fs.ls(path, detail=False) == [path]
        with fs.open(path) as file:
            assert file.size == len(text)
            assert file.read() == text
            file.seek(4000)
            assert file.read(200) == text[4000:4200]
            file.seek(100_000)
            assert file.read(100_000) == text[100_000:200_000]
            assert file.read_at(1, 3) == text[1:4]
            buffer = bytearray(5000)
            assert file.readinto(buffer) == len(text[200_000:205_000])
    assert fs.du("") == sum(map(len, tree.values()))
    assert fs.cat(list(tree)) == tree
    starts = [4000] * len(tree)
    assert fs.cat_ranges(list(tree), starts, 4100) == [text[4000:4100] for text in tree.values()]
    assert not fs.exists("none") and not fs.exists("none/none") and not fs.exists("one/none")
    for call in (fs.info, fs.ls, fs.cat_file, fs.open):
        with pytest.raises(FileNotFoundError, match="'none"):
            call("none/none")
    for folder in folders:
        assert fs.isdir(folder)
        with pytest.raises(IsADirectoryError):
            fs.open(folder)
    assert sorted(fs.ls("folder", detail=False)) == sorted(
        {"/".join(path.split("/")[:2]) for path in tree if path.startswith("folder/")}
    )


@pytest.fixture
def gocryptfs(folder: Path) -> Gocryptfs:
    return Gocryptfs(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_what_gocryptfs_has_written(folder: Path, gocryptfs: Gocryptfs, kind: str) -> None:
    vault = folder / "vault"
    gocryptfs.make(vault, *KINDS[kind])

    def fill(mountpoint: Path) -> None:
        write_tree(mountpoint, TREE)
        with open(mountpoint / "hole", "wb") as file:
            file.seek(1_000_000)
            file.write(b"end")
        (mountpoint / "link").symlink_to("one")

    gocryptfs.within(vault, fill)
    fs = VaultFileSystem(str(vault), passphrase=passphrase)
    [link] = [entry for entry in fs.ls("") if entry["name"] == "link"]
    assert (link["type"], link["size"]) == ("other", 0)
    with pytest.raises((FileNotFoundError, paes.UsageError)):
        fs.cat_file("link")
    assert fs.cat_file("hole") == bytes(1_000_000) + b"end"
    tree = {**TREE, "hole": bytes(1_000_000) + b"end"}
    for name in os.listdir(vault):
        if (vault / name).is_symlink():
            (vault / name).unlink()
    check(fs, tree, FOLDERS)


@pytest.mark.skipif(not PROGRAM, reason="PAES does not name the program")
@pytest.mark.parametrize("kind", ["aes-256-gcm", "xchacha20-poly1305", "aes-siv"])
def test_what_paes_has_written(folder: Path, kind: str) -> None:
    vault = folder / "vault"
    vault.mkdir()
    (folder / "pass").write_text(PASSPHRASE + "\n")
    write_tree(folder / "tree", TREE)
    at = ["--passphrase-file", str(folder / "pass")]

    def paes_vault(*arguments: str) -> None:
        subprocess.run([PROGRAM, "vault", *arguments], check=True, cwd=folder / "tree")

    paes_vault("init", "--work-factor", "10", "--cipher", kind, *at, str(vault))
    paes_vault("put", *at, str(vault), *os.listdir(folder / "tree"))
    check(VaultFileSystem(str(vault), passphrase_file=folder / "pass"), TREE, FOLDERS)


class Made:
    """A vault in memory that is made of its parts."""

    NUMBERS = itertools.count()  # all share the memory

    def __init__(self, tree: Tree) -> None:
        self.below: Any = fsspec.filesystem("memory")
        self.root = f"/vault{next(self.NUMBERS)}"
        self.places = stored_tree(tree, self.hold)

    def hold(self, path: str, data: bytes) -> None:
        self.below.pipe_file(f"{self.root}/{path}", data)

    def stored(self, path: str) -> bytes:
        return self.below.cat_file(f"{self.root}/{path}")  # type: ignore[no-any-return]

    def fs(self, **options: Any) -> VaultFileSystem:
        options = options or {"passphrase": passphrase}
        return VaultFileSystem(self.root, "memory", **options)


@pytest.fixture
def made() -> Made:
    return Made(TREE)


def test_by_each_key(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pass").write_text(f"{PASSPHRASE}\nanother line\n")
    groups = [MASTER_KEY[at : at + 8] for at in range(0, 64, 8)]
    (folder / "key").write_text("    " + "-".join(groups).upper() + "\n")
    monkeypatch.setenv("PAES_TEST_FOLDER", str(folder))
    for options in (
        {"passphrase": PASSPHRASE},
        {"passphrase": paes.Passphrase(PASSPHRASE)},
        {"passphrase": passphrase},
        {"passphrase_file": str(folder / "pass")},
        {"passphrase_file": "$PAES_TEST_FOLDER/pass"},
        {"master_key": bytes.fromhex(MASTER_KEY)},
        {"master_key": lambda: bytes.fromhex(MASTER_KEY)},
        {"master_key_file": folder / "key"},
        {"master_key_file": "${PAES_TEST_FOLDER}/key"},
    ):
        made.below.__dict__.pop("_paes_vaults", None)
        assert made.fs(**options).cat_file("one") == b"1"
    (folder / "other.conf").write_bytes(CONFIGURATION)
    made.below.rm_file(f"{made.root}/gocryptfs.conf")
    other = made.fs(passphrase=passphrase, config="$PAES_TEST_FOLDER/other.conf")
    assert other.cat_file("one") == b"1"
    with pytest.raises(
        paes.FailureError, match=r"is not a vault: there is no gocryptfs\.conf in it"
    ):
        made.fs().ls("")


def test_by_address(made: Made) -> None:
    check(made.fs(), TREE, FOLDERS)
    options = {"paes-vault": {"passphrase": passphrase}}
    at = f"memory:/{made.root}"
    with fsspec.open(f"paes-vault://folder/large::{at}", **options) as file:
        assert file.read(10) == TREE["folder/large"][:10]
    fs, path = fsspec.url_to_fs(f"paes-vault://folder/deep::{at}", **options)
    assert fs.find(path) == sorted(path for path in TREE if path.startswith("folder/deep"))
    with fsspec.open_files(f"paes-vault://folder/*arge::{at}", **options) as files:
        assert [file.read() for file in files] == [TREE["folder/large"]]
    assert fs.glob("folder/*/er/*") == ["folder/deep/er/\u00e4 \u20ac"]
    assert fs.unstrip_protocol("one") == "paes-vault://one"


def test_a_passphrase_is_derived_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    real = VaultKey.open

    class Counted:
        @staticmethod
        def open(*arguments: Any, **options: Any) -> VaultKey:
            begun.append(1)
            return real(*arguments, **options)

    monkeypatch.setattr("paes.vault.VaultKey", Counted)
    options = {"paes-vault": {"passphrase": passphrase}}
    for path in ("one", "block", "one"):
        with fsspec.open(f"paes-vault://{path}::memory:/{made.root}", **options) as file:
            assert file.read() == TREE[path]
    assert len(begun) == 1


def test_what_opens_nothing(made: Made, folder: Path) -> None:
    (folder / "empty").write_text("\n")
    (folder / "short").write_text(MASTER_KEY[:-1])

    def why(expected: type[Exception], **options: Any) -> str:
        with pytest.raises(expected) as told:
            made.fs(**options).cat_file("one")
        assert "\n" not in str(told.value)
        return str(told.value)

    assert "gocryptfs.conf: the passphrase is wrong" in why(paes.WrongKeyError, passphrase="x")
    assert "nothing given could open it" in why(paes.UsageError, kernel="auto")
    assert "several are given" in why(paes.UsageError, passphrase="x", master_key=b"k" * 32)
    assert "first line is empty" in why(paes.UsageError, passphrase_file=folder / "empty")
    assert why(paes.UsageError, passphrase="") == "passphrase: is empty"
    assert "none" in why(OSError, passphrase_file=folder / "none")
    assert "has no NO_SUCH in its environment" in why(paes.UsageError, passphrase_file="$NO_SUCH")
    assert "holds no master key" in why(paes.UsageError, master_key_file=folder / "short")
    given = why(paes.UsageError, master_key_file=MASTER_KEY)
    assert "the key itself is given" in given
    assert MASTER_KEY not in given
    assert "31 bytes" in why(paes.UsageError, master_key=b"k" * 31)
    assert "returned None" in why(paes.UsageError, passphrase=lambda: None)
    assert "returned None" in why(paes.UsageError, master_key=lambda: None)
    assert "not bytes" in why(TypeError, passphrase=b"bytes")
    other = why(paes.WrongKeyError, master_key=b"k" * 32)
    assert other == "master_key: is not the master key of this vault"
    assert "work factor 10, above the limit" not in why(
        paes.UsageError, passphrase=passphrase, max_work_factor=9
    )
    with pytest.raises(ValueError, match="asynchronous"):
        made.fs(passphrase=passphrase, asynchronous=True)


def test_an_open_vault_opens_nothing_for_others(made: Made, folder: Path) -> None:
    """What is kept for one key is not found by those who have another."""
    pass_file = folder / "pass"
    pass_file.write_text(PASSPHRASE)
    for right in (
        {"passphrase": PASSPHRASE},
        {"passphrase": passphrase},
        {"master_key": bytes.fromhex(MASTER_KEY)},
        {"passphrase_file": pass_file},
    ):
        assert made.fs(**right).cat_file("one") == b"1"
    pass_file.write_text("wrong horse!!")
    for wrong in (
        {"passphrase": "wrong horse"},
        {"passphrase": lambda: "wrong horse"},
        {"passphrase_file": pass_file},
    ):
        with pytest.raises(paes.WrongKeyError):
            made.fs(**wrong).cat_file("one")
    with pytest.raises(paes.WrongKeyError):
        made.fs(master_key=bytes(32)).cat_file("one")


def keys_of_another_vault(folder: Path) -> list[dict[str, Any]]:
    (folder / "other.key").write_text("00" * 32)
    (folder / "other.conf").write_bytes(OTHER_CONFIGURATION)
    return [
        {"master_key": bytes(32)},
        {"master_key_file": folder / "other.key"},
        {"passphrase": passphrase, "config": folder / "other.conf"},
    ]


def keys_of_this_vault(folder: Path) -> list[dict[str, Any]]:
    (folder / "own.conf").write_bytes(CONFIGURATION)
    return [
        {"master_key": bytes.fromhex(MASTER_KEY)},
        {"passphrase": passphrase, "config": folder / "own.conf"},
    ]


CHANGES: list[Callable[[VaultFileSystem], object]] = [
    lambda fs: fs.pipe_file("new", b"new"),
    lambda fs: fs.pipe_file("new/in/a folder", b"new"),
    lambda fs: fs.open("one", "wb"),
    lambda fs: fs.mkdir("new"),
    lambda fs: fs.makedirs("new/in", exist_ok=True),
    lambda fs: fs.mkdir(LONG + "2"),
    lambda fs: fs.mv("one", "new"),
    lambda fs: fs.cp_file("one", "new"),
    lambda fs: fs.rm_file("one"),
    lambda fs: fs.rm("folder", recursive=True),
    lambda fs: fs.rmdir("folder"),
]


def anew(below: Any, root: str, **options: Any) -> VaultFileSystem:
    """A file system that knows nothing yet."""
    below.__dict__.pop("_paes_vaults", None)
    return VaultFileSystem(root, fs=below, **options)


def all_stored(fs: VaultFileSystem) -> dict[str, bytes]:
    fs.fs.invalidate_cache()
    return {path: fs.fs.cat_file(path) for path in fs.fs.find(fs.root, withdirs=False)}


def test_a_key_of_another_vault_changes_nothing(
    made: Made, local: OnThisMachine, folder: Path
) -> None:
    for right in (made.fs(), local.fs()):
        before = all_stored(right)
        for options in keys_of_another_vault(folder):
            for change in CHANGES:
                fs = anew(right.fs, right.root, **options)
                for _ in range(2):
                    with pytest.raises(
                        paes.WrongKeyError, match=r"is not the (master key|configuration) of this"
                    ):
                        change(fs)
            for look in (lambda fs: fs.ls(""), lambda fs: fs.find("")):
                with pytest.raises(paes.WrongKeyError):
                    look(anew(right.fs, right.root, **options))
        assert all_stored(right) == before


@pytest.mark.parametrize("names", [1, 3, 20])
@pytest.mark.parametrize("kind", ["empty file", "long name", "folder"])
def test_names_alone_tell_a_key_of_another_vault(folder: Path, names: int, kind: str) -> None:
    ends = {"empty file": "", "long name": LONG, "folder": "/in/file"}
    made = Made({f"{number}{ends[kind]}": b"" for number in range(names)})
    before = all_stored(made.fs())
    for options in keys_of_another_vault(folder):
        with pytest.raises(paes.WrongKeyError):
            anew(made.below, made.root, **options).pipe_file("new", b"new")
    assert all_stored(made.fs()) == before
    for options in keys_of_this_vault(folder):
        anew(made.below, made.root, **options).pipe_file("new", b"new")


PLAIN = json.dumps(
    {**json.loads(CONFIGURATION), "FeatureFlags": ["HKDF", "GCMIV128", "PlaintextNames"]}
).encode()


def test_a_block_tells_a_key_where_names_are_plain(folder: Path) -> None:
    below = fsspec.filesystem("memory")
    root = "/plain"
    below.pipe_file(f"{root}/gocryptfs.conf", PLAIN)
    for place in ("a/b/file", "a/hole", "c"):
        text = stored_text(opened(), b"text")
        below.pipe_file(f"{root}/{place}", text if place == "a/b/file" else text[:18] + bytes(4128))
    below.pipe_file(f"{root}/damaged", text[:30] + b"damage" + text[36:])
    fs = VaultFileSystem(root, fs=below, passphrase=passphrase)
    before = all_stored(fs)
    [by_key, by_file, _] = keys_of_another_vault(folder)
    for options in (by_key, by_file):
        for change in (
            lambda fs: fs.pipe_file("new", b"new"),
            lambda fs: fs.mkdir("new"),
            lambda fs: fs.rm_file("c"),
            lambda fs: fs.mv("c", "d"),
        ):
            with pytest.raises(paes.WrongKeyError, match="is not the master key of this vault"):
                change(anew(below, root, **options))
    assert all_stored(fs) == before
    anew(below, root, master_key=bytes.fromhex(MASTER_KEY)).pipe_file("new", b"new")
    assert fs.cat_file("new") == b"new"


def damage_name(made: Made, path: str) -> None:
    place = made.places[path]
    other = place[:3] + ("A" if place[3] != "A" else "B") + place[4:]
    made.below.mv(f"{made.root}/{place}", f"{made.root}/{other}")


def test_the_owner_gets_into_a_damaged_vault(folder: Path) -> None:
    """What does not open is damaged as long as something opens."""
    for options in keys_of_this_vault(folder):
        made = Made({})
        # What others leave in a folder.
        made.hold("lost+found/0000", b"")
        made.hold(".DS_Store", os.urandom(6148))
        made.hold("x" * 22, b"\0\1" + bytes(100))
        anew(made.below, made.root, **options).pipe_file("first", b"text")
        # Half of the names, and nothing else.
        made = Made({f"{number}": b"" for number in range(8)})
        for number in range(4):
            damage_name(made, f"{number}")
        anew(made.below, made.root, **options).pipe_file("second", b"text")
        # All names, and a block is still authentic.
        made = Made({f"{number}": b"" for number in range(8)} | {"text": varied_bytes(5000)})
        for path in list(made.places):
            damage_name(made, path)
        anew(made.below, made.root, **options).pipe_file("third", b"text")
        assert made.fs().cat_file("third") == b"text"


def test_an_empty_vault_takes_any_key(folder: Path) -> None:
    for options in keys_of_another_vault(folder):
        made = Made({})
        fs = anew(made.below, made.root, **options)
        assert fs.ls("") == [] and not fs.exists("one")
        fs.pipe_file("one", b"1")
        assert anew(made.below, made.root, **options).cat_file("one") == b"1"


def test_each_flipped_byte_of_a_file_is_refused(made: Made) -> None:
    fs = made.fs()
    place = made.places["more"]
    good = made.stored(place)
    for at in [*range(60), *range(60, len(good), 97), *range(len(good) - 40, len(good))]:
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        made.hold(place, bytes(damaged))
        with pytest.raises(paes.CorruptError, match=r"more: (block|the header)"):
            fs.cat_file("more")
        with fs.open("more") as file, pytest.raises(paes.CorruptError):
            file.read()
        # The other block is not touched.
        is_first = 18 <= at < 18 + 4096 + 32
        if at >= 18:
            wanted = (4096, 4097) if is_first else (0, 4096)
            assert fs.cat_file("more", *wanted) == TREE["more"][slice(*wanted)]
    for cut in (1, 17, 19, 30, 50, len(good) - 1, len(good) - 20):
        made.hold(place, good[:cut])
        if fs.size("more"):
            with pytest.raises(paes.CorruptError):
                fs.cat_file("more")
    # A file in another's place is not another file's.
    made.hold(place, made.stored(made.places["block"])[:18] + good[18:])
    with pytest.raises(paes.CorruptError):
        fs.cat_file("more")


def test_damaged_names_and_ivs(made: Made) -> None:
    place = made.places["folder/large"]
    above, name = place.rsplit("/", 1)
    refused = 0
    for at in range(len(name)):
        other = name[:at] + ("A" if name[at] != "A" else "B") + name[at + 1 :]
        made.below.mv(f"{made.root}/{place}", f"{made.root}/{above}/{other}")
        fs = made.fs()
        with pytest.raises(FileNotFoundError):
            fs.cat_file("folder/large")
        try:
            assert "folder/large" not in fs.ls("folder", detail=False)
        except paes.CorruptError as error:
            refused += 1
            assert f"folder/{other}: it is damaged" in str(error)
            lax = made.fs(passphrase=passphrase, skip_damaged_names=True)
            assert len(lax.ls("folder")) == 2
        made.below.mv(f"{made.root}/{above}/{other}", f"{made.root}/{place}")
    assert refused >= len(name) - 2
    # A long name's file.
    beside = made.places[f"folder/{LONG}"] + ".name"
    good = made.stored(beside)
    for damaged, why in (
        (b"A" + good[1:], "the file of its long name"),
        (b"", "the file of its long name is damaged"),
        (good * 2, "the file of its long name is too long"),
        (None, "the file of its long name is missing"),
    ):
        made.below.rm_file(f"{made.root}/{beside}")
        if damaged is not None:
            made.hold(beside, damaged)
        with pytest.raises(paes.CorruptError, match=why):
            made.fs().ls("folder")
        made.hold(beside, good)
    # An IV.
    iv = made.places["folder"] + "/gocryptfs.diriv"
    good = made.stored(iv)
    for damaged, why in (
        (bytes(16), "folder: gocryptfs.diriv is all zero"),
        (good[1:], "folder: gocryptfs.diriv is too short"),
        (good + b"x", "folder: gocryptfs.diriv is too long"),
        (bytes([good[0] ^ 1]) + good[1:], "it is damaged|long name is damaged"),
    ):
        made.hold(iv, damaged)
        made.below.__dict__.pop("_paes_vaults", None)
        with pytest.raises(paes.CorruptError, match=why):
            made.fs().ls("folder")
    made.below.rm_file(f"{made.root}/{iv}")
    made.below.__dict__.pop("_paes_vaults", None)
    with pytest.raises(paes.CorruptError, match=r"folder: gocryptfs\.diriv is missing"):
        made.fs().ls("folder")


def test_a_file_that_changes(made: Made) -> None:
    fs = made.fs()
    key = opened()

    def put(text: bytes) -> None:
        header = key.new_header()
        made.hold(made.places["more"], header + key.seal_blocks(header, 0, text))

    with fs.open("more") as file:
        put(b"x" * 9000)
        assert file.read() == b"x" * len(TREE["more"])  # all that was asked for
        assert file.size == 9000
    with fs.open("more") as file:
        assert file.read(10) == b"x" * 10
        put(b"y" * 100_000)
        with pytest.raises(paes.FailureError, match="more: changed while it was read"):
            file.read_at(8000, 10)
    assert fs.cat_file("more") == b"y" * 100_000


def test_objects_travel_without_secrets(
    made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pass").write_text(PASSPHRASE)
    monkeypatch.setenv("PAES_TEST_PASS", str(folder / "pass"))
    for options in (
        {"passphrase_file": str(folder / "pass")},
        {"passphrase_file": folder / "pass"},
        {"passphrase_file": "$PAES_TEST_PASS"},
        {"passphrase": passphrase},
    ):
        fs = made.fs(**options)
        fs.ls("")
        sent = pickle.dumps(fs)
        assert PASSPHRASE.encode() not in sent
        copy = pickle.loads(sent)
        assert copy == fs
        assert hash(copy) == hash(fs)
        assert copy.cat_file("one") == b"1"
        other = VaultFileSystem(made.root + "x", "memory", **options)
        assert other != fs
    fs = made.fs(passphrase_file="$PAES_TEST_PASS")
    assert VaultFileSystem.from_json(fs.to_json()).cat_file("one") == b"1"
    for options in (
        {"passphrase": PASSPHRASE},
        {"passphrase": paes.Passphrase(PASSPHRASE)},
        {"master_key": bytes.fromhex(MASTER_KEY)},
    ):
        fs = made.fs(**options)
        fs.ls("")
        for travel in (pickle.dumps, lambda fs: fs.to_json()):
            with pytest.raises(TypeError, match="a secret does not travel") as told:
                travel(fs)
            assert PASSPHRASE not in str(told.value)
        assert fs != made.fs(**options)
    with pytest.raises(TypeError, match="VaultKey"):
        pickle.dumps(opened())


def test_threads_share_a_reader(made: Made) -> None:
    text = TREE["folder/large"]
    wrong: list[int] = []
    with made.fs().open("folder/large") as file:

        def read(seed: int) -> None:
            for turn in range(100):
                at = (seed * 7919 + turn * 104_729) % len(text)
                if file.read_at(at, 5000) != text[at : at + 5000]:
                    wrong.append(at)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_vault_key_by_itself() -> None:
    key = opened()
    iv = key.new_folder_iv()
    stored, encoded = key.stored_name(b"name", iv, True)
    assert encoded == b""
    assert key.name_of(stored, iv) == b"name"
    assert key.kind_of(stored, False) == "name"
    assert key.kind_of(key.new_unfinished_name(), True) == "unfinished"
    for wrong in (b"", b"a/b", b".", b"\0", b"n" * 256):
        with pytest.raises(paes.UsageError, match="name: no file can have it"):
            key.stored_name(wrong, iv, True)
    with pytest.raises(paes.UsageError, match="iv must be 16 bytes, not 15"):
        key.stored_name(b"name", iv[1:], True)
    with pytest.raises(paes.UsageError, match="header must be 18 bytes, not 0"):
        key.open_blocks(b"", 0, b"")
    header = key.new_header()
    sealed = key.seal_blocks(header, 3, TREE["more"])
    assert key.open_blocks(header, 3, sealed) == TREE["more"]
    assert len(sealed) + 18 == key.stored_bytes(4097)
    assert key.text_bytes(key.stored_bytes(4097)) == 4097
    assert key.block_offset(1) == 18 + 4096 + 32
    with pytest.raises(paes.CorruptError, match="f: block 4 is not authentic"):
        key.open_blocks(header, 3, sealed[:-1], "f")


@pytest.mark.parametrize("kind", KINDS)
def test_gocryptfs_reads_what_is_written(folder: Path, gocryptfs: Gocryptfs, kind: str) -> None:
    vault = folder / "vault"
    gocryptfs.make(vault, *KINDS[kind])
    fs = VaultFileSystem(str(vault), passphrase=passphrase)
    for made in sorted(FOLDERS):
        fs.mkdir(made)
    for path, text in TREE.items():
        with fs.open(path, "wb") as file:
            for at in range(0, len(text), 700_001):
                file.write(text[at : at + 700_001])
    check(fs, TREE, FOLDERS)
    fs.pipe_file(f"folder/{LONG}2", b"replaced")
    fs.pipe_file(f"folder/{LONG}2", b"to be moved")
    fs.mv(f"folder/{LONG}2", "folder/moved")
    fs.mkdir(f"{LONG}3")
    fs.pipe_file(f"{LONG}3/file", b"in a folder")
    fs.mv(f"{LONG}3", "folder/deep/moved folder")
    fs.cp_file("folder/large", "copy")
    fs.pipe_file(f"{LONG}4", b"removed")
    fs.rm(f"{LONG}4")
    fs.makedirs(f"{LONG}5/{LONG}6")
    fs.pipe_file(f"{LONG}5/{LONG}6/{LONG}", b"removed")
    with pytest.raises(OSError, match="not empty"):
        fs.rmdir(f"{LONG}5")
    with pytest.raises(IsADirectoryError):
        fs.rm(f"{LONG}5")
    fs.rm(f"{LONG}5/{LONG}6", recursive=True)
    fs.rmdir(f"{LONG}5")
    tree = {
        **TREE,
        "folder/moved": b"to be moved",
        "folder/deep/moved folder/file": b"in a folder",
        "copy": TREE["folder/large"],
    }
    check(
        VaultFileSystem(str(vault), passphrase=passphrase),
        tree,
        FOLDERS | {"folder/deep/moved folder"},
    )
    found: Tree = {}
    gocryptfs.within(vault, lambda mountpoint: found.update(read_tree(mountpoint)))
    assert found == tree
    gocryptfs.fsck(vault)
    # No file is without a name, and no name without a file.
    longs = [p for p in vault.rglob("gocryptfs.longname.*") if p.suffix == ".name"]
    assert all(p.with_suffix("").exists() for p in longs)
    assert len(longs) == (0 if kind == "plain" else 2)


def test_writing_to_a_store(made: Made) -> None:
    fs = made.fs()
    fs.pipe_file(f"new/{LONG}/file", b"folders are made as needed")
    with pytest.raises(FileExistsError):
        fs.mkdir("new")
    fs.mv(f"new/{LONG}", "new/short")
    fs.mv("one", "new/one")
    fs.rm("folder", recursive=True)
    with fs.open("new/empty", "wb"):
        pass
    tree = {path: text for path, text in TREE.items() if not path.startswith("folder/")}
    tree.update(
        {"new/short/file": b"folders are made as needed", "new/one": b"1", "new/empty": b""}
    )
    del tree["one"]
    made.below.__dict__.pop("_paes_vaults", None)
    fs = made.fs()
    assert fs.cat(fs.find("")) == tree
    assert fs.exists("new/short") and not fs.exists(f"new/{LONG}")
    assert not [name for name in made.below.find(f"{made.root}/none")]
    copied = made.below.info(f"{made.root}/{made.places['more']}")["size"]
    fs.cp_file("more", "copy")
    assert fs.info("copy")["encrypted_size"] == copied
    stored = fs.vault.stored("copy")
    assert made.below.cat_file(stored)[:18] != made.stored(made.places["more"])[:18]


def test_what_is_not_complete_has_no_name(folder: Path, made: Made) -> None:
    vault = folder / "vault"

    def hold(path: str, data: bytes) -> None:
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(data)

    stored_tree(TREE, hold)
    fs = VaultFileSystem(str(vault), passphrase=passphrase)
    before = sorted(path for path in vault.rglob("*"))
    with pytest.raises(ZeroDivisionError), fs.open("folder/new", "wb") as file:
        file.write(bytes(5_000_000))
        assert len(list(vault.rglob("*"))) == len(before) + 1
        check(VaultFileSystem(str(vault), passphrase=passphrase), TREE, FOLDERS)
        raise ZeroDivisionError
    assert sorted(path for path in vault.rglob("*")) == before
    with pytest.raises(ZeroDivisionError), fs.open("one", "wb"):
        raise ZeroDivisionError
    assert fs.cat_file("one") == b"1"
    for mode in ("ab", "r+b", "xb"):
        with pytest.raises(ValueError, match="mode must be"):
            fs.open("one", mode)
    with pytest.raises(FileNotFoundError):
        fs.open("none/file", "wb")
    with pytest.raises(NotImplementedError, match="no transactions"), fs.transaction:
        pass
    for call in (lambda: fs.rm("", recursive=True), lambda: fs.mv("folder", "folder/deep/x")):
        with pytest.raises(paes.UsageError):
            call()
    # Another program that writes.
    lock = os.open(vault, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with mock.patch("paes.vault_files._PATIENCE_S", 0.1):
        for call in (
            lambda: fs.open("one", "wb"),
            lambda: fs.mkdir("two"),
            lambda: fs.rm("one"),
            lambda: fs.mv("one", "two"),
        ):
            with pytest.raises(paes.FailureError, match="another program writes to the vault"):
                call()
    os.close(lock)
    assert sorted(path for path in vault.rglob("*")) == before
    check(fs, TREE, FOLDERS)


class OnThisMachine:
    """A vault in a folder that is made of its parts."""

    def __init__(self, vault: Path, tree: Tree) -> None:
        self.vault = vault

        def hold(path: str, data: bytes) -> None:
            (vault / path).parent.mkdir(parents=True, exist_ok=True)
            (vault / path).write_bytes(data)

        self.places = stored_tree(tree, hold)

    def fs(self, **options: Any) -> VaultFileSystem:
        """Return a file system that knows nothing yet."""
        below = fsspec.filesystem("file", skip_instance_cache=True)
        return VaultFileSystem(str(self.vault), fs=below, passphrase=passphrase, **options)

    def stored(self, path: str) -> Path:
        return self.vault / self.places[path]


@pytest.fixture
def local(folder: Path) -> OnThisMachine:
    return OnThisMachine(folder / "vault", TREE)


def test_links_and_pipes_are_refused(local: OnThisMachine, folder: Path) -> None:
    within = local.stored("folder/large").parent
    for place in (
        local.vault / "gocryptfs.conf",
        within / "gocryptfs.diriv",
        Path(f"{local.stored(f'folder/{LONG}')}.name"),
        local.stored("folder/large"),
    ):
        good = place.read_bytes()
        for make, why in (
            (os.mkfifo, "is not a regular file"),
            (lambda name: os.symlink("/dev/zero", name), "is a symbolic link"),
        ):
            place.unlink()
            make(place)
            with pytest.raises(paes.UsageError, match=why):
                local.fs().cat(["folder/large"])
                local.fs().ls("folder")
        place.unlink()
        place.write_bytes(good)
    within.rename(folder / "elsewhere")
    within.symlink_to(folder / "elsewhere")
    for call in (
        lambda: local.fs().cat_file("folder/large"),
        lambda: local.fs().ls("folder"),
        lambda: local.fs().pipe_file("folder/new", b"new"),
    ):
        with pytest.raises(paes.UsageError, match="folder: is a symbolic link"):
            call()
    assert not local.fs().exists("folder/large")
    local.fs().rm("folder", recursive=True)
    assert (folder / "elsewhere" / "gocryptfs.diriv").exists()
    assert not local.fs().exists("folder")


def test_a_long_name_is_there_whole_or_not_at_all(local: OnThisMachine) -> None:
    fs = local.fs()
    beside = Path(f"{local.stored(f'folder/{LONG}')}.name")
    good, before = beside.read_bytes(), sorted(local.vault.rglob("*"))
    real = os.fsync

    def full(descriptor: int) -> None:
        if os.fstat(descriptor).st_size == len(good):
            raise OSError(28, "No space left on device")
        real(descriptor)

    def written() -> None:
        with fs.open(f"folder/{LONG}2", "wb") as file:
            file.write(bytes(2 << 20))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        written()
    with mock.patch("os.fsync", full):
        for call in (
            lambda: fs.pipe_file(f"folder/{LONG}2", b"new"),
            lambda: fs.mv("one", f"folder/{LONG}2"),
            lambda: fs.mkdir(f"folder/{LONG}2"),
        ):
            with pytest.raises(OSError, match="No space left"):
                call()
        fs.pipe_file(f"folder/{LONG}", b"replaced")
    assert sorted(local.vault.rglob("*")) == before
    assert beside.read_bytes() == good
    assert local.fs().cat_file(f"folder/{LONG}") == b"replaced"


def test_a_forked_process_leaves_a_writer_alone(local: OnThisMachine) -> None:
    fs = local.fs()
    text = varied_bytes(3_000_000)
    file = fs.open("folder/new", "wb")
    file.write(text[:2_000_000])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(paes.FailureError, match="folder/new: the process that opened it"):
                file.write(b"child")
            file.abandon()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    file.write(text[2_000_000:])
    file.close()
    assert fs.cat_file("folder/new") == text


def test_a_part_of_a_file_is_not_taken_for_a_whole_one(made: Made, local: OnThisMachine) -> None:
    # In memory a file is there as soon as it is opened.
    fs = made.fs()
    with pytest.raises(ZeroDivisionError), fs.open("folder/new", "wb") as file:
        file.write(bytes(2_000_000))
        raise ZeroDivisionError
    assert not fs.exists("folder/new")
    # A write that was interrupted, after which its caller goes on.
    for turn in range(4):
        file = local.fs().open("one", "wb")
        file.write(b"x")
        real = file._target.write
        left = iter(range(turn))

        def write(data: bytes, real: Any = real, left: Any = left) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return real(data)

        with mock.patch.object(file._target, "write", write), pytest.raises(KeyboardInterrupt):
            file.write(bytes(4 << 20))
        with pytest.raises(paes.FailureError, match="one: an earlier write failed"):
            file.write(b"more")
        with pytest.raises(paes.FailureError, match="one: an earlier write failed"):
            file.close()
        assert local.fs().cat_file("one") == b"1"


def remade(below: Any, root: str) -> VaultFileSystem:
    """A file system of another process."""
    below.__dict__.pop("_paes_vaults", None)
    return VaultFileSystem(root, fs=below, passphrase=passphrase)


def test_a_move_or_a_folder_replaces_no_folder(made: Made, local: OnThisMachine) -> None:
    refused = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError)
    for fs in (made.fs(), local.fs()):
        fs.mkdir("other")
        fs.pipe_file("other/file", b"other")
        before = fs.cat(fs.find(""))
        for call in (
            lambda fs=fs: fs.mv("other", "folder"),
            lambda fs=fs: fs.mv("other", "one"),
            lambda fs=fs: fs.mv("one", "other"),
            lambda fs=fs: fs.mkdir("one"),
            lambda fs=fs: fs.mkdir("other"),
            lambda fs=fs: fs.pipe_file("one/in", b""),
            lambda fs=fs: fs.pipe_file("other", b""),
            lambda fs=fs: fs.rm_file(LONG),
            lambda fs=fs: fs.rmdir("one"),
        ):
            with pytest.raises(refused):
                call()
        again = remade(fs.fs, fs.root)
        assert again.cat(again.find("")) == before
        fs.cp_file("one", "one")
        assert fs.cat_file("one") == b"1"


def test_a_folder_with_what_nobody_can_read_is_not_empty(made: Made, local: OnThisMachine) -> None:
    for fs in (
        made.fs(passphrase=passphrase, skip_damaged_names=True),
        local.fs(skip_damaged_names=True),
    ):
        fs.makedirs("new")
        fs.fs.pipe_file(fs.vault.stored("new") + "/damaged", b"who knows")
        assert fs.ls("new") == []
        with pytest.raises(OSError, match="not empty"):
            fs.rmdir("new")
        assert fs.fs.cat_file(fs.vault.stored("new") + "/damaged") == b"who knows"
        fs.fs.rm_file(fs.vault.stored("new") + "/damaged")
        fs.rmdir("new")
        assert not fs.exists("new")


def test_a_folder_that_others_made_anew(made: Made, local: OnThisMachine) -> None:
    for fs in (made.fs(), local.fs()):
        fs.makedirs("new/in")
        other = remade(fs.fs, fs.root)
        other.rm("new", recursive=True)
        other.mkdir("new")
        fs.pipe_file("new/file", b"1")
        assert other.cat_file("new/file") == b"1"
        with pytest.raises(FileNotFoundError):
            fs.mv("one", "new/in/one")


def test_another_vault_in_the_place_of_one(made: Made, local: OnThisMachine) -> None:
    for fs in (made.fs(), local.fs()):
        assert fs.cat_file("one") == b"1"
        fs.fs.rm(fs.root, recursive=True)
        fs.fs.makedirs(fs.root)
        stored_tree({"other": b"2"}, lambda path, data: fs.fs.pipe_file(f"{fs.root}/{path}", data))  # noqa: B023
        with pytest.raises(paes.FailureError, match="another vault has taken its place"):
            fs.pipe_file("new", b"1")
        fs.pipe_file("new", b"1")
        assert remade(fs.fs, fs.root).find("") == ["new", "other"]


def test_another_configuration_in_the_place_of_one(local: OnThisMachine) -> None:
    fs = local.fs()
    assert fs.cat_file("one") == b"1"
    (local.vault / "gocryptfs.conf").write_bytes(b"{}")
    with pytest.raises(paes.CorruptError, match="is not a configuration"):
        VaultFileSystem(str(local.vault), fs=fs.fs, passphrase=passphrase).ls("")


def test_files_that_are_replaced_while_they_are_fetched(made: Made) -> None:
    fs = made.fs()
    key = opened()
    real = fs.fs.cat_ranges

    def replaced(text: bytes) -> Any:
        def cat_ranges(*arguments: Any, **options: Any) -> Any:
            header = key.new_header()
            made.hold(made.places["more"], header + key.seal_blocks(header, 0, text))
            with mock.patch.object(fs.fs, "cat_ranges", real):
                return real(*arguments, **options)

        return cat_ranges

    for text in (b"short", varied_bytes(9000), varied_bytes(100_000), b"x"):
        with mock.patch.object(fs.fs, "cat_ranges", replaced(text)):
            assert fs.cat(["one", "more"]) == {"one": b"1", "more": text}
        assert fs.cat_file("more") == text


def test_the_digits_of_a_master_key_are_wiped(folder: Path) -> None:
    (folder / "key").write_text(MASTER_KEY)
    kept = []

    class Kept(bytearray):
        def __getitem__(self, at: Any) -> Any:
            kept.append(super().__getitem__(at))
            return kept[-1]

    with mock.patch("paes.vault.bytearray", Kept, create=True):
        assert _master_key_of(str(folder / "key")) == bytes.fromhex(MASTER_KEY)
    assert not any(MASTER_KEY.encode() in bytes(one) for one in kept if not isinstance(one, int))
