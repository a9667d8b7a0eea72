# SPDX-License-Identifier: Apache-2.0
"""The table that a report opens with: each published figure that an experiment measures, what this machine has beside it, and the command
that repeats it."""
from dataclasses import dataclass

from . import claims, published
from .experiment import Counterpart
from .judgement import DISTURBED, OUTCOMES
from .presentation import others, presentation


@dataclass(frozen=True)
class Row:
    """`says`, `published` and each of `here`: parts of a sentence. `here` has one for each result file."""

    experiment: str
    claim: claims.Claim
    says: tuple
    published: tuple
    here: tuple

    @property
    def command(self):
        return f"./dev lab --only {self.experiment}"


def named(study, counterpart):
    """What a figure is, in English, the study's own term in brackets, its row and its size."""
    place, quantity = published.quantity(study, counterpart.path)
    path, _, last = counterpart.path.rpartition("/")
    index = counterpart.index
    if last.isdigit():  # a figure by size, which a claim names alone
        index = int(last)
    else:
        path = counterpart.path
    said = [quantity]
    if place != path:
        said.append(published.name(study, path) or path)
    if index is not None:
        said.append(published.sizes(study)[index])
    return ", ".join(said)


def unit_of(claim, path):
    """The unit that the table of claims gives a figure, or the whole table of figures that it is in."""
    for row in claims.rows():
        if claims.study_of(row["id"]) != claim.study:
            continue
        for figure in row.get("figures", {}).values():
            at = figure.get("at")
            if at and figure.get("unit") and (f"{path}/".startswith(f"{at}/") or at.startswith(f"{path}/")):
                return f" {figure['unit']}"
    return ""


def published_parts(claim, counterpart):
    study, unit = claim.study, unit_of(claim, counterpart.path)
    if counterpart.index is not None:
        return (published.value(f"{study}/{counterpart.path}/{counterpart.index}"), unit)
    found = published.look_up(f"studies/{study}/{counterpart.path}")
    if isinstance(found, list):  # a range
        return (published.value(f"{study}/{counterpart.path}/0"), " to ", published.value(f"{study}/{counterpart.path}/1"), unit)
    if isinstance(found, str):
        return (claims.SIZE.sub(r"\1 \2", found), unit)
    return (published.value(f"{study}/{counterpart.path}"), unit)


def why_not(counterpart, entry):
    reason = entry.get("reason") or counterpart.why
    return f"not measured here{f': {reason}' if reason else ''}"


def here_parts(counterpart, experiment, document, entry):
    if not counterpart.here:
        return (why_not(counterpart, entry),)
    share = others(experiment, document)
    is_disturbed = share is not None and float(share) > 100 * DISTURBED
    return (*counterpart.here, " (disturbed)" if is_disturbed else "")


def chosen_of(study, by_document):
    """The index to show of a row of figures by size: the largest at which a file has a measurement, or else the largest
    at which there is a figure."""
    known = [one for counterparts in by_document for one in counterparts if one.index is None
             or published.look_up(f"studies/{study}/{one.path}/{one.index}") is not None]
    measured = [one for one in known if one.here]
    return max((one.index for one in measured or known), key=lambda index: -1 if index is None else index)


def rows(experiments, documents):
    """The table's rows, in the order of the experiments. A figure that several experiments have stands once: with the last of
    them that measured it, or else with the first."""
    found = {}  # by the study and the place: (experiment, claim, the counterparts of each document)
    shown = {experiment.name: [presentation(experiment, document) for document in documents] for experiment in experiments}
    for experiment in experiments:
        for claim, path in dict.fromkeys((one.claim, one.path) for one in shown[experiment.name][0][0].counterparts):
            series = [[one for one in shown_.counterparts if (one.claim, one.path) == (claim, path)]
                      for shown_, _ in shown[experiment.name]]
            place = (claims.claim(claim).study, path)
            if place not in found or any(one.here for counterparts in series for one in counterparts):
                found[place] = (experiment, claims.claim(claim), series)
    told = list(found)
    for experiment in experiments:
        for (study, path), (by, claim, series) in found.items():
            if by is not experiment:
                continue
            index = chosen_of(study, series)
            at = [next((one for one in counterparts if one.index == index), Counterpart(claim.id, path, index))
                  for counterparts in series]
            yield Row(experiment.name, claim, (named(study, at[0]),), published_parts(claim, at[0]),
                      tuple(here_parts(one, experiment, document, entry)
                            for one, document, (_, entry) in zip(at, documents, shown[experiment.name])))
        for claim in map(claims.claim, experiment.judges):
            for path in paths_of(claim):
                place, _ = published.quantity(claim.study, path)
                if place is not None and not any(study == claim.study and f"{path}/".startswith(f"{one}/")
                                                 for study, one in told):
                    told.append((claim.study, path))
                    figure = Counterpart(claim.id, path)
                    yield Row(experiment.name, claim, (named(claim.study, figure),), published_parts(claim, figure),
                              tuple((OUTCOMES[shown_.verdicts[claim.id].outcome],) for shown_, _ in shown[experiment.name]))


def paths_of(claim):
    """The places of a claim's figures."""
    (row,) = [row for row in claims.rows() if row["id"] == claim.id]
    return [figure["at"] for figure in row.get("figures", {}).values() if "at" in figure]
