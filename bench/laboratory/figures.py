# SPDX-License-Identifier: Apache-2.0
"""Figures as SVG inside a page. matplotlib draws them in marker colours. These are then replaced by variables of the page, so that one
drawing serves light and dark pages."""
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import ticker  # noqa: E402

from .values import shown, size  # noqa: E402

# Nobody sees these colours: each becomes var(--name). matplotlib itself uses none of them.
INK, GRID, PAPER = "#0a0b0c", "#0a0b0d", "#0a0b0e"
SERIES = [f"#1a2b{number:02x}" for number in range(1, 13)]
VARIABLES = {INK: "ink", GRID: "grid", PAPER: "paper",
             **{colour: f"s{number}" for number, colour in enumerate(SERIES, 1)}}
MOST_SERIES = 9  # of a panel that can be read
MARKERS = "osD^vP*Xh<>d"
KINDS = {"measured": {"linestyle": "-", "linewidth": 1.8}, "published": {"linestyle": "--", "linewidth": 1.2},
         "ideal": {"linestyle": ":", "linewidth": 1.4}}

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "paes", "font.family": "sans-serif", "font.size": 11,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "axes.facecolor": "none",
    "xtick.color": INK, "ytick.color": INK, "grid.color": GRID, "figure.facecolor": "none",
    "legend.facecolor": PAPER, "legend.edgecolor": GRID, "axes.titlesize": 11, "axes.spines.top": False,
    "axes.spines.right": False})


def plain(label):
    return label.replace("`", "")


def _points(series):
    """(x, y) of the points that have a y, with y as a number."""
    return [(x, float(y)) for x, y in zip(series.xs, series.ys) if y is not None]


def _lines(axes, panel):
    styles = {}
    for number, series in enumerate(panel.series):
        points = _points(series)
        if not points:
            continue
        colour = INK if series.kind == "ideal" else SERIES[number % len(SERIES)]
        marker = "" if series.kind == "ideal" or series.is_level else MARKERS[number % len(MARKERS)]
        fill = colour if series.kind == "measured" else PAPER
        # What lies below another line or point is larger, so that it is seen around it.
        below = len(panel.series) - 1 - number
        look = {**KINDS[series.kind], "linewidth": KINDS[series.kind]["linewidth"] + 0.25 * below}
        (line,) = axes.plot([float(x) for x, _ in points], [y for _, y in points], color=colour, marker=marker,
                            markersize=4.5 + 0.8 * below, markerfacecolor=fill, label=plain(series.label), **look)
        styles[series.label] = line
    if panel.logx:
        axes.set_xscale("log", base=10 if panel.x_is == "number" else 2)
    if panel.logy:
        axes.set_yscale("log")
    ticks = sorted({float(x) for series in panel.series for x, _ in _points(series)})
    if panel.x_is == "bytes":
        # No two labels closer than an eighth of the axis.
        kept = []
        for tick in ticks:
            if not kept or not panel.logx or tick / kept[-1] > (ticks[-1] / ticks[0]) ** 0.125:
                kept.append(tick)
        axes.set_xticks(kept, [size(int(tick)) for tick in kept])
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    elif len(ticks) <= 10:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(ticker.NullLocator())


def _bars(axes, panel):
    categories = list(dict.fromkeys(x for series in panel.series for x in series.xs))
    drawn = [series for series in panel.series if _points(series)]
    # The bars of a category stand side by side around its middle, or on top of each other.
    present = {category: [number for number, series in enumerate(drawn) if category in (x for x, _ in _points(series))]
               for category in categories}
    width = 0.6 if panel.stacked else 0.8 / max(map(len, present.values()), default=1)
    height = dict.fromkeys(categories, 0.0)  # of the bars stacked so far
    for number, series in enumerate(drawn):
        points = _points(series)
        beside = [0 if panel.stacked else present[x].index(number) - (len(present[x]) - 1) / 2 for x, _ in points]
        at = [categories.index(x) + place * width for (x, _), place in zip(points, beside)]
        colour = SERIES[number % len(SERIES)]
        look = ({"facecolor": colour, "edgecolor": PAPER} if series.kind == "measured" else
                {"facecolor": PAPER, "edgecolor": colour, "hatch": "///"})
        bars = axes.bar(at, [y for _, y in points], width, label=plain(series.label), linewidth=0.8,
                        bottom=[height[x] for x, _ in points] if panel.stacked else 0, **look)
        if panel.stacked:
            for x, y in points:
                height[x] += y
        elif all(len(shown(y)) <= 52 * width / 0.8 / len(categories) for other in drawn for _, y in _points(other)):
            axes.bar_label(bars, [shown(y) for _, y in points], fontsize=8.5, padding=1.5)
    labels = [plain(str(category)) for category in categories]
    # Labels are turned if two neighbours are too long for their part of the axis, which holds 50 letters.
    turned = any(len(one) + len(other) + 3 > 2 * 50 / len(labels) for one, other in zip(labels, labels[1:]))
    axes.set_xticks(range(len(categories)), labels, rotation=40 if turned else 0,
                    ha="right" if turned else "center", rotation_mode="anchor")
    if panel.logy:
        axes.set_yscale("log")
    axes.margins(y=0.1)


def _number(value, _):
    return shown(value, 1) if 0 < abs(value) < 1 else f"{value:g}"


def draw(panels, prefix):
    """One SVG per panel, so that a phone can show each as wide as its screen."""
    return "".join(_draw(panel, f"{prefix}-{number}") for number, panel in enumerate(panels))


def drawing(panel):
    """(figure, axes) of a panel."""
    labels = sorted(len(series.label) for series in panel.series if _points(series))
    columns = 2 if sum(labels[-2:]) <= 56 else 1  # two labels side by side if there is room
    rows = -(-len(labels) // columns)
    figure, axes = plt.subplots(figsize=(5.2, 3.1 + 0.2 * rows), layout="constrained")
    (_bars if panel.kind == "bars" else _lines)(axes, panel)
    axes.set_title(plain(panel.title), loc="left", fontweight="bold")
    if panel.xlabel:
        axes.set_xlabel(panel.xlabel)
    axes.set_ylabel(panel.ylabel)
    axes.grid(True, axis="y" if panel.kind == "bars" else "both", linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.least is not None:
        axes.set_ylim(bottom=min(panel.least, axes.get_ylim()[0]))
    if panel.logy:
        low, high = axes.get_ylim()
        if high / low < 50:  # otherwise the axis might have one label, or none
            axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(_number))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    elif panel.least is None:
        axes.set_ylim(bottom=0)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        figure.legend(loc="outside lower center", ncols=columns, fontsize=9, frameon=False)
    return figure, axes


def _draw(panel, prefix):
    figure, _ = drawing(panel)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return _for_a_page(buffer.getvalue(), prefix)


def _for_a_page(svg, prefix):
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # An id must be unique in the page, but matplotlib reuses its ids in each drawing.
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\1{prefix}-", svg)
    for colour, name in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{name})")
    # Without these, the drawing is as wide as the page allows. viewBox keeps the size for which it was drawn.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return re.sub(r"font: ([^;\"]*?)'[^;\"]*sans-serif", r"font: \1sans-serif", svg)
