# SPDX-License-Identifier: Apache-2.0
# paes vault put, get and export: when they return 0, each file and each new name is on disk.
import os
import subprocess

import preload
import program
import pytest
from program import OK
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
