# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/distributed: Dask on two workers, Ray on one node, Spark on one machine.

A worker is killed while it has work. Then each file is there once, whole, and nothing beside it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import paes

EXAMPLES = Path(__file__).parents[2] / "examples" / "distributed"
LONGEST_S = 600  # Spark takes minutes to start on a busy machine
FILES = 40
ROWS = 100_000
TOTAL = sum(range(FILES * ROWS))


def module(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed")


@pytest.fixture
def lake(folder: Path) -> Path:
    """Parquet files in plain text, in two folders."""
    pa, pq = module("pyarrow"), module("pyarrow.parquet")
    lake = folder / "lake"
    for number in range(FILES):
        path = lake / f"year={2020 + number % 2}" / f"part-{number:02}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = range(number * ROWS, (number + 1) * ROWS)
        # For Spark: where musl is installed, its snappy takes the system for one of musl.
        table = pa.table({"number": pa.array(rows, pa.int64())})
        pq.write_table(table, path, compression="NONE")
    return lake


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for running in STARTED:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    STARTED.clear()


def example(name: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    running = subprocess.Popen(
        [sys.executable, "-B", EXAMPLES / name, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        start_new_session=True,
    )
    STARTED.append(running)
    return running


def result_of(running: subprocess.Popen[str]) -> str:
    """What it prints last."""
    out, err = running.communicate(timeout=LONGEST_S)
    assert running.returncode == 0, err
    return out.splitlines()[-1]


def wait_until(condition: Callable[[], Any], running: subprocess.Popen[str]) -> Any:
    end = time.monotonic() + LONGEST_S
    while not (found := condition()):
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def parent_of(pid: int) -> int:
    """Zero if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Processes below this one, with their command lines."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        children.setdefault(parent_of(int(folder.name)), []).append(int(folder.name))
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child)
            try:
                yield child, (Path("/proc") / str(child) / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue


def files_below(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def assert_same(sealed: Path, lake: Path, key_file: Path) -> None:
    """Each file once, under its name, and nothing else."""
    plain = files_below(lake)
    assert files_below(sealed).keys() == plain.keys()
    for name, path in files_below(sealed).items():
        with paes.open(path, identity=key_file) as file:
            assert file.read() == plain[name].read_bytes()


def says(lake: Path) -> str:
    size = sum(path.stat().st_size for path in files_below(lake).values())
    return f"{FILES} files, {size} bytes"


@pytest.fixture
def dask() -> Iterator[Any]:
    module("dask.dataframe")
    distributed = module("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def test_dask(
    dask: Any, lake: Path, folder: Path, key_file: Path, recipient: paes.Recipient
) -> None:
    sealed, at = folder / "sealed", dask.scheduler_address
    with module("distributed").Client(at) as client:
        lost, _ = sorted(client.run(os.getpid).values())
        # It gets tasks and does none: they are lost with it.
        os.kill(lost, signal.SIGSTOP)
        running = example("dask_lake.py", at, "encrypt", lake, sealed, recipient)

        def holds_work() -> bool:
            busy = client.processing()
            return len(files_below(sealed)) > FILES // 2 and sum(map(bool, busy.values())) > 0

        wait_until(holds_work, running)
        assert len(files_below(sealed)) < FILES
        os.kill(lost, signal.SIGKILL)
        assert result_of(running) == says(lake)
        assert lost not in client.run(os.getpid).values()
    assert_same(sealed, lake, key_file)
    # The same again replaces each file.
    assert result_of(example("dask_lake.py", at, "encrypt", lake, sealed, recipient)) == says(lake)
    assert_same(sealed, lake, key_file)
    summed = example("dask_lake.py", at, "sum", sealed, key_file, "number")
    assert result_of(summed) == str(TOTAL)


def test_ray(lake: Path, folder: Path, key_file: Path, recipient: paes.Recipient) -> None:
    module("ray")
    sealed = folder / "sealed"
    running = example("ray_lake.py", "encrypt", lake, sealed, recipient, RAY_DEDUP_LOGS="0")

    def worker_at_work() -> int | None:
        workers = [pid for pid, line in descendants(running.pid) if line.startswith("ray::seal")]
        return workers[0] if workers else None

    lost = wait_until(worker_at_work, running)
    os.kill(lost, signal.SIGKILL)
    assert result_of(running) == says(lake)
    assert_same(sealed, lake, key_file)
    summed = example("ray_lake.py", "sum", sealed, key_file, "number")
    assert result_of(summed) == str(TOTAL)


WORKER = ["pyspark.daemon", "pyspark.worker"]


@pytest.fixture
def spark() -> dict[str, str]:
    module("pyspark")
    if shutil.which("java") is None:
        pytest.skip("there is no Java (Debian: default-jre-headless)")
    # Two threads, a partition for each file, and each task may be lost three times.
    options = "--master local[2,4] --conf spark.ui.enabled=false"
    options += " --conf spark.sql.files.maxPartitionBytes=1000000"
    return {
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def test_spark(
    spark: dict[str, str], lake: Path, folder: Path, key_file: Path, recipient: paes.Recipient
) -> None:
    sealed = folder / "sealed"
    running = example("spark_lake.py", "encrypt", lake, sealed, recipient, **spark)

    def workers() -> list[int]:
        if not list(sealed.glob(".unfinished-*/*")):
            return []
        found = [pid for pid, line in descendants(running.pid) if line.split()[-2:] == WORKER]
        return [pid for pid in found if parent_of(pid) in found]  # and not what forks them

    for lost in wait_until(workers, running):
        os.kill(lost, signal.SIGKILL)
    _, err = running.communicate(timeout=LONGEST_S)
    assert running.returncode == 0, err
    assert "Lost task" in err, err
    parts = [path.name for path in sealed.iterdir()]
    assert parts and all(name.endswith(".parquet.paes") for name in parts)
    summed = example("spark_lake.py", "sum", sealed, key_file, "number", **spark)
    assert result_of(summed) == str(TOTAL)
