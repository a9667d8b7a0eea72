# SPDX-License-Identifier: Apache-2.0
"""Back up a folder into one encrypted tar file, list it, and restore all of it or a part.

    python3 backup.py save FOLDER BACKUP RECIPIENT...
    python3 backup.py list BACKUP KEY_FILE
    python3 backup.py restore BACKUP KEY_FILE FOLDER [NAME...]

A backup has its name once all is in it and synced. To restore a part of the folder, only that part
of the backup is decrypted, and what tells where it lies. RECIPIENT is a public key. Its secret key
is needed only to list and to restore, so it need not be on the machine that is backed up.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import paes

PIECE = 1 << 20


def save(folder: Path, backup: Path, recipients: list[str]) -> None:
    """Encrypt the folder into a new file. If that fails, there is none."""
    with (
        paes.open(backup, "wb", recipients=recipients) as file,
        tarfile.open(fileobj=file, mode="w|", bufsize=PIECE) as archive,
    ):
        archive.add(folder, arcname=".")


@contextlib.contextmanager
def opened(backup: Path, key_file: Path) -> Iterator[tarfile.TarFile]:
    """Open a backup. Only authentic bytes of it are seen."""
    with (
        paes.open(backup, identity=key_file) as file,
        tarfile.open(fileobj=io.BufferedReader(file, PIECE), mode="r:") as archive,
    ):
        yield archive


def extract(archive: tarfile.TarFile, folder: Path, members: list[tarfile.TarInfo]) -> None:
    """Extract the members, and let none of them out of the folder."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, members, filter="data")
        return
    # Python before 3.11.4 has no filter. Folders come last, and the deepest first, because their
    # modes may forbid to write in them.
    folders = sorted((one for one in members if one.isdir()), key=lambda one: -len(one.name))
    root = folder.resolve()
    for member in [one for one in members if not one.isdir()] + folders:
        path = root / member.name
        places = [path]
        if member.issym():
            places.append(path.parent / member.linkname)
        elif member.islnk():
            places.append(root / member.linkname)
        elif not (member.isfile() or member.isdir()):
            raise ValueError(f"{member.name}: is a device")
        if not all(place.resolve().is_relative_to(root) for place in places):
            raise ValueError(f"{member.name}: leads out of the folder")
        archive.extract(member, root)


def restore(backup: Path, key_file: Path, folder: Path, names: list[str]) -> None:
    """Restore what is below these names, or everything."""
    folder.mkdir(parents=True, exist_ok=True)
    with opened(backup, key_file) as archive:
        found = {member.name.removeprefix("./"): member for member in archive}
        wanted = {
            name: member
            for name, member in found.items()
            if not names or any(name == one or name.startswith(f"{one}/") for one in names)
        }
        if missing := [one for one in names if one not in found]:
            raise FileNotFoundError(f"not in the backup: {', '.join(missing)}")
        extract(archive, folder, list(wanted.values()))


def main(command: str, *arguments: str) -> None:
    """Do what the command line says."""
    match command, *arguments:
        case "save", folder, backup, _, *_:
            save(Path(folder), Path(backup), list(arguments[2:]))
        case "list", backup, key_file:
            with opened(Path(backup), Path(key_file)) as archive:
                archive.list()
        case "restore", backup, key_file, folder, *names:
            restore(Path(backup), Path(key_file), Path(folder), names)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(*(sys.argv[1:] or [""]))
    except (paes.Error, OSError, tarfile.TarError) as error:
        sys.exit(f"backup: {error}")
