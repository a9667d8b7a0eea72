# SPDX-License-Identifier: Apache-2.0
# Where a running paes keeps the key of `paes cipher`: the raw key begins each schedule that any kernel
# makes of it or is what libcrypto copies, so wherever it lies the pages must be locked and not dumped.
# And what is left of a vault's keys when its mount has ended: nothing.
import os
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import preload
import program
import pytest
from test_mount import mounts, why_not  # noqa: F401  (a fixture among them)
from vault import CHEAP, Secrets, hkdf, sealed_file

KEY = os.urandom(32)


def mappings(pid):
    """(first, end, flags) of each mapping that can be read and written."""
    found = []
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if head := re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line):
                found.append([int(head[1], 16), int(head[2], 16), set()])
            elif re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                found.append([0, 0, set()])
            elif line.startswith("VmFlags:"):
                found[-1][2] = set(line.split()[1:])
    return [tuple(one) for one in found if one[1] != 0]


def holders(pid, secret):
    """The flags of each place in a process's memory where these bytes lie."""
    places = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for first, end, _ in mappings(pid):
            if end - first > 64 << 20:
                continue  # nothing was written to most of it
            try:
                memory.seek(first)
                places += [first + one.start() for one in re.finditer(re.escape(secret), memory.read(end - first))]
            except OSError:
                continue
    # A place that was new a moment ago may have got its flags since, and its secret after these.
    now = mappings(pid) if places else []
    return [flags for place in places for first, end, flags in now if first <= place < end]


@pytest.mark.parametrize("kernel", ["auto", "openssl"])
@pytest.mark.parametrize("cipher", ["aes-256-ctr", "aes-256-gcm"])
def test_keys_are_locked_and_not_dumped(cipher, kernel, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(KEY)
    iv = "00" * (12 if cipher.endswith("gcm") else 16)
    process = program.start(
        *("cipher", cipher, "--key", key, "--iv", iv, "--kernel", kernel, "-o", tmp_path / "out"),
        *("-T", "2", "-"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        # So much has been read that contexts are in use, and it waits for more.
        process.stdin.write(os.urandom(4 << 20))
        process.stdin.flush()
        found = []

        def is_found():
            found[:] = holders(process.pid, KEY[:16])
            return found or process.poll() is not None

        program.wait_until(is_found, "the key in memory")
        assert process.poll() is None, process.stderr.read()
    except PermissionError:
        pytest.skip("the process is not dumpable, so only root sees its memory")
    finally:
        process.stdin.close()
        process.stderr.read()
        process.wait(timeout=30)
    assert process.returncode == 0
    assert all({"lo", "dd"} <= flags for flags in found), found


@pytest.mark.parametrize("by", ["passphrase", "master-key"])
def test_a_vaults_secrets_are_locked_and_not_dumped(by, folder, tmp_path):
    """While passwd waits for the new passphrase it holds the master key, and what opened it."""
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("a passphrase that stands nowhere else\n")
    key = tmp_path / "key"
    program.succeed(
        *("vault", "init", *CHEAP, "--passphrase-file", passphrase, "--master-key-out", key, folder)
    )
    text = key.read_text().strip()
    (folder / "file").write_bytes(sealed_file(text.replace("-", ""), b"text"))
    source = ("--passphrase-file", passphrase) if by == "passphrase" else ("--master-key", key)
    process = program.start(
        *("vault", "passwd", *source, "--new-passphrase-fd", 0, folder),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    secrets = [bytes.fromhex(text.replace("-", ""))]
    secrets.append(passphrase.read_bytes()[:32] if by == "passphrase" else text.encode())
    try:
        found = []

        def is_found():
            found[:] = [holders(process.pid, secret) for secret in secrets]
            return found[0] or process.poll() is not None

        program.wait_until(is_found, "the key in memory")
        assert process.poll() is None, process.stderr.read()
    except PermissionError:
        pytest.skip("the process is not dumpable, so only root sees its memory")
    finally:
        process.stdin.write(b"another\n")
        process.stdin.close()
        process.stderr.read()
        process.wait(timeout=60)
    assert process.returncode == 0
    for flags in [one for places in found for one in places]:
        assert {"lo", "dd"} <= flags, found


def s_box():
    """FIPS 197, section 5.1.1: the inverse in the field, and an affine map."""
    box, power, inverse = [0x63] * 256, 1, 1
    for _ in range(255):
        power ^= (power << 1) ^ (0x11B if power & 0x80 else 0)  # times 3
        for shift in (1, 2, 4):  # divided by 3
            inverse = (inverse ^ inverse << shift) & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        turned = [(inverse << turn | inverse >> (8 - turn)) & 0xFF for turn in range(5)]
        box[power] = 0x63 ^ turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4]
    return box


def round_keys(key):
    """Those of AES-256: FIPS 197, section 5.2."""
    box, words, constant = s_box(), [key[at : at + 4] for at in range(0, 32, 4)], 1
    for number in range(8, 60):
        word = words[-1]
        if number % 8 == 0:
            word = bytes(box[word[(i + 1) % 4]] ^ (constant if i == 0 else 0) for i in range(4))
            constant <<= 1
        elif number % 8 == 4:
            word = bytes(box[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-8], word)))
    return [b"".join(words[at : at + 4]) for at in range(0, 60, 4)]


def test_round_keys():
    """FIPS 197, appendix A.3: the first and the last."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    found = round_keys(key)
    assert found[0] + found[1] == key
    assert found[14].hex() == "fe4890d1e6188d0b046df344706c631e"


def is_stopped(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("turn", range(3))
def test_no_round_key_is_left_after_a_mount(turn, mounts, folder, tmp_path, preloaded):  # noqa: F811
    """Kernels leave some on the stacks of the threads that answer: those of the last requests."""
    made = SimpleNamespace(path=folder, passfile=Secrets(tmp_path).file("correct horse"))
    key = tmp_path / "key"
    program.succeed(
        *("vault", "init", *CHEAP, "--passphrase-file", made.passfile, "--master-key-out", key, folder)
    )
    master_key = bytes.fromhex(key.read_text().strip().replace("-", ""))
    wanted = round_keys(hkdf(master_key, b"AES-GCM file content encryption"))
    wanted += round_keys(hkdf(master_key, b"EME filename encryption"))
    point, process = mounts.in_foreground(made, "-w", prefix=preloaded(preload.STOPPED))
    for number in range(20):
        (point / f"file {number}").write_bytes(os.urandom(1000 * number))
    process.send_signal(signal.SIGTERM)
    program.wait_until(lambda: is_stopped(process.pid), "the end of the mount")
    try:
        found = [number for number, one in enumerate(wanted) if holders(process.pid, one)]
    except PermissionError:
        pytest.skip("the process is not dumpable, so only root sees its memory")
    finally:
        process.send_signal(signal.SIGCONT)
        process.wait(timeout=30)
    assert process.returncode == 0
    assert found == []
