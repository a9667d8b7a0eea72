# SPDX-License-Identifier: Apache-2.0
"""What the page and the Markdown summary show of an experiment's measurements in one result file."""
import itertools
from dataclasses import replace

from . import claims, parameters
from .experiment import OURS, Measured, Shown, Verdict, separated, spread_of
from .judgement import BUSY, DISTURBED, JUDGED, known
from .results import LEFT_OUT
from .values import Value

MISSING = "\u2014"
NOT_RUN = "it was not run"


def presentation(experiment, document, asked=None):
    """(Shown, entry) of one experiment in one file; Shown has all of the experiment's verdicts. Each measurement
    that the experiment uses is added to the set `asked` as (name of the experiment, index, member)."""
    entry = document["experiments"].get(experiment.name)
    if entry is None:
        entry = {"outcome": "unavailable", "reason": NOT_RUN, "measurements": [], "left_out": []}
    is_derived = entry["outcome"] == "derived"
    measured = Measured(experiment.uses if is_derived else experiment.name, document, asked)
    is_open = entry["outcome"] in ("unavailable", LEFT_OUT, "failed")
    has_figures = not is_open or entry["measurements"] or experiment.bare
    shown_ = experiment.show(measured) if has_figures else Shown({})
    if experiment.beside is not None:
        shown_.counterparts = list(experiment.beside(measured))
    if is_open:
        shown_.verdicts = {name: Verdict("open", [entry["reason"]]) for name in experiment.verdicts}
    shown_.verdicts = {name: told(verdict, measured) for name, verdict in shown_.verdicts.items()}
    share = others(experiment, document)
    if share and float(share) > 100 * DISTURBED:
        for verdict in shown_.verdicts.values():
            if not measured.are_of_device(verdict.figures):
                verdict.outcome = "open" if verdict.outcome == "open" else "disturbed"
    return shown_, entry


def told(verdict, measured):
    """A verdict with the range of its rounds, or why its figures do not carry it."""
    measured.places_of(verdict.named)  # a distilled result keeps the ranges of all figures that are named
    carried = of_several_rounds(verdict, measured)
    return with_spread(verdict, measured) if carried is verdict else carried


def of_several_rounds(verdict, measured):
    """A verdict, which is open if its figures do not carry it: if one is of a single round, which a count may be, or if
    all that it answers with are ratios whose rounds lie on both sides of one."""
    rows = [measured.row(place) for place in measured.places_of(verdict.figures)]
    if verdict.outcome in JUDGED and any(row["rounds"] < 2 and row["unit"] != "count" for row in rows):
        return replace(verdict, outcome="open", here=[*verdict.here, "; one round says nothing of the spread"])
    ratios = [row for row in rows if row["unit"] == "ratio" and "min" in row]
    if verdict.outcome in ("ours", "answered") and ratios and all(row["min"] < 1 < row["max"] for row in ratios):
        is_all = all("min" in row or row["unit"] == "count" for row in rows)
        return replace(verdict, outcome="open", here=[
            *verdict.here, "; every ratio that is named here is above one in some rounds and below it in others, which settles nothing"
            if is_all else "; each ratio with a range is above one in some rounds and below it in others, which settles nothing, and "
            "the others were not measured by rounds"])
    return verdict


def with_spread(verdict, measured):
    """A verdict that judges or answers, or that a rule leaves open, with the widest half range of the rounds among the figures
    that its rule compares, or that an answer names without their range."""
    is_judged = verdict.outcome in JUDGED or verdict.outcome == "open" and verdict.rule
    if not is_judged and verdict.outcome not in ("ours", "answered"):
        return verdict
    told = [] if is_judged else [part for part in verdict.figures
                                 if any(source.endswith(("/min", "/max")) for source in part.sources)]
    spreads = {place: spread_of(measured.row(place)) for place in measured.places_of(verdict.figures)
               if measured.row(place)["unit"] != "count" and place not in measured.places_of(told)}
    kept = {place: spread for place, spread in spreads.items() if spread is not None}
    here = list(verdict.here)
    if kept:
        here += ["; half the range of the rounds is at most ", measured.spread(max(kept, key=kept.get)),
                 f" % of {'each of the other figures' if told else 'a figure'}"]
    if None in spreads.values():
        here.append(f"; of {'some' if kept else 'the other' if told else 'these'} figures this result has not kept the "
                    f"range{f', for which {100 * known(None):.0f} % stand' if is_judged else ''}")
    return replace(verdict, here=[*here, *nearest(verdict)] if is_judged else here)


def nearest(verdict):
    """Which comparison of a rule comes nearest to another answer, by how much, and its doubt."""
    found = verdict.nearest
    if found is None:
        return []
    return ["; the comparison nearest to its limit, of ", *separated([[value] for value in found.values], " and "), ", is ",
            found.away, " % from it, and its doubt is ", found.doubt, " %"]


def grouped(shown_):
    """(names, verdict): what has the same verdict by the same figures, together."""
    for _, group in itertools.groupby(shown_.verdicts.items(), lambda item: (item[1].outcome, item[1].here, item[1].rule)):
        names, verdicts = zip(*group)
        yield names, verdicts[0]


def asked_for(experiment, name):
    """(source, parts of a sentence): the claim that a verdict is about, or the question of ours."""
    if name == OURS:
        return "We asked", (experiment.asks,)
    claim = claims.claim(name)
    return claim.source, claim.says


def measured_as(experiment, document):
    """The name of the experiment whose measurements it shows."""
    is_derived = document["experiments"].get(experiment.name, {}).get("outcome") == "derived"
    return experiment.uses if is_derived else experiment.name


def others(experiment, document):
    """The percentage of the processors that other programs used meanwhile; None if it is unknown."""
    name = measured_as(experiment, document)
    share = document["experiments"].get(name, {}).get("others")
    return None if share is None else Value(100 * share, (f"entry:{name}/others",), "percent")


def disturbance(experiment, document):
    """What is to be said of other programs that used the processors meanwhile, as parts of a sentence."""
    if not document["experiments"].get(measured_as(experiment, document), {}).get("measurements"):
        return ()
    share = others(experiment, document)
    if share is None:
        return ("how much of the processors other programs used was not recorded, and ", f"{100 * known(None):.0f}",
                " % stands for it; it does not matter to figures that a device times by its own clock")
    return ("other programs used ", share, " % of the processors") if float(share) > 100 * BUSY else ()


def commit_of(experiment, document):
    """The commit that measured an experiment, if it is not the file's; empty otherwise."""
    entries = document["experiments"]
    entry = entries.get(experiment.name, {})
    if entry.get("outcome") == "derived":
        entry = entries.get(experiment.uses, {})
    commit = entry.get("commit", "") if entry.get("measurements") else ""
    return "" if commit == document["machine"].get("commit") else commit


def chosen(experiment, document):
    """The parameters that the user chose for an experiment, in words; empty if there are none."""
    entries = document["experiments"]
    entry = entries.get(experiment.name, {})
    if entry.get("outcome") == "derived":
        entry = entries.get(experiment.uses, {})
    return parameters.said(entry.get("chosen", {}))


def title_of(document):
    machine = document["machine"]
    if document["effort"] == "gpu":  # a result of `./dev gpu`, which measures the device
        return f"{document['devices']['cuda']['devices'][0]['name']}; {machine['cpu']}"
    return f"{machine['cpu']}, {machine['cores']} core{'' if machine['cores'] == 1 else 's'}"


def gpu(document):
    cuda = document["devices"]["cuda"]
    if not cuda["devices"]:
        return f"none: {cuda['reason']}"
    driver = f", driver {document['driver']}" if "driver" in document else ""
    return ", ".join(device["name"] for device in cuda["devices"]) + driver
