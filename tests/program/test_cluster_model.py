# SPDX-License-Identifier: Apache-2.0
# tools/cluster_model.py finds the parameters of runs that follow its model exactly, and the committed result
# is what docs/log/mpi.md was made from.
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_bench import validate

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import cluster_model  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
CORE, FILE_CORE, START, LATENCY, LINK = 6e9, 1.5e9, 0.01, 2e-5, 3e9


def document(kind, ranks, rows):
    return {
        "command": f"bench {kind}",
        "machine": {"cpu": "cpu", "cores": 2, "os": "os"},
        "mpi": {"library": "library", "ranks": ranks, "hosts": 1},
        "results": rows,
    }


def seconds(value):
    return {"median": value, "min": value, "max": value}


def runs_of_the_model():
    documents = []
    for ranks in (1, 2):
        documents.append(
            document("memory", ranks, [{"bytes": GIB, "seconds": seconds(GIB / ranks / CORE)}])
        )
        rows = [
            {"direction": "encrypt", "bytes": n, "filesystem": "tmpfs",
             "seconds": seconds(START + n / ranks / FILE_CORE)}
            for n in (64 * MIB, 512 * MIB)
        ]
        documents.append(document("file", ranks, rows))
    moved = [(n, seconds(LATENCY + n / 2 / LINK)) for n in (4096, MIB, 16 * MIB, 64 * MIB, GIB)]
    rows = [{"bytes": n, "scatter_seconds": s, "gather_seconds": s} for n, s in moved]
    documents.append(document("scatter", 2, rows))
    return documents


def test_it_finds_what_the_runs_were_made_with():
    documents = runs_of_the_model()
    model = cluster_model.fit(documents)
    found = (model.core, model.file_core, model.start_s, model.latency_s, model.link)
    assert found == pytest.approx((CORE, FILE_CORE, START, LATENCY, LINK), rel=1e-6)
    checks = list(cluster_model.checks(documents, model))
    assert len(checks) == 4
    for _, measured, predicted in checks:
        assert predicted == pytest.approx(measured, rel=1e-6)


def test_storage_and_links_bound_any_number_of_ranks():
    model = cluster_model.fit(runs_of_the_model())
    assert model.file_s(1e12, 1000, 2e9) == pytest.approx(START + 1000)
    assert model.scattered_s(1e12, 1000) > 2 * 0.99 * 1e12 / LINK


def test_the_page_is_made_from_the_committed_result():
    page = (ROOT / "docs" / "log" / "mpi.md").read_text()
    between = page.split(cluster_model.BEGIN)[1].split(cluster_model.END)[0]
    (name,) = set(word for word in between.split("`") if word.startswith("bench/results/"))
    documents = cluster_model.tables.load(ROOT / name)
    for one in documents:
        validate(one, "bench-mpi.schema.json")
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "cluster_model.py", "report", ROOT / name],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert made.stdout.strip() == between.strip()
