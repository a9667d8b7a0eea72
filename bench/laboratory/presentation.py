# SPDX-License-Identifier: Apache-2.0
"""What the page and the Markdown summary show of an experiment's measurements in one result file."""
from .experiment import Measured
from .values import Value

OUTCOMES = {"holds": "holds here", "in part": "holds here in part", "does not hold": "does not hold here",
            "answered": "asked by the study, answered here", "open": "cannot be said here",
            "disturbed": "not judged, for others used the processors"}
JUDGED = ("holds", "in part", "does not hold")
MISSING = "\u2014"
# The share of the processors that other programs used meanwhile. Above BUSY, the report mentions it; above DISTURBED, it judges no finding
# by the figures.
BUSY = 0.05
DISTURBED = 0.15


def presentation(experiment, document, asked=None):
    """(Shown, entry) of one experiment in one file; Shown is None if there is nothing to show. Each measurement that the experiment uses is
    added to the set `asked` as (name of the experiment, index, member)."""
    entry = document["experiments"].get(experiment.name)
    if entry is None:
        entry = {"outcome": "unavailable", "reason": "it was not run", "measurements": [], "left_out": []}
    if entry["outcome"] == "derived":
        used = document["experiments"][experiment.uses]
        measured = Measured(experiment.uses, used, document["machine"], asked)
    else:
        measured = Measured(experiment.name, entry, document["machine"], asked)
    if entry["outcome"] in ("unavailable", "failed") and not (entry["measurements"] or experiment.bare):
        return None, entry
    shown_ = experiment.show(measured)
    share = others(experiment, document)
    if share and float(share) > 100 * DISTURBED and shown_.outcome in JUDGED:
        shown_.outcome = "disturbed"
    return shown_, entry


def others(experiment, document):
    """The percentage of the processors that other programs used meanwhile; None if it is unknown."""
    name = experiment.name
    if document["experiments"].get(name, {}).get("outcome") == "derived":
        name = experiment.uses
    share = document["experiments"].get(name, {}).get("others")
    return None if share is None else Value(100 * share, (f"entry:{name}/others",), "percent")


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
