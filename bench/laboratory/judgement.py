# SPDX-License-Identifier: Apache-2.0
"""What a verdict may rest on. Other programs disturb figures, and what is smaller than they may have made it is no
difference. Figures are compared as a page shows them, so that its reader can do the same."""
from .values import as_shown

# The share of the processors that other programs used meanwhile. Above BUSY, the report mentions it; above
# DISTURBED, it gives no verdict by the figures. BUSY is also the least by which figures differ.
BUSY = 0.05
DISTURBED = 0.15

OUTCOMES = {"holds": "holds here", "in part": "holds here in part", "does not hold": "does not hold here",
            "answered": "an outlook of the study, measured here", "ours": "our own question, answered here",
            "open": "cannot be said here", "disturbed": "not judged, for others used the processors"}
JUDGED = ("holds", "in part", "does not hold")

# How near a figure comes to another that is called similar.
TENTH = 1.1
QUARTER = 1.25
TWICE = 2.0


def known(part):
    """A part by which figures may be off, or what stands for it where nobody knows it: the most that others may have used of the
    processors, and as much for rounds whose range a result has not kept."""
    return DISTURBED if part is None else part


# Comparisons say True, False, or None: the figures are nearer to each other, or to the limit, than they are known.
# `doubt`: the part of itself by which a figure may be off (Measured.doubt).


def is_more(value, other, doubt=0.0):
    """Whether a value is larger than another by more than BUSY and more than the doubt. What is less than BUSY is no
    difference, unless the doubt is larger."""
    ratio = as_shown(value) / as_shown(other)
    if ratio > 1 + max(BUSY, doubt):
        return True
    return None if doubt > BUSY and ratio * (1 + doubt) > 1 else False


def is_near(value, other, factor, doubt=0.0):
    """Whether a value is at most so many times another, and the other at most so many times the value."""
    ratio = as_shown(value) / as_shown(other)
    away = max(ratio, 1 / ratio)
    return _beyond(factor / away, doubt)


def is_at_least(value, limit, doubt=0.0):
    return _beyond(as_shown(value) / limit, doubt)


def _beyond(ratio, doubt):
    """Whether a ratio is one or more."""
    if ratio >= 1 + doubt:
        return True
    return False if ratio * (1 + doubt) < 1 else None


def by_parts(parts):
    """The outcome of a claim that has several parts, each of which holds, or not, or is None. What is None neither
    proves nor disproves a part, so that the claim holds in part at the most."""
    parts = list(parts)
    if parts and all(parts):
        return "holds"
    if any(parts):
        return "in part"
    return "does not hold" if parts and None not in parts else "open"


def any_of(said):
    """Whether one of several is true; None if none is for certain, and one may be."""
    said = list(said)
    return True if True in said else None if None in said else False


def all_of(said):
    """Whether several are all true; None if none is false for certain, and one may be."""
    said = list(said)
    return False if False in said else None if None in said else True


def agreed(outcomes):
    """The one outcome of several measurements of the same. If they disagree, it is open, and one that is open itself does not count."""
    found = set(outcomes) - {"open"}
    return found.pop() if len(found) == 1 else "open"


def in_steps(part, *weaker):
    """The outcome of one quantity with a limit for "holds" and weaker ones for "in part". What surely passes a weaker limit
    holds in part, though it may or may not pass the first."""
    if part:
        return "holds"
    if any(weaker):
        return "in part"
    return "does not hold" if (part, *weaker)[-1] is False else "open"


def overall(outcomes):
    """One outcome for an experiment that has several. What is open says nothing."""
    said = [outcome for outcome in outcomes if outcome != "open"]
    judged = [outcome for outcome in said if outcome in JUDGED] or said
    return judged[0] if len(set(judged)) == 1 else "in part" if judged else "open"


# (of one verdict, of several)
COUNTED = {"holds": ("holds", "hold"), "in part": ("in part",) * 2, "does not hold": ("does not hold", "do not hold"),
           "answered": ("measured for an outlook",) * 2, "ours": ("our own",) * 2, "disturbed": ("not judged",) * 2,
           "open": ("cannot be said",) * 2}


def counts(outcomes):
    """How many verdicts have which outcome, in words; empty if there is only one."""
    outcomes = list(outcomes)
    numbers = {outcome: outcomes.count(outcome) for outcome in COUNTED}
    said = [f"{number} {COUNTED[outcome][number > 1]}" for outcome, number in numbers.items() if number]
    return ", ".join(said) if len(outcomes) > 1 else ""
