# What paes does at a terminal: passphrases asked for without echo, twice for a new one; the progress
# line; and nothing of that where nobody watches.
import os
import pty
import re
import select
import signal
import termios
import time

import pytest
from program import FAILURE, OK, PAES, USAGE, WRONG_KEY, clean_environment, died_of, succeed

PASSPHRASE = b"at the terminal"
LIMIT_S = 60


class Terminal:
    """paes with a terminal of its own as all three standard descriptors."""

    def __init__(self, *arguments):
        self.shown = b""
        self.pid, self.side = pty.fork()
        if self.pid == 0:
            os.execve(PAES, [PAES, *map(str, arguments)], clean_environment())

    def read_some(self):
        ready, _, _ = select.select([self.side], [], [], LIMIT_S)
        assert ready, self.shown
        try:
            more = os.read(self.side, 4096)
        except OSError:  # EIO: paes has closed the terminal
            more = b""
        self.shown += more
        return more

    def wait_for(self, text, times=1):
        while self.shown.count(text) < times:
            assert self.read_some(), self.shown

    def echoes(self):
        return bool(termios.tcgetattr(self.side)[3] & termios.ECHO)

    def type(self, text):
        os.write(self.side, text)

    def finish(self):
        while self.read_some():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.side)
        return os.waitstatus_to_exitcode(status)


def encrypt(folder, *answers):
    (folder / "plain").write_bytes(b"text")
    terminal = Terminal("encrypt", "-p", folder / "plain")
    for prompt, answer in zip((b"New passphrase: ", b"The same again: "), answers):
        terminal.wait_for(prompt)
        assert not terminal.echoes()
        terminal.type(answer + b"\n")
    return terminal.finish(), terminal.shown


def test_a_new_passphrase_is_asked_for_twice_and_never_shown(folder):
    code, shown = encrypt(folder, PASSPHRASE, PASSPHRASE)
    assert code == OK, shown
    assert PASSPHRASE not in shown
    terminal = Terminal("decrypt", "-o", folder / "opened", folder / "plain.paes")
    terminal.wait_for(b"Passphrase: ")
    assert not terminal.echoes()
    terminal.type(PASSPHRASE + b"\n")
    assert terminal.finish() == OK
    assert PASSPHRASE not in terminal.shown
    assert (folder / "opened").read_bytes() == b"text"


def test_entries_that_differ_or_are_empty_encrypt_nothing(folder):
    code, shown = encrypt(folder, PASSPHRASE, PASSPHRASE + b"x")
    assert code == FAILURE
    assert b"differ" in shown
    code, shown = encrypt(folder, b"", b"")
    assert code == USAGE
    assert b"empty" in shown
    assert [path.name for path in folder.iterdir()] == ["plain"]


def test_a_wrong_passphrase(folder):
    assert encrypt(folder, PASSPHRASE, PASSPHRASE)[0] == OK
    terminal = Terminal("verify", folder / "plain.paes")
    terminal.wait_for(b"Passphrase: ")
    terminal.type(b"wrong\n")
    assert terminal.finish() == WRONG_KEY


@pytest.mark.parametrize("key, number", [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_an_interrupted_question_gives_the_echo_back(key, number, folder):
    (folder / "plain").write_bytes(b"text")
    terminal = Terminal("encrypt", "-p", folder / "plain")
    terminal.wait_for(b"New passphrase: ")
    assert not terminal.echoes()
    terminal.type(key)
    terminal.wait_for(b"interrupted")
    _, status = os.waitpid(terminal.pid, 0)
    assert died_of(os.waitstatus_to_exitcode(status), number)
    assert terminal.echoes()
    os.close(terminal.side)
    assert [path.name for path in folder.iterdir()] == ["plain"]


def slow_encryption(folder, keys, *options):
    """Feeds a FIFO for longer than the progress line waits; gives what the terminal showed."""
    os.mkfifo(folder / "slow")
    terminal = Terminal(
        "encrypt", "-r", keys.recipient, "-o", "/dev/null", *options, folder / "slow"
    )
    with open(folder / "slow", "wb") as pipe:
        for _ in range(20):
            pipe.write(bytes(1 << 20))
            pipe.flush()
            time.sleep(0.1)
    assert terminal.finish() == OK
    os.unlink(folder / "slow")
    return terminal.shown.decode()


def test_progress_for_long_work_and_only_where_it_is_wanted(folder, keys):
    shown = slow_encryption(folder, keys)
    assert re.search(r"slow: [0-9.]+ MB, [0-9.]+ MB/s", shown), shown
    assert shown.endswith("\r\x1b[K"), "the line is taken away at the end"
    assert slow_encryption(folder, keys, "--no-progress") == ""
    assert slow_encryption(folder, keys, "-q") == ""


def test_short_work_shows_no_progress(folder, keys):
    (folder / "plain").write_bytes(b"text")
    terminal = Terminal("encrypt", "-r", keys.recipient, folder / "plain")
    assert terminal.finish() == OK
    assert terminal.shown == b""


def test_encrypted_input_is_not_read_from_a_terminal(keys):
    for command in ("decrypt", "verify"):
        terminal = Terminal(command, "-i", keys.path, "-")
        assert terminal.finish() == USAGE
        assert b"terminal" in terminal.shown


def test_no_progress_without_a_terminal(folder, keys):
    (folder / "plain").write_bytes(bytes(1 << 20))
    assert succeed("encrypt", "-r", keys.recipient, folder / "plain").err == ""
