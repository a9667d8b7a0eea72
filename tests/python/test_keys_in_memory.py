# Where a running paes keeps the key of `paes cipher`: the raw key begins each schedule that any kernel
# makes of it or is what libcrypto copies, so wherever it lies the pages must be locked and not dumped.
import os
import re
import subprocess

import program
import pytest
from vault import CHEAP, sealed_file

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
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for first, end, flags in mappings(pid):
            if end - first > 64 << 20:
                continue  # nothing was written to most of it
            try:
                memory.seek(first)
                found += [flags] * memory.read(end - first).count(secret)
            except OSError:
                continue
    return found


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
