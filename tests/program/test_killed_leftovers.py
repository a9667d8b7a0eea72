# SPDX-License-Identifier: Apache-2.0
# What a run that was killed leaves beside its output under a name of its own, where the file system
# has no files without one or where an output was about to replace another: for its owner alone, and
# named by the next run that writes into that folder.
import os
import re
import shutil
import signal
import stat
import subprocess

import mpi
import preload
import program
import pytest
from program import OK, run, succeed

NAME = re.compile(r"\.paes-[0-9a-f]{16}")
MOST_LOOKED_AT = 10_000  # entries of a folder


@pytest.fixture
def out(tmp_path):
    """Where outputs go, and nothing else."""
    path = tmp_path / "out"
    path.mkdir()
    return path


def hidden(folder):
    return sorted(name for name in os.listdir(folder) if NAME.fullmatch(name))


def warnings(result):
    return [line for line in result.err.splitlines() if line.startswith("paes: warning: ")]


def started(sealed, out, keys, prefix, name="back"):
    """A decryption that has written half of its text and waits for the rest."""
    process = subprocess.Popen(
        [*prefix, program.PAES, "decrypt", "-i", keys.path, "-o", out / name, "-"],
        stdin=subprocess.PIPE,
        env=program.clean_environment(),
    )
    process.stdin.write(sealed.read_bytes()[:-1000])
    process.stdin.flush()
    return process


def test_a_killed_run_is_named_by_the_next(sealed, out, keys, plain, preloaded):
    prefix = preloaded(preload.KILLED, "-DNAMED")
    process = started(sealed, out, keys, prefix)
    program.wait_until(lambda: len(hidden(out)) == 1, "the file")
    assert stat.S_IMODE((out / hidden(out)[0]).stat().st_mode) == 0o600
    # It is not called abandoned while it is being written.
    assert succeed("decrypt", "-i", keys.path, "-o", out / "a", sealed, prefix=prefix).err == ""
    process.kill()
    process.wait()
    process.stdin.close()
    left = hidden(out)
    assert len(left) == 1
    for prefix_now in (prefix, []):
        (out / "a").unlink()
        result = succeed("decrypt", "-i", keys.path, "-o", out / "a", sealed, prefix=prefix_now)
        assert warnings(result) == [f"paes: warning: {out}/: a run that was killed left {left[0]}"]
        assert "hint: delete them, for they may hold decrypted text\n" in result.err
    # One warning for a run of several files, and nothing is removed.
    for i in range(3):
        shutil.copy(plain, out / f"f{i}")
    result = succeed("encrypt", "-r", keys.recipient, *(out / f"f{i}" for i in range(3)))
    assert len(warnings(result)) == 1
    assert hidden(out) == left


def test_every_command_that_writes_names_it(sealed, out, keys, other_keys, plain, tmp_path):
    name = ".paes-0123456789abcdef"
    (out / name).touch(0o600)
    (tmp_path / "k").write_bytes(bytes(16))
    shutil.copy(sealed, out / "rekeyed.paes")
    for words in (
        ["encrypt", "-r", keys.recipient, "-o", out / "e", plain],
        ["encrypt", "--new-identity", out / "new", "-o", tmp_path / "elsewhere", plain],
        ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, "-o", out / "r", plain],
        ["decrypt", "-i", keys.path, "-o", out / "d", sealed],
        ["cipher", "aes-128-ecb", "--key", tmp_path / "k", "-q", "-o", out / "c", plain],
        ["keygen", "-o", out / "key"],
        ["rekey", "-i", keys.path, "-r", other_keys.recipient, out / "rekeyed.paes"],
    ):
        assert warnings(succeed(*words)) == [f"paes: warning: {out}/: a run that was killed left {name}"]
    assert warnings(succeed("verify", "-i", keys.path, sealed)) == []
    assert (out / name).exists()


def test_many_are_counted_and_others_are_none(sealed, out, keys):
    for i in range(9):
        (out / f".paes-{i:016x}").touch()
    for name in (".paes-012345678", ".paes-0123456789abcdeF", ".paes-0123456789abcdef.x"):
        (out / name).touch()
    (out / ".paes-ffffffffffffffff").mkdir()
    (out / ".paes-fffffffffffffffe").symlink_to("elsewhere")
    os.mkfifo(out / ".paes-fffffffffffffffd")
    if os.geteuid() == 0:
        (out / ".paes-fffffffffffffffc").touch()
        os.chown(out / ".paes-fffffffffffffffc", 65534, 65534)
    result = succeed("decrypt", "-i", keys.path, "-o", "back", sealed, cwd=out)
    names = ", ".join(f".paes-{i:016x}" for i in range(5))
    assert warnings(result) == [f"paes: warning: .: a run that was killed left {names} and 4 more"]


def test_elsewhere_another_run_may_be_writing(sealed, out, keys, preloaded):
    """NFS: no lock is asked for, which a server might never grant, so nothing is certain."""
    prefix = preloaded(preload.CLAIMING, "-DKIND=0x6969")
    (out / ".paes-0123456789abcdef").touch(0o600)
    result = succeed("decrypt", "-i", keys.path, "-o", out / "back", sealed, prefix=prefix)
    assert len(warnings(result)) == 1
    assert result.err.endswith("text, unless another run is still writing them\n")


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_killed_as_it_replaces_another(command, sealed, plain, out, keys, preloaded):
    """Between the link and the rename: what is left is whole, and named."""
    prefix = preloaded(preload.KILLED, '-DFUNCTION="renameat"')
    words = ["-r", keys.recipient, plain] if command == "encrypt" else ["-i", keys.path, sealed]
    (out / "old").write_text("old")
    result = run(command, "-f", "-o", out / "old", *words, prefix=prefix)
    assert program.died_of(result.code, signal.SIGKILL)
    assert (out / "old").read_text() == "old"
    left = hidden(out)
    assert len(left) == 1
    if command == "decrypt":
        assert stat.S_IMODE((out / left[0]).stat().st_mode) == 0o600
        assert (out / left[0]).read_bytes() == plain.read_bytes()
    result = succeed(command, "-f", "-o", out / "old", *words)
    assert warnings(result) == [f"paes: warning: {out}/: a run that was killed left {left[0]}"]


def test_what_replaces_nothing_is_never_under_another_name(sealed, out, keys, plain, preloaded):
    """-f where nothing is in the way needs no rename."""
    prefix = preloaded(preload.KILLED, '-DFUNCTION="renameat"')
    succeed("decrypt", "-f", "-i", keys.path, "-o", out / "new", sealed, prefix=prefix)
    assert (out / "new").read_bytes() == plain.read_bytes()
    assert os.listdir(out) == ["new"]


def test_for_its_owner_alone_until_it_is_synced(plain, out, keys, preloaded):
    """The permissions of the source come last: syncing takes long, and a kill leaves the file."""
    plain.chmod(0o644)
    prefix = preloaded(preload.KILLED, "-DNAMED", '-DFUNCTION="fsync"')
    result = run("encrypt", "-r", keys.recipient, "-o", out / "sealed", plain, prefix=prefix)
    assert program.died_of(result.code, signal.SIGKILL)
    assert [stat.S_IMODE((out / name).stat().st_mode) for name in hidden(out)] == [0o600]


def test_a_large_folder_is_not_read_to_its_end(sealed, out, keys, preloaded, tmp_path):
    """A small file costs little among a million others."""
    for i in range(MOST_LOOKED_AT + 1000):
        os.mknod(out / f"{i}")
    calls = tmp_path / "calls"
    prefix = [*preloaded(preload.READING), f"CALLS={calls}"]
    succeed("decrypt", "-i", keys.path, "-o", out / "back", sealed, prefix=prefix)
    assert calls.stat().st_size == MOST_LOOKED_AT


@mpi.each_library
def test_a_killed_job_is_named_too(library, sealed, out, keys):
    name = ".paes-0123456789abcdef"
    (out / name).touch(0o600)
    for words in (["-o", out / "a"], ["--access", "mpi", "-o", out / "b"], ["--resume", "-o", out / "c"]):
        result = mpi.run(
            *(library, 2, "decrypt", "-i", keys.path, *words, sealed),
            program_path=mpi.paes_mpi(library),
        )
        assert result.code == OK, result
        said = [line for line in result.said if line.startswith("paes: warning: ")]
        assert said == [f"paes: warning: {out}/: a run that was killed left {name}"]
