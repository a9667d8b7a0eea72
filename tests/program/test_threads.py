# SPDX-License-Identifier: Apache-2.0
# Threads that the system refuses: paes starts them first, says so in one line and leaves nothing
# behind. OpenMP's run-time libraries would end the process themselves, in the middle of things.
import os
import subprocess
import tempfile
from pathlib import Path

import program
import pytest
from program import FAILURE, OK, PAES, fail, run, succeed

NO_THREADS = """
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* argument) {
  return EAGAIN;
}
"""
SAYS = r"threads: only 1 of 2 could be started\n.*-T 1"


# Options, and what runs a program without threads: none of ours, or none of OpenMP's, whose stacks
# would have a size that no machine has.
@pytest.fixture(params=["pool", "static", "dynamic"])
def refused(request, preloaded):
    if request.param == "pool":
        return ["-T", "2"], preloaded(NO_THREADS)
    return ["-T", "2", "--schedule", request.param], ["env", "OMP_STACKSIZE=100000G"]


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes(random_bytes(2 << 20))
    return path


def test_no_key_is_left_that_opens_nothing(plain, folder, refused):
    options, prefix = refused
    before = program.tree(folder)
    fail("encrypt", *options, "--new-identity", folder / "key", plain, prefix=prefix, code=FAILURE, says=SAYS)
    assert program.tree(folder) == before
    fail(
        *("encrypt", *options, "--new-identity", folder / "key", "-"),
        stdin=b"from a pipe",
        prefix=prefix,
        code=FAILURE,
        says=SAYS,
    )
    assert program.tree(folder) == before


def test_no_part_of_an_output_is_left(plain, folder, keys, refused):
    options, prefix = refused
    with open(folder / "out", "wb") as out:
        done = subprocess.run(
            [*prefix, PAES, "encrypt", *options, "-r", keys.recipient, "-o", "-", plain],
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == FAILURE
    program.assert_error_lines(done.stderr.decode(), SAYS)
    assert (folder / "out").read_bytes() == b""


@pytest.mark.parametrize("command", ["decrypt", "verify"])
def test_decryption_says_so_too(command, plain, folder, keys, refused):
    options, prefix = refused
    succeed("encrypt", "-r", keys.recipient, plain)
    plain.unlink()
    before = program.tree(folder)
    arguments = [command, *options, "-i", keys.path, folder / "plain.paes"]
    fail(*arguments, prefix=prefix, code=FAILURE, says=SAYS)
    assert program.tree(folder) == before


def test_what_needs_one_thread_starts_none(plain, folder, refused):
    options, prefix = refused
    os.truncate(plain, 1024)
    succeed("encrypt", *options, "--new-identity", folder / "key", plain, prefix=prefix)
    succeed("decrypt", "-T", "1", "-f", "-i", folder / "key", f"{plain}.paes", prefix=prefix)


def test_a_limit_of_processes(random_bytes):
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that has no other process")
    user = "4000017"  # the limit counts all processes of a user
    limited = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    limited += ["prlimit", "--nproc=1"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "plain").write_bytes(random_bytes(2 << 20))
        (folder / "plain").chmod(0o644)
        if run("--version", prefix=limited, cwd=folder).code != OK:
            pytest.skip("other users have no way to the program under test")
        before = program.tree(folder)
        arguments = ["encrypt", "--new-identity", "key", "plain"]
        fail(*arguments, "-T", "2", prefix=limited, cwd=folder, code=FAILURE, says=SAYS)
        assert program.tree(folder) == before
        assert run(*arguments, "-T", "1", prefix=limited, cwd=folder).code == OK
