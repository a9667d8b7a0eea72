# SPDX-License-Identifier: Apache-2.0
# paes-mpi as its users meet it, of every MPI library that was found: what it writes paes opens and the
# reverse, what fails says so once and leaves nothing, and its reports are what their schemas say.
import json
import os
import re
import shutil

import age_file
import container
import mpi
import preload
import program
import pytest
from program import CORRUPT, FAILURE, USAGE, WRONG_KEY
from test_bench import validate
from test_json import validator

MIB = 1 << 20
CHUNK = 16384
# Large enough that three ranks have stripes of their own, and the last a partial one.
TEXT_BYTES = 13 * MIB + 21


def start(library, ranks, *arguments, name="paes-mpi", **options):
    path = mpi.test_program(library, name)
    return mpi.run(library, ranks, *arguments, program_path=path, **options)


def succeed(library, ranks, *arguments, **options):
    result = start(library, ranks, *arguments, **options)
    assert result.code == 0, (arguments, result)
    assert result.said == [], result
    return result


def fail(library, ranks, *arguments, code, says, cwd, **options):
    """The job must fail with `code` and say so once, write nothing and end altogether."""
    before = program.tree(cwd)
    result = start(library, ranks, *arguments, cwd=cwd, **options)
    assert result.code == code, result
    program.assert_error_lines("\n".join(result.said), says)
    assert result.out == ""
    assert program.tree(cwd) == before
    program.wait_until(lambda: not mpi.running(cwd), "the end of all ranks")
    return result


@pytest.fixture(scope="module")
def text():
    return os.urandom(TEXT_BYTES)


@pytest.fixture
def plain(folder, text):
    path = folder / "plain"
    path.write_bytes(text)
    return path


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@mpi.each_library
def test_round_trips_with_paes(library, ranks, folder, keys, plain, sealed, text):
    succeed(library, ranks, "encrypt", "-r", keys.recipient, plain)
    back = folder / "back"
    program.succeed("decrypt", "-i", keys.path, "-o", back, f"{plain}.paes")
    assert back.read_bytes() == text
    back.unlink()
    succeed(library, ranks, "decrypt", "-i", keys.path, "-o", back, sealed)
    assert back.read_bytes() == text
    assert sorted(os.listdir(folder)) == ["back", "plain", "plain.paes", "sealed.paes"]


@mpi.each_library
def test_nothing_that_is_drawn_comes_twice(library, folder, keys):
    (folder / "plain").write_bytes(b"text")
    seen = []
    for output in (folder / "one", folder / "other"):
        succeed(library, 2, "encrypt", "-r", keys.recipient, "-o", output, folder / "plain")
        seen += [container.drawn(output, lambda envelope: age_file.age_decrypt(envelope, keys.path))]
    assert not any(one == other for one, other in zip(*seen)), "the key or the salt is the same"


@pytest.mark.parametrize("size", [0, 1, CHUNK, 4 * MIB - 1, 4 * MIB])
@mpi.each_library
def test_sizes_of_few_pieces(library, size, folder, text, keys):
    """More ranks than stripes, and the other suite."""
    plain = folder / "plain"
    plain.write_bytes(text[:size])
    plain.chmod(0o640)
    succeed(library, 3, "encrypt", "--suite", "aes-128-gcm", "-r", keys.recipient, plain)
    assert (folder / "plain.paes").stat().st_mode & 0o777 == 0o640
    program.succeed("verify", "-i", keys.path, f"{plain}.paes")
    plain.unlink()
    if size in (0, 4 * MIB):
        succeed(library, 3, "decrypt", "-i", keys.path, f"{plain}.paes")
        assert plain.read_bytes() == text[:size]


@pytest.mark.parametrize("access", ["posix", "mpi"])
@pytest.mark.parametrize("file", ["/sys/class/net/lo/mtu", "/proc/version"])
@mpi.each_library
def test_a_file_that_does_not_say_its_length(library, file, access, folder, keys):
    """Files under /sys say more than they have, and those under /proc say nothing."""
    if not os.path.exists(file):
        pytest.skip(f"no {file} here")
    with open(file, "rb") as opened:
        text = opened.read()
    out = folder / "out"
    succeed(library, 3, "encrypt", "--access", access, "-r", keys.recipient, "-o", out, file)
    assert program.succeed("decrypt", "-i", keys.path, "-o", "-", out).out == text
    (folder / "key").write_bytes(bytes(32))
    words = ["aes-256-ctr", "--key", folder / "key", "--iv", "00" * 16]
    succeed(library, 3, "cipher", *words, "--access", access, "-o", folder / "raw", file)
    assert program.succeed("cipher", *words, "-o", "-", folder / "raw").out == text


@mpi.each_library
def test_passphrase(library, folder, plain, text, tmp_path):
    """Rank 0 alone reads it, also from what mpirun gives it as standard input."""
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("several words\n")
    succeed(library, 2, "encrypt", "--passphrase-fd", "0", plain, stdin=b"several words")
    program.succeed("verify", "--passphrase-file", passphrase, f"{plain}.paes")
    plain.unlink()
    succeed(library, 2, "decrypt", "--passphrase-file", passphrase, f"{plain}.paes")
    assert plain.read_bytes() == text
    plain.unlink()
    fail(library, 2, "decrypt", "--passphrase-fd", "0", f"{plain}.paes", stdin=b"other words",
         code=WRONG_KEY, says="passphrase", cwd=folder)


@pytest.mark.parametrize("access", ["posix", "mpi"])
@mpi.each_library
def test_verify(library, access, folder, keys, sealed):
    result = succeed(library, 3, "verify", "--access", access, "-i", keys.path, sealed)
    assert result.out == f"{sealed}: authentic, {TEXT_BYTES} bytes\n"
    damaged = bytearray(sealed.read_bytes())
    damaged[-CHUNK * 3] ^= 1  # in the last rank's share
    sealed.write_bytes(damaged)
    fail(library, 3, "verify", "--access", access, "-i", keys.path, sealed,
         code=CORRUPT, says=r"1 of \d+ chunks is damaged, misplaced or forged: bytes \d+-\d+ of", cwd=folder)


@pytest.mark.parametrize("chunks", [[182], range(250, 520), range(1, 800, 3)], ids=["one", "across", "many"])
@mpi.each_library
def test_verify_says_where_as_paes_does(library, chunks, folder, keys, sealed):
    """What ranks find is one list: neighbours of two ranks are joined, and the first hundred named."""
    damaged = bytearray(sealed.read_bytes())
    start_of_payload = len(damaged) - (TEXT_BYTES + 16 * (TEXT_BYTES // CHUNK + 1))
    for chunk in chunks:
        damaged[start_of_payload + chunk * (CHUNK + 16)] ^= 1
    sealed.write_bytes(damaged)
    alone = program.run("verify", "-i", keys.path, sealed)
    assert alone.code == CORRUPT
    result = start(library, 3, "verify", "-i", keys.path, sealed)
    assert result.code == CORRUPT and result.said == alone.err.splitlines()
    of_ranks = json.loads(start(library, 3, "verify", "--json", "-i", keys.path, sealed).out)
    of_one = json.loads(program.run("verify", "--json", "-i", keys.path, sealed).out)
    assert of_ranks["files"][0]["damage"] == of_one["files"][0]["damage"]
    validator("transfer").validate(of_ranks)


@pytest.mark.parametrize(
    "cipher, more",
    [
        ("aes-256-ctr", []),
        ("aes-128-cbc", []),
        ("aes-256-xts", ["--unit", "4KiB"]),
        ("aes-192-gcm", ["--aad", "aad"]),
    ],
)
@mpi.each_library
def test_raw_modes(library, cipher, more, folder, plain, text):
    bits, mode = int(cipher[4:7]), cipher[8:]
    (folder / "key").write_bytes(os.urandom(bits // 8 * (2 if mode == "xts" else 1)))
    (folder / "aad").write_bytes(b"beside the text")
    iv = os.urandom(12 if mode == "gcm" else 16).hex()
    options = [cipher, "--key", "key", "--iv", iv, *more]
    program.succeed("cipher", *options, "-o", "expected", plain, cwd=folder)
    if mode != "cbc":  # in which encryption is chained
        succeed(library, 3, "cipher", *options, "-o", "got", plain, cwd=folder)
        assert (folder / "got").read_bytes() == (folder / "expected").read_bytes()
    succeed(library, 3, "cipher", "-d", *options, "-o", "back", "expected", cwd=folder)
    assert (folder / "back").read_bytes() == text


@mpi.each_library
def test_triple_des_beyond_its_limit(library, folder):
    (folder / "key").write_bytes(bytes(range(24)))
    (folder / "large").write_bytes(os.urandom(9_000_000))
    words = ["cipher", "des-ede3-ctr", "--legacy", "-q", "--key", "key", "--iv", "00" * 8]
    fail(library, 2, *words, "-o", "got", "large", code=USAGE, says="1048576 blocks(.|\n)*--no-block-limit", cwd=folder)
    words.append("--no-block-limit")
    program.succeed(*words, "-o", "expected", "large", cwd=folder)
    result = start(library, 3, *words, "-o", "got", "large", cwd=folder)
    assert result.code == 0 and len(result.said) == 1, result
    assert result.said[0].startswith("paes: warning: des-ede3-ctr: SP 800-67 allows 2^20 blocks")
    assert (folder / "got").read_bytes() == (folder / "expected").read_bytes()


@mpi.each_library
def test_failures_that_all_agree_upon(library, folder, keys, other_keys, plain, sealed, tmp_path):
    (folder / "key").write_bytes(bytes(32))
    taken = folder / "taken"
    taken.write_bytes(b"mine")
    os.mkfifo(folder / "pipe")  # nobody waits for its reader
    recipient = ["-r", keys.recipient]
    failures = [
        (["decrypt", "-i", other_keys.path, "-o", "x", sealed], WRONG_KEY, "identit"),
        (["decrypt", "-i", tmp_path / "absent", "-o", "x", sealed], FAILURE, "absent: No such file"),
        (["encrypt", *recipient, "missing"], FAILURE, "missing: No such file"),
        (["encrypt", *recipient, "-o", taken, plain], FAILURE, "taken: already exists"),
        (["encrypt", *recipient, "-o", folder / "pipe", plain], USAGE, "ranks could share"),
        (["encrypt", *recipient, "-f", "-o", plain, plain], USAGE, "plain"),
        (["encrypt", *recipient, folder], FAILURE, "directory"),
        (["encrypt", plain], USAGE, "nobody could decrypt"),
        (["encrypt", *recipient, "-"], USAGE, "ranks cannot share"),
        (["encrypt", *recipient, "--kernel", "none", plain], USAGE, "none"),
        (["encrypt", *recipient, "--no-such-option", plain], USAGE, "no-such-option"),
        (["encrypt", *recipient, "--device", "cuda", "-o", "x", "missing"], FAILURE,
         "cuda|missing"),
        (["frobnicate"], USAGE, "no command 'frobnicate'"),
        (["cipher", "aes-256-cbc", "--key", "key", "--iv", "00" * 16, "-o", "x", plain], USAGE,
         "chained"),
        (["cipher", "aes-128-ctr", "--key", "key", "--iv", "00" * 16, "-o", "x", plain], USAGE,
         "has 32 bytes"),
    ]
    # Open MPI's mpirun takes more than a second to end a job that failed.
    few = library == "mpi.openmpi" and not os.environ.get("PAES_EXHAUSTIVE")
    for arguments, code, says in failures[::5] if few else failures:
        fail(library, 2, *arguments, code=code, says=says, cwd=folder)


def in_two_folders(library, *arguments, folders):
    """Rank 0 in the first folder, rank 1 in the second: what fails on one of them alone."""
    first = mpi.command(library, 1, *arguments, program_path=mpi.paes_mpi(library),
                        launcher_options=["-wdir", str(folders[0])])
    at = first.index("-wdir")
    second = ["-wdir", str(folders[1]), *first[first.index("-n"):]]
    return [*first[:at], *first[at:], ":", *second]


@mpi.each_library
def test_failure_on_one_rank(library, folder, keys, plain, tmp_path):
    """A file that one rank does not see, and one that is another there."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for says in (r"plain: No such file.* \(rank 1 on ", r"is another file here .*\(rank 1 on "):
        before = program.tree(folder)
        command = in_two_folders(
            library, "encrypt", "-r", keys.recipient, "plain", folders=(folder, elsewhere)
        )
        result = mpi.run_command(command)
        assert result.code == FAILURE, result
        program.assert_error_lines("\n".join(result.said), says)
        assert program.tree(folder) == before
        program.wait_until(lambda: not mpi.running(folder), "the end of all ranks")
        shutil.copy(plain, elsewhere / "plain")


@mpi.each_library
def test_one_rank_cannot_open_by_mpi(library, folder, keys, text):
    """Where opening was collective, the others waited for ever. The name: Open MPI takes no relative
    one of one character, and so gets none."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (folder / "p").write_bytes(text)
    words = ("encrypt", "--access", "mpi", "-r", keys.recipient, "p")
    before = program.tree(folder)
    result = mpi.run_command(in_two_folders(library, *words, folders=(folder, elsewhere)))
    assert result.code == FAILURE, result
    program.assert_error_lines("\n".join(result.said), r"p: .*\(rank 1 on ")
    # MPICH's text has two lines.
    assert not re.search(r"\\x|error stack", result.said[0]), result
    assert program.tree(folder) == before
    program.wait_until(lambda: not mpi.running(folder), "the end of all ranks")
    succeed(library, 2, *words, cwd=folder)


@mpi.each_library
def test_what_only_one_rank_says(library, folder, keys, plain):
    assert succeed(library, 2, "--version").out.count("paes-mpi ") == 1
    assert succeed(library, 2, "encrypt", "--help").out.count("Usage:") == 1
    result = start(library, 2, "encrypt", "-v", "-r", keys.recipient, plain)
    assert result.code == 0
    assert len(result.said) == 1 and "GB/s" in result.said[0], result


@mpi.each_library
def test_help_and_hints_are_of_this_program(library, folder, plain):
    """What paes does with pipes, terminals and --new-identity, ranks do not."""
    for command in ("encrypt", "decrypt", "cipher"):
        shown = " ".join(succeed(library, 1, command, "--help").out.split())
        assert "where to write, which every rank must see" in shown
        assert "threads of each rank" in shown
        for wrong in ("standard output", "to a terminal", "every processor", "--new-identity"):
            assert wrong not in shown, command
    result = fail(library, 1, "encrypt", plain, code=USAGE, says="nobody could decrypt", cwd=folder)
    assert result.said[1].endswith("-R FILE or -p; paes keygen makes keys")


@mpi.each_library
def test_json(library, folder, keys, plain):
    document = json.loads(
        succeed(library, 2, "encrypt", "--json", "-T", "1", "-r", keys.recipient, plain).out
    )
    validator("transfer").validate(document)
    assert document["mpi"]["ranks"] == 2
    (file,) = document["files"]
    assert (file["status"], file["text_bytes"], file["threads"]) == ("done", TEXT_BYTES, 1)
    again = start(library, 2, "encrypt", "--json", "-r", keys.recipient, plain)
    assert again.code == FAILURE
    document = json.loads(again.out)
    validator("transfer").validate(document)
    assert document["exit_code"] == FAILURE
    assert document["files"][0]["error"]["message"].endswith("already exists")


@mpi.each_library
def test_bench(library, folder):
    def bench(*arguments, ranks=2):
        result = succeed(library, ranks, *arguments, "--runs", 2, "--json", name="paes-mpi-bench")
        document = json.loads(result.out)
        validate(document, "bench-mpi.schema.json")
        assert document["mpi"]["ranks"] == ranks
        job = document["mpi"]
        assert (job["hosts"], job["machines"]) == (1, 1)
        assert 1 <= job["cores"] <= len(os.sched_getaffinity(0))
        threads = document["results"][0]["threads"]  # of each rank
        assert job["oversubscribed"] == (ranks * threads > job["cores"])
        return document["results"]

    sizes = [16, 5 * MIB]
    rows = bench("memory", "--cipher", "aes-128-ctr", "-T", 1, "--bytes", "1,5MiB", ranks=3)
    assert [row["bytes"] for row in rows] == sizes
    for kind in ("memory", "scatter"):  # ranks share 64 blocks out; one of them gets a data unit of XTS
        rows = bench(kind, "--cipher", "aes-128-ecb", "-T", 1, "--bytes", "1KiB", ranks=3)
        assert [row["bytes"] for row in rows] == [1024]
        rows = bench(kind, "--cipher", "aes-128-xts", "-T", 1, "--bytes", "1KiB", ranks=3)
        assert [row["bytes"] for row in rows] == [4096]
    rows = bench("scatter", "--bytes", "1,5MiB")
    assert [(row["bytes"], row["cipher"]) for row in rows] == [(n, "aes-256-gcm") for n in sizes]
    rows = bench("libcrypto", "--size", "1000000", "--agreements", 2, ranks=3)  # one rank has none
    assert [(row["algorithm"], row["bytes"], row["items"]) for row in rows] == [
        ("aes-256-ctr", 1_000_000, 4), ("chacha20", 1_000_000, 4), ("x25519", 64, 2)]
    rows = bench("file", "--bytes", "1MiB", "--dir", folder)
    assert [row["direction"] for row in rows] == ["encrypt", "decrypt", "verify"]
    assert os.listdir(folder) == []
    for row in rows:
        assert row["seconds"]["min"] <= row["seconds"]["median"] <= row["seconds"]["max"]


@mpi.each_library
def test_the_clock_starts_with_the_first_rank(library):
    """Ranks that share one processor begin one after the other. No run can be shorter than the processor time that the work
    takes. A clock that starts with the last of four ranks would give a quarter of it for many; half tells the two apart, however the
    processor's speed changes meanwhile."""
    work = ("--cipher", "aes-128-ecb", "--kernel", "compute", "--json")

    def processor_seconds():
        done = program.run("kernel", *work, "--size", "64KiB", "--threads", "1", "--seconds", "0.5", "--clock", "cpu",
                           binary=program.BENCH)
        (row,) = json.loads(done.out)["results"]
        return row["seconds_median"]

    before = processor_seconds()
    one_processor = ("-c", min(os.sched_getaffinity(0)))
    for kind, phase in (("memory", "seconds"), ("scatter", "compute_seconds")):
        result = mpi.succeed(library, 4, *one_processor, mpi.test_program(library, "paes-mpi-bench"), kind, *work,
                             "--bytes", "64KiB", "--threads", 1, "--runs", 50, program_path="taskset")
        (measured,) = json.loads(result.out)["results"]
        after = processor_seconds()
        assert measured[phase]["min"] > 0.5 * min(before, after), (kind, measured, before, after)
        if kind == "scatter":
            phases = [measured[f"{name}_seconds"] for name in ("scatter", "compute", "gather")]
            assert sum(part["min"] for part in phases) <= measured["seconds"]["min"]
            assert measured["seconds"]["max"] <= sum(part["max"] for part in phases)


@mpi.each_library
def test_bench_refuses(library, folder):
    if library != "mpi.openmpi":
        fail(library, 2, "memory", "--cipher", "aes-256-cbc", code=USAGE,
             says="one block after the other", cwd=folder, name="paes-mpi-bench")
        fail(library, 2, "scatter", "--bytes", "1TB", code=USAGE, says="scattered",
             cwd=folder, name="paes-mpi-bench")
    fail(library, 2, "file", "--dir", folder / "absent", code=FAILURE, says="absent",
         cwd=folder, name="paes-mpi-bench")
    cuda = json.loads(program.succeed("devices", "--json").out)["cuda"]
    if not cuda["available"]:
        fail(library, 1, "memory", "--device", "cuda", code=FAILURE, cwd=folder, name="paes-mpi-bench",
             says=f"device: cuda is not available: {cuda['reason']}")
    fail(library, 1, "memory", "--device", "cuda", "--kernel", "aesni", code=USAGE, cwd=folder, name="paes-mpi-bench",
         says="no device kernel 'aesni' has aes-256-gcm")


@mpi.each_library
def test_where_no_change_shows_nothing_is_resumed(library, preloaded, folder, keys, plain):
    before = program.tree(folder)
    command = [*preloaded(preload.FORGETFUL)[1:], mpi.paes_mpi(library), "encrypt", "--resume"]
    result = mpi.run(library, 2, *command, "-r", keys.recipient, "-i", keys.path, plain,
                     program_path="env")
    assert result.code == USAGE, result
    program.assert_error_lines("\n".join(result.said), "keeps no time of change")
    assert program.tree(folder) == before
