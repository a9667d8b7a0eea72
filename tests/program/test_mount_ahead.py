# SPDX-License-Identifier: Apache-2.0
# `paes-mount --ahead`: what is written with IVs and keystream made ahead is as without, for gocryptfs as well;
# no IV comes twice; and what makes no sense is refused before anybody is asked for a passphrase.
import os
import random
import subprocess
import threading

import preload
import program
import pytest
from test_mount import LIMIT_S, MOUNT, is_mounted, mounts, own_vault, vault_of_format, why_not_beside_gocryptfs  # noqa: F401
from test_mount_writes import check_same, end, model  # noqa: F401

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))

HEADER, BLOCK, IV = 18, 4096, 16
STRIDE = BLOCK + 32


def ivs_of(path):
    stored = path.read_bytes()
    return [stored[at:at + IV] for at in range(HEADER, len(stored), STRIDE)]


def write_both(point, model, name, seed, writes=150):  # noqa: F811
    """Blocks and other lengths at random places of a file, each thread with a file of its own."""
    chance = random.Random(seed)
    files = [os.open(root / name, os.O_RDWR | os.O_CREAT) for root in (point, model)]
    for _ in range(writes):
        at = chance.randrange(64) * BLOCK
        text = chance.randbytes(BLOCK)
        if chance.randrange(3) == 0:
            at, text = at + chance.randrange(BLOCK), text[:chance.randrange(1, BLOCK)]
        for file in files:
            os.pwrite(file, text, at)
    for file in files:
        os.fsync(file)
        os.close(file)


@pytest.mark.parametrize("options", [
    ["-w", "--cache=through", "--ahead", "16"], ["-w", "--ahead", "4096"], ["-o", "rw,cache=through,ahead=1"],
    ["-w", "--cache=through", "--ahead", "64", "--kernel", "bitslice"], ["-w", "--shared", "--ahead=3"],
    ["-w", "--ahead", "0"],
], ids=" ".join)
def test_what_is_written_is_as_without(own_vault, mounts, model, options):  # noqa: F811
    point = mounts.by_paes(own_vault, *options)
    threads = [threading.Thread(target=write_both, args=(point, model, f"file {seed}", seed)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = [path for path in own_vault.path.iterdir() if path.stat().st_size > STRIDE]
    ivs = [iv for path in stored for iv in ivs_of(path) if iv != bytes(IV)]
    assert len(stored) == 4 and len(ivs) > 100 and len({*ivs}) == len(ivs)
    check_same(mounts, own_vault, point, model)


def test_without_a_thread_the_mount_works(own_vault, mounts, preloaded):  # noqa: F811
    # The first thread would watch the process that completes writes, which nobody needs.
    refused = preloaded(preload.THREADS_REFUSED, "-DTHREADS=2")
    point, process = mounts.in_foreground(own_vault, "-w", "--ahead", "64", prefix=refused)
    (point / "file").write_bytes(b"x" * 100_000)
    end(mounts, point)
    assert process.wait(LIMIT_S) == 0
    program.assert_error_lines(process.stderr.read(), "warning: --ahead: nothing is made ahead: keystream: ")
    assert (mounts.by_paes(own_vault) / "file").read_bytes() == b"x" * 100_000


@pytest.mark.parametrize("options, says", [
    (["-w", "--ahead", "4097"], "--ahead"), (["-w", "--ahead", "-1"], "--ahead"), (["-w", "--ahead", "0x10"], "decimal"),
    (["-o", "rw,ahead=4097"], "ahead=4097: is not a number of blocks up to 4096"),
    (["-o", "rw,ahead=many"], "ahead=many: is not a number"), (["-o", "rw,ahead="], "ahead: has no value"),
    (["-o", "rw,ahead"], "there is no such option"),
    (["--ahead", "16"], "mounted for reading"), (["-r", "--ahead", "16"], "nothing is sealed"),
    (["-w", "-o", "ahead=16,ro"], "nothing is sealed"),
], ids=str)
def test_refused(own_vault, mounts, options, says):  # noqa: F811
    point = mounts.point()
    # No passphrase, and no terminal to ask at.
    done = subprocess.run([MOUNT, *options, own_vault.path, point], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT_S, check=False, env=program.clean_environment())
    assert done.returncode == program.USAGE, done.stderr
    program.assert_error_lines(done.stderr, says)
    assert not is_mounted(point)


@pytest.mark.parametrize("name", ["aes-siv", "xchacha"])
def test_refused_for_other_ciphers(tmp_path, mounts, name):  # noqa: F811
    vault = vault_of_format(tmp_path / "other", name)
    said = mounts.by_paes(vault, "-w", "--ahead", "16", code=program.USAGE)
    program.assert_error_lines(said, "the content of this vault is not under AES-256-GCM")
    mounts.by_paes(vault, "-w", "--ahead", "0")
