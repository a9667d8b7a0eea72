# SPDX-License-Identifier: Apache-2.0
"""What a student hands in with a report: a name and answers, as text with a little Markdown."""
from html import escape
from itertools import groupby

from .page import text

HEADINGS = {"# ": "h2", "## ": "h3"}


def kind_of(line):
    if not line.strip():
        return "blank"
    if line.startswith("    "):
        return "code"
    return next((tag for mark, tag in HEADINGS.items() if line.startswith(mark)), "words")


def as_html(answers):
    """Headings after # and ##, code after four spaces, paragraphs between blank lines. The rest is text."""
    made = []
    for kind, lines in groupby(answers.splitlines(), kind_of):
        if kind == "code":
            made.append(f"<pre>{escape(chr(10).join(line[4:] for line in lines), quote=False)}</pre>")
        elif kind == "words":
            made.append(f"<p>{text(' '.join(lines))}</p>")
        elif kind != "blank":
            made += [f"<{kind}>{text(line.lstrip('#').strip())}</{kind}>" for line in lines]
    return f'<div class="answers">{"".join(made)}</div>'
