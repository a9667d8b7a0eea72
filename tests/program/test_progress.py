# SPDX-License-Identifier: Apache-2.0
# The progress line stays one line: cut to the width of the terminal, which is asked at each update,
# down to widths that have no room for the figures. On a pseudo terminal, where every byte is seen,
# and in tmux, which folds lines and makes windows narrower as terminals do.
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import threading
import time
import unicodedata

import pytest
from program import PAES, TIMEOUT_S, USAGE, clean_environment, fail, succeed, wait_until

# Names that fill 30 columns and more, also where characters take two columns or none.
NAMES = {
    "plain": "a-folder-with-a-long-name/of-others/and-a-file.tar",
    "wide": "\u8a18\u9332\u306e\u4fdd\u5b58\u5834\u6240/" + "\u5199\u771f" * 12 + ".tar",
    "combining": "Re\u0301sume\u0301s-" * 6 + "et-apre\u0300s.tar",
    "controls": "\u202e\x1b[2J" * 8 + ".tar",
}


def columns_of(text):
    """The columns that a text takes, if it has only characters that terminals agree about."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) - sum(map(bool, map(unicodedata.combining, text))) + wide


class Feed:
    """A FIFO of such a name that gives data slowly until it is told to end."""

    def __init__(self, folder, name):
        self.path = folder / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self.path)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        try:
            with open(self.path, "wb", buffering=0) as pipe:
                while not self.ended.wait(0.05):
                    pipe.write(bytes(1 << 16))
        except BrokenPipeError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))  # nobody may have opened it
        self.thread.join()


def set_columns(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


# An update begins at the left, goes back there, and erases what is behind its text, which never folds.
UPDATE = re.compile(r"\r\x1b\[\?7l([^\x1b\r\n]*)\x1b\[J\r\x1b\[\?7h")


def next_line(terminal):
    """The text of the second update from now: the first may have asked for the width before."""
    shown = b""
    while len(UPDATE.findall(shown.decode(errors="ignore"))) < 2:
        assert select.select([terminal], [], [], TIMEOUT_S)[0]
        shown += os.read(terminal, 4096)
    text = shown.decode()
    assert UPDATE.sub("", text) == "", ascii(text)
    return UPDATE.findall(text)[1]


def read_to_end(terminal, pid):
    shown = b""
    try:
        while more := os.read(terminal, 4096):
            shown += more
    except OSError:  # EIO: paes has closed the terminal
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown


@pytest.mark.parametrize("name", NAMES)
def test_the_line_fits_after_every_change_of_width(name, keys, tmp_path):
    with Feed(tmp_path, NAMES[name]) as feed:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(tmp_path)
            command = [PAES, "encrypt", "-r", keys.recipient, "-o", "/dev/null", NAMES[name]]
            os.execve(PAES, command, clean_environment())
        # 0: the terminal does not know, and 80 is what most have.
        for columns in (80, 40, 10, 3, 1, 0, 200) if name == "plain" else (80, 40):
            set_columns(terminal, columns)
            line = next_line(terminal)
            assert columns_of(line) < (columns or 80), (columns, line)
            if columns == 10:
                assert re.fullmatch(r"[\d.]+ [kM]B", line), line
            elif columns in (1, 3):
                assert line == ""
            else:
                label = line.split(": ")[0]
                assert label.endswith("s.tar" if name == "combining" else ".tar"), line
                # As much of it as there is room for.
                if label != NAMES[name]:
                    assert label.startswith("...") and columns_of(line) >= (columns or 80) - 3, line
        feed.ended.set()
        assert read_to_end(terminal, pid).endswith(b"\r\x1b[J"), "the line is taken away at the end"


def test_where_the_total_is_known(keys, tmp_path):
    """Less of the figures, down to the percentage."""
    (tmp_path / "a-regular-file-of-a-long-name.tar").write_bytes(bytes(64 << 20))
    os.mkfifo(tmp_path / "slow")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        command = ["encrypt", "-f", "-r", keys.recipient, "-o", "slow", "a-regular-file-of-a-long-name.tar"]
        os.execve(PAES, [PAES, *command], clean_environment())
    wants = {
        80: r"\.\.\.\S+\.tar: [\d.]+ MB of [\d.]+ MB, \d+%, [\d.]+ MB/s, \d+:\d\d left",
        40: r"\.\.\.\S+\.tar: \d+%, [\d.]+ MB/s, \d+:\d\d left",
        32: r"\.\.\.\S+\.tar: \d+%, \d+:\d\d left",
        16: r"\d+%, \d+:\d\d left",
        10: r"\d+%",
    }
    with open(tmp_path / "slow", "rb") as pipe:
        ended = threading.Event()

        def drain():
            while not ended.wait(0.05) and pipe.read(1 << 18):
                pass
            while pipe.read(1 << 20):
                pass

        thread = threading.Thread(target=drain)
        thread.start()
        try:
            for columns, pattern in wants.items():
                set_columns(terminal, columns)
                line = next_line(terminal)
                assert len(line) < columns and re.fullmatch(pattern, line), (columns, line)
        finally:
            ended.set()
            thread.join()
    read_to_end(terminal, pid)


@pytest.mark.parametrize("size, pattern", [
    ("100MB", r"\S+\.tar: [\d.]+ [kM]B of 100\.00 MB, \d%, [\d.]+ MB/s, \d+:\d\d left"),
    ("1KiB", r"\S+\.tar: [\d.]+ [kM]B, [\d.]+ MB/s, \d+:\d\d"),  # more has come than was said
])
def test_a_pipe_whose_size_is_said(size, pattern, keys, tmp_path):
    with Feed(tmp_path, "a.tar") as feed:
        pid, terminal = pty.fork()
        if pid == 0:
            command = ["encrypt", "-r", keys.recipient, "--size", size, "-o", "/dev/null", str(feed.path)]
            os.execve(PAES, [PAES, *command], clean_environment())
        set_columns(terminal, 200)
        assert re.fullmatch(pattern, line := next_line(terminal)), line
        feed.ended.set()
        read_to_end(terminal, pid)


@pytest.mark.parametrize("size", ["0", "10", "1MB", "1T"])
@pytest.mark.parametrize("format", ["paes", "age"])
def test_the_size_that_is_said_changes_nothing(size, format, keys, tmp_path, random_bytes):
    """Neither a longer text nor a shorter one."""
    text = random_bytes(300_000)
    sealed = succeed("encrypt", "--format", format, "-r", keys.recipient, "--size", size, stdin=text).out
    assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == text


def test_a_size_is_that_of_one_pipe(keys, tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    words = ["encrypt", "-r", keys.recipient, "--size", 4]
    fail(*words, "plain", code=USAGE, says="plain: its size is known.*\n.*leave out --size", cwd=tmp_path)
    with open(tmp_path / "plain", "rb") as opened:
        fail(*words, stdin=opened, code=USAGE, says="standard input: its size is known")
    for more in (["plain", "-"], ["--recursive", "."], ["--files-from", "plain"]):
        fail(*words, *more, code=USAGE, says="size: --size is that of one pipe", cwd=tmp_path)
    fail(*words[:-1], "much", code=USAGE, says="not a number of bytes")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".paes"] == []


class Tmux:
    def __init__(self, folder, command, columns):
        self.base = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", str(columns), "-y", "24", "sh", "-c", command)

    def run(self, *arguments):
        environment = clean_environment(TERM="xterm", SHELL="/bin/sh")
        return subprocess.run(
            [*self.base, *arguments], env=environment, capture_output=True, text=True, timeout=20, check=True
        ).stdout

    def lines(self):
        return [line for line in self.run("capture-pane", "-p", "-S", "-").splitlines() if line]

    def lines_when(self, is_as_wanted):
        """The lines of the first look that shows it: tmux takes a while to tell programs of a new width."""
        shown = []

        def look():
            shown[:] = self.lines()
            return is_as_wanted(shown)

        wait_until(look, "what the screen should show")
        return shown

    def resize(self, columns):
        self.run("resize-window", "-x", str(columns))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.base, "kill-server"], capture_output=True, timeout=20, check=False)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is missing (Debian package tmux)")
@pytest.mark.parametrize("start", [80, 40, 10])
def test_one_line_in_a_real_terminal(start, keys, tmp_path):
    """At each width, and after windows were made narrower and wider while it was drawn."""
    name = NAMES["plain"]
    # The screen is full, for tmux keeps no blank rows at the bottom when it folds lines.
    command = (
        f"cd {tmp_path}; seq 30; {PAES} encrypt -r {keys.recipient} -o /dev/null {name}; echo last; cat"
    )
    with Feed(tmp_path, name) as feed, Tmux(tmp_path, command, start) as tmux:
        wait_until(lambda: len(tmux.lines()) > 30, "the line")
        for columns in {80: (80, 40, 10, 80), 40: (40, 20), 10: (10, 80)}[start]:
            tmux.resize(columns)
            lines = tmux.lines_when(lambda shown: len(shown) == 31 and columns // 2 < len(shown[30]) < columns)
            assert lines[29] == "30"
            assert columns < 40 or lines[30].split(": ")[0].endswith("file.tar"), lines[30]
        feed.ended.set()
        wait_until(lambda: "last" in tmux.lines(), "the end")
        assert tmux.lines()[29:] == ["30", "last"]


def test_a_result_takes_the_line_away(keys, tmp_path):
    """The line is drawn in the same terminal as what verify says."""
    (tmp_path / "plain").write_bytes(bytes(1 << 20))
    succeed("encrypt", "-r", keys.recipient, "-o", tmp_path / "sealed", tmp_path / "plain")
    os.mkfifo(tmp_path / "slow")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PAES, [PAES, "verify", "-i", keys.path, str(tmp_path / "slow")], clean_environment())
    with open(tmp_path / "slow", "wb", buffering=0) as pipe:
        sealed = (tmp_path / "sealed").read_bytes()
        step = len(sealed) // 32
        for at in range(0, len(sealed), step):
            pipe.write(sealed[at : at + step])
            time.sleep(0.05)
    shown = read_to_end(terminal, pid)
    assert UPDATE.search(shown.decode()), shown
    assert re.search(rb"\r\x1b\[J[^\r]*slow: authentic", shown), shown
