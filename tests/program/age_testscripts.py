# SPDX-License-Identifier: Apache-2.0
# Runs age's own test scripts (github.com/FiloSottile/age, cmd/age/testdata/*.txt at v1.3.1) against
# `paes age`. The scripts are not part of paes: give the folder they were fetched into.
#
#   python3 age_testscripts.py PAES FOLDER [SCRIPT...]
#
# They are scripts of Go's package testscript, of which this knows what they use: files in txtar
# form, exec, stdin, stdout, stderr, cmp, exists, rm, cp, mkdir, chmod, ttyin, ttyout, `!`, and
# conditions. A failure ends a script, as in the original. One thing differs: there age is built so
# that it generates a passphrase of one word, again and again. Here the passphrase that the terminal
# showed is typed in its place.
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from age_plugin_example import receive, send

TIMEOUT_S = 60
GENERATED = "-".join(["four"] * 10).encode()
CONDITIONS = {"linux": True, "darwin": False}


class Failed(Exception):
    pass


def words_of(line, variables):
    """The words of a line: quotes as in testscript, $NAME replaced."""
    line = re.sub(r"\$(\w+)", lambda match: variables.get(match[1], ""), line)
    words, word, quoted, started, at = [], "", False, False, 0
    while at < len(line):
        char = line[at]
        if quoted and char == "'" and line[at : at + 2] == "''":
            word += "'"
            at += 1
        elif char == "'":
            quoted = not quoted
            started = True
        elif not quoted and char in " \t":
            if started:
                words.append(word)
            word, started = "", False
        elif not quoted and char == "#" and not started:
            break
        else:
            word += char
            started = True
        at += 1
    return words + [word] if started else words


def files_of(text):
    """The script itself, and the files after it."""
    parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)
    return parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))


class Script:
    def __init__(self, paes, path, folder):
        self.folder = Path(folder)
        self.paes = paes
        commands, files = files_of(Path(path).read_text())
        self.lines = commands.splitlines()
        for name, content in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(content)
        shims = self.folder / ".bin"
        shims.mkdir()
        (shims / "age").write_text(f'#!/bin/sh\nexec {shlex.quote(paes)} age "$@"\n')
        (shims / "age").chmod(0o755)
        (shims / "age-plugin-test").write_text(f"#!/bin/sh\nexec {sys.executable} {__file__} \"$@\"\n")
        (shims / "age-plugin-test").chmod(0o755)
        self.environment = {
            "WORK": str(self.folder),
            "TMPDIR": str(self.folder / ".tmp"),
            "PATH": f"{shims}:{os.environ['PATH']}",
            "HOME": str(self.folder),
        }
        (self.folder / ".tmp").mkdir()
        self.output = {"stdout": b"", "stderr": b"", "ttyout": b""}
        self.standard_input = b""
        self.typed = None
        self.types_standard_input = False
        self.generated = GENERATED

    def run(self):
        for number, line in enumerate(self.lines, 1):
            try:
                if not self.run_line(line):
                    return
            except Failed as error:
                raise Failed(f"line {number}: {line}: {error}") from error

    def run_line(self, line):
        words = words_of(line, self.environment)
        while words and re.fullmatch(r"\[.+\]", words[0]):
            condition = words.pop(0)[1:-1]
            wanted = not condition.startswith("!")
            if CONDITIONS.get(condition.lstrip("!"), False) != wanted:
                return True
        if not words:
            return True
        negated = words[0] == "!"
        words = words[negated:]
        if words[0] == "skip":
            return False
        method = getattr(self, "do_" + words[0], None)
        if method is None:
            self.do_exec(words, negated)
        else:
            method(words[1:], negated)
        return True

    def content_of(self, name):
        if name in ("stdout", "stderr"):
            return self.output[name]
        return (self.folder / name).read_bytes()

    def do_exec(self, words, negated):
        found = shutil.which(words[0], path=self.environment["PATH"])
        if found is None:
            raise Failed("no such program")
        code = self.execute([found, *words[1:]])
        if (code != 0) != negated:
            raise Failed(f"exit code {code}: {self.output['stderr'].decode(errors='replace')}")

    def execute(self, command):
        """With a terminal of its own if the script types something."""
        typed, self.typed = self.typed, None
        content, self.standard_input = self.standard_input, b""
        folder = self.folder / ".tmp"
        (folder / "in").write_bytes(content)
        master, slave = pty.openpty() if typed is not None else (None, None)

        def take_terminal():
            os.setsid()
            if slave is not None:
                import fcntl
                import termios

                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        with open(folder / "in", "rb") as standard, open(folder / "out", "wb") as out, open(
            folder / "err", "wb"
        ) as err:
            process = subprocess.Popen(
                command,
                stdin=slave if typed is not None and self.types_standard_input else standard,
                stdout=out,
                stderr=err,
                cwd=self.folder,
                env=self.environment,
                preexec_fn=take_terminal,
            )
            shown = self.talk(process, master, slave, typed) if typed is not None else b""
            if typed is None:
                process.wait(TIMEOUT_S)
        self.output = {
            "stdout": (folder / "out").read_bytes(),
            "stderr": (folder / "err").read_bytes(),
            "ttyout": shown,
        }
        if found := re.search(rb'autogenerated passphrase "([^"]+)"', shown):
            self.generated = found[1]
        return process.returncode

    def talk(self, process, master, slave, typed):
        """Types everything at once, and an end of file at the end, as testscript does."""
        os.set_blocking(master, False)
        left, shown = typed + b"\x04", b""
        deadline = time.monotonic() + TIMEOUT_S
        while process.poll() is None:
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Failed("did not end; the terminal shows: " + shown.decode(errors="replace"))
            readable, writable, _ = select.select([master], [master] if left else [], [], 0.05)
            if writable:
                # A line at a time: the terminal takes no more than 4 KiB until they are read.
                end = left.find(b"\n") + 1 or len(left)
                try:
                    left = left[os.write(master, left[:end]) :]
                except BlockingIOError:
                    pass
            if readable:
                shown += os.read(master, 65536)
        os.close(slave)
        try:
            while part := os.read(master, 65536):
                shown += part
        except OSError:
            pass
        os.close(master)
        return shown

    def do_stdin(self, words, _negated):
        self.standard_input = self.content_of(words[0])

    def do_ttyin(self, words, _negated):
        self.types_standard_input = words[0] == "-stdin"
        self.typed = self.content_of(words[-1]).replace(GENERATED, self.generated)

    def matches(self, name, words, negated):
        found = re.search(words[0].encode(), self.output[name], re.MULTILINE) is not None
        if found == negated:
            raise Failed(f"{name} is {self.output[name]!r}")

    def do_stdout(self, words, negated):
        self.matches("stdout", words, negated)

    def do_stderr(self, words, negated):
        self.matches("stderr", words, negated)

    def do_ttyout(self, words, negated):
        self.matches("ttyout", words, negated)

    def do_cmp(self, words, negated):
        if (self.content_of(words[0]) == self.content_of(words[1])) == negated:
            raise Failed("differ" if not negated else "are the same")

    def do_exists(self, words, negated):
        for name in words:
            if (self.folder / name).exists() == negated:
                raise Failed("exists" if negated else "does not exist")

    def do_rm(self, words, _negated):
        for name in words:
            (self.folder / name).unlink()

    def do_cp(self, words, _negated):
        (self.folder / words[-1]).write_bytes(self.content_of(words[0]))

    def do_mkdir(self, words, _negated):
        for name in words:
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def do_chmod(self, words, _negated):
        (self.folder / words[1]).chmod(int(words[0], 8))


def run_script(paes, path):
    """What failed, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Script(paes, path, folder).run()
        except Failed as error:
            return str(error)
    return None


def behave_as_plugin(state):
    """The plugin that age builds for its scripts: it hides nothing, the file key is the stanza's body."""
    file_key = []
    while (said := receive())[0] != ["done"]:
        words, body = said
        if words[0] == "wrap-file-key" or words[:3] == ["recipient-stanza", "0", "test"]:
            file_key.append(body)
    if state == "recipient-v1":
        send("recipient-stanza", "0", "test", body=file_key[0])
        receive()
    elif file_key:
        send("file-key", "0", body=file_key[0])
        receive()
    send("done")


def main():
    if sys.argv[1].startswith("--age-plugin="):
        return behave_as_plugin(sys.argv[1].removeprefix("--age-plugin="))
    paes, folder, *names = sys.argv[1:]
    scripts = [Path(folder) / f"{name}.txt" for name in names] or sorted(Path(folder).glob("*.txt"))
    failed = 0
    for path in scripts:
        why = run_script(os.path.abspath(paes), path)
        print(f"{path.stem}: {'passed' if why is None else 'FAILED ' + why}", flush=True)
        failed += why is not None
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
