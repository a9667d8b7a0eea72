# SPDX-License-Identifier: Apache-2.0
"""Numbers that know where they come from. A Value names its places in a result file, in bench/published.json or in bench/gpu/bounds.json,
and how it was computed from the numbers there. So every number of a page can be checked."""
import math
from dataclasses import dataclass

KIBIBYTES = {"KB": 1, "MB": 1 << 10}


def in_kibibytes(said):
    """A published size such as "4KB" in KiB: studies count in binary."""
    return int(said[:-2]) * KIBIBYTES[said[-2:]]


# How a Value is computed from the numbers at its sources. The test compares this with a table of its own.
DERIVATIONS = {
    "itself": lambda x: x,
    "inverse": lambda x: 1 / x,
    "quotient": lambda x, y: x / y,
    "product": lambda x, y: x * y,
    "product of rest": lambda x, share: x * (1 - share),
    "percent": lambda x: 100 * x,
    "percent less": lambda ratio: 100 * (1 - 1 / ratio),
    # Half the distance between the least and the most round, in per cent of the median.
    "half range": lambda median, least, most: 50 * (most - least) / median,
    # How far one figure is from another, in per cent of the smaller; and how far the distance of two is from a factor.
    "away": lambda one, other: 100 * (max(one / other, other / one) - 1),
    "away from a factor": lambda one, other, factor: DERIVATIONS["away"](max(one / other, other / one), factor),
    # The larger of a share and of half the ranges together, each in per cent of its median.
    "doubt": lambda share, *ranges: max(100 * share, sum(map(DERIVATIONS["half range"], *(ranges[at::3] for at in range(3))))),
    "times for percent less": lambda percent: 100 / (100 - percent),
    "sum to": lambda first, second, one: (first + second) / one,
    # A rate in GB/s without copies as many times that of one core, of which another rate is so many times as much.
    "times a core": lambda rate, speedup, seconds, count: rate * 1e9 * speedup * seconds / count,
    # How many bytes another thing does in the time that something takes for one item.
    "bytes meanwhile": lambda seconds, items, other, count: seconds / items / other * count,
    "percent of": lambda x, y: 100 * x / y,
    "percent of all": lambda x, *all: 100 * x / sum(all),
    "least": lambda *all: min(all),
    "most": lambda *all: max(all),
    "GB/s": lambda seconds, count: count / seconds / 1e9,
    "MB/s": lambda seconds, count: count / seconds / 1e6,
    "per second": lambda seconds, count: count / seconds,
    "milli": lambda x: 1e3 * x,
    "mega": lambda x: x / 1e6,
    # Two times for two numbers of bytes: how many times as long the first takes for a byte.
    "time for a byte": lambda first, second, bytes_first, bytes_second: first / bytes_first / (second / bytes_second),
    # What is left of two numbers without a share of each: how many times as much the first leaves.
    "growth of the rest": lambda first, share, second, its: first * (1 - share) / (second * (1 - its)),
    # A rate in MB/s over that of so many bytes in so many seconds.
    "times as slow": lambda rate, seconds, count: rate * 1e6 * seconds / count,
    # The share of a perfect gain: what the added threads gave of what they would give if they scaled perfectly.
    "growth": lambda fewer, more, before, last: (more - fewer) / (fewer * (last / before - 1)),
    "KiB": in_kibibytes,
    "percent for both": lambda one, other, all: 100 * (one + other) / all,
    # What is left of a parallel time beyond an equal share of the sequential one.
    "beyond a share": lambda parallel, sequential, count: parallel - sequential / count,
    # A ratio of two times after each was divided by its speedup.
    "ratio after speedups": lambda ratio, first, second: ratio * second / first,
}


@dataclass(frozen=True)
class Value:
    number: float
    sources: tuple  # "published:PATH", "measured:EXPERIMENT/INDEX/FIELD", "given:NUMBER", "bound:PATH"
    how: str = "itself"
    digits: int = 3  # that are shown

    def __float__(self):
        return float(self.number)

    def __str__(self):
        return shown(self.number, self.digits)


def derive(how, *values):
    """A Value computed from other Values, none of which is derived itself."""
    assert all(value.how == "itself" for value in values), "one step from the sources"
    number = DERIVATIONS[how](*(value.number for value in values))
    return Value(number, tuple(source for value in values for source in value.sources), how)


def made_of_shown(how, *values):
    """A Value computed from others as a page shows them, which may be derived. How each of them was is part of how this one is."""
    steps = (f"{value.how}/{len(value.sources)}/{value.digits}" for value in values)
    return Value(DERIVATIONS[how](*map(as_shown, values)), tuple(source for value in values for source in value.sources),
                 "|".join((how, *steps)))


def given(number):
    """The Value of a factor that the experiment chose, such as a size or a number of threads."""
    return Value(number, (f"given:{number}",))


def best(how, values):
    """The smallest or largest of several Values."""
    chosen = (min if how == "least" else max)(values, key=float)
    return chosen


def as_shown(value):
    """The number that a page shows of a Value; another number as it is."""
    if not isinstance(value, Value):
        return float(value)
    number, digits = value.number, value.digits
    if number == 0 or isinstance(number, int) and abs(number) < 10**digits:
        return float(number)
    return round(float(number), digits - 1 - math.floor(math.log10(abs(number))))


def shown(number, digits=3):
    """A number with three significant digits, with an exponent only if it is tiny."""
    if number == 0:
        return "0"
    if isinstance(number, int) and abs(number) < 10**digits:
        return str(number)
    places = digits - 1 - math.floor(math.log10(abs(number)))
    rounded = round(number, places)
    if rounded != 0 and abs(rounded) < 1e-4:
        return f"{number:.{digits - 1}e}"
    if places > 0:
        # Rounding may carry into a new digit: 9.996 becomes 10.0.
        places = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
        return f"{rounded:.{places}f}"
    return f"{rounded:,.0f}".replace(",", "\u202f")


def size(count):
    """A size in the form that people write: in a binary unit if it is a multiple of one, otherwise in a decimal unit."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"
