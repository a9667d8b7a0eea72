# SPDX-License-Identifier: Apache-2.0
# Runs that end before everything is done: signals at random moments, and a standard output that nobody
# reads any more. Whenever a file was not done the exit says so, and --json lists it. Some signals in every
# test run, 200 of each kind with PAES_EXHAUSTIVE.
import json
import os
import random
import shutil
import signal
import subprocess
import time

import mpi
import program
import pytest
from program import FAILURE, OK, SIGNALS, SOME_FAILED, start, succeed
from test_json import validator

SENT = 200 if os.environ.get("PAES_EXHAUSTIVE") else 5
MPI_SENT = 200 if os.environ.get("PAES_EXHAUSTIVE") else 2
FILES = 200
SIZES = [0, 1, 20_000, 100_000]


@pytest.fixture(scope="module")
def plains(tmp_path_factory):
    path = tmp_path_factory.mktemp("plains")
    for number in range(FILES):
        (path / f"f{number:03}").write_bytes(os.urandom(SIZES[number % len(SIZES)]))
    return path


@pytest.fixture(scope="module")
def sealeds(plains, keys, tmp_path_factory):
    path = tmp_path_factory.mktemp("sealeds")
    for plain in plains.iterdir():
        (path / plain.name).symlink_to(plain)
    succeed("encrypt", "-q", "-r", keys.recipient, *sorted(os.listdir(path)), cwd=path)
    for plain in plains.iterdir():
        (path / plain.name).unlink()
    return path


def end_by_signal(process, number, after_s):
    time.sleep(after_s)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err.decode()


def piped(**options):
    return {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}


def turns(run):
    """Signals and moments from the start of a run to a little after its end, which is measured."""
    begin = time.monotonic()
    run()
    whole_s = time.monotonic() - begin
    rng = random.Random(FILES)
    for _ in range(SENT):
        yield rng.choice(SIGNALS), rng.uniform(0, 1.1 * whole_s)


def tally(name, kinds):
    print(f"{name}: {sum(kinds.values())} signals, {kinds}")


def check_listed(code, number, out, names, is_done):
    """What --json and the exit say of each file against what is there. Without a document it was the
    start of the program that ended, and nothing was done."""
    if out == b"":
        assert code == -number
        assert not any(map(is_done, names))
        return "before it began"
    document = json.loads(out)
    if "error" in document:  # before the first file
        validator("failure").validate(document)
    else:
        validator("transfer").validate(document)
    assert [file["input"] for file in document["files"]] == names
    done = [file["input"] for file in document["files"] if file["status"] == "done"]
    assert done == [name for name in names if is_done(name)]
    if len(done) == len(names):
        assert (code, document["exit_code"]) == (OK, OK)
        return "all done"
    assert code == -number
    assert document["exit_code"] not in (OK, None)
    return "some done" if done else "none done"


def count(kinds, kind):
    kinds[kind] = kinds.get(kind, 0) + 1


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_signals_between_and_in_files(command, plains, sealeds, keys, tmp_path):
    sources = plains if command == "encrypt" else sealeds
    key = ["-r", keys.recipient] if command == "encrypt" else ["-i", keys.path]
    names = sorted(os.listdir(sources))
    folder = tmp_path / "folder"

    def begin():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in names:
            (folder / name).symlink_to(sources / name)
        return start(command, "-q", "--json", "-T", "1", *key, *names, **piped(cwd=folder))

    def output(name):
        return folder / (name + ".paes" if command == "encrypt" else name.removesuffix(".paes"))

    kinds = {}
    for number, after_s in turns(lambda: begin().communicate()):
        code, out, err = end_by_signal(begin(), number, after_s)
        kind = check_listed(code, number, out, names, lambda name: output(name).exists())
        count(kinds, kind)
        made = [output(name).name for name in names if output(name).exists()]
        assert sorted(os.listdir(folder)) == sorted(names + made)
        if command == "decrypt":
            assert all((folder / name).read_bytes() == (plains / name).read_bytes() for name in made)
        elif made:
            succeed("verify", "-q", "-i", keys.path, *made, cwd=folder)
        lines = err.splitlines()
        assert len(lines) <= 2 and all("interrupted: " in line for line in lines), err
        assert (lines != []) == (kind not in ("all done", "before it began"))
    tally(command, kinds)


@pytest.mark.parametrize("form", ["json", "text"])
def test_signals_while_files_are_verified(form, sealeds, keys):
    names = sorted(os.listdir(sealeds))

    def begin():
        options = ["--json"] if form == "json" else []
        return start("verify", *options, "-T", "1", "-i", keys.path, *names, **piped(cwd=sealeds))

    kinds = {}
    for number, after_s in turns(lambda: begin().communicate()):
        code, out, err = end_by_signal(begin(), number, after_s)
        if form == "json":
            listed = json.loads(out)["files"] if out else []
            done = {file["input"] for file in listed if file["status"] == "done"}
            count(kinds, check_listed(code, number, out, names, lambda name: name in done))
            continue
        found = [line.split(":")[0] for line in out.decode().splitlines()]
        assert found == names[: len(found)]
        assert code == (OK if len(found) == FILES else -number), err
        assert (err == "") == (len(found) in (0, FILES)) or found == [], err
        count(kinds, "all done" if code == OK else "some done" if found else "none done")
    tally(f"verify, {form}", kinds)


def test_signals_while_recipients_change(folder, keys, other_keys, random_bytes):
    kinds = {}
    sealed = folder / "f.paes"

    def begin():
        for path in folder.iterdir():
            path.unlink()
        (folder / "f").write_bytes(random_bytes(50_000))
        succeed("encrypt", "-q", "-r", keys.recipient, "f", cwd=folder)
        return start(
            *("rekey", "--json", "-i", keys.path, "-r", other_keys.recipient, sealed), **piped()
        )

    def timed():
        process = begin()
        began = time.monotonic()
        process.communicate()
        return time.monotonic() - began

    whole_s = timed()
    rng = random.Random(FILES)
    for _ in range(SENT):
        number = rng.choice(SIGNALS)
        code, out, _ = end_by_signal(begin(), number, rng.uniform(0, 1.2 * whole_s))
        is_done = program.run("verify", "-q", "-i", other_keys.path, sealed).code == OK
        assert is_done or program.run("verify", "-q", "-i", keys.path, sealed).code == OK
        assert sorted(os.listdir(folder)) == ["f", "f.paes"]
        assert code == (OK if is_done else -number)
        if out:
            document = json.loads(out)
            assert (document["exit_code"] == OK) == is_done
            # The error of a signal before the first file is that of the whole run.
            validator("failure" if "error" in document else "rekey").validate(document)
        count(kinds, "done" if is_done else "not done" if out else "before it began")
    tally("rekey", kinds)


@mpi.each_library
def test_signals_to_ranks(library, folder, keys, random_bytes):
    (folder / "f").write_bytes(random_bytes(4 << 20) * 3)
    output = folder / "f.paes"
    command = ["encrypt", "--json", "-T", "1", "-r", keys.recipient, folder / "f"]

    def begin():
        output.unlink(missing_ok=True)
        process = subprocess.Popen(
            mpi.command(library, 2, *command, program_path=mpi.paes_mpi(library)),
            **piped(env=mpi.environment()),
        )
        program.wait_until(
            lambda: mpi.ranks_of(library, folder) or process.poll() is not None, "the first rank"
        )
        return process, time.monotonic()

    process, began = begin()
    process.communicate(timeout=60)
    whole_s = time.monotonic() - began
    rng = random.Random(library)
    kinds = {}
    for _ in range(MPI_SENT):
        process, _ = begin()
        time.sleep(rng.uniform(0, whole_s))
        alive = mpi.ranks_of(library, folder)
        if alive:
            try:
                os.kill(rng.choice(alive), rng.choice(SIGNALS))
            except ProcessLookupError:
                pass
        out, err = process.communicate(timeout=60)
        program.wait_until(lambda: not mpi.running(folder), "the end of all ranks", mpi.END_S)
        is_done = output.exists()
        assert set(os.listdir(folder)) == {"f"} | ({"f.paes"} if is_done else set()), err
        is_listed = out.startswith(b"{")
        if process.returncode == OK:
            assert is_done and is_listed
        if is_listed:
            # Hydra, MPICH's mpirun, says in the same place what it thinks of ranks that died.
            document, _ = json.JSONDecoder().raw_decode(out.decode())
            validator("failure" if "error" in document else "transfer").validate(document)
            (file,) = document["files"]
            assert (file["status"] == "done") == is_done == (document["exit_code"] == OK)
        if is_done:
            succeed("verify", "-q", "-i", keys.path, output)
        else:
            assert process.returncode != OK, err
        count(kinds, ("done" if is_done else "not done") + (", listed" if is_listed else ""))
    tally(library, kinds)


# Nobody reads standard output


def into_closed_pipe(*arguments, feed=b"", ignored=False, cwd=None):
    """Its exit code and what it says where standard output has no reader from the beginning."""
    reading, writing = os.pipe()
    os.close(reading)
    # Python ignores SIGPIPE itself, and so would what it starts without restoring it.
    process = start(
        *arguments, cwd=cwd, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE,
        restore_signals=not ignored,
    )
    os.close(writing)
    _, err = process.communicate(feed, timeout=60)
    return process.returncode, err.decode()


QUIETLY = (-signal.SIGPIPE, "")


@pytest.fixture
def three(folder, keys, random_bytes):
    for name in ("a", "b", "c"):
        (folder / name).write_bytes(random_bytes(300_000))
    (folder / "key16").write_bytes(bytes(range(16)))
    succeed("encrypt", "-r", keys.recipient, "a", "b", "c", cwd=folder)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["encrypt", "-r", "RECIPIENT", "-o", "-", "a"],
        ["decrypt", "-i", "KEYS", "-o", "-", "a.paes"],
        ["decrypt", "-i", "KEYS", "-o", "/dev/stdout", "--range", "5-", "a.paes"],
        ["verify", "-i", "KEYS", "a.paes", "b.paes"],
        ["cipher", "aes-128-ctr", "--key", "key16", "--iv", "00" * 16, "a"],
        ["cipher", "aes-128-gcm", "--key", "key16", "--iv", "00" * 12, "a"],
        ["inspect", "a.paes"],
        ["inspect", "--json", "a.paes"],
        ["verify", "--json", "-i", "KEYS", "missing"],
        ["devices"],
        ["keygen"],
        ["--help"],
        ["encrypt", "--help"],
        ["--version"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_filter_dies_quietly(arguments, three, keys):
    before = program.tree(three)
    words = {"RECIPIENT": keys.recipient, "KEYS": keys.path}
    arguments = [words.get(word, word) for word in arguments]
    code, err = into_closed_pipe(*arguments, cwd=three)
    if "missing" in arguments:  # the message goes where it is read
        program.assert_error_lines(err, "missing: No such file")
        err = ""
    assert (code, err) == QUIETLY
    # Whoever has the signal ignored has asked for an error.
    code, err = into_closed_pipe(*arguments, ignored=True, cwd=three)
    assert code == (SOME_FAILED if "b.paes" in arguments else FAILURE)
    assert "paes: standard output: Broken pipe" in err
    assert program.tree(three) == before


@pytest.fixture
def larger(three, keys, random_bytes):
    """More than any pipe holds."""
    (three / "large").write_bytes(random_bytes(4 << 20))
    succeed("encrypt", "-r", keys.recipient, "large", cwd=three)
    return three / "large.paes"


def test_as_a_shell_sees_it(larger, keys):
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$0" decrypt -i "$1" -o - "$2" | head -c 10 >/dev/null',
         program.PAES, keys.path, larger],
        env=program.clean_environment(), stderr=subprocess.PIPE, check=False,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_files_after_a_closed_output_are_not_begun(three, keys):
    """Their outputs are not for whoever has gone: it is said that they are missing."""
    for name in ("a", "b", "c"):
        (three / f"{name}.paes").unlink()
    arguments = ["encrypt", "-r", keys.recipient, "a", "-", "b", "c"]
    code, err = into_closed_pipe(*arguments, feed=b"text", cwd=three)
    assert (code, err) == (-signal.SIGPIPE, "paes: b: interrupted: not begun, nor the file after it\n")
    assert sorted(os.listdir(three)) == ["a", "a.paes", "b", "c", "key16"]
    (three / "a.paes").unlink()
    code, err = into_closed_pipe(*arguments, feed=b"text", ignored=True, cwd=three)
    assert code == SOME_FAILED
    program.assert_error_lines(err, "standard output: Broken pipe")
    assert (three / "c.paes").exists()


def test_a_document_that_nobody_reads(three, keys):
    (three / "a.paes").unlink()
    assert into_closed_pipe("encrypt", "--json", "-r", keys.recipient, "a", cwd=three) == QUIETLY
    assert (three / "a.paes").exists()


def test_other_pipes_are_errors_with_a_message(three, larger, keys):
    """Only standard output is a filter's; and a message that nobody reads is no reason to die."""
    fifo = three / "fifo"
    os.mkfifo(fifo)
    process = start(
        *("decrypt", "-f", "-i", keys.path, "-o", fifo, larger),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    with open(fifo, "rb") as reading:
        assert reading.read(1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == FAILURE
    program.assert_error_lines(err.decode(), r"fifo: Broken pipe; \d+ bytes before that")
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["verify", "-v", "-i", keys.path, three / "a.paes", three / "missing"]
    process = start(*arguments, stdout=subprocess.DEVNULL, stderr=writing)
    os.close(writing)
    assert process.wait(timeout=60) == SOME_FAILED
