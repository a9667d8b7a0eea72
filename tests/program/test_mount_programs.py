# SPDX-License-Identifier: Apache-2.0
# Programs that others wrote to try file systems, on a mounted vault. Each is run for seconds, and with PAES_EXHAUSTIVE
# for as long as it takes. Afterwards both checks find nothing, and gocryptfs shows the same tree.
#
# What is in no package is built by whoever wants it to be run: PAES_PJDFSTEST names a folder of pjdfstest, and
# PAES_XFSTESTS one of xfstests, of which ltp/fsx and ltp/fsstress are taken.
import os
import re
import shutil
import subprocess
from pathlib import Path

import program
import pytest
from test_mount import (  # noqa: F401  (fixtures among them)
    mounts,
    needs_root,
    own_vault,
    unmount_when_free,
    why_not_beside_gocryptfs,
)
from test_mount_writes import CACHES, EXHAUSTIVE, assert_same, check, end, facts

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))

LONGEST_S = 7200
DEBIAN_PYTHON = "/usr/bin/python3"
caches = pytest.mark.parametrize("cache", CACHES if EXHAUSTIVE else ["back"])


def needed(name, package):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is missing (Debian package {package})")
    return name


def built(variable, *parts):
    """A program in a folder that the caller names."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} names no folder of sources that are built")
    path = Path(folder, *parts)
    assert path.exists(), f"{path} is not there: it has to be built first"
    return path


def run(*words, cwd=None):
    """Gives the exit code and all that was said."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_S, check=False,
        env=program.clean_environment(HOME=str(cwd or "/nonexistent")),
    )
    print(done.stdout[-20_000:])
    return done.returncode, done.stdout


def succeed(*words, cwd=None):
    code, said = run(*words, cwd=cwd)
    assert code == 0, said[-5000:]
    return said


def check_tree(mounts, vault, point):  # noqa: F811
    """Nobody finds anything wrong, and gocryptfs shows what we showed. Unmounts it."""
    seen = facts(point)
    end(mounts, point)
    check(vault)
    theirs = mounts.by_gocryptfs(vault, "-ro")
    assert_same(facts(theirs), seen)
    unmount_when_free(theirs)


# ---- from packages


@caches
def test_fio(own_vault, mounts, cache):  # noqa: F811
    """What it has written is read and compared, at once and on a mount that has not seen it."""
    fio = needed("fio", "fio")
    size = "256m" if EXHAUSTIVE else "8m"
    jobs = [
        f"--size={size}", "--ioengine=psync", "--verify=crc32c", "--verify_fatal=1", "--rw=randwrite",
        "--name=buffered", "--bsrange=1k-128k", "--blockalign=1k",
        "--name=direct", "--bs=4k", "--direct=1",
        "--name=synced", "--bs=16k", "--fsync=16",
        "--name=mapped", "--bs=8k", "--ioengine=mmap",
    ]
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    succeed(fio, f"--directory={point}", "--do_verify=1", *jobs, cwd=point)
    end(mounts, point)
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    succeed(fio, f"--directory={point}", "--verify_only", *jobs, cwd=point)
    check_tree(mounts, own_vault, point)


# These of stress-ng's class have nothing to do with the file system that they are told to use. "io" syncs all that are
# mounted, and finds the errors that others have made there on purpose.
ELSEWHERE = "bind-mount,binderfs,eventfd,io,procfs"
# What is quick to begin and to end.
SHORT = ("access", "chmod", "chown", "dirmany", "fallocate", "fcntl", "flock", "fpunch", "fstat", "getdent",
         "iomix", "locka", "mknod", "open", "rename", "sync-file", "touch", "utime", "xattr")


@caches
def test_stress_ng(own_vault, mounts, cache):  # noqa: F811
    stress = needed("stress-ng", "stress-ng")
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    options = ["--verify", "--temp-path", point]
    if EXHAUSTIVE:
        said = succeed(stress, "--class", "filesystem", "--exclude", ELSEWHERE, "--sequential", 2, "-t", 10, *options, cwd=point)
    else:
        sizes = ["--fallocate-bytes", "8M", "--iomix-bytes", "8M", "--sync-file-bytes", "4M"]
        said = succeed(stress, *[word for name in SHORT for word in (f"--{name}", 1)], "-t", 2, *sizes, *options, cwd=point)
    assert not re.search(r"^stress-ng: fail", said, re.MULTILINE)
    check_tree(mounts, own_vault, point)


@caches
def test_dbench(own_vault, mounts, cache):  # noqa: F811
    dbench = needed("dbench", "dbench")
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    said = succeed(dbench, "-D", point, "-t", 120 if EXHAUSTIVE else 2, 16 if EXHAUSTIVE else 2)
    assert re.search(r"^Throughput [0-9.]+ MB/sec", said, re.MULTILINE)
    check_tree(mounts, own_vault, point)


# Tests of Python's own library that work on files.
PYTHON_SHORT = ["test_file", "test_fileio", "test_mmap", "test_filecmp"]
PYTHON_ALL = [
    *PYTHON_SHORT, "test_bufio", "test_fileinput", "test_univnewlines", "test_io", "test_largefile", "test_os", "test_posix", "test_shutil", "test_tempfile", "test_zipfile",
    "test_tarfile", "test_fcntl", "test_pathlib", "test_glob", "test_mailbox", "test_shelve", "test_dbm", "test_gzip",
    "test_unicode_file", "test_unicode_file_functions", "test_file_eintr", "test_genericpath", "test_posixpath",
    "test_stat", "test_bz2", "test_lzma",
]
# Encrypted attributes take more room, of which ext4 has a block a file, and those of links are refused, as by gocryptfs.
PYTHON_DIFFERENT = {
    *(f"test_os.ExtendedAttributeTests.{name}" for name in ("test_fds", "test_lpath", "test_simple")),
    "test_shutil.TestCopy.test_copyxattr_symlinks",
}


def failed_in(folder, names):
    code, said = run(DEBIAN_PYTHON, "-m", "test", "--tempdir", folder, *names, cwd=folder)
    failed = re.findall(r"^(?:ERROR|FAIL): \S+ \((?:\S+\.)?test\.(\S+)\)", said, re.MULTILINE)
    assert (code == 0) == (failed == []), said[-5000:]
    return set(failed)


@caches
def test_python_library(own_vault, mounts, tmp_path, cache):  # noqa: F811
    """What fails on the mount fails beside it, or for a reason that is known."""
    if run(DEBIAN_PYTHON, "-c", "import test.test_fileio")[0] != 0:
        pytest.skip("the tests of Python's library are missing (Debian package libpython3-testsuite)")
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    names = PYTHON_ALL if EXHAUSTIVE else PYTHON_SHORT
    if failed := failed_in(point, ["-v", *names]) - PYTHON_DIFFERENT:
        beside = tmp_path / "beside"
        beside.mkdir()
        assert failed <= failed_in(beside, ["-v", *names])
    check_tree(mounts, own_vault, point)


# ---- from sources


# With -c it would empty the cache of the whole machine now and then.
FSX = {"buffered": [], "direct": ["-Z", "-r", 4096, "-w", 4096, "-t", 4096]}


@caches
@pytest.mark.parametrize("kind", FSX)
def test_fsx(own_vault, mounts, tmp_path, kind, cache):  # noqa: F811
    fsx = built("PAES_XFSTESTS", "ltp", "fsx")
    point = mounts.by_paes(own_vault, "-w", *CACHES[cache])
    for seed in range(1, 4 if EXHAUSTIVE else 2):
        count = 100_000 if EXHAUSTIVE else 2000
        succeed(fsx, "-N", count, "-S", seed, "-q", "-P", tmp_path, *FSX[kind], point / f"exercised {seed}")
    check_tree(mounts, own_vault, point)


@caches
@needs_root
def test_fsstress(own_vault, mounts, cache):  # noqa: F811
    """All that it does is allowed to fail, so it is the checks that say whether it was done right."""
    fsstress = built("PAES_XFSTESTS", "ltp", "fsstress")
    point = mounts.by_paes(own_vault, "-w", "--allow-other", *CACHES[cache])
    for seed in range(1, 4 if EXHAUSTIVE else 2):
        folder = point / str(seed)
        folder.mkdir()
        succeed(fsstress, "-d", folder, "-p", 4, "-n", 10_000 if EXHAUSTIVE else 300, "-s", seed, "-S", "t")
    check_tree(mounts, own_vault, point)


# What pjdfstest wants otherwise, of the tests whose files are named. A link's target is stored in Base 64 with an IV and
# a tag, and so as long as the longest path that a system takes when it has about three quarters of its length.
PJDFSTEST = {"symlink/03": {1, 2}}


def not_ok(script, folder):
    _, said = run("sh", script, cwd=folder)
    plan = re.search(r"^1\.\.(\d+)", said, re.MULTILINE)
    found = re.findall(r"^(not ok|ok) (\d+)(.*TODO)?", said, re.MULTILINE)
    assert plan and len(found) == int(plan[1]), said[-3000:]
    return {int(number) for verdict, number, todo in found if verdict == "not ok" and not todo}


@needs_root
def test_pjdfstest(own_vault, mounts, tmp_path):  # noqa: F811
    scripts = sorted(built("PAES_PJDFSTEST", "tests").glob("*/*.t"))
    point = mounts.by_paes(own_vault, "-w", "--allow-other", "--acl", "-o", "suid,dev")
    (beside := tmp_path / "beside").mkdir()
    (point / "folder").mkdir()
    differences = {}
    for script in scripts if EXHAUSTIVE else scripts[::20]:
        name = f"{script.parent.name}/{script.stem}"
        failed = not_ok(script, point / "folder") - PJDFSTEST.get(name, set())
        if failed and (failed := failed - not_ok(script, beside)):
            differences[name] = failed
    assert differences == {}
    check_tree(mounts, own_vault, point)
