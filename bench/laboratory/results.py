# SPDX-License-Identifier: Apache-2.0
"""Result files of the lab. A run writes its file after each experiment, so that an interrupted run keeps what it has. Each write replaces
the whole file at once, so nobody reads half a file, unless a copy of it was cut short."""
import json
import os
from pathlib import Path

from . import device, schemas, tables

COMMITTED = schemas.ROOT / "bench" / "results"
SCHEMA = "lab.schema.json"
GPU_SCHEMA = "gpu.schema.json"
VERSION = 1
LEFT_OUT = "left out"  # the outcome of an experiment for which there was no time


class ResultError(Exception):
    """A result cannot be used. The message is one line for the user."""


def load(path):
    """The document of a result file of the lab (distilled or not), or of `./dev gpu`, in the lab's form. Throws ResultError."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path}: cannot be read: {error}") from error
    try:
        document = tables.unpack(json.loads(text))
    except ValueError as error:
        raise ResultError(f"{path}: is not complete JSON, as after a copy that was cut short: "
                          f"{error}") from error
    if isinstance(document, dict) and str(document.get("command")).startswith("gpu "):
        return of_gpu(document, path)
    if not isinstance(document, dict) or document.get("command") != "lab":
        raise ResultError(f"{path}: is not a result of the lab")
    version = document.get("version")
    if version != VERSION:
        age = "an older" if isinstance(version, int) and version < VERSION else "another"
        raise ResultError(f"{path}: was written by {age} version of the lab (its results are version "
                          f"{version}, this one reads {VERSION}): run the lab again")
    wrong = schemas.first_violation(document, SCHEMA)
    if wrong is not None:
        raise ResultError(f"{path}: is no valid result: {wrong}")
    return document


def of_gpu(document, path):
    """A result of `./dev gpu` in the form of the lab's. Throws ResultError."""
    wrong = schemas.first_violation(document, GPU_SCHEMA)
    if wrong is not None:
        raise ResultError(f"{path}: is no valid result: {wrong}")
    try:
        return device.as_lab_result(document)
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from error


def is_whole(entry):
    """Whether an experiment's entry says all that can be said. None: there is no entry."""
    return entry is not None and entry["outcome"] not in ("failed", LEFT_OUT) and not entry.get("cut", False)


def is_complete(document):
    """Whether --continue has nothing to do."""
    return document["finished"] and all(map(is_whole, document["experiments"].values()))


class ResultFile:
    """The result of a run, to which experiments are added."""

    def __init__(self, path, document):
        self.path = Path(path)
        self.document = document

    def save(self):
        """Replaces the file by one with everything measured so far."""
        wrong = schemas.first_violation(self.document, SCHEMA)
        if wrong is not None:
            raise ResultError(f"{self.path}: would be no valid result: {wrong}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(json.dumps(self.document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def store(self, name, entry):
        self.document["experiments"][name] = entry
        self.save()
