# SPDX-License-Identifier: Apache-2.0
# Another user in a folder that both can write to, sticky (as /tmp is) or not, who exchanges what lies
# under the name of an output while paes runs: no secret is read, no file overwritten. A few runs
# each here, 1,000 with PAES_EXHAUSTIVE.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mpi
import pytest
from program import FAILURE, OK, run, succeed

RUNS = 1000 if os.environ.get("PAES_EXHAUSTIVE") else 60
JOBS = 50 if os.environ.get("PAES_EXHAUSTIVE") else 2  # of paes-mpi
ATTACKER = 4000018  # a user that nobody is

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can play two users")

# What the attacks begin with. Their FIFO always has a reader, so that opening it never waits.
AS_ATTACKER = """
import ctypes, json, os, select, sys
exchange = ctypes.CDLL(None).renameat2
user, name, own, precious = int(sys.argv[1]), *sys.argv[2:]
os.setgroups([])
os.setgid(user)
os.setuid(user)
os.umask(0)
fifo, step = own + "/fifo", own + "/step"
os.mkfifo(fifo, 0o666)
reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
loot = b""
rounds = 0
def is_over():
    global loot, rounds
    rounds += 1
    if rounds % 16 != 0:
        return False
    try:
        loot += os.read(reader, 1 << 16)
    except BlockingIOError:
        pass
    return select.select([0], [], [], 0)[0]
def ready():
    print("ready", flush=True)
"""

# The name is free, then the FIFO's, and so on: in between falls what looks first and opens later.
NOW_AND_THEN = """
ready()
while not is_over():
    try:
        os.link(fifo, name)
    except FileExistsError:
        continue
    for _ in range(rounds % 16):
        pass
    try:
        os.unlink(name)
    except OSError:
        pass  # exchanged by the victim
    for _ in range(rounds % 192):
        pass
"""

# The name is the FIFO's, then leads to a file of the victim's, and so on.
BACK_AND_FORTH = """
here, a, b, both = -100, os.fsencode(name), os.fsencode(step), 2
os.link(fifo, name)
os.symlink(precious, step)
assert exchange(here, a, here, b, both) == 0
ready()
while not is_over():
    exchange(here, a, here, b, both)
    for _ in range(rounds % 32):
        pass
"""

# What paes-mpi writes under a temporary name is exchanged for a file of the attacker's.
INSTEAD = """
ready()
shared = os.path.dirname(name)
caught = []
while not is_over():
    for found in os.listdir(shared):
        there = shared + "/" + found
        if not found.startswith(".paes-") or there in caught:
            continue
        open(step, "wb").close()
        os.link(step, own + "/" + found)
        try:
            os.rename(step, there)
            caught.append(there)
        except OSError:
            os.unlink(step)  # sticky, or gone
            os.unlink(own + "/" + found)
for found in caught:
    with open(own + "/" + os.path.basename(found), "rb") as file:
        loot += file.read()
"""

REPORT = """
while not is_over() or rounds % 16 != 0:
    pass
print(json.dumps({"rounds": rounds, "loot": loot.decode("latin1")}))
"""


class Attack:
    def __init__(self, script, name, own, precious):
        arguments = [str(ATTACKER), str(name), str(own), str(precious)]
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", AS_ATTACKER + script + REPORT, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == b"ready\n"

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return json.loads(out)


@pytest.fixture(params=[0o777, 0o1777], ids=["plain", "sticky"])
def shared(request):
    """A folder for everybody, where other users can get to."""
    if shutil.disk_usage(tempfile.gettempdir()).free < 1 << 20:
        pytest.skip("the temporary folder is full")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        (top / "shared").mkdir()
        (top / "shared").chmod(request.param)
        (top / "attackers").mkdir()
        os.chown(top / "attackers", ATTACKER, ATTACKER)
        (top / "precious").write_bytes(b"precious")
        (top / "precious").chmod(0o600)
        yield top / "shared"


def play(script, shared, name, one_run):
    """`one_run()` RUNS times beside the attack; it gives an exit code, and what is wrong with it."""
    top = shared.parent
    attack = Attack(script, shared / name, top / "attackers", top / "precious")
    codes, wrong, overwritten = {}, [], 0
    try:
        for _ in range(RUNS):
            code, why = one_run()
            codes[code] = codes.get(code, 0) + 1
            wrong += why
            if (top / "precious").read_bytes() != b"precious":
                overwritten += 1
                (top / "precious").write_bytes(b"precious")
    finally:
        report = attack.end()
    stolen = len(report["loot"])
    print(
        f"{RUNS} runs, {report['rounds']} rounds, exit codes {codes}: {stolen} bytes stolen, "
        f"{report['loot'].count('AGE-SECRET-KEY')} keys, {overwritten} times overwritten"
    )
    assert (stolen, overwritten) == (0, 0)
    assert wrong == []
    assert report["rounds"] > RUNS
    return set(codes)


def run_and_remove(path, arguments, says="already exists"):
    """What the run made under the name is looked at, and out of the way of the next."""
    result = run(*arguments)
    if result.code != OK:
        return result.code, [] if says in result.err else [result.err]
    try:
        status = path.lstat()
        path.unlink()
    except FileNotFoundError:
        return OK, ["exit 0 and no file"]
    return OK, [] if status.st_uid == 0 and status.st_size > 0 else [str(status)]


def test_no_new_key_is_read(shared):
    key = shared / "key"
    arguments = ["keygen", "-o", key]
    codes = play(NOW_AND_THEN, shared, "key", lambda: run_and_remove(key, arguments))
    assert codes == {OK, FAILURE}


def test_no_new_identity_is_read(shared, random_bytes):
    key = shared / "key"
    plain = shared.parent / "plain"
    plain.write_bytes(random_bytes(1000))
    arguments = ["encrypt", "-f", "--new-identity", key, "-o", shared.parent / "sealed", plain]
    codes = play(NOW_AND_THEN, shared, "key", lambda: run_and_remove(key, arguments))
    assert codes == {OK, FAILURE}


def test_no_kept_copy_is_read(shared, keys, random_bytes):
    """rekey's: without it a crash could leave half an envelope and nothing to put back."""
    sealed = shared / "sealed.paes"
    succeed("encrypt", "-r", keys.recipient, "-o", sealed, stdin=random_bytes(1000))
    arguments = ["rekey", "-i", keys.path, "-r", keys.recipient, sealed]

    def one_run():
        result = run(*arguments)
        return result.code, [] if result.code == OK or ".rekey" in result.err else [result.err]

    assert play(NOW_AND_THEN, shared, "sealed.paes.rekey", one_run) == {OK, FAILURE}
    assert succeed("decrypt", "-i", keys.path, "-o", "-", sealed).out == random_bytes(1000)


@pytest.fixture
def sealed(shared, keys, random_bytes):
    path = shared.parent / "sealed"
    succeed("encrypt", "-r", keys.recipient, "-o", path, stdin=random_bytes(1000))
    return path


REFUSALS = r"already exists|another user's"


def test_no_text_goes_into_a_planted_fifo(shared, sealed, keys):
    out = shared / "out"
    arguments = ["decrypt", "-i", keys.path, "-o", out, sealed]

    def one_run():
        result = run(*arguments)
        if result.code == OK:
            out.unlink(missing_ok=True)
        return result.code, [] if result.code == OK or re.search(REFUSALS, result.err) else [result.err]

    assert play(NOW_AND_THEN, shared, "out", one_run) == {OK, FAILURE}


def test_no_file_is_overwritten_in_place(shared, sealed, keys):
    arguments = ["decrypt", "-i", keys.path, "-o", shared / "out", sealed]

    def one_run():
        result = run(*arguments)
        right = result.code == FAILURE and re.search(REFUSALS, result.err)
        return result.code, [] if right else [str(result)]

    assert play(BACK_AND_FORTH, shared, "out", one_run) == {FAILURE}


def test_with_force_no_file_is_overwritten_in_place(shared, sealed, keys):
    """-f writes into the FIFO, or replaces what the link leads to by a new file."""
    precious = shared.parent / "precious"
    arguments = ["decrypt", "-f", "-i", keys.path, "-o", shared / "out", sealed]
    attack = Attack(BACK_AND_FORTH, shared / "out", shared.parent / "attackers", precious)
    changed = 0
    try:
        for _ in range(RUNS):
            with precious.open("rb") as keeper:
                assert run(*arguments).code in (OK, FAILURE)
                changed += keeper.read() != b"precious"
            (shared.parent / "new").write_bytes(b"precious")
            (shared.parent / "new").replace(precious)
    finally:
        report = attack.end()
    print(f"{RUNS} runs, {report['rounds']} rounds, {changed} changed")
    assert changed == 0


@pytest.mark.parametrize("access", ["posix", "mpi"])
@mpi.each_library
def test_ranks_write_into_no_other_file(library, access, shared, keys, random_bytes):
    """Where the attacker is late all is done; what has the name then is not for this test."""
    top = shared.parent
    (top / "sealed").write_bytes(b"")
    text = random_bytes(1 << 20)
    succeed("encrypt", "-f", "-r", keys.recipient, "-o", top / "sealed", stdin=text)
    attack = Attack(INSTEAD, shared / "out", top / "attackers", top / "precious")
    codes = {}
    arguments = ["decrypt", "--access", access, "-i", keys.path, "-o", shared / "out", top / "sealed"]
    try:
        for _ in range(JOBS):
            result = mpi.run(library, 2, *arguments, program_path=mpi.paes_mpi(library))
            codes[result.code] = codes.get(result.code, 0) + 1
            (shared / "out").unlink(missing_ok=True)
    finally:
        report = attack.end()
    print(f"{JOBS} jobs, {report['rounds']} rounds, exit codes {codes}, {len(report['loot'])} stolen")
    assert report["loot"].encode("latin1").strip(b"\0")[:1] == b""
