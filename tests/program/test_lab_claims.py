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
from experiments import e01_executors as e01  # noqa: E402
from experiments import e04_compute_and_tables as e04  # noqa: E402
from experiments import e07_3des_and_aes as e07  # noqa: E402
from experiments import e08_schedules as e08  # noqa: E402
from experiments import e09_inside_a_block as e09  # noqa: E402
from experiments import e11_speculation as e11  # noqa: E402
from experiments import e18_other_ciphers as e18  # noqa: E402
from experiments import e17_threads_and_memory as e17  # noqa: E402
from laboratory import (  # noqa: E402
    claims, contests, device, distil, judgement, lab, markdown, mpi, page, published, results, schemas, tables, values)
from laboratory.experiment import OURS, Measured, OutOfTime, Shown, Unavailable, Verdict, judged  # noqa: E402
from laboratory.presentation import presentation  # noqa: E402

# A processor's whole result comes first, then those of devices.
RESULTS = [*sorted(BENCH.glob("results/*-lab-full.json")), *sorted(BENCH.glob("results/*-h200-bench.json")),
           *sorted(BENCH.glob("results/*-h200-studies.json"))]
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


def test_a_reason_says_what_experiments_have_and_not_what_none_has():
    """The next experiment has it, and nobody looks at the reason: one told of no stream cipher when ChaCha20 was measured."""
    for claim in claims.table().values():
        assert not re.search(r"\bno experiment\b|\bnor E\d", claim.untested or ""), claim.id


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
    assert len(RESULTS) >= 3
    return [results.load(path) for path in RESULTS]


@pytest.fixture(scope="module")
def all_shown(documents):
    """(experiment, what the page shows of it) for each document."""
    return [(experiment, presentation(experiment, document)[0])
            for experiment, document in itertools.product(all_experiments(), documents)]


def texts(shown):
    """All strings that an experiment shows of its own: not of claims, and not labels of published figures."""
    for verdict in shown.verdicts.values():
        yield from (part for part in (*verdict.here, verdict.rule) if isinstance(part, str))
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


def e1_threads(documents, speedup, others, half_range=0.0):
    """E1's verdict that threads are faster, where other programs used so much of the processors, or nobody knows."""
    rows = [row_of(quantity, number, half_range, executor="openmp", threads=2, direction="encrypt", bytes=MIB)
            for quantity, number in (("time", 1.0), ("speedup", speedup))]
    document = document_of(documents, "E1", rows)
    document["experiments"]["E1"]["others"] = others
    return document, verdict_of(document, "E1", "pousa.all-faster").outcome


@pytest.mark.parametrize("speedup, others, outcome", [
    (1.06, 0.0, "in part"), (1.013, 0.03, "does not hold"), (1.06, 0.12, "open"), (1.125, None, "open"), (1.16, None, "in part"),
    (0.8, None, "does not hold")])
def test_what_may_be_disturbed_is_open_and_not_disproved(documents, speedup, others, outcome):
    """Where nobody knows what other programs used, as much as they may have used is in doubt."""
    assert e1_threads(documents, speedup, others)[1] == outcome


def test_the_report_says_by_how_much_figures_may_be_disturbed(documents, tmp_path):
    """Beside each experiment, and above the table of the verdicts."""
    (experiment,) = [one for one in all_experiments() if one.name == "E1"]
    for others, said in ((None, "was not recorded, and 15 % stands for it"), (0.12, "other programs used 12.0 % of the"),
                         (0.03, None)):
        document, _ = e1_threads(documents, 1.5, others)
        for text in (markdown.make([experiment], [document]), re.sub("<[^>]*>", "", page.article(experiment, document, 0, ""))):
            assert ("Disturbed:" in text) == (said is not None) and (said is None or said in text)
    document = json.loads((results.COMMITTED / "2026-11-28-h200-bench.json").read_text())
    for study in document["bench"]["studies"].values():
        del study["others"]
    (tmp_path / "without.json").write_text(json.dumps(document))
    made = written("lab", tmp_path / "without.json", "E9")
    assert "E9: how much of the processors other programs used was not recorded" in made


@pytest.mark.parametrize("least, others, outcome", [(9.0, None, "holds"), (9.0, 0.12, "holds"), (9.7, None, "does not hold")])
def test_a_device_by_its_own_clock_is_not_disturbed(documents, least, others, outcome):
    """E17, in which nothing of the processors is measured: 5 % and the rounds count."""
    document = threads_and_memory(documents[0], lambda place, on_one, count: 10.0 if count == 256 else least)
    entry = document["experiments"]["E17"]
    entry |= {"others": others, "measurements": exact(entry["measurements"])}
    assert verdict_of(document, "E17", "ci-aim.threads-a-block").outcome == outcome


def test_a_verdict_tells_the_range_of_all_that_it_compares(documents):
    """Not only of figures that its sentence names."""
    rows = [row_of(quantity, number, 0.3 if size == MIB else 0.01, executor="openmp", threads=2, direction="encrypt", bytes=size)
            for size, speedup in ((1024, 1.5), (MIB, 1.9), (2 * MIB, 1.95)) for quantity, number in (("time", 1.0), ("speedup", speedup))]
    verdict = verdict_of(document_of(documents, "E1", rows), "E1", "pousa.all-faster")
    assert "1.50 to 1.95 times" in markdown.words(verdict.here) and "at most 30.0 % of a figure" in markdown.words(verdict.here)


def nearest_of(documents, *speedups):
    """What E1 says of the nearest comparison, with these speedups of threads and half ranges by size."""
    rows = [row_of(quantity, number, half_range, executor="openmp", threads=2, direction="encrypt", bytes=MIB << at)
            for at, (speedup, half_range) in enumerate(speedups) for quantity, number in (("time", 1.0), ("speedup", speedup))]
    verdict = verdict_of(document_of(documents, "E1", rows), "E1", "pousa.all-faster")
    return markdown.words(verdict.here).partition("; the comparison nearest to its limit, of ")[2]


def test_a_verdict_tells_the_nearest_comparison_and_its_doubt(documents):
    """The widest range of all figures is not the doubt of the comparison that decides."""
    assert nearest_of(documents, (1.5, 0.1), (1.9, 0.3)) == "1.50, is 50.0 % from it, and its doubt is 10.0 %"
    assert nearest_of(documents, (1.5, 0.1), (1.9, 0.7)) == "1.90, is 90.0 % from it, and its doubt is 70.0 %"
    assert nearest_of(documents, (0.8, 0.2)) == "0.800, is 25.0 % from it, and its doubt is 20.0 %"
    assert nearest_of(documents, (1.5, None)) == "1.50, is 50.0 % from it, and its doubt is 15.0 %"


def test_the_nearest_comparison_agrees_with_the_outcome(all_shown):
    """It is beyond its doubt where a claim holds, or does not."""
    seen = 0
    for experiment, shown in all_shown:
        for name, verdict in shown.verdicts.items():
            if verdict.outcome in ("holds", "does not hold") and verdict.nearest:
                assert verdict.nearest.beyond_doubt >= 0, (experiment.name, name)
                seen += 1
    assert seen > 8


def test_a_verdict_tells_no_range_of_what_its_rule_does_not_compare(documents):
    """E9: both nested are named and have more threads than cores, which judges nothing."""
    rows = [row_of(quantity, number, spread, split=split, threads=2, bytes=size)
            for size, split, seconds, spread in ((320, "blocks", 1.0, 0.0), (320, "nested", 50.0, 0.5), (3600, "blocks", 1.0, 0.0),
                                                 (3600, "inside", 50.0, 0.1))
            for quantity, number in (("time", seconds), ("rate to across", 1 / seconds))]
    document = document_of(documents, "E9", rows)
    document["machine"]["cores"] = 2
    words = markdown.words(verdict_of(document, "E9", "meyer.outer-loop-best").here)
    assert "both nested 50.0 times" in words and "half the range of the rounds is at most 10.0 % of a figure" in words


def test_no_verdict_compares_what_it_does_not_tell_the_range_of(documents, monkeypatch):
    """Each row that a comparison used is among the figures of some verdict, and the other way round for those that judge."""
    compared, doubt = set(), Measured.doubt
    monkeypatch.setattr(Measured, "doubt", lambda self, *values: compared.update(self.places_of(values)) or doubt(self, *values))
    seen = 0
    for document, experiment in itertools.product(documents, all_experiments()):
        compared.clear()
        verdicts = presentation(experiment, document)[0].verdicts.values()
        measured = Measured(experiment.name, document)
        told = {place for verdict in verdicts for place in measured.places_of(verdict.figures)}
        judging = {place for verdict in verdicts if verdict.outcome in judgement.JUDGED
                   for place in measured.places_of(verdict.figures)}
        assert judging <= compared, experiment.name
        # E1 and E15 also ask whether the other's verdict is the same.
        other = {"E1": "E15", "E15": "E1"}.get(experiment.name)
        assert {place for place in compared if place[0] != other} <= told, experiment.name
        seen += len(compared)
    assert seen > 80


def test_what_fails_a_rule_is_named_beside_what_does_not():
    """Where all parts fail, the outcome says so. What was not measured is another matter."""
    for parts, said in (([("a", True), ("b", False), ("b", False)], "here; what fails the rule: b; no c"),
                        ([("a", None), ("b", False)], "here; what fails the rule: b; too near to the limit to be said: a; no c"),
                        ([("a", None), ("b", None)], "here; too near to the limit to be said: a, b; no c"),
                        ([("a", None), ("b", None), ("c", None)], "here; all of them are too near to the limit to be said; no c"),
                        ([("a", False), ("b", False)], "here; no c"), ([("a", True)], "here; no c")):
        assert markdown.words(judged(parts, ["here"], "rule", ["no c"]).here) == said


def test_a_size_that_surely_fails_is_named_among_those_in_doubt(documents):
    """E3: of the other size the rounds say nothing."""
    rows = [row_of(quantity, number, spread, executor="openmp", threads=2, direction="encrypt", bytes=size)
            for size, speedup, spread in ((1024, 1.3, 0.01), (MIB, 1.9, 0.4)) for quantity, number in (("time", 1.0), ("speedup", speedup))]
    verdict = verdict_of(document_of(documents, "E1", rows), "E3", "pousa.gains-well")
    assert verdict.outcome == "open"
    assert ("what fails the rule: OpenMP with 2 threads at 1 KiB; too near to the limit to be said: OpenMP with 2 threads at 1 MiB"
            in markdown.words(verdict.here))


def test_what_is_in_doubt_tells_by_what_range(documents):
    """E7: speedups that are alike, whose rounds lie far apart. What was not measured has no range to tell."""
    ciphers = {"des-ede3-ecb": {MIB: 12.5, 16 * MIB: 13.0}, "aes-256-ecb": {MIB: 6.0, 16 * MIB: 6.1}}
    rows = ciphers_on_device({**dict.fromkeys(e07.CIPHERS, {MIB: 1.0}), **ciphers})
    verdict = verdict_of(document_of(documents, "E7", ranges(rows, 0.2)), "E7", "pizzuti.constant-speedup")
    words = markdown.words(verdict.here)
    assert verdict.outcome == "open" and verdict.rule
    assert "too near to the limit to be said: des-ede3-ecb, aes-256-ecb; half the range of the rounds is at most 20.0 %" in words
    rows = [row for row in rows if row["of"]["executor"] != "cuda"]
    assert "half the range" not in markdown.words(verdict_of(document_of(documents, "E7", rows), "E7", "pizzuti.speedups").here)


@pytest.mark.parametrize("number, more, near", [(1.1529, None, None), (1.1551, True, None), (1.0855, None, None), (1.0847, None, True)])
def test_figures_are_compared_as_they_are_shown(number, more, near):
    """A reader has three digits: where 15 % are in doubt, 1.15 is not more than one, and 1.09 is not within a quarter."""
    value = values.Value(number, ("measured:E1/0/median",))
    assert judgement.is_more(value, 1, 0.15) is more and judgement.is_near(value, 1, judgement.QUARTER, 0.15) is near
    assert values.as_shown(value) == float(str(value)) and values.as_shown(number) == number
    for other in (values.Value(5312, ()), values.Value(0, ()), values.Value(-0.98765, ()), values.Value(9.996, ())):
        assert values.shown(values.as_shown(other)) == str(other)
    assert values.as_shown(values.given(24)) == 24


@pytest.mark.parametrize("steps, outcome", [
    ([True, True], "holds"), ([False, True], "in part"), ([None, True], "in part"), ([None, None], "open"), ([False, None], "open"),
    ([False, False], "does not hold"), ([None, False], "does not hold")])
def test_what_surely_passes_the_weaker_limit_holds_in_part(steps, outcome):
    assert judgement.in_steps(*steps) == outcome


def test_a_call_within_a_factor_of_two_holds_in_part_though_a_quarter_is_in_doubt(documents, monkeypatch):
    ways = {n: [{"rate": 0.2, "schedule": (900, part * ns)} for part in (0.8, 1, 1.2)] for n, ns in ((1, 500), (2, 600))}
    document, _ = speculation(documents, monkeypatch, ways)
    verdict = verdict_of(document, "E11", "waeslib.schedule-constant")
    assert verdict.outcome == "in part" and "half the range of the rounds is at most 20.0 %" in markdown.words(verdict.here)


def test_decryption_that_was_not_measured_is_named(documents):
    """The claim is of all programs."""
    rows = [row_of(quantity, number, executor=executor, direction=direction, bytes=MIB, **of)
            for executor, of in (("sequential", {"threads": 1}), ("openmp", {"threads": 2}), ("mpi", {"ranks": 2}), ("cuda", {}))
            for quantity, number, direction in (("time", 1.0, "encrypt"), ("time", 1.1, "decrypt"), ("speedup", 1.9, "encrypt"))]
    for without, outcome, said in (((), "holds", ""), (("mpi",), "in part", "decryption with MPI was not measured"),
                                   (("mpi", "cuda"), "in part", "decryption with MPI and CUDA was not measured")):
        these = [row for row in rows if row["of"]["executor"] not in without]
        verdict = verdict_of(document_of(documents, "E1", these), "E1", "pousa.decryption")
        words = markdown.words(verdict.here)
        assert verdict.outcome == outcome and said in words and ("not measured" in words) == bool(said)


def test_what_a_device_timed_is_judged_though_others_used_the_processors(documents):
    """E17: all but its streams, which the host times."""
    document = threads_and_memory(documents[0], lambda place, on_one, count: 10.0 if count == 256 else 9.0)
    document["experiments"]["E17"]["others"] = 0.5
    assert verdict_of(document, "E17", "ci-aim.threads-a-block").outcome == "holds"
    assert verdict_of(document, "E17", OURS).outcome == "disturbed"


@pytest.mark.parametrize("others, outcomes", [
    (None, ("open", "in part")), (0.01, ("in part", "in part")), (0.3, ("open", "disturbed"))])
def test_the_share_that_a_devices_run_measured_is_in_its_verdicts(others, outcomes):
    """Where a run lacks it, what 15 % leave in doubt is open."""
    document = tables.load(results.COMMITTED / "2026-11-28-h200-studies.json")
    for study in document["bench"]["studies"].values():
        del study["others"]
        study |= {} if others is None else {"others": others}
    assert schemas.first_violation(document, "gpu.schema.json") is None
    as_lab = device.as_lab_result(document)
    assert tuple(verdict_of(as_lab, name, claim).outcome for name, claim in (
        ("E4", "ci-aim.reduction-cuda"), ("E3", "pousa.cuda-magnitude"))) == outcomes


def written(kind, *words):
    """What `./dev numbers` writes into a block."""
    code = "import runpy, sys; print('\\n'.join(runpy.run_path(sys.argv[1])[sys.argv[2]](*sys.argv[3:])))"
    return subprocess.run([sys.executable, "-c", code, BENCH / "write_numbers", kind, *words],
                          env={**program.clean_environment(), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True,
                          check=True).stdout.strip()


def test_each_study_has_what_it_did_to_itself():
    """E3 has a claim of a second study: no sentence of one stands under the other's name."""
    paragraphs = written("did", "E1", "E2", "E3").split("\n\n")
    studies = [re.match(r"\*What the study did \((.*?)\):\* ", paragraph)[1] for paragraph in paragraphs]
    assert studies == ["Pousa's thesis", "Pousa, Sanz, De Giusti"]
    for claim in map(claims.claim, dict.fromkeys(name for experiment in all_experiments()[:3] for name in experiment.did)):
        at = [place for place, paragraph in enumerate(paragraphs) if markdown.told(claim.id) in paragraph]
        assert [studies[place] for place in at] == [published.short(claim.study)], claim.id
    assert written("did", "E16").startswith("*What the study did (Pousa, Sanz, De Giusti):* ")


def test_a_remark_names_its_study_and_stands_alone():
    said = {f"- On {claim.source}: {markdown.words(claim.remark)}" for claim in claims.table().values() if claim.remark}
    for names in (("E1", "E2", "E3"), ("E7",)):
        assert set(written("remarks", *names).splitlines()) <= said
    for claim in claims.table().values():
        assert not re.match(r"Its |It |By its sequential", markdown.words(claim.remark)), claim.id


def test_one_round_of_a_figure_that_is_not_named_judges_nothing(documents):
    rows = [{**row_of(quantity, number, executor="openmp", threads=2, direction="encrypt", bytes=size),
             "rounds": 1 if size == MIB else 3}
            for size in (1024, MIB, 2 * MIB) for quantity, number in (("time", 1.0), ("speedup", 1.9 + size / 1e9))]
    assert verdict_of(document_of(documents, "E1", rows), "E1", "pousa.all-faster").outcome == "open"


@pytest.mark.parametrize("value, doubt, says", [
    (1.06, 0.0, True), (1.03, 0.0, False), (1.10, 0.08, True), (1.10, 0.12, None), (1.0, 0.12, None), (0.95, 0.12, None),
    (0.85, 0.12, False), (1.03, 0.05, False)])
def test_what_rounds_leave_in_doubt_is_no_difference(value, doubt, says):
    """A difference counts from 5 % and from the doubt. Within the doubt nothing is said, neither way."""
    assert judgement.is_more(value, 1, doubt) is says


@pytest.mark.parametrize("value, doubt, says", [
    (0.808, 0.0, True), (0.808, 0.02, None), (0.79, 0.02, None), (0.79, 0.0, False), (1.0, 0.2, True), (1.24, 0.02, None),
    (1.3, 0.02, False)])
def test_a_limit_is_passed_by_more_than_the_doubt(value, doubt, says):
    assert judgement.is_near(value, 1, judgement.QUARTER, doubt) is says
    assert judgement.is_near(1, value, judgement.QUARTER, doubt) is says
    assert judgement.is_at_least(93, 90, 0.02) is True and judgement.is_at_least(93, 90, 0.05) is None
    assert judgement.is_at_least(84.5, 90, 0.05) is False


@pytest.mark.parametrize("parts, outcome", [
    ([True, True], "holds"), ([True, False], "in part"), ([False, False], "does not hold"), ([True, None], "in part"),
    ([False, None], "open"), ([None], "open"), ([], "open"), ([True, False, None], "in part")])
def test_what_is_in_doubt_holds_in_part_at_the_most(parts, outcome):
    assert judgement.by_parts(parts) == outcome


def ranges(rows, half_range):
    """Rows whose rounds reach so far, as a part of them, to both sides; None: the range was not kept."""
    rows = [{name: value for name, value in row.items() if name not in ("min", "max")} for row in rows]
    return rows if half_range is None else [{**row, "min": row["median"] * (1 - half_range),
                                             "max": row["median"] * (1 + half_range)} for row in rows]


@pytest.mark.parametrize("speedup, half_range, outcome, said", [
    (1.10, 0.01, "in part", "half the range of the rounds is at most 1.00 % of a figure"),
    (1.10, 0.15, "open", "too near to the limit to be said: OpenMP with 2 threads at 1 MiB"),
    (1.20, None, "in part", "this result has not kept the range, for which 15 % stand"),
    (1.10, None, "open", "has not kept the range, for which 15 % stand"),
    (0.84, None, "does not hold", "has not kept the range"), (0.99, 0.2, "open", "too near"), (0.7, 0.2, "does not hold", "range")])
def test_the_spread_enters_a_verdict(documents, speedup, half_range, outcome, said):
    """E1's threads on one size: by how much they must be faster, and that the verdict says by what range. Other executors,
    which the claim is of as well, were not measured."""
    rows = [row_of(quantity, number, half_range, executor="openmp", threads=2, direction="encrypt", bytes=MIB)
            for quantity, number in (("time", 1.0), ("speedup", speedup))]
    verdict = verdict_of(document_of(documents, "E1", rows), "E1", "pousa.all-faster")
    assert verdict.outcome == outcome and said in markdown.words(verdict.here)
    assert verdict.rule == ("each executor is faster at each size; whether it is considerably faster is not judged here: E3 has a limit for "
                            "the gain")
    assert f"Rule: {verdict.rule}" in markdown.verdict(next(one for one in all_experiments() if one.name == "E1"),
                                                       ["pousa.all-faster"], verdict)


def test_each_verdict_that_judges_has_its_rule_and_its_spread(all_shown):
    seen = 0
    for experiment, shown in all_shown:
        for name, verdict in shown.verdicts.items():
            if verdict.outcome in judgement.JUDGED:
                assert verdict.rule and not verdict.rule.endswith("."), (experiment.name, name)
                assert re.search("half the range of the rounds|has not kept the range", markdown.words(verdict.here)), name
                seen += 1
    assert seen >= 10


def test_a_distilled_result_keeps_the_ranges_that_verdicts_use(documents):
    """Of each row that a verdict's figures come from, and of the rows that it compares with them."""
    document = of_all_experiments(documents)
    for entry in document["experiments"].values():
        entry["measurements"] = ranges(entry["measurements"], 0.01)
    kept = distil.distilled(document, all_experiments())
    found = 0
    for name in ("E1", "E3", "E4", "E7", "E8", "E15", "E18"):
        (experiment,) = [one for one in all_experiments() if one.name == name]
        for claim, verdict in presentation(experiment, tables.unpack(kept))[0].verdicts.items():
            assert "has not kept" not in markdown.words(verdict.here), claim
            found += "half the range" in markdown.words(verdict.here)
    assert found > 10


def test_an_answer_whose_rounds_straddle_one_is_open(documents):
    """E12 asks how fast a program is beside another."""
    def beside_cp(low, high):
        def change(rows):
            for row in rows:
                if row["quantity"] == "rate to copying" and row["of"]["program"] == "paes":
                    row |= {"min": low, "median": (low + high) / 2, "max": high}
                if row["quantity"] == "time" and row["of"]["program"] == "cp":
                    row["median"] = 1.0
            return rows
        return verdict_of(lab_with(documents, "E12", change), "E12", OURS)
    for low, high, outcome, said in ((0.8, 3.2, "open", "above one in some rounds and below it in others"), (1.2, 3.2, "ours", "faster in each round"),
                                     (0.5, 0.9, "ours", "slower in each round")):
        verdict = beside_cp(low, high)
        assert verdict.outcome == outcome and said in markdown.words(verdict.here)


def test_keystream_ahead_on_a_mount_is_told_with_its_range(documents):
    """E14: where it pays in each round, and where rounds differ. It is open if no kernel's rounds agree."""
    def change(ratio):
        def of(rows):
            for row in rows:
                if row["unit"] == "ratio":
                    row |= dict(zip(("min", "median", "max"), ratio))
            return rows
        return of
    for ratio, outcome, said in (((1.1, 1.2, 1.4), "answered", "it pays in each round with `bitslice`, `aesni`, `vaes256` and `vaes512`"),
                                 ((0.7, 0.8, 0.9), "answered", "costs time in each round"),
                                 ((0.9, 1.0, 1.1), "open", "above one in some rounds and below it in others")):
        verdict = verdict_of(lab_with(documents, "E14", change(ratio)), "E14", "waeslib.outlook-file-system")
        words = markdown.words(verdict.here)
        assert verdict.outcome == outcome and words.count(said) == 1
        assert [words.count(each) for each in ("in each round", "some rounds")] == [outcome == "answered", outcome == "open"]
        assert "ns instead of" not in markdown.words(verdict.here)  # medians of rounds that were not beside each other


@pytest.mark.parametrize("outcomes, overall", [
    (["holds", "holds", "open"], "holds"), (["holds", "does not hold"], "in part"), (["open"], "open"), ([], "open"),
    (["answered", "open"], "answered"), (["ours"], "ours"), (["answered", "holds"], "holds"),
    (["disturbed", "open"], "disturbed")])
def test_an_experiment_has_one_outcome_of_several(outcomes, overall):
    assert judgement.overall(outcomes) == overall


def test_the_outcomes_are_counted_beside_the_one():
    assert judgement.counts(["does not hold", "in part", "does not hold", "does not hold"]) == "1 in part, 3 do not hold"
    assert judgement.counts(["holds", *["open"] * 6, "holds"]) == "2 hold, 6 cannot be said"
    assert judgement.counts(["holds", "does not hold"]) == "1 holds, 1 does not hold"
    assert judgement.counts(["holds"]) == ""


MIB = 1 << 20


def of_all_experiments(documents):
    """The recorded document of a whole run of the lab."""
    (document,) = [copy.deepcopy(document) for document in documents
                   if document["effort"] != "gpu" and "E1" in document["experiments"]]
    return document


def lab_with(documents, name, change):
    """The recorded document of the lab after a change to one experiment's rows. E15 and E1 say the same of ranks on one
    machine or nothing, so that only one of them is left."""
    document = of_all_experiments(documents)
    if name in ("E1", "E15"):
        document["experiments"].pop({"E1": "E15", "E15": "E1"}[name], None)
    entry = document["experiments"][name]
    entry |= {"measurements": change(entry["measurements"]), "others": 0.0}
    return document


def verdict_of(document, name, claim):
    (experiment,) = [one for one in all_experiments() if one.name == name]
    return presentation(experiment, document)[0].verdicts[claim]


def quiet_lab(cores=2, quick=True, parameters=None, cluster=mpi.Cluster()):
    progress = type("Quiet", (), {"step": lambda self, what: None})()
    return lab.Lab(quick, cores, progress, parameters, cluster=cluster)


def row_of(quantity, number, half_range=0.0, **of):
    """A measurement whose rounds reach so far, as a part of it, to both sides; None: the range was not kept."""
    unit = "s" if quantity.startswith("time") else "ratio"
    row = {"of": of, "quantity": quantity, "unit": unit, "median": number, "rounds": 3}
    return row if half_range is None else {**row, "min": number * (1 - half_range), "max": number * (1 + half_range)}


def exact(rows):
    """Rows whose rounds have all been the same."""
    return [{**row, "min": row["median"], "max": row["median"]} for row in rows]


def document_of(documents, name, rows):
    """The recorded document of the lab, in which an experiment has these rows alone."""
    return lab_with(documents, name, lambda _: rows)


# What `paes-bench ahead` prints of a way, for clients whose calls take so many nanoseconds.
def a_way(name, rate, schedule=(300, 300), encrypt=200, made=(0, 900, 100), ratios=(1.0, 1.0), slowest=3, growth=(1, 1)):
    """`encrypt`: half of the calls take at most as long, and all but one in a hundred `slowest` times as long. `growth`: how
    many times as long p50 and p99 are in all requests as in the first of them."""
    latency = {call: {"p50_ns": ns, "p99_ns": slowest * ns} for call, ns in
               (("schedule", schedule[1]), ("encrypt", encrypt), ("delay", 25_000))}
    first = {f"{field}_ns": latency["encrypt"][f"{field}_ns"] / times for field, times in zip(("p50", "p99"), growth)}
    beginnings = [{"requests": requests, "schedule": {"p50_ns": ns, "p99_ns": ns}, "encrypt": of}
                  for requests, ns, of in zip((1024, 4096), schedule, (first, latency["encrypt"]))]
    own, other, direct = made
    return {"way": name, "gb_per_s": rate, **latency, "beginnings": beginnings, "own": own, "other": other,
            "direct": direct, "bypassed": 0,
            **{member: {"median": ratio, "min": ratio, "max": ratio}
               for member, ratio in zip(("p50_ratio", "throughput_ratio"), ratios)}}


def speculation(documents, monkeypatch, ways, parameters=None, cores=16):
    """The recorded document, with E11 as it is measured if programs print `ways`: by a number of clients, what
    a_way() is given for threads that compute ahead, in each round or in all. Also the arguments of the programs. With 16
    cores there is one for each of 8 clients and 8 threads inside."""
    asked = []

    def fake(kind, *arguments, **_):
        options = dict(zip(arguments[::2], arguments[1::2]))
        turn = sum(before | {"--clients": ""} == options | {"--clients": ""} for _, before in asked)
        asked.append((kind, options))
        rows = [{"cipher": options["--cipher"], "kernel": options["--kernel"], "clients": clients,
                 "workers": int(options["--workers"]), "delay_us": int(options["--delay-us"]),
                 "oversubscribed": clients > 1, "request_bytes": 4096, "requests": int(options["--bytes"]) // 4096,
                 "rounds": options["--runs"],
                 "ways": [a_way("direct", 0.2, encrypt=900, made=(0, 0, 1000)),
                          a_way("threads", **(way[turn % len(way)] if isinstance(way, list) else way)),
                          a_way("idle", 0.25, made=(980, 10, 10))]}
                for clients, way in ways.items()]
        return {"results": rows}
    monkeypatch.setattr(contests.programs, "paes_bench", fake)
    monkeypatch.setattr(contests, "available_kernels", lambda cipher, wanted: ["aesni", "vaes512"])
    measured = quiet_lab(cores, quick=False, parameters=parameters)
    e11.measure(measured)
    document = lab_with(documents, "E11", lambda rows: measured.measurements)
    document["machine"]["cores"] = cores
    document["experiments"]["E11"] |= {"others": 0.0, "left_out": measured.left_out}
    return document, asked


@pytest.mark.parametrize("rates, outcome", [
    ({1: 0.2, 2: 0.3, 4: 0.4, 8: 0.35}, "holds"),
    ({1: 0.2, 2: 0.3, 4: 0.4, 8: 0.395}, "in part"),  # by 1.3 %
    ({1: 0.2, 2: 0.3, 4: 0.35, 8: 0.4}, "open"),  # more clients had no core each
    ({1: 0.40, 2: 0.405, 4: 0.4, 8: 0.4}, "does not hold"),
    ({1: 0.5, 2: 0.3, 4: 0.4, 8: 0.4}, "does not hold")])
def test_a_peak_stands_out(documents, monkeypatch, rates, outcome):
    document, _ = speculation(documents, monkeypatch, {n: {"rate": rate} for n, rate in rates.items()})
    verdict = verdict_of(document, "E11", "waeslib.peak")
    assert verdict.outcome == outcome
    words = markdown.words(verdict.here)
    assert ("the last number measured, so that no peak was reached" in words) == (rates[8] == max(rates.values()) > 0.35 and
                                                                                  rates[8] > rates[4])
    assert "asked to sleep 20 µs and slept 25" in words


def test_a_peak_that_no_number_of_clients_with_cores_shows_is_open(documents, monkeypatch):
    document, _ = speculation(documents, monkeypatch, {n: {"rate": 0.1 * n} for n in (1, 2, 4, 8)}, cores=2)
    verdict = verdict_of(document, "E11", "waeslib.peak")
    assert verdict.outcome == "open" and "clients above one had no core each" in markdown.words(verdict.here)


@pytest.mark.parametrize("cores, rows", [(2, [1]), (4, [1, 2]), (8, [1, 2, 4]), (16, [1, 2, 4, 8])])
def test_only_clients_and_threads_with_a_core_each_are_judged(documents, monkeypatch, cores, rows):
    """A machine of two cores has one such row. Figures of other rows judge nothing, whatever they are."""
    ways = {n: {"rate": 0.2, "ratios": (2, 1), "schedule": (10, 10), "encrypt": 300} if n in rows else
            {"rate": 9.0, "ratios": (0.1, 0.1), "schedule": (9000, 9000), "encrypt": 1} for n in (1, 2, 4, 8)}
    document, asked = speculation(documents, monkeypatch, ways, cores=cores)
    measured = Measured("E11", document)
    first = e11.combinations(measured)[0]
    assert e11.with_cores(measured, first) == rows and first["workers"] == max(cores // 2, 1)
    assert {max(cores // 2, 1), cores - 1, cores} <= {int(options["--workers"]) for _, options in asked}
    alone = len(rows) == 1  # so that half of what is said cannot be judged
    for claim, outcome in (("schedule-constant", "open" if alone else "holds"), ("viable", "in part"),
                           ("encrypt-grows", "open" if alone else "does not hold")):
        verdict = verdict_of(document, "E11", f"waeslib.{claim}")
        assert verdict.outcome == outcome, (claim, markdown.words(verdict.here))
    (experiment,) = [one for one in all_experiments() if one.name == "E11"]
    shown = presentation(experiment, document)[0]
    assert [row[0].endswith("*") for row in shown.tables[0].rows] == [n not in rows for n in (1, 2, 4, 8)]


def test_a_peak_is_of_ratios_that_were_formed_in_a_round(documents, monkeypatch):
    """The first round is disturbed for all. Rates spread, and ratios do not."""
    rates = {1: (1, 10, 10), 4: (2, 20, 20), 8: (1.2, 12, 12)}
    document, _ = speculation(documents, monkeypatch, {n: [{"rate": rate} for rate in of] for n, of in rates.items()})
    verdict = verdict_of(document, "E11", "waeslib.peak")
    assert verdict.outcome == "holds" and "with 4: 20 GB/s and 2.00 times that with 1 client" in markdown.words(verdict.here)


def test_a_peak_that_the_rounds_do_not_show_is_open(documents, monkeypatch):
    rates = {1: (10, 10, 10), 4: (8, 14, 26), 8: (12, 12, 12)}
    document, _ = speculation(documents, monkeypatch, {n: [{"rate": rate} for rate in of] for n, of in rates.items()})
    assert verdict_of(document, "E11", "waeslib.peak").outcome == "open"


def test_what_a_call_took_is_the_median_of_the_rounds(documents, monkeypatch):
    ways = {1: [{"rate": 1, "encrypt": ns, "made": (0, ahead, 100 - ahead), "ratios": (ratio, 1.0)}
                for ns, ahead, ratio in ((300, 90, 3.0), (100, 60, 1.0), (200, 30, 2.0))]}
    document, _ = speculation(documents, monkeypatch, ways)
    measured = Measured("E11", document)
    of = dict(e11.combinations(measured)[0], way="threads", clients=1)
    assert measured.value("encrypt p50", **of).number == 200 and measured.value("encrypt p99", **of).number == 600
    assert measured.value("made", maker="threads", **of).number == pytest.approx(0.6)
    assert [measured.value("p50 ratio", field, **of).number for field in ("median", "min", "max")] == [2, 1, 3]


def test_without_turns_of_clients_no_peak_is_judged(documents, monkeypatch):
    document, _ = speculation(documents, monkeypatch, {n: {"rate": 0.1 * n} for n in (1, 2)})
    rows = document["experiments"]["E11"]["measurements"]
    document["experiments"]["E11"]["measurements"] = [row for row in rows if row["quantity"] != e11.TO_FIRST]
    assert verdict_of(document, "E11", "waeslib.peak").outcome == "open"
    assert verdict_of(document, "E11", "waeslib.viable").outcome != "open"


@pytest.mark.parametrize("delays, judged", [([0, 20, 100], 20), ([0, 5, 100], 5), ([7], 7), ([0], None)])
def test_a_delay_is_judged_in_which_keystream_can_be_made(documents, monkeypatch, delays, judged):
    document, asked = speculation(documents, monkeypatch, {n: {"rate": 0.1 * n} for n in (1, 2)}, {"delays": delays})
    assert {options["--delay-us"] for _, options in asked} == set(delays)
    shown = presentation(next(one for one in all_experiments() if one.name == "E11"), document)[0]
    assert f"delays of {judged or 0} µs" in shown.tables[0].caption
    assert f"delays of {judged or 0} µs" in shown.notes[0] and shown.notes[0].startswith("Judged") == bool(judged)
    assert (shown.verdicts["waeslib.viable"].outcome == "open") == (judged is None)
    # A result whose rows stand in another order judges the same.
    document["experiments"]["E11"]["measurements"].sort(key=lambda row: row["of"]["delay_us"])
    assert e11.combinations(Measured("E11", document))[0]["delay_us"] == (judged or 0)


@pytest.mark.parametrize("claim, by_clients, outcome", [
    ("schedule-constant", {1: {"schedule": (300, 310)}, 8: {"schedule": (320, 330)}}, "holds"),
    ("schedule-constant", {1: {"schedule": (20, 20)}, 8: {"schedule": (40, 44)}}, "holds"),  # less than the clock
    ("schedule-constant", {1: {"schedule": (300, 300)}, 8: {"schedule": (500, 500)}}, "in part"),
    ("schedule-constant", {1: {"schedule": (300, 300)}, 8: {"schedule": (700, 700)}}, "does not hold"),
    # Requests within a run are no other load, for the one claim as for the other.
    ("schedule-constant", {1: {"schedule": (300, 300)}, 8: {"schedule": (3000, 300)}}, "holds"),
    ("schedule-constant", {1: {"schedule": (300, 310)}}, "open"),
    ("encrypt-grows", {1: {"encrypt": 200}, 4: {"encrypt": 300}, 8: {"encrypt": 400}}, "holds"),
    ("encrypt-grows", {1: {"encrypt": 200}, 8: {"encrypt": 200, "slowest": 9}}, "in part"),  # the slowest calls alone
    # Growth within a run is of its beginning, and not of a higher load.
    ("encrypt-grows", {1: {"encrypt": 400, "growth": (1.5, 1.5)}, 8: {"encrypt": 300, "growth": (1.5, 1.5)}}, "does not hold"),
    ("encrypt-grows", {1: {"encrypt": 400, "growth": (1.5, 1.5)}}, "open"),
    ("encrypt-grows", {1: {"encrypt": 2000}, 8: {"encrypt": 2060}}, "does not hold"),  # by 3 %
    ("encrypt-grows", {1: {"encrypt": 200, "slowest": 1}, 8: {"encrypt": 220, "slowest": 1}}, "does not hold"),  # the clock
    # Without keystream ahead a call takes 900 ns. Calls and throughput as expected need several numbers of clients.
    ("viable", {1: {"rate": 0.2, "encrypt": 200}, 4: {"rate": 0.4, "encrypt": 300}, 8: {"rate": 0.3, "encrypt": 400}}, "holds"),
    ("viable", {1: {"rate": 0.2, "encrypt": 200}, 4: {"rate": 0.3, "encrypt": 300}, 8: {"rate": 0.4, "encrypt": 400}}, "in part"),
    ("viable", {1: {"schedule": (5000, 5000)}, 8: {"schedule": (5000, 5000), "ratios": (1.2, 0.97)}}, "in part"),  # no peak
    ("viable", {1: {"encrypt": 2000, "schedule": (300, 300), "ratios": (3, 0.8)}}, "open"),
    ("viable", {1: {"encrypt": 2000, "schedule": (300, 300), "ratios": (3, 0.8)},
                8: {"encrypt": 2000, "schedule": (900, 900), "ratios": (3, 0.8)}}, "does not hold")])
def test_calls_are_judged_by_threads_that_compute_ahead(documents, monkeypatch, claim, by_clients, outcome):
    ways = {n: {"rate": 0.2, **way} for n, way in by_clients.items()}
    document, _ = speculation(documents, monkeypatch, ways)
    verdict = verdict_of(document, "E11", f"waeslib.{claim}")
    assert verdict.outcome == outcome, markdown.words(verdict.here)


def test_calls_are_told_in_the_order_of_clients(documents, monkeypatch):
    """Not the least first, and no change that is less than reading the clock."""
    ways = {1: {"rate": 0.2, "schedule": (5600, 5670)}, 2: {"rate": 0.2, "schedule": (90, 70)}}
    document, _ = speculation(documents, monkeypatch, ways)
    verdict = verdict_of(document, "E11", "waeslib.schedule-constant")
    assert ("took at most 5 670 ns with 1 client, 70 ns with 2 clients, and with 2 clients 90 ns in the first 1024 requests and 70 ns in "
            "all 4096") in markdown.words(verdict.here)
    measured = Measured("E11", document)
    of = e11.combinations(measured)[0]
    assert e11.is_constant(measured, e11.by_requests(measured, "schedule p50", of, 2).values(), judgement.QUARTER)


def test_the_call_that_encrypts_is_judged_and_both_calls_are_told(documents, monkeypatch):
    """The call that encrypts is three times as short, and the one that schedules, which is timed apart, takes longer than both
    would. The ratio is the quotient of the two times beside it, and not another one."""
    ways = {n: {"rate": 0.2, "schedule": (5600, 5600), "encrypt": 300, "ratios": (2.5, 1)} for n in (1, 2)}
    document, _ = speculation(documents, monkeypatch, ways)
    verdict = verdict_of(document, "E11", "waeslib.viable")
    assert verdict.outcome == "in part"
    words = markdown.words(verdict.here)
    assert "took at most 300 ns, which is 0.333 times the 900 ns without keystream ahead" in words
    assert f"so that both calls together took {5900 / 900:.2f} times as long as the one without" in words
    assert "what fails the rule: calls and throughput as expected" in words  # a call takes no longer with more clients
    assert "the call that encrypts is shorter than without" in verdict.rule


def test_speculation_is_measured_and_shown_whole(documents, monkeypatch):
    document, asked = speculation(documents, monkeypatch, {n: {"rate": n / 5} for n in (1, 2, 4, 8)}, cores=4)
    assert schemas.first_violation(document, results.SCHEMA) is None
    assert {kind for kind, _ in asked} == {"ahead"}
    asked.pop(0)  # a trial says how much fits the time
    assert {options["--runs"] for _, options in asked} == {1}
    # Numbers of clients take turns, and each round begins with another one.
    assert [options["--clients"] for _, options in asked[:6]] == 2 * ["1,2,4,8,16,32", "2,4,8,16,32,1", "4,8,16,32,1,2"]
    first = asked[0][1]
    assert all(options | {"--clients": ""} == first | {"--clients": ""} for _, options in asked[:3])
    assert (first["--clients"], int(first["--bytes"]), first["--workers"]) == ("1,2,4,8,16,32", 1 << 30, 2)
    assert {options["--cipher"] for _, options in asked} >= {"aes-128-ctr", "aes-256-ctr"}
    shown = presentation(next(one for one in all_experiments() if one.name == "E11"), document)[0]
    assert 3 * len(shown.tables) == len(asked) and all(len(table.rows) == 4 for table in shown.tables)
    assert all(len(panel.series) <= 4 for panel in shown.panels)
    (throughput, _, by_requests, threads, idle) = shown.panels
    assert {series.label: [float(y) for y in series.ys] for series in throughput.series} == {
        "at the call": [0.2] * 4, "threads ahead": [0.2, 0.4, 0.8, 1.6], e11.WAYS["idle"]: [0.25] * 4}
    assert [float(x) for x in by_requests.series[0].xs] == [1024, 4096]
    assert [round(float(series.ys[0])) for series in threads.series] == [90, 0, 10]
    assert [round(float(series.ys[0])) for series in idle.series] == [1, 98, 1]
    assert {series.label for series in by_requests.series} == {
        f"{call}, {field}" for call in ("a request", "scheduling it") for field in ("p50", "p99")}


def test_a_busy_machine_measures_less(documents, monkeypatch):
    """The first table has as much as fits its time, by a power of two, and says how much that is."""
    rates = {1: {"rate": 0.01}, 2: {"rate": 0.2}}
    document, asked = speculation(documents, monkeypatch, rates)
    sizes = [int(options["--bytes"]) for _, options in asked]
    seconds = 3 * sum(1 / rate for rate in (0.2, 0.01, 0.25, 0.2, 0.2, 0.25)) / 1e9
    assert sizes[1] * seconds <= 360 < 2 * sizes[1] * seconds and sizes[1] < 1 << 30
    assert set(sizes[1:4]) == {sizes[1]} and set(sizes[4:-3]) == {sizes[1] // 16}
    (left_out,) = document["experiments"]["E11"]["left_out"]
    assert values.size(sizes[1]) in left_out["why"]
    assert values.size(sizes[1]) in "".join(presentation(
        next(one for one in all_experiments() if one.name == "E11"), document)[0].notes)


def test_a_result_without_threads_that_compute_ahead_judges_nothing(documents):
    document = lab_with(documents, "E11", lambda rows: [{**row, "of": {**row["of"], "way": "speculative"}}
                                                        for row in rows])
    for name in next(one for one in all_experiments() if one.name == "E11").verdicts:
        assert verdict_of(document, "E11", name).outcome == "open"


@pytest.mark.parametrize("speedup, growth, outcome", [
    (1.95, 1, "holds"), (1.6, 1, "in part"), (1.1, 1, "does not hold"), (1.95, 2, "in part")])
def test_ranks_are_judged_by_their_scaling(documents, speedup, growth, outcome):
    def change(rows):
        for row in rows:
            if row["quantity"] == "speedup" and row["of"].get("ranks") == 2:
                row["median"] = speedup
            if row["quantity"] == "time" and row["of"].get("ranks") == 2:
                row["median"] = row["of"]["bytes"] * 1e-9 * (growth if row["of"]["bytes"] > MIB else 1)
        return exact(rows)
    assert verdict_of(lab_with(documents, "E1", change), "E1", "pousa.mpi-linear").outcome == outcome


def other_ciphers(documents, speedups, cores=2, for_a_byte=50, ways=("openmp", "mpi"), gain=1.0, half_range=0.0):
    """The recorded document with an E18, in which all algorithms have these speedups by number of threads or ranks, and
    X25519 so many times as much."""
    document = copy.deepcopy(next(document for document in documents if document["effort"] != "gpu"))
    document["machine"]["cores"] = cores
    rows = []
    for algorithm, bytes_, items in (("aes-256-ctr", 1 << 22, 16), ("chacha20", 1 << 22, 16), ("x25519", 8192, 256)):
        one = bytes_ * 1e-9 * (for_a_byte if algorithm == "x25519" else 1)
        runs = [({"executor": "sequential", "threads": 1}, 1.0)]
        for way in ways:
            runs += [({"executor": way, "threads" if way == "openmp" else "ranks": count}, speedup)
                     for count, speedup in speedups.items()]
        for of, speedup in runs:
            of = {**of, "algorithm": algorithm, "bytes": bytes_, "items": items}
            speedup *= gain if algorithm == "x25519" and of["executor"] != "sequential" else 1
            rows += [row_of("time", one / speedup, half_range, **of), row_of("speedup", speedup, half_range, **of)]
    document["experiments"]["E18"] = {"outcome": "measured", "date": "2026-11-27T00:00:00Z", "seconds": 1.0, "others": 0.0,
                                      "measurements": rows, "left_out": []}
    return document


@pytest.mark.parametrize("change, outcome", [
    (dict(speedups={2: 1.7}), "in part"),  # however much they give ciphers; what a text grows by was not measured
    (dict(speedups={2: 1.7}, gain=0.6), "in part"),  # costs more, and threads give nothing
    (dict(speedups={2: 1.1}, half_range=0.15), "in part"),  # rounds lie too far apart for the gain
    (dict(speedups={2: 1.7}, for_a_byte=0.5), "in part"),
    (dict(speedups={2: 1.7}, ways=("openmp",)), "in part"),  # without ranks
    (dict(speedups={2: 0.9}, for_a_byte=0.5), "does not hold"),
    (dict(speedups={2: 1.9}, cores=1), "open"),  # no core for the second thread
    (dict(speedups={}, ways=()), "open")])
def test_what_an_asymmetric_algorithm_costs(documents, change, outcome):
    document = other_ciphers(documents, **change)
    verdict = verdict_of(document, "E18", "pousa.asymmetric-cost")
    assert verdict.outcome == outcome
    bytes_meanwhile = next(part for part in verdict.here if isinstance(part, values.Value))
    assert bytes_meanwhile.number == pytest.approx(32 * change.get("for_a_byte", 50))  # of secrets of 32 bytes
    answer = verdict_of(document, "E18", "pousa.outlook-others")
    assert answer.outcome == ("open" if change.get("half_range") else "answered")
    words = markdown.words(answer.here)
    ways = change.get("ways", ("openmp", "mpi")) if outcome != "open" else ()
    assert ("with 2 threads" in words, "with 2 ranks" in words) == ("openmp" in ways, "mpi" in ways)
    assert ("ranks with a core each were not measured" in markdown.words(verdict.here)) == (ways == ("openmp",))
    assert ("what such a cipher adds to a text was not measured" in markdown.words(verdict.here)) == (outcome != "open")
    assert ("what fails the rule" in markdown.words(verdict.here)) == any(key in change for key in ("gain", "for_a_byte")) * (
        outcome == "in part")


def test_ranks_of_other_ciphers_take_turns(monkeypatch):
    """What E18 asks of both programs, and that a speedup is formed in a round."""
    asked, taken = [], {1: [1.0, 4.0], 2: [0.5, 2.5]}

    def fake(ranks, kind, *arguments):
        asked.append((ranks, kind, dict(zip(arguments[::2], arguments[1::2]))))
        seconds = taken[ranks][sum(before == ranks for before, *_ in asked) - 1]
        return [{"algorithm": name, "bytes": 64, "items": 2, "seconds": {"median": seconds}} for name in e18.NAMES]
    monkeypatch.setattr(e18.mpi, "program", lambda: None)
    monkeypatch.setattr(e18.mpi, "bench", fake)
    measured = lab.Lab(True, 2, type("Quiet", (), {"step": lambda self, what: None})())
    e18.measure_ranks(measured, [1, 2], ("--size", 64), 2)
    assert [ranks for ranks, *_ in asked] == [1, 2, 1, 2]
    assert all(kind == "libcrypto" and options["--threads"] == 1 for _, kind, options in asked)
    speedups = {(row["of"]["algorithm"], row["of"]["ranks"]): row["median"] for row in measured.measurements
                if row["quantity"] == "speedup"}
    assert speedups == {(name, ranks): speedup for name in e18.NAMES
                        for ranks, speedup in ((1, 1.0), (2, pytest.approx(1.8)))}


@pytest.mark.parametrize("ranks_s, outcome", [
    (0.5, "holds"), (0.85, "in part"), (1.0, "in part"), (1.24, "in part"), (None, "in part")])  # 0.85: they do not take turns
def test_threads_and_ranks_are_compared_at_one_kilobyte_too(documents, ranks_s, outcome):
    """Where ranks are said to take less time than threads."""
    def change(rows):
        rows = [row for row in rows if not ("ranks" in row["of"] and row["of"]["bytes"] == 1024)]
        times = [row for row in rows if row["quantity"] == "time" and row["of"]["direction"] == "encrypt"]
        (threads,) = [row for row in times if row["of"].get("threads") == 2 and row["of"]["bytes"] == 1024]
        for row in times:
            if row["of"].get("ranks") == 2:
                (alike,) = [one for one in times if one["of"].get("threads") == 2
                            and one["of"]["bytes"] == row["of"]["bytes"]]
                row["median"] = alike["median"]
        ranks = next(row for row in times if row["of"].get("ranks") == 2)
        one = {**ranks, "of": {**ranks["of"], "bytes": 1024}, "median": threads["median"] * (ranks_s or 1)}
        return exact([*rows, one] if ranks_s else rows)
    verdict = verdict_of(lab_with(documents, "E1", change), "E1", "pousa.openmp-like-mpi")
    assert verdict.outcome == outcome
    assert ("1 KiB was not measured" in markdown.words(verdict.here)) == (ranks_s is None)
    # Whether they are faster by a quarter is no matter of the upper limit.
    assert ("what fails the rule: ranks at 1 KiB" in markdown.words(verdict.here)) == (ranks_s is not None and ranks_s > 0.8)
    assert "too near" not in markdown.words(verdict.here)


def test_threads_and_ranks_are_not_compared_at_one_kilobyte_alone(documents):
    rows = [row_of(quantity, number, executor=executor, direction="encrypt", bytes=1024, **of)
            for executor, of, seconds in (("openmp", {"threads": 2}, 1.0), ("mpi", {"ranks": 2}, 0.5))
            for quantity, number in (("time", seconds), ("speedup", 1.9))]
    assert verdict_of(document_of(documents, "E1", rows), "E1", "pousa.openmp-like-mpi").outcome == "open"


def ranks_of_e1(speedup, growth=1.0, sizes=(1 << 10, 1 << 20), rounds=3, gathered=()):
    """Rows of E1: one and two ranks, of which two are as many times as fast."""
    rows = []
    for size, ranks in itertools.product(sizes, (1, 2)):
        of = dict(executor="mpi", direction="encrypt", ranks=ranks, bytes=size)
        seconds = size * 1e-9 * (growth if size == sizes[-1] else 1) / (speedup if ranks == 2 else 1)
        rows += [row_of("time", seconds, **of), row_of("speedup", speedup if ranks == 2 else 1.0, **of),
                 row_of("time with scatter and gather", seconds, **of)]
        rows += [row_of("speedup with scatter and gather", ratio, **of) for ratio in gathered if ranks == 2]
    return [{**row, "rounds": rounds} for row in rows]


def test_what_ranks_gain_with_scattered_data_was_formed_in_rounds(documents):
    for gathered, said in (((1.23,), "included, 1.23 times as fast"), ((), "included, 1.95 times as fast")):
        document = document_of(documents, "E1", ranks_of_e1(1.95, gathered=gathered))
        assert said in markdown.words(verdict_of(document, "E1", "pousa.mpi-linear").here)


def ranks_of_e15(speedup, growth=1.0, sizes=(1 << 10, 1 << 20), rounds=3):
    """Rows of E15: the sequential program, and two ranks on two machines."""
    rows = []
    for size in sizes:
        seconds = size * 1e-9 * (growth if size == sizes[-1] else 1)
        of = dict(executor="mpi", ranks=2, bytes=size, hosts=2, machines=2, cores=2, oversubscribed=False, launcher="srun")
        rows += [row_of("time", seconds * speedup, executor="sequential", bytes=size)]
        rows += [row_of(f"{quantity}{way}", number, **of) for way in ("", " with scatter and gather")
                 for quantity, number in (("time", seconds), ("speedup", speedup))]
    return [{**row, "rounds": rounds} for row in rows]


def with_rows(documents, name, rows):
    document = of_all_experiments(documents)
    for other in {"E1": ["E15"], "E15": ["E1"]}.get(name, []):
        document["experiments"].pop(other, None)
    document["experiments"][name] = {"outcome": "measured", "date": "2026-11-27T00:00:00Z", "seconds": 1.0, "others": 0.0,
                                     "measurements": rows, "left_out": []}
    return document


@pytest.mark.parametrize("name, rows_of", [("E1", ranks_of_e1), ("E15", ranks_of_e15)])
@pytest.mark.parametrize("change, outcome", [
    ({"speedup": 1.95}, "holds"), ({"speedup": 1.95, "growth": 2}, "in part"), ({"speedup": 1.1}, "does not hold"),
    ({"speedup": 1.95, "sizes": (1 << 20,)}, "open"), ({"speedup": 1.1, "sizes": (1 << 20,)}, "open")])
def test_one_machine_and_a_cluster_are_judged_by_one_rule(documents, name, rows_of, change, outcome):
    verdict = verdict_of(with_rows(documents, name, rows_of(**change)), name, "pousa.mpi-linear")
    assert verdict.outcome == outcome
    assert ("one size does not show" in markdown.words(verdict.here)) == (outcome == "open")
    assert "there were cores to double the ranks only once" in markdown.words(verdict.here)


def both_of_ranks(documents, e1, e15):
    """A document in which E1 and E15 have ranks of one machine."""
    document = with_rows(documents, "E1", ranks_of_e1(**e1))
    rows = [{**row, "of": {**row["of"], **({"machines": 1, "hosts": 1} if "ranks" in row["of"] else {})}}
            for row in ranks_of_e15(**e15)]
    document["experiments"]["E15"] = {**document["experiments"]["E1"], "measurements": rows}
    return document


@pytest.mark.parametrize("e1, e15, outcome", [
    ({"speedup": 1.95}, {"speedup": 1.95}, "holds"), ({"speedup": 1.95}, {"speedup": 1.7}, "open"),
    ({"speedup": 1.1}, {"speedup": 1.7}, "open"), ({"speedup": 1.1}, {"speedup": 1.1}, "does not hold"),
    ({"speedup": 1.95}, {"speedup": 1.7, "sizes": (1 << 20,)}, "holds")])  # one size says nothing
def test_two_experiments_of_one_claim_and_machine_agree_or_say_nothing(documents, e1, e15, outcome):
    document = both_of_ranks(documents, e1, e15)
    verdict = verdict_of(document, "E1", "pousa.mpi-linear")
    assert verdict.outcome == outcome, markdown.words(verdict.here)
    if "sizes" not in e15:
        assert verdict_of(document, "E15", "pousa.mpi-linear").outcome == outcome
    assert ("E15's ranks on this machine" in markdown.words(verdict.here)) == (outcome == "open")
    # Ranks on several machines are another matter.
    for row in document["experiments"]["E15"]["measurements"]:
        if "ranks" in row["of"]:
            row["of"]["machines"] = 2
    assert verdict_of(document, "E1", "pousa.mpi-linear").outcome == ("holds" if e1["speedup"] > 1.9 else "does not hold")


def test_the_worst_size_is_told(documents):
    rows = ranks_of_e1(1.95, sizes=(1 << 10, 1 << 19, 1 << 20))
    for row in rows:
        if row["of"]["bytes"] == 1 << 19 and row["of"]["ranks"] == 2 and row["quantity"] == "speedup":
            row |= dict.fromkeys(("median", "min", "max"), 1.69)
    verdict = verdict_of(with_rows(documents, "E1", rows), "E1", "pousa.mpi-linear")
    assert verdict.outcome == "in part" and "least at 512 KiB, 84.5 %" in markdown.words(verdict.here)
    assert "double the ranks only once" in markdown.words(verdict.here)


def gains(documents, speedups, cores=2):
    """E3's verdict that all programs gain well, by the speedups of each that was measured: {executor: {bytes: speedup}}."""
    factors = {"openmp": {"threads": cores}, "mpi": {"ranks": cores}, "cuda": {}}
    rows = [row_of(quantity, number, executor=executor, direction="encrypt", bytes=size, **factors[executor])
            for executor, by_size in speedups.items() for size, speedup in by_size.items()
            for quantity, number in (("time", 1.0), ("speedup", speedup))]
    document = document_of(documents, "E1", rows)
    document["machine"]["cores"] = cores
    return verdict_of(document, "E3", "pousa.gains-well")


WELL = {executor: {1024: 1.5, MIB: 1.95} for executor in ("openmp", "mpi")} | {"cuda": {1024: 2.5, MIB: 300.0}}


@pytest.mark.parametrize("change, outcome, said", [
    ({}, "holds", "with 2 threads was 1.95 times as fast as one thread (1 MiB), at the least 1.50 times (1 KiB)"),
    ({"openmp": {1024: 1.3, MIB: 1.95}}, "in part", "what fails the rule: OpenMP with 2 threads at 1 KiB"),
    ({"cuda": {1024: 0.3, MIB: 300.0}}, "in part", "what fails the rule: CUDA at 1 KiB"),
    ({"cuda": {}}, "in part", "CUDA was not measured"),
    (dict.fromkeys(("openmp", "mpi", "cuda"), {MIB: 1.1}), "does not hold", "1.10 times as fast")])
def test_each_program_gains_well_at_each_size(documents, change, outcome, said):
    verdict = gains(documents, WELL | change)
    assert verdict.outcome == outcome and said in markdown.words(verdict.here)


def test_the_study_passes_its_own_rule_of_gaining_well(documents):
    """With its published speedups on as many cores as it had."""
    published_ = PUBLISHED["studies"]["pousa"]["speedup_over_sequential"]
    for cores in (8, 16, 32):
        speedups = {executor: dict(zip(e01.SIZES, published_[key])) for executor, key in (
            ("openmp", "openmp_8" if cores == 8 else f"mpi_{cores}"), ("mpi", f"mpi_{cores}"), ("cuda", "cuda"))}
        assert gains(documents, speedups, cores).outcome == "holds"


def test_where_no_thread_above_one_was_run_none_had_a_core(documents):
    """On a machine of 16 cores, of which one was measured."""
    rows = [row_of("time", 1.0, executor="sequential", threads=1, direction="encrypt", bytes=MIB)]
    for more, said in (([], "no number of threads or ranks above one was run"),
                       ([row_of(quantity, 1.0, executor="openmp", threads=32, direction="encrypt", bytes=MIB)
                         for quantity in ("time", "speedup")], "no number of threads or ranks above one had a core for each")):
        document = document_of(documents, "E1", [*rows, *more])
        document["machine"]["cores"] = 16
        for name, claim in (("E1", "pousa.all-faster"), ("E3", "pousa.gains-well")):
            assert verdict_of(document, name, claim).here == [said]
    assert verdict_of(document, "E1", "pousa.mpi-linear").here == ["no number of ranks above one was run"]


@pytest.mark.parametrize("name, claim, rows", [
    ("E1", "pousa.mpi-linear", ranks_of_e1(1.95, rounds=1)), ("E15", "pousa.mpi-linear", ranks_of_e15(1.95, rounds=1)),
    ("E1", "pousa.all-faster", ranks_of_e1(1.95, rounds=1))])
def test_one_round_judges_nothing(documents, name, claim, rows):
    verdict = verdict_of(with_rows(documents, name, rows), name, claim)
    assert verdict.outcome == "open" and "one round says nothing" in markdown.words(verdict.here)
    several = [{**row, "rounds": 2} for row in rows]
    # Without OpenMP and CUDA not every parallel program is faster.
    assert verdict_of(with_rows(documents, name, several), name, claim).outcome == (
        "in part" if claim == "pousa.all-faster" else "holds")


def test_one_round_of_another_cipher_judges_nothing(documents):
    document = other_ciphers(documents, {2: 1.9}, gain=0.9)
    for row in document["experiments"]["E18"]["measurements"]:
        row["rounds"] = 1 if row["of"]["executor"] == "mpi" else 3
    assert verdict_of(document, "E18", "pousa.asymmetric-cost").outcome == "open"
    assert verdict_of(document, "E18", "pousa.outlook-others").outcome == "answered"


@pytest.mark.parametrize("name", ["E1", "E3"])
def test_threads_without_a_core_each_are_marked(documents, name):
    rows = [row_of(quantity, number, executor="openmp", threads=threads, direction="encrypt", bytes=MIB)
            for threads in (2, 4) for quantity, number in (("time", 1.0), ("speedup", 1.5))]
    rows.append(row_of("time", 1.0, executor="sequential", threads=1, direction="encrypt", bytes=MIB))
    (experiment,) = [one for one in all_experiments() if one.name == name]
    shown = presentation(experiment, document_of(documents, "E1", rows))[0]
    heads = [row[0] for row in shown.tables[0].rows]
    assert "OpenMP, 2 threads" in heads and "OpenMP, 4 threads (oversubscribed)" in heads


def left_out_of_e1(monkeypatch, quick, parameters=None):
    """What E1 leaves out for its sizes, and the largest size of each contest."""
    largest = []
    monkeypatch.setattr(e01.contests, "threads", lambda lab, sizes, directions=("encrypt",), **_: largest.append(
        (directions[0] + "ion", sizes[-1])))
    monkeypatch.setattr(e01.mpi, "program", lambda: None)
    monkeypatch.setattr(e01.mpi, "in_turns", lambda lab, counts, kind, sizes, *arguments, rounds: largest.append(
        ({"memory": "MPI in memory", "scatter": "MPI with scatter and gather"}[kind], sizes[-1])) or {
            ranks: [[] for _ in sizes] for ranks in counts})
    monkeypatch.setattr(e01, "record_ranks", lambda lab, quantity, rows: None)
    monkeypatch.setattr(e01.device, "measure_too", lambda lab, name: None)
    measured = quiet_lab(quick=quick, parameters=parameters)
    e01.measure(measured)
    return [row["what"] for row in measured.left_out], dict(largest)


@pytest.mark.parametrize("quick", [True, False])
def test_e1_leaves_out_what_it_does_not_measure(monkeypatch, quick):
    left_out, largest = left_out_of_e1(monkeypatch, quick)
    assert len(largest) == 4
    assert left_out == [f"{what} above {values.size(most)}" for what, most in largest.items() if most < e01.SIZES[-1]]
    assert left_out_of_e1(monkeypatch, quick, {"sizes": [1024]})[0] == []


@pytest.mark.parametrize("speedup, others, again, outcome", [
    (200, 0.0, None, "does not hold"), (260, 0.0, None, "holds"), (300, 0.0, None, "holds"), (2000, 0.0, None, "does not hold"),
    (288, None, None, "open"), (300, None, None, "holds"), (300, 0.0, 200, "open"), (300, 0.0, 280, "holds"),
    (2000, 0.0, 300, "open"), (130, 0.15, None, "does not hold"),
    # A measurement that is too near to the limit does not count against another.
    (300, 0.15, 280, "holds"), (2000, 0.15, 280, "does not hold"), (280, 0.15, 270, "open")])
def test_somewhat_more_cores_are_not_many_more(documents, speedup, others, again, outcome):
    """`again`: what E4 measured of the same."""
    size = 15 * MIB
    rows = [row_of(quantity, number, executor="cuda", direction="encrypt", bytes=size)
            for quantity, number in (("time", 1.0), ("speedup", speedup))]
    document = document_of(documents, "E1", rows)
    document["experiments"]["E4"]["measurements"] = [
        row_of("speedup", again, kernel="cuda_compute", executor="cuda", bytes=size)] if again else []
    document["experiments"]["E1"]["others"] = others
    verdict = verdict_of(document, "E1", "pousa.cores-to-equal-cuda")
    assert verdict.outcome == outcome
    words = markdown.words(verdict.here)
    assert "at 15 MiB, the largest that one core encrypted beside it, and not at 255 MiB" in words
    assert ("by E4, which measures the same again" in words) == (again is not None)
    # It says of each figure what it is, and nothing of sides on which none lies.
    assert "on both sides" not in words
    assert ("what fails the rule: E1's figure" in words) == (outcome == "open" and speedup == 2000)
    assert ("what fails the rule: E4's figure" in words) == (again == 200)
    assert ("too near to the limit to be said: E1's figure" in words) == ((speedup, others) in ((288, None), (280, 0.15)))
    assert ("E4's figure" in words.partition("too near")[2]) == (again in (280, 270) and others == 0.15)
    assert "by each measurement that is not too near" in verdict.rule


def copies_of(sizes):
    return [row_of(quantity, 0.01, bytes=bytes_) for bytes_ in sizes for quantity in (
        "host to device", "encryption", "device to host", "total", "overlapped", "overlapped to total")]


@pytest.mark.parametrize("smallest, outcome", [(0.02, "holds"), (0.00315, "in part"), (None, "in part")])
def test_a_device_that_one_core_beats_at_the_smallest_size_does_not_beat_all(documents, smallest, outcome):
    """E2: there it need not beat many cores, but one. `smallest`: the seconds of one core, where CUDA takes 0.01 s."""
    size = 15 * MIB
    rows = [row_of("speedup", seconds / 0.01, executor="cuda", direction="encrypt", bytes=bytes_)
            for bytes_, seconds in ((1024, smallest), (size, 2.88)) if seconds]
    document = with_rows(documents, "E2", copies_of((1024, size)))
    document["machine"]["cores"] = 16
    document["experiments"]["E1"] |= {"measurements": rows, "others": 0.0}
    verdict = verdict_of(document, "E2", "pousa.copies-matter-little")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome
    assert words.startswith("copies took 200 % of the time at 15 MiB; with them, by E1, CUDA was 288 times as fast as one core (15 MiB)")
    assert ("at 1 KiB it was 0.315 times as fast" in words) == (smallest == 0.00315)
    assert "32 cores would be if they scaled perfectly, at each size but the smallest" in verdict.rule
    assert ("what fails the rule: one core at 1 KiB" in words, "one core was not measured at 1 KiB" in words) == (
        smallest == 0.00315, smallest is None)


@pytest.mark.parametrize("cores", [2, 16, 64])
@pytest.mark.parametrize("speedup, outcomes", [
    (350.0, ("holds", "holds", "holds", "holds", "holds")),
    (288.0, ("holds", "in part", "holds", "holds", "holds")),  # nine times 32 cores, and not ten times
    (50.0, ("in part", "in part", "in part", "holds", "holds")),
    (20.0, ("does not hold", "does not hold", "does not hold", "does not hold", "in part"))])
def test_a_device_is_compared_with_as_many_cores_as_the_study_had(documents, cores, speedup, outcomes):
    """E1, E2 and E3: whatever the machine has, and with a rule of ten times only where the study says so."""
    size = 15 * MIB
    rows = [row_of(quantity, number, executor="cuda", direction="encrypt", bytes=bytes_)
            for bytes_, quantity, number in ((1024, "speedup", 2.0), (size, "time", 0.01), (size, "speedup", speedup))]
    rows += [row_of("time", speedup * 0.01, executor="sequential", threads=1, direction="encrypt", bytes=size)]
    rows += [row_of(quantity, 1.44, executor="openmp", threads=2, direction="encrypt", bytes=size) for quantity in ("time", "speedup")]
    document = with_rows(documents, "E2", copies_of((1024, size)))
    document["machine"]["cores"] = cores
    document["experiments"]["E1"] |= {"measurements": rows, "others": 0.0}
    verdicts = [verdict_of(document, name, claim) for name, claim in (
        ("E1", "pousa.cuda-below"), ("E3", "pousa.cuda-magnitude"), ("E3", "ci-aim.computing-on-gpu"), ("E3", "ci-aim.earlier-speed"),
        ("E2", "pousa.copies-matter-little"))]
    assert tuple(verdict.outcome for verdict in verdicts) == outcomes
    assert all("32 cores would be if they scaled perfectly" in verdict.rule for verdict in verdicts)
    assert ["ten times" in verdict.rule for verdict in verdicts] == [False, True, False, False, False]
    assert ["at least twice as fast" in verdict.rule for verdict in verdicts] == [True, False, True, False, False]
    assert "that copies have little influence is not judged itself" in verdicts[-1].rule
    assert all("too near" not in markdown.words(verdict.here) for verdict in verdicts)  # the rounds are all the same
    assert "with them, by E1, CUDA was" in markdown.words(verdicts[-1].here)  # which took turns with one core


def test_a_device_that_may_be_ten_times_as_fast_says_so(documents):
    """E3: nine times with a doubt of an eighth was told as less than ten."""
    rows = [row_of(quantity, number, 0.13, executor="cuda", direction="encrypt", bytes=MIB)
            for quantity, number in (("time", 0.01), ("speedup", 288.0))]
    verdict = verdict_of(document_of(documents, "E1", rows), "E3", "pousa.cuda-magnitude")
    assert verdict.outcome == "in part" and "; too near to ten times to be said: E1's figure" in markdown.words(verdict.here)


@pytest.mark.parametrize("again, half_range, outcomes, said", [
    (305.0, 0.0, ("in part", "holds", "holds"), ""), (305.0, 0.07, ("in part", "holds", "holds"), "too near to ten times to be said: E4's figure"),
    # Two measurements that say different things leave it open.
    (350.0, 0.0, ("open", "holds", "holds"), "by E1 it holds here in part, by E4 it holds here, and what two measurements say differently"),
    (50.0, 0.0, ("in part", "open", "holds"), ""), (20.0, 0.0, ("open", "open", "open"), ""),
    # One that is open itself does not count.
    (30.0, 0.3, ("in part", "holds", "holds"), "")])
def test_a_speedup_that_was_measured_again_stands_beside_the_first(documents, again, half_range, outcomes, said):
    """E3: E1's row told of 305 times by E4, and E3's of 273 alone."""
    size = 15 * MIB
    document = document_of(documents, "E1", [row_of(quantity, 272.0, executor="cuda", direction="encrypt", bytes=size)
                                             for quantity in ("time", "speedup")])
    document["experiments"]["E4"]["measurements"] = [
        row_of("speedup", again, half_range, kernel="cuda_compute", executor="cuda", bytes=size)]
    verdicts = [verdict_of(document, "E3", claim) for claim in ("pousa.cuda-magnitude", "ci-aim.computing-on-gpu", "ci-aim.earlier-speed")]
    assert tuple(verdict.outcome for verdict in verdicts) == outcomes
    for verdict in verdicts:
        words = markdown.words(verdict.here)
        assert "8.50 times as fast as 32 cores would be if they scaled perfectly, with `compute` (15 MiB), that is 272 times" in words
        assert (f"by E4, which measures the same again, {values.shown(again / 32)} times, that is {values.shown(again)} times as fast as one "
                "core") in words
    assert said in markdown.words(verdicts[0].here)


@pytest.mark.parametrize("speedups, outcome, said", [
    ((88.7, 273.0), "holds", ""), ((50.0, 273.0), "in part", "; what fails the rule: 512 KiB"),
    ((20.0, 50.0), "in part", "; what fails the rule: 512 KiB, 15 MiB"),
    ((20.0, 30.0), "does not hold", "")])
def test_lowest_by_far_is_twice(documents, speedups, outcome, said):
    """E1: faster by a tenth was the lowest by far."""
    rows = [row_of(quantity, speedup, executor="cuda", direction="encrypt", bytes=size) for quantity in ("time", "speedup")
            for size, speedup in zip((1 << 19, 15 * MIB), speedups)]
    verdict = verdict_of(document_of(documents, "E1", rows), "E1", "pousa.cuda-below")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and said in words and ("what fails" in words) == bool(said)


@pytest.mark.parametrize("ratios, half_range, outcome", [
    ((3.0, 200.0), 0.0, "holds"), ((1.5, 200.0), 0.0, "in part"), ((0.9, 1.5), 0.0, "in part"), ((0.9, 1.0), 0.0, "does not hold"),
    ((1.0, 1.1), 0.3, "open")])
def test_far_more_efficient_is_twice(documents, ratios, half_range, outcome):
    """E4: faster by a tenth was far more efficient."""
    rows = [row_of("ratio to compute", ratio, half_range, kernel=kernel, executor="sequential", threads=1, bytes=size)
            for size, ratio in zip((MIB, 2 * MIB), ratios) for kernel in ("tables", "openssl")]
    assert verdict_of(document_of(documents, "E4", rows), "E4", "pousa.openssl-faster").outcome == outcome


# Words of claims by which something is more than another, or like it, by a degree.
DEGREES = re.compile(r"\b(considerably|by far|far|hardly|little|high|well|clearly|much the same|gains much)\b")
LIMITS = re.compile("not judged|at least|within|at most|less than|shorter than")


def test_a_degree_has_a_limit_or_is_not_judged(documents):
    """Its rule says which: a reader could not tell whether a tenth less time is considerably less. In latency-reason "hardly" is of
    computing in tables, and in constant-speedup "as well" is no degree."""
    seen = set()
    for document, experiment in itertools.product(documents, all_experiments()):
        for name, verdict in presentation(experiment, document)[0].verdicts.items():
            if name not in (OURS, "ci-aim.latency-reason", "pizzuti.constant-speedup") and verdict.rule:
                if DEGREES.search(markdown.words(claims.claim(name).says)):
                    assert LIMITS.search(verdict.rule), (experiment.name, name, verdict.rule)
                    seen.add(name)
    assert {"pousa.all-faster", "pousa.cuda-below", "pousa.copies-matter-little", "pousa.cuda-magnitude", "pousa.openssl-faster",
            "pizzuti.3des-gains-more", "meyer.static-better", "waeslib.viable"} <= seen


def slower_3des(documents, ratios):
    """E7's verdicts of the factors on one core and with CUDA: {direction: times as long as AES-256}."""
    rows = [row_of(quantity, 1.0 if cipher == "aes-256-ecb" else 1 / ratio, kernel="compute", choice="compute", executor=executor,
                   cipher=cipher, direction=direction, bytes=MIB)
            for executor in ("sequential", "cuda") for direction, ratio in ratios.items() for cipher in ("aes-256-ecb", "des-ede3-ecb")
            for quantity in ("time", "speedup", e07.RATE)]
    document = document_of(documents, "E7", rows)
    return [verdict_of(document, "E7", f"pizzuti.3des-slower{where}") for where in ("", "-on-gpu")]


@pytest.mark.parametrize("ratios, outcomes, said", [
    ({"encrypt": 8.0, "decrypt": 9.0}, ("holds", "holds"), ""),
    # Longer, as is claimed, but not by so much.
    ({"encrypt": 1.37, "decrypt": 1.44}, ("does not hold", "does not hold"), ""),
    ({"encrypt": 0.5, "decrypt": 0.5}, ("does not hold", "does not hold"), ""),
    ({"encrypt": 5.0, "decrypt": 9.0}, ("in part", "holds"), "what fails the rule: to encrypt"),
    ({"encrypt": 8.0}, ("in part", "in part"), "to decrypt was not measured")])
def test_a_number_that_is_claimed_is_judged_and_not_its_side(documents, ratios, outcomes, said):
    """E7: 3DES is longer by 12 times on one core and by 5 with CUDA. A speedup beside its published limit, and a reduction beside
    99 %, failed, but a factor of 1.4 beside one of 5 held in part, for it was longer."""
    verdicts = slower_3des(documents, ratios)
    assert tuple(verdict.outcome for verdict in verdicts) == outcomes
    assert said in markdown.words(verdicts[0].here) and not any("in part" in verdict.rule for verdict in verdicts)


def test_processor_and_device_are_told_with_their_rates():
    """E10: ratios alone said how fast both were together."""
    document = results.load(results.COMMITTED / "2026-11-28-h200-bench.json")
    words = markdown.words(verdict_of(document, "E10", OURS).here)
    measured = Measured("E10", document)
    for cipher in measured.factors("cipher"):
        rates = [str(measured.value("rate", cipher=cipher, way=way)) for way in ("processor", "device", "hybrid")]
        ratio = measured.value("rate to device", cipher=cipher, way="hybrid")
        assert "{} ran at {} GB/s on all cores, {} on the GPU and {} on both, which is {} times as fast".format(cipher, *rates, ratio) in words


def without_blocks(rows):
    """The rows of E8 less those of data that was handed out block by block."""
    return [row for row in rows if row["of"]["place"] != "blocks"]


@pytest.mark.parametrize("dynamic, outcome", [(1.5, "holds"), (1.87, "does not hold"), (None, "open")])
def test_schedules_are_judged_block_by_block(documents, dynamic, outcome):
    def change(rows):
        rows = without_blocks(rows)
        if dynamic is None:
            return rows
        of = {"place": "blocks", "piece_bytes": e08.BLOCK, "kernel": "compute", "executor": "openmp"}
        runs = ((1, "serial", 1.0), (2, "static", 1.9), (2, "dynamic", dynamic))
        blocks = [{"of": {**of, "bytes": size, "threads": threads, "schedule": schedule}, "quantity": quantity,
                   "unit": unit, "median": number, "min": number, "max": number, "rounds": 3}
                  for size in e08.SIZES for threads, schedule, speedup in runs
                  for quantity, unit, number in (("speedup", "ratio", speedup), ("time", "s", 1 / speedup))]
        return [*rows, *blocks]
    verdict = verdict_of(lab_with(documents, "E8", change), "E8", "meyer.static-better")
    assert verdict.outcome == outcome
    assert "block by block" in markdown.words(verdict.here) and "pieces" in markdown.words(verdict.here)


def test_a_device_without_turns_with_a_core_equals_no_number_of_cores(documents):
    """E1: 304 of one core's time in E1 and a device's in E2 said what the two measurements in turns left open."""
    size, of = 15 * MIB, dict(executor="cuda", direction="encrypt", bytes=15 * MIB)
    document = with_rows(documents, "E2", [row_of("total", 1.0, bytes=size)])
    document["experiments"]["E1"] |= {"others": 0.15, "measurements": [
        row_of("time", 1.0, **of), row_of("speedup", 280, **of),
        row_of("time", 310, executor="sequential", direction="encrypt", bytes=size)]}
    document["experiments"]["E4"]["measurements"] = []
    verdict = verdict_of(document, "E1", "pousa.cores-to-equal-cuda")
    assert verdict.outcome == "open" and "judges nothing, is 310 times as short" in markdown.words(verdict.here)


@pytest.mark.parametrize("smallest, larger, outcome", [(0.3, 300, "holds"), (300, 20, "does not hold"), (0.3, None, "open")])
def test_a_device_is_above_a_cluster_but_for_the_smallest_size(documents, smallest, larger, outcome):
    """E1: at 1 KiB the study's own device is behind its cluster."""
    rows = [row_of(quantity, speedup, executor="cuda", direction="encrypt", bytes=size) for quantity in ("time", "speedup")
            for size, speedup in ((1024, smallest), (MIB, larger)) if speedup]
    verdict = verdict_of(document_of(documents, "E1", rows), "E1", "pousa.cuda-below")
    assert verdict.outcome == outcome and "1 KiB, which is not judged" in markdown.words(verdict.here)


@pytest.mark.parametrize("small, static, dynamic, outcome", [
    (2.1, 3.9, 2.1, "holds"), (3.9, 3.9, 2.1, "in part"), (2.1, 3.9, 3.9, "in part"), (3.9, 3.9, 3.9, "does not hold"),
    (2.1, None, 2.1, "open"), (None, 3.9, 2.1, "open")])  # two cores; data of one size
def test_a_speedup_in_proportion_is_judged_by_the_last_threads(documents, small, static, dynamic, outcome):
    """By speedups with all threads: static's on the smallest and the largest data, and dynamic's on the largest."""
    def change(rows):
        of = {"place": "blocks", "piece_bytes": e08.BLOCK, "kernel": "compute", "executor": "openmp"}
        runs = [(bytes_, count, schedule, speedup) for bytes_, fours in (
                    (e08.SIZES[0], (small, small)), (e08.SIZES[-1], (static, dynamic)))
                for count, schedule, speedup in ((1, "serial", 1.0), (2, "static", 1.9), (2, "dynamic", 1.9),
                                                 (4, "static", fours[0]), (4, "dynamic", fours[1]))
                if (static or count < 4) and (small or bytes_ == e08.SIZES[-1])]
        return [*without_blocks(rows), *({"of": {**of, "bytes": bytes_, "threads": count, "schedule": schedule},
                          "quantity": "speedup", "unit": "ratio", "median": speedup, "min": speedup, "max": speedup, "rounds": 3}
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
    document = lab_with(documents, "E8", lambda rows: [*without_blocks(rows), *measured.measurements])
    assert verdict_of(document, "E8", "meyer.static-better").outcome == "holds"


@pytest.mark.parametrize("ratios, outcome, said", [
    ((2.5, 1.5, 0.8, 0.8), "holds", "2.50 on 3.6 KB, 1.50 on 50 MB, 0.800 on 110 MB, 0.800 on 685 MB"),
    ((2, 1, 0.96, 0.8), "in part", "what fails the rule: 110 MB"), ((2, 1, 1.3, 1.3), "does not hold", ""),
    ((0.9, 0.8), "holds", "0.900 on 3.6 KB, 0.800 on 50 MB")])  # in which no data is large
def test_static_is_ahead_on_all_larger_data(documents, ratios, outcome, said):
    """E8: the largest size alone said so, whatever the other large one was."""
    sizes = (e08.SIZES[0], *e08.SIZES[3:])
    rows = [row_of("ratio to static", ratio, place="blocks", bytes=size, threads=2, schedule="dynamic") for size, ratio in zip(sizes, ratios)]
    rows += [row_of("ratio to static", 1.0, place="file", bytes=e08.SIZES[-1], threads=2, schedule="dynamic"),
             *(row_of(quantity, 1.9, place="file", bytes=size, threads=2, schedule=schedule)
               for size in e08.SIZES for schedule in ("static", "dynamic") for quantity in ("speedup", "time"))]
    verdict = verdict_of(document_of(documents, "E8", rows), "E8", "meyer.static-better")
    assert verdict.outcome == outcome and said in markdown.words(verdict.here)
    assert verdict.rule.endswith(f"from {'110' if len(ratios) == 4 else '50'} MB on; by how much is not judged")


@pytest.mark.parametrize("small, large, outcome", [(0.9, 1.9, "holds"), (0.9, 1.2, "in part"), (1.9, 1.9, "in part"), (1.2, 1.1, "does not hold")])
def test_larger_files_gain_more_and_gain_much(documents, small, large, outcome):
    """E8: a gain that grows was not asked to be much, and what lies between was not shown."""
    rows = [row_of(quantity, number, place="file", bytes=size, threads=2, schedule=schedule)
            for size, number in zip(e08.SIZES, (small, 0.5, 1, 1, 1, large))
            for schedule in ("static", "dynamic") for quantity in ("speedup", "time")]
    verdict = verdict_of(document_of(documents, "E8", rows), "E8", "meyer.gain-grows")
    assert verdict.outcome == outcome and "0.500 on a file of 85 KB" in markdown.words(verdict.here)


@pytest.mark.parametrize("copying, outcome", [((1.0, 1.1), "ours"), ((1.0, 4.0), "open")])
def test_a_program_is_compared_with_copying_that_agrees_with_itself(documents, copying, outcome):
    """E12: a program was told 4.51 times as fast as copying, which took as many times as long as in the other group."""
    def change(rows):
        for row in rows:
            if row["of"]["program"] == "cp" and row["quantity"] == "time" and row["of"]["operation"] in ("encrypt", "decrypt"):
                row["median"] = copying[row["of"]["operation"] == "decrypt"]
            if row["of"]["program"] == "paes" and row["quantity"] == "rate to copying":
                row |= {"min": 1.1, "median": 1.2, "max": 1.3}
        return rows
    verdict = verdict_of(lab_with(documents, "E12", change), "E12", OURS)
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and f"`cp` beside it {values.shown(copying[1])} s" in words
    assert ("is not said" in words) == (outcome == "open")


def test_nested_regions_without_a_core_for_each_thread_are_not_judged(documents):
    """E9: with 2 threads both nested are 4. On 2 cores they are shown, and judge nothing."""
    rows = [row for split, seconds, ratio in (("blocks", 1.0, 1.0), ("inside", 50.0, 1 / 50), ("nested", 0.5, 2.0))
            for row in (row_of("time", seconds, split=split, threads=2, bytes=320),
                        row_of("rate to across", ratio, split=split, threads=2, bytes=320))]
    document = document_of(documents, "E9", rows)
    for cores, outcome in ((2, "in part"), (4, "in part"), (1, "open")):
        document["machine"]["cores"] = cores
        verdict = verdict_of(document, "E9", "meyer.outer-loop-best")
        words = markdown.words(verdict.here)
        assert verdict.outcome == outcome
        assert ("which is not judged" in words) == (cores < 4)
        # The claim is of nested regions too, and of settings that limit nesting, of which there is no figure.
        assert ("nested regions with a core for each thread were not measured" in words) == (cores == 2)
        assert ("no figure is with a setting that limits nesting" in words) == (cores > 1)


@pytest.mark.parametrize("ratio, outcome", [(0.95, "in part"), (0.808, "does not hold"), (1.38, "does not hold")])
def test_modes_hardly_differ_within_a_tenth(documents, ratio, outcome):
    """E7, whose claim is of the speedup as well: without a device it holds in part at the most."""
    rows = []
    for cipher, mode, direction in itertools.product(("aes-256", "des-ede3"), ("ecb", "ctr"), e07.DIRECTIONS):
        of = dict(cipher=f"{cipher}-{mode}", direction=direction, bytes=MIB, executor="sequential")
        rate = 1 / ratio if mode == "ctr" else 1.0
        rows += [row_of(quantity, rate, choice=choice, kernel="compute", **of) for choice in e07.CHOICES
                 for quantity in ("time", e07.RATE)]
    verdict = verdict_of(document_of(documents, "E7", rows), "E7", "pizzuti.ctr-like-ecb")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and "the speedup was not compared" in words
    assert f"with the fastest kernels on one core {ratio:#.3g} times to encrypt" in words
    assert f"on one core to decrypt 1 MiB {ratio:#.3g} (AES-256) and {ratio:#.3g} (3DES)" in words


def test_e13_asks_what_it_answers(documents):
    """No published rate stands among those of this machine, and each bar has its row of the table."""
    (experiment,) = [one for one in all_experiments() if one.name == "E13"]
    shown = presentation(experiment, of_all_experiments(documents))[0]
    assert {series.kind for panel in shown.panels for series in panel.series} == {"measured"}
    rows = "".join(row[0] for row in shown.tables[0].rows)
    assert all(f"`{x}`: " in rows for series in shown.panels[0].series for x in series.xs if x != "compute")
    assert "how much slower" in experiment.asks


def test_the_processor_of_then_is_not_compared_with_the_one_of_now(documents):
    """E13 says how slow a core would have to be: the rate here over the published one."""
    document = of_all_experiments(documents)
    verdict = verdict_of(document, "E13", OURS)
    assert verdict.outcome == "ours"
    numbers = [part for part in verdict.here if isinstance(part, values.Value)]
    assert numbers and {number.how for number in numbers} == {"times as slow", "half range"}
    seconds, count = PUBLISHED["studies"]["pousa"]["time_s"]["sequential"][5], 255 << 20
    rows = {(row["of"]["variant"], row["of"]["compiled"]): row["median"]
            for row in document["experiments"]["E13"]["measurements"] if row["quantity"] == "rate"}
    assert numbers[0].number == pytest.approx(rows["plain", "O3"] * 1e6 / (count / seconds))


def test_sizes_of_a_claim_are_read_in_binary():
    assert values.in_kibibytes("4KB") == 4 and values.in_kibibytes("8MB") == 8192
    size = published.kibibytes("pizzuti/sequential_faster_below/aes-256")
    assert size.number == 8 and values.DERIVATIONS[size.how]("8KB") == 8


# Seconds for each rank and kernel, such that computing scales half and tables wholly.
RANK_SECONDS = {(1, "compute"): 8.0, (1, "tables"): 1.0, (2, "compute"): 6.0, (2, "tables"): 0.5, (4, "compute"): 4.0,
                (4, "tables"): 0.25}


@pytest.fixture
def ranks(monkeypatch):
    """The runs of paes-mpi-bench that E4 asks for, which take RANK_SECONDS, and those of paes-bench."""
    asked = []

    def fake(count, kind, *arguments, where):
        options = dict(zip(arguments[::2], arguments[1::2]))
        asked.append((count, kind, options["--kernel"], options["--threads"]))
        of_hosts = {"hosts": 2, "machines": 2, "cores": 4} if where.is_given else {"hosts": 1, "machines": 1, "cores": 2}
        return [{"bytes": int(size), **of_hosts, "oversubscribed": count > of_hosts["cores"],
                 "seconds": {"median": RANK_SECONDS[count, options["--kernel"]]}} for size in options["--bytes"].split(",")]
    monkeypatch.setattr(mpi, "program", lambda: None)
    monkeypatch.setattr(mpi, "bench", fake)
    return asked


def test_ranks_compute_and_read_tables_in_turns(ranks, documents):
    measured = quiet_lab()
    e04.measure_ranks(measured, (1, 2), [1 << 19, MIB])
    turn = [(count, "memory", kernel, 1) for count in (1, 2) for kernel in ("compute", "tables")]
    assert ranks == 2 * turn
    found = {(row["of"]["kernel"], row["of"]["ranks"], row["quantity"]): row["median"] for row in measured.measurements
             if row["of"]["bytes"] == MIB}
    assert found["tables", 1, "ratio to compute"] == 8 and found["tables", 2, "ratio to compute"] == 12
    assert found["tables", 2, "speedup"] == 2 and found["compute", 2, "speedup"] == pytest.approx(8 / 6)
    verdict = verdict_of(document_of(documents, "E4", measured.measurements), "E4", "ci-aim.reduction-mpi")
    assert verdict.outcome == "does not hold"  # one quantity, which is not near what is said
    assert "91.7 % less time than `compute` on 2 ranks" in markdown.words(verdict.here)


def test_e4_has_ranks_on_the_users_cluster(monkeypatch, ranks, documents):
    monkeypatch.setattr(e04.contests, "threads", lambda lab, **_: None)
    monkeypatch.setattr(e04.device, "measure_too", lambda lab, name: None)
    measured = quiet_lab(cluster=mpi.Cluster(hostfile=Path("/hosts"), slots=4))
    e04.measure(measured)
    assert {count for count, *_ in ranks} == {1, 4}
    assert {tuple(row["of"][name] for name in mpi.KIND) for row in measured.measurements} == {(2, 2, 4, False)}
    cuda = [row_of("speedup", speedup, kernel=kernel, executor="cuda", bytes=MIB)
            for kernel, speedup in (("cuda_tables", 2.0), ("cuda_compute", 2.5))]
    cuda += [row_of(quantity, 1.0, kernel=row["of"]["kernel"], executor="cuda", bytes=MIB) for row in cuda for quantity in (
        "time", "time without copies", "ratio to compute", "ratio to compute without copies")]
    document = document_of(documents, "E4", [*measured.measurements, *cuda])
    verdict = verdict_of(document, "E4", "ci-aim.tables-on-cluster")
    assert verdict.outcome == "holds" and "4 ranks on 2 machines were 4.00 times as fast at 1 MiB" in markdown.words(verdict.here)
    (less,) = [one.here for one in presentation(next(one for one in all_experiments() if one.name == "E4"), document)[0].counterparts
               if one.claim == "ci-aim.reduction-mpi"]
    assert "with 4 ranks" in markdown.words(less)  # which are more than this machine's cores


@pytest.mark.parametrize("cluster, refuses", [(mpi.Cluster(), True), (mpi.Cluster(hostfile=Path("/hosts")), False)])
def test_ranks_of_several_machines_belong_to_a_cluster(monkeypatch, cluster, refuses):
    asked = []

    def fake(ranks, kind, *arguments, where):
        asked.append(where)
        return {"mpi": {"library": "a library", "hosts": 2, "machines": 2, "cores": 4, "oversubscribed": False},
                "results": [{"bytes": 16}]}
    monkeypatch.setattr(mpi, "document", fake)
    if refuses:
        with pytest.raises(Unavailable, match="2 machines"):
            mpi.bench(2, "memory", where=cluster)
    else:
        assert mpi.bench(2, "memory", where=cluster) == [
            {"bytes": 16, "hosts": 2, "machines": 2, "cores": 4, "oversubscribed": False}]
    assert asked == [cluster]


def test_e4_has_ranks_on_any_number_of_blocks(ranks):
    measured = quiet_lab()
    e04.measure_ranks(measured, (1, 2), [1040])
    assert {row["of"]["bytes"] for row in measured.measurements} == {1040} and measured.left_out == [
        {"what": "MPI above 1.04 KB", "why": measured.left_out[0]["why"]}]


def stopped_after(monkeypatch, count, ranks):
    """Lets so many programs of E1, E4, E7 or E8 end before the time is over. `ranks`: what becomes of those of ranks."""
    asked = []

    def fake(kind, *arguments, **_):
        if len(asked) == count:
            raise OutOfTime("paes-bench: was stopped when no time was left")
        options = {key: str(value).split(",") for key, value in zip(arguments[::2], arguments[1::2])}
        asked.append(options)
        return {"results": [
            {"cipher": cipher, "direction": options["--direction"][0], "kernel": kernel, "split": "pieces",
             "schedule": schedule, "threads": int(threads), "oversubscribed": False,
             "piece_bytes": int(options["--piece"][0]), "bytes": int(options["--size"][0]), "rounds": 3, "seconds_median": 1.0, "seconds_min": 1.0,
             "seconds_max": 1.0, "ratio_to_first": dict.fromkeys(("median", "min", "max"), 1.0)}
            for cipher in options["--cipher"] for kernel in options["--kernel"] for threads in options["--threads"]
            for schedule in (["serial"] if threads == "1" else options["--schedule"])]}

    def program_of_ranks():
        raise ranks
    monkeypatch.setattr(contests.programs, "paes_bench", fake)
    monkeypatch.setattr(mpi, "program", program_of_ranks)
    monkeypatch.setattr(e08, "measure_files", lambda *_: None)  # whose program is another
    monkeypatch.setattr(device.programs, "cuda_reason", lambda: "there is none")
    return asked


@pytest.mark.parametrize("name, runs", [("E1", 7), ("E4", 9), ("E7", 9), ("E8", 10)])
def test_what_ended_before_the_time_was_over_is_kept_and_shown(documents, monkeypatch, name, runs):
    """Whichever program is stopped, unless it is the first. --continue measures the rest."""
    (experiment,) = [one for one in all_experiments() if one.name == name]
    for count in range(runs + 1):
        asked = stopped_after(monkeypatch, count, Unavailable("no mpirun is installed"))
        measured = quiet_lab()
        document = of_all_experiments(documents)
        outcome, reason = lab.take(experiment, measured, document)
        assert len(asked) == count
        assert outcome == ("measured" if count else results.LEFT_OUT), (count, reason)
        if count:
            assert measured.is_cut == (count < runs)
            document["experiments"][name] |= {"measurements": measured.measurements, "left_out": measured.left_out, "others": 0.0}
            shown = presentation(experiment, document)[0]
            assert set(shown.verdicts) == set(experiment.verdicts) and shown.tables
            said = [row for row in measured.left_out if row["why"] == "paes-bench: was stopped when no time was left"]
            assert bool(said) == (count < runs)
    assert ({"what": "MPI", "why": "no mpirun is installed"} in measured.left_out) == (name in ("E1", "E4"))


def test_ranks_that_are_stopped_leave_the_threads_there(monkeypatch):
    stopped_after(monkeypatch, None, OutOfTime("mpirun: was stopped when no time was left"))
    for name in ("E1", "E4"):
        measured = quiet_lab()
        outcome, _ = lab.take(next(one for one in all_experiments() if one.name == name), measured, {"experiments": {}})
        assert outcome == "measured" and measured.is_cut and measured.measurements
        assert {"what": "MPI", "why": "mpirun: was stopped when no time was left"} in measured.left_out


def test_the_time_that_is_left_is_no_more_than_until_the_run_ends(monkeypatch):
    """A busy machine takes four times as long, but a quick run does not."""
    experiments = [one for one in all_experiments() if one.name in ("E1", "E4", "E7", "E8")]
    progress = lab.Progress(experiments, "quick", lab.time.monotonic() + 60)
    progress.end(400)
    assert 55 < progress.left() <= 60
    assert lab.Progress(experiments, "quick", lab.time.monotonic() - 1).left() == 0
    assert lab.Progress(experiments, "full").left() == sum(one.seconds["full"] for one in experiments)


def test_without_mpirun_ranks_are_left_out_with_the_reason(monkeypatch, documents):
    def none():
        raise Unavailable("no mpirun is installed")
    monkeypatch.setattr(mpi, "program", none)
    measured = quiet_lab()
    with measured.part("MPI"):
        e04.measure_ranks(measured, (1, 2), [MIB])
    assert measured.left_out == [{"what": "MPI", "why": "no mpirun is installed"}] and not measured.measurements
    verdict = verdict_of(lab_with(documents, "E4", lambda rows: [
        row for row in rows if row["of"]["executor"] != "mpi"]), "E4", "ci-aim.reduction-mpi")
    assert verdict.outcome == "open" and "ranks" in verdict.here[0]


def test_e4_has_the_speedup_of_tables_over_tables_on_one_thread(monkeypatch, ranks, documents):
    def fake(kind, *arguments, **_):
        options = dict(zip(arguments[::2], arguments[1::2]))
        rows = [(kernel, int(threads)) for kernel in options["--kernel"].split(",")
                for threads in options["--threads"].split(",")]
        seconds = [RANK_SECONDS.get((threads, kernel), 0.1) for kernel, threads in rows]
        return {"results": [
            {"cipher": "aes-128-ecb", "direction": "encrypt", "kernel": kernel, "split": "pieces",
             "schedule": "serial" if threads == 1 else "static", "threads": threads, "oversubscribed": False,
             "piece_bytes": 1 << 18, "bytes": int(options["--size"]), "rounds": 3, "seconds_median": mine,
             "seconds_min": mine, "seconds_max": mine,
             "ratio_to_first": dict.fromkeys(("median", "min", "max"), seconds[0] / mine)}
            for (kernel, threads), mine in zip(rows, seconds)]}
    monkeypatch.setattr(contests.programs, "paes_bench", fake)
    monkeypatch.setattr(e04.device, "measure_too", lambda lab, name: None)
    measured = quiet_lab()
    e04.measure(measured)
    document = document_of(documents, "E4", measured.measurements)
    (experiment,) = [one for one in all_experiments() if one.name == "E4"]
    shown = presentation(experiment, document)[0]
    (table,) = [table for table in shown.tables if table.caption.startswith("Times as fast as one thread or one rank")]
    e1 = Measured("E1", document)
    gains = {row[0]: [str(cell) for cell in row[1:] if cell is not None] for row in table.rows}
    assert gains == {"`tables`, 2 threads": ["2.00"] * 3, "`tables`, 2 ranks": ["2.00"] * 2,
                     "`compute`, 2 ranks": ["1.33"] * 2,
                     # What E1 has measured of threads that compute.
                     "`compute`, 2 threads, by E1": [str(e1.value("speedup", bytes=size, threads=2, executor="openmp",
                                                                  direction="encrypt")) for size in e01.SIZES[1:4]]}
    (panel,) = [panel for panel in shown.panels if panel.title.startswith("Less time")]
    assert [series.xs for series in panel.series if series.kind == "measured"] == [["one thread", "OpenMP", "MPI"]]
    assert [[str(y) for y in series.ys] for series in panel.series if series.kind == "published"] == [
        ["99"], ["99"], ["99"], ["56", "62"]]


@pytest.mark.parametrize("openmp, outcome", [(30, "holds"), (24, "holds"), (15, "does not hold"), (9, "does not hold"), (1.01, "does not hold")])
def test_a_similar_reduction_is_near_the_others(documents, openmp, outcome):
    rows = [row_of("ratio to compute", ratio, kernel=kernel, executor=executor, bytes=MIB, **of)
            for ratio, executor, of in ((100, "sequential", {"threads": 1}), (openmp, "openmp", {"threads": 2}),
                                        (100, "mpi", {"ranks": 2, "oversubscribed": False}))
            for kernel in ("tables", "openssl")]
    document = document_of(documents, "E4", rows)
    # 1 - 1/24 is 96 %, and 3 % less than 99 %. 1 - 1/15 is less than 95 %, and 1 - 1/9 besides not near 99 %.
    verdict = verdict_of(document, "E4", "ci-aim.reduction-openmp")
    assert verdict.outcome == outcome
    assert "within 5 points of what each of the others saves" in verdict.rule  # a difference of percentages, and no percentage of one
    without_ranks = document_of(documents, "E4", [row for row in rows if row["of"]["executor"] != "mpi"])
    verdict = verdict_of(without_ranks, "E4", "ci-aim.reduction-openmp")
    assert verdict.outcome == ("in part" if outcome == "holds" else outcome)
    assert "no number of ranks above one was run" in markdown.words(verdict.here)


@pytest.mark.parametrize("common, outcome, said", [
    (10.9, "in part", "90.8 % less time than `compute` on 2 threads (1 MiB), that is 10.9 x as fast, and 90.7 % less on 1 thread"),
    (4.0, "does not hold", "75.0 % less time than `compute` on 2 threads (1 MiB)")])
def test_reductions_are_compared_on_data_of_one_size(documents, common, outcome, said):
    """Ranks were not run on the largest data, which says nothing of how similar the others are."""
    rows = [row_of("ratio to compute", ratio, kernel=kernel, executor=executor, bytes=size, **of)
            for executor, of, by_size in (
                ("sequential", {"threads": 1}, {MIB: 10.7, 2 * MIB: 9.8}), ("openmp", {"threads": 2}, {MIB: common, 2 * MIB: 3.0}),
                ("mpi", {"ranks": 2, "oversubscribed": False}, {MIB: 10.8}))
            for size, ratio in by_size.items() for kernel in ("tables", "openssl")]
    verdict = verdict_of(document_of(documents, "E4", rows), "E4", "ci-aim.reduction-openmp")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and said in words and "90.7 % less on 2 ranks" in words
    assert "at the largest size that all of them encrypted" in verdict.rule
    without = [row for row in rows if row["of"]["executor"] != "mpi" or row["of"]["bytes"] != MIB]
    without += [{**row, "of": {**row["of"], "bytes": 512}} for row in rows if row["of"]["executor"] == "mpi"]
    assert "no data of one size was measured on all of these" in markdown.words(
        verdict_of(document_of(documents, "E4", without), "E4", "ci-aim.reduction-openmp").here)


def test_a_similar_reduction_that_is_another_holds_in_part(documents):
    """All executors gain ten times, and not a hundred times as is said. A claim of one of them has one quantity alone."""
    rows = [row_of("ratio to compute", ratio, kernel=kernel, executor=executor, bytes=MIB, **of)
            for ratio, executor, of in ((10.7, "sequential", {"threads": 1}), (10.8, "openmp", {"threads": 2}),
                                        (9.3, "mpi", {"ranks": 2, "oversubscribed": False})) for kernel in ("tables", "openssl")]
    document = document_of(documents, "E4", rows)
    assert verdict_of(document, "E4", "ci-aim.reduction-openmp").outcome == "in part"
    for claim in ("sequential", "mpi"):
        assert verdict_of(document, "E4", f"ci-aim.reduction-{claim}").outcome == "does not hold"
    assert markdown.words(claims.claim("ci-aim.reduction-mpi").remark) == "99 % less time is 100 times as fast."


def test_a_reduction_on_a_device_is_smaller_than_all_others(documents):
    of = dict(executor="cuda", bytes=MIB)
    rows = [row_of("ratio to compute", 100, kernel=kernel, executor=executor, bytes=MIB, **more) for executor, more in (
        ("sequential", {"threads": 1}), ("openmp", {"threads": 2}), ("mpi", {"ranks": 2, "oversubscribed": False}))
            for kernel in ("tables", "openssl")]
    rows += [row_of(quantity, 2.4, kernel=kernel, **of) for kernel in ("cuda_compute", "cuda_tables") for quantity in (
        "time", "time without copies", "ratio to compute", "ratio to compute without copies")]
    for executor, outcome, said in ((None, "holds", None), ("openmp", "in part", "no number of threads above one"),
                                    ("sequential", "in part", "one thread was not measured")):
        these = [row for row in rows if row["of"]["executor"] != executor]
        verdict = verdict_of(document_of(documents, "E4", these), "E4", "ci-aim.reduction-cuda")
        assert verdict.outcome == outcome and (said is None or said in markdown.words(verdict.here))


@pytest.mark.parametrize("cuda, ranks_of_hosts, outcomes", [
    ({"tables": 60, "compute": 200}, None, ("does not hold", "in part")),
    # More than one machine has 16 cores, and the whole cluster 32.
    ({"tables": 20, "compute": 200}, None, ("does not hold", "in part")),
    ({"tables": 12, "compute": 200}, None, ("open", "in part")),
    ({"tables": 16.5, "compute": 200}, None, ("open", "in part")),  # by no more than may be disturbed
    ({"tables": 12, "compute": 200}, {"tables": 30, "compute": 31}, ("holds", "holds")),
    ({"tables": 20, "compute": 200}, {"tables": 30, "compute": 31}, ("does not hold", "holds")),
    ({"tables": 12, "compute": 25}, {"tables": 30, "compute": 31}, ("holds", "in part")),
    ({"tables": 12, "compute": 200}, {"tables": 12.3, "compute": 31}, ("open", "in part")),
    # Several hosts on one machine, and more ranks than cores: neither is a cluster.
    ({"tables": 12, "compute": 25}, {"tables": 30, "compute": 31, "machines": 1}, ("open", "open")),
    ({"tables": 12, "compute": 25}, {"tables": 30, "compute": 31, "oversubscribed": True}, ("open", "open")),
    ({}, {"tables": 30, "compute": 31}, ("open", "open"))])
def test_tables_and_computing_have_their_machines(documents, cuda, ranks_of_hosts, outcomes):
    rows = [row_of(quantity, number, kernel=e04.CUDA_KERNELS[kernel], executor="cuda", bytes=MIB)
            for kernel, speedup in cuda.items() for quantity, number in (
                ("time", 1.0), ("time without copies", 1.0), ("speedup", speedup), ("ratio to compute", 2.0),
                ("ratio to compute without copies", 2.0))]
    job = {"hosts": 4, "machines": 4, "cores": 32, "oversubscribed": False} | (ranks_of_hosts or {})
    for kernel in [kernel for kernel in e04.CUDA_KERNELS if ranks_of_hosts]:
        speedup = ranks_of_hosts[kernel]
        of = dict(kernel=kernel, executor="mpi", ranks=32, bytes=MIB, **{name: job[name] for name in mpi.KIND})
        rows += [row_of("speedup", speedup, **of), row_of("time", 1.0, **of), row_of("ratio to compute", 2.0, **of)]
    rows.append(row_of("ratio to compute", 2.0, kernel="openssl", executor="sequential", threads=1, bytes=MIB))
    rows.append(row_of("ratio to compute", 2.0, kernel="tables", executor="sequential", threads=1, bytes=MIB))
    document = document_of(documents, "E4", rows)
    verdicts = [verdict_of(document, "E4", claim) for claim in ("ci-aim.tables-on-cluster", "ci-aim.architecture")]
    assert tuple(verdict.outcome for verdict in verdicts) == outcomes
    if not cuda:
        assert verdicts[0].here == ["no CUDA device was measured"]


def tables_on_device(speedups):
    """Rows of E4: {bytes: how many times as fast as one core the device's tables are}, and computing 200 times."""
    return [row_of(quantity, number, kernel=kernel, executor="cuda", bytes=size)
            for size, speedup in speedups.items() for kernel, gain in (("cuda_tables", speedup), ("cuda_compute", 200.0))
            for quantity, number in (("time", size * 1e-9), ("time without copies", size * 1e-9), ("speedup", gain),
                                     ("ratio to compute", 2.0), ("ratio to compute without copies", 2.0))]


def with_tables_in_constant_memory(document, rate, ratio):
    """The document with E17's tables in constant memory: GB/s, and how many times as fast as computing."""
    entry = threads_and_memory(document, lambda *_: rate)["experiments"]["E17"]
    for row in entry["measurements"]:
        if row["quantity"] == "ratio to compute" and row["of"]["tables"] == "constant":
            row["median"] = ratio
    document["experiments"]["E17"] = {**entry, "measurements": exact(entry["measurements"])}
    return document


@pytest.mark.parametrize("speedups, rate, outcomes, said", [
    ({MIB: 60, 15 * MIB: 80}, None, ("does not hold", "in part"),
     "16 cores of 2 machines would be slower, even if they scaled perfectly, at each size"),
    ({MIB: 12, 15 * MIB: 80}, None, ("open", "in part"), "16 cores of 2 machines may be faster or slower, at 1 MiB"),  # one is not known
    ({1024: 0.1, MIB: 60}, None, ("does not hold", "in part"), "at 1 MiB"),  # a size that the study lacks
    # One core does 1/80 GB/s with tables: 14 of them as much as the device with tables in constant memory, or 48.
    ({MIB: 60, 15 * MIB: 80}, 14 / 80, ("open", "in part"), "what 14.0 such cores do (E17), so that the answer turns"),
    ({MIB: 60, 15 * MIB: 80}, 48 / 80, ("does not hold", "in part"), "what 48.0 such cores do (E17)")])
def test_a_verdict_of_tables_turns_with_their_place(documents, speedups, rate, outcomes, said):
    document = document_of(documents, "E4", tables_on_device(speedups))
    if rate:
        document = with_tables_in_constant_memory(document, rate, 0.3)
    verdicts = [verdict_of(document, "E4", f"ci-aim.{claim}") for claim in ("tables-on-cluster", "architecture")]
    assert tuple(verdict.outcome for verdict in verdicts) == outcomes
    words = markdown.words(verdicts[0].here)
    assert ("the answer turns" in words) == ("14.0" in said)
    assert said in words and "1 KiB" not in words and "with 32 copies of each table in shared memory" in words


def test_tables_are_faster_at_sizes_of_the_study_and_in_each_memory(documents):
    rows = [row_of("ratio to compute", ratio, kernel=kernel, executor=executor, bytes=size, **of)
            for executor, of in (("sequential", {"threads": 1}), ("openmp", {"threads": 2}),
                                 ("mpi", {"ranks": 2, "oversubscribed": False}))
            for kernel in ("tables", "openssl") for size, ratio in ((1024, 0.5), (1 << 19, 3.0), (MIB, 9.0))]
    device = tables_on_device({1024: 0.1, MIB: 60})

    def verdict(rows, ratio=None):
        document = document_of(documents, "E4", rows)
        return verdict_of(with_tables_in_constant_memory(document, 1.0, ratio) if ratio else document, "E4", "ci-aim.tables-faster")
    assert verdict([*rows, *device]).outcome == "holds"
    words = markdown.words(verdict([*rows, *device]).here)
    assert "1 KiB" not in words and "9.00 times as fast as computing with 1 thread (1 MiB), at the least 3.00 times (512 KiB)" in words
    assert "CUDA with 32 copies of each table in shared memory" in words
    in_constant = verdict([*rows, *device], 0.3)
    assert in_constant.outcome == "in part"
    assert "in constant memory the device was 0.300 times as fast as computing" in markdown.words(in_constant.here)
    of_the_device = [row for row in device if row["quantity"] != "speedup"]
    for these, said in ((rows, "CUDA was not measured"), (of_the_device, "one thread was not measured"),
                        # Each kernel on one thread took turns with the device.
                        (device, "on one thread the two kernels took no turns with each other"),
                        ([*[row for row in rows if row["of"]["executor"] != "mpi"], *device], "no number of ranks above one")):
        assert verdict(these).outcome == "in part" and said in markdown.words(verdict(these).here)
    assert verdict([row for row in rows if row["of"]["bytes"] == 1024]).outcome == "open"


@pytest.mark.parametrize("ratio, half_range, outcome", [
    (2.4, 0.01, "holds"), (2.8, 0.01, "holds"), (2.8, 0.5, "in part"), (4.0, 0.01, "in part")])  # 58 %, 64 % and 75 % less
def test_a_reduction_in_a_range_is_there_with_its_rounds(documents, ratio, half_range, outcome):
    """The study's range is 56 to 62 %, and 5 points on either side."""
    rows = [row_of("ratio to compute", 100, kernel=kernel, executor=executor, bytes=MIB, **more) for executor, more in (
        ("sequential", {"threads": 1}), ("openmp", {"threads": 2}), ("mpi", {"ranks": 2, "oversubscribed": False}))
            for kernel in ("tables", "openssl")]
    rows += [row_of(quantity, ratio, half_range, kernel=kernel, executor="cuda", bytes=MIB)
             for kernel in ("cuda_compute", "cuda_tables") for quantity in (
                 "time", "time without copies", "ratio to compute", "ratio to compute without copies")]
    verdict = verdict_of(document_of(documents, "E4", rows), "E4", "ci-aim.reduction-cuda")
    assert verdict.outcome == outcome and "within 5 points of the range" in verdict.rule


def test_e7_says_to_what_direction_its_speedups_belong(documents):
    ciphers = {**dict.fromkeys(e07.CIPHERS, {MIB: 2.0, 2 * MIB: 2.0}), "des-ede3-ecb": {**BEFORE, **AT}}
    document = document_of(documents, "E7", ciphers_on_device(ciphers))
    for claim in ("speedups", "constant-speedup", "crossover", "parallel-3des-beats-aes", "3des-gains-more", "ctr-like-ecb"):
        assert "to encrypt" in markdown.words(verdict_of(document, "E7", f"pizzuti.{claim}").here), claim


def inside_a_block(documents, processor, executor="openmp", alone=()):
    """The recorded document with E9's ways on a device, and of the processor's threads, or its one, if they were measured.
    `alone`: ways and their seconds for the second size."""
    rows = []
    for split, seconds in alone:
        of = dict(split=split, executor="cuda", bytes=84992)
        rows += [row_of("time", seconds, **of), row_of("rate to across", 1e-4 / seconds, **of)]
    for size, grid, inside in ((3600, 0.05, 0.5), (84992, 1.2, 0.7), (4499968, None, 1.8)):
        for split, seconds in (("blocks", 1e-4), ("inside", inside * 1e-4), ("grid", grid)):
            of = dict(split=split, executor="cuda", bytes=size)
            if seconds is not None:
                rows += [row_of("time", seconds, **of), row_of("rate to across", 1e-4 / seconds, **of)]
        if processor and executor == "sequential":
            rows.append(row_of("time", processor, split="blocks", executor=executor, bytes=size))
        elif processor:
            rows += [row for split in ("blocks", "inside") for row in (
                row_of("time", processor, split=split, threads=2, executor=executor, bytes=size),
                row_of("rate to across", 0.5, split=split, threads=2, executor=executor, bytes=size))]
    return document_of(documents, "E9", rows)


@pytest.mark.parametrize("processor, outcome", [(None, "open"), (1e-3, "holds"), (0.1, "in part"), (9.0, "does not hold")])
def test_steps_on_a_device_are_compared_with_the_processor(documents, processor, outcome):
    verdict = verdict_of(inside_a_block(documents, processor), "E9", "meyer.no-cuda-speedup")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and "; 4.5 MB was not measured in this way" in words
    assert ("1.20 s for 85 KB, and the processor was not measured" in words) == (processor is None)


def device_table_of_e9(document):
    (table,) = [table for table in presentation(next(one for one in all_experiments() if one.name == "E9"), document)[0].tables
                if "CUDA" in table.caption]
    return {row[0]: row[1:] for row in table.rows}


@pytest.mark.parametrize("processor, outcome", [(1e-3, "holds"), (0.1, "in part"), (9.0, "does not hold")])
def test_steps_on_a_device_are_compared_with_the_one_thread_beside_them(documents, processor, outcome):
    """What the device's own program measures."""
    document = inside_a_block(documents, processor, "sequential")
    verdict = verdict_of(document, "E9", "meyer.no-cuda-speedup")
    words = markdown.words([*verdict.here, verdict.rule])
    assert verdict.outcome == outcome and "times as long as one thread across blocks (85 KB)" in words
    assert "longer than one thread at each size" in words and values.shown(1.2 / processor) in words
    assert [float(cell) for cell in device_table_of_e9(document)["one thread of the processor, across blocks"]] == [processor] * 3


def test_ways_that_were_too_slow_for_the_largest_size_are_named(documents):
    for claim in ("no-cuda-speedup", "cuda-overhead-grows"):
        verdict = verdict_of(inside_a_block(documents, 1e-3), "E9", f"meyer.{claim}")
        assert verdict.outcome == "holds" and "; 4.5 MB was not measured in this way" in markdown.words(verdict.here)


@pytest.mark.parametrize("seconds, outcome", [
    ((0.05, 1.2), "holds"), ((0.05, 0.05), "in part"), ((1e-4, 1e-4), "does not hold"), ((0.377, 1.05), "holds")])  # the last are the study's
def test_overhead_that_is_of_the_whole_does_not_grow_with_the_data(documents, seconds, outcome):
    """E9: a way that takes a fixed time more is behind by more, the less the other takes for a byte, and grows with nothing."""
    document = inside_a_block(documents, None)
    for row in document["experiments"]["E9"]["measurements"]:
        if row["of"]["split"] == "grid":
            number = seconds[0 if row["of"]["bytes"] == 3600 else 1]
            row |= dict.fromkeys(("median", "min", "max"), number if row["quantity"] == "time" else 1e-4 / number)
    verdict = verdict_of(document, "E9", "meyer.cuda-overhead-grows")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome
    # From what it tells a reader can compute by how much.
    small, large = (f"{values.shown(number)} s for {size}, {values.shown(number / 1e-4)} times as long" for number, size in zip(
        seconds, ("3.6 KB", "85 KB")))
    assert f"the device took {small} as with many blocks in a launch, and {large}" in words
    rest = (seconds[1] - 1e-4) / (seconds[0] - 1e-4) if outcome != "does not hold" else None
    assert (f"the overhead for 85 KB was {rest and values.shown(rest)} times that for 3.6 KB" in words) == (rest is not None)


@pytest.mark.parametrize("copies, outcome, said", [
    (0.6, "holds", None), (0.5, "holds", None), (0.3, "in part", "what fails the rule: half as long"),
    (1e-4, "does not hold", None)])
def test_copies_without_launches_say_what_copies_cost(documents, copies, outcome, said):
    """On a device that takes 1 s with both for 85 KB, and 0.00007 s with neither."""
    document = inside_a_block(documents, None, alone=(("steps", 1.0), ("copies", copies), ("launches", 0.4)))
    verdict = verdict_of(document, "E9", "meyer.transfers-reason")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome and (said is None or said in words)
    took = [values.shown(seconds / 0.7e-4) for seconds in (copies, 0.4, 1.0)]
    assert words.startswith("for 85 KB,") and ("{} with a copy for each block, {} with a launch for each step of each block, {} with such copies "
                                               "and such launches").format(*took) in words
    assert f"of the time with both, that with the copies alone is {values.shown(100 * copies)} %" in words
    assert {e09.CUDA_NAMES[split] for split in ("copies", "launches", "steps", "grid")} <= set(device_table_of_e9(document))


def test_copies_that_go_with_launches_judge_nothing(documents):
    verdict = verdict_of(inside_a_block(documents, None), "E9", "meyer.transfers-reason")
    assert verdict.outcome == "open" and "differ in the launches that each block has as well" in markdown.words(verdict.here)


def test_threads_inside_a_block_are_told_at_each_size(documents):
    verdict = verdict_of(inside_a_block(documents, None), "E9", "meyer.outlook-blocks")
    assert "took 0.500 times as long as a thread to a block at 3.6 KB, 0.700 times at 85 KB, 1.80 times at 4.5 MB" in markdown.words(
        verdict.here)


def test_keystream_in_a_vault_is_compared_under_an_iv_of_the_same_kind(documents):
    """E14: a random IV costs more than a numbered one, which is no matter of keystream."""
    seconds = {"random": 3000.0, "numbered": 2000.0, "ahead": 2000.0, "ready": 4000.0}

    def change(rows):
        changed = []
        for row in rows:
            if row["quantity"] == "seal p50":
                row = {name: value for name, value in row.items() if name not in ("min", "max")}
                row["median"] = seconds[row["of"]["way"]]
            elif row["quantity"] == "write ratio":
                row = {**row, "median": 1.2, "min": 1.1, "max": 1.3}
            changed.append(row)
        return changed

    words = markdown.words(verdict_of(lab_with(documents, "E14", change), "E14", "waeslib.outlook-file-system").here)
    assert "0.500 times as fast with `aesni`" in words and "under an IV of the same kind" in words
    assert "this result has not kept the range" in words


def test_e7_measures_both_directions(monkeypatch):
    asked = []

    def fake(kind, *arguments, **_):
        options = dict(zip(arguments[::2], arguments[1::2]))
        asked.append((options["--kernel"], options["--direction"], int(options["--size"])))
        assert options["--cipher"] == "aes-256-ecb,aes-256-ctr,des-ede3-ecb,des-ede3-ctr"
        return {"results": []}
    monkeypatch.setattr(contests.programs, "paes_bench", fake)
    monkeypatch.setattr(e07.device, "measure_too", lambda lab, name: None)
    e07.measure(quiet_lab(quick=False))
    by_direction = [[(kernel, size) for kernel, way, size in asked if way == direction] for direction in e07.DIRECTIONS]
    assert by_direction[0] == by_direction[1] and len(by_direction[0]) == 11
    asked.clear()
    e07.measure(quiet_lab())
    assert {kernel for kernel, direction, _ in asked if direction == "decrypt"} == {"compute", "auto"}


def ciphers_on_device(speedups, seconds=None):
    """Rows of E7: {cipher: {bytes: speedup}} in buffers of 512 KiB from pageable memory, and a thread beside them."""
    rows = []
    for cipher, by_size in speedups.items():
        for size, speedup in by_size.items():
            way = dict(way="buffers", buffer_bytes=1 << 19) if size > 1 << 19 else dict(way="whole")
            thread = (seconds or {}).get(cipher, 1.0)
            of = dict(cipher=cipher, direction="encrypt", choice="compute", bytes=size)
            rows += [row_of("time", thread, executor="sequential", kernel="compute", **of),
                     row_of("rate to aes-256-ecb", 1 / thread, executor="sequential", kernel="compute", **of)]
            # What the same text took from pinned memory must judge nothing.
            for memory, factor in (("pageable", 1), ("pinned", 1000)):
                mine = dict(executor="cuda", kernel="cuda_compute", memory=memory, **of, **way)
                rows += [row_of("time", thread / speedup / factor, **mine), row_of("speedup", speedup * factor, **mine),
                         row_of("rate to aes-256-ecb", 1.0, **mine)]
    return rows


def e7_verdict(documents, claim, speedups, seconds=None):
    ciphers = {**dict.fromkeys(e07.CIPHERS, {MIB: 1.0}), **speedups}
    return verdict_of(document_of(documents, "E7", ciphers_on_device(ciphers, seconds)), "E7", claim)


KIB = 1 << 10
BEFORE, AT = {256: 0.2, KIB: 0.4, 2 * KIB: 0.7}, {64 * KIB: 5.0, 512 * KIB: 6.0, MIB: 6.1}


@pytest.mark.parametrize("des, aes, outcome", [
    ({MIB: 12.5, 16 * MIB: 13.0}, {MIB: 6.0, 16 * MIB: 6.1}, "holds"),
    ({MIB: 12.5, 16 * MIB: 13.0}, {MIB: 6.0, 16 * MIB: 9.0}, "in part"),
    ({MIB: 12.5, 16 * MIB: 40.0}, {MIB: 6.0, 16 * MIB: 9.0}, "does not hold"),
    ({64 * KIB: 3.0, 512 * KIB: 12.5, MIB: 13.0}, {64 * KIB: 3.0, 512 * KIB: 6.0, MIB: 6.1}, "holds"),
    ({64 * KIB: 3.0, MIB: 13.0}, {64 * KIB: 3.0, MIB: 6.1}, "open")])
def test_a_speedup_that_stays_is_the_same_from_a_buffer_on(documents, des, aes, outcome):
    verdict = e7_verdict(documents, "pizzuti.constant-speedup", {"des-ede3-ecb": des, "aes-256-ecb": aes})
    assert verdict.outcome == outcome
    assert outcome == "open" or "in buffers of 512 KiB from pageable memory" in markdown.words(verdict.here)


@pytest.mark.parametrize("des, aes, outcome", [
    ({**BEFORE, 4 * KIB: 1.5, 8 * KIB: 2.0, **AT}, {**BEFORE, 4 * KIB: 0.8, 8 * KIB: 1.5, **AT}, "holds"),
    ({256: 0.5, KIB: 1.5, 4 * KIB: 3.0, **AT}, {256: 0.4, KIB: 0.8, 2 * KIB: 1.5, **AT}, "in part"),
    # 3 % are no difference: 2 KiB may be either, and the claimed size lies there.
    ({256: 0.5, KIB: 0.6, 2 * KIB: 1.03, 4 * KIB: 3.0, **AT}, {**BEFORE, 4 * KIB: 0.8, 8 * KIB: 1.5, **AT}, "holds"),
    ({256: 0.5, KIB: 0.6, 2 * KIB: 0.97, 4 * KIB: 0.97, 8 * KIB: 3.0, **AT},
     {**BEFORE, 4 * KIB: 0.8, 8 * KIB: 0.98, 64 * KIB: 5.0, 512 * KIB: 6.0}, "holds"),
    ({256: 0.5, 4 * KIB: 0.97, 8 * KIB: 0.97, **AT}, {**BEFORE, 16 * KIB: 0.97, **AT}, "holds"),
    ({KIB: 1.5, 4 * KIB: 3.0, **AT}, {KIB: 2.0, 2 * KIB: 2.5, **AT}, "does not hold")])
def test_where_a_device_gets_faster_is_between_sizes(documents, des, aes, outcome):
    verdict = e7_verdict(documents, "pizzuti.crossover", {"des-ede3-ecb": des, "aes-256-ecb": aes})
    assert verdict.outcome == outcome, markdown.words(verdict.here)


def test_the_published_crossover_stands_beside_ours(documents):
    rows = ciphers_on_device({**dict.fromkeys(e07.CIPHERS, {MIB: 2.0}), "aes-256-ecb": {**BEFORE, 4 * KIB: 1.5, **AT},
                              "des-ede3-ecb": {**BEFORE, **AT}})
    (experiment,) = [one for one in all_experiments() if one.name == "E7"]
    shown = presentation(experiment, document_of(documents, "E7", rows))[0]
    (panel,) = [panel for panel in shown.panels if panel.title.startswith("Where CUDA")]
    drawn = {series.label: dict(zip(series.xs, map(float, series.ys))) for series in panel.series}
    assert drawn == {"one core was faster up to": {"3DES": 2, "AES-256": 2},
                     "CUDA was faster from": {"3DES": 64, "AES-256": 4},  # KiB
                     "Pizzuti et al.: 3DES": {"3DES": 4}, "Pizzuti et al.: AES-256": {"AES-256": 8}}


@pytest.mark.parametrize("speedup, outcome", [(12.5, "holds"), (10.3, "does not hold"), (5.0, "does not hold")])
def test_parallel_3des_is_compared_with_sequential_aes(documents, speedup, outcome):
    verdict = e7_verdict(documents, "pizzuti.parallel-3des-beats-aes", {"des-ede3-ecb": {MIB: speedup}},
                         seconds={"des-ede3-ecb": 10.0})
    assert verdict.outcome == outcome


def test_what_was_not_run_has_no_verdict(documents):
    document = of_all_experiments(documents)
    del document["experiments"]["E8"]
    assert {verdict.outcome for verdict in presentation(next(one for one in all_experiments() if one.name == "E8"),
                                                        document)[0].verdicts.values()} == {"open"}
    assert Measured("E8", document).find() == []


def test_the_page_tells_by_what_rules_parts_are_joined():
    """docs/reproducing.md has a sentence for each case of judged(), and says what a run's requests judge."""
    text = " ".join((ROOT / "docs" / "reproducing.md").read_text().split())
    for parts, missing, outcome, said in (
            ([True, False], [], "in part", "holds in part if one of them holds and another fails or is left open"),
            ([True, None], [], "in part", "holds in part if one of them holds and another fails or is left open"),
            ([False, None], [], "open", "If none holds, it does not hold if all that were measured fail, and is left open otherwise."),
            ([False], ["more"], "does not hold", "what was measured decides whether it fails"),
            ([True], ["more"], "in part", "was not measured, it holds in part at the most")):
        assert judged([(str(part), part) for part in parts], [], "a rule", missing).outcome == outcome
        assert said in text
    assert "a measurement that leaves a claim open does not count against another" in text
    assert "how a call changes within a run judges nothing" in text
    assert "the doubt is added to the limit and not taken off the figure" in text
    assert judgement.is_at_least(40, 30, 0.34) is None and judgement.is_at_least(40.5, 30, 0.34) is True


def test_a_reason_says_only_what_the_experiment_of_the_claim_does():
    assert "at its third size at most" in claims.claim("meyer.timeout").untested
    assert "and E18 tests it" in claims.claim("pousa.asymmetric-traits").untested


# What of docs/reproducing.md is no block of `./dev numbers`: figures of our own programs and their options.
OURS_BY_HAND = re.compile(
    r"E\d+|rank 0|AES-\d+|3DES|ChaCha20|X25519|\d+ (KiB|GiB|KB|MB)\b|10 ms|1?5 %|32 copies|GF\(2\^8\)|128 and 256 bits|16 threads|a window of 16 chunks")


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


def threads_and_memory(document, rate, held=lambda count: 2048):
    """The document with figures of E17: rate(place, threads that a multiprocessor holds, threads a block), and
    held(threads a block) with as many thread blocks as there is room for."""
    rows = []
    for place, blocks, count in itertools.product(e17.PLACES, e17.BLOCKS, (64, 128, 256, 512, 1024)):
        of = {"tables": place, "blocks": blocks, "threads_a_block": count, "bytes": MIB}
        on_one = count if blocks == "one" else held(count)
        rows += [{"of": of, "quantity": e17.HELD, "unit": "count", "median": on_one, "rounds": 1},
                 {"of": of, "quantity": e17.RATE, "unit": "GB/s", "median": rate(place, on_one, count), "rounds": 5},
                 {"of": of, "quantity": "ratio to compute", "unit": "ratio", "median": 1.0, "rounds": 5}]
    rows += [{"of": {"kernel": kernel, "streams": count, "bytes": MIB}, "quantity": quantity, "unit": unit,
              "median": median, "rounds": 5}
             for kernel, count in itertools.product(e17.KERNELS, (1, 8))
             for quantity, unit, median in (("rate", "GB/s", 4.0 + count), ("rate to one stream", "ratio", count / 4))]
    rows.append({"of": {"tables": "banks"}, "quantity": e17.RATE, "unit": "GB/s", "median": 500.0, "rounds": 5})
    document = copy.deepcopy(document)
    document["experiments"]["E17"] = {"outcome": "measured", "date": "2026-11-27T00:00:00Z", "seconds": 1.0,
                                      "measurements": exact(rows), "left_out": [], "others": 0.0}
    return document


@pytest.mark.parametrize("rate, outcome", [
    # Tables gain from each doubling, computing no more beyond 512 threads.
    (lambda place, on_one, count: min(on_one, 512) if place == "compute" else on_one, "holds"),
    # Nothing gains at the end.
    (lambda place, on_one, count: min(on_one, 512), "does not hold"),
    # All gain alike, so that it is no matter of tables.
    (lambda place, on_one, count: on_one, "does not hold"),
    # By what other programs may have made it.
    (lambda place, on_one, count: min(on_one, 512) * (1.02 if on_one > 1024 and place != "compute" else 1), "does not hold"),
    (lambda place, on_one, count: on_one if place == "global" else min(on_one, 512), "in part"),
    # Few threads leave some to be hidden, and many leave none.
    (lambda place, on_one, count: min(on_one, 64 if place == "compute" else 512), "in part"),
    # What fewer threads leave than a thread block of the study has says nothing of the study.
    (lambda place, on_one, count: min(on_one, 64 if place == "compute" else 256), "does not hold")])
def test_latency_is_what_more_threads_hide(documents, rate, outcome):
    document = threads_and_memory(documents[0], rate)
    verdict = verdict_of(document, "E17", "ci-aim.latency-reason")
    assert verdict.outcome == outcome
    assert "what is not faster leaves none" in verdict.rule
    words = markdown.words(verdict.here)
    assert "128 threads" not in words and len(words) < 1400


@pytest.mark.parametrize("on_device, on_a_core, outcome", [(1.0, 11.0, "holds"), (18.0, 11.0, "does not hold"), (1.0, None, "in part")])
def test_latency_is_a_reason_where_a_device_gains_less_than_a_core(documents, on_device, on_a_core, outcome):
    """E17 printed that tables gain more on the device than on a core, and judged why they gain less."""
    document = threads_and_memory(documents[0], lambda place, on_one, count: min(on_one, 512) if place == "compute" else on_one)
    for row in document["experiments"]["E17"]["measurements"]:
        if row["quantity"] == "ratio to compute":
            row["median"] = on_device
    rows = [row_of("ratio to compute", 2.0, kernel="cuda_tables", executor="cuda", bytes=MIB),
            row_of("speedup", 40.0, kernel="cuda_tables", executor="cuda", bytes=MIB),
            row_of("speedup", 20 * on_a_core, kernel="cuda_compute", executor="cuda", bytes=MIB)] if on_a_core else []
    document["experiments"]["E4"] = {**document["experiments"]["E4"], "measurements": rows, "others": 0.0}
    verdict = verdict_of(document, "E17", "ci-aim.latency-reason")
    words = markdown.words(verdict.here)
    assert verdict.outcome == outcome
    assert ("what tables gain on one core was not measured" if on_a_core is None else
            "and 11.0 on one core (1 MiB, E4), which is taken through the device: on that core each of the two kernels took turns with") in words


def test_doublings_are_of_what_a_multiprocessor_can_hold(documents):
    """Thread blocks of one size: of 512 threads a multiprocessor that holds 1280 has room for two, and of 1024 for one."""
    document = threads_and_memory(documents[0], lambda place, on_one, count: float(on_one),
                                  lambda count: 1280 if count <= 256 else 1024)
    words = markdown.words(verdict_of(document, "E17", "ci-aim.latency-reason").here)
    assert "blocks of 256 threads as there was room for were so many times as fast as one: 5.00 with every step computed, 5.00" in words
    assert "blocks of 512 threads as there was room for were so many times as fast as one: 2.00 with every step computed" in words
    assert "1024 threads" not in words
    assert words.startswith("with 256 threads a block tables were as many times as fast as computing: 1.00 in constant memory")


@pytest.mark.parametrize("best, places, outcome", [
    ({256}, e17.PLACES, "holds"), ({512}, e17.PLACES, "in part"), ({128, 256}, e17.PLACES, "holds"),
    (set(), e17.PLACES, "does not hold"),
    ({256}, ["constant"], "in part")])  # elsewhere no number is best
def test_the_best_number_of_threads_a_block(documents, best, places, outcome):
    """It matters, and it is 256, with computing and with tables in each memory. With an empty set, all do as well."""
    document = threads_and_memory(documents[0], lambda place, on_one, count: 20.0 if count in best and place in places else 10.0)
    verdict = verdict_of(document, "E17", "ci-aim.threads-a-block")
    assert verdict.outcome == outcome
    assert ("256 for every step computed" in markdown.words(verdict.here)) == (outcome == "in part")


def test_figures_of_a_known_gpu_stand_beside_its_bounds(documents):
    document = threads_and_memory(documents[0], lambda place, on_one, count: 10.0)
    document["devices"]["cuda"] |= {"available": True, "devices": [{"name": "NVIDIA H200"}]}
    (experiment,) = [one for one in all_experiments() if one.name == "E17"]
    (table,) = [table for table in presentation(experiment, document)[0].tables if "beside its bound on H200" in table.caption]
    for _, most, limit, share in table.rows:
        assert float(share) == pytest.approx(100 * float(most) / float(limit))
    document["devices"]["cuda"]["devices"][0]["name"] = "Another GPU"
    assert not any("beside" in table.caption for table in presentation(experiment, document)[0].tables)
