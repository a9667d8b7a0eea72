# SPDX-License-Identifier: Apache-2.0
"""Makes the document that is committed from a full result. It keeps what documents and the report use, rounds the figures, and stores rows
as tables (tables.py). Distilling the result again changes nothing."""
from . import device, markdown, tables
from .presentation import presentation
from .results import ResultError
from .values import shown

DIGITS = 6

# For programs that print many members: those that documents use.
USED = {
    "bench speculate": {
        "cipher", "kernel", "clients", "workers", "delay_us", "window_chunks", "request_bytes", "requests", "rounds",
        "direct/encrypt/p50_ns", "speculative/encrypt/p50_ns", "speculative/schedule/p50_ns", "speculative/hit_rate",
        "throughput_ratio/median", "p50_ratio/median"},
}
# A measurement of the lab keeps these, and its range only if the report shows it.
ALWAYS = {"of", "quantity", "unit", "median", "rounds"}


def rounded(document):
    """The document with DIGITS digits in each number that is not an integer."""
    if isinstance(document, dict):
        return {name: rounded(value) for name, value in document.items()}
    if isinstance(document, list):
        return [rounded(value) for value in document]
    if not isinstance(document, float):
        return document
    short = float(f"{document:.{DIGITS}g}")
    # Documents show three digits, and rounding twice may change them: 1.2349999 is shown as 1.23, but 1.235 as 1.24.
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
    """The lab's document without the measurements that its report does not use."""
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
    """The distilled document before its rows become tables. Throws ResultError if its report would differ."""
    return first_alike(document, used_measurements, experiments, lambda candidate: candidate)


def of_device(document, experiments):
    """The distilled document of `./dev gpu`, likewise. What it has of the lab's experiments is kept if the report
    uses it."""
    return first_alike(document, used_of_device, experiments, device.as_lab_result)


def used_of_device(document, experiments):
    """The document of `./dev gpu` without the measurements that its report does not use."""
    kept = used_measurements(device.as_lab_result(document), experiments)["experiments"]
    bench = document["bench"]
    studies = {name: {**study, "measurements": kept[name]["measurements"] if name in kept else study["measurements"]}
               for name, study in bench["studies"].items()}
    return {**document, "bench": {**bench, "studies": studies}}


def first_alike(document, keep, experiments, as_lab_result):
    """What keep() keeps of a document, rounded, or unrounded where rounding would change a number made of several
    figures. Throws ResultError if its report would differ."""
    report = markdown.make(experiments, [as_lab_result(document)])
    kept = keep(document, experiments)
    for candidate in (rounded(kept), kept):
        if markdown.make(experiments, [as_lab_result(candidate)]) == report:
            return candidate
    raise ResultError("what its report asks for is not enough to make the same report")


def distilled(document, experiments):
    """The document that is committed for this one, or for each of a list. `experiments`: the lab's."""
    if isinstance(document, list):
        return [distilled(one, experiments) for one in document]
    document = tables.unpack(document)
    if document["command"] == "lab":
        return tables.pack(of_lab(document, experiments))
    if document["command"].startswith("gpu ") and document["bench"] is not None:
        return tables.pack(of_device(document, experiments))
    if document["command"] in USED:
        used = USED[document["command"]]
        document = {**document, "results": [used_members(row, used) for row in document["results"]]}
    return tables.pack(rounded(document))
