# SPDX-License-Identifier: Apache-2.0
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
from program import FAILURE, OK, PAES, USAGE, WRONG_KEY, assert_error_lines, clean_environment, died_of, succeed

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


class Shell(Terminal):
    """paes as a job of a shell, which alone can continue what Ctrl-Z stops. The terminal's side
    tells the shell to continue it by a line on a pipe; the shell tells on another what it saw."""

    def __init__(self, *arguments):
        commands, self.command = os.pipe()
        self.heard, events = os.pipe()
        self.shown = b""
        self.pid, self.side = pty.fork()
        if self.pid != 0:
            os.close(commands)
            os.close(events)
            return
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # as shells do, to take the terminal back
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execve(PAES, [PAES, *map(str, arguments)], clean_environment())
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                os.write(events, b"%d\n" % os.waitstatus_to_exitcode(status))
                os._exit(0)
            os.write(events, b"stopped\n")
            os.tcsetpgrp(0, os.getpid())
            os.read(commands, 1)
            os.tcsetpgrp(0, job)
            os.killpg(job, signal.SIGCONT)

    def event(self):
        ready, _, _ = select.select([self.heard], [], [], LIMIT_S)
        assert ready, self.shown
        return os.read(self.heard, 100).decode().strip()

    def go_on(self):
        os.write(self.command, b"\n")

    def finish(self):
        code = self.event()
        super().finish()
        os.close(self.command)
        os.close(self.heard)
        return int(code)


@pytest.mark.parametrize("times", [1, 3])
def test_a_stopped_question_gives_the_echo_back_until_it_goes_on(times, folder):
    (folder / "plain").write_bytes(b"text")
    shell = Shell("encrypt", "-p", folder / "plain")
    shell.wait_for(b"New passphrase: ")
    for stops in range(times):
        assert not shell.echoes()
        shell.type(b"half an ans\x1a")
        assert shell.event() == "stopped"
        assert shell.echoes()
        shell.go_on()
        shell.wait_for(b"New passphrase: ", times=stops + 2)
    assert not shell.echoes()
    shell.type(PASSPHRASE + b"\n")
    shell.wait_for(b"The same again: ")
    assert not shell.echoes()
    shell.type(b"\x1a")
    assert shell.event() == "stopped"
    assert shell.echoes()
    shell.go_on()
    shell.wait_for(b"The same again: ", times=2)
    assert not shell.echoes()
    shell.type(PASSPHRASE + b"\n")
    assert shell.finish() == OK, shell.shown
    assert PASSPHRASE not in shell.shown
    (folder / "word").write_bytes(PASSPHRASE)
    succeed("verify", "--passphrase-file", folder / "word", folder / "plain.paes")


def test_a_stopped_question_can_be_given_up(folder):
    (folder / "plain").write_bytes(b"text")
    shell = Shell("encrypt", "-p", folder / "plain")
    shell.wait_for(b"New passphrase: ")
    shell.type(b"\x1a")
    assert shell.event() == "stopped"
    shell.go_on()
    shell.wait_for(b"New passphrase: ", times=2)
    shell.type(b"\x03")
    shell.wait_for(b"interrupted")
    assert died_of(shell.finish(), signal.SIGINT)
    assert [path.name for path in folder.iterdir()] == ["plain"]


def test_a_stop_without_a_shell_changes_nothing(folder):
    """Nobody could continue it, so the system does not stop it: the question goes on unseen."""
    (folder / "plain").write_bytes(b"text")
    terminal = Terminal("encrypt", "-p", folder / "plain")
    terminal.wait_for(b"New passphrase: ")
    terminal.type(b"\x1a")
    terminal.wait_for(b"New passphrase: ", times=2)
    assert not terminal.echoes()
    terminal.type(PASSPHRASE + b"\n")
    terminal.wait_for(b"The same again: ")
    terminal.type(PASSPHRASE + b"\n")
    assert terminal.finish() == OK
    assert PASSPHRASE not in terminal.shown


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
    assert shown.endswith("\r\x1b[J"), "the line is taken away at the end"
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


CHEAP = [
    (["encrypt", "-p", "-o", "taken", "plain"], b"already exists"),
    (["encrypt", "-p", "nobody"], b"No such file"),
    (["encrypt", "-p", "."], b"is a directory"),
    (["encrypt", "-p", "-o", "-", "plain"], b"is a terminal"),
    (["cipher", "aes-128-cbc", "--openssl", "-o", "taken", "plain"], b"already exists"),
    (["cipher", "aes-128-cbc", "--openssl", "-o", "out", "nobody"], b"No such file"),
    (["cipher", "aes-128-cbc", "--openssl", "-o", "out", "."], b"is a directory"),
    (["cipher", "aes-128-cbc", "--openssl", "plain"], b"is a terminal"),
    (["cipher", "aes-128-cbc", "--openssl", "-d", "-o", "out", "plain"], b"not a file of openssl"),
]


@pytest.mark.parametrize("words, says", CHEAP, ids=[" ".join(words) for words, _ in CHEAP])
def test_no_passphrase_is_asked_for_what_cannot_be(words, says, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "plain").write_bytes(b"text")
    (folder / "taken").write_bytes(b"precious")
    terminal = Terminal(*words)
    while terminal.read_some():
        assert b"assphrase: " not in terminal.shown
    assert terminal.finish() != OK
    assert says in terminal.shown
    assert (folder / "taken").read_bytes() == b"precious"


@pytest.mark.parametrize("command", ["encrypt", "cipher"])
def test_bytes_that_are_no_text_are_not_shown(command, keys, keys_of):
    arguments = {
        "encrypt": ["-r", keys.recipient, "-o", "-"],
        "cipher": ["aes-128-ctr", "--key", keys_of / "k16", "--iv", "00" * 16],
    }[command]
    terminal = Terminal(command, *arguments, keys_of / "plain")
    assert terminal.finish() == USAGE
    assert_error_lines(terminal.shown.decode().replace("\r\n", "\n"), "terminal")
