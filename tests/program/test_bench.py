# SPDX-License-Identifier: Apache-2.0
# `paes-bench`: its JSON is what bench/schema says, its figures agree with each other, and it leaves
# nothing behind. How fast anything is, no test can say.
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import program
import pytest
import referencing
from program import BENCH, FAILURE, USAGE
from test_json import failure_of

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "bench" / "schema"


def without_required(schema):
    """The schema of rows that may lack any member but has no wrong one."""
    if isinstance(schema, dict):
        return {name: without_required(value) for name, value in schema.items() if name != "required"}
    return [without_required(value) for value in schema] if isinstance(schema, list) else schema


def validate(document, name, is_distilled=False):
    """Validates against a schema whose references are files beside it, or those of the documents. Distilled
    rows of some commands have only the members that documents use."""
    read = (lambda path: without_required(json.loads(path.read_text()))) if is_distilled else (
        lambda path: json.loads(path.read_text()))
    resources = [
        (path.name, referencing.Resource.from_contents(read(path)))
        for folder in (SCHEMAS, ROOT / "docs" / "schema") for path in folder.glob("*.json")
    ]
    registry = referencing.Registry().with_resources(resources)
    jsonschema.Draft202012Validator(read(SCHEMAS / name), registry=registry).validate(document)


def validate_tables(document):
    """Each table of a distilled document is what its schema says, and each row of it has all columns."""
    if isinstance(document, dict) and "columns" in document:
        validate(document, "table.schema.json")
        assert {len(row) for row in document["rows"]} == {len(document["columns"])}
    elif isinstance(document, (dict, list)):
        for member in document.values() if isinstance(document, dict) else document:
            validate_tables(member)


succeed = functools.partial(program.succeed, binary=BENCH)
fail = functools.partial(program.fail, binary=BENCH)
start = functools.partial(program.start, binary=BENCH)


def bench(*arguments):
    return json.loads(succeed(*arguments, "--json").out)


def check_ratio(row, first):
    ratio = row["ratio_to_first"]
    assert ratio["min"] <= ratio["median"] <= ratio["max"]
    if row is first:
        assert ratio == {"median": 1, "min": 1, "max": 1}
    else:
        # Medians of rates and of ratios need not agree, but the ratio's range must hold them.
        assert ratio["min"] * 0.5 <= row["gb_per_s"] / first["gb_per_s"] <= ratio["max"] * 2


def kernels():
    """Those of AES that run here, as a refusal lists them: paes's own, and what they are compared with."""
    listed = fail("kernel", "--kernel", "nonesuch", code=USAGE).err.split("this machine has: ")[1]
    return listed.strip().split(", ")


def test_kernels_side_by_side():
    document = bench("kernel", "--kernel", "bitslice,copy", "--cipher", "aes-128-gcm,aes-256-gcm",
                     "--direction", "encrypt,decrypt", "--size", "100,2KiB",
                     "--seconds", "0", "--clock", "cpu")
    validate(document, "bench-kernel.schema.json")
    assert document["clock"] == "cpu"
    rows = document["results"]
    assert [(r["cipher"], r["direction"], r["bytes"], r["kernel"]) for r in rows] == [
        (cipher, direction, size, kernel)
        for cipher in ("aes-128-gcm", "aes-256-gcm")
        for direction in ("encrypt", "decrypt")
        for size in (100, 2048)
        for kernel in ("bitslice", "copy")
    ]
    for first, second in zip(rows[::2], rows[1::2]):
        for row in (first, second):
            assert row["threads"] == 1
            expected = row["bytes"] * row["threads"] / row["seconds_median"] / 1e9
            assert row["gb_per_s"] == pytest.approx(expected)
            check_ratio(row, first)
        assert second["ratio_to_first"]["median"] > 1, "memcpy is slower than a cipher?"


def test_threads_work_side_by_side():
    document = bench("kernel", "--kernel", "bitslice", "--size", "1KiB", "--threads", "2",
                     "--seconds", "0")
    validate(document, "bench-kernel.schema.json")
    (row,) = document["results"]
    assert row["threads"] == 2
    assert row["gb_per_s"] == pytest.approx(2 * 1024 / row["seconds_median"] / 1e9)


def test_raw_modes():
    document = bench("kernel", "--kernel", "bitslice,openssl", "--size", "512", "--seconds", "0",
                     "--cipher", "aes-128-cbc,aes-192-ctr,aes-256-xts",
                     "--direction", "encrypt,decrypt")
    validate(document, "bench-kernel.schema.json")
    assert [(r["cipher"], r["direction"], r["way"], r["messages"] > 1)
            for r in document["results"] if r["kernel"] == "bitslice"] == [
        ("aes-128-cbc", "encrypt", "batch", True),
        ("aes-128-cbc", "decrypt", "message", False),
        ("aes-192-ctr", "encrypt", "message", False),
        ("aes-192-ctr", "decrypt", "message", False),
        ("aes-256-xts", "encrypt", "message", False),
        ("aes-256-xts", "decrypt", "message", False),
    ]


def test_threads_share_a_message():
    document = bench("kernel", "--kernel", "bitslice", "--cipher", "aes-128-ctr", "--size", "1MiB",
                     "--threads", "2", "--share", "--seconds", "0")
    validate(document, "bench-kernel.schema.json")
    (row,) = document["results"]
    assert row["way"] == "shared"
    assert row["gb_per_s"] == pytest.approx(2**20 / row["seconds_median"] / 1e9)


def test_table_of_results():
    tool = [sys.executable, str(SCHEMAS.parents[1] / "tools" / "bench_table.py"), "--print"]
    document = bench("kernel", "--kernel", "openssl,bitslice", "--size", "1KiB", "--seconds", "0",
                     "--cipher", "aes-128-cbc", "--direction", "encrypt,decrypt")
    made = subprocess.run(tool, input=json.dumps(document), capture_output=True, text=True, check=True)
    lines = made.stdout.splitlines()
    assert sum(line.startswith("| cipher | direction | openssl | bitslice |") for line in lines) == 2
    for row in document["results"]:
        (line,) = [line for line in lines if f"| aes-128-cbc | {row['direction']} |" in line]
        assert f"{row['gb_per_s']:.3g} (" in line
    assert any("messages of 1 KiB, batches of independent" in line for line in lines)
    refused = subprocess.run(tool, input="{}", capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "input" in refused.stderr


def test_the_cipher_matrix_is_made_from_a_committed_result():
    (result,) = (ROOT / "bench" / "results").glob("*-matrix.json")
    tool = [sys.executable, ROOT / "tools" / "bench_table.py", "--print", result]
    made = subprocess.run(tool, capture_output=True, text=True, check=True)
    document = (ROOT / "docs" / "log" / "matrix.md").read_text()
    begin, end = "<!-- cipher matrix: made by tools/bench_table.py -->\n", "<!-- end of the cipher matrix -->"
    assert document.split(begin)[1].split(end)[0] == made.stdout


def test_schema_rejects_what_is_not_a_result():
    document = bench("kernel", "--kernel", "bitslice", "--size", "16", "--seconds", "0")
    validate(document, "bench-kernel.schema.json")
    del document["results"][0]["ratio_to_first"]["min"]
    with pytest.raises(jsonschema.ValidationError):
        validate(document, "bench-kernel.schema.json")


def test_all_kernels_of_this_machine_are_compared_by_default():
    document = bench("kernel", "--size", "64", "--seconds", "0")
    measured = [row["kernel"] for row in document["results"]]
    rows = json.loads(program.succeed("devices", "--json").out)["kernels"]
    assert {row["name"] for row in rows if row["cipher"] == "aes" and row["available"]} < set(measured)
    assert set(measured) == set(kernels()) > {"copy"}
    if "openssl" in measured:
        assert measured[0] == "openssl"


def test_rows_without_a_hash_cannot_verify():
    document = bench("kernel", "--direction", "verify", "--size", "64", "--seconds", "0")
    assert "copy" not in [row["kernel"] for row in document["results"]]
    fail("kernel", "--kernel", "copy", "--direction", "verify", code=USAGE, says="copy.*verify")


@pytest.mark.parametrize("arguments, says", [
    (["--kernel", "nonesuch"], "unknown name 'nonesuch'(.|\n)*bitslice.*copy"),
    (["--cipher", "rot13"], "unknown name 'rot13'(.|\n)*aes-256-gcm"),
    (["--direction", "sideways"], "unknown name 'sideways'(.|\n)*decrypt"),
    (["--clock", "sun"], "unknown name 'sun'(.|\n)*wall"),
    (["--size", "0"], "--size"),
    (["--cipher", "aes-128-cbc", "--size", "17"], "--size.*aes-128-cbc.*17"),
    (["--cipher", "aes-128-xts", "--size", "15"], "--size.*aes-128-xts.*15"),
    (["--cipher", "aes-128-ctr", "--direction", "verify"], "aes-128-ctr has no tag"),
    (["--cipher", "aes-128-cbc", "--share"], "--share.*aes-128-cbc"),
    (["--cipher", "aes-128-ctr", "--share", "--clock", "cpu"], "--share.*clock"),
    (["--cipher", "aes-128-ofb", "--kernel", "vaes_loop"], "vaes_loop"),
    (["--device", "gpu"], "--device.*cuda"),
    (["--device", "cuda", "--clock", "cpu"], "--device.*clock"),
    (["--size", "1QB"], "--size"),
    (["--size", "60GiB", "--threads", "4096"], "--size.*memory"),
    (["--threads", "-1"], "--threads"),
])
def test_kernel_usage(arguments, says):
    fail("kernel", *arguments, code=USAGE, says=says)


def test_a_device_has_its_turns_or_is_not_there():
    cuda = json.loads(program.succeed("devices", "--json").out)["cuda"]
    arguments = ("kernel", "--kernel", "bitslice", "--device", "cuda", "--size", "1MiB", "--seconds", "0")
    if not cuda["available"]:
        failed = fail(*arguments, code=FAILURE)
        assert failed.err == f"paes: device: cuda is not available: {cuda['reason']}\n"
        return
    document = bench(*arguments)
    validate(document, "bench-kernel.schema.json")
    assert [(row["kernel"], row["device"]) for row in document["results"]] == [
        ("bitslice", "cpu"), ("cuda", "cuda")]
    fail(*arguments, "--cipher", "aes-128-xts", code=USAGE, says="device: cuda cannot")
    fail(*arguments, "--size", "128MiB", code=USAGE, says="--size: cuda takes")


def test_speculation_beside_direct_computing():
    document = bench("speculate", "--kernel", "bitslice", "--clients", "1,2", "--workers", "0,1",
                     "--delay-us", "0,30", "--window", "8", "--bytes", "256KiB", "--runs", "2")
    validate(document, "bench-speculate.schema.json")
    rows = document["results"]
    assert [(r["clients"], r["workers"], r["delay_us"]) for r in rows] == [
        (clients, workers, delay) for clients in (1, 2) for workers in (0, 1) for delay in (0, 30)]
    for row in rows:
        speculative = row["speculative"]
        ways = sum(speculative[way] for way in ("own", "other", "direct", "bypassed"))
        assert ways == row["requests"] * row["rounds"] == 64 * 2
        assert speculative["late"] <= speculative["direct"]
        assert speculative["hit_rate"] == (speculative["own"] + speculative["other"]) / ways
        if row["workers"] == 0 and row["delay_us"] == 0:
            assert speculative["hit_rate"] == 0, "nobody had time to compute"
    assert any(r["speculative"]["own"] > 0 for r in rows)


def test_speculation_of_sealed_messages():
    document = bench("speculate", "--cipher", "aes-256-gcm", "--clients", "1,2", "--delay-us", "0,30",
                     "--workers", "0", "--bytes", "256KiB", "--runs", "2")
    validate(document, "bench-speculate.schema.json")
    assert any(row["speculative"]["own"] > 0 for row in document["results"])


def test_speculation_against_itself():
    """What the machine makes of two equal ways: nothing is computed ahead."""
    document = bench("speculate", "--clients", "1", "--delay-us", "30", "--workers", "0,1",
                     "--window", "0", "--bytes", "256KiB", "--runs", "2")
    validate(document, "bench-speculate.schema.json")
    for row in document["results"]:
        assert row["speculative"]["direct"] == row["requests"] * row["rounds"]
        assert row["p50_ratio"]["median"] > 0


def test_speculation_takes_new_keys_of_3des():
    document = bench("speculate", "--cipher", "des-ede3-ctr", "--delay-us", "0", "--workers", "0",
                     "--bytes", "9MiB", "--runs", "1", "--request", "64KiB")
    validate(document, "bench-speculate.schema.json")
    assert document["results"][0]["requests"] == 144


def test_who_computes_ahead():
    document = bench("ahead", "--kernel", "bitslice,auto", "--clients", "1,3", "--workers", "2", "--delay-us", "0,200",
                     "--bytes", "6MiB", "--runs", "2")
    validate(document, "bench-ahead.schema.json")
    rows = document["results"]
    assert [(row["delay_us"], row["clients"]) for row in rows] == [(0, 1), (0, 3), (200, 1), (200, 3)] * 2
    for row in rows:
        assert row["requests"] == 1536 and row["oversubscribed"] == (row["clients"] + 2 > document["machine"]["cores"])
        ways = {way["way"]: way for way in row["ways"]}
        assert list(ways) == ["direct", "threads", "idle"]
        for way in ways.values():
            made = [way[maker] for maker in ("own", "other", "direct", "bypassed")]
            assert sum(made) == row["requests"] * row["rounds"] and way["late"] <= way["direct"]
            assert way["delay"]["p50_ns"] >= row["delay_us"] * 1000
            assert [beginning["requests"] for beginning in way["beginnings"]] == [1024, 1536]
            assert way["beginnings"][-1]["encrypt"] == way["encrypt"]
            assert way["beginnings"][-1]["schedule"] == way["schedule"]
        assert [ways[name]["window_chunks"] for name in ways] == [0, 1, 16]
        assert ways["direct"]["direct"] == row["requests"] * row["rounds"], "nobody computes ahead"
        assert ways["direct"]["p50_ratio"] == {"median": 1, "min": 1, "max": 1}
        # Threads compute for clients that never do, and what they have computed is used.
        assert ways["threads"]["own"] == ways["threads"]["bypassed"] == 0
        if row["delay_us"]:
            assert ways["threads"]["other"] > 0
            assert ways["idle"]["own"] + ways["idle"]["other"] > 0


@pytest.mark.parametrize("arguments, says", [
    (["--cipher", "aes-256-gcm"], "not counter mode"),
    (["--cipher", "aes-256-cbc"], "not counter mode"),
    (["--workers", "0"], "--workers"),
    (["--clients", "1,0"], "--clients"),
    (["--kernel", "nonesuch"], "nonesuch"),
])
def test_ahead_that_cannot_be(arguments, says):
    fail("ahead", *arguments, code=USAGE, says=says)


@pytest.mark.parametrize("arguments, says", [
    (["--cipher", "aes-256-cbc"], "counter mode nor GCM"),
    (["--kernel", "nonesuch"], "nonesuch"),
    (["--clients", "0"], "--clients"),
    (["--request", "3000"], "power of two"),
])
def test_speculation_that_cannot_be(arguments, says):
    fail("speculate", *arguments, code=USAGE, says=says)


def test_blocks_of_a_vault():
    document = bench("vault", "--kernel", "bitslice,auto", "--ahead", "4,64", "--delay-us", "0,30", "--blocks", "300",
                     "--runs", "3")
    validate(document, "bench-vault.schema.json")
    rows = document["results"]
    assert [(row["ahead"], row["delay_us"]) for row in rows] == [(4, 0), (4, 30), (64, 0), (64, 30)] * 2
    for row in rows:
        assert [way["way"] for way in row["ways"]] == ["random", "numbered", "ahead", "ready"]
        assert row["ways"][0]["p50_ratio"] == {"median": 1, "min": 1, "max": 1}
        assert all(way["p50_ns"] <= way["p99_ns"] for way in row["ways"])
        assert 0 <= row["hit_rate"] <= 1


@pytest.mark.parametrize("arguments, says", [
    (["--kernel", "nonesuch"], "nonesuch"), (["--ahead", "0"], "--ahead"), (["--blocks", "0"], "--blocks"),
])
def test_blocks_of_a_vault_that_cannot_be(arguments, says):
    fail("vault", *arguments, code=USAGE, says=says)


def test_threads_schedules_and_pieces_side_by_side():
    document = bench("threads", "--kernel", "bitslice", "--cipher", "aes-128-ecb,des-ede3-ctr", "--direction",
                     "encrypt,decrypt", "--size", "4096", "--threads", "1,2", "--schedule", "static,dynamic",
                     "--piece", "64,1KiB", "--runs", "2")
    validate(document, "bench-threads.schema.json")
    rows = document["results"]
    # One thread has no schedule.
    assert [(r["direction"], r["cipher"], r["threads"], r["schedule"], r["piece_bytes"]) for r in rows] == [
        (direction, cipher, threads, schedule, piece)
        for direction in ("encrypt", "decrypt")
        for cipher in ("aes-128-ecb", "des-ede3-ctr")
        for threads, schedule in ((1, "serial"), (2, "static"), (2, "dynamic"))
        for piece in (64, 1024)
    ]
    for row in rows:
        assert row["rounds"] == 2 and row["split"] == "pieces"
        assert row["seconds_min"] <= row["seconds_median"] <= row["seconds_max"]
        assert row["gb_per_s"] == pytest.approx(4096 / row["seconds_median"] / 1e9)
        assert row["oversubscribed"] == (row["threads"] > document["machine"]["cores"])
        check_ratio(row, rows[0] if row["direction"] == "encrypt" else rows[len(rows) // 2])


@pytest.mark.parametrize("options, callers, busy_loops, after_fork", [
    ((), 1, 0, False), (("--callers", "3", "--busy", "1"), 3, 1, False), (("--after-fork",), 1, 0, True),
    (("--after-fork", "--callers", "2"), 2, 0, True)])
def test_threads_under_conditions(options, callers, busy_loops, after_fork):
    """The bench compares each output with libcrypto's. Each caller has as many of the messages."""
    document = bench("threads", "--cipher", "aes-256-ctr", "--size", "400KiB", "--piece", "64KiB", "--threads", "2,1",
                     "--schedule", "pool,static,dynamic", "--runs", "2", *options)
    validate(document, "bench-threads.schema.json")
    assert document["conditions"] == {"callers": callers, "busy_loops": busy_loops, "after_fork": after_fork}
    assert [row["schedule"] for row in document["results"]] == ["pool", "static", "dynamic", "serial"]
    assert all(row["runs"] % callers == 0 for row in document["results"])


def test_parallelism_inside_a_block_computes_the_same():
    """The bench compares each output with libcrypto's, and fails where it differs."""
    arguments = ("threads", "--kernel", "compute", "--split", "pieces,blocks,inside,nested", "--size", "160",
                 "--threads", "1,2", "--piece", "32", "--runs", "1")
    fail(*arguments, code=USAGE, says="OMP_MAX_ACTIVE_LEVELS=2")
    done = succeed(*arguments, "--json", prefix=("env", "OMP_MAX_ACTIVE_LEVELS=2"))
    document = json.loads(done.out)
    validate(document, "bench-threads.schema.json")
    assert [(r["split"], r["threads"]) for r in document["results"]] == [
        (split, threads) for split in ("pieces", "blocks", "inside", "nested") for threads in (1, 2)]


@pytest.mark.parametrize("arguments, says", [
    (["--cipher", "aes-128-cbc"], "cannot share a message of aes-128-cbc encrypt"),
    (["--cipher", "aes-128-gcm"], "cannot share a message of aes-128-gcm"),
    (["--size", "100"], "no whole blocks"),
    (["--size", "2000TiB"], "more than half of the memory"),
    (["--schedule", "no_such"], "unknown name 'no_such'"),
    (["--split", "sideways"], "unknown name 'sideways'"),
    (["--callers", "0"], "--callers"),
    (["--split", "inside"], "compute"),
    (["--split", "inside", "--kernel", "compute", "--direction", "decrypt"], "encryption"),
    (["--direction", "verify"], "unknown name 'verify'"),
    (["--piece", "8"], "--piece"),
])
def test_threads_usage(arguments, says):
    fail("threads", *arguments, code=USAGE, says=says)


def test_what_libcrypto_computes_by_threads():
    document = bench("libcrypto", "--size", "100000", "--piece", "4KiB", "--agreements", "5", "--threads", "1,2",
                     "--schedule", "static,dynamic", "--runs", "2")
    validate(document, "bench-libcrypto.schema.json")
    rows = document["results"]
    assert [(row["algorithm"], row["threads"], row["schedule"]) for row in rows] == [
        (algorithm, threads, schedule)
        for algorithm in ("aes-256-ctr", "chacha20", "x25519")
        for threads, schedule in ((1, "serial"), (2, "static"), (2, "dynamic"))
    ]
    for row in rows:
        wanted = (5 * 32, 5) if row["algorithm"] == "x25519" else (100_000, 25)
        assert (row["bytes"], row["items"], row["rounds"]) == (*wanted, 2)
        assert row["seconds_min"] <= row["seconds_median"] <= row["seconds_max"]
        assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["seconds_median"] / 1e9)
        assert row["items_per_s"] == pytest.approx(row["items"] / row["seconds_median"])
        assert row["oversubscribed"] == (row["threads"] > document["machine"]["cores"])
        check_ratio(row, next(first for first in rows if first["algorithm"] == row["algorithm"]))


@pytest.mark.parametrize("arguments, says", [
    (["--algorithm", "rot13"], "unknown name 'rot13'(.|\n)*aes-256-ctr, chacha20, x25519"),
    (["--size", "0"], "--size"),
    (["--size", "128GiB"], "more than half of the memory"),
    (["--piece", "100"], "no whole blocks"),
    (["--agreements", "0"], "--agreements"),
    (["--schedule", "no_such"], "unknown name 'no_such'"),
])
def test_what_libcrypto_does_not_compute(arguments, says):
    fail("libcrypto", *arguments, code=USAGE, says=says)


def test_no_measurement_is_a_usage_error():
    fail(code=USAGE, says="subcommand")


def test_help_before_the_measurement():
    for option in ("-h", "--help"):
        page = succeed("kernel", "--help").out
        assert succeed(option, "kernel").out == page
        assert len(page.splitlines()) > 8


@pytest.mark.parametrize("words", ["kernel --json --kernel warp", "--json"])
def test_errors_before_there_is_anything_to_report(words):
    result = program.run(*words.split(), binary=BENCH)
    assert result.code == USAGE
    command = None if words.startswith("-") else words.split()[0]
    assert failure_of(result).get("command") == command


def test_paes_itself_measures_nothing():
    program.fail("bench", "kernel", code=USAGE, says="no command 'bench'")


def test_files(folder):
    document = bench("file", "--size", "3MB", "--dir", folder, "--runs", "2", "--against", "openssl")
    validate(document, "bench-file.schema.json")
    contests = {}
    for row in document["results"]:
        contests.setdefault((row["operation"], row["bytes"]), []).append(row)
    by_programs = {key: [row["program"] for row in rows] for key, rows in contests.items()}
    assert by_programs == {
        ("encrypt", 1024): ["cp", "paes", "openssl"],
        ("decrypt", 1024): ["cp", "paes", "openssl"],
        ("encrypt", 3000000): ["cp", "paes", "openssl"],
        ("decrypt", 3000000): ["cp", "paes", "openssl"],
        ("verify", 3000000): ["cat", "paes"],
        ("encrypt-pipe", 3000000): ["cat", "paes", "openssl"],
    }
    for rows in contests.values():
        for row in rows:
            check_ratio(row, rows[0])
            assert str(folder) not in row["command"] and "AGE-SECRET" not in row["command"]
    assert program.tree(folder) == {}


def test_files_need_room(folder):
    fail("file", "--size", "900TiB", "--dir", folder, code=FAILURE, says="needed")
    assert program.tree(folder) == {}
    fail("file", "--dir", folder / "nonesuch", code=FAILURE, says="nonesuch")


@pytest.mark.parametrize("name", ["nonesuch", "cp"])
def test_files_against_unknown(name):
    fail("file", "--against", name, code=USAGE, says="age, openssl, gpg")


@pytest.mark.parametrize("number", program.SIGNALS)
def test_interrupted_files_leave_nothing(folder, number):
    process = start("file", "--size", "64MiB", "--dir", folder, "--runs", "200")
    program.wait_until(lambda: any(Path(folder).rglob("small.paes")), "the bench to get going")
    os.kill(process.pid, number)
    assert program.died_of(process.wait(timeout=program.TIMEOUT_S), number)
    assert program.tree(folder) == {}


def test_a_program_that_fails_is_named(folder, tmp_path):
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "age").write_text("#!/bin/sh\necho sorry >&2\nexit 9\n")
    (broken / "age").chmod(0o755)
    environment = program.clean_environment(PATH=f"{broken}:{os.environ['PATH']}")
    process = start("file", "--size", "1MB", "--dir", folder, "--against", "age",
                    env=environment, stderr=-1, stdout=-1)
    _, err = process.communicate(timeout=program.TIMEOUT_S)
    assert process.returncode == FAILURE
    program.assert_error_lines(err.decode(), "age: failed: sorry")
    assert program.tree(folder) == {}
