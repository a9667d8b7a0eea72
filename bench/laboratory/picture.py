# SPDX-License-Identifier: Apache-2.0
"""A picture of bars as plain SVG, for documents. It has its own background, and follows the reader's choice of a light or dark screen."""
from xml.sax.saxutils import escape

from .values import shown

WIDTH, LABELS, VALUES = 720, 96, 72  # of the picture, of the names before the bars, of the numbers after them
BAR, STEP, GROUP, HEAD, FOOT, MARGIN = 14, 19, 30, 62, 14, 16
STYLE = """
  .paper { fill: #ffffff; stroke: #d0d7de; }
  text { fill: #1f2328; font: 13px system-ui, sans-serif; }
  .title { font-weight: 600; font-size: 15px; }
  .group { font-weight: 600; }
  .note { fill: #59636e; font-size: 12px; }
  .other { fill: #8c959f; }
  .ours { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .note { fill: #9198a1; }
    .other { fill: #656c76; }
    .ours { fill: #4493f8; }
  }
"""


def _text(x, y, content, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    anchor = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{escape(content)}</text>'


def bars(title, note, groups, ours):
    """An SVG of horizontal bars. `groups` is {group: {label: number}}; bars of the label `ours` stand out."""
    longest = max(number for rows in groups.values() for number in rows.values())
    room = WIDTH - 2 * MARGIN - LABELS - VALUES
    drawn, y = [_text(MARGIN, 27, title, "title"), _text(MARGIN, 46, note, "note")], HEAD
    for group, rows in groups.items():
        drawn.append(_text(MARGIN, y + 16, group, "group"))
        y += GROUP - 6
        for label, number in rows.items():
            width = max(1.0, room * number / longest)
            drawn += [_text(MARGIN + LABELS - 8, y + 11.5, label, anchor="end"),
                      f'<rect x="{MARGIN + LABELS}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2" '
                      f'class="{"ours" if label == ours else "other"}"/>',
                      _text(round(MARGIN + LABELS + width + 6, 1), y + 11.5, shown(number))]
            y += STEP
        y += 6
    height = y + FOOT
    said = "; ".join(f"{group}: " + ", ".join(f"{label} {shown(number)}" for label, number in rows.items())
                     for group, rows in groups.items())
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        'aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>', f'<desc id="description">{escape(said)}</desc>', f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>', *drawn, "</svg>", ""])
