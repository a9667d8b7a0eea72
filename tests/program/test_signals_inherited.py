# SPDX-License-Identifier: Apache-2.0
# Signals that whoever starts a program has blocked or ignored: supervisors, runtimes with threads and
# scripts leave some so. What a program does, and how it ends, is as without.
import shutil
import signal
import subprocess
import time

import program
import pytest
from program import succeed
from test_mount import (
    LIMIT_S,
    MOUNT,
    has_ended,
    is_mounted,
    needs_root,
    needs_runuser,
    processes_of,
    wait_until_it_answers,
    why_not,
)
from test_plugins import RECIPIENT, plugin  # noqa: F401
from test_umount import Vault, mounts, ordinary, public_folder, vault  # noqa: F401

BLOCKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1)

needs_mounts = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def starter(ignored=(), blocked=()):
    """A prefix: starts what follows with these signals ignored and blocked."""
    words = [f"--ignore-signal={number:d}" for number in ignored] + [f"--block-signal={number:d}" for number in blocked]
    return ["env", *words]


IGNORES_CHILDREN = starter(ignored=[signal.SIGCHLD])


# ---- children whose end nobody is told of


@needs_mounts
def test_a_mount_that_fails(vault, mounts, tmp_path):  # noqa: F811
    wrong = tmp_path / "wrong"
    wrong.write_text("something else\n")
    point = mounts.point()
    for command in ([MOUNT], [program.PAES, "mount"]):
        words = [*IGNORES_CHILDREN, *command, "--passphrase-file", wrong, vault.path, point]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == program.WRONG_KEY, done.stderr
        program.assert_error_lines(done.stderr, "passphrase is wrong")
        assert not is_mounted(point)


@needs_mounts
def test_a_mount_that_succeeds(vault, mounts):  # noqa: F811
    point = mounts.by_paes(vault, prefix=IGNORES_CHILDREN)
    (pid,) = processes_of(point)
    succeed("umount", point, prefix=IGNORES_CHILDREN)
    assert has_ended(pid) and not is_mounted(point)


@pytest.fixture
def of_nobody(public_folder, ordinary):  # noqa: F811
    """mount(options...): a mount of an ordinary user, and `paes` as that user may start it."""
    vault = Vault(public_folder / "own")  # noqa: F811
    point = public_folder / "text"
    point.mkdir()
    for path in (vault.path, *vault.path.rglob("*"), vault.passfile, point):
        shutil.chown(path, "nobody")
    paes, paes_mount = (shutil.copy(binary, public_folder) for binary in (program.PAES, MOUNT))

    def mount(*options):
        words = [*IGNORES_CHILDREN, paes_mount, *options, "--passphrase-file", vault.passfile, vault.path, point]
        done = ordinary(*words)
        assert done.returncode == 0, done.stderr
        return point

    mount.paes = paes
    return mount


@needs_mounts
@needs_root
@needs_runuser
def test_a_mount_in_use_is_not_called_unmounted(of_nobody, ordinary):  # noqa: F811
    point = of_nobody("-w")
    with holder_in(point, ordinary):
        done = ordinary(*IGNORES_CHILDREN, of_nobody.paes, "umount", point)
        assert done.returncode == program.FAILURE, done.stderr
        program.assert_error_lines(done.stderr, "is in use by ")
        assert ordinary("mountpoint", point).returncode == 0
    done = ordinary(*IGNORES_CHILDREN, of_nobody.paes, "umount", point)
    assert (done.returncode, done.stderr) == (0, "")


def holder_in(point, ordinary):  # noqa: F811
    """An ordinary user's process that has the mountpoint as its current folder."""
    words = [*ordinary.prefix, "sh", "-c", 'cd "$1" && echo holds && read line', "sh", point]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"holds\n"
    return Holder(process)


class Holder:
    def __init__(self, process):
        self.process = process

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.communicate(b"\n", timeout=LIMIT_S)


@needs_mounts
@needs_root
@needs_runuser
def test_an_idle_mount_in_use_stays(of_nobody, ordinary):  # noqa: F811
    point = of_nobody("--idle", "1s")
    with holder_in(point, ordinary):
        time.sleep(3)
        assert ordinary("mountpoint", point).returncode == 0
    program.wait_until(lambda: ordinary("mountpoint", point).returncode != 0, "the idle mount's end")


# ---- signals that ask to stop


@needs_mounts
@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_a_mount_ends_when_asked(vault, mounts, how):  # noqa: F811
    numbers = [signal.SIGTERM] if how == "ignored" else BLOCKED
    point, process = mounts.in_foreground(vault, "-w", prefix=starter(**{how: numbers}))
    wait_until_it_answers(point)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert not is_mounted(point)


@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_a_command_ends_when_asked(keys, folder, how):
    numbers = [signal.SIGTERM] if how == "ignored" else BLOCKED
    process = subprocess.Popen(
        [*starter(**{how: numbers}), program.PAES, "encrypt", "-r", keys.recipient, "-o", folder / "out", "-"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    process.stdin.write(bytes(4 << 20))  # more than a pipe holds: paes reads by now
    process.send_signal(signal.SIGTERM)
    assert program.died_of(process.wait(30), signal.SIGTERM)
    program.assert_error_lines(process.stderr.read().decode(), "interrupt")
    assert program.tree(folder) == {}
    process.stdin.close()
    process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_what_nohup_and_shells_ignore_stays_ignored(keys, folder, number):
    process = subprocess.Popen(
        [*starter(ignored=[number]), program.PAES, "encrypt", "-r", keys.recipient, "-o", folder / "out", "-"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    process.stdin.write(bytes(4 << 20))
    process.send_signal(number)
    _, said = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, said) == (0, b"")
    assert (folder / "out").stat().st_size > 4 << 20


# ---- children


SIGNALS_OF_PLUGIN = """#!/bin/sh
grep -E '^Sig(Blk|Ign)' /proc/self/status > {log}
exit 1
"""


def test_a_plugin_gets_no_signal_blocked_or_ignored(plugin, folder):  # noqa: F811
    """But those that nohup and background jobs ignore."""
    plugin()
    (folder / "text").write_text("text")
    log = folder / "log"
    (folder / "plugins" / "age-plugin-example").write_text(SIGNALS_OF_PLUGIN.format(log=log))
    ignored = [signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP]
    prefix = starter(ignored=ignored, blocked=BLOCKED)
    program.fail("encrypt", "-r", RECIPIENT, folder / "text", code=program.FAILURE, says="plugin example", prefix=prefix)
    masks = dict(line.split(":\t") for line in log.read_text().splitlines())
    assert int(masks["SigBlk"], 16) == 0
    own = (1 << 31) - 1  # the C library keeps the two after these for itself
    assert int(masks["SigIgn"], 16) & own == 1 << (signal.SIGHUP - 1)
