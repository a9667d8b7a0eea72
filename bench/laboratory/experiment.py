# SPDX-License-Identifier: Apache-2.0
"""What an experiment is. A file of bench/experiments defines one as EXPERIMENT: how to measure it here, and how to
show its measurements beside the study's."""
from collections.abc import Callable
from dataclasses import dataclass, field

from . import judgement
from .values import Value

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


@dataclass
class Verdict:
    """What the figures say of a claim. `outcome`: holds, in part, does not hold, answered (the study left a
    question), ours, open. `here`: str and Value, which are joined into a sentence."""

    outcome: str
    here: list


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
        self._asked = set() if asked is None else asked  # (name, index, member) of what show() has asked for

    @property
    def device(self):
        """The name of the machine's GPU, or None."""
        found = self._document["devices"]["cuda"]["devices"]
        return found[0]["name"] if found else None

    @property
    def margin(self):
        """What figures must differ by to count as different."""
        return judgement.margin(self.entry.get("others"))

    def why_not(self, what):
        """Why something was left out; empty if nobody said so."""
        return next((row["why"] for row in self.entry.get("left_out", ()) if row["what"] == what), "")

    def of(self, name):
        """Another experiment's measurements in the same file, none if it was not run."""
        return Measured(name, self._document, self._asked)

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
