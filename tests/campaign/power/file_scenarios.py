# SPDX-License-Identifier: Apache-2.0
# What paes does with files while the power may fail, and what must be there afterwards: encrypt, decrypt, rekey, batches
# and --resume.
#
# Each scenario is a list of steps. A mark in the log says when a step begins, and another one when its command has
# returned 0. A name that the step changes has its old text or its new one in between, and its new one afterwards.
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import age_file
import program

UNFINISHED = re.compile(r"\.paes-[0-9]{16}")


class Broken(Exception):
    """A promise was not kept."""


def require(condition, words):
    if not condition:
        raise Broken(words)


@dataclass
class Step:
    """A command, and the texts that the names below the scenario's folder have after it."""

    label: str
    words: list
    changes: dict
    sealed: bool = True


@dataclass
class Place:
    """What lies outside the disk that loses its power, and how programs are started."""

    folder: Path
    chance: object
    keys: object
    other_keys: object
    prefix: tuple = ()
    counts: dict = field(default_factory=dict)

    def source(self, name, size):
        path = self.folder / "sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.chance.randbytes(size))
        return path

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def scratch(self):
        """An empty folder for what a check opens."""
        path = self.folder / "opened"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


class Scenario:
    """`prepare` fills the folder on a disk that has its power, `run` goes on with it on the logged one, and `check` looks
    at what a failure has left; `said` are the marks before the failure."""

    also_left = None  # further names that a failure may leave

    def __init__(self, place):
        self.place = place
        self.steps = []

    def prepare(self, folder):
        pass

    def run(self, folder, mark):
        for step in self.steps:
            mark(f"begin {step.label}")
            program.succeed(*step.words, cwd=folder, prefix=self.place.prefix)
            mark(f"end {step.label}")

    def is_done(self, label, said):
        return f"end {label}" in said

    def allowed(self, said):
        """Each name's texts, of which it must have one; None is a name that is not there. And whether it is encrypted."""
        found = {name: ([text], sealed) for name, (text, sealed) in self.at_first().items()}
        for step in self.steps:
            for name, text in step.changes.items():
                if self.is_done(step.label, said):
                    found[name] = ([text], step.sealed)
                else:
                    before = found.get(name, ([None], step.sealed))[0]
                    found[name] = ([*before, text] if f"begin {step.label}" in said else before, step.sealed)
        return found

    def at_first(self):
        return {}

    def check(self, folder, said):
        allowed = self.allowed(said)
        there = set(os.listdir(folder))
        for name in there - allowed.keys():
            require(UNFINISHED.fullmatch(name) or (self.also_left and re.fullmatch(self.also_left, name)), f"{name}: nobody made that")
        for name in allowed.keys() - there:
            require(None in allowed[name][0], f"{name}: is gone")
        sealed = [name for name, (_, is_sealed) in allowed.items() if is_sealed and name in there]
        opened = self.opened(folder, sealed, self.place.keys)
        for name, (texts, is_sealed) in allowed.items():
            if name in there:
                text = opened.get(name) if is_sealed else (folder / name).read_bytes()
                require(text is not None, f"{name}: does not open: {self.last_error}")
                require(text in texts, f"{name}: has neither of its texts but {len(text)} other bytes; may have {list(map(sizes, texts))}")

    def opened(self, folder, names, *keys):
        """The texts of those of the files that open with these keys."""
        if not names:
            return {}
        to = self.place.scratch()
        identities = [word for one in keys for word in ("-i", one.path)]
        done = program.run("decrypt", "-q", *identities, "--output-dir", to, "--", *names, cwd=folder)
        self.last_error = done.err
        return {name: path.read_bytes() for name in names if (path := to / name.removesuffix(".paes").removesuffix(".age")).exists()}


def sizes(text):
    return None if text is None else len(text)


class Encrypt(Scenario):
    """Single files: new ones, one in the place of another, decrypted ones, and one that is standard output."""

    def __init__(self, place):
        super().__init__(place)
        big, small, old = (place.source(name, size) for name, size in (("big", 1_500_000), ("small", 50_000), ("old", 70_000)))
        self.old = old
        to = ["-r", place.keys.recipient]
        self.steps = [
            Step("encrypt", ["encrypt", *to, "-o", "new.paes", big], {"new.paes": big.read_bytes()}),
            Step("encrypt -f", ["encrypt", *to, "-f", "-o", "kept.paes", small], {"kept.paes": small.read_bytes()}),
            Step("encrypt --format age", ["encrypt", *to, "--format", "age", "-o", "short.age", small], {"short.age": small.read_bytes()}),
            Step("decrypt", ["decrypt", "-i", place.keys.path, "-o", "text", "new.paes"], {"text": big.read_bytes()}, False),
            Step("decrypt -f", ["decrypt", "-i", place.keys.path, "-f", "-o", "text", "kept.paes"], {"text": small.read_bytes()}, False),
        ]

    def at_first(self):
        return {"kept.paes": (self.old.read_bytes(), True)}

    def prepare(self, folder):
        program.succeed("encrypt", "-r", self.place.keys.recipient, "-o", folder / "kept.paes", self.old)

    def run(self, folder, mark):
        super().run(folder, mark)
        # What is standard output may be there in part until the command has returned.
        mark("begin standard output")
        with open(folder / "output.paes", "wb") as output:
            words = [*self.place.prefix, program.PAES, "encrypt", "-r", self.place.keys.recipient, "-o", "-", self.place.folder / "sources/small"]
            subprocess.run(words, stdout=output, env=program.clean_environment(), timeout=program.TIMEOUT_S, check=True)
        mark("end standard output")

    def allowed(self, said):
        found = super().allowed(said)
        if self.is_done("standard output", said):
            found["output.paes"] = ([(self.place.folder / "sources/small").read_bytes()], True)
        return found

    def check(self, folder, said):
        if not self.is_done("standard output", said):
            (folder / "output.paes").unlink(missing_ok=True)
        super().check(folder, said)


class Batch(Scenario):
    """Many small files: their outputs are synced in groups, of at most 256 files."""

    FILES, REPLACED = 300, 40

    def __init__(self, place):
        super().__init__(place)
        numbers = range(self.FILES)
        self.first = {f"{number}": place.chance.randbytes(place.chance.choice((0, 1, 700, 5000))) for number in numbers}
        again = {name: place.chance.randbytes(3000) for name in [f"{number}" for number in numbers][: self.REPLACED]}
        one, two = place.folder / "first", place.folder / "again"
        for folder, texts in ((one, self.first), (two, again)):
            folder.mkdir()
            for name, text in texts.items():
                (folder / name).write_bytes(text)
        to = ["encrypt", "-q", "-r", place.keys.recipient, "--output-dir", "."]
        as_sealed = lambda texts: {f"{name}.paes": text for name, text in texts.items()}  # noqa: E731
        self.steps = [
            Step("encrypt", [*to, *(one / name for name in self.first)], as_sealed(self.first)),
            Step("encrypt -f", [*to, "-f", *(two / name for name in again)], as_sealed(again)),
            Step("decrypt", ["decrypt", "-q", "-i", place.keys.path, *(f"{name}.paes" for name in again)], again, False),
        ]


class Rekey(Scenario):
    """Containers whose envelopes are written in place, and files of age, which are written anew."""

    also_left = r".*\.rekey"
    SINGLE, TOGETHER = ("one.paes", "two.paes", "three.paes", "four.age"), 12

    def __init__(self, place):
        super().__init__(place)
        self.texts = {name: place.chance.randbytes(30_000) for name in self.SINGLE}
        self.texts |= {f"{number}.paes": place.chance.randbytes(2000) for number in range(self.TOGETHER)}
        # So many that the envelope takes several sectors, of which a failure may leave some.
        more = [age_file.keygen(place.folder / f"key {number}") for number in range(11)]
        to = [word for recipient in (place.other_keys.recipient, *more) for word in ("-r", recipient)]
        rekey = ["rekey", "-q", "-i", place.keys.path, *to]
        together = [name for name in self.texts if name not in self.SINGLE]
        self.steps = [Step(name, [*rekey, name], {name: self.texts[name]}) for name in self.SINGLE]
        self.steps.append(Step("together", [*rekey, *together], {name: self.texts[name] for name in together}))

    def prepare(self, folder):
        for name, text in self.texts.items():
            form = "age" if name.endswith(".age") else "paes"
            program.succeed("encrypt", "-r", self.place.keys.recipient, "--format", form, "-o", folder / name, stdin=text)

    def check(self, folder, said):
        there = set(os.listdir(folder))
        for name in there - self.texts.keys():
            require(UNFINISHED.fullmatch(name) or re.fullmatch(self.also_left, name), f"{name}: nobody made that")
        old = self.opened(folder, list(self.texts), self.place.keys)
        new = self.opened(folder, list(self.texts), self.place.other_keys)
        for step in self.steps:
            is_done, has_begun = self.is_done(step.label, said), f"begin {step.label}" in said
            for name, text in step.changes.items():
                opens = [which for which, found in (("old", old), ("new", new)) if name in found]
                require(all(found[name] == text for found in (old, new) if name in found), f"{name}: has another text")
                if is_done:
                    require(opens == ["new"], f"{name}: opens for {opens} recipients after rekey has returned 0")
                    require(f"{name}.rekey" not in there, f"{name}.rekey: is back after rekey has returned 0")
                elif not has_begun:
                    require(opens == ["old"], f"{name}: opens for {opens} recipients before rekey has begun")
                elif len(opens) != 1:
                    self.restore(folder, name, text)

    def restore(self, folder, name, text):
        """The file holds half an envelope; what rekey has kept makes it whole."""
        self.place.count("envelopes put back")
        done = program.run("rekey", "--restore", "-i", self.place.keys.path, name, cwd=folder)
        require(done.code == program.OK, f"{name}: opens for nobody, and rekey --restore says {done.err!r}")
        require(self.opened(folder, [name], self.place.keys).get(name) == text, f"{name}: was put back and does not open")




class Resume(Scenario):
    """Runs that were interrupted and continued: whatever the failure left, the same command makes the right file of it."""

    also_left = r"(big\.paes|text)\.(partial|journal)"

    def __init__(self, place):
        super().__init__(place)
        self.big = place.source("big", (12 << 20) + 12_345)
        text = self.big.read_bytes()
        resume = ["--resume", "-i", place.keys.path, "--threads", "1"]
        self.steps = [
            Step("encrypt", ["encrypt", *resume, "-r", place.keys.recipient, "-o", "big.paes", self.big], {"big.paes": text}),
            Step("decrypt", ["decrypt", *resume, "-o", "text", "big.paes"], {"text": text}, False),
        ]

    def run(self, folder, mark):
        for step in self.steps:
            mark(f"begin {step.label}")
            words = [*self.place.prefix, program.PAES, *map(str, step.words)]
            with subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL, env=program.clean_environment()) as process:
                deadline = time.monotonic() + 10
                partial = folder / f"{next(iter(step.changes))}.partial"
                while process.poll() is None and time.monotonic() < deadline and not has_blocks(partial, 3 << 20):
                    time.sleep(0.0005)
                process.send_signal(signal.SIGINT)
            mark(f"interrupted {step.label}")
            if process.returncode != 0:
                program.succeed(*step.words, cwd=folder, prefix=self.place.prefix)
            mark(f"end {step.label}")

    def check(self, folder, said):
        super().check(folder, said)
        for step in self.steps:
            name, text = next(iter(step.changes.items()))
            if f"begin {step.label}" not in said or (folder / name).exists():
                continue
            begun = (folder / f"{name}.partial").exists()
            done = program.run(*step.words, "-v", cwd=folder)
            require(done.code == program.OK, f"{name}: --resume does not continue: {done.err}")
            if begun:
                self.place.count("runs with something to continue")
            if re.search(r"continu", done.err):
                self.place.count("runs continued")
            found = self.opened(folder, [name], self.place.keys).get(name) if step.sealed else (folder / name).read_bytes()
            require(found == text, f"{name}: --resume made something else of it")
            left = [end for end in ("partial", "journal") if (folder / f"{name}.{end}").exists()]
            require(not left, f"{name}: --resume has left {left}")


def has_blocks(path, size):
    try:
        return path.stat().st_blocks * 512 >= size
    except OSError:
        return False


