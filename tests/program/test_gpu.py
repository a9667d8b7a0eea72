# SPDX-License-Identifier: Apache-2.0
# What `./dev gpu` leaves behind, proven on the emulated device: its results are what bench/schema
# says, what was recorded in bench/results still is, and without a device it ends in one line.
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import program
import pytest
from test_bench import validate, validate_tables

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from laboratory import distil, tables  # noqa: E402

RECORDED = sorted((ROOT / "bench" / "results").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_results_are_what_the_schemas_say(path):
    stored = json.loads(path.read_text())
    validate_tables(stored)
    recorded = tables.unpack(stored)
    # What several commands printed is a list.
    for document in recorded if isinstance(recorded, list) else [recorded]:
        validate_recorded(document)


def validate_recorded(document):
    words = document["command"].split()
    schema = "bench-mpi" if "mpi" in document else words[0] if words[0] == "gpu" else "-".join(words)
    if schema == "bench-kernel":
        for row in document["results"]:  # the oldest have no other way
            row.setdefault("way", "message")
            row.setdefault("messages", 1)
    if schema == "bench-file":
        document.setdefault("device", "cpu")  # the oldest have no other
    validate(document, f"{schema}.schema.json", is_distilled=document["command"] in distil.USED)
    if schema == "gpu":
        assert document["bench"] is None or not document["bench"]["device"]["emulated"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The benchmark's JSON and text, of the emulated device."""
    file = tmp_path_factory.mktemp("gpu") / "bench.json"
    done = subprocess.run(
        # The emulated device on a busy machine may take longer than its share of a GPU's time.
        [Path(program.PAES).parent / "gpu_bench", "--seconds", "3000", "--json", file],
        env=program.clean_environment(PAES_EMULATED_DEVICE="1"),
        capture_output=True, text=True, check=False,
    )
    found = json.loads(file.read_text())
    assert done.returncode == (3 if found["left_out"] else 0)
    return found, done.stdout


def as_result(bench):
    part = {"name": "bench", "seconds": 1, "outcome": "passed"}
    return {"command": "gpu bench", "date": "2026-11-21T00:00:00Z", "nvcc": "13.0.1",
            "architecture": "sm_90", "seconds": 1, "parts": [part], "bench": bench}


def test_bench_measures_every_mode(bench):
    found, text = bench
    validate(as_result(found), "gpu.schema.json")
    assert found["failures"] == 0
    assert all(what.endswith("no device") for what in found["left_out"])
    assert "EMULATED" in text and found["device"]["emulated"]
    ciphers = {row["cipher"] for row in found["resident"]}
    for bits in (128, 192, 256):
        for mode in ("ecb", "ctr", "cbc", "cfb", "gcm"):
            assert f"aes-{bits}-{mode}" in ciphers
    assert {"aes-128-xts", "aes-256-xts"} <= ciphers
    assert {row["way"] for row in found["host"]} == {
        "pinned", "pageable", "keystream", "processor", "hybrid"}
    for row in found["resident"]:
        assert row["gb_per_s"] == pytest.approx(row["bytes"] / row["seconds_median"] / 1e9, rel=1e-4)
    (row,) = [row for row in found["resident"]
              if row["cipher"] == "aes-128-ctr" and row["kernel"] == "cuda_tables"]
    device = found["device"]
    assert row["limit"]["per_block"] == 125
    assert row["limit"]["gb_per_s"] == pytest.approx(
        device["multiprocessors"] * device["clock_hz"] * 32 / 125 * 16 / 1e9, rel=1e-4)


def test_bench_has_the_studies_runs(bench):
    studies = bench[0]["studies"]
    assert list(studies) == ["E1", "E2", "E4", "E7", "E10", "E17", "E9"]
    for study in studies.values():
        assert study["measurements"]
        for row in study["measurements"]:
            assert 0 < row["min"] <= row["median"] <= row["max"] or row["unit"] == "share", row
            assert row["rounds"] == (1 if row["unit"] == "count" else 5)

    def medians(name, quantity, factor):
        return {row["of"][factor]: row["median"] for row in studies[name]["measurements"] if row["quantity"] == quantity}
    assert set(medians("E1", "speedup", "kernel")) == {"compute", "cuda_compute"}
    assert medians("E1", "speedup", "kernel")["compute"] == 1
    assert {"host to device", "encryption", "device to host", "total", "overlapped"} <= {
        row["quantity"] for row in studies["E2"]["measurements"]}
    assert set(medians("E4", "time without copies", "kernel")) == {"cuda_compute", "cuda_tables"}
    assert set(medians("E4", "speedup", "kernel")) == {"cuda_compute", "cuda_tables"}
    assert set(medians("E7", "speedup", "cipher")) == {"aes-256-ecb", "aes-256-ctr", "des-ede3-ecb", "des-ede3-ctr"}
    computed = [row["of"] for row in studies["E7"]["measurements"]
                if row["of"]["executor"] == "cuda" and row["of"]["choice"] == "compute" and row["quantity"] == "time"]
    for cipher in medians("E7", "speedup", "cipher"):
        for direction in ("encrypt", "decrypt"):
            ways = {(of["way"], of["memory"], of.get("buffer_bytes")) for of in computed
                    if (of["cipher"], of["direction"], of["bytes"]) == (cipher, direction, 4096)}
            assert ways == {("whole", "pinned", None), ("whole", "pageable", None),
                            ("buffers", "pinned", 1024), ("buffers", "pageable", 1024)}
    ways = {(row["of"]["split"], row["of"]["executor"], row["of"]["kernel"]) for row in studies["E9"]["measurements"]}
    assert ways == {("blocks", "cuda", "cuda_compute"), ("inside", "cuda", "study_inside"), ("copies", "cuda", "study_inside"),
                    ("launches", "cuda", "study_steps"), ("steps", "cuda", "study_steps"), ("grid", "cuda", "study_grid"),
                    ("blocks", "sequential", "compute")}
    assert set(medians("E10", "rate", "way")) == {"processor", "device", "hybrid"}
    assert 0 <= medians("E10", "share of device", "way")["hybrid"] <= 1


def test_each_study_has_what_other_programs_used(bench):
    for study in bench[0]["studies"].values():
        assert 0 <= study["others"] <= 1


def test_tables_lie_in_every_memory_with_every_number_of_threads(bench):
    rows = bench[0]["studies"]["E17"]["measurements"]
    counts = (64, 128, 256, 512, 1024)
    ways = {(place, blocks, count) for place in ("compute", "constant", "global", "shared")
            for blocks in ("one", "all") for count in counts}

    def of(quantity):
        return [row for row in rows if row["quantity"] == quantity]

    def way(row):
        return row["of"]["tables"], row["of"]["blocks"], row["of"].get("threads_a_block")
    for quantity in ("time without copies", "rate without copies"):
        assert {way(row) for row in of(quantity)} == ways | {("banks", "all", None)}
        assert len(of(quantity)) == len(ways) + 1
    for row in of("ratio to compute"):
        assert row["of"]["tables"] != "compute" or row["min"] == row["max"] == 1
    assert {way(row) for row in of("ratio to compute")} == ways
    # An emulated multiprocessor has a single thread block.
    assert {way(row): row["median"] for row in of("threads a multiprocessor")} == {one: one[2] for one in ways}
    for row, took in zip(of("rate without copies"), of("time without copies"), strict=True):
        assert row["of"] == took["of"]
        assert row["median"] == pytest.approx(row["of"]["bytes"] / took["median"] / 1e9, rel=1e-4)


def test_one_to_eight_streams_carry_the_text(bench):
    rows = bench[0]["studies"]["E17"]["measurements"]
    for quantity in ("rate", "rate to one stream"):
        found = [row for row in rows if row["quantity"] == quantity]
        assert [(row["of"]["kernel"], row["of"]["streams"]) for row in found] == [
            (kernel, streams) for kernel in ("cuda_compute", "cuda_tables") for streams in (1, 2, 4, 8)]
        # Each stream has two pieces, so that copies may overlap.
        assert all(row["of"]["bytes"] >= 2 * row["of"]["streams"] * row["of"]["piece_bytes"] for row in found)
        assert quantity == "rate" or all(row["median"] == 1 for row in found if row["of"]["streams"] == 1)


# Each part of the lab that runs on a device is a program of its own.
@pytest.mark.parametrize("name", ["E1", "E2", "E4", "E7", "E10", "E17"])
def test_each_study_runs_alone_and_leaves_nothing_out_for_want_of_time(name, tmp_path):
    done = subprocess.run([Path(program.PAES).parent / "gpu_bench", "--study", name, "--full", "--json", tmp_path / "one.json"],
                          env=program.clean_environment(PAES_EMULATED_DEVICE="1"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "one.json").read_text())
    assert list(found["studies"]) == [name] and found["studies"][name]["measurements"] and found["failures"] == 0


def test_bench_measures_one_study_alone(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [Path(program.PAES).parent / "gpu_bench", *arguments, "--json", tmp_path / "one.json"],
            env=program.clean_environment(PAES_EMULATED_DEVICE="1"),
            capture_output=True, text=True, check=False)
    assert run("--study", "E9", "--full").returncode == 0
    found = json.loads((tmp_path / "one.json").read_text())
    assert list(found["studies"]) == ["E9"] and not found["resident"] and found["failures"] == 0
    refused = run("--study", "E5")
    assert refused.returncode == 1 and refused.stderr == "gpu_bench: no study is named E5\n"


def test_a_bench_that_is_ended_leaves_what_it_had_measured(tmp_path):
    file = tmp_path / "cut.json"
    with subprocess.Popen(
            [Path(program.PAES).parent / "gpu_bench", "--study", "E1", "--study", "E9", "--full", "--json", file],
            env=program.clean_environment(PAES_EMULATED_DEVICE="1"), stdout=subprocess.DEVNULL) as bench:
        while not file.exists() and bench.poll() is None:
            time.sleep(0.01)
        bench.terminate()
        assert bench.wait() == -signal.SIGTERM
    assert list(json.loads(file.read_text())["studies"]) == ["E1"]


def test_schema_rejects_what_is_not_a_result(bench):
    result = as_result(json.loads(json.dumps(bench[0])))
    del result["bench"]["resident"][0]["seconds_median"]
    with pytest.raises(jsonschema.ValidationError):
        validate(result, "gpu.schema.json")


def test_bench_leaves_out_what_has_no_time():
    done = subprocess.run(
        [Path(program.PAES).parent / "gpu_bench", "--seconds", "0"],
        env=program.clean_environment(PAES_EMULATED_DEVICE="1"),
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 1
    assert "left out: aes-128-ctr" in done.stdout


@pytest.fixture
def machine(tmp_path):
    """Runs a copy of `dev` on a machine that has only what a test gives it."""
    tools = tmp_path / "tools" / "gpu"
    tools.mkdir(parents=True)
    shutil.copy(ROOT / "dev", tmp_path)
    shutil.copy(ROOT / "tools/gpu/run", tools)
    stand_ins = tmp_path / "stand-ins"
    stand_ins.mkdir()

    def stand_in(name, text):
        (stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
        (stand_ins / name).chmod(0o755)

    def run(*arguments):
        environment = program.clean_environment(CUDA_PATH="/nonexistent")
        environment["PATH"] = f"{stand_ins}:{environment['PATH']}"
        return subprocess.run([tmp_path / "dev", "gpu", *arguments], env=environment,
                              capture_output=True, text=True, check=False)

    stand_in("nvcc", "exit 0")
    stand_in("nvidia-smi", "exit 9")
    run.stand_in = stand_in
    run.folder = tmp_path
    return run


def test_no_device_is_one_line(machine):
    for part in ((), ("all",), ("build",), ("test",), ("sanitize",), ("bench",)):
        done = machine(*part)
        assert done.returncode == 1
        assert (done.stdout + done.stderr) == "dev: gpu: there is no CUDA device here\n"
    assert machine("nonesuch").returncode == 2
    assert machine("test", "--seconds", "soon").returncode == 1


def test_parts_are_noted_whatever_becomes_of_them(machine):
    """The programs are stand-ins: one passes, one fails, the sanitizer is missing."""
    binary = machine.folder / "build/gpu/bin"
    binary.mkdir(parents=True)
    machine.stand_in("cmake", "exit 0")
    machine.stand_in("nvidia-smi", "echo 9.0")
    machine.stand_in("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    for name, text in {
        "gpu_tests": 'if [ "$1" = --device ]; then echo "NVIDIA H200"; fi; echo ran',
        "gpu_bench": "exit 1",
    }.items():
        (binary / name).write_text(f"#!/bin/sh\n{text}\n")
        (binary / name).chmod(0o755)
    done = machine("all", "--results", str(machine.folder / "results"))
    assert done.returncode == 1
    results = sorted(os.listdir(machine.folder / "results"))
    assert len(results) == 2 and results[0].endswith("-h200.json")
    assert results[1].endswith("-h200.log")
    result = json.loads((machine.folder / "results" / results[0]).read_text())
    validate(result, "gpu.schema.json")
    assert {part["name"]: part["outcome"] for part in result["parts"]} == {
        "build": "passed", "gpu_tests_long": "passed", "gpu_tests_device": "passed",
        "gpu_tests_rows": "passed", "gcm_vectors": "missing", "raw_vectors": "missing",
        "bench": "failed", "memcheck": "missing", "racecheck": "missing", "initcheck": "missing",
        "synccheck": "missing"}
    assert "dev: gpu: bench: failed: exit code 1" in (
        machine.folder / "results" / results[1]).read_text()


def test_time_that_is_up_cuts(machine):
    test_parts_are_noted_whatever_becomes_of_them(machine)
    done = machine("test", "--seconds", "3", "--results", str(machine.folder / "short"))
    assert done.returncode == 1
    assert "gpu_tests_rows: cut: no time was left for it" in done.stdout


def test_nothing_left_out_reads_passed(machine):
    """And what the device cannot do is missing, not failed; the architecture's name is device enough."""
    test_parts_are_noted_whatever_becomes_of_them(machine)
    binary = machine.folder / "build/gpu/bin"
    machine.stand_in("nvidia-smi", "echo clocks")
    # Not before the clocks were noted once.
    (binary / "gpu_bench").write_text(
        f"#!/bin/sh\nuntil [ -s '{machine.folder}/build/gpu/clocks.log' ]; do sleep 0.1; done\nexit 3\n")
    machine.stand_in("compute-sanitizer", "echo Error: Device not supported; exit 1")
    done = machine("all", "--architecture", "90", "--results", str(machine.folder / "third"))
    assert done.returncode == 1
    assert "bench: cut: it left something out" in done.stdout
    assert "clocks during the bench:\nclocks\n" in done.stdout
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        assert f"{tool}: missing: compute-sanitizer does not support this device" in done.stdout


def test_a_sanitizer_is_as_good_as_its_worst_part(machine):
    """A part that was stopped or that failed shows, whatever the others did."""
    test_parts_are_noted_whatever_becomes_of_them(machine)
    machine.stand_in("compute-sanitizer", """case "$2 $*" in
        racecheck*rows) exit 9 ;;
        racecheck*long) exit 124 ;;
        initcheck*device) exit 124 ;;
        synccheck*long) exit 3 ;;
        esac""")
    done = machine("sanitize", "--architecture", "90", "--results", str(machine.folder / "fourth"))
    assert done.returncode == 1
    assert "dev: gpu: memcheck: passed (" in done.stdout
    assert "racecheck: failed: rows: it found errors, device passed, long stopped after" in done.stdout
    assert "initcheck: cut: rows passed, device stopped after" in done.stdout
    assert "synccheck: failed: rows passed, device passed, long: exit code 3" in done.stdout


def test_build_has_an_end(machine):
    script = machine.folder / "tools/gpu/run"
    text = script.read_text()
    assert "build_limit=300" in text
    script.write_text(text.replace("build_limit=300", "build_limit=1"))
    machine.stand_in("cmake", 'case $1 in --build) sleep 60 ;; esac')
    done = machine("build", "--architecture", "90")
    assert done.returncode == 1
    assert "the build was stopped after 1 s" in done.stdout
