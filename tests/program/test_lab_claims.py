# SPDX-License-Identifier: Apache-2.0
# What the report says of a study (bench/experiments, bench/laboratory) stands in the table of claims
# (bench/claims.toml), with figures of bench/published.json, and each claim has an experiment or a reason. That the
# table has what the studies say, readers have compared; no test can.
import copy
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import html5lib
import program
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))
from experiments import all_experiments  # noqa: E402
from experiments import e07_3des_and_aes as e07  # noqa: E402
from experiments import e08_schedules as e08  # noqa: E402
from laboratory import (  # noqa: E402
    claims, contests, judgement, lab, markdown, page, published, results, schemas, values)
from laboratory.experiment import OURS, Measured, Shown, Verdict  # noqa: E402
from laboratory.presentation import presentation  # noqa: E402

RESULTS = sorted([*BENCH.glob("results/*-lab-*.json"), *BENCH.glob("results/*-h200.json")])
PUBLISHED = json.loads((BENCH / "published.json").read_text())
# Words by which a sentence speaks of a study.
OF_A_STUDY = re.compile(
    r"\bstud(y|ies)\b|\bthesis\b|\bauthors?\b|\bclaim|WAES|Pousa|Pizzuti|Meyer|Andrade|Zola|De Giusti", re.IGNORECASE)
# Names that have a digit and are no figures.
NAMES = re.compile(r"AES-(128|192|256)|3DES")
FIGURE = re.compile(r"\d")
NUMBERS_IN_WORDS = re.compile(r"\b(three|four|five|six|seven|eight|nine|ten|twelve|sixteen|thirty|sixty|hundred)\b")


def numbers_below(place):
    """All numbers at a place of published.json: of a whole table, of a row, or the one."""
    found = published.look_up(place)
    if isinstance(found, (dict, list)):
        inner = found if isinstance(found, dict) else range(len(found))
        return [number for step in inner for number in numbers_below(f"{place}/{step}")]
    return [found]


def test_the_table_has_the_form_of_its_schema():
    assert schemas.first_violation({"claims": claims.rows()}, "claims.schema.json") is None
    assert schemas.first_violation(PUBLISHED, "published.schema.json") is None


def test_claims_have_names_of_their_own_and_a_study():
    names = [row["id"] for row in claims.rows()]
    assert len(names) == len(set(names)) > 100
    assert {claims.study_of(name) for name in names} == set(PUBLISHED["studies"])


def test_an_experiment_or_a_reason_stands_beside_each_claim():
    told = {}
    for experiment in all_experiments():
        assert not set(experiment.did) & set(experiment.judges), experiment.name
        for name in (*experiment.did, *experiment.judges):
            assert name in claims.table(), f"{experiment.name} names {name}, which the table lacks"
            told.setdefault(name, []).append(experiment.name)
    for claim in claims.table().values():
        assert bool(claim.experiments) != bool(claim.untested), claim.id
        assert sorted(claim.experiments) == sorted(told.get(claim.id, [])), claim.id


def test_designs_are_told_and_results_are_judged():
    """What an experiment tells of a study is a design, the study's or one that it cites, or a table of its figures."""
    for experiment in all_experiments():
        for claim in map(claims.claim, experiment.did):
            assert claim.kind in ("design", "cited") or "table" in claim.where, claim.id
        assert all(claims.claim(name).kind not in ("design", "background")
                   for name in experiment.judges), experiment.name
        assert experiment.did or experiment.judges or experiment.asks


# Claims that say how often an algorithm repeats another, which is no figure of a measurement.
COUNT_IN_WORDS = ("pizzuti.standard", "pizzuti.3des-reason", "meyer.standard")


def test_a_claim_has_no_figure_of_its_own():
    """Each figure of a sentence comes from published.json. None is typed into the table."""
    for row in claims.rows():
        for text in (row["says"], row.get("remark", "")):
            rest = NAMES.sub("", claims.PLACEHOLDER.sub("", text))
            assert not FIGURE.search(rest), (row["id"], rest)
            assert row["id"] in COUNT_IN_WORDS or not NUMBERS_IN_WORDS.search(rest), (row["id"], rest)
        used = set(claims.PLACEHOLDER.findall(row["says"] + row.get("remark", "")))
        whole_tables = {name for name, figure in row.get("figures", {}).items() if "at" in figure
                        and isinstance(published.look_up(f"studies/{claims.study_of(row['id'])}/{figure['at']}"),
                                       (dict, list))}
        assert used | whole_tables == set(row.get("figures", {})), row["id"]
        assert not used & whole_tables, row["id"]


def test_figures_of_claims_are_the_published_ones():
    for row in claims.rows():
        claim = claims.claim(row["id"])
        shown = [part for part in (*claim.says, *claim.remark) if isinstance(part, values.Value)]
        wanted = []
        for text in (row["says"], row.get("remark", "")):
            for name in claims.PLACEHOLDER.findall(text):
                figure = row["figures"][name]
                places = figure.get("of", [figure.get("at")])
                numbers = [number for place in places for number in numbers_below(f"studies/{claim.study}/{place}")]
                assert None not in numbers, row["id"]
                if not isinstance(numbers[0], str):
                    wanted.append(values.DERIVATIONS[figure.get("how", "itself")](*numbers))
        assert [part.number for part in shown] == wanted, row["id"]
        assert all(source.startswith(f"published:studies/{claim.study}/") for part in shown for source in part.sources)


def test_each_published_figure_belongs_to_a_claim():
    """No figure stands in published.json that no claim names: by itself, by its row or by its table."""
    named = {study: [figure.get("at") or place for row in claims.rows() if claims.study_of(row["id"]) == study
                     for figure in row.get("figures", {}).values() for place in figure.get("of", [None])]
             for study in PUBLISHED["studies"]}
    for study, members in PUBLISHED["studies"].items():
        for member in members:
            if member in ("cite", "short", "names", "quantities"):
                continue
            places = leaves(f"{member}", members[member])
            for place in places:
                assert any(place == one or place.startswith(f"{one}/") for one in named[study]), f"{study}/{place}"


def leaves(place, found):
    if isinstance(found, dict):
        return [leaf for step, inner in found.items() for leaf in leaves(f"{place}/{step}", inner)]
    if isinstance(found, list):
        return [leaf for step, inner in enumerate(found) for leaf in leaves(f"{place}/{step}", inner)]
    return [place]


@pytest.fixture(scope="module")
def documents():
    assert len(RESULTS) >= 2
    return [results.load(path) for path in RESULTS]


@pytest.fixture(scope="module")
def all_shown(documents):
    """(experiment, what the page shows of it) for each document."""
    return [(experiment, presentation(experiment, document)[0])
            for experiment, document in itertools.product(all_experiments(), documents)]


def texts(shown):
    """All strings that an experiment shows of its own: not of claims, and not labels of published figures."""
    for verdict in shown.verdicts.values():
        yield from (part for part in verdict.here if isinstance(part, str))
    yield from shown.notes
    for counterpart in shown.counterparts:
        yield from (part for part in (*counterpart.here, counterpart.why) if isinstance(part, str))
    for panel in shown.panels:
        yield from (panel.title, panel.xlabel, panel.ylabel)
        yield from (series.label for series in panel.series if series.kind != "published")
    for table in shown.tables:
        yield from (table.caption, *table.columns)
        if table.claim is None:
            yield from (cell for row in table.rows for cell in row if isinstance(cell, str))


def test_counterparts_are_of_figures_that_the_experiment_is_about(all_shown):
    seen = 0
    for experiment, shown in all_shown:
        for counterpart in shown.counterparts:
            claim = claims.claim(counterpart.claim)
            assert claim.id in (*experiment.did, *experiment.judges)
            assert published.quantity(claim.study, counterpart.path)[0] is not None
            figures = [value for row in claims.rows() if row["id"] == claim.id for value in row["figures"].values()]
            assert any(f"{counterpart.path}/".startswith(f"{figure.get('at')}/")
                       or str(figure.get("at")).startswith(f"{counterpart.path}/") for figure in figures), counterpart
            assert not any(source.startswith("published:") for part in counterpart.here
                           if isinstance(part, values.Value) for source in part.sources)
            seen += bool(counterpart.here)
    assert seen > 20


def test_experiments_say_nothing_of_a_study_themselves(all_shown):
    for experiment, shown in all_shown:
        for text in (experiment.title, experiment.here, experiment.asks or "", *texts(shown)):
            assert not OF_A_STUDY.search(text), f"{experiment.name}: {text}"


def test_published_figures_are_shown_as_such(all_shown):
    """A figure of a study stands in a claim, in a table of a claim's, or in a series that names the study. What is
    made of one and of measurements stands where the question is ours."""
    def is_published(cell):
        return isinstance(cell, values.Value) and any(source.startswith("published:") for source in cell.sources)
    names = {f"{study['short']}: {name}" for study in PUBLISHED["studies"].values() for name in study["names"].values()}
    seen = 0
    for experiment, shown in all_shown:
        for series in (series for panel in shown.panels for series in panel.series):
            for y in filter(None, series.ys):
                assert is_published(y) == (series.kind == "published"), series.label
            if series.kind == "published":
                assert series.label in names
                seen += 1
        for table in shown.tables:
            cells = [cell for row in table.rows for cell in row if isinstance(cell, values.Value)]
            if table.claim:
                assert all(map(is_published, cells)) and table.claim in experiment.did
                assert {row[0] for row in table.rows} <= names
            else:
                assert experiment.asks or not any(map(is_published, cells)), table.caption
        for name, verdict in shown.verdicts.items():
            assert name == OURS or not any(map(is_published, verdict.here)), name
    assert seen > 10


def without(element, names):
    """The text of an element less what lies in elements with one of these attributes."""
    if any(element.get(name) for name in names):
        return ""
    return (element.text or "") + "".join(without(child, names) + (child.tail or "") for child in element
                                          if isinstance(child.tag, str))


def test_the_page_says_of_studies_what_the_table_says(documents, all_shown, monkeypatch):
    monkeypatch.setattr(page, "draw", lambda panels, prefix: "")  # what figures say is looked at above
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.make(all_experiments(), documents))
    captions = {(table.claim, table.caption) for _, shown in all_shown for table in shown.tables if table.claim}
    for name, claim in claims.table().items():
        words = markdown.words(claim.says).replace("`", "")
        wanted = {f"{claim.source}: {words}", f"{words[:1].upper()}{words[1:]}. ({claim.where})",
                  *(f"{claim.source}: {caption}" for of, caption in captions if of == name)}
        said = {"".join(element.itertext()) for element in tree.iter("span") if element.get("data-claim") == name}
        assert said <= wanted, name
        assert bool(said) == bool(claim.experiments), name
    labels = tuple(f"{study['short']}: " for study in PUBLISHED["studies"].values())
    for section in tree.iter("section"):
        for element in section.iter("th"):
            if "".join(element.itertext()).startswith(labels):  # a row of published figures
                element.text = ""
        for child in section:
            rest = without(child, ("data-claim", "data-study", "data-remark"))
            for outcome in judgement.OUTCOMES.values():  # which are said of all studies alike
                rest = rest.replace(outcome, "")
            assert not OF_A_STUDY.search(rest), (section.get("id"), rest)


def test_a_sentence_of_its_own_is_found():
    """The test of tests above: they find what they look for."""
    shown = Shown({OURS: Verdict("ours", ["the study reasoned, as an outlook, that one GPU is better"])})
    assert any(OF_A_STUDY.search(text) for text in texts(shown))
    changed = copy.deepcopy(PUBLISHED)
    changed["studies"]["pousa"]["time_s"]["cuda"][5] = "1,14 seconds"
    assert "pousa" in schemas.first_violation(changed, "published.schema.json")


def test_verdicts_are_of_all_that_is_judged(all_shown):
    for experiment, shown in all_shown:
        assert set(shown.verdicts) == set(experiment.verdicts), experiment.name
        for name, verdict in shown.verdicts.items():
            assert verdict.outcome in judgement.OUTCOMES and verdict.here, name
            assert (verdict.outcome == "ours") <= (name == OURS)
            if verdict.outcome == "answered":
                assert claims.claim(name).kind == "outlook", name


@pytest.mark.parametrize("share, outcomes", [(0.0, {"holds", "answered", "ours"}), (0.2, {"disturbed"})])
def test_disturbed_figures_judge_and_answer_nothing(documents, share, outcomes):
    document = copy.deepcopy(documents[0])
    for entry in document["experiments"].values():
        entry["others"] = share
    found = {verdict.outcome for experiment in all_experiments()
             for verdict in presentation(experiment, document)[0].verdicts.values()}
    assert outcomes <= found
    if share > judgement.DISTURBED:
        assert found == {"disturbed", "open"}


def test_differences_count_from_what_may_disturb():
    assert judgement.margin(0.0) == judgement.margin(0.03) == judgement.BUSY
    assert judgement.margin(0.12) == 0.12
    assert judgement.margin(None) == judgement.DISTURBED
    assert not judgement.is_more(1.013, 1, judgement.margin(0.0))
    assert judgement.is_more(1.06, 1, judgement.margin(0.0)) and not judgement.is_more(1.06, 1, judgement.margin(0.12))


@pytest.mark.parametrize("outcomes, overall", [
    (["holds", "holds", "open"], "holds"), (["holds", "does not hold"], "in part"), (["open"], "open"), ([], "open"),
    (["answered", "open"], "answered"), (["ours"], "ours"), (["answered", "holds"], "holds"),
    (["disturbed", "open"], "disturbed")])
def test_an_experiment_has_one_outcome_of_several(outcomes, overall):
    assert judgement.overall(outcomes) == overall


MIB = 1 << 20


def lab_with(documents, name, change):
    """The recorded document of the lab after a change to one experiment's rows."""
    (document,) = [copy.deepcopy(document) for document in documents if document["effort"] != "gpu"]
    document["experiments"][name]["measurements"] = change(document["experiments"][name]["measurements"])
    return document


def verdict_of(document, name, claim):
    (experiment,) = [one for one in all_experiments() if one.name == name]
    return presentation(experiment, document)[0].verdicts[claim]


@pytest.mark.parametrize("rates, outcome", [
    ({1: 0.2, 2: 0.3, 4: 0.4, 8: 0.35}, "holds"),
    ({1: 0.2, 2: 0.3, 4: 0.4, 8: 0.395}, "open"),  # by 1.3 %
    ({1: 0.2, 2: 0.3, 4: 0.35, 8: 0.4}, "does not hold"),
    ({1: 0.40, 2: 0.405, 4: 0.4, 8: 0.4}, "does not hold")])
def test_a_peak_stands_out(documents, rates, outcome):
    def change(rows):
        for row in rows:
            if row["quantity"] == "rate" and row["of"]["way"] == "speculative":
                row["median"] = rates[row["of"]["clients"]]
        return rows
    assert verdict_of(lab_with(documents, "E11", change), "E11", "waeslib.peak").outcome == outcome


@pytest.mark.parametrize("speedup, growth, outcome", [
    (1.95, 1, "holds"), (1.6, 1, "in part"), (1.1, 1, "does not hold"), (1.95, 2, "in part")])
def test_ranks_are_judged_by_their_scaling(documents, speedup, growth, outcome):
    def change(rows):
        for row in rows:
            if row["quantity"] == "speedup" and row["of"].get("ranks") == 2:
                row["median"] = speedup
            if row["quantity"] == "time" and row["of"].get("ranks") == 2:
                row["median"] = row["of"]["bytes"] * 1e-9 * (growth if row["of"]["bytes"] > MIB else 1)
        return rows
    assert verdict_of(lab_with(documents, "E1", change), "E1", "pousa.mpi-linear").outcome == outcome


@pytest.mark.parametrize("dynamic, outcome", [(1.5, "holds"), (1.87, "does not hold"), (None, "open")])
def test_schedules_are_judged_block_by_block(documents, dynamic, outcome):
    def change(rows):
        if dynamic is None:
            return rows
        of = {"place": "blocks", "piece_bytes": e08.BLOCK, "kernel": "compute", "executor": "openmp"}
        runs = ((1, "serial", 1.0), (2, "static", 1.9), (2, "dynamic", dynamic))
        blocks = [{"of": {**of, "bytes": size, "threads": threads, "schedule": schedule}, "quantity": quantity,
                   "unit": unit, "median": number, "rounds": 3}
                  for size in e08.SIZES for threads, schedule, speedup in runs
                  for quantity, unit, number in (("speedup", "ratio", speedup), ("time", "s", 1 / speedup))]
        return [*rows, *blocks]
    verdict = verdict_of(lab_with(documents, "E8", change), "E8", "meyer.static-better")
    assert verdict.outcome == outcome
    assert "block by block" in markdown.words(verdict.here) and "pieces" in markdown.words(verdict.here)


@pytest.mark.parametrize("small, static, dynamic, outcome", [
    (2.1, 3.9, 2.1, "holds"), (3.9, 3.9, 2.1, "in part"), (2.1, 3.9, 3.9, "in part"), (3.9, 3.9, 3.9, "does not hold"),
    (2.1, None, 2.1, "open")])
def test_a_speedup_in_proportion_is_judged_by_the_last_threads(documents, small, static, dynamic, outcome):
    """By speedups with all threads: static's on the smallest and the largest data, and dynamic's on the largest."""
    def change(rows):
        of = {"place": "blocks", "piece_bytes": e08.BLOCK, "kernel": "compute", "executor": "openmp"}
        runs = [(bytes_, count, schedule, speedup) for bytes_, fours in (
                    (e08.SIZES[0], (small, small)), (e08.SIZES[-1], (static, dynamic)))
                for count, schedule, speedup in ((1, "serial", 1.0), (2, "static", 1.9), (2, "dynamic", 1.9),
                                                 (4, "static", fours[0]), (4, "dynamic", fours[1]))
                if static or count < 4]
        return [*rows, *({"of": {**of, "bytes": bytes_, "threads": count, "schedule": schedule},
                          "quantity": "speedup", "unit": "ratio", "median": speedup, "rounds": 3}
                         for bytes_, count, schedule, speedup in runs)]
    document = lab_with(documents, "E8", change)
    document["machine"]["cores"] = 4 if static else 2  # with two there is no further step
    assert verdict_of(document, "E8", "meyer.static-linear").outcome == outcome


def test_blocks_are_handed_out_one_at_a_time(monkeypatch, documents):
    """What E8 measures of both schedules, and that its verdict is made of it."""
    asked = []

    def fake(kind, *arguments, **_):
        options = dict(zip(arguments[::2], arguments[1::2]))
        asked.append((kind, options))
        rows = [{"cipher": "aes-128-ecb", "direction": "encrypt", "kernel": "compute", "split": "pieces",
                 "schedule": schedule, "threads": threads, "oversubscribed": False,
                 "piece_bytes": int(options["--piece"]), "bytes": int(options["--size"]),
                 "rounds": 3, "seconds_median": 1 / speedup, "seconds_min": 0.9 / speedup, "seconds_max": 1.1 / speedup,
                 "ratio_to_first": {"median": speedup, "min": speedup, "max": speedup}}
                for threads, schedule, speedup in ((1, "serial", 1.0), (2, "static", 1.9), (2, "dynamic", 1.2))]
        return {"results": rows}
    monkeypatch.setattr(contests.programs, "paes_bench", fake)
    monkeypatch.setattr(e08.scratch, "room", lambda: 1 << 40)
    measured = lab.Lab(True, 2, type("Quiet", (), {"step": lambda self, what: None})())
    e08.measure_blocks(measured, e08.SIZES)
    assert [int(options["--size"]) for _, options in asked] == [size // 16 * 16 for size in e08.SIZES]
    assert {(kind, options["--piece"], options["--kernel"], options["--schedule"]) for kind, options in asked} == {
        ("threads", "16", "compute", "static,dynamic")}
    document = lab_with(documents, "E8", lambda rows: [*rows, *measured.measurements])
    assert verdict_of(document, "E8", "meyer.static-better").outcome == "holds"


def test_the_processor_of_then_is_not_compared_with_the_one_of_now(documents):
    """E13 says how slow a core would have to be: the rate here over the published one."""
    (document,) = [document for document in documents if document["effort"] != "gpu"]
    verdict = verdict_of(document, "E13", OURS)
    assert verdict.outcome == "ours"
    numbers = [part for part in verdict.here if isinstance(part, values.Value)]
    assert numbers and {number.how for number in numbers} == {"times as slow"}
    seconds, count = PUBLISHED["studies"]["pousa"]["time_s"]["sequential"][5], 255 << 20
    rows = {(row["of"]["variant"], row["of"]["compiled"]): row["median"]
            for row in document["experiments"]["E13"]["measurements"] if row["quantity"] == "rate"}
    assert numbers[0].number == pytest.approx(rows["plain", "O3"] * 1e6 / (count / seconds))


def test_sizes_of_a_claim_are_read_in_binary():
    assert e07.in_bytes("4KB") == 4096 and e07.in_bytes("8KB") == 8192


def test_what_was_not_run_has_no_verdict(documents):
    (document,) = [copy.deepcopy(document) for document in documents if document["effort"] != "gpu"]
    del document["experiments"]["E8"]
    assert {verdict.outcome for verdict in presentation(next(one for one in all_experiments() if one.name == "E8"),
                                                        document)[0].verdicts.values()} == {"open"}
    assert Measured("E8", document).find() == []


# What of docs/reproducing.md is no block of `./dev numbers`: figures of our own programs and their options.
OURS_BY_HAND = re.compile(
    r"E\d+|rank 0|AES-\d+|3DES|\d+ (KiB|GiB|KB|MB)\b|10 ms|5 %|GF\(2\^8\)|128 and 256 bits|16 threads|a window of 16 chunks")


def by_hand(text):
    text = re.sub(r"<!-- numbers: [^\n]* -->\n.*?<!-- end of numbers -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^    .*$|`[^`]*`|\]\([^)]*\)", "", text, flags=re.MULTILINE)
    return OURS_BY_HAND.sub("", " ".join(text.split()))


@pytest.mark.parametrize("name", ["reproducing", "exercises"])
def test_documents_have_no_figure_of_a_study_by_hand(name):
    text = re.sub(r"^## \d+\. ", "## ", (ROOT / "docs" / f"{name}.md").read_text(), flags=re.MULTILINE)
    found = re.findall(r".{0,40}\d.{0,40}", by_hand(text))
    assert not found
    assert re.search(r"\d", by_hand("an Intel Xeon took 9.82 times as long"))


def test_documents_show_the_table(tmp_path):
    """docs/claims.md has each claim once, and `./dev numbers --check` finds what it says otherwise."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    path = tmp_path / "docs" / "claims.md"
    text = path.read_text()
    for claim in claims.table().values():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {claim.id} | ")]
        assert claim.where in line and (claim.untested or claim.experiments[0]) in line
    command = [sys.executable, BENCH / "write_numbers", "--check", "--root", tmp_path]
    environment = {**program.clean_environment(), "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run(command, env=environment, check=False).returncode == 0
    measured = "ommunication in the cluster of GPUs was measured"
    path.write_text(text.replace(measured, measured.replace("measured", "expected"), 1))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "docs/claims.md: does not say what its results say" in done.stderr
