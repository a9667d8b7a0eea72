# SPDX-License-Identifier: Apache-2.0
# A mount that is killed while programs write to it, at any moment and at one of its calls to the system: 3 kills of
# each kind in every test run, 200 with PAES_EXHAUSTIVE. The programs choose what they do by a seed, so that a model
# here can do the same up to where the kill came.
#
# A kill ends the program and not the system: what the program has stored stays stored. So a change of names stays
# once it has returned, and so does a write where the system holds nothing back. What the system does hold back is
# there once a sync has returned. A block that was changed since then may have any content that it had since then.
# None is damaged, also where the kill came within the write of it: a process beside the mount completes that.
import contextlib
import errno
import fcntl
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import preload
import program
import pytest
from test_mount import (  # noqa: F401  (fixtures among them)
    BLOCK,
    HEADER,
    LIMIT_S,
    MOUNT,
    STRIDE,
    is_mounted,
    mounts,
    own_vault,
    vault_of_format,
    why_not_beside_gocryptfs,
)
from test_mount_writes import CACHES, check, end, opened, said_by_gocryptfs

pytestmark = pytest.mark.skipif(why_not_beside_gocryptfs() is not None, reason=str(why_not_beside_gocryptfs()))

KILLS = 200 if os.environ.get("PAES_EXHAUSTIVE") else 3
WRITERS = 4
KINDS = ("aes-gcm", "aes-siv", "xchacha", "plaintext names", "deterministic names")
SHARED, SHARED_BLOCKS = "shared", 64
LARGEST = 3 << 20
MOST_OPEN = 6
LONG = "n" * 200
# What a program gets whose mount has gone.
# The last is for requests that came through io_uring and nobody had seen.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ECANCELED}


# ---- what the files should have


def blocks_of(begin, end):
    return range(begin // BLOCK, -(-end // BLOCK))


class File:
    """A text, and for each block that was changed since the last sync what it has had since then."""

    def __init__(self, text=b""):
        self.text = bytearray(text)
        self.contents = {}
        self.sizes = {len(text)}

    def block(self, number):
        return bytes(self.text[number * BLOCK : (number + 1) * BLOCK])

    def change(self, begin, blocks):
        for number in blocks:
            self.contents.setdefault(number, [self.block(number)])
        begin()
        for number in blocks:
            self.contents[number].append(self.block(number))
        self.sizes.add(len(self.text))

    def write(self, offset, text):
        def put():
            self.text.extend(bytes(max(0, offset - len(self.text))))
            self.text[offset : offset + len(text)] = text

        # To grow, the last block is written anew.
        grows = offset + len(text) > len(self.text)
        self.change(put, blocks_of(min(offset, len(self.text)) if grows else offset, offset + len(text)))

    def set_length(self, length):
        old = len(self.text)
        if length >= old:
            return self.write(length, b"")

        def cut():
            del self.text[length:]

        # What the system still holds of a block may come after the cut.
        self.change(cut, blocks_of(length, old))
        if length % BLOCK:
            contents = self.contents[length // BLOCK]
            contents.extend({content[: length % BLOCK] for content in contents})

    def sync(self):
        self.contents = {}
        self.sizes = {len(self.text)}

    def may_be(self, number, found):
        """A block that has grown by a hole has zeros there."""
        if number not in self.contents:
            return found == self.block(number)
        return any(content.ljust(len(found), b"\0")[: len(found)] == found for content in self.contents[number])


# ---- what the programs do


@dataclass
class Step:
    """`do` acts on the mount, `model` on the model. `touched`: paths whose names change."""

    do: object
    model: object
    file: File = None
    is_sync: bool = False
    touched: tuple = ()


class Writer:
    """One program. All that it does follows from the seed, and from nothing that it sees."""

    def __init__(self, seed, number, holds_back, shared):
        self.chance = random.Random(f"{seed} {number}")
        self.number = number
        self.root = f"writer {number}"
        self.holds_back = holds_back
        self.names = {self.root: None}  # path -> its file, or None for a folder
        self.shared = File(shared)
        self.descriptors = {}
        self.point = None

    # -- on the mount

    def descriptor(self, file, path):
        """The last files stay open, because the system writes what it holds of a file that is closed."""
        if file not in self.descriptors:
            while len(self.descriptors) >= MOST_OPEN:
                os.close(self.descriptors.pop(next(iter(self.descriptors))))
            self.descriptors[file] = os.open(self.point / path, os.O_RDWR)
        return self.descriptors[file]

    def put(self, file, path, offset, text):
        """A write that the kill meets answers how much it has written. The next one gets the error."""
        done = 0
        while done < len(text):
            done += os.pwrite(self.descriptor(file, path), text[done:], offset + done)

    def sync_folder(self, path):
        with opened(self.point / path, os.O_RDONLY | os.O_DIRECTORY) as folder:
            os.fsync(folder)

    # -- what comes next

    def of_kind(self, is_folder):
        return [path for path, file in self.names.items() if (file is None) == is_folder]

    def new_path(self):
        folder = self.chance.choice(self.of_kind(is_folder=True))
        name = f"{self.chance.choice(['', '', '', LONG])}{self.chance.randrange(8)}"
        return f"{folder}/{name}"

    def some_bytes(self, most=LARGEST):
        """Whole blocks or any number, few or many."""
        most = self.chance.choice([most // 40, most // 40, most // 40, most])
        if self.chance.random() < 0.5:
            return BLOCK * self.chance.randint(1, max(1, most // BLOCK))
        return self.chance.randint(1, most)

    def create(self):
        path, file = self.new_path(), File()
        if path in self.names:
            return None

        def do():
            self.descriptors[file] = os.open(self.point / path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

        return Step(do, lambda: self.names.update({path: file}), touched=(path,))

    def some_file(self):
        files = self.of_kind(is_folder=False)
        path = self.chance.choice(files) if files else None
        return path, self.names.get(path)

    def write_at(self, offset, path, file):
        text = self.chance.randbytes(min(self.some_bytes(), LARGEST - offset))
        return Step(lambda: self.put(file, path, offset, text), lambda: file.write(offset, text), file)

    def append(self):
        path, file = self.some_file()
        return self.write_at(len(file.text), path, file) if file and len(file.text) < LARGEST else None

    def overwrite(self):
        path, file = self.some_file()
        if not file or not file.text:
            return None
        offset = self.chance.randrange(len(file.text))
        return self.write_at(self.chance.choice([offset, offset // BLOCK * BLOCK]), path, file)

    def set_length(self):
        path, file = self.some_file()
        if not file:
            return None
        length = self.chance.choice([0, self.some_bytes(), self.chance.randint(0, len(file.text))])
        by_path = self.chance.random() < 0.5

        def do():
            os.truncate(self.point / path if by_path else self.descriptor(file, path), length)

        return Step(do, lambda: file.set_length(length), file)

    def rename(self):
        path, file = self.some_file()
        to = self.new_path()
        if not file or to == path or (to in self.names and self.names[to] is None):
            return None

        def model():
            self.names[to] = self.names.pop(path)

        return Step(lambda: os.rename(self.point / path, self.point / to), model, touched=(path, to))

    def unlink(self):
        path, file = self.some_file()
        if not file:
            return None
        return Step(lambda: os.unlink(self.point / path), lambda: self.names.pop(path), touched=(path,))

    def mkdir(self):
        path = self.new_path()
        if path in self.names or path.count("/") > 3:
            return None
        return Step(lambda: os.mkdir(self.point / path), lambda: self.names.update({path: None}), touched=(path,))

    def rmdir(self):
        empty = [path for path in self.of_kind(is_folder=True)
                 if path != self.root and not any(other.startswith(path + "/") for other in self.names)]
        if not empty:
            return None
        path = self.chance.choice(empty)
        return Step(lambda: os.rmdir(self.point / path), lambda: self.names.pop(path), touched=(path,))

    def sync(self):
        path, file = self.some_file()
        if not file:
            return None
        flush = self.chance.choice([os.fsync, os.fdatasync])
        return Step(lambda: flush(self.descriptor(file, path)), lambda: None, file, is_sync=True)

    def sync_of_folder(self):
        path = self.chance.choice(self.of_kind(is_folder=True))
        return Step(lambda: self.sync_folder(path), lambda: None)

    def share(self):
        """Each program has blocks of its own in a file that all of them write to."""
        offset = self.chance.randrange(self.number, SHARED_BLOCKS, WRITERS) * BLOCK
        begin, end = sorted(self.chance.choices(range(BLOCK + 1), k=2))
        begin, end = self.chance.choice([(0, BLOCK), (begin, end)])
        text = self.chance.randbytes(end - begin)
        return Step(lambda: self.put(self.shared, SHARED, offset + begin, text),
                    lambda: self.shared.write(offset + begin, text), self.shared)

    def sync_shared(self):
        return Step(lambda: os.fsync(self.descriptor(self.shared, SHARED)), lambda: None, self.shared, is_sync=True)

    WEIGHTS = {
        create: 8, append: 16, overwrite: 24, set_length: 8, rename: 8, unlink: 3, mkdir: 3, rmdir: 2, sync: 10,
        sync_of_folder: 4, share: 10, sync_shared: 3,
    }

    def next(self):
        while True:
            (choose,) = self.chance.choices(list(self.WEIGHTS), self.WEIGHTS.values())
            if step := choose(self):
                return step

    def done(self, step):
        step.model()
        if step.file and (step.is_sync or not self.holds_back):
            step.file.sync()

    # -- the program, and what is known of it afterwards

    def run(self, point, report):
        """Tells before each step and after it, and at last why there was no other."""
        self.point = point
        try:
            while True:
                step = self.next()
                os.write(report, f"{self.number} begun {'content' if step.file else 'names'}\n".encode())
                step.do()
                os.write(report, f"{self.number} done\n".encode())
                self.done(step)
        except OSError as error:
            os.write(report, f"{self.number} {errno.errorcode[error.errno]} {time.monotonic()}\n".encode())
        os._exit(0)

    def follow(self, begun, done):
        """The trees that there may be, with the paths of the one change under way."""
        for _ in range(done):
            self.done(self.next())
        trees = [dict(self.names)]
        if begun == done:
            return trees, ()
        step = self.next()
        step.model()
        return [*trees, dict(self.names)], step.touched


# ---- the kill


class Reports:
    """What all programs tell, in the order in which they do. `moment` is there when so many steps are done and, if
    that is wanted, some program begins to change content or syncs it."""

    def __init__(self, source, steps, in_content):
        self.begun, self.done = [0] * WRITERS, [0] * WRITERS
        self.ends = {}
        self.steps, self.in_content = steps, in_content
        self.moment = threading.Event()
        self.reader = threading.Thread(target=self.read, args=(source,))
        self.reader.start()

    def read(self, source):
        with open(source, encoding="ascii") as lines:
            for line in lines:
                if sum(self.done) >= self.steps and (not self.in_content or line.endswith("content\n")):
                    self.moment.set()
                writer, what, *when = line.split()
                if what == "begun":
                    self.begun[int(writer)] += 1
                elif what == "done":
                    self.done[int(writer)] += 1
                else:
                    self.ends[int(writer)] = what, float(when[0])
                    self.moment.set()


def kill(process, moment, in_content, chance):
    """Gives the time before the kill."""
    has_come = moment.wait(LIMIT_S)
    time.sleep(chance.uniform(0, 0.002 if in_content else 0.02))
    killed = time.monotonic()
    process.kill()
    assert has_come, "the programs do nothing"
    return killed


def run_until_killed(writers, point, process, chance, dies_itself):
    """The reports of the programs, which have ended."""
    source, report = os.pipe()
    context = multiprocessing.get_context("fork")
    programs = [context.Process(target=writer.run, args=(point, report), daemon=True) for writer in writers]
    for started in programs:
        started.start()
    os.close(report)
    in_content = chance.random() < 0.7
    reports = Reports(source, chance.randrange(500), in_content)
    killed = 0 if dies_itself else kill(process, reports.moment, in_content, chance)
    process.wait(LIMIT_S)
    for started in programs:
        started.join(LIMIT_S)
        started.kill()  # nothing, unless it hangs
    reports.reader.join(LIMIT_S)
    subprocess.run(["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
    assert not is_mounted(point)
    assert [started.exitcode for started in programs] == [0] * WRITERS
    for number, (what, when) in reports.ends.items():
        assert getattr(errno, what) in GONE and when >= killed, f"program {number} has met {what}"
    return reports


# ---- what is there afterwards


def read_blocks(path, size):
    """Each block, or None for one that cannot be read."""
    with opened(path, os.O_RDONLY) as file:
        for number in blocks_of(0, size):
            try:
                yield os.pread(file, BLOCK, number * BLOCK)
            except OSError as error:
                assert error.errno == errno.EIO
                yield None


def compare(point, path, file, is_own=lambda number: True):
    size = (point / path).stat().st_size
    known = size in file.sizes or size % BLOCK == 0
    assert min(file.sizes) <= size <= max(file.sizes) and known, f"{path} has {size} bytes and not {file.sizes}"
    for number, block in enumerate(read_blocks(point / path, size)):
        if is_own(number):
            assert block is not None, f"{path}: block {number} is damaged"
            assert file.may_be(number, block), f"{path}: block {number} has another content"


def orphans_of(vault):
    """Paths of long names that nothing has. There is no damage."""
    found = program.run("vault", "fsck", "--json", "--passphrase-file", vault.passfile, vault.path)
    assert found.code == program.OK, found.out
    missing = "what has this long name is missing"
    return [finding["path"] for finding in json.loads(found.out)["leftovers"] if finding["what"] == missing]


def check_tree(point, writer, trees):
    root = point / writer.root
    names = {str(path.relative_to(point)): path.is_dir() for path in [root, *program.all_below(root)]}
    for tree in trees:
        if names == {path: file is None for path, file in tree.items()}:
            for path, file in tree.items():
                if file is not None:
                    compare(point, path, file)
            return
    missing = [sorted(path for path, file in tree.items() if names.get(path) != (file is None)) for tree in trees]
    added = [sorted(names.keys() - tree.keys()) for tree in trees]
    raise AssertionError(f"names of program {writer.number}: missing {missing}, added {added}")


def check_findings(vault, allowed_orphans):
    """Neither check finds damage. Gives the names that are left over."""
    orphans = orphans_of(vault)
    code, said = said_by_gocryptfs(vault)
    assert code == 0 and [line for line in said if not line.startswith("fsck summary:")] == [], said
    for orphan in orphans:
        assert os.path.dirname(orphan) in allowed_orphans, f"{orphan}: no change of a long name was under way"
    return orphans


# ---- one kill


def filled(point, seed):
    """What was synced before the programs begin: a file that nobody changes, and the one of all."""
    chance = random.Random(f"{seed} filled")
    texts = {"kept": chance.randbytes(10 * BLOCK + 77), SHARED: chance.randbytes(SHARED_BLOCKS * BLOCK)}
    for name, text in texts.items():
        with opened(point / name, os.O_RDWR | os.O_CREAT) as file:
            assert os.pwrite(file, text, 0) == len(text)
            os.fsync(file)
    for number in range(WRITERS):
        (point / f"writer {number}").mkdir()
    return texts


def kill_and_compare(mounts, vault, seed, cache="back", prefix=(), meddle=lambda: None, **variables):  # noqa: F811
    """Gives how many steps were done, and how many names are left over. With variables the mount ends itself."""
    chance = random.Random(f"{seed} kill")
    point, process = mounts.in_foreground(vault, "-w", *CACHES[cache], prefix=prefix, **variables)
    texts = filled(point, seed)
    writers = [Writer(seed, number, cache == "back", texts[SHARED]) for number in range(WRITERS)]
    reports = run_until_killed(writers, point, process, chance, bool(variables))
    meddle()
    orphans = compare_all(mounts, vault, writers, reports, texts["kept"])
    remove_all(mounts, vault)
    return sum(reports.done), len(orphans)


def compare_all(mounts, vault, writers, reports, kept):  # noqa: F811
    point = mounts.by_paes(vault)
    assert {path.name for path in point.iterdir()} == {"kept", SHARED, *(writer.root for writer in writers)}
    compare(point, "kept", File(kept))
    allowed = set()
    for writer, begun, done in zip(writers, reports.begun, reports.done):
        trees, touched = writer.follow(begun, done)
        allowed |= {os.path.dirname(path) for path in touched if LONG in os.path.basename(path)}
        check_tree(point, writer, trees)
        compare(point, SHARED, writer.shared, lambda block, own=writer.number: block % WRITERS == own)
    end(mounts, point)
    return check_findings(vault, allowed)


def remove_all(mounts, vault):  # noqa: F811
    """What is left over goes with its folder."""
    point = mounts.by_paes(vault, "-w")
    for path in point.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    end(mounts, point)
    check(vault)
    leftovers = program.run("vault", "fsck", "--json", "--passphrase-file", vault.passfile, vault.path)
    assert json.loads(leftovers.out)["leftovers"] == []


def kill_often(mounts, tmp_path, prefix=(), variables_of=lambda chance: {}):  # noqa: F811
    """PAES_SEED has one kill with that seed."""
    given = os.environ.get("PAES_SEED")
    first = int(given or random.SystemRandom().randrange(1 << 32))
    totals = [0, 0]
    for seed in range(first, first + (1 if given else KILLS)):
        chance = random.Random(f"{seed} kind")
        kind, cache = chance.choice(KINDS), chance.choice([*CACHES, "back", "back"])
        variables = variables_of(chance)
        folder = tmp_path / f"of {seed}"
        vault = vault_of_format(folder, kind)
        print(f"PAES_SEED={seed}: {kind}, {cache}", *variables.items())
        counted = kill_and_compare(mounts, vault, seed, cache, prefix, **variables)
        totals = [a + b for a, b in zip(totals, counted)]
        shutil.rmtree(folder)
    print("{} steps, {} long names left over".format(*totals))


def test_killed_while_programs_write(mounts, tmp_path):  # noqa: F811
    kill_often(mounts, tmp_path)


def test_killed_at_a_call(mounts, preloaded, tmp_path):  # noqa: F811
    def variables_of(chance):
        # The first calls are those of filled().
        return {"CALL": str(chance.randrange(100, 1000)), "PART": str(chance.randrange(1000))}

    kill_often(mounts, tmp_path, preloaded(preload.KILLED_AT), variables_of)


# ---- blocks that are written over, and nothing else


OVERWRITES = 5000 if os.environ.get("PAES_EXHAUSTIVE") else 6
OVERWRITTEN_BLOCKS, OVERWRITERS = 512, 3


def numbered(block, generation):
    """A block that says which it is, and which write it is of."""
    head = block.to_bytes(8, "little") + generation.to_bytes(8, "little")
    return head + bytes([(block + 3 * generation) % 256]) * (BLOCK - len(head))


def write_over(path, generation, seed):
    """Until the mount is gone."""
    chance = random.Random(seed)
    try:
        with opened(path, os.O_RDWR) as file:
            while True:
                generation += 1
                count = chance.choice([1, 8, 32, 64])
                first = chance.randrange(OVERWRITTEN_BLOCKS - count)
                text = b"".join(numbered(first + i, generation) for i in range(count))
                os.pwrite(file, text, first * BLOCK)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # the system begins to write what it holds
                if chance.random() < 0.1:
                    os.fdatasync(file)  # the system holds writes for a mount that is gone, too
    except OSError:
        os._exit(0)


def check_numbered(path, begun):
    """Each block is of a write that was begun, as a whole."""
    with opened(path, os.O_RDONLY) as file:
        for number in range(OVERWRITTEN_BLOCKS):
            block = os.pread(file, BLOCK, number * BLOCK)
            generation = int.from_bytes(block[8:16], "little")
            assert block == numbered(number, generation) and generation < begun, f"{path.name}: block {number}"


def test_killed_while_synced_blocks_are_written_over(mounts, tmp_path):  # noqa: F811
    chance = random.Random()
    context = multiprocessing.get_context("fork")
    vaults = {}
    for kill_number in range(OVERWRITES):
        kind, cache = chance.choice(["aes-gcm", "xchacha"]), chance.choice(list(CACHES))
        vault = vaults[kind] = vaults.get(kind) or vault_of_format(tmp_path / kind, kind)
        point, process = mounts.in_foreground(vault, "-w", *CACHES[cache])
        paths = [point / f"file {i}" for i in range(OVERWRITERS)]
        for path in paths:
            if not path.exists():
                path.write_bytes(b"".join(numbered(i, 0) for i in range(OVERWRITTEN_BLOCKS)))
                with opened(path, os.O_RDWR) as file:
                    os.fsync(file)
        first = kill_number << 32
        writers = [context.Process(target=write_over, args=(path, first, chance.random())) for path in paths]
        for writer in writers:
            writer.start()
        time.sleep(chance.uniform(0.02, 0.2))
        process.kill()
        process.wait(LIMIT_S)
        for writer in writers:
            writer.join(LIMIT_S)
        subprocess.run(["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
        check(vault)
        if kill_number % 20 == 0 or kill_number == OVERWRITES - 1:
            point = mounts.by_paes(vault)
            for number in range(OVERWRITERS):
                check_numbered(point / f"file {number}", first + (1 << 32))
            end(mounts, point)


@pytest.mark.parametrize("is_completed", [True, False])
def test_a_write_that_the_kill_cuts_is_completed(own_vault, mounts, preloaded, is_completed):  # noqa: F811
    """The mount dies in the middle of a run of blocks, and of a block. Without the other process that one is lost."""
    blocks = 16  # one write of the mount
    point = mounts.by_paes(own_vault, "-w")
    (point / "file").write_bytes(b"".join(numbered(i, 0) for i in range(blocks)))
    end(mounts, point)
    point, process = mounts.in_foreground(
        own_vault, "-w", "--cache=through", prefix=preloaded(preload.KILLED_AT), CALL="2", PART="530",
    )
    if not is_completed:
        os.kill(completer_of(process.pid), signal.SIGKILL)
    with contextlib.suppress(OSError), opened(point / "file", os.O_RDWR) as file:
        os.pwrite(file, numbered(0, 0), 0)  # the other process counts as well, and has one call to make
        os.pwrite(file, b"".join(numbered(i, 1) for i in range(blocks)), 0)
    assert process.wait(LIMIT_S) == -signal.SIGKILL
    subprocess.run(["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
    point = mounts.by_paes(own_vault, "-w")  # which waits for the process
    with opened(point / "file", os.O_RDONLY) as file:
        if is_completed:
            seen = [os.pread(file, BLOCK, i * BLOCK) for i in range(blocks)]
            assert seen == [numbered(i, 1) for i in range(blocks)]
        else:
            with pytest.raises(OSError, match="Input/output error"):
                for i in range(blocks):
                    os.pread(file, BLOCK, i * BLOCK)
    end(mounts, point)


# ---- the process that completes


def completer_of(mount):
    """The process that completes the writes of a mount. Just after it has mounted, libfuse calls mount(8) as well."""
    children = Path(f"/proc/{mount}/task/{mount}/children").read_text().split()
    (completer,) = (child for child in children if program_of(child) == "paes-complete")
    return int(completer)


def program_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None  # it has ended meanwhile


def readable_memory(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("r") and end - begin < 64 << 20:
                memory.seek(begin)
                with contextlib.suppress(OSError):  # pages that belong to the system
                    yield memory.read(end - begin)


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone may look into the memory of a mount")
def test_the_process_that_completes_sees_no_text(own_vault, mounts):  # noqa: F811
    point, process = mounts.in_foreground(own_vault, "-w", "--cache=through")
    text = random.randbytes(BLOCK)
    with opened(point / "file", os.O_RDWR | os.O_CREAT) as file:
        os.pwrite(file, text, 0)
    secret = Path(own_vault.passfile).read_bytes().strip()
    stored = own_vault.stored(HEADER + STRIDE).read_bytes()[HEADER:]
    seen = b"".join(readable_memory(completer_of(process.pid)))
    assert stored in seen and text not in seen and secret not in seen


def test_the_process_that_completes_ends_with_the_mount_alone(own_vault, mounts):  # noqa: F811
    point, process = mounts.in_foreground(own_vault, "-w")
    completer = completer_of(process.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        os.kill(completer, number)
    assert os.getsid(completer) == completer  # and a signal to the mount's group is not for it
    assert completer_of(process.pid) == completer
    subprocess.run(["fusermount3", "-u", point], timeout=LIMIT_S, check=True)
    assert process.wait(LIMIT_S) == 0
    assert not Path(f"/proc/{completer}").exists()


def test_a_mount_whose_completing_process_is_gone_says_so(own_vault, mounts):  # noqa: F811
    point, process = mounts.in_foreground(own_vault, "-w")
    os.kill(completer_of(process.pid), signal.SIGKILL)
    line = process.stderr.readline()
    assert line.endswith("blocks that are being written are lost: the process that completes them is gone\n"), line
    (point / "file").write_text("text")
    assert (point / "file").read_text() == "text"
    subprocess.run(["fusermount3", "-u", point], timeout=LIMIT_S, check=True)
    assert process.wait(LIMIT_S) == 0


# ---- what the process that completes has not written yet


def stopped_while_it_completes(mounts, vault, *options):  # noqa: F811
    """The number of a process that shall complete what a killed mount was writing, and is stopped."""
    point, process = mounts.in_foreground(vault, "-w", *options)
    (point / "file").write_text("old")
    completer = completer_of(process.pid)
    os.kill(completer, signal.SIGSTOP)
    process.kill()
    process.wait(LIMIT_S)
    subprocess.run(["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
    return completer


@pytest.mark.parametrize("options", [[], ["--shared"]])
def test_a_new_mount_waits_for_the_process_that_completes(own_vault, mounts, options):  # noqa: F811
    completer = stopped_while_it_completes(mounts, own_vault, *options)
    try:
        error = mounts.by_paes(own_vault, "-w", *options, code=1)
        assert f": paes-complete (process {completer}) has not yet completed" in error, error
        assert (mounts.by_paes(own_vault) / "file").read_text() == "old"  # those that read need not wait
        timer = threading.Timer(1, os.kill, (completer, signal.SIGCONT))
        timer.start()
        point = mounts.by_paes(own_vault, "-w", *options)
        timer.join()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(completer, signal.SIGCONT)
    (point / "file").write_text("new")
    end(mounts, point)


def test_a_second_mount_that_writes_is_refused(own_vault, mounts):  # noqa: F811
    _, process = mounts.in_foreground(own_vault, "-w")
    error = mounts.by_paes(own_vault, "-w", "--shared", code=1)
    assert f": another mount (process {process.pid}) writes to it" in error, error


def test_put_and_a_mount_that_writes_refuse_each_other(own_vault, mounts, tmp_path):  # noqa: F811
    words = ("vault", "put", "-q", "--passphrase-file", own_vault.passfile, own_vault.path)
    source = tmp_path / "source"
    source.write_text("text")
    point, process = mounts.in_foreground(own_vault, "-w")
    result = program.fail(*words, source, code=1, says=rf"another mount \(process {process.pid}\) writes to it")
    assert "unmount that first" in result.err
    assert list(point.iterdir()) == []
    subprocess.run(["fusermount3", "-u", point], timeout=LIMIT_S, check=True)
    assert process.wait(LIMIT_S) == 0
    with program.start(*words, "--as", "piped", "-", stdin=subprocess.PIPE) as putting:
        reading = mounts.by_paes(own_vault)  # those that read need not wait
        error = mounts.by_paes(own_vault, "-w", code=1)
        assert f": 'paes vault put' (process {putting.pid}) writes to it" in error, error
        putting.communicate(b"text", timeout=LIMIT_S)
    assert (reading / "piped").read_text() == "text"


def test_mounts_that_share_a_vault_are_not_refused(own_vault, mounts):  # noqa: F811
    one, two = (mounts.by_paes(own_vault, "-w", "--shared") for _ in range(2))
    (one / "file").write_text("text")
    assert (two / "file").read_text() == "text"
    error = mounts.by_paes(own_vault, "-w", code=1)
    assert "another mount (process " in error, error


# A process with the name of a mount that gets the children of what it starts, and waits for none of them.
ADOPTING = """
import ctypes, subprocess, sys
prctl = ctypes.CDLL(None).prctl
assert prctl(15, b"paes-mount", 0, 0, 0) == 0 and prctl(36, 1, 0, 0, 0) == 0
started = subprocess.Popen(sys.argv[1:])
print(started.pid, file=sys.stderr, flush=True)
started.wait()
input()
"""


def test_a_mount_that_adopts_the_process_that_completes_is_not_its_mount(own_vault, mounts):  # noqa: F811
    point = mounts.point()
    words = [MOUNT, "-f", "-w", "--shared", "--passphrase-file", own_vault.passfile, own_vault.path, point]
    with subprocess.Popen([sys.executable, "-c", ADOPTING, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=program.clean_environment()) as adopting, contextlib.ExitStack() as at_end:
        # Whatever fails: it ends only once the mount has.
        at_end.callback(adopting.communicate, "\n", timeout=LIMIT_S)
        at_end.callback(subprocess.run, ["fusermount3", "-uz", point], timeout=LIMIT_S, check=True)
        mount = int(adopting.stderr.readline())
        program.wait_until(lambda: is_mounted(point), "the mount", LIMIT_S)
        completer = completer_of(mount)
        os.kill(completer, signal.SIGSTOP)
        at_end.callback(os.kill, completer, signal.SIGCONT)
        os.kill(mount, signal.SIGKILL)
        parent = f"PPid:\t{adopting.pid}\n"
        program.wait_until(lambda: parent in Path(f"/proc/{completer}/status").read_text(), "the parent", LIMIT_S)
        error = mounts.by_paes(own_vault, "-w", "--shared", code=1)
        assert f": paes-complete (process {completer}) has not yet completed" in error, error


# Root without this capability and outside of that group sees as little as another user.
HIDING = 'mount -t proc -o hidepid=2,gid=65534 proc /proc && exec setpriv --bounding-set=-sys_ptrace -- "$@"'


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone mounts /proc")
@pytest.mark.parametrize("options", [[], ["--shared"]])
def test_a_mount_that_cannot_be_seen_counts(own_vault, mounts, mount_space, options):  # noqa: F811
    mounts.in_foreground(own_vault, "-w", *options)
    hiding = [*mount_space, "sh", "-c", HIDING, "sh"]
    tried = subprocess.run([*hiding, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no /proc that hides processes here: {tried.stderr}")
    words = [MOUNT, "-f", "-w", *options, "--passphrase-file", own_vault.passfile, own_vault.path, mounts.point()]
    done = subprocess.run([*hiding, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 1 and "its process cannot be seen" in done.stderr, done.stderr


def test_who_locks_the_folder_holds_no_mount_back(own_vault, mounts):  # noqa: F811
    folder = os.open(own_vault.path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    before = time.monotonic()
    point, process = mounts.in_foreground(own_vault, "-w")
    assert time.monotonic() - before < LIMIT_S / 2
    assert "another program has locked this folder: nothing holds a second mount back" in process.stderr.readline()
    os.close(folder)
    (point / "file").write_text("text")
    end(mounts, point)


def test_a_folder_that_cannot_be_locked_is_mounted(own_vault, mounts, preloaded):  # noqa: F811
    point, process = mounts.in_foreground(own_vault, "-w", prefix=preloaded(preload.LOCKLESS))
    line = process.stderr.readline()
    assert line.endswith(": this folder cannot be locked: No locks available: nothing holds a second mount back that "
                         "writes to it\n"), line
    (point / "file").write_text("text")
    end(mounts, point)


# ---- that losses are found


def flip(stored):
    text = bytearray(stored.read_bytes())
    text[HEADER + STRIDE + 100] ^= 1
    stored.write_bytes(text)


def cut(stored):
    os.truncate(stored, HEADER + 10 * STRIDE)


@pytest.mark.parametrize(("harm", "words"), [
    (flip, "kept: block 1 is damaged"),
    (cut, "kept has 40960 bytes"),
    (os.unlink, "kept"),
])
def test_harm_to_what_was_synced_is_found(own_vault, mounts, harm, words):  # noqa: F811
    def meddle():
        harm(own_vault.stored(HEADER + 10 * STRIDE + 77 + STRIDE - BLOCK))

    with pytest.raises(AssertionError, match=words):
        kill_and_compare(mounts, own_vault, 1, meddle=meddle)


@pytest.mark.parametrize("cache", ["back", "through"])
def test_writes_that_are_lost_are_found(own_vault, mounts, preloaded, cache):  # noqa: F811
    """With this seed the kill comes after 500 steps."""
    with pytest.raises(AssertionError, match="has another content|bytes and not"):
        kill_and_compare(mounts, own_vault, 25, cache, preloaded(preload.LOSING))


def test_syncs_that_do_nothing_are_found(own_vault, mounts, monkeypatch):  # noqa: F811
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: None)
    with pytest.raises(AssertionError, match="has another content|bytes and not"):
        kill_and_compare(mounts, own_vault, 25)
