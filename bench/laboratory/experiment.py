# SPDX-License-Identifier: Apache-2.0
"""What an experiment is. A file of bench/experiments defines one as EXPERIMENT: how to measure it here, and how to
show its measurements beside the study's."""
from collections.abc import Callable
from dataclasses import dataclass, field

from . import judgement
from .values import Value, as_shown, derive, given, made_of_shown, size

OURS = "ours"  # in place of a claim, where an experiment answers a question that no study asked


class Unavailable(Exception):
    """This machine cannot run the experiment. The message tells the reader why."""


class Failed(Exception):
    """A program failed. The message is one line."""


class TimedOut(Failed):
    """A program was stopped because it took too long."""


class OutOfTime(Exception):
    """The run has no more time for the experiment. The message is one line."""


@dataclass(frozen=True)
class Experiment:
    name: str  # "E4"
    title: str
    here: str  # what is run here, and what differs
    measure: Callable | None  # measure(lab); None: it shows another's measurements
    show: Callable  # show(measured) -> Shown
    seconds: dict  # roughly how long it takes: {"quick": 10, "full": 60}
    did: tuple = ()  # claims that say what the study did
    judges: tuple = ()  # claims that get a verdict
    beside: Callable | None = None  # beside(measured) -> Counterparts, without figures if nothing was measured
    asks: str | None = None  # a question of ours, which gets a verdict under OURS
    uses: str | None = None  # the experiment whose measurements it shows
    on_cluster: bool = False  # it starts ranks on the user's hosts, if there are any
    bare: bool = False  # show() has something to show even if nothing was measured

    @property
    def verdicts(self):
        """What show() has a verdict for."""
        return (*self.judges, *([OURS] if self.asks else []))


@dataclass
class Series:
    """A line of a figure, or the bars of one colour. `kind`: measured, published, ideal."""

    label: str
    xs: list
    ys: list  # of Value or None
    kind: str = "measured"
    is_level: bool = False  # a line without points: it was published for no x, or for all


@dataclass
class Panel:
    """Axes of a figure. `kind`: lines (x is a number) or bars (x is a category)."""

    title: str
    xlabel: str
    ylabel: str
    series: list
    kind: str = "lines"
    logx: bool = False
    logy: bool = False
    stacked: bool = False
    least: float | None = None  # that the y axis begins with, so that noise does not fill it
    x_is: str = "number"  # or "bytes", or "cores"


@dataclass
class Table:
    caption: str
    columns: list
    rows: list  # of lists of str, Value or None
    claim: str | None = None  # whose figures these are, if a study's


@dataclass
class Counterpart:
    """What was measured here beside a published figure. `path` and `index`: its place in published.json below the
    study, and in a list of figures by size. `here`: str and Value, empty if it was not measured; `why` says why."""

    claim: str
    path: str
    index: int | None = None
    here: tuple = ()
    why: str = ""


@dataclass(frozen=True)
class Comparison:
    """What a rule compared. `values`: the figures; `away`: the distance in per cent from where the answer would turn, and `doubt`, as
    Values. Both are None for a comparison in points."""

    values: tuple
    away: Value | None = None
    doubt: Value | None = None

    @property
    def beyond_doubt(self):
        return float(self.away) - float(self.doubt)


@dataclass
class Verdict:
    """What the figures say of a claim. `outcome`: holds, in part, does not hold, answered (an outlook of the study),
    ours, open. `here`: str and Value, which are joined into a sentence. `rule`: by what a figure passes, as a sentence
    without its full stop; each verdict that judges has one. `by`: the Values that the rule compares; without them, they are
    those that the sentence names."""

    outcome: str
    here: list
    rule: str = ""
    by: tuple = ()
    compared: tuple = ()  # Comparisons of its rule

    @property
    def nearest(self):
        """The Comparison that has least beyond its doubt; None if there is none, or one in points."""
        return min(self.compared, key=lambda one: one.beyond_doubt, default=None) if all(one.away for one in self.compared) else None

    @property
    def named(self):
        return [part for part in self.here if isinstance(part, Value)]

    @property
    def figures(self):
        """What the verdict rests on."""
        return list(self.by) or self.named


def judged(parts, here, rule, missing=(), by=()):
    """The Verdict of a claim with several parts. `parts`: pairs of a name and True, False, or None for what is
    nearer to the limit than its figures are known. It names those that fail, unless all do, and those that are too near.
    `missing`: parts of the claim that were not measured, so that it holds in part at the most. `by`: as in Verdict."""
    parts = list(parts)
    outcome = judgement.by_parts(part for _, part in parts)
    here = [*here, *without_passing(parts, outcome), *(f"; {what}" for what in missing)]
    return Verdict("in part" if missing and outcome == "holds" else outcome, here, rule, tuple(by))


FEW = 2  # parts that are named even if the same is said of all


def without_passing(parts, outcome):
    """What is to be said of parts that fail, unless all do, and of those that are too near to the limit."""
    failed, unclear = ([name for name, part in parts if part is said] for said in (False, None))
    if failed and outcome != "does not hold":
        yield f"; what fails the rule: {', '.join(dict.fromkeys(failed))}"
    if len(unclear) == len(parts) > FEW:
        yield "; all of them are too near to the limit to be said"
    elif unclear:
        yield f"; too near to the limit to be said: {', '.join(dict.fromkeys(unclear))}"


def separated(parts, by="; "):
    """Lists of words and numbers as one list."""
    return [word for number, part in enumerate(parts) for word in ((by, *part) if number else part)]


def largest_and_least(ratios, what):
    """Parts of a sentence on ratios by size: the one of the largest size, and the least if that is of another."""
    largest, least = list(ratios)[-1], min(ratios, key=lambda size_: float(ratios[size_]))
    return [ratios[largest], f" times {what} ({size(largest)})",
            *([", at the least ", ratios[least], f" times ({size(least)})"] if least != largest else [])]


@dataclass
class Shown:
    """What the page shows of an experiment. `verdicts`: a Verdict by claim, or by OURS."""

    verdicts: dict
    panels: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    counterparts: list = field(default_factory=list)

    @property
    def outcome(self):
        return judgement.overall(verdict.outcome for verdict in self.verdicts.values())

    @property
    def counts(self):
        return judgement.counts(verdict.outcome for verdict in self.verdicts.values())


# The end of the names of quantities that a device times by its own clock: no program of the processors changes them.
BY_THE_DEVICE = "without copies"


def spread_of(row):
    """Half the range of a measurement's rounds, as a part of their median; None if the result has not kept it."""
    if row["unit"] == "count":
        return 0.0
    if "min" not in row or row["median"] == 0:
        return None
    return (row["max"] - row["min"]) / 2 / abs(row["median"])


class Measured:
    """An experiment's measurements in a result file, for show()."""

    def __init__(self, name, document, asked=None):
        missing = {"measurements": []}
        self.name = name
        self.entry = entry = document["experiments"].get(name, missing)
        self.machine = document["machine"]
        self._document = document
        self._rows = {}  # by quantity, and all of them under None: results have thousands
        self._having = {}  # and by quantity and a factor's value
        for place in enumerate(entry["measurements"]):
            for quantity in (None, place[1]["quantity"]):
                self._rows.setdefault(quantity, []).append(place)
                for factor in place[1]["of"].items():
                    self._having.setdefault((quantity, factor), []).append(place)
        self._compared = []  # since the last verdict
        self._asked = set() if asked is None else asked  # (name, index, member) of what show() has asked for

    @property
    def device(self):
        """The name of the machine's GPU, or None."""
        found = self._document["devices"]["cuda"]["devices"]
        return found[0]["name"] if found else None

    def doubt(self, *values):
        """The part by which figures that are compared may be off: half the range of the rounds of each, as a part of it,
        together, and at least what other programs used, unless the figures are the device's alone. For either
        something stands where it is not known."""
        spreads = [spread_of(self.row(place)) for place in self.places_of(values)]
        return max(0.0 if self.are_of_device(values) else judgement.known(self.entry.get("others")), sum(filter(None, spreads)),
                   judgement.known(None) if None in spreads else 0.0)

    def doubt_in_points(self, *values):
        """doubt() for figures whose difference is compared instead of their ratio."""
        self._compared.append(Comparison(values))
        return self.doubt(*values)

    def said_doubt(self, *values):
        """doubt() in per cent, as a Value."""
        places = [place for place in self.places_of(values) if self.row(place)["unit"] != "count"]
        spreads = [spread_of(self.row(place)) for place in places]
        share = Value(0.0, ("given:0",)) if self.are_of_device(values) else self.others()
        if None in spreads and float(share) < judgement.known(None):
            share = given(judgement.known(None))
        return derive("doubt", share, *(value for place, spread in zip(places, spreads) if spread is not None
                                        for value in self.rounds_of(place)))

    def others(self):
        """The share of the processors that other programs used, or what stands for it."""
        share = self.entry.get("others")
        return given(judgement.known(None)) if share is None else Value(share, (f"entry:{self.name}/others",))

    def judged(self, *arguments, **named):
        """judged(), with what has been compared for it."""
        return self.decided(judged(*arguments, **named))

    def by_degree(self, ratios, factor, here, rule):
        """The Verdict of a claim that something is faster, and by far. `ratios`: by the name of the part, each to be at least
        the factor. It holds in part where only one is surely faster at all."""
        parts = [(name, self.is_at_least(ratio, factor)) for name, ratio in ratios.items()]
        is_faster = [self.is_more(ratio, 1) for ratio in ratios.values()]
        outcome = judgement.in_steps(judgement.all_of(part for _, part in parts), judgement.any_of(is_faster))
        return self.decided(Verdict(outcome, [*here, *without_passing(parts, outcome)], rule, tuple(ratios.values())))

    def decided(self, verdict):
        """A verdict with what has been compared for it, which is of its figures and since the verdict before."""
        places = set(self.places_of(verdict.figures))
        verdict.compared = tuple(one for one in self._compared if set(self.places_of(one.values)) <= places)
        self._compared.clear()
        return verdict

    def _note(self, how, *numbers):
        values = [number if self.places_of([number]) else given(as_shown(number)) for number in numbers]
        figures = tuple(value for value in values if self.places_of([value]))
        self._compared.append(Comparison(figures, made_of_shown(how, *values), self.said_doubt(*values)))

    def are_of_device(self, values):
        """Whether a device timed the figures by its own clock, and it alone."""
        rows = [self.row(place) for place in self.places_of(values)]
        return bool(rows) and all(row["quantity"].endswith(BY_THE_DEVICE) or row["unit"] == "count" for row in rows)

    def places_of(self, values):
        """(experiment, index) of the rows that Values come from, each once. show() then uses their ranges."""
        found = sorted({(name, int(index)) for value in values if isinstance(value, Value) for source in value.sources
                        if source.startswith("measured:") for name, index, _ in [source.partition(":")[2].split("/")]})
        self._asked |= {(*place, field) for place in found for field in ("median", "min", "max")}
        return found

    def row(self, place):
        name, index = place
        return self._document["experiments"][name]["measurements"][index]

    def spread(self, place):
        """spread_of() a row in per cent, as a Value."""
        return derive("half range", *self.rounds_of(place))

    def rounds_of(self, place):
        """The median, the least and the most of a row's rounds."""
        name, index = place
        return [Value(self.row(place)[field], (f"measured:{name}/{index}/{field}",)) for field in ("median", "min", "max")]

    def is_more(self, value, other):
        """Whether a figure is larger than another, by more than BUSY and what is in doubt."""
        self._note("away", value, other)
        return judgement.is_more(value, other, self.doubt(value, other))

    def is_near(self, value, other, factor):
        self._note("away from a factor", value, other, factor)
        return judgement.is_near(value, other, factor, self.doubt(value, other))

    def is_at_least(self, value, limit):
        self._note("away", value, limit)
        return judgement.is_at_least(value, limit, self.doubt(value))

    def none_above_one(self, *factors):
        """Why no number of threads, or of ranks, above one can be judged: none was run, or none had the cores."""
        were_run = any(count > 1 for factor in factors for count in self.factors(factor))
        return f"no number of {' or '.join(factors)} above one {'had a core for each' if were_run else 'was run'}"

    def why_not(self, what):
        """Why something was left out; empty if nobody said so."""
        return next((row["why"] for row in self.entry.get("left_out", ()) if row["what"] == what), "")

    def of(self, name):
        """Another experiment's measurements in the same file, none if it was not run."""
        other = Measured(name, self._document, self._asked)
        other._compared = self._compared
        return other

    def find(self, quantity=None, **of):
        """(index, row) of the rows that have these factors. A tuple stands for any of its values."""
        def fits(row):
            return all(row["of"].get(key) in (wanted if isinstance(wanted, tuple) else (wanted,))
                       for key, wanted in of.items())
        # The rows that have the rarest of the factors, or all of them.
        rows = min((self._having.get((quantity, factor), []) for factor in of.items()
                    if not isinstance(factor[1], tuple)),
                   key=len, default=self._rows.get(quantity, []))
        return [(index, row) for index, row in rows if fits(row)]

    def value(self, quantity, field="median", **of):
        """The Value of the only row that fits, or None if no row does."""
        found = self.find(quantity, **of)
        if len(found) > 1:
            raise ValueError(f"{self.name}: {len(found)} rows have {quantity} {of}")
        if not found or field not in found[0][1]:
            return None
        index, row = found[0]
        self._asked |= {(self.name, index, "median"), (self.name, index, field)}
        return Value(row[field], (f"measured:{self.name}/{index}/{field}",))

    def factors(self, key, quantity=None, **of):
        """The values that a factor takes, in the order of the file."""
        return list(dict.fromkeys(row["of"][key] for _, row in self.find(quantity, **of)
                                  if key in row["of"]))
