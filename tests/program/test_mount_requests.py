# SPDX-License-Identifier: Apache-2.0
# How the system's requests come: through io_uring where it offers that, otherwise through /dev/fuse. The other tests
# of mounts run both ways; here is what belongs to the choice, and to rings alone.
import os
import random
import signal
import subprocess
import threading

import preload
import program
import pytest
from test_mount import (  # noqa: F401  (fixtures among them)
    BY_RINGS,
    LIMIT_S,
    MOUNT,
    URING,
    Mounts,
    libfuse_is_alone,
    own_vault,
    unmount_when_free,
    wait_until_it_answers,
    why_not_beside_gocryptfs,
    why_not_rings,
)
from test_mount_writes import end

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))
needs_rings = pytest.mark.skipif(why_not_rings() is not None, reason=str(why_not_rings()))
PROCESSORS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def mounts(tmp_path):
    made = Mounts(tmp_path)
    yield made
    made.end()


def said_by(mounts, vault, *options, prefix=(), may_fail=None):
    """What a mount says on its way, which then works. It may fail if it says why."""
    point = mounts.point()
    words = [*prefix, MOUNT, "-v", "-w", "--passphrase-file", vault.passfile, *options, vault.path, point]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          env=program.clean_environment(FUSE_URING_ENABLE="1"), check=False)
    if may_fail is not None and may_fail in done.stderr:
        assert done.returncode == program.FAILURE
        return ""
    assert done.returncode == 0, done.stderr
    text = os.urandom(300_000)
    (point / "file").write_bytes(text)
    assert (point / "file").read_bytes() == text
    unmount_when_free(point)
    return done.stderr.splitlines(keepends=True)[-1]  # after warnings


def by_device(why):
    return f"requests come through /dev/fuse, not through io_uring: {why}\n"


@pytest.mark.parametrize("options", [["--io-uring", "off"], ["-o", "io_uring=off"]], ids=str)
def test_turned_off(own_vault, mounts, options):  # noqa: F811
    assert said_by(mounts, own_vault, *options) == by_device("--io-uring=off")


def test_says_how_root_turns_it_on(own_vault, mounts):  # noqa: F811
    said = said_by(mounts, own_vault)
    if why_not_rings() is None:
        assert said == BY_RINGS
    elif libfuse_is_alone():
        assert said == by_device("this libfuse reads and writes by itself")
    elif URING.exists():
        assert said == by_device(f"it is off in this system; root turns it on with `echo 1 >{URING}`")
    else:
        assert said == by_device("this system has no FUSE over io_uring, which Linux has since 6.14")


@needs_rings
@pytest.mark.parametrize("options, why", [
    # Sandboxes and administrators forbid it with these.
    (["-DREFUSED=EPERM"], "io_uring_setup: Operation not permitted"),
    (["-DREFUSED=ENOSYS"], "io_uring_setup: Function not implemented"),
    (["-DFOREIGN"], "the system refuses it: Operation not permitted"),
], ids=str)
def test_works_where_the_system_refuses(own_vault, mounts, preloaded, options, why):  # noqa: F811
    assert said_by(mounts, own_vault, prefix=preloaded(preload.RINGLESS, *options)) == by_device(why)


@needs_rings
def test_without_enough_threads(own_vault, mounts, preloaded):  # noqa: F811
    """Each ring needs its thread, but any thread can read from /dev/fuse."""
    said = set()
    for number in range(8):
        prefix = preloaded(preload.THREADS_REFUSED, f"-DAFTER={number}", "-DTHREADS=1000")
        said.add(said_by(mounts, own_vault, "-t", "2", prefix=prefix, may_fail="threads: the system cannot start one"))
    assert {by_device("the system cannot start enough threads"), BY_RINGS} <= said


@pytest.fixture(params=PROCESSORS)
def on_processor(request):
    """Each processor has a queue of its own."""
    os.sched_setaffinity(0, {request.param})
    yield request.param
    os.sched_setaffinity(0, PROCESSORS)


@needs_rings
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_every_processor_is_answered(own_vault, mounts, on_processor, threads):  # noqa: F811
    assert said_by(mounts, own_vault, "-t", threads) == BY_RINGS


@needs_rings
def test_a_slow_request_holds_up_no_other(own_vault, mounts, preloaded, tmp_path, on_processor):  # noqa: F811
    syncs, synced = tmp_path / "syncs", tmp_path / "synced"
    point, process = mounts.in_foreground(own_vault, "-w", "--io-uring=auto", prefix=preloaded(preload.SLOW_TO_SYNC),
                                          SYNCS=str(syncs), SYNCED=str(synced))
    text = random.Random(1).randbytes(100_000)
    (point / "other").write_bytes(text)

    def sync():
        with open(point / "file", "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    thread = threading.Thread(target=sync)
    thread.start()
    try:
        program.wait_until(syncs.exists, "the sync", LIMIT_S)
        for number in range(20):
            (point / f"new {number}").write_bytes(text)
            assert not (point / f"missing {number}").exists()
    finally:
        synced.touch()
        thread.join()
    end(mounts, point)
    assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("way", ["off", pytest.param("auto", marks=needs_rings)])
def test_a_mount_asks_nothing_of_itself(own_vault, mounts, preloaded, tmp_path, way):  # noqa: F811
    """If it were killed while it waits for its own answer, it would never end."""
    counts = tmp_path / "counts"
    point, process = mounts.in_foreground(own_vault, "-w", f"--io-uring={way}", prefix=preloaded(preload.REQUESTS),
                                          REQUESTS=str(counts))
    wait_until_it_answers(point)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 0
    first, lookup, getattr_ = 26, 1, 3
    opcodes = {int(line.split()[0]) for line in counts.read_text().splitlines()}
    assert first in opcodes and not opcodes & {lookup, getattr_}


@needs_rings
def test_unmounted_before_it_answers(own_vault, mounts, preloaded):  # noqa: F811
    _, process = mounts.in_foreground(own_vault, "-w", prefix=preloaded(preload.RINGLESS, "-DSLOW"))
    unmount_when_free(mounts.points[-1])
    assert process.wait(LIMIT_S) == 0 and process.stderr.read() == ""
