# SPDX-License-Identifier: Apache-2.0
# --resume: what was killed at any moment is continued to the right bytes, and starts afresh under
# another key and salt when the source, the keys or the files beside the output are not what they
# were.
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import age_file
import container
import jsonschema
import preload
import program
import pytest
from program import CORRUPT, FAILURE, USAGE, fail, run, start, succeed

TEXT_BYTES = (32 << 20) + 12345
STRIPE_BYTES = 4 << 20
KILLS = 6
SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "schema" / "transfer.schema.json").read_text()
)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A large text, with runs of zero bytes that decryption leaves out."""
    path = tmp_path_factory.mktemp("text") / "text"
    block = os.urandom((1 << 20) - 8192) + bytes(8192)
    with open(path, "wb") as file:
        for number in range(TEXT_BYTES // len(block)):
            file.write(number.to_bytes(8, "big") + block[8:])
        file.write(os.urandom(TEXT_BYTES % len(block)))
    return path


@pytest.fixture
def plain(folder, text):
    path = folder / "plain"
    shutil.copyfile(text, path)
    return path


@pytest.fixture
def sealing(keys):
    # One thread and small pieces: slow enough to be interrupted.
    return ["encrypt", "--resume", "-r", keys.recipient, "-i", keys.path, "-T", "1"]


@pytest.fixture
def opening(keys):
    return ["decrypt", "--resume", "-i", keys.path, "-T", "1"]


def beside(output):
    return Path(f"{output}.partial"), Path(f"{output}.journal")


def recorded(output):
    """How many stripes the journal says are complete."""
    journal = beside(output)[1]
    try:
        records = journal.read_bytes()[256:]
    except FileNotFoundError:  # not yet, or no longer
        records = b""
    return sum(any(records[at : at + 16]) for at in range(0, len(records), 16))


def head_of(path):
    """Everything before chunk 0: envelope, salt and commitment."""
    with open(path, "rb") as file:
        preamble = container.read_preamble(file)
        file.seek(0)
        return file.read(preamble.payload_offset + container.PREFIX_BYTES)


def interrupt(command, output, stripes=1):
    """Kills the command without warning as soon as so many stripes are recorded. The kernel that
    computes everything is slow enough for that."""
    process = start(*command, "--kernel", "compute", stderr=subprocess.DEVNULL)
    try:
        program.wait_until(
            lambda: recorded(output) >= stripes or process.poll() is not None, "a record"
        )
    finally:
        process.kill()
        code = process.wait(timeout=30)
    assert code == -signal.SIGKILL, "it was done before it could be interrupted"
    assert not output.exists()
    assert recorded(output) >= stripes


def resumed_bytes(*command, **options):
    """Runs the command to its end; what it says it did not have to do again."""
    document = json.loads(succeed(*command, "--json", **options).out)
    jsonschema.validate(document, SCHEMA)
    return document["files"][0]["resumed_bytes"]


def assert_nothing_beside(output):
    assert not any(path.exists() for path in beside(output))


def assert_opens_to(sealed, plain, keys):
    back = sealed.with_name("back")
    succeed("decrypt", "-i", keys.path, "-f", "-o", back, sealed)
    assert program.digest(back) == program.digest(plain)
    back.unlink()


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_killed_many_times_it_still_gets_there(command, plain, sealing, opening, keys, folder):
    output = Path(f"{plain}.paes")
    arguments = [*sealing, plain]
    if command == "decrypt":
        succeed("encrypt", "-r", keys.recipient, plain)
        output = folder / "back"
        arguments = [*opening, "-o", output, f"{plain}.paes"]
    random.seed(command)
    for _ in range(KILLS):
        process = start(*arguments, "--kernel", "compute", stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.25))
        process.kill()
        process.wait(timeout=30)
        if output.exists():
            break
    succeed(*arguments, *(["-f"] if output.exists() else []))
    assert_nothing_beside(output)
    if command == "encrypt":
        assert_opens_to(output, plain, keys)
    else:
        assert program.digest(output) == program.digest(plain)
        assert output.stat().st_mode & 0o777 == 0o600


def test_encryption_continues_with_the_key_and_salt_it_had(plain, sealing, keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output, stripes=3)
    partial, journal = beside(output)
    assert partial.stat().st_mode & 0o777 == 0o600
    assert journal.stat().st_mode & 0o777 == 0o600
    head = head_of(partial)
    assert resumed_bytes(*sealing, plain) >= 3 * STRIPE_BYTES
    assert head_of(output) == head
    assert output.stat().st_mode == plain.stat().st_mode
    assert_nothing_beside(output)
    assert_opens_to(output, plain, keys)


def test_nothing_that_is_drawn_comes_twice(folder, sealing, keys):
    (folder / "small").write_bytes(b"new")
    seen = []
    for output in (folder / "one", folder / "other"):
        succeed(*sealing, "-o", output, folder / "small")
        seen += [container.drawn(output, lambda envelope: age_file.age_decrypt(envelope, keys.path))]
    assert not any(one == other for one, other in zip(*seen)), "the key or the salt is the same"


def test_decryption_continues(plain, opening, keys, folder):
    succeed("encrypt", "-r", keys.recipient, plain)
    output = folder / "back"
    command = [*opening, "-o", output, f"{plain}.paes"]
    interrupt(command, output, stripes=3)
    partial = beside(output)[0]
    assert partial.stat().st_mode & 0o777 == 0o600
    assert resumed_bytes(*command) >= 3 * STRIPE_BYTES
    assert program.digest(output) == program.digest(plain)
    assert_nothing_beside(output)


def test_with_a_passphrase(plain, tmp_path, keys):
    secret = tmp_path / "secret"
    secret.write_text("correct horse")
    command = ["encrypt", "--resume", "--passphrase-file", secret, "-T", "1", plain]
    output = Path(f"{plain}.paes")
    interrupt(command, output, stripes=2)
    head = head_of(beside(output)[0])
    assert resumed_bytes(*command) >= 2 * STRIPE_BYTES
    assert head_of(output) == head
    succeed("verify", "--passphrase-file", secret, output)


def another_inode(plain):
    copy = plain.with_name("copy")
    shutil.copyfile(plain, copy)
    status = plain.stat()
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    copy.rename(plain)


def other_bytes(plain):
    status = plain.stat()
    with open(plain, "r+b") as file:
        file.write(b"other")
    os.utime(plain, ns=(status.st_atime_ns, status.st_mtime_ns))  # which only ctime shows


def another_size(plain):
    with open(plain, "ab") as file:
        file.write(b"more")


def another_mtime(plain):
    os.utime(plain, ns=(0, 0))


def another_ctime(plain):
    plain.chmod(0o640)


def another_device(plain):
    moved = Path("/dev/shm") / f"paes-test-{os.getpid()}"
    if not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == plain.stat().st_dev:
        pytest.skip("/dev/shm is no other file system here")
    shutil.copy2(plain, moved)
    plain.unlink()
    plain.symlink_to(moved)


@pytest.mark.parametrize(
    "change",
    [another_device, another_inode, another_size, another_mtime, another_ctime, other_bytes],
)
def test_a_changed_source_starts_afresh(change, plain, sealing, keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output, stripes=2)
    head = head_of(beside(output)[0])
    change(plain)
    try:
        result = succeed(*sealing, plain)
        assert f"{output}.partial: starting afresh, because {plain} has changed" in result.err
        assert head_of(output)[:16] == head[:16]
        assert head_of(output)[-56:-32] != head[-56:-32], "the salt is the same"
        assert head_of(output)[16:200] != head[16:200], "the envelope is the same"
        assert_nothing_beside(output)
        assert_opens_to(output, plain, keys)
    finally:
        if plain.is_symlink():
            plain.resolve().unlink()


def test_it_waits_until_a_later_change_would_show(preloaded, folder, sealing):
    """Two seconds on a file system with coarse times, if the source has just changed."""
    prefix, small = preloaded(preload.COARSE), folder / "small"
    small.write_bytes(b"new")
    start_s = time.monotonic()
    succeed(*sealing, small, prefix=prefix)
    assert time.monotonic() - start_s >= 2
    time.sleep(0.2)  # so that on the real file system, whose times are fine, it need not wait
    seconds = []
    for name in ("again", "and_again", "at_last"):  # other tests may hold one of them up
        start_s = time.monotonic()
        succeed(*sealing, "-o", folder / name, small)
        seconds.append(time.monotonic() - start_s)
    assert min(seconds) < 2


def changed_in_secret(plain):
    """Other bytes under the old mtime."""
    before = plain.stat()
    with open(plain, "r+b") as file:
        file.seek(TEXT_BYTES - 1000)
        file.write(os.urandom(1000))
    os.utime(plain, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("options", [(), ("-DNAMED",)], ids=["unnamed", "named"])
def test_where_no_change_shows_nothing_is_encrypted_so(
    options, preloaded, plain, sealing, opening, keys, folder
):
    prefix = preloaded(preload.FORGETFUL, *options)
    before = program.tree(folder)
    no_ctime = "plain: its file system keeps no time of change"
    fail(*sealing, plain, prefix=prefix, code=USAGE, says=no_ctime)
    with open(plain, "rb") as file:
        fail(*sealing, "-o", folder / "o", stdin=file, prefix=prefix, code=USAGE, says=no_ctime[7:])
    assert program.tree(folder) == before
    # Without --resume, and back, nothing depends on it.
    sealed = folder / "sealed"
    succeed("encrypt", "-r", keys.recipient, "-o", sealed, plain, prefix=prefix)
    succeed(*opening, "-o", folder / "back", sealed, prefix=prefix)
    assert program.digest(folder / "back") == program.digest(plain)


def test_where_no_change_shows_nothing_is_continued(preloaded, plain, sealing, keys):
    prefix = preloaded(preload.FORGETFUL)
    output = Path(f"{plain}.paes")
    # A stamp that such a file system gives: both times are equal from the beginning.
    old = time.time() - 1000
    os.utime(plain, (old, old))
    process = start(*sealing, "--kernel", "compute", plain, stderr=subprocess.DEVNULL,
                    env=program.clean_environment(LD_PRELOAD=prefix[1].split("=")[1]))
    program.wait_until(lambda: recorded(output) >= 1 or process.poll() is not None, "a record")
    process.kill()
    process.wait(timeout=30)
    changed_in_secret(plain)
    fail(*sealing, plain, prefix=prefix, code=USAGE, says="keeps no time of change")
    assert not output.exists()


def test_what_was_begun_elsewhere_is_kept_where_no_change_shows(preloaded, plain, sealing, keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output, stripes=2)
    before = program.tree(plain.parent)
    fail(*sealing, plain, prefix=preloaded(preload.FORGETFUL), code=USAGE, says="keeps no time of change")
    assert program.tree(plain.parent) == before
    assert resumed_bytes(*sealing, plain) >= 2 * STRIPE_BYTES


@pytest.mark.parametrize("kind", ["0x4d44", "0x2011bab0"])
def test_file_systems_that_forget_are_known(kind, preloaded, plain, sealing, folder):
    # vfat and exfat, some of whose versions keep a ctime in memory alone.
    before = program.tree(folder)
    prefix = preloaded(preload.CLAIMING, f"-DKIND={kind}")
    fail(*sealing, plain, prefix=prefix, code=USAGE, says="keeps no time of change")
    assert program.tree(folder) == before


def test_a_folder_that_takes_no_file_to_try(preloaded, plain, sealing, keys, tmp_path, folder):
    prefix = program.without_override()
    output = tmp_path / "out"
    folder.chmod(0o500)
    try:
        unknown = [*prefix, *preloaded(preload.CLAIMING, "-DKIND=0x1234")]
        fail(*sealing, "-o", output, plain, prefix=unknown, code=USAGE, says="may keep no time of change")
        assert not output.exists() and not any(path.exists() for path in beside(output))
        faithful = [*prefix, *preloaded(preload.CLAIMING, "-DKIND=0xef53")]
        succeed(*sealing, "-o", output, plain, prefix=faithful)
        assert_opens_to(output, plain, keys)
    finally:
        folder.chmod(0o700)
    # And one that does is enough, whatever the file system's kind.
    succeed(*sealing, "-f", "-o", output, plain, prefix=unknown)


def test_other_keys_start_afresh(plain, sealing, keys, other_keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output)
    result = succeed(*sealing, "-r", other_keys.recipient, plain)
    assert "starting afresh, because it is for other recipients" in result.err
    assert_opens_to(output, plain, other_keys)
    output.unlink()
    interrupt([*sealing, plain], output)
    result = succeed(
        "encrypt", "--resume", "-r", other_keys.recipient, "-i", other_keys.path, plain
    )
    assert "starting afresh, because no identity or passphrase given opens it" in result.err
    assert_opens_to(output, plain, other_keys)


def laid_out_again(path):
    """Where the payload lies is not authenticated: the same file with the payload a page further."""
    with open(path, "rb") as file:
        found = container.read_preamble(file)
        path.write_bytes(container.preamble(found.suite, found.envelope, found.page + 1) + file.read())


def test_files_laid_out_again_never_mix_two_layouts(plain, sealing, opening, keys, folder):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output)
    laid_out_again(beside(output)[0])
    # The journal of an encryption covers all that lies before the text.
    assert resumed_bytes(*sealing, plain) == 0
    assert_opens_to(output, plain, keys)
    back = folder / "back"
    command = [*opening, "-o", back, output]
    interrupt(command, back)
    laid_out_again(output)
    # That of a decryption does not: its text is the same.
    assert resumed_bytes(*command) > 0
    assert program.digest(back) == program.digest(plain)


def test_damage_in_what_was_complete_is_repaired(plain, sealing, opening, keys, folder):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output, stripes=3)
    with open(beside(output)[0], "r+b") as file:
        file.seek(4096 + STRIPE_BYTES)
        file.write(bytes(1000))
    assert 0 < resumed_bytes(*sealing, plain)
    assert_opens_to(output, plain, keys)
    back = folder / "back"
    command = [*opening, "-o", back, output]
    interrupt(command, back, stripes=3)
    with open(beside(back)[0], "r+b") as file:
        file.seek(1 << 20)
        file.write(os.urandom(20_000))
    assert 0 < resumed_bytes(*command)
    assert program.digest(back) == program.digest(plain)


def test_a_signal_says_how_to_go_on(plain, sealing, keys):
    output = Path(f"{plain}.paes")
    process = start(*sealing, "--kernel", "compute", plain, stderr=subprocess.PIPE)
    program.wait_until(lambda: recorded(output) >= 1, "a record")
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=30)[1].decode()
    assert program.died_of(process.returncode, signal.SIGTERM)
    program.assert_error_lines(err.split("\n", 1)[1], "interrupted: ")  # behind the kernel's warning
    assert f"what is done is kept in {output}.partial: run the same command again" in err
    before = recorded(output)
    assert f"paes: {output}: continued, " in succeed(*sealing, plain).err
    assert before >= 1
    assert_opens_to(output, plain, keys)


def test_two_runs_at_once(plain, sealing, keys):
    output = Path(f"{plain}.paes")
    process = start(*sealing, "--kernel", "compute", plain, stderr=subprocess.DEVNULL)
    program.wait_until(lambda: recorded(output) >= 1, "a record")
    process.send_signal(signal.SIGSTOP)
    fail(*sealing, plain, code=FAILURE, says="another run with --resume is writing it")
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    assert_opens_to(output, plain, keys)


@pytest.mark.parametrize("which", [0, 1])
def test_links_and_foreign_files_are_not_followed_or_taken(which, plain, sealing, folder, tmp_path):
    output = Path(f"{plain}.paes")
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    way = beside(output)[which]
    for place in (
        lambda: way.symlink_to(victim),
        lambda: os.link(victim, way),
        lambda: os.mkfifo(way),
        lambda: way.mkdir(),
        lambda: way.write_bytes(b"a file of the user's own, and no work of paes"),
    ):
        place()
        before = program.tree(folder)
        fail(*sealing, plain, code=FAILURE, says="is in the way|no journal of an interrupted run")
        assert program.tree(folder) == before
        assert victim.read_bytes() == b"precious"
        if way.is_dir():
            way.rmdir()
        else:
            way.unlink()
    if os.geteuid() == 0:
        way.write_bytes(b"")
        os.chown(way, 65534, 65534)
        fail(*sealing, plain, code=FAILURE, says="another user's")


def test_an_output_that_exists_needs_f(plain, sealing, keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output)
    output.write_bytes(b"there")
    fail(*sealing, plain, code=FAILURE, says="already exists")
    assert output.read_bytes() == b"there"
    assert resumed_bytes(*sealing, "-f", plain) >= STRIPE_BYTES
    assert_opens_to(output, plain, keys)


def test_without_resume_the_leftover_is_named_and_kept(plain, sealing, keys):
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output)
    result = succeed("encrypt", "-r", keys.recipient, plain)
    assert f"{output}.partial: an interrupted run left it" in result.err
    assert all(path.exists() for path in beside(output))


def test_a_full_disk_and_then_more_room(keys, small_disk, tmp_path, text):
    """A file system of 1 MiB has no room for a stripe, so that nothing is worth keeping there."""
    code, err, _ = small_disk(
        *("encrypt", "--resume", "-r", keys.recipient, "-i", keys.path),
        *("-o", small_disk.path / "out", text),
    )
    assert code == FAILURE
    program.assert_error_lines(err, "No space left on device")


def test_a_file_size_limit_and_then_none(plain, sealing, keys):
    """What a disk that is full does to the data, but not to the journal."""
    output = Path(f"{plain}.paes")
    interrupt([*sealing, plain], output, stripes=2)
    before = recorded(output)
    limited = ["prlimit", f"--fsize={16 << 20}"]
    result = run(*sealing, plain, prefix=limited)
    assert result.code == FAILURE
    program.assert_error_lines(result.err, "File too large")
    assert recorded(output) >= before
    assert resumed_bytes(*sealing, plain) >= before * STRIPE_BYTES
    assert_opens_to(output, plain, keys)


def test_a_damaged_source_can_be_replaced_by_a_good_copy(plain, opening, keys, folder):
    succeed("encrypt", "-r", keys.recipient, plain)
    sealed, back, good = Path(f"{plain}.paes"), folder / "back", folder / "good"
    shutil.copyfile(sealed, good)
    with open(sealed, "r+b") as file:
        file.seek(25 << 20)
        file.write(b"damage")
    result = run(*opening, "-o", back, sealed)
    assert result.code == CORRUPT
    program.assert_error_lines(result.err, "run the same command again")
    assert not back.exists()
    assert resumed_bytes(*opening, "-o", back, good) >= 2 * STRIPE_BYTES
    assert program.digest(back) == program.digest(plain)


def test_what_cannot_be_resumed_is_a_usage_error(plain, sealing, opening, keys, tmp_path, folder):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    before = program.tree(folder)
    resume = ["encrypt", "--resume"]
    to = ["-r", keys.recipient]
    own = ["-i", keys.path]
    fail(*resume, *to, plain, code=USAGE, says="could not open what it has to continue")
    fail(*resume, *own, "--new-identity", folder / "k", plain, code=USAGE, says="--new-identity")
    fail(*resume, *to, *own, "-o", "-", plain, code=USAGE, says="standard output: is not a regular")
    fail(*resume, *to, *own, "-o", folder / "o", stdin=b"x", code=USAGE, says="not a regular file")
    fail(*resume, *to, *own, "-o", "/dev/null", plain, code=USAGE, says="not a regular file")
    fail(*opening, "--range", "0-1", "-o", folder / "o", plain, code=USAGE, says="range: cannot be")
    assert program.tree(folder) == before


def test_small_and_empty_files(folder, sealing, opening, keys):
    for size in (0, 1, 16384, STRIPE_BYTES):
        path = folder / f"small{size}"
        path.write_bytes(os.urandom(size))
        assert resumed_bytes(*sealing, path) == 0
        assert resumed_bytes(*opening, "-o", folder / "back", f"{path}.paes") == 0
        assert (folder / "back").read_bytes() == path.read_bytes()
        (folder / "back").unlink()
        assert_nothing_beside(Path(f"{path}.paes"))
        assert_nothing_beside(folder / "back")


def test_identities_from_standard_input_are_read_once(folder, keys):
    for name in "ab":
        (folder / name).write_bytes(b"text")
    command = ["encrypt", "--resume", "-r", keys.recipient, "-i", "/dev/stdin"]
    succeed(*command, folder / "a", folder / "b", stdin=keys.path.read_bytes())


def test_standard_input_that_is_a_file(plain, sealing, keys, folder):
    output = folder / "out"
    with open(plain, "rb") as file:
        assert resumed_bytes(*sealing, "-o", output, stdin=file) == 0
    assert_opens_to(output, plain, keys)


@pytest.mark.parametrize("way", ["encrypt", "decrypt"])
def test_nothing_is_recorded_of_what_the_last_sync_has_lost(way, preloaded, plain, sealing, opening, folder):
    """The system tells of a loss once, and the data stays in its cache: a record would be believed."""
    output = Path(f"{plain}.paes") if way == "encrypt" else folder / "back"
    command = [*sealing, plain]
    if way == "decrypt":
        succeed("encrypt", *sealing[2:4], plain)
        command = [*opening, "-o", output, f"{plain}.paes"]
    # So quick that the last stripes wait to be recorded.
    fail(*command, prefix=preloaded(preload.LOST_AT_THE_END), code=FAILURE, says="Input/output error")
    assert not output.exists()
    succeed(*command)
    assert_nothing_beside(output)
