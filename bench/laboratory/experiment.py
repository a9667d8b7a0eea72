# SPDX-License-Identifier: Apache-2.0
"""What an experiment is. A file of bench/experiments defines one as EXPERIMENT: how to measure it here, and how to show its measurements
beside the study's."""
from collections.abc import Callable
from dataclasses import dataclass, field

from .values import Value


class Unavailable(Exception):
    """This machine cannot run the experiment. The message tells the reader why."""


class Failed(Exception):
    """A program failed. The message is one line."""


class TimedOut(Failed):
    """A program was stopped because it took too long."""


@dataclass(frozen=True)
class Experiment:
    name: str  # "E4"
    title: str
    study: str  # of bench/published.json
    did: str  # what the study did
    here: str  # what is run here, and what differs
    measure: Callable | None  # measure(lab); None: it shows another's measurements
    show: Callable  # show(measured) -> Shown
    seconds: dict  # roughly how long it takes: {"quick": 10, "full": 60}
    uses: str | None = None  # the experiment whose measurements it shows
    bare: bool = False  # show() has something to show even if nothing was measured


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
    x_is: str = "number"  # or "bytes"


@dataclass
class Table:
    caption: str
    columns: list
    rows: list  # of lists of str, Value or None


@dataclass
class Shown:
    """What the page shows of an experiment. `outcome`: holds, in part, does not hold, answered (if the study asked a question), open.
    `finding` and `here`: str and Value, joined into sentences."""

    outcome: str
    finding: list
    here: list
    panels: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)


class Measured:
    """An experiment's measurements in a result file, for show()."""

    def __init__(self, name, entry, machine, asked=None):
        self.name = name
        self.entry = entry
        self.machine = machine
        self._rows = {}  # by quantity, and all of them under None: results have thousands
        for place in enumerate(entry["measurements"]):
            for quantity in (None, place[1]["quantity"]):
                self._rows.setdefault(quantity, []).append(place)
        self._asked = set() if asked is None else asked  # (name, index, member) of what show() has asked for

    def find(self, quantity=None, **of):
        """(index, row) of the rows that have these factors. A tuple stands for any of its values."""
        def fits(row):
            return all(row["of"].get(key) in (wanted if isinstance(wanted, tuple) else (wanted,))
                       for key, wanted in of.items())
        return [(index, row) for index, row in self._rows.get(quantity, ()) if fits(row)]

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
