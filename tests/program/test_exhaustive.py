# SPDX-License-Identifier: Apache-2.0
# Every single-bit flip and every truncation of a three-chunk file, through the program itself: one
# `paes decrypt` each, which must exit with 3 (or 4 where the envelope is hit) and leave no output.
# Some 330,000 programs, so only `./dev check --deep` asks for it: PAES_EXHAUSTIVE=1 runs all,
# PAES_EXHAUSTIVE=N every Nth. test_tamper.py samples the same in every test run.
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import age_file
import container
import pytest
from program import CORRUPT, OK, PAES, WRONG_KEY, clean_environment

STEP = int(os.environ.get("PAES_EXHAUSTIVE") or 0)
TEXT_BYTES = 2 * container.TEXT_BYTES + 1  # the smallest text in three chunks
CASES_A_TASK = 500
REPORT_S = 30

pytestmark = pytest.mark.skipif(
    not STEP, reason="every bit and every length, about half an hour: ./dev check --deep"
)


class Decryption:
    """Runs of paes on one file that is changed in place, in a folder that holds nothing else."""

    def __init__(self, sealed, key_path):
        self.sealed = sealed
        self.folder = tempfile.mkdtemp(dir=Path(key_path).parent)
        self.path = f"{self.folder}/in.paes"
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        os.pwrite(self.file, sealed, 0)
        self.arguments = [PAES, "decrypt", "-T", "1", "-i", key_path, self.path]
        null = os.open(os.devnull, os.O_RDWR)
        self.actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)]

    def run(self):
        """The exit code, and whether a file appeared, which is then removed."""
        pid = os.posix_spawn(PAES, self.arguments, clean_environment(), file_actions=self.actions)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        left = [name for name in os.listdir(self.folder) if name != "in.paes"]
        for name in left:
            os.unlink(f"{self.folder}/{name}")
        return code, bool(left)

    def with_flipped(self, bit):
        at = bit // 8
        os.pwrite(self.file, bytes([self.sealed[at] ^ 1 << bit % 8]), at)
        result = self.run()
        os.pwrite(self.file, self.sealed[at : at + 1], at)
        return result

    def cut_to(self, size):
        os.ftruncate(self.file, size)
        result = self.run()
        os.pwrite(self.file, self.sealed[size:], size)
        return result

    def is_restored(self):
        return os.pread(self.file, len(self.sealed) + 1, 0) == self.sealed


def try_some(sealed, key_path, kind, numbers):
    """What was not rejected as it must be, of one kind of damage; runs in a process of its own."""
    decryption = Decryption(sealed, key_path)
    assert decryption.run() == (OK, True), "the file must open before it is damaged"
    envelope_end = container.HEADER_BYTES + int.from_bytes(sealed[12:16], "big")
    damage = {"bit": decryption.with_flipped, "length": decryption.cut_to}[kind]
    wrong = []
    for number in numbers:
        code, left = damage(number)
        at = number // 8 if kind == "bit" else number
        in_envelope = container.HEADER_BYTES <= at < envelope_end
        if left or not (code == CORRUPT or in_envelope and code == WRONG_KEY):
            wrong.append(f"{kind} {number}: exit code {code}{', with an output' * left}")
    assert decryption.is_restored()
    assert decryption.run() == (OK, True), "the file must open when its damage is undone"
    return wrong


def tasks_of(sealed):
    everything = {"bit": range(0, 8 * len(sealed), STEP), "length": range(0, len(sealed), STEP)}
    for kind, numbers in everything.items():
        for first in range(0, len(numbers), CASES_A_TASK):
            yield kind, numbers[first : first + CASES_A_TASK]


@pytest.fixture
def place():
    """In memory where that is possible."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as path:
        yield Path(path)


def test_every_bit_and_every_length(place, random_bytes, capsys):
    recipient = age_file.keygen(place / "key.txt")
    sealed = container.make(
        2, random_bytes(TEXT_BYTES), lambda key: age_file.age_encrypt(key, [recipient])
    )
    assert len(sealed) == container.size(TEXT_BYTES)
    tasks = list(tasks_of(sealed))
    total = sum(len(numbers) for _, numbers in tasks)
    start = reported = time.monotonic()
    done = {"bit": 0, "length": 0}
    wrong = []

    def report(text):
        with capsys.disabled():
            print(f"{text}, {time.monotonic() - start:.0f} s", flush=True)

    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [
            (kind, numbers, pool.submit(try_some, sealed, str(place / "key.txt"), kind, numbers))
            for kind, numbers in tasks
        ]
        for kind, numbers, task in running:
            wrong += task.result()
            done[kind] += len(numbers)
            if time.monotonic() - reported > REPORT_S:
                reported = time.monotonic()
                report(f"{sum(done.values())} of {total} damaged files, {len(wrong)} wrong")
    report(
        f"\nOf {len(sealed)} bytes: {done['bit']} flipped bits and {done['length']} lengths, "
        f"{len(wrong)} not rejected as they must be"
    )
    assert wrong == []
    assert STEP > 1 or done == {"bit": 8 * len(sealed), "length": len(sealed)}
