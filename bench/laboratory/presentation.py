"""What an experiment's measurements in one result file come to, for the page and for Markdown."""
from .experiment import Measured
from .values import Value

OUTCOMES = {"holds": "holds here", "in part": "holds here in part", "does not hold": "does not hold here",
            "answered": "asked by the study, answered here", "open": "cannot be said here"}
MISSING = "\u2014"
BUSY = 0.05  # of the processors, above which it is said


def presentation(experiment, document):
    """(Measured, Shown, entry) of one experiment in one file; Shown also where nothing was measured."""
    entry = document["experiments"].get(experiment.name)
    if entry is None:
        entry = {"outcome": "unavailable", "reason": "it was not run", "measurements": [], "left_out": []}
    if entry["outcome"] == "derived":
        used = document["experiments"][experiment.uses]
        measured = Measured(experiment.uses, used, document["machine"])
    else:
        measured = Measured(experiment.name, entry, document["machine"])
    if entry["outcome"] in ("unavailable", "failed") and not (entry["measurements"] or experiment.bare):
        return None, entry
    return experiment.show(measured), entry


def others(experiment, entry):
    return Value(100 * entry["others"], (f"entry:{experiment.name}/others",), "percent")


def title_of(document):
    machine = document["machine"]
    return f"{machine['cpu']}, {machine['cores']} core{'' if machine['cores'] == 1 else 's'}"


def gpu(document):
    cuda = document["devices"]["cuda"]
    return ", ".join(device["name"] for device in cuda["devices"]) or f"none: {cuda['reason']}"
