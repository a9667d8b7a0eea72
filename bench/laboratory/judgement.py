# SPDX-License-Identifier: Apache-2.0
"""What a verdict may rest on. Other programs disturb figures, and what is smaller than they may have made it is no
difference."""

# The share of the processors that other programs used meanwhile. Above BUSY, the report mentions it; above
# DISTURBED, it gives no verdict by the figures.
BUSY = 0.05
DISTURBED = 0.15

OUTCOMES = {"holds": "holds here", "in part": "holds here in part", "does not hold": "does not hold here",
            "answered": "asked by the study, answered here", "ours": "our own question, answered here",
            "open": "cannot be said here", "disturbed": "not judged, for others used the processors"}
JUDGED = ("holds", "in part", "does not hold")

# How near a figure comes to another that is called similar.
QUARTER = 1.25
TWICE = 2.0


def margin(others):
    """The part by which two figures must differ to count as different: what other programs used, and at least
    what they may use without being mentioned. Where nobody knows what they used, it is the most they may."""
    return DISTURBED if others is None else max(BUSY, others)


def is_more(value, other, least):
    """Whether a value is larger than another by more than the margin."""
    return float(value) > float(other) * (1 + least)


def is_near(value, other, factor):
    return float(other) / factor <= float(value) <= float(other) * factor


def by_parts(parts):
    """The outcome of a claim that has several parts, each of which holds or not."""
    parts = list(parts)
    return "holds" if all(parts) else "in part" if any(parts) else "does not hold"


def overall(outcomes):
    """One outcome for an experiment that has several. What is open says nothing."""
    said = [outcome for outcome in outcomes if outcome != "open"]
    judged = [outcome for outcome in said if outcome in JUDGED] or said
    return judged[0] if len(set(judged)) == 1 else "in part" if judged else "open"
