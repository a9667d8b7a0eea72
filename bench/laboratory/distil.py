"""What of a result is committed: what documents and the report are made of, with rounded figures and rows in
tables (tables.py). Distilling such a document once more changes nothing."""
from . import markdown, tables
from .presentation import presentation
from .results import ResultError
from .values import shown

DIGITS = 6

# What documents use of a row, for programs that print much more.
USED = {
    "bench speculate": {
        "cipher", "kernel", "clients", "workers", "delay_us", "window_chunks", "request_bytes", "requests", "rounds",
        "direct/encrypt/p50_ns", "speculative/encrypt/p50_ns", "speculative/schedule/p50_ns", "speculative/hit_rate",
        "throughput_ratio/median", "p50_ratio/median"},
}
# What every measurement of the lab keeps; its range only if the report shows it.
ALWAYS = {"of", "quantity", "unit", "median", "rounds"}


def rounded(document):
    """With all numbers that are not whole in DIGITS digits."""
    if isinstance(document, dict):
        return {name: rounded(value) for name, value in document.items()}
    if isinstance(document, list):
        return [rounded(value) for value in document]
    if not isinstance(document, float):
        return document
    short = float(f"{document:.{DIGITS}g}")
    # Documents round to three digits: rounding twice may lead elsewhere than rounding once.
    return short if shown(short) == shown(document) else document


def used_members(row, used, above=""):
    kept = {}
    for name, value in row.items():
        path = above + name
        if path in used:
            kept[name] = value
        elif isinstance(value, dict) and (inner := used_members(value, used, f"{path}/")):
            kept[name] = inner
    return kept


def used_measurements(document, experiments):
    """The lab's document with the measurements that its report asks for, and no others."""
    asked = set()
    for experiment in experiments:
        presentation(experiment, document, asked)
    kept = {}
    for name, entry in document["experiments"].items():
        kept[name] = {**entry, "measurements": [
            {member: value for member, value in row.items() if member in ALWAYS or (name, index, member) in asked}
            for index, row in enumerate(entry["measurements"]) if (name, index, "median") in asked]}
    cuda = {member: document["devices"]["cuda"][member] for member in ("available", "reason", "devices")}
    return {**document, "devices": {"cuda": cuda}, "experiments": kept}


def of_lab(document, experiments):
    """Throws ResultError where the report of what is kept would say something else."""
    report = markdown.make(experiments, [document])
    kept = used_measurements(document, experiments)
    # Not rounded, if a number that is made of two would change.
    for candidate in (rounded(kept), kept):
        if markdown.make(experiments, [candidate]) == report:
            return candidate
    raise ResultError("what its report asks for is not enough to make the same report")


def distilled(document, experiments):
    """The document that is committed for this one, or for each of a list. `experiments`: the lab's."""
    if isinstance(document, list):
        return [distilled(one, experiments) for one in document]
    document = tables.unpack(document)
    if document["command"] == "lab":
        return tables.pack(of_lab(document, experiments))
    if document["command"] in USED:
        used = USED[document["command"]]
        document = {**document, "results": [used_members(row, used) for row in document["results"]]}
    return tables.pack(rounded(document))
