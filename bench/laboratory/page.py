# SPDX-License-Identifier: Apache-2.0
"""Makes one HTML page of one or several result files. The page needs nothing else, neither script nor network."""
from html import escape

from . import beside, claims, parameters, published
from .figures import draw
from .judgement import BUSY, DISTURBED, OUTCOMES
from .presentation import (
    MISSING, NOT_RUN, asked_for, chosen, commit_of, disturbance, gpu, grouped, presentation, title_of)
from .values import Value

STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d2126; --soft: #5a626c; --grid: #d4d8dc;
  --card: #f3f4f1; --good: #1b6e3c; --part: #8a5a00; --bad: #a3242b;
  --s1: #0063b2; --s2: #c44e00; --s3: #007a53; --s4: #9b2f8d; --s5: #8a6d00; --s6: #b3203a; --s7: #00798c;
  --s8: #5b4bc4; --s9: #5c6b00; --s10: #7a4a2a; --s11: #445566; --s12: #b0006e; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e8ea; --soft: #a3abb4;
  --grid: #3a4048; --card: #1e2227; --good: #6fce92; --part: #e3b45c; --bad: #f08a8a;
  --s1: #6cb6ff; --s2: #ff9c55; --s3: #4fd1a0; --s4: #e58ad8; --s5: #e0c04a; --s6: #ff8597; --s7: #57cfe2;
  --s8: #b3a7ff; --s9: #c3d44a; --s10: #d8a37c; --s11: #b4c3d2; --s12: #ff7ec4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; color: var(--soft); }
a { color: var(--s1); } p { margin: 0.5rem 0; max-width: 48rem; }
.soft, figcaption, caption { color: var(--soft); font-size: 0.9rem; }
.files { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.files > article { background: var(--card); border-radius: 0.5rem; padding: 0.75rem; min-width: 0; }
.verdict strong { display: block; } .holds strong { color: var(--good); } .in-part strong { color: var(--part); }
.does-not-hold strong { color: var(--bad); }
figure { margin: 0.75rem 0; display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: flex-start; }
figure svg { flex: 1 1 min(100%, 22rem); min-width: 0; max-width: 35rem; height: auto; }
figcaption { flex-basis: 100%; }
figure svg text { font-family: system-ui, sans-serif; }
.table { overflow-x: auto; margin: 0.75rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; } caption { text-align: left; padding-bottom: 0.25rem; }
th, td { padding: 0.15rem 0.5rem; text-align: right; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; } th:first-child { text-align: left; } tbody th { min-width: 8.5rem; } thead th { vertical-align: bottom; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.words td { text-align: left; white-space: normal; } .words th { text-align: left; }
.answers { border-left: 0.25rem solid var(--grid); padding-left: 1rem; }
pre { overflow-x: auto; font-size: 0.85rem; white-space: pre-wrap; }
.beside td, .beside tbody th { vertical-align: top; } .beside tbody th { font-weight: 400; } .beside td code { white-space: nowrap; }
@page { size: A4; margin: 14mm 12mm; }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --grid: #bbb; --card: #fff; --good: #14532d;
    --part: #6b4500; --bad: #8b1a20; --s1: #0063b2; --s2: #c44e00; --s3: #007a53; --s4: #9b2f8d; --s5: #8a6d00;
    --s6: #b3203a; --s7: #00798c; --s8: #5b4bc4; --s9: #5c6b00; --s10: #7a4a2a; --s11: #445566; --s12: #b0006e; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  a { color: inherit; text-decoration: none; } p { max-width: none; orphans: 3; widows: 3; }
  .files { display: block; } .files > article { padding: 0; margin-bottom: 1rem; }
  .table { overflow: visible; } .beside td code { white-space: normal; } table { font-size: 7.5pt; width: auto; max-width: 100%; }
  th, td { padding: 0.1rem 0.25rem; } td { white-space: normal; } tbody th { min-width: 0; }
  h1, h2, h3, caption { break-after: avoid; } tr, figure svg, .verdict { break-inside: avoid; }
  thead { display: table-header-group; } figure svg { flex: 0 1 calc(50% - 0.25rem); max-width: none; } }
@media (max-width: 45rem) { .beside td code { white-space: normal; } }
@media (max-width: 30rem) { body { padding: 0.5rem; } .files > article { padding: 0.5rem; } }
code { font-size: 0.92em; }
""".strip()


def text(words):
    """Text as HTML, with `code` between backquotes."""
    parts = escape(words, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def number(value, file):
    """A number as HTML that says where it comes from."""
    source = " ".join(value.sources)
    return (f'<data value="{value.number!r}" data-from="{escape(source)}" data-how="{value.how}" '
            f'data-file="{file}">{value}</data>')


def cell(content, file, head=False):
    if head:
        return f'<th scope="row">{text(content)}</th>'
    if content is None:
        return f"<td>{MISSING}</td>"
    return f"<td>{number(content, file)}</td>" if isinstance(content, Value) else f"<td>{text(content)}</td>"


def caption(made):
    """A caption that says whose figures these are, if they are a study's."""
    if made.claim is None:
        return text(made.caption)
    return f'<span data-claim="{made.claim}">{text(claims.claim(made.claim).source)}: {text(made.caption)}</span>'


def table(made, file):
    heads = "".join(f'<th scope="col">{text(column)}</th>' for column in made.columns)
    rows = []
    for row in made.rows:
        has_head = bool(row) and isinstance(row[0], str)
        rows.append("<tr>" + "".join(cell(content, file, head=has_head and at == 0)
                                     for at, content in enumerate(row)) + "</tr>")
    return (f'<div class="table"><table><caption>{caption(made)}</caption><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


def sentence(parts, file):
    return "".join(number(part, file) if isinstance(part, Value) else text(MISSING if part is None else part)
                   for part in parts)


def asked(experiment, name, file):
    """A claim that a verdict is about, with its source."""
    source, parts = asked_for(experiment, name)
    return f'<span data-claim="{name}">{text(source)}: {sentence(parts, file)}</span>'


def verdict(experiment, names, said, file):
    """One paragraph: claims, whether they hold here, the numbers."""
    outcome = f'<p class="verdict {said.outcome.replace(" ", "-")}"><strong>{OUTCOMES[said.outcome]}</strong> '
    if said.here == [NOT_RUN]:
        return f"{outcome}It was not run.</p>"
    claimed = ".<br>".join(asked(experiment, name, file) for name in names)
    rule = f' <span class="soft">Rule: {text(said.rule)}.</span>' if said.rule else ""
    return f"{outcome}{claimed}.{'<br>' if len(names) > 1 else ' '}Here: {sentence(said.here, file)}.{rule}</p>"


def told(name, file):
    claim = claims.claim(name)
    said = sentence(claims.as_sentence(claim.says), file)
    return f'<span data-claim="{name}">{said} <span class="soft">({text(claim.where)})</span></span>'


def head(experiment):
    """What the studies did, what we noticed of their claims, and where they say so."""
    paragraphs = []
    for study in claims.studies_of(experiment.did):
        did = " ".join(told(name, 0) for name in experiment.did if claims.claim(name).study == study)
        paragraphs.append(f'<p><b data-study="{study}">{text(published.short(study))}.</b> {did}</p>')
    for name in (*experiment.did, *experiment.judges):
        claim = claims.claim(name)
        if claim.remark:
            paragraphs.append(f'<p class="soft" data-remark="{name}"><b>Our remark on {text(claim.source)}.</b> '
                              f"{sentence(claim.remark, 0)}</p>")
    cited = claims.studies_of((*experiment.did, *experiment.judges))
    if cited:
        sources = (f'<cite class="soft" data-study="{study}">{text(published.cite(study))}</cite>' for study in cited)
        paragraphs.append(f"<p>{' '.join(sources)}</p>")
    return "".join(paragraphs)


def article(experiment, document, file, title):
    shown_, entry = presentation(experiment, document)
    body = [f"<h3>{text(title)}</h3>", *(verdict(experiment, names, said, file) for names, said in grouped(shown_))]
    if shown_.panels:
        body.append(f"<figure>{draw(shown_.panels, f'f{file}-{experiment.name.lower()}')}"
                    f"<figcaption>{text(figure_caption(shown_.panels))}</figcaption></figure>")
    body += [table(made, file) for made in shown_.tables]
    body += [f'<p class="soft">{text(note)}</p>' for note in shown_.notes]
    if said := disturbance(experiment, document):
        body.append(f'<p class="soft"><b>Disturbed:</b> {sentence(said, file)}.</p>')
    if commit := commit_of(experiment, document):
        body.append(f'<p class="soft">Measured by paes {text(commit)}, {entry["date"]}.</p>')
    if words := chosen(experiment, document):
        body.append(f'<p class="soft"><b>Chosen for this run:</b> {text(words)}.</p>')
    body += [f'<p class="soft">Left out: {text(row["what"])}: {text(row["why"])}.</p>' for row in entry["left_out"]]
    return f"<article>{''.join(body)}</article>"


def figure_caption(panels):
    """What each drawing shows, and which of its lines and bars are whose."""
    words = [f"{panel.title}: {panel.ylabel}{f' by {panel.xlabel}' if panel.xlabel else ''}." for panel in panels]
    kinds = {series.kind for panel in panels for series in panel.series if any(y is not None for y in series.ys)}
    looks = {"measured": "Measured here: filled.", "published": "Published: dashed or hatched.",
             "ideal": "Perfect scaling: dotted."}
    return " ".join([*words, *(look for kind, look in looks.items() if kind in kinds)])


def machines(documents):
    rows = []
    for name, key in (("Processor", "cpu"), ("Cores", "cores"), ("System", "os"), ("Compiler", "compiler"),
                      ("Flags", "flags"), ("libcrypto", "libcrypto"), ("paes", "paes"), ("Commit", "commit"),
                      ("Begun", "date")):
        rows.append([name, *[str(document["machine"].get(key, MISSING)) for document in documents]])
    rows.append(["GPU", *[gpu(document) for document in documents]])
    rows.append(["Effort", *[document["effort"] + ("" if document["finished"] else ", not finished")
                             for document in documents]])
    if any("parameters" in document for document in documents):
        rows.append(["Chosen", *[parameters.said(document.get("parameters", {})) or MISSING for document in documents]])
    body = "".join('<tr><th scope="row">' + text(row[0]) + "</th>" + "".join(f"<td>{text(value)}</td>" for value in row[1:])
                   + "</tr>" for row in rows)
    return f'<div class="table words"><table><tbody>{body}</tbody></table></div>'


def overview(experiments, documents):
    heads = "".join(f'<th scope="col">{text(title_of(document))}</th>' for document in documents)
    rows = []
    for experiment in experiments:
        cells = []
        for document in documents:
            shown_, _ = presentation(experiment, document)
            counts = f' <span class="soft">({shown_.counts})</span>' if shown_.counts else ""
            cells.append(f"<td>{OUTCOMES[shown_.outcome]}{counts}</td>")
        rows.append(f'<tr><th scope="row"><a href="#{experiment.name.lower()}">{experiment.name}</a> '
                    f"{text(experiment.title)}</th>{''.join(cells)}</tr>")
    return (f'<div class="table words"><table><thead><tr><th scope="col">experiment</th>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


def studies_beside(experiments, documents):
    """The published figures, what the machines have beside them, and the commands that repeat them."""
    heads = "".join(f'<th scope="col">here: {text(title_of(document))}</th>' for document in documents)
    rows = []
    for row in beside.rows(experiments, documents):
        name = row.experiment
        here = "".join(f"<td>{sentence(parts, file)}</td>" for file, parts in enumerate(row.here))
        rows.append(f'<tr><th scope="row" data-study="{row.claim.study}">{text(row.claim.source)}</th>'
                    f'<td data-study="{row.claim.study}">{sentence(row.says, 0)}</td>'
                    f"<td>{sentence(row.published, 0)}</td>{here}"
                    f'<td><a href="#{name.lower()}">{name}</a> <code>{row.command}</code></td></tr>')
    return (f'<div class="table words beside"><table><thead><tr><th scope="col">study</th><th scope="col">figure</th>'
            f'<th scope="col">published</th>{heads}<th scope="col">repeat it</th></tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


JUDGING = (f"How verdicts are given: what is in doubt of figures is half the range of the rounds of each, together, or the "
           f"share of the processors that other programs used, if that is more. Where the share or a range is not known, {100 * DISTURBED:.0f} "
           "% stands for it, but nothing for the share where a device timed the figures by its own clock. Figures are compared as they are shown. "
           f"One counts as more than another only if it is more by {100 * BUSY:.0f} % and by the doubt, and it passes a limit only if it passes the limit "
           f"with the doubt added. What is within the doubt is left open, and so is a claim of which only such parts are left. What is within "
           f"{100 * BUSY:.0f} % is no difference, unless the doubt is larger than that. The range that a verdict tells is the widest of all figures "
           "that its rule compares, and the comparison nearest to its limit is the one whose distance from it exceeds its doubt by least. How "
           "much less time something takes is compared by the time left. Where a rule sets limits around a number that is claimed, a "
           "figure outside them fails, though it may lie on the same side of one. A word for a degree, such as far or much, has a limit in "
           "the rule, which may let hold in part what is right in its direction alone; or the rule says that the degree is not judged. Its own "
           "rule stands beside each verdict.")


def make(experiments, documents, handed_in=""):
    """`handed_in`: HTML of a student's answers."""
    sections = []
    for experiment in experiments:
        articles = "".join(article(experiment, document, file, title_of(document))
                           for file, document in enumerate(documents))
        sections.append(
            f'<section id="{experiment.name.lower()}"><h2>{experiment.name}. {text(experiment.title)}</h2>'
            f"{head(experiment)}<p><b>Here.</b> {text(experiment.here)}</p><div class=\"files\">{articles}</div></section>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>paes: the studies, run again</title><style>{STYLE}</style></head><body><main>"
        "<h1>Parallel AES: five studies, run again</h1>"
        "<p>What five published studies measured, measured on the machines below by one program, paes. Times are of "
        "data in memory, rates decimal. Figures are medians of rounds. The programs that a ratio or a speedup compares took "
        "turns, and it was formed in each round, unless its table says otherwise. A dash stands where nothing was "
        "measured.</p>"
        f"<p>{text(JUDGING)}</p>"
        f"{handed_in}<h2>Study, figure, command, our figure</h2>"
        "<p>Each published figure that an experiment measures, and what the experiment found here. In brackets stands "
        "the study's own term. Of figures by size the largest that was measured is shown; the experiment has "
        "the others. A figure without a number beside it has the verdict of its experiment. docs/exercises.md asks questions about them.</p>"
        f"{studies_beside(experiments, documents)}"
        f"<h2>In short</h2>{overview(experiments, documents)}<h2>Machines</h2>{machines(documents)}{''.join(sections)}"
        "</main></body></html>\n")
