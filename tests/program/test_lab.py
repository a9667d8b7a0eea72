# SPDX-License-Identifier: Apache-2.0
# The lab (bench/lab) and its report (bench/report): each number of a page is the result file's or the
# studies' own, what is no result is refused in one line, an interrupted run goes on where it stopped,
# and energy is what counters say. How fast anything is, no test can say.
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import html5lib
import program
import pytest

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
from experiments import all_experiments, e03_speedup as e03, e08_schedules as e08, e11_speculation as e11  # noqa: E402
from laboratory import (  # noqa: E402
    answers, beside, bounds, device, energy, figures, lab, markdown, mpi, namespaces, page,
    programs as lab_programs, published, results, tables, values)
from laboratory.experiment import (  # noqa: E402
    Counterpart, Experiment, Failed, Measured, OutOfTime, Panel, Series, Shown, TimedOut, Unavailable)
from laboratory.presentation import presentation  # noqa: E402

RECORDED = sorted(BENCH.glob("results/*-lab-*.json"))
PUBLISHED = json.loads((BENCH / "published.json").read_text())
BOUNDS = json.loads((BENCH / "gpu" / "bounds.json").read_text())

# How numbers of a page are made of those at their sources, said here once more.
FORMULAS = {
    "itself": lambda x: x,
    "inverse": lambda x: 1 / x,
    "quotient": lambda x, y: x / y,
    "percent": lambda x: x * 100,
    "product": lambda x, y: x * y,
    "product of rest": lambda x, share: x - x * share,
    "percent less": lambda x: 100 - 100 / x,
    "percent of": lambda x, y: x / y * 100,
    "percent of all": lambda x, *all: x / (sum(all) / 100),
    "GB/s": lambda seconds, count: count / 1e9 / seconds,
    "MB/s": lambda seconds, count: count / 1e6 / seconds,
    "per second": lambda seconds, count: 1 / (seconds / count),
    "mega": lambda x: x / 1e6,
    "KiB": lambda said: float(said.removesuffix("KB")),
    "half range": lambda median, least, most: 100 * (most - least) / (2 * median),
    "away": lambda x, y: abs(x - y) / min(x, y) * 100,
    "away from a factor": lambda x, y, factor: FORMULAS["away"](max(x, y) / min(x, y), factor),
    "doubt": lambda share, *all: 100 * max(share, sum((most - least) / 2 / median for median, least, most
                                                      in zip(all[::3], all[1::3], all[2::3]))),
    "times for percent less": lambda percent: 1 / (1 - percent / 100),
    "sum to": lambda first, second, one: first / one + second / one,
    "times a core": lambda rate, speedup, seconds, count: (rate * 1e9) / ((count / seconds) / speedup),
    "bytes meanwhile": lambda seconds, items, other, count: (seconds / items) * (count / other),
    "percent for both": lambda one, other, all: one / all * 100 + other / all * 100,
    "beyond a share": lambda parallel, sequential, count: (parallel * count - sequential) / count,
    "ratio after speedups": lambda ratio, first, second: ratio / first * second,
    "time for a byte": lambda first, second, bytes_first, bytes_second: first * bytes_second / (second * bytes_first),
    "growth": lambda fewer, more, before, last: (more / fewer - 1) * before / (last - before),
    "growth of the rest": lambda first, share, second, its: (first - first * share) / (second - second * its),
    "times as slow": lambda rate, seconds, count: rate / (count / 1e6 / seconds),
}


def run(script, *arguments, **environment):
    done = subprocess.run([sys.executable, BENCH / script, *map(str, arguments)], capture_output=True, text=True,
                          env={**program.clean_environment(), "PYTHONDONTWRITEBYTECODE": "1", **environment},
                          timeout=program.TIMEOUT_S, check=False)
    return done


def changed(document, tmp_path, change):
    """A recorded document after a change, in a file of its own."""
    document = json.loads(json.dumps(document))
    change(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(scope="module")
def recorded():
    assert RECORDED, "a result of the lab is committed"
    return [tables.load(path) for path in RECORDED]


@pytest.fixture(scope="module")
def of_a_gpu(tmp_path_factory):
    """A result of `./dev gpu` that calls the emulated device a real one."""
    folder = tmp_path_factory.mktemp("gpu")
    bench, studies = {}, {}
    for name in ("E1", "E2", "E4", "E7", "E9", "E10", "E17"):
        subprocess.run([Path(program.PAES).parent / "gpu_bench", "--study", name, "--json", folder / "bench.json"],
                       env=program.clean_environment(PAES_EMULATED_DEVICE="1"), capture_output=True, check=True)
        bench = json.loads((folder / "bench.json").read_text())
        studies |= bench["studies"]
    for study in studies.values():
        study["others"] = 0.0  # however busy the tests' machine is
    bench["studies"] = studies
    bench["device"] |= {"emulated": False, "name": "A <GPU>", "architecture": "sm_90"}
    document = {"command": "gpu bench", "date": "2026-11-21T00:00:00Z", "commit": "0123456789ab", "nvcc": "13.0.88",
                "os": "Linux 6.1", "driver": "580.82.07", "architecture": "sm_90", "seconds": 1,
                "parts": [{"name": "bench", "seconds": 1, "outcome": "passed"}], "bench": bench}
    (folder / "gpu.json").write_text(json.dumps(document))
    return folder / "gpu.json"


@pytest.fixture(scope="module")
def pages(recorded, of_a_gpu, tmp_path_factory):
    """(documents, text of the page, its tree, the summary): all recorded results, what a GPU has left, and
    one more of a machine with that GPU, whose numbers are all different, so that none can come from anywhere else."""
    folder = tmp_path_factory.mktemp("pages")
    other = json.loads(json.dumps(recorded[0]))
    other["machine"]["cpu"] = "Another <machine> & its `name`"
    of_device = results.load(of_a_gpu)
    other["driver"] = of_device["driver"]
    other["devices"]["cuda"] |= of_device["devices"]["cuda"]
    for name, entry in json.loads(json.dumps(of_device["experiments"])).items():
        rows = [row for row in entry["measurements"] if row["of"].get("executor") != "sequential"]
        beside = other["experiments"][name]
        other["experiments"][name] = ({**beside, "measurements": beside["measurements"] + rows}
                                      if beside["outcome"] != "unavailable" else {**entry, "measurements": rows})
    for entry in other["experiments"].values():
        for row in entry["measurements"]:
            for field in ("median", "min", "max"):
                if field in row:
                    row[field] = row[field] * 1.25 + 0.001
    (folder / "other.json").write_text(json.dumps(other))
    page = folder / "page.html"
    done = run("report", *RECORDED, of_a_gpu, folder / "other.json", "--output", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return [*recorded, of_device, other], text, tree, page.with_suffix(".md").read_text()


def source(documents, file, where):
    kind, _, path = where.partition(":")
    if kind == "given":
        return float(path)
    steps = path.replace("+", " ").split("/")
    if kind == "entry":
        return documents[file]["experiments"][steps[0]][steps[1]]
    if kind == "measured":
        return documents[file]["experiments"][steps[0]]["measurements"][int(steps[1])][steps[2]]
    assert kind in ("published", "bound")
    here = PUBLISHED if kind == "published" else BOUNDS
    for step in steps:
        here = here[int(step)] if isinstance(here, list) else here[step]
    return here


def as_shown(sources, steps):
    """The numbers that were made of the sources by steps: how, of how many, and with how many digits they are shown."""
    rest, made = list(sources), []
    for how, count, digits in (step.rsplit("/", 2) for step in steps):
        taken, rest = rest[:int(count)], rest[int(count):]
        made.append(float(values.shown(FORMULAS[how](*taken), int(digits)).replace("\u202f", "")))
    return made


def test_each_number_is_what_its_source_says(pages):
    documents, _, tree, _ = pages
    numbers = tree.findall(".//data")
    assert len(numbers) > 1000
    kinds = set()
    for element in numbers:
        sources = [source(documents, int(element.get("data-file")), where) for where in element.get("data-from").split()]
        how, *steps = element.get("data-how").split("|")
        if steps:  # of other numbers as they are shown
            sources = as_shown(sources, steps)
        wanted = FORMULAS[how](*sources)
        assert float(element.get("value")) == pytest.approx(wanted, rel=1e-9), element.attrib
        said = float(element.text.replace("\u202f", ""))
        assert said == pytest.approx(wanted, rel=6e-3), element.attrib
        kinds.add(element.get("data-from").partition(":")[0])
    assert {"measured", "published"} <= kinds


def test_no_cell_of_a_table_holds_another_number(pages):
    _, _, tree, _ = pages
    cells = [cell for article in tree.iter("article") for cell in article.iter("td")]
    assert len(cells) > 500
    for cell in cells:
        assert [child.tag for child in cell] == ["data"] or "".join(cell.itertext()) == "\u2014"
        assert not (cell.text or "").strip("\u2014").strip()


def numerals(text):
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def test_no_verdict_holds_another_number(pages):
    """Besides its numbers a verdict has only factors: threads, sizes, names of ciphers."""
    documents, _, tree, _ = pages
    seen = 0
    for section in tree.iter("section"):
        for article, document in zip(section.iter("article"), documents):
            entry = document["experiments"].get(section.get("id").upper())
            if entry is None or entry["outcome"] not in ("measured", "derived"):
                continue
            rows = entry["measurements"] or document["experiments"]["E1"]["measurements"]
            factors = {str(value) for row in rows for value in row["of"].values()}
            factors |= {values.size(int(value)) for value in factors if value.isdigit()}
            allowed = numerals(" ".join(factors)) | numerals(json.dumps(PUBLISHED)) | {str(document["machine"]["cores"])}
            for verdict in [p for p in article.iter("p") if (p.get("class") or "").startswith("verdict")]:
                for number in list(verdict.iter("data")):
                    number.text = ""
                for claim in list(verdict.iter("span")):  # test_lab_claims.py looks at what they say
                    after = claim.tail
                    claim.clear()
                    claim.tail = after
                words = re.sub(r"\bE\d+\b", "", "".join(verdict.itertext()))  # experiments have numbers
                # Decimals are measured or published, never written by hand.
                assert numerals(words) <= allowed | {"3", "2", "128", "256", "64", "16", "255", "8"}, words
                assert {n for n in numerals(words) if "." in n} <= allowed, words
                seen += 1
    assert seen >= 20


def test_the_page_stands_alone_and_needs_no_script(pages):
    _, text, tree, _ = pages
    tags = {element.tag for element in tree.iter() if isinstance(element.tag, str)}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed"}
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for element in tree.iter():
        for name, value in element.attrib.items():
            name = name if isinstance(name, str) else name[1]
            assert not name.lower().startswith("on")
            if name.endswith("href"):
                assert value[:1] == "#" and value[1:] in ids, value
            for target in re.findall(r"url\(([^)]*)\)", value):
                assert target[:1] == "#" and target[1:] in ids, target
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    assert "Another &lt;machine&gt; &amp; its" in text


def test_each_experiment_has_its_place(pages):
    documents, _, tree, summary = pages
    listed = run("lab", "--list").stdout.split()
    names = [word for word in listed if re.fullmatch(r"E\d+", word)]
    assert names[:12] == [f"E{number}" for number in range(1, 13)]
    sections = {section.get("id"): section for section in tree.iter("section")}
    assert list(sections) == [name.lower() for name in names]
    for name in names:
        assert f"## {name}. " in summary
        articles = list(sections[name.lower()].iter("article"))
        assert len(articles) == len(documents)
        for article, document in zip(articles, documents):
            entry = document["experiments"].get(name, {"outcome": "unavailable", "reason": "It was not run"})
            said = "".join(article.itertext())
            if entry["outcome"] in ("unavailable", "failed"):
                assert "cannot be said here" in said and entry["reason"][1:] in said
            else:
                assert article.find(".//table") is not None and article.find(f".//figure/{SVG}svg") is not None, name


def test_figures_take_the_colours_of_the_page(pages):
    _, text, tree, _ = pages
    assert "#0a0b0" not in text and "#1a2b" not in text
    drawn = list(tree.iter(f"{SVG}svg"))
    assert drawn and all(element.get("viewBox") and not element.get("width") for element in drawn)
    # A marker for each point of E3's lines: what is drawn is what is measured.
    document = pages[0][0]
    speedups = [row for row in document["experiments"]["E1"]["measurements"] if row["quantity"] == "speedup"
                and row["of"]["direction"] == "encrypt" and row["of"].get("threads", 2) > 1
                and row["of"].get("ranks", 2) > 1]
    of_e3 = [svg for svg in drawn if any((e.get("id") or "").startswith("f0-e3-") for e in svg.iter())]
    points = [use for svg in of_e3 for use in svg.iter(f"{SVG}use") if "var(--s" in (use.get("style") or "")]
    # By size the most threads and ranks that have a core each, and two rows of the study's.
    cores, of_study = document["machine"]["cores"], PUBLISHED["studies"]["pousa"]["speedup_over_sequential"]
    by_size = [row for row in speedups if cores in (row["of"].get("threads"), row["of"].get("ranks"))]
    assert len(of_e3) == 2
    assert len(points) >= len(by_size) + len(of_study["openmp_8"]) + len(of_study["mpi_32"]) + 4


@pytest.fixture(scope="module")
def full(recorded):
    """A recorded document as the lab left it: with measurements that no report shows, and all digits."""
    document = json.loads(json.dumps(recorded[0]))
    document["devices"] = json.loads(program.succeed("devices", "--json").out)
    for entry in document["experiments"].values():
        for row in entry["measurements"]:
            row["median"] *= 1 + 1e-12
            row.setdefault("min", 0.5 * row["median"])
            row.setdefault("max", 2 * row["median"])
        entry["measurements"] += [{**row, "quantity": "what nobody shows"} for row in entry["measurements"]]
    return document


def drawn(document):
    """(label, points) of all lines and bars in a document's figures."""
    found = []
    for experiment in all_experiments():
        shown, _ = presentation(experiment, document)
        for series in (series for panel in shown.panels for series in panel.series) if shown else ():
            found.append((series.label, [y is not None and float(y) for y in series.ys]))
    return found


def test_a_distilled_result_gives_the_same_report(full, tmp_path):
    (tmp_path / "full.json").write_text(json.dumps(full))
    path = tmp_path / "small" / "full.json"
    done = run("distil", tmp_path / "full.json", "--folder", path.parent)
    assert done.returncode == 0 and done.stdout == f"{path}\n", done.stderr
    assert path.stat().st_size < 0.2 * (tmp_path / "full.json").stat().st_size
    before, after = results.load(tmp_path / "full.json"), results.load(path)
    assert markdown.make(all_experiments(), [before]) == markdown.make(all_experiments(), [after])
    for (label, expected), (found_label, found) in zip(drawn(before), drawn(after), strict=True):
        assert found_label == label and found == pytest.approx(expected, rel=1e-5), label


def test_a_distilled_result_of_a_gpu_gives_the_same_report(of_a_gpu, tmp_path):
    def add(document):
        for study in document["bench"]["studies"].values():
            study["measurements"] += [{**row, "quantity": "what nobody shows"} for row in study["measurements"]]
    path = changed(json.loads(of_a_gpu.read_text()), tmp_path, add)
    done = run("distil", path, "--folder", tmp_path / "small")
    assert done.returncode == 0, done.stderr
    small = tmp_path / "small" / path.name
    assert "what nobody shows" in path.read_text() and "what nobody shows" not in small.read_text()
    before, after = results.load(path), results.load(small)
    assert markdown.make(all_experiments(), [before]) == markdown.make(all_experiments(), [after])


def test_the_check_finds_a_result_with_more_than_the_report_shows(tmp_path):
    small = tmp_path / "result.json"
    shutil.copy(RECORDED[0], small)
    assert run("distil", "--check", "--folder", tmp_path).returncode == 0
    document = tables.unpack(json.loads(small.read_text()))
    entry = next(iter(document["experiments"].values()))
    entry["measurements"].append({**entry["measurements"][0], "quantity": "what nobody shows"})
    more = tables.dump(tables.pack(document))
    small.write_text(more)
    found = run("distil", "--check", "--folder", tmp_path)
    assert found.returncode == 1 and str(small) in found.stderr and small.read_text() == more
    assert run("distil", small, "--folder", tmp_path).returncode == 0
    assert run("distil", "--check", "--folder", tmp_path).returncode == 0


def test_committed_results_are_small():
    assert sum(path.stat().st_size for path in (BENCH / "results").iterdir()) < 500_000


def test_what_no_result_is_distilled_of_is_named(tmp_path):
    for text in ("{", "[1]", "{}", '{"command": "lab", "experiments": 1}'):
        (tmp_path / "wrong.json").write_text(text)
        done = run("distil", tmp_path / "wrong.json", "--folder", tmp_path / "small")
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert f"{tmp_path}/wrong.json: is no result" in done.stderr


ROWS = [{"of": {"a": 1, "b": {"c": "x"}}, "n": 0.5}, {"of": {"a": 1, "b": {"c": "y"}}, "m": [1, 2]},
        {"of": {"a": 1, "b": {"c": "y"}}, "n": 2.0, "z": {}}]


@pytest.mark.parametrize("document", [
    ROWS, {"results": ROWS, "one": ROWS[:1], "none": []}, [{"results": ROWS}, {"results": ROWS[:2]}],
    [{"a": None}, {"a": 1}], [{"rows": ROWS, "a": 1}, {"rows": ROWS, "a": 2}], [1, [2, 3], "x"],
    [{}, {"a": 1}]])
def test_tables_hold_what_rows_hold(document):
    packed = tables.pack(document)
    assert tables.unpack(packed) == document
    assert tables.pack(tables.unpack(packed)) == packed
    assert json.loads(tables.dump(packed)) == packed


def test_a_table_names_its_members_once():
    assert tables.pack(ROWS) == {
        "columns": ["of/b/c", "n", "m", "z"], "same": {"of/a": 1},
        "rows": [["x", 0.5, None, None], ["y", None, [1, 2], None], ["y", 2.0, None, {}]]}


@pytest.mark.parametrize("change, says", [
    (lambda d: d["experiments"]["E4"]["measurements"][0].pop("median"), "E4/measurements/0: 'median' is a required"),
    (lambda d: d["machine"].update(cores="two"), "machine/cores: 'two' is not of type"),
    (lambda d: d["experiments"]["E2"].pop("reason"), "E2: 'reason' is a required"),
    (lambda d: d.update(version=0), "older version of the lab .*version 0, this one reads 1"),
    (lambda d: d.update(version=7), "another version of the lab"),
    (lambda d: d.update(command="bench file"), "is not a result of the lab"),
])
def test_what_is_no_result_is_refused_in_one_line(change, says, recorded, tmp_path):
    path = changed(recorded[0], tmp_path, change)
    done = run("report", path, "--output", tmp_path / "page.html")
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(rf"report: {re.escape(str(path))}: .*{says}.*\n", done.stderr), done.stderr
    assert not (tmp_path / "page.html").exists()


def test_no_finding_is_judged_by_disturbed_figures(recorded, tmp_path):
    quiet, busy = tmp_path / "quiet.md", tmp_path / "busy.md"
    for path, share in ((quiet, 0.04), (busy, 0.4567)):
        def disturb(document, share=share):
            document["experiments"] = {name: {**document["experiments"][name], "others": share} for name in ("E1", "E3", "E4")}
        done = run("report", changed(recorded[0], tmp_path, disturb), "--output", path.with_suffix(".html"))
        assert done.returncode == 0, done.stderr
    assert "Holds here" in quiet.read_text() and "Disturbed" not in quiet.read_text()
    assert "Holds here" not in busy.read_text() and "Does not hold here" not in busy.read_text()
    assert "Not judged, for others used the processors" in busy.read_text()
    assert "Disturbed: other programs used 45.7 % of the processors" in busy.read_text(), [
        line for line in busy.read_text().splitlines() if line.startswith("Disturbed")]


def figures_of(tree, name):
    """The text of an experiment's figures, by file."""
    (section,) = [section for section in tree.iter("section") if section.get("id") == name]
    return ["".join(text for svg in article.iter(f"{SVG}svg") for text in svg.itertext())
            for article in section.iter("article")]


def test_what_a_gpu_measured_has_its_place(pages):
    """In the GPU's own result, and beside what the processor of its machine measured."""
    documents, _, tree, summary = pages
    assert "A <GPU>, driver 580.82.07" in summary
    for name, words in {"e1": "CUDA", "e2": "overlapped", "e3": "Pousa's thesis: CUDA", "e4": "without copies",
                        "e7": "CUDA: every step computed", "e9": "16 threads to a block", "e10": "done by the GPU",
                        "e17": "tables in constant memory"}.items():
        *_, processor, gpu_alone, both = figures_of(tree, name)
        assert words in gpu_alone and words in both, name
        assert words not in processor or name == "e1", name  # which has the study's CUDA
    (e9,) = [section for section in tree.iter("section") if section.get("id") == "e9"]
    said = "".join(list(e9.iter("article"))[-2].itertext())
    assert "16 threads to a block took" in said and "in which each byte or row has a thread block, the device took" in said
    (e4,), (e7,) = ([section for section in tree.iter("section") if section.get("id") == name] for name in ("e4", "e7"))
    for article in list(e4.iter("article"))[-2:]:
        # The emulated device gets less, and nothing is judged by that.
        assert "one core was not measured beside CUDA on data of 512 KiB or more" in "".join(article.itertext())
    for article in list(e7.iter("article"))[-2:]:
        said = "".join(article.itertext())
        assert "in buffers of 1 KiB from pageable memory" in said and "3DES with CUDA was" in said
        assert "CUDA: every step computed, decrypt: times as fast as one thread" in said
    assert len(documents[-2]["experiments"]) == 8


def test_without_a_device_bounds_stand_where_measurements_would_and_are_called_so(pages):
    """In place of measurements, and with nothing judged by them."""
    documents, _, tree, summary = pages
    (section,) = [section for section in tree.iter("section") if section.get("id") == "e17"]
    alone = list(section.iter("article"))[0]
    assert documents[0]["experiments"].get("E17", {}).get("outcome") != "measured"
    (table,) = alone.iter("table")
    assert table.find("caption").text.startswith("Bounds in GB/s") and "no measurement" in table.find("caption").text
    numbers = list(table.iter("data"))
    assert len(numbers) == 4 * len(BOUNDS["gpus"])
    assert all(number.get("data-from").startswith("bound:studies/") for number in numbers)
    assert "cannot be said here" in "".join(alone.itertext()) and alone.find(f".//{SVG}svg") is None
    assert "Bounds in GB/s" in summary


@pytest.mark.parametrize("name, gpu", [
    ("NVIDIA H200", "H200"), ("NVIDIA H100 PCIe", "H100 PCIe"), ("NVIDIA GeForce RTX 4070 Ti", "RTX 4070 Ti"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", None), ("Tesla T4", None)])
def test_a_device_has_the_bounds_of_its_own_gpu(name, gpu):
    assert bounds.gpu_of(name) == gpu


@pytest.mark.parametrize("change, says", [
    (lambda d: d.update(bench=None), "nothing was measured"),
    (lambda d: d["bench"]["device"].update(emulated=True), "the device is emulated, and its figures mean nothing"),
    (lambda d: d["bench"]["studies"]["E1"]["measurements"][0].pop("of"), "is no valid result: bench"),
])
def test_a_gpus_result_that_says_nothing_is_refused(change, says, of_a_gpu, tmp_path):
    path = changed(json.loads(of_a_gpu.read_text()), tmp_path, change)
    done = run("report", path, "--output", tmp_path / "page.html")
    assert done.returncode == 1
    assert re.fullmatch(rf"report: {re.escape(str(path))}: .*{says}.*\n", done.stderr), done.stderr


@pytest.fixture
def with_device(tmp_path):
    """A folder of programs on a machine with a device: paes says that there is one, and gpu_bench, on the
    emulated one, that it is real."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real = Path(program.PAES)
    found = json.loads(program.succeed("devices", "--json").out)
    found["cuda"] |= {"available": True, "reason": "", "devices": [
        {"name": "A GPU", "architecture": "sm_90", "multiprocessors": 2, "memory_bytes": 1 << 30}]}
    (folder / "devices.json").write_text(json.dumps(found))
    (folder / "paes-bench").symlink_to(program.BENCH)
    (folder / "paes").write_text(f'#!/bin/sh\n[ "$1" != devices ] || exec cat {folder}/devices.json\nexec {real} "$@"\n')
    (folder / "gpu_bench").write_text(
        "#!/bin/sh\nexport PAES_EMULATED_DEVICE=1\n"
        f'{real.parent}/gpu_bench "$@" || exit\nfor file; do :; done\n'
        '[ -n "$STAYS_EMULATED" ] || sed -i s/\'"emulated": true\'/\'"emulated": false\'/ "$file"\n')
    for name in ("paes", "gpu_bench"):
        (folder / name).chmod(0o755)
    return folder


def test_a_device_of_this_machine_is_measured(with_device, tmp_path):
    path = tmp_path / "result.json"
    done = run("lab", "--only", "E2,E10,E17", "--output", path, PAES_BIN=str(with_device))
    assert done.returncode == 0, done.stderr
    experiments = results.load(path)["experiments"]
    assert {row["of"].get("tables") for row in experiments["E17"]["measurements"]} == {
        None, "compute", "constant", "global", "shared", "banks"}
    assert {row["quantity"] for row in experiments["E2"]["measurements"]} >= {"host to device", "overlapped"}
    assert {row["of"]["way"] for row in experiments["E10"]["measurements"]} == {"processor", "device", "hybrid"}
    assert run("report", path, "--output", tmp_path / "page.html").returncode == 0

    again = run("lab", "--only", "E2", "--output", path, PAES_BIN=str(with_device), STAYS_EMULATED="1")
    assert again.returncode == 1 and "E2" in again.stderr
    assert "its figures mean nothing" in again.stderr
    assert results.load(path)["experiments"]["E2"]["outcome"] == "measured"  # what was there stays


def test_what_the_processor_measured_is_not_measured_twice(with_device, monkeypatch):
    monkeypatch.setattr(device.programs, "BIN", with_device)
    quiet = type("Quiet", (), {"step": lambda self, what: None})()
    for name in ("E1", "E7"):
        measured = lab.Lab(True, 2, quiet)
        device.measure_too(measured, name)
        assert {row["of"]["executor"] for row in measured.measurements} == {"cuda"}
        assert any(row["quantity"] == "speedup" for row in measured.measurements)
    (with_device / "gpu_bench").unlink()
    measured = lab.Lab(True, 2, quiet)
    device.measure_too(measured, "E1")
    assert measured.left_out == [{"what": "CUDA", "why": "no device: gpu_bench is not built"}]


def test_half_a_result_is_refused(tmp_path):
    path = tmp_path / "half.json"
    path.write_bytes(RECORDED[0].read_bytes()[:5000])
    done = run("report", path, "--output", tmp_path / "page.html")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "is not complete JSON" in done.stderr
    assert "cannot be read" in run("report", tmp_path / "none.json").stderr
    refused = run("lab", "--continue", "--only", "E2", "--output", path, PAES_BIN=str(Path(program.PAES).parent))
    assert refused.returncode == 1 and "is not complete JSON" in refused.stderr


@pytest.fixture
def programs(tmp_path):
    """paes and paes-bench, and a bench_aes_ci that begins, waits to be let go, and prints a recorded document."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "paes").symlink_to(program.PAES)
    (folder / "paes-bench").symlink_to(program.BENCH)
    row = {"variant": "plain", "compiled": "O0", "bytes": 160, "seconds": [0.5, 0.25]}
    rows = [{**row, "variant": name, "compiled": level} for level in ("O3", "O0") for name in ("plain", "multiply")]
    document = {"command": "bench aes_ci", "results": [{**row, "variant": "compute", "compiled": "O3"}, *rows]}
    (folder / "document").write_text(json.dumps(document))
    os.mkfifo(folder / "go")
    waiting = folder / "bench_aes_ci"
    waiting.write_text(f"#!/bin/sh\necho >>{folder}/begun\nread -r _ <{folder}/go\ncat {folder}/document\n")
    waiting.chmod(0o755)
    return folder


def test_a_program_that_is_just_being_started_is_stopped_as_well(monkeypatch):
    started, start = [], subprocess.Popen

    def interrupted(*arguments, **options):
        started.append(start(*arguments, **options))
        os.kill(os.getpid(), signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lab_programs.run(["sleep", "1000"])
    assert started[0].returncode == -signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupted_run_goes_on(programs, tmp_path):
    path = tmp_path / "result.json"
    command = [sys.executable, BENCH / "lab", "--only", "E2,E10,E13", "--output", path]
    environment = program.clean_environment(PAES_BIN=str(programs), PYTHONDONTWRITEBYTECODE="1")
    started = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    program.wait_until((programs / "begun").exists, "E13 to begin")
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=program.TIMEOUT_S)
    assert started.returncode == 130
    assert "2 experiments are kept" in said and "--continue goes on" in said
    kept = results.load(path)
    assert list(kept["experiments"]) == ["E2", "E10"] and not kept["finished"]

    going_on = subprocess.Popen([*command, "--continue"], env=environment, stdout=subprocess.PIPE, text=True)
    with open(programs / "go", "w", encoding="ascii") as go:
        go.write("\n")
    out, _ = going_on.communicate(timeout=program.TIMEOUT_S)
    assert going_on.returncode == 0 and out == f"{path}\n"
    done = results.load(path)
    assert done["finished"] and list(done["experiments"]) == ["E2", "E10", "E13"]
    assert done["experiments"]["E2"] == kept["experiments"]["E2"]
    rates = [row["median"] for row in done["experiments"]["E13"]["measurements"] if row["quantity"] == "rate"]
    assert rates == [pytest.approx((160 / 0.5 + 160 / 0.25) / 2 / 1e6)] * 5

    # Once more, and interrupted again: what was measured stays.
    (programs / "begun").unlink()
    once_more = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, start_new_session=True)
    program.wait_until((programs / "begun").exists, "E13 to begin")
    os.killpg(once_more.pid, signal.SIGINT)
    once_more.communicate(timeout=program.TIMEOUT_S)
    kept = results.load(path)
    assert once_more.returncode == 130 and not kept["finished"]
    assert kept["experiments"]["E13"] == done["experiments"]["E13"]

    page = tmp_path / "page.html"
    assert run("report", path, "--output", page).returncode == 0
    assert "It was not run" in page.with_suffix(".md").read_text()


def test_a_program_that_fails_fails_its_experiment_alone(programs, tmp_path):
    (programs / "bench_aes_ci").write_text("#!/bin/sh\necho plain: wrong output >&2\nexit 1\n")
    path = tmp_path / "result.json"
    done = run("lab", "--only", "E2,E13", "--output", path, PAES_BIN=str(programs))
    assert done.returncode == 1 and "failed: E13" in done.stderr
    entry = results.load(path)["experiments"]["E13"]
    assert entry["outcome"] == "failed" and entry["reason"].endswith("exit code 1: plain: wrong output")
    (programs / "bench_aes_ci").write_text("#!/bin/sh\necho '{\"command\": \"bench aes_ci\", \"results\": []}'\n")
    run("lab", "--only", "E13", "--continue", "--output", path, PAES_BIN=str(programs))
    assert "bench-aes-ci.schema.json: results: []" in results.load(path)["experiments"]["E13"]["reason"]


def test_other_ciphers_are_measured_without_ranks(programs, tmp_path):
    path = tmp_path / "result.json"
    done = run("lab", "--only", "E18", "--output", path, PAES_BIN=str(programs))
    assert done.returncode == 0, done.stderr
    entry = results.load(path)["experiments"]["E18"]
    assert {(row["of"]["algorithm"], row["quantity"]) for row in entry["measurements"]} == {
        (algorithm, quantity) for algorithm in ("aes-256-ctr", "chacha20", "x25519") for quantity in ("time", "speedup")}
    why = {row["what"]: row["why"] for row in entry["left_out"]}
    assert why["MPI"] == "paes-mpi-bench is not built" and "for a device" in why["CUDA"]
    assert run("report", path, "--output", tmp_path / "page.html").returncode == 0
    said = (tmp_path / "page.md").read_text()
    assert "Asked by the study, answered here" in said or "Not judged" in said
    assert "agreements a second of X25519" in said


QUIET = type("Quiet", (), {"step": lambda self, what: None})()


def experiment(name, measure, seconds=1, **more):
    """An experiment whose figures are not looked at."""
    return Experiment(name=name, title=name, here="", measure=measure, show=lambda measured: Shown({}),
                      seconds={"quick": seconds, "full": seconds}, **more)


def takes(seconds):
    """An experiment's measure() that measures three things, each in so many seconds."""
    def measure(lab_):
        for thing in lab_.as_time_allows("abc"):
            lab_.step(thing)
            lab_programs.run(["sleep", seconds])
            lab_.record({"thing": thing}, "time", "s", seconds, 1)
    return measure


@pytest.fixture
def empty(recorded, tmp_path):
    """A result file of a quick run that has nothing yet."""
    document = json.loads(json.dumps(recorded[0]))
    document |= {"effort": "quick", "finished": False, "experiments": {}}
    return results.ResultFile(tmp_path / "result.json", document)


def test_what_there_is_no_time_for_is_left_out_and_measured_later(empty, capsys, monkeypatch):
    table = [experiment("E1", takes(3.1), 3), experiment("E2", takes(60), 3),
             experiment("E3", None, 0, uses="E2"), experiment("E4", takes(0.1), 24)]
    monkeypatch.setattr(lab, "STOPPED_AFTER_S", 1)
    lab.run(table, empty, limit_seconds=30)
    document = results.load(empty.path)
    outcomes = {name: entry["outcome"] for name, entry in document["experiments"].items()}
    assert outcomes == {"E1": "measured", "E2": "left out", "E3": "left out", "E4": "left out"}
    first = document["experiments"]["E1"]
    assert first["cut"] and [row["of"]["thing"] for row in first["measurements"]] == ["a"]
    assert first["left_out"] == [{"what": "b, c", "why": lab.NO_TIME}]
    assert "was stopped when no time was left" in document["experiments"]["E2"]["reason"]
    assert not document["experiments"]["E2"]["measurements"]
    assert document["finished"] and not results.is_complete(document)
    assert capsys.readouterr().err.count("  left out: ") == 3

    # With no time for them, what was measured stays. What has nothing comes first.
    order = []
    again = [experiment("E1", lambda lab_: order.append("E1") or takes(60)(lab_), 1),
             experiment("E2", lambda lab_: order.append("E2") or takes(60)(lab_), 1)]
    lab.run(again, empty, limit_seconds=4)
    assert order[0] == "E2" and results.load(empty.path)["experiments"]["E1"] == first

    later = [experiment(one.name, one.measure and takes(0.01), 1, uses=one.uses) for one in table]
    lab.run(later, empty, limit_seconds=60)
    document = results.load(empty.path)
    outcomes = [entry["outcome"] for entry in document["experiments"].values()]
    assert outcomes == ["measured", "measured", "derived", "measured"]
    assert results.is_complete(document)
    assert len(document["experiments"]["E1"]["measurements"]) == 3 and "cut" not in document["experiments"]["E1"]
    lab.run([experiment(one.name, takes(60), 0) for one in later], empty, limit_seconds=0.5)
    assert results.load(empty.path)["experiments"] == document["experiments"]  # nothing was measured again


def test_a_run_without_load_leaves_nothing_out(empty):
    """Each experiment has its share of the time and what others did not need."""
    table = [experiment(f"E{number}", takes(0.05), 1) for number in (1, 2, 3)]
    lab.run(table, empty, limit_seconds=20)
    assert results.is_complete(empty.document)
    assert all(len(entry["measurements"]) == 3 for entry in empty.document["experiments"].values())


@pytest.mark.parametrize("raised, outcome", [
    (TimedOut("paes-bench: took more than 9 seconds"), "left out"), (OutOfTime("no time"), "left out"),
    (Failed("wrong output"), "failed"), (Unavailable("no device"), "unavailable")])
def test_only_what_is_wrong_fails(empty, raised, outcome, script):
    def measure(lab_):
        lab_.record({"thing": "a"}, "time", "s", 1, 1)
        raise raised
    failed = lab.run([experiment("E1", measure)], empty)
    entry = empty.document["experiments"]["E1"]
    assert entry["outcome"] == outcome and entry["reason"] == str(raised)
    assert (failed == ["E1"]) == (outcome == "failed")
    assert results.is_complete(empty.document) == (outcome == "unavailable")

    # What was measured before stays, whatever becomes of a later run.
    lab.run([experiment("E2", takes(0.01))], empty)
    before = empty.document["experiments"]["E2"]
    assert before["measurements"]
    assert lab.run([experiment("E2", measure)], empty, again=True) == (["E2"] if outcome == "failed" else [])
    assert empty.document["experiments"]["E2"] == before


def test_the_share_of_others_is_unknown_where_a_daemon_starts_the_ranks(empty):
    cluster = type("Slurm", (), {"is_slurm": True})()
    for name, on_cluster in (("E1", True), ("E2", False)):
        lab.run([experiment(name, takes(0.01), on_cluster=on_cluster)], empty, cluster=cluster)
    assert ["others" in empty.document["experiments"][name] for name in ("E1", "E2")] == [False, True]


@pytest.mark.parametrize("output", ["answers.html", "answers.md", "result.html", "page.md"])
def test_a_report_writes_over_nothing_that_it_reads(output, tmp_path):
    result = tmp_path / "result.md"  # as the summary of result.html would be called
    result.write_bytes(RECORDED[0].read_bytes())
    answers_ = tmp_path / "answers.md"
    answers_.write_text(ANSWERS)
    done = run("report", result, "--answers", answers_, "--output", tmp_path / output)
    assert done.returncode == 1 and re.fullmatch("report: --output: .*\n", done.stderr), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.md", "result.md"]
    assert answers_.read_text() == ANSWERS and result.read_bytes() == RECORDED[0].read_bytes()


def test_a_program_that_is_stopped_leaves_none_behind(tmp_path):
    kept = tmp_path / "kept"
    with pytest.raises(OutOfTime, match="sh: was stopped when no time was left"), \
            lab_programs.until(lab.time.monotonic() + 1):
        lab_programs.run(["sh", "-c", f"sleep 300 & echo $! >{kept}; wait"])
    process = Path("/proc") / kept.read_text().strip()
    program.wait_until(lambda: not process.exists() or " Z " in (process / "stat").read_text(), "sleep to end")
    with pytest.raises(TimedOut, match="took more than 0.2 seconds"):
        lab_programs.run(["sleep", "300"], seconds=0.2)
    with pytest.raises(OutOfTime, match="no time was left for true"), lab_programs.until(0):
        lab_programs.run(["true"])


@pytest.fixture
def script():
    """bench/lab as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_lab", str(BENCH / "lab"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_lab", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("change, goes_on", [
    (lambda d: None, False), (lambda d: d.update(finished=False), True),
    (lambda d: d["experiments"]["E13"].update(cut=True), True),
    (lambda d: d["experiments"]["E13"].update(outcome="left out", reason="no time", measurements=[]), True),
    (lambda d: d["experiments"]["E13"].update(outcome="failed", reason="wrong", measurements=[]), True)])
def test_continue_finds_what_lacks_something(change, goes_on, recorded, tmp_path, script, monkeypatch):
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    path = tmp_path / "a-machine-lab-quick.json"
    changed(recorded[0], tmp_path, lambda d: (d.update(effort="quick"), change(d))).rename(path)
    if goes_on:
        assert script.unfinished("quick", None) == path
        with pytest.raises(SystemExit):
            script.unfinished("quick", ["E13"])
    else:
        with pytest.raises(SystemExit, match="no result of --quick .* is unfinished"):
            script.unfinished("quick", None)


def test_what_was_disturbed_is_named(recorded, script, capsys):
    document = json.loads(json.dumps(recorded[0]))
    for name in document["experiments"]:
        document["experiments"][name]["others"] = 0.6 if name in ("E1", "E13") else 0.1
    document["experiments"]["E14"] |= {"outcome": "left out", "reason": "no time", "measurements": []}
    document["experiments"]["E5"]["cut"] = True
    run_ = [one for one in all_experiments() if one.name in document["experiments"]]
    script.tell(run_, document, [])
    assert capsys.readouterr().err.splitlines() == [
        "lab: disturbed: E1, E13: other programs used the processors, so nothing is judged by them",
        "lab: left out for want of time: E14; --continue measures them",
        "lab: measured in part for want of time: E5; --continue measures them"]


def test_a_quick_run_that_left_something_out_goes_on(programs, tmp_path):
    path = tmp_path / "result.json"
    with open(programs / "bench_aes_ci", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ncat {programs}/document\n")
    assert run("lab", "--only", "E2,E13", "--output", path, PAES_BIN=str(programs)).returncode == 0
    document = json.loads(path.read_text())
    document["experiments"]["E13"] |= {"outcome": "left out", "reason": lab.NO_TIME, "measurements": []}
    path.write_text(json.dumps(document))
    page_ = tmp_path / "page.html"
    assert run("report", path, "--output", page_).returncode == 0
    assert f"Here: {lab.NO_TIME}" in page_.read_text()
    done = run("lab", "--only", "E2,E13", "--continue", "--output", path, PAES_BIN=str(programs))
    assert done.returncode == 0 and "E13" in done.stderr and "E2" not in done.stderr
    assert results.is_complete(results.load(path))


# Experiments that go through sizes, keys or rounds as time allows.
CUT_SHORT = ("E1", "E4", "E5", "E7", "E8", "E9", "E13", "E14")


def test_the_least_that_an_experiment_measures_can_be_shown(monkeypatch, recorded):
    monkeypatch.setattr(lab_programs, "BIN", Path(program.PAES).parent)
    document = json.loads(json.dumps(recorded[0]))
    document["machine"]["cores"], document["experiments"] = 2, {}
    table = {one.name: one for one in all_experiments()}
    for name in CUT_SHORT:
        # With the time of a full run: nested regions take long while other tests use the processors.
        short = lab.Lab(name != "E9", 2, QUIET, limit=lab.TimeLimit(last_begin=0))
        document["experiments"][name] = lab.measure(table[name], short, document)
        entry = document["experiments"][name]
        assert entry["outcome"] == "measured" and entry["cut"], (name, entry.get("reason"))
        assert lab.NO_TIME in [row["why"] for row in entry["left_out"]], name
    document["experiments"]["E3"] = lab.measure(table["E3"], lab.Lab(True, 2, QUIET), document)
    assert document["experiments"]["E3"]["outcome"] == "derived"
    made = page.make(all_experiments(), [document])
    html5lib.HTMLParser(strict=True).parse(made)
    assert "no time was left" in markdown.make(all_experiments(), [document])


def table_of(tree):
    """The rows of the table that the page opens with, as lists of cells."""
    (found,) = [div for div in tree.iter("div") if "beside" in (div.get("class") or "").split()]
    return [list(row) for row in found.find(".//tbody").iter("tr")]


def words_of(element):
    return "".join(element.itertext())


def test_the_page_opens_with_the_published_figures(pages):
    documents, _, tree, _ = pages
    rows = table_of(tree)
    tables_ = list(tree.find(".//main").iter("table"))
    assert tables_[0].find(".//tbody")[0][0] is rows[0][0]
    measured = 0
    for study, _, said, *here, command in rows:
        assert study.get("data-study") in PUBLISHED["studies"]
        name = command.find("a").get("href")[1:].upper()
        assert words_of(command) == f"{name} ./dev lab --only {name}"
        assert words_of(said).strip("\u2014 ")
        assert len(here) == len(documents)
        for cell in here:
            assert cell.find("data") is not None or re.match(
                "not measured here|between|above|below|.*here", words_of(cell)), words_of(cell)
            measured += cell.find("data") is not None
    assert measured > 40
    assert any("[tiempo de ejecuci\u00f3n]" in words_of(row[1]) for row in rows)
    assert any("no device" in words_of(row[3]) for row in rows)


def test_each_quantity_that_was_published_has_a_row(recorded):
    said = [(row.claim.study, row.says[0]) for row in beside.rows(all_experiments(), recorded)]
    for study, members in PUBLISHED["studies"].items():
        for place in members["quantities"]:
            _, words = published.quantity(study, place)
            is_table = any(other.startswith(f"{place}/") for other in members["quantities"])
            assert is_table or any(of == study and one.startswith(words) for of, one in said), (study, place)


def test_a_figure_stands_once_in_the_opening_table(recorded):
    """Speedups of ranks are E3's, or E15's if it measured a cluster. No row shows a place of published.json, and what two ranks
    did stands beside one published number of cores."""
    rows = list(beside.rows(all_experiments(), recorded[:1]))
    said = [(row.claim.study, row.says[0]) for row in rows]
    assert len(said) == len(set(said))
    assert not any("/" in what or "_" in what for _, what in said)
    one = Counterpart("pousa.mpi-linear", "time_s/mpi_8/5")  # a figure by size, which a claim names alone
    assert beside.named("pousa", one) == "time to encrypt [tiempo de ejecuci\u00f3n], MPI, 8 cores, 255 MB"
    of_mpi = [row for row in rows if "speedup [" in row.says[0] and "MPI" in row.says[0]]
    assert [row.experiment for row in of_mpi] == ["E3"] * 3
    assert [any(isinstance(part, values.Value) for part in row.here[0]) for row in of_mpi] == [True, False, False]
    assert "no run had 16 ranks" in markdown.words(of_mpi[1].here[0])
    document = json.loads(json.dumps(recorded[0]))
    for row in document["experiments"]["E15"]["measurements"]:
        if row["of"].get("ranks") == 2:
            row["of"] |= {"ranks": 16, "machines": 4}
    of_mpi = [row for row in beside.rows(all_experiments(), [document])
              if "speedup [" in row.says[0] and "MPI, 16 cores" in row.says[0]]
    assert [(row.experiment, any(isinstance(part, values.Value) for part in row.here[0])) for row in of_mpi] == [("E15", True)]


def test_what_another_build_measured_says_so(recorded):
    document = json.loads(json.dumps(recorded[0]))
    for name, entry in document["experiments"].items():
        entry["commit"] = "0123456789ab" if name == "E1" else document["machine"]["commit"]
    summary = markdown.make(all_experiments(), [document])
    sections = {section.partition(".")[0]: section for section in summary.split("\n## ")}
    # E3 is made of E1's measurements.
    assert [name for name, section in sections.items() if "Measured by paes 0123456789ab" in section] == ["E1", "E3"]
    assert page.make(all_experiments(), [document]).count("Measured by paes 0123456789ab") == 2


def test_the_overview_counts_verdicts(recorded):
    made = page.make(all_experiments(), recorded[:1])
    overview = made.partition("<h2>In short</h2>")[2].partition("<h2>Machines</h2>")[0]
    for experiment in all_experiments():
        shown, _ = presentation(experiment, recorded[0])
        assert bool(shown.counts) == (len(shown.verdicts) > 1)
        assert not shown.counts or f"({shown.counts})" in overview


def test_captions_say_what_is_shown(recorded):
    (experiment,) = [one for one in all_experiments() if one.name == "E3"]
    panels = presentation(experiment, recorded[0])[0].panels
    said = page.figure_caption(panels)
    assert said.startswith("Speedup against cores: times as fast by threads, ranks or cores. Speedup against size: ")
    assert said.endswith("Measured here: filled. Published: dashed or hatched. Perfect scaling: dotted.")


def test_points_that_lie_on_each_other_are_seen():
    """What is drawn first is larger. A level has no points."""
    one = [values.given(1), values.given(2)]
    panel = Panel("A figure", "x", "y", [Series("first", one, one), Series("second", one, one),
                                         Series("level", one, [values.given(3)] * 2, "published", is_level=True)], least=1)
    drawing, axes = figures.drawing(panel)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["first"].get_markersize() > lines["second"].get_markersize()
    assert lines["level"].get_marker() in ("", "None") and lines["second"].get_marker() not in ("", "None")
    assert axes.get_ylim()[0] <= 1 and axes.get_ylim()[0] > 0
    figures.plt.close(drawing)


def test_a_disturbed_figure_is_marked(recorded):
    document = json.loads(json.dumps(recorded[0]))
    for share, wanted in ((0.5, True), (0.0, False)):
        document["experiments"]["E1"]["others"] = share
        (row, *_) = beside.rows(all_experiments(), [document])
        assert ("(disturbed)" in markdown.words(row.here[0])) == wanted


def test_the_largest_size_that_was_measured_stands_in_the_table(recorded):
    document = json.loads(json.dumps(recorded[0]))
    entry = document["experiments"]["E1"]
    entry["measurements"] = [row for row in entry["measurements"] if row["of"]["bytes"] <= 1 << 20]
    (first, *_) = beside.rows(all_experiments(), [document])
    assert first.says[0].endswith(", one core, 1 MB")
    assert first.published[0].number == PUBLISHED["studies"]["pousa"]["time_s"]["sequential"][2]
    document["experiments"] = {}
    (first, *_) = beside.rows(all_experiments(), [document])
    assert first.says[0].endswith(", 255 MB") and first.here[0] == ("not measured here: it was not run",)


def test_speedups_against_cores_have_the_studys_points(recorded):
    panel = e03.by_cores(Measured("E1", recorded[0]))
    lines = {series.label: series for series in panel.series}
    for label, cores in (("Pousa's thesis: OpenMP", [8]), ("Pousa's thesis: MPI", [8, 16, 32])):
        assert [float(x) for x in lines[label].xs] == cores
        assert [float(y) for y in lines[label].ys] == [
            PUBLISHED["studies"]["pousa"]["speedup_over_sequential"][
                f"{label.rpartition(' ')[2].lower()}_{count}"][5] for count in cores]
    ideal = lines["ideal"]
    assert [float(x) for x in ideal.xs] == [float(y) for y in ideal.ys] and float(ideal.xs[-1]) == 32
    here = next(series for label, series in lines.items() if label.startswith("OpenMP"))
    assert here.kind == "measured" and float(here.xs[-1]) == recorded[0]["machine"]["cores"]


def all_panels(documents):
    for one in all_experiments():
        for document in documents:
            for panel in presentation(one, document)[0].panels:
                yield one.name, panel


def test_figures_can_be_read(pages):
    """Few lines, and labels of the axes that do not overlap."""
    seen = 0
    for name, panel in all_panels(pages[0]):
        assert sum(any(y is not None for y in series.ys) for series in panel.series) <= figures.MOST_SERIES, (name, panel.title)
        assert panel.ylabel and panel.title
        drawing, axes = figures.drawing(panel)
        drawing.canvas.draw()
        for axis in (axes.xaxis, axes.yaxis):
            if any(label.get_rotation() for label in axis.get_ticklabels()):
                continue  # turned labels have boxes that overlap where the letters do not
            boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
            for one, other in zip(boxes, boxes[1:]):
                assert not one.overlaps(other), (name, panel.title)
        figures.plt.close(drawing)
        seen += 1
    assert seen > 30


def test_sizes_are_written_one_way(pages):
    """Decimal sizes are a study's; ours are binary, and a space stands before the unit."""
    _, text_, tree, _ = pages
    of_studies = {size.replace("B", "").strip() + "B" for study in PUBLISHED["studies"] for key in ("sizes", "file_sizes")
                  if key in PUBLISHED["studies"][study] for size in published.sizes(study)}
    seen = set()
    for section in tree.iter("section"):
        for element in section.iter():
            if element.get("data-claim") or not isinstance(element.tag, str):
                continue
            for part in (element.text or "", element.tail or ""):
                if "Left out" in part:  # as older results say it
                    continue
                for gpu in BOUNDS["gpus"]:  # whose names are their makers'
                    part = part.replace(gpu, "")
                assert not re.search(r"\d[KMG]i?B\b", part), part
                seen |= set(re.findall(r"[\d.]+ [KMG]B\b", part)) - {"4.5 MB"}
    assert seen <= of_studies | {"1 KB"}, seen - of_studies


def test_the_page_can_be_printed(pages):
    _, text_, _, _ = pages
    style = text_.partition("<style>")[2].partition("</style>")[0]
    paper = style.partition("@media print {")[2]
    assert "@page" in style and "break-inside: avoid" in paper and "color-scheme: light" in paper
    # Each colour of the page has one for paper, where the reader's choice of a dark screen does not count.
    names = set(re.findall(r"(--\w+):", style.partition("}")[0]))
    assert names <= set(re.findall(r"(--\w+):", paper.partition("}")[0]))


ANSWERS = """# Ada <script>alert(1)</script>

Group `3` & more
in two lines.

## Exercise 1

    ./dev lab <b>file
    a `b`
"""


def test_answers_are_handed_in_with_the_page(tmp_path):
    (tmp_path / "answers.md").write_text(ANSWERS)
    made = tmp_path / "ada.html"
    done = run("report", RECORDED[0], "--answers", tmp_path / "answers.md", "--output", made)
    assert done.returncode == 0, done.stderr
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(made.read_text())
    (div,) = [div for div in tree.iter("div") if div.get("class") == "answers"]
    assert [(child.tag, words_of(child)) for child in div] == [
        ("h2", "Ada <script>alert(1)</script>"), ("p", "Group 3 & more in two lines."), ("h3", "Exercise 1"),
        ("pre", "./dev lab <b>file\na `b`")]
    assert answers.as_html("") == '<div class="answers"></div>'
    (tmp_path / "latin").write_bytes(b"\xe9")
    done = run("report", RECORDED[0], "--answers", tmp_path / "latin", "--output", made)
    assert done.returncode == 1 and done.stderr.startswith("report: --answers: is no UTF-8 text")
    done = run("report", RECORDED[0], "--answers", tmp_path / "none", "--output", made)
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_exercises_name_experiments_and_options_that_there_are():
    text_ = (ROOT / "docs" / "exercises.md").read_text()
    assert 8 <= len(re.findall(r"^## \d+\. ", text_, flags=re.MULTILINE)) <= 14
    known = {one.name for one in all_experiments()}
    assert set(re.findall(r"\bE\d+\b", text_)) <= known
    options = run("lab", "--help").stdout
    for command in re.findall(r"^    \./dev lab (.*)$", text_, flags=re.MULTILINE):
        for option in re.findall(r"--\w+", command):
            assert option in options, option


def test_results_of_two_machines_do_not_mix(recorded, tmp_path):
    path = changed(recorded[0], tmp_path, lambda d: d["machine"].update(cpu="Another processor"))
    done = run("lab", "--only", "E2", "--continue", f"--{recorded[0]['effort']}", "--output", path,
               PAES_BIN=str(Path(program.PAES).parent))
    assert done.returncode == 1 and "begun with another cpu: Another processor" in done.stderr


def test_unknown_experiments_are_named():
    done = run("lab", "--only", "E4,E99")
    assert done.returncode == 1 and "no experiment 'E99'; there are: E1, E2" in done.stderr


def test_a_result_is_replaced_as_a_whole(recorded, tmp_path):
    path = tmp_path / "result.json"
    file = results.ResultFile(path, json.loads(json.dumps(recorded[0])))
    file.save()
    before = path.read_bytes()
    file.document["machine"].pop("cpu")
    with pytest.raises(results.ResultError, match="would be no valid result"):
        file.save()
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number, said", [
    (0.000064562, "6.46e-05"), (0.0098, "0.00980"), (9.996, "10.0"), (123.4, "123"), (98765.4, "98\u202f800"),
    (2, "2"), (1.0, "1.00"), (0, "0"), (0.9999, "1.00"), (1e-12, "1.00e-12")])
def test_numbers_have_three_digits(number, said):
    assert values.shown(number) == said


# Recorded on a machine with an Intel processor of two packages: /sys/class/powercap, the files that are
# read. dram is a zone below a package and would count it twice.
POWERCAP = {
    "intel-rapl:0": ("package-0", 262143328850, 1000),
    "intel-rapl:1": ("package-1", 262143328850, 262143328000),
    "intel-rapl:0:0": ("dram", 65712999613, 77),
    "intel-rapl-mmio:0": ("package-0", 262143328850, 5),
}


def test_the_processors_energy_is_what_its_counters_say(tmp_path):
    for zone, (name, most, energy_uj) in POWERCAP.items():
        (tmp_path / zone).mkdir()
        (tmp_path / zone / "name").write_text(f"{name}\n")
        (tmp_path / zone / "max_energy_range_uj").write_text(f"{most}\n")
        (tmp_path / zone / "energy_uj").write_text(f"{energy_uj}\n")
    counters = energy.package_counters(tmp_path)
    assert [counter.name for counter in counters] == ["package-0", "package-1"]
    meter = energy.Meter(counters)
    (tmp_path / "intel-rapl:0/energy_uj").write_text("2501000\n")
    (tmp_path / "intel-rapl:1/energy_uj").write_text("1499150\n")  # it wrapped around
    assert meter.update() == pytest.approx(2.5 + 1.5)
    (tmp_path / "intel-rapl:0/energy_uj").write_text("3501000\n")
    assert meter.update() == pytest.approx(5.0)


def test_without_counters_there_is_a_reason_and_no_estimate(tmp_path):
    with pytest.raises(Unavailable, match="has no powercap"):
        energy.package_counters(tmp_path / "none")
    with pytest.raises(Unavailable, match="no zone of a processor package"):
        energy.package_counters(tmp_path)
    with pytest.raises(Unavailable, match="NVML"):
        energy.DeviceCounter("libno-such-library.so.1")


# NVML's functions, as nvml.h declares them.
NVML = """
typedef void *nvmlDevice_t;
static unsigned long long energy = ENERGY;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
  if (index != 0) return 2;
  *device = &energy;
  return 0;
}
int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  static const char text[] = "580.82.07";
  if (length < sizeof text) return 7;
  for (unsigned i = 0; i < sizeof text; ++i) version[i] = text[i];
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules) {
  if (device != &energy) return 2;
  *millijoules = energy;
  energy += 1500;
  return RESULT;
}
"""


@pytest.fixture
def nvml(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is in PATH")

    def build(result):
        library = tmp_path / f"libnvml{result}.so"
        (tmp_path / "nvml.c").write_text(NVML)
        subprocess.run([compiler, "-shared", "-fPIC", "-DENERGY=5000000000ULL", f"-DRESULT={result}",
                        "-o", library, tmp_path / "nvml.c"], check=True)
        return str(library)
    return build


def test_a_devices_energy_is_what_nvml_says(nvml):
    meter = energy.Meter([energy.DeviceCounter(nvml(0))])
    assert meter.update() == pytest.approx(1.5)
    assert meter.update() == pytest.approx(3.0)
    assert ctypes.sizeof(ctypes.c_ulonglong) == 8
    with pytest.raises(Unavailable, match="nvmlDeviceGetTotalEnergyConsumption gives error 3"):
        energy.DeviceCounter(nvml(3))


def test_the_driver_is_the_one_that_nvml_names(nvml):
    assert energy.Nvml(nvml(0)).driver_version() == "580.82.07"


@pytest.mark.parametrize("arguments, says", [
    (["--threads", "1,x"], "--threads: 'x' is not understood; an example is 1,2,4"),
    (["--threads", ""], "--threads: '' is not understood; an example is 1,2,4"),
    (["--threads", "2KiB"], "--threads: '2KiB' is not understood; an example is 1,2,4"),
    (["--threads", "0"], "--threads: 0 is not from 1 to 4096"),
    (["--threads", "1,2,1"], "--threads: 1 is there twice"),
    (["--sizes", "1.5MiB"], "--sizes: '1.5MiB' is not understood; an example is 1KiB,1MiB"),
    (["--sizes", "1KiB,1Kib"], "--sizes: '1Kib' is not understood; an example is 1KiB,1MiB"),
    (["--sizes", "1MiB,1048576"], "--sizes: 1 MiB is there twice"),
    (["--sizes", "0"], "--sizes: 0 is not from 16 B to 64 GiB"),
    (["--sizes", "65GiB"], "--sizes: 65GiB is not from 16 B to 64 GiB"),
    (["--sizes", "1KB"], "--sizes: 1KB is no multiple of 16 B"),
    (["--ranks=-1"], "--ranks: '-1' is not understood; an example is 8,16,32"),
    (["--delays", "1000001"], "--delays: 1000001 is not from 0 to 1000000"),
])
def test_a_parameter_that_cannot_be_is_refused_in_one_line(arguments, says, tmp_path):
    done = run("lab", "--only", "E4", "--output", tmp_path / "result.json", *arguments)
    assert done.returncode == 1 and done.stderr == f"lab: {says}\n"
    assert not list(tmp_path.iterdir())


def test_chosen_numbers_replace_an_experiments_own(tmp_path):
    path, here = tmp_path / "result.json", {"PAES_BIN": str(Path(program.PAES).parent)}
    done = run("lab", "--only", "E4", "--sizes", "16KiB,1KiB", "--threads", "2", "--ranks", "1", "--output", path, **here)
    assert done.returncode == 0, done.stderr
    result = results.load(path)
    parameters = {"threads": [2], "sizes": [1024, 16384]}
    assert result["parameters"] == {**parameters, "ranks": [1]}
    entry = result["experiments"]["E4"]
    assert entry["chosen"].items() >= parameters.items()
    on_processor = [row["of"] for row in entry["measurements"] if "threads" in row["of"]]
    assert {of["bytes"] for of in on_processor} == {1024, 16384}
    assert {of["threads"] for of in on_processor} == {1, 2}  # a speedup is over one thread
    assert entry["seconds"] < 60 and 0 <= entry["others"] <= 1  # also of what is over at once

    page = tmp_path / "page.html"
    assert run("report", path, "--output", page).returncode == 0
    for made in (page, page.with_suffix(".md")):
        assert re.search(r"Chosen for this run:(</b>)? threads 2; sizes 1 KiB, 16 KiB", made.read_text())
    assert "<td>threads 2; sizes 1 KiB, 16 KiB; ranks 1</td>" in page.read_text()

    other = run("lab", "--only", "E2", "--continue", "--sizes", "1KiB", "--output", path, **here)
    assert other.returncode == 1
    assert other.stderr == f"lab: {path}: was begun with sizes 1 KiB, 16 KiB; here it is sizes 1 KiB\n"
    other = run("lab", "--only", "E2", "--delays", "0", "--output", path, **here)
    assert other.returncode == 1
    assert other.stderr == f"lab: {path}: was begun with no --delays; here it is delays 0\n"
    assert results.load(path) == result
    for same in ([], ["--sizes", "1024,16KiB", "--threads", "2"]):
        going_on = run("lab", "--only", "E2", "--continue", *same, "--output", path, **here)
        assert going_on.returncode == 0, going_on.stderr
    assert results.load(path)["parameters"] == result["parameters"]


def test_numbers_are_an_experiments_own_unless_chosen():
    quiet = type("Quiet", (), {"step": lambda self, what: None})()
    own = lab.Lab(True, 2, quiet)
    assert own.threads() == own.ranks() == [1, 2] and own.sizes((16, 32)) == [16, 32] and own.delays((0, 20)) == [0, 20]
    assert own.chosen == {}
    chosen = lab.Lab(True, 2, quiet, {"threads": [4, 8], "delays": [7]})
    assert chosen.delays((0, 20)) == [7] and chosen.chosen == {"delays": [7]}
    assert chosen.threads((1, 2)) == [1, 4, 8] and chosen.ranks() == [1, 2]
    assert {delay for *_, delay, _ in e11.runs(chosen, 1 << 24)} == {7}
    assert e08.counts_of(chosen) == [4, 8]


# Stands for mpirun and srun: notes its words, and runs the program once, which is told the number of ranks.
LAUNCHER = """#!/bin/sh
echo "$(basename "$0") $*" >>{folder}/calls
while [ "$1" != -n ]; do shift; done
RANKS=$2 "$3" $(shift 3; echo "$@") || {{ code=$?; echo "Primary job terminated normally, but 1 process did not." >&2; exit $code; }}
"""

# Stands for paes-mpi-bench and paes-bench threads: a rank encrypts 10 MB/s, and handing out takes as long as that.
MEASURING = """#!{python}
import json, os, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
ranks = int(os.environ["RANKS"])
if sys.argv[0].endswith("paes-bench"):
    if sys.argv[1] != "threads":
        os.execv("{bench}", ["paes-bench", *sys.argv[1:]])
    row = {{"cipher": "aes-128-ecb", "kernel": "compute", "split": "pieces", "direction": "encrypt", "schedule": "serial",
           "threads": 1, "oversubscribed": False, "piece_bytes": 262144, "rounds": 1, "runs": 1, "gb_per_s": 0.01,
           "ratio_to_first": {{"median": 1, "min": 1, "max": 1}}}}
    print(json.dumps({{"command": "bench threads", "machine": json.load(open("{folder}/machine")),
        "conditions": {{"callers": 1, "busy_loops": 0, "after_fork": False}}, "results": [
        {{**row, "bytes": int(count), "seconds_median": int(count) / 1e7, "seconds_min": int(count) / 1e7,
         "seconds_max": int(count) / 1e7}} for count in options["--size"].split(",")]}}))
    sys.exit()
on_device = options.get("--device") == "cuda"
if on_device and "GPUS" not in os.environ:
    sys.exit("paes: device: cuda is not available: there is no NVIDIA driver")
cores = int(os.environ["CORES"])
job = {{"library": "a library", "ranks": ranks, "hosts": min(ranks, 4), "machines": int(os.environ["MACHINES"]), "cores": cores,
       "oversubscribed": ranks > cores}}
if on_device:
    job["devices"] = {{"count": min(ranks, int(os.environ["GPUS"])), "name": "A GPU", "memory_bytes": 1 << 30}}
rows = []
for count in map(int, options["--bytes"].split(",")):
    seconds = {{field: count / 1e7 / min(ranks, cores) for field in ("median", "min", "max")}}
    phases = ["scatter_seconds", "compute_seconds", "gather_seconds"] if sys.argv[1] == "scatter" else ["seconds"]
    rows.append({{"cipher": options["--cipher"], "kernel": options["--kernel"], "threads": 1, "bytes": count,
                 "runs": int(options["--runs"]), **{{phase: seconds for phase in phases}}, "gb_per_s": 0.01}})
print(json.dumps({{"command": "bench " + sys.argv[1], "machine": json.load(open("{folder}/machine")), "mpi": job,
                  "results": rows}}))
"""


@pytest.fixture
def on_cluster(recorded, tmp_path):
    """on_cluster(arguments, environment): runs the lab where launchers and the programs that they start only say what they
    are told. Gives back the run and the launchers' words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "paes").symlink_to(program.PAES)
    machine = json.loads(program.run("kernel", "--kernel", "bitslice", "--size", "16", "--seconds", "0", "--json",
                                     binary=program.BENCH).out)["machine"]
    (folder / "machine").write_text(json.dumps(machine))
    for name in ("paes-bench", "paes-mpi-bench"):
        (folder / name).write_text(MEASURING.format(python=sys.executable, folder=folder, bench=program.BENCH))
    launchers = tmp_path / "launchers"
    launchers.mkdir()
    for name in ("mpirun", "srun"):
        (launchers / name).write_text(LAUNCHER.format(folder=folder))
    for path in [*launchers.iterdir(), folder / "paes-bench", folder / "paes-mpi-bench"]:
        path.chmod(0o755)
    (tmp_path / "hosts").write_text("# four machines\n" + "".join(f"node{number} slots=8\n" for number in range(4)))

    def lab_on_cluster(*arguments, **environment):
        (folder / "calls").unlink(missing_ok=True)
        done = run("lab", *arguments, "--output", tmp_path / "result.json", PATH=f"{launchers}:{os.environ['PATH']}",
                   PAES_BIN=str(folder), **{"RANKS": "1", "MACHINES": "4", "CORES": "32", **environment})
        calls = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
        # The lab first tries whether ranks start.
        return done, [call for call in calls if not call.endswith(" true")]
    return lab_on_cluster


def report_of(path, name, following):
    """The report's section about an experiment, as if the machine had been idle: these figures are nobody's."""
    document = results.load(path)
    document["experiments"][name]["others"] = 0.0
    path.write_text(json.dumps(document))
    done = run("report", path, "--output", path.with_name("page.html"))
    assert done.returncode == 0, done.stderr
    return path.with_name("page.md").read_text().partition(f"## {name}.")[2].partition(f"## {following}.")[0]


@pytest.mark.parametrize("arguments, environment, starts, said", [
    (["--hostfile", "{tmp}/hosts"], {}, "mpirun --hostfile {tmp}/hosts -n", "mpirun"),
    ([], {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "32"}, "srun -n", "srun"),
    (["--launcher", "{tmp}/launchers/srun"], {}, "srun -n", "srun"),
    (["--launcher", "{tmp}/launchers/mpirun", "--hostfile", "{tmp}/hosts"], {"SLURM_JOB_ID": "7"},
     "mpirun --hostfile {tmp}/hosts -n", "mpirun")])
def test_ranks_run_on_a_cluster(on_cluster, tmp_path, arguments, environment, starts, said):
    arguments = [word.format(tmp=tmp_path) for word in arguments]
    done, calls = on_cluster("--only", "E15", "--ranks", "8,16,32", "--sizes", "1KiB,255MiB", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    assert calls and all(call.startswith(starts.format(tmp=tmp_path)) for call in calls)
    programs_ = {(int(found[1]), found[2], found[3]) for call in calls
                 if (found := re.search(r" -n (\d+) \S*/(\S+) (\S+)", call))}
    assert programs_ == {(1, "paes-bench", "threads"),
                         *((ranks, "paes-mpi-bench", kind) for ranks in (8, 16, 32) for kind in ("memory", "scatter"))}
    rows = results.load(tmp_path / "result.json")["experiments"]["E15"]["measurements"]
    of_ranks = [row["of"] for row in rows if row["of"]["executor"] == "mpi"]
    assert all((of["hosts"], of["machines"], of["cores"], of["launcher"]) == (4, 4, 32, said) for of in of_ranks)
    speedups = {(row["of"]["ranks"], row["quantity"]): row["median"] for row in rows if row["unit"] == "ratio"}
    for ranks in (8, 16, 32):
        assert speedups[ranks, "speedup"] == pytest.approx(ranks)
        assert speedups[ranks, "speedup with scatter and gather"] == pytest.approx(ranks / 3)

    summary = report_of(tmp_path / "result.json", "E15", "E16")
    assert "Here: 32 ranks reached 100 % of 32 times the sequential program's speed at 255 MiB, and least at " in summary
    assert f"the ranks ran on 4 hosts (4 machines with 32 cores, started by {said})" in summary
    assert "**Holds here.**" in summary and "| 32 ranks | 4 | 4 | 32 |" in summary
    tree = html5lib.HTMLParser(namespaceHTMLElements=False).parse((tmp_path / "page.html").read_text())
    (figure,) = figures_of(tree, "e15")
    for label in ("Pousa's thesis: MPI", "Pousa's thesis: MPI, 8 cores", "Pousa's thesis: MPI, 32 cores", "ideal", "255 MiB"):
        assert label in figure


def test_ranks_without_a_core_each_are_told_and_not_judged(on_cluster, tmp_path):
    done, _ = on_cluster("--only", "E15", "--ranks", "1,4", "--sizes", "1KiB", "--hostfile", tmp_path / "hosts",
                         MACHINES="1", CORES="2")
    assert done.returncode == 0, done.stderr
    summary = report_of(tmp_path / "result.json", "E15", "E16")
    assert ("Here: no number of ranks above one had a core for each: 4 ranks ran on 4 hosts (1 machine with 2 cores, started "
            "by mpirun)") in summary
    assert "Holds here" not in summary and "| 4 ranks (oversubscribed) | 4 | 1 | 2 |" in summary


def test_the_sequential_program_has_as_many_runs_as_ranks(on_cluster, tmp_path):
    """A turn of either is the median of the same number of runs, and there are as many turns."""
    done, calls = on_cluster("--only", "E15", "--full", "--ranks", "1,2", "--sizes", "1KiB,15MiB", "--hostfile",
                             tmp_path / "hosts")
    assert done.returncode == 0, done.stderr
    runs = {}
    for call in calls:
        found = re.search(r"/(paes-bench threads|paes-mpi-bench \w+) .*--runs (\d+)", call)
        sizes = re.search(r"--(?:size|bytes) (\d+)", call)[1]
        runs.setdefault((sizes, found[2]), []).append(found[1])
    assert set(runs) == {("1024", "9"), (str(15 << 20), "1")}
    for which in runs.values():
        assert which.count("paes-bench threads") >= 3
        assert which.count("paes-mpi-bench memory") == which.count("paes-mpi-bench scatter") == 2 * which.count("paes-bench threads")
    rows = results.load(tmp_path / "result.json")["experiments"]["E15"]["measurements"]
    assert min(row["rounds"] for row in rows) >= 3




def test_a_quick_run_without_a_cluster_leaves_it_to_e1(on_cluster, tmp_path):
    done, calls = on_cluster("--only", "E15")
    assert done.returncode == 0 and calls == []
    entry = results.load(tmp_path / "result.json")["experiments"]["E15"]
    assert entry["outcome"] == "unavailable" and entry["reason"].startswith("there is no cluster, and E1 has the ranks")


@pytest.mark.parametrize("text, says", [
    (None, "cannot be read: "), ("", "names no host"), ("# none\n\n", "names no host"),
    ("node1\nnode2 slots=x\n", "line 2 is not understood: node2 slots=x"),
    ("node1 slots=0\n", "line 1 is not understood: node1 slots=0"), ("node1 node2\n", "line 1 is not understood: node1 node2")])
def test_a_hostfile_that_says_nothing_is_refused_in_one_line(text, says, tmp_path):
    if text is not None:
        (tmp_path / "hosts").write_text(text)
    done = run("lab", "--only", "E15", "--hostfile", tmp_path / "hosts")
    assert done.returncode == 1
    assert done.stderr.startswith(f"lab: --hostfile: {tmp_path}/hosts: {says}") and done.stderr.count("\n") == 1


def test_hosts_that_cannot_be_reached_are_told_before_anything_is_measured(on_cluster, tmp_path):
    launcher = tmp_path / "launchers" / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'node3: no route to host' >&2\nexit 213\n")
    done, _ = on_cluster("--only", "E4,E15", "--hostfile", tmp_path / "hosts")
    assert done.returncode == 1
    assert done.stderr == "lab: no rank starts on some of the hosts: mpirun: exit code 213: node3: no route to host\n"
    assert not (tmp_path / "result.json").exists()


def test_a_result_goes_on_with_its_own_hosts_alone(on_cluster, tmp_path):
    arguments = ("--only", "E15", "--ranks", "2", "--sizes", "1KiB", "--continue")
    hosts, others = ["--hostfile", tmp_path / "hosts"], ["--hostfile", tmp_path / "others"]
    (tmp_path / "others").write_text("node7 slots=32\n")
    assert on_cluster(*arguments, *hosts)[0].returncode == 0
    assert "node" not in (tmp_path / "result.json").read_text()
    assert on_cluster(*arguments, *hosts)[0].returncode == 0
    for wrong in (others, []):
        done, calls = on_cluster(*arguments, *wrong)
        assert (done.returncode, calls) == (1, [])
        assert done.stderr == f"lab: {tmp_path}/result.json: was begun with other hosts\n"


def test_hosts_have_room_for_ranks(tmp_path):
    (tmp_path / "hosts").write_text("a slots=8 max_slots=9\nb:4\n\nc # one\n")
    assert mpi.hosts_of(tmp_path / "hosts") == {"a": 8, "b": 4, "c": 1}
    assert lab.Lab(True, 2, None).powers_of_two(13) == [1, 2, 4, 8, 13]


@pytest.mark.parametrize("arguments, says", [
    (["--launcher", "qsub"], "--launcher: qsub is none of mpirun, mpiexec, srun"),
    (["--launcher", "/none/srun"], "--launcher: /none/srun: there is no such program"),
    (["--launcher", "{tmp}/srun", "--hostfile", "{tmp}/hosts"],
     "--hostfile: srun starts ranks on the allocation's hosts, not on those of a file")])
def test_a_launcher_that_cannot_be_is_refused_in_one_line(arguments, says, tmp_path):
    (tmp_path / "hosts").write_text("node1\n")
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    done = run("lab", "--only", "E15", *[word.format(tmp=tmp_path) for word in arguments])
    assert done.returncode == 1 and done.stderr == f"lab: {says}\n"


def test_a_cluster_of_gpus_is_compared_with_one(on_cluster, tmp_path):
    arguments = ("--only", "E16", "--ranks", "2,4", "--sizes", "1MiB,2GiB", "--hostfile", tmp_path / "hosts")
    outcomes = {}
    for gpus in ("4", "1"):
        done, calls = on_cluster(*arguments, GPUS=gpus)
        assert done.returncode == 0, done.stderr
        assert {re.search(r" -n (\d+) \S+ (\S+)", call).groups() for call in calls} == {
            ("1", "memory"), ("2", "scatter"), ("4", "scatter")}
        assert all("--device cuda --kernel cuda_compute" in call for call in calls)
        outcomes[gpus] = report_of(tmp_path / "result.json", "E16", "E17")
    # A rank takes its share of the time three times: to hand out, to encrypt, to collect.
    assert "**Holds here in part.**" in outcomes["4"]
    assert ("2 ranks with a GPU each on 2 hosts took 1.50 times as long as one GPU in fragments at 2 GiB, 66.7 % of it to hand out"
            in outcomes["4"])
    assert "4 ranks with a GPU each on 4 hosts took 0.750 times" in outcomes["4"]
    assert "the data was beyond the GPU's memory of 1 GiB" in outcomes["4"]
    assert "**Cannot be said here.**" in outcomes["1"] and "4 ranks shared 1 GPU, which is no cluster of GPUs" in outcomes["1"]


@pytest.mark.parametrize("arguments, says", [
    ([], "it needs CUDA devices: "),
    (["--hostfile", "{tmp}/hosts"], "it needs CUDA devices: mpirun: exit code 1: paes: device: cuda is not available: there is")])
def test_without_gpus_a_cluster_of_them_is_unavailable(on_cluster, tmp_path, arguments, says):
    if json.loads(program.succeed("devices", "--json").out)["cuda"]["available"]:
        pytest.skip("this machine has a device")
    done, _ = on_cluster("--only", "E16", *[word.format(tmp=tmp_path) for word in arguments])
    assert done.returncode == 0, done.stderr
    entry = results.load(tmp_path / "result.json")["experiments"]["E16"]
    assert entry["outcome"] == "unavailable" and entry["reason"].startswith(says)


def test_hosts_that_are_network_namespaces(tmp_path):
    """With the real programs, if the build has them."""
    if why := namespaces.why_not(f"paes{os.getpid()}"):
        pytest.skip(why)
    bin_ = Path(program.PAES).parent
    launcher = shutil.which("mpirun.openmpi")
    if launcher is None or not (bin_ / "paes-mpi-bench.openmpi").exists():
        pytest.skip("paes-mpi-bench is not built for Open MPI")
    path = tmp_path / "result.json"
    done = run("namespaces", "--hosts", 2, sys.executable, BENCH / "lab", "--only", "E15", "--hostfile", "HOSTFILE", "--launcher",
               launcher, "--sizes", "1KiB,1MiB", "--output", path, PAES_BIN=str(bin_))
    assert done.returncode == 0, done.stderr
    rows = results.load(path)["experiments"]["E15"]["measurements"]
    of_ranks = [row["of"] for row in rows if row["of"]["executor"] == "mpi"]
    assert {(of["ranks"], of["hosts"], of["machines"]) for of in of_ranks} == {(1, 1, 1), (2, 2, 1)}
    assert {of["cores"] for of in of_ranks} == {len(os.sched_getaffinity(0))}  # a launcher binds no two ranks to one core
    assert {of["bytes"] for of in of_ranks} == {1024, 1 << 20}
    assert all(row["median"] > 0 for row in rows)


def test_orphans_processor_time_is_ours():
    script = ("from laboratory import lab; import subprocess, time; lab.adopt_orphans(); before = lab.processor_seconds()[1];"
              "burn = 'import time\\nwhile time.process_time() < 1: pass';"
              "subprocess.run(['sh', '-c', f'{sys.executable} -c \"{burn}\" &'], check=True);"
              "ends = time.monotonic() + 60\n"
              "while lab.processor_seconds()[1] < before + 0.9 and time.monotonic() < ends: time.sleep(0.1)\n"
              "assert lab.processor_seconds()[1] >= before + 0.9")
    subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(BENCH)!r}); {script}"], check=True)


def test_threads_of_the_lab():
    counts = {1: [1], 2: [1, 2], 4: [1, 2, 4], 6: [1, 2, 4, 6], 16: [1, 2, 4, 8, 16]}
    for cores, wanted in counts.items():
        assert lab.Lab(True, cores, None).threads() == wanted


@pytest.fixture
def documents(tmp_path):
    """A copy of the documents that hold numbers."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def test_documents_say_what_results_say(documents):
    done = run("write_numbers", "--check", "--root", documents)
    assert done.returncode == 0, done.stderr
    path = documents / "docs" / "reproducing.md"
    text = path.read_text()
    (block,) = re.findall(r"<!-- numbers: lab-table \S+ E13 0 -->\n(.*?)<!-- end", text, re.DOTALL)
    digit = re.search(r"[1-8]", block.splitlines()[-1].rpartition(" | ")[2])[0]
    line = block.splitlines()[-1]
    head, bar, last = line.rpartition(" | ")
    path.write_text(text.replace(line, head + bar + last.replace(digit, "9", 1)))
    drifted = run("write_numbers", "--check", "--root", documents)
    assert drifted.returncode == 1
    assert drifted.stderr == "numbers: docs/reproducing.md: does not say what its results say; ./dev numbers writes them\n"
    assert run("write_numbers", "--root", documents).returncode == 0
    assert path.read_text() == text


def test_documents_keep_their_blocks(documents):
    path = documents / "README.md"
    text = path.read_text()
    path.write_text(text.replace("<!-- numbers: ", "<!-- figures: ", 1))
    assert "README.md: has" in run("write_numbers", "--check", "--root", documents).stderr
    path.write_text(text.replace("<!-- numbers: file ", "<!-- numbers: files ", 1))
    assert "unknown kind 'files'" in run("write_numbers", "--root", documents).stderr
    path.write_text(text)


def test_the_picture_says_what_its_result_says(documents):
    picture = documents / "docs" / "pictures" / "speed.svg"
    drawn = picture.read_text()
    table = (documents / "README.md").read_text().partition("<!-- numbers: file ")[2]
    cells = re.findall(r"\| (\d[\d.]*) ", table)
    assert cells and sorted(cells) == sorted(re.findall(r">(\d[\d.]*)</text>", drawn))
    (bar,) = re.findall(r'(<rect [^\n]* class="ours"/>)\n[^\n]*>0.926<', drawn)
    picture.write_text(drawn.replace(bar, bar.replace("width=", "width='1' was=")))
    drifted = "numbers: docs/pictures/speed.svg: does not say what its results say; ./dev numbers writes them\n"
    assert run("write_numbers", "--check", "--root", documents).stderr == drifted
    picture.unlink()
    assert run("write_numbers", "--check", "--root", documents).stderr == drifted
    assert run("write_numbers", "--root", documents).returncode == 0
    assert picture.read_text() == drawn


def test_any_document_may_have_a_block(documents):
    (documents / "docs" / "log" / "more.md").write_text("<!-- numbers: gpu-bounds -->\n<!-- end of numbers -->\n")
    drifted = run("write_numbers", "--check", "--root", documents)
    assert "/more.md: does not say what its results say" in drifted.stderr
    assert run("write_numbers", "--root", documents).returncode == 0
    assert run("write_numbers", "--check", "--root", documents).returncode == 0
