# SPDX-License-Identifier: Apache-2.0
"""What the page and the Markdown summary show of an experiment's measurements in one result file."""
import itertools

from . import claims, parameters
from .experiment import OURS, Measured, Shown, Verdict
from .judgement import DISTURBED, JUDGED
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
    shown_.verdicts = {name: of_several_rounds(verdict, document) for name, verdict in shown_.verdicts.items()}
    share = others(experiment, document)
    if share and float(share) > 100 * DISTURBED:
        for verdict in shown_.verdicts.values():
            verdict.outcome = "open" if verdict.outcome == "open" else "disturbed"
    return shown_, entry


def of_several_rounds(verdict, document):
    """A verdict, which is open if a figure of it is of a single round. A count is the same in each round."""
    sources = [source.partition(":") for part in verdict.here if isinstance(part, Value) for source in part.sources]
    places = [place.split("/") for kind, _, place in sources if kind == "measured"]
    rows = [document["experiments"][name]["measurements"][int(index)] for name, index, _ in places]
    if verdict.outcome in JUDGED and any(row["rounds"] < 2 and row["unit"] != "count" for row in rows):
        return Verdict("open", [*verdict.here, "; one round says nothing of the spread"])
    return verdict


def grouped(shown_):
    """(names, verdict): what has the same verdict by the same figures, together."""
    for _, group in itertools.groupby(shown_.verdicts.items(), lambda item: (item[1].outcome, item[1].here)):
        names, verdicts = zip(*group)
        yield names, verdicts[0]


def asked_for(experiment, name):
    """(source, parts of a sentence): the claim that a verdict is about, or the question of ours."""
    if name == OURS:
        return "We asked", (experiment.asks,)
    claim = claims.claim(name)
    return claim.source, claim.says


def others(experiment, document):
    """The percentage of the processors that other programs used meanwhile; None if it is unknown."""
    name = experiment.name
    if document["experiments"].get(name, {}).get("outcome") == "derived":
        name = experiment.uses
    share = document["experiments"].get(name, {}).get("others")
    return None if share is None else Value(100 * share, (f"entry:{name}/others",), "percent")


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
