# SPDX-License-Identifier: Apache-2.0
"""What the studies claimed (bench/claims.toml). A report says of a study what stands there, and nothing else."""
import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from . import published
from .values import derive

PATH = Path(__file__).resolve().parents[1] / "claims.toml"
PREFIXES = {"ci-aim": "pousa_ci_aim"}  # of an id, where it is not the study's name in published.json
PLACEHOLDER = re.compile(r"\{(\w+)\}")
SIZE = re.compile(r"([0-9.]+)([KMG]i?B)")


@dataclass(frozen=True)
class Claim:
    """A row of the table. `says` and `remark`: str and Value, which are joined into a sentence."""

    id: str
    study: str
    where: str
    kind: str
    says: tuple
    remark: tuple
    experiments: tuple
    untested: str | None

    @property
    def source(self):
        return f"{published.short(self.study)} ({self.where})"


def figure(study, said):
    """A figure as a Value, or as text if it is a name or a size, and its unit."""
    if "how" in said:
        made = derive(said["how"], *(published.value(f"{study}/{place}") for place in said["of"]))
    else:
        found = published.look_up(f"studies/{study}/{said['at']}")
        made = SIZE.sub(r"\1 \2", found) if isinstance(found, str) else published.value(f"{study}/{said['at']}")
    return (made, f" {said['unit']}") if said.get("unit") else (made,)


def sentence(study, text, figures):
    parts = []
    for number, piece in enumerate(PLACEHOLDER.split(text)):
        parts += figure(study, figures[piece]) if number % 2 else (piece,)
    return joined(parts)


def joined(parts):
    """The parts with neighbouring texts made one."""
    made = []
    for part in parts:
        if made and isinstance(part, str) and isinstance(made[-1], str):
            made[-1] += part
        elif part != "":
            made.append(part)
    return tuple(made)


def study_of(name):
    prefix = name.partition(".")[0]
    return PREFIXES.get(prefix, prefix)


@functools.cache
def rows():
    """The table as its file has it."""
    return tomllib.loads(PATH.read_text(encoding="utf-8"))["claims"]


@functools.cache
def table():
    """{id: Claim}, in the order of the file."""
    made = {}
    for row in rows():
        study, figures = study_of(row["id"]), row.get("figures", {})
        made[row["id"]] = Claim(row["id"], study, row["where"], row["kind"], sentence(study, row["says"], figures),
                                sentence(study, row.get("remark", ""), figures), tuple(row.get("experiments", ())),
                                row.get("untested"))
    return made


def claim(name):
    return table()[name]


def as_sentence(parts):
    """The parts as a sentence that stands alone."""
    first, *rest = parts
    first = first[:1].upper() + first[1:] if isinstance(first, str) else first
    return joined((first, *rest, "."))


def studies_of(names):
    """The studies of some claims, in the order of the claims."""
    return list(dict.fromkeys(claim(name).study for name in names))

