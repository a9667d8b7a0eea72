# SPDX-License-Identifier: Apache-2.0
# Vaults while the power may fail: `paes vault put`, and programs that write on a mount.
import contextlib
import errno
import os
import subprocess
from pathlib import Path

import program
from file_scenarios import Scenario, Step, require
from vault import CHEAP

MOUNT = str(Path(program.PAES).with_name("paes-mount"))
BLOCK = 4096


class VaultScenario(Scenario):
    def __init__(self, place):
        super().__init__(place)
        self.pass_file = place.folder / "pass"
        self.pass_file.write_text("words\n")
        self.key = ("--passphrase-file", str(self.pass_file))

    def words(self, command, *arguments):
        return ["vault", command, *self.key, "vault", *arguments]

    def make(self, folder):
        (folder / "vault").mkdir()
        program.succeed(*self.words("init", *CHEAP), cwd=folder)


def texts_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Put(VaultScenario):
    """A tree that is put, one that replaces a part of it, and a file of a pipe."""

    def __init__(self, place):
        super().__init__(place)
        tree, again = place.folder / "tree", place.folder / "again" / "tree"
        sizes = {"one": 1, "big": 700_000, "inner/two": 5000, "inner/" + "n" * 200: 9000, "inner/deeper/three": BLOCK}
        sizes |= {f"many/{number}": 300 for number in range(30)}
        for folder, names in ((tree, sizes), (again, ["big", "inner/two", "many/3", "many/4"])):
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(place.chance.randbytes(sizes[name]))
        changes = [{f"tree/{name}": text for name, text in texts_below(folder).items()} for folder in (tree, again)]
        single = place.source("single", 100_000)
        self.steps = [
            Step("put", self.words("put", tree), changes[0]),
            Step("put -f", self.words("put", "-f", again), changes[1]),
            Step("put --as", self.words("put", "--as", "tree/inner/single", single), {"tree/inner/single": single.read_bytes()}),
        ]

    def prepare(self, folder):
        self.make(folder)

    def check(self, folder, said):
        to = self.place.scratch() / "all"
        done = program.run(*self.words("export", str(to)), cwd=folder)
        require(done.code == program.OK, f"the vault cannot be exported: {done.err}")
        found = texts_below(to)
        for name, (texts, _) in self.allowed(said).items():
            text = found.pop(name, None)
            require(text in texts, f"{name}: is not there, or not whole" if text is None else f"{name}: has {len(text)} other bytes")
        require(not found, f"nobody made {list(found)}")
        done = program.run(*self.words("fsck"), cwd=folder)
        require(done.code == program.OK, f"vault fsck: {done.out} {done.err}")


class Keys(VaultScenario):
    """A key pair, a vault and a vault's passphrase: whoever was told that they are there has put data under them."""

    def __init__(self, place):
        super().__init__(place)
        self.new_pass_file = place.folder / "new pass"
        self.new_pass_file.write_text("other words\n")
        self.new_key = ("--passphrase-file", str(self.new_pass_file))
        self.steps = [
            Step("keygen", ["keygen", "-o", "identity"], {}),
            Step("init", ["vault", "init", *CHEAP, *self.key, "made"], {}),
            Step("passwd", self.words("passwd", "--new-passphrase-file", str(self.new_pass_file)), {}),
        ]

    def prepare(self, folder):
        self.make(folder)
        (folder / "made").mkdir()

    def check(self, folder, said):
        code = lambda *words: program.run(*words, cwd=folder).code  # noqa: E731
        is_key = code("keygen", "-y", "identity") == program.OK
        require(is_key or not self.is_done("keygen", said), "identity: is no key, after keygen has returned 0")
        require(is_key or not (folder / "identity").exists(), "identity: is there and is no key")
        is_made = code("vault", "ls", *self.key, "made") == program.OK
        require(is_made or not self.is_done("init", said), "made: is no vault, after vault init has returned 0")
        if not is_made:
            # What was begun can be done again.
            left = os.listdir(folder / "made")
            again = program.run("vault", "init", *CHEAP, *self.key, "made", cwd=folder)
            require(again.code == program.OK, f"made: has {left}, and vault init does not go on: {again.err}")
        opens = [code("vault", "ls", *key, "vault") == program.OK for key in (self.key, self.new_key)]
        may_open = [[False, True]] if self.is_done("passwd", said) else [[True, False], [False, True]]
        require(opens in (may_open if "begin passwd" in said else [[True, False]]), f"vault: the old and the new passphrase open: {opens}")


class File:
    """What a file may have: its text, and for each block that was changed since the last sync what it had since then."""

    def __init__(self, text=b""):
        self.text = bytearray(text)
        self.sync()

    def sync(self):
        self.since, self.sizes = {}, {len(self.text)}

    def block(self, number):
        return bytes(self.text[number * BLOCK : (number + 1) * BLOCK])

    def change(self, text, begin, end):
        """The bytes from `begin` to `end` become others; the last block of a file that grows or is cut is written anew."""
        blocks = range(begin // BLOCK, -(-end // BLOCK))
        for number in blocks:
            self.since.setdefault(number, [self.block(number)])
        self.text = bytearray(text)
        for number in blocks:
            self.since[number].append(self.block(number))
        self.sizes.add(len(self.text))

    def write(self, offset, text):
        old = len(self.text)
        new = bytearray(self.text.ljust(offset, b"\0"))
        new[offset : offset + len(text)] = text
        self.change(new, min(offset, old), max(offset + len(text), min(offset, old) + 1))

    def cut(self, size):
        self.change(self.text[:size], size, len(self.text))

    def fault(self, path):
        """What is wrong with the file, or nothing. A block that was being changed may be damaged, if reading it fails."""
        try:
            size = os.stat(path).st_size
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            return "" if 0 in self.sizes and len(self.sizes) > 1 else f"cannot be opened: {error}"
        try:
            if not min(self.sizes) <= size <= max(self.sizes):
                return f"has {size} bytes, and may have {sorted(self.sizes)}"
            for number in range(-(-size // BLOCK)):
                may_be = self.since.get(number, [self.block(number)])
                try:
                    found = os.pread(descriptor, BLOCK, number * BLOCK)
                except OSError as error:
                    if number not in self.since or error.errno != errno.EIO:
                        return f"block {number} cannot be read: {error}"
                    continue
                if not any(text.ljust(len(found), b"\0")[: len(found)] == found for text in may_be):
                    return f"block {number} has a text that it never had"
        finally:
            os.close(descriptor)
        return ""


@contextlib.contextmanager
def on_a_mount(words, vault, point, prefix=()):
    """Unmounted by `paes umount`, which returns when everything is on disk; if the test fails, in any way."""
    point.mkdir(exist_ok=True)
    program.succeed(*words, vault, point, binary=MOUNT, prefix=prefix)
    try:
        yield point
        program.succeed("umount", point)
    finally:
        if os.path.ismount(point):
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)


def overwritten(path, offset, text):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(descriptor, text, offset)
    finally:
        os.close(descriptor)


def is_there(path):
    """False, too, if the system says that the name is damaged."""
    try:
        os.lstat(path)
    except OSError:
        return False
    return True


def synced(path, sync=os.fsync):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


class Mount(VaultScenario):
    """A program that makes, writes, grows, cuts, replaces and syncs files on a mount, with both kinds of cache.

    What a file had when it was synced is there, and so are its name and the folders above it. What was changed since then
    may be old, new, or damaged in the block that was changed. A file that replaces another as a whole is one of both."""

    OPERATIONS = 45
    CACHES = ((), ("--cache=through",))

    def __init__(self, place):
        super().__init__(place)
        self.point = place.folder / "shown"
        self.first = {f"first {number}": place.chance.randbytes(size) for number, size in enumerate((5 * BLOCK, 3 * BLOCK + 77, 100, 0))}
        self.plan = [self.planned(number) for number in range(len(self.CACHES) * self.OPERATIONS)]

    def planned(self, number):
        """Each operation, as words and numbers from which both the program and the model follow."""
        chance = self.place.chance
        what = chance.choice(("write", "write", "grow", "cut", "make", "make below", "replace", "sync", "sync", "sync"))
        return what, chance.random(), chance.random(), chance.randbytes(chance.choice((1, 500, BLOCK, 3 * BLOCK))), number

    def prepare(self, folder):
        self.make(folder)
        sources = self.place.folder / "first"
        sources.mkdir()
        for name, text in self.first.items():
            (sources / name).write_bytes(text)
        program.succeed(*self.words("put", *sources.iterdir()), cwd=folder)

    def start(self):
        """The model: each name's files, of which the last one is the present one; None is a name that is not there."""
        return {name: [File(text)] for name, text in self.first.items()}

    def act(self, files, planned, point, mark):
        """Changes the model; with a mountpoint, the file there, too. `mark` says when an operation begins and ends."""
        what, one, two, text, number = planned
        name = sorted(name for name, found in files.items() if found[-1])[int(one * len([1 for found in files.values() if found[-1]]))]
        file = files[name][-1]
        path = point and point / name
        if what in ("write", "grow"):
            offset = len(file.text) if what == "grow" else int(two * (len(file.text) + 1))
            do, model = lambda: overwritten(path, offset, text), lambda: file.write(offset, text)
        elif what == "cut":
            size = int(two * (len(file.text) + 1))
            do, model = lambda: os.truncate(path, size), lambda: file.cut(size)
        elif what in ("make", "make below"):
            new = f"new {number}" if what == "make" else f"folder {number}/{'n' * 190} {number}"
            path = point and point / new

            def do():
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(text)

            def model():
                files[new] = [None, File()]
                files[new][-1].write(0, text)
        elif what == "replace":

            def do():
                other = path.with_name(f"other {number}")
                other.write_bytes(text)
                synced(other)
                other.rename(path)

            def model():
                files[name].append(File(text))
        else:

            def do():
                synced(path, os.fsync if two < 0.5 else os.fdatasync)
                if one < 0.5:
                    synced(path.parent)

            def model():
                file.sync()
                files[name] = [file]
        self.around(do, model, number, what == "sync", point, mark)

    def around(self, do, model, number, is_sync, point, mark):
        """While an operation runs, its change may be there; what a sync promises holds when it has returned."""
        if point:
            mark(f"begin {number}")
            do()
            mark(f"end {number}")
        elif f"begin {number}" in mark and (f"end {number}" in mark or not is_sync):
            model()

    def run(self, folder, mark):
        files = self.start()
        for half, cache in enumerate(self.CACHES):
            with on_a_mount(["-w", *self.key, *cache], folder / "vault", self.point, self.place.prefix) as point:
                for planned in self.plan[half * self.OPERATIONS : (half + 1) * self.OPERATIONS]:
                    self.act(files, planned, point, mark)
                    self.act(files, planned, None, {f"begin {planned[-1]}", f"end {planned[-1]}"})
                mark(f"begin unmount {half}")
            mark(f"end unmount {half}")

    def expected(self, said):
        files = self.start()
        for half in range(len(self.CACHES)):
            for planned in self.plan[half * self.OPERATIONS : (half + 1) * self.OPERATIONS]:
                if f"begin {planned[-1]}" not in said:
                    return files
                self.act(files, planned, None, said)
            if f"end unmount {half}" in said:
                for name, found in files.items():
                    found[-1].sync()
                    files[name] = [found[-1]]
        return files

    def check(self, folder, said):
        with on_a_mount(self.key, folder / "vault", self.point) as point:
            for name, found in self.expected(said).items():
                path = point / name
                if None in found and not is_there(path):
                    continue
                faults = [file.fault(path) for file in found if file]
                require("" in faults, f"{name}: {'; '.join(faults)}")
