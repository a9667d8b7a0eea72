# SPDX-License-Identifier: Apache-2.0
"""The figures that the studies published (bench/published.json), each with its place there."""
import functools
import json
import re
from pathlib import Path

from .values import Value, in_kibibytes

EXACT = 6  # digits: no integer that was published has more
PATH = Path(__file__).resolve().parents[1] / "published.json"


@functools.cache
def document():
    return json.loads(PATH.read_text(encoding="utf-8"))


def look_up(path):
    """What the file has at a path, such as 'studies/pousa/time_s/cuda/0'."""
    here = document()
    for step in path.split("/"):
        here = here[int(step)] if isinstance(here, list) else here[step]
    return here


def value(path):
    """The number at a place below 'studies', as a Value."""
    path = f"studies/{path}"
    number = look_up(path)
    return Value(number, (f"published:{path}",), digits=EXACT if isinstance(number, int) else 3)


def kibibytes(path):
    """The size at a place below 'studies', such as "4KB", as a Value in KiB."""
    path = f"studies/{path}"
    return Value(in_kibibytes(look_up(path)), (f"published:{path}",), "KiB", digits=EXACT)


def label(path):
    """What a line or a row of published figures is called, or one of its figures: "Meyer: best OpenMP"."""
    study, *_, name = [step for step in path.split("/") if not step.isdigit()]
    return f"{short(study)}: {look_up(f'studies/{study}/names/{name}')}"


def name(study, path):
    """What a row of figures is called, or one of them; None if a figure stands alone."""
    return look_up(f"studies/{study}/names").get(path.rpartition("/")[2])


def quantity(study, path):
    """(place, words) of what a figure is, with the study's own term in brackets unless that is English. The place is
    the figure's own, or that of the table that it is in; None if it is no quantity that can be measured again."""
    found = look_up(f"studies/{study}/quantities")
    place = max((place for place in found if f"{path}/".startswith(f"{place}/")), key=len, default=None)
    if place is None:
        return None, ""
    said = found[place]
    return place, f"{said['english']} [{said['term']}]" if "term" in said else said["english"]


def sizes(study):
    """The sizes that lists of a study's figures are for, as the study writes them."""
    found = look_up(f"studies/{study}")
    return [re.sub(r"([KMG]i?B)", r" \1", size) for size in found.get("sizes") or found["file_sizes"]]


def values(path):
    """A list of Values, with None where the study has no number."""
    numbers = look_up(f"studies/{path}")
    return [None if number is None else value(f"{path}/{i}") for i, number in enumerate(numbers)]


def short(study):
    """The study's name in a sentence."""
    return look_up(f"studies/{study}/short")


def cite(study):
    return look_up(f"studies/{study}/cite")
