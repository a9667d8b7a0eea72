#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes gocryptfs_answers.txt: what gocryptfs stores for given names, files, links and attributes.

Usage, as root, with gocryptfs 2.3 (Debian 12) and a folder on a file system with user attributes:
    tests/unit/vault/gocryptfs_answers.py /var/tmp/new_folder > tests/unit/vault/gocryptfs_answers.txt

Each volume is mounted with `gocryptfs -masterkey KEY FLAGS`, for which FLAGS alone say how it is made.
Volumes with folder IVs have FOLDER_IV in their root. A line is a word and its values, separated by
spaces. Values of bytes are hexadecimal, contents of files Base 64, and "-" stands for no bytes.
"""

import base64
import os
import pathlib
import subprocess
import sys

MASTER_KEY = bytes(range(32))
FOLDER_IV = bytes(range(0xa0, 0xb0))

# Flags, and what the volume shows: names, values (links and attributes), lengths of files.
VOLUMES = {
    "aes_256_gcm": ([], True, True, [0, 1, 4097]),
    "xchacha20_poly1305": (["-xchacha"], False, True, [1, 4097]),
    "aes_siv": (["-aessiv"], False, True, [1, 4097]),
    "long_name_max": (["-longnamemax", "100"], True, False, []),
    "padded": (["-raw64=false"], True, True, []),
    "plain_names": (["-plaintextnames", "-raw64=false"], True, True, [1]),
    "no_folder_ivs": (["-deterministic-names"], True, False, []),
}

NAMES = ["a", "fifteen bytes x", "sixteen bytes xy", "seventeen bytes x", "ümläut", " ", "a\nb", "=",
         "gocryptfs.conf.", "x" * 58, "x" * 175, "x" * 176, "y" * 255]
TARGETS = ["t", "/abs/olute", "../sixteen bytes", "z" * 100]
ATTRIBUTES = {"user.a": b"", "user.some attribute": b"v", "user.0123456789": bytes(range(256))}


def text_of(length):
    return bytes((i * 7 + i // 251) % 256 for i in range(length))


def say(*words):
    print(*[word.hex() if isinstance(word, bytes) else str(word) for word in words])


def added(folder, action):
    """What appears in the folder while the action runs."""
    before = set(os.listdir(folder))
    action()
    return sorted(set(os.listdir(folder)) - before)


def make_names(backing, mounted):
    for name in NAMES:
        stored = added(backing, (mounted / name).touch)
        if len(stored) == 2 and stored[1].endswith(".name"):
            say("long_name", name.encode(), stored[0], (backing / stored[1]).read_text())
        else:
            say("name", name.encode(), stored[0].encode())
        (mounted / name).unlink()


def make_values(backing, mounted):
    for target in TARGETS:
        stored = added(backing, lambda: (mounted / "link").symlink_to(target))
        say("link", target.encode(), os.readlink(backing / stored[0]).encode())
        (mounted / "link").unlink()
    for name, value in ATTRIBUTES.items():
        stored = added(backing, (mounted / "file").touch)
        os.setxattr(mounted / "file", name, value)
        for attribute in os.listxattr(backing / stored[0]):
            say("attribute", name.encode(), value or "-", attribute,
                os.getxattr(backing / stored[0], attribute) or "-")
        (mounted / "file").unlink()


def make_files(backing, mounted, lengths):
    for length in lengths:
        stored = added(backing, lambda: (mounted / "file").write_bytes(text_of(length)))
        say("file", length, base64.b64encode((backing / stored[0]).read_bytes()).decode() or "-")
        (mounted / "file").unlink()


def main():
    root = pathlib.Path(sys.argv[1])
    root.mkdir()
    say("master_key", MASTER_KEY)
    say("folder_iv", FOLDER_IV)
    for volume, (flags, has_names, has_values, lengths) in VOLUMES.items():
        backing, mounted = root / volume, root / (volume + ".mounted")
        backing.mkdir()
        mounted.mkdir()
        if volume not in ("plain_names", "no_folder_ivs"):
            (backing / "gocryptfs.diriv").write_bytes(FOLDER_IV)
        subprocess.run(["gocryptfs", "-q", "-masterkey", MASTER_KEY.hex(), *flags, backing, mounted],
                       check=True, timeout=60, stdout=sys.stderr)
        try:
            say("volume", volume)
            if has_names:
                make_names(backing, mounted)
            if has_values:
                make_values(backing, mounted)
            make_files(backing, mounted, lengths)
        finally:
            subprocess.run(["fusermount3", "-u", mounted], check=True, timeout=60)


main()
