# SPDX-License-Identifier: Apache-2.0
# paes vault put, get and export: when they return 0, each file and each new name is on disk.
import os
import subprocess

import preload
import program
import pytest
from program import OK, SOME_FAILED
from test_vault_files import Vault, vault_fixture  # noqa: F401  (a fixture among them)


def number_of(path):
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def synced_by(calls):
    """What was synced, as numbers of devices and inodes; of a whole file system, the second is 0."""
    return {tuple(map(int, line.split())) for line in calls.read_text().splitlines()}


def make_tree(root):
    """More files and folders than are synced by themselves."""
    for number in range(10):
        (root / f"folder {number}").mkdir(parents=True)
        (root / f"folder {number}" / "file").write_text(f"text {number}")
    os.symlink("target", root / "link")
    return root


# Runs paes with a tmpfs at $PLACE, and lists what lies there as the preloaded library names it.
ON_ANOTHER_FILE_SYSTEM = """
mount -t tmpfs none "$PLACE" || exit 99
"$@" || exit
find "$PLACE" -exec stat -c "%d %i" {} +
"""


@pytest.mark.parametrize("files", [2, 10])
def test_put_syncs_each_file_system_of_a_vault(tmp_path, mount_space, preloaded, files):
    """A sync of the file system on which the root lies says nothing about another in the vault."""
    vault = Vault(tmp_path / "made", "--plaintext-names")
    place = vault.path / "other"
    place.mkdir()
    tree = make_tree(tmp_path / "tree")
    sources = [tree / f"folder {number}" for number in range(files)]
    calls = tmp_path / "calls"
    words = [*preloaded(preload.NOTED_SYNCS), f"CALLS={calls}", program.PAES, *vault.words("put", "--to", "other", *sources)]
    done = subprocess.run([*mount_space, "sh", "-c", ON_ANOTHER_FILE_SYSTEM, "sh", *map(str, words)], capture_output=True,
                          env=program.clean_environment(PLACE=str(place)), timeout=program.TIMEOUT_S, check=False)
    if done.returncode == 99:
        pytest.skip(f"no mounts in a namespace here: {done.stderr.decode().strip()}")
    assert done.returncode == OK, done.stderr
    made = {tuple(map(int, line.split())) for line in done.stdout.decode().splitlines()}
    assert len(made) == 1 + 2 * files
    synced = synced_by(calls)
    left = {one for one in made if one not in synced and (one[0], 0) not in synced}
    assert left == set()


def synced_in_a_run(preloaded, tmp_path, *words, cwd=None):
    calls = tmp_path / "calls"
    calls.write_text("")
    program.succeed(*words, cwd=cwd, prefix=[*preloaded(preload.NOTED_SYNCS), f"CALLS={calls}"])
    return synced_by(calls)


def is_synced(path, synced):
    return number_of(path) in synced or (number_of(path)[0], 0) in synced


@pytest.mark.parametrize("option", [(), ("-f",), ("--update",)])
@pytest.mark.parametrize("what", ["link", "link to a name", "folder", "folder to a name", "export", "empty folder"])
def test_get_syncs_the_folders_of_its_new_names(vault, tmp_path, folder, preloaded, what, option):
    tree = make_tree(tmp_path / "tree")
    (tmp_path / "empty").mkdir()
    vault.do("put", tree, tmp_path / "empty")
    old = folder / "tree" / "folder 1"
    old.mkdir(parents=True)
    get = lambda *words: vault.words("get", *option, *words)  # noqa: E731
    words, changed = {
        "link": (get("tree/link"), [folder]),
        "link to a name": (get("tree/link", "tree/new"), [folder / "tree"]),
        "folder": (get("tree", "."), [folder / "tree", old, folder / "tree" / "folder 2"]),
        "folder to a name": (get("tree", "new/"), [folder, folder / "new", folder / "new" / "folder 3"]),
        "export": (vault.words("export", *option, "new"), [folder, folder / "new", folder / "new" / "tree"]),
        "empty folder": (get("empty"), [folder, folder / "empty"]),
    }[what]
    synced = synced_in_a_run(preloaded, tmp_path, *words, cwd=folder)
    assert [path for path in changed if not is_synced(path, synced)] == []


def test_a_name_that_cannot_be_synced_is_told(vault, tmp_path, folder, preloaded):
    os.symlink("target", tmp_path / "link")
    vault.do("put", tmp_path / "link")
    failing = [*preloaded(preload.FAILING), "FAIL_AT=1-", f"CALLS={tmp_path / 'calls'}"]
    result = program.run(*vault.words("get", "link", folder), prefix=failing)
    assert result.code == SOME_FAILED and "Input/output error" in result.err, result.err


def test_an_output_folder_that_a_dangling_link_names_is_synced(tmp_path, folder, keys, plain, preloaded):
    """It is made where the link leads."""
    (tmp_path / "there").mkdir()
    os.symlink(tmp_path / "there" / "new", folder / "link")
    synced = synced_in_a_run(preloaded, tmp_path, "encrypt", "-r", keys.recipient, "--output-dir", folder / "link", plain)
    assert (tmp_path / "there" / "new" / f"{plain.name}.paes").exists()
    assert is_synced(tmp_path / "there", synced)
