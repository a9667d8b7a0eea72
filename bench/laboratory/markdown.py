# SPDX-License-Identifier: Apache-2.0
"""The report in Markdown, without figures."""
from . import published
from .presentation import BUSY, MISSING, OUTCOMES, gpu, others, presentation, title_of
from .values import Value, shown


def words(parts):
    return "".join(shown(part.number) if isinstance(part, Value) else MISSING if part is None else part
                   for part in parts)


def cell(content):
    content = MISSING if content is None else shown(content.number) if isinstance(content, Value) else content
    return content.replace("|", "\\|")


def table(made):
    lines = [f"{made.caption}:", "", "| " + " | ".join(cell(column) for column in made.columns) + " |",
             "|" + "---|" * len(made.columns)]
    lines += ["| " + " | ".join(cell(content) for content in row) + " |" for row in made.rows]
    return [*lines, ""]


def one(experiment, document):
    shown_, entry = presentation(experiment, document)
    if shown_ is None:
        return [f"**{title_of(document)}: {OUTCOMES['open']}.** {entry['reason']}.", ""]
    is_open = entry["outcome"] in ("unavailable", "failed")
    lines = [f"**{title_of(document)}: {OUTCOMES['open' if is_open else shown_.outcome]}.** "
             f"The study: {words(shown_.finding)}. Here: {entry['reason'] if is_open else words(shown_.here)}.", ""]
    for made in shown_.tables:
        lines += table(made)
    lines += [f"{note}" for note in shown_.notes] + ([""] if shown_.notes else [])
    share = others(experiment, document)
    if share and float(share) > 100 * BUSY:
        lines += [f"Disturbed: other programs used {shown(share.number)} % of the processors meanwhile.", ""]
    for row in entry["left_out"]:
        lines.append(f"Left out: {row['what']}: {row['why']}.")
    return [*lines, ""]


def make(experiments, documents):
    lines = ["# Parallel AES: five studies, run again", ""]
    for document in documents:
        machine = document["machine"]
        known = [machine[key] for key in ("os", "compiler", "libcrypto") if key in machine]
        paes = machine.get("commit", machine.get("paes", MISSING))
        lines += [f"- {'; '.join([title_of(document), *known])}; paes {paes}, {machine['date']}; GPU: {gpu(document)}; "
                  f"{document['effort']}{'' if document['finished'] else ', not finished'}"]
    for experiment in experiments:
        lines += ["", f"## {experiment.name}. {experiment.title}", "", f"{experiment.did} "
                  f"({published.cite(experiment.study)})", "", f"Here: {experiment.here}", ""]
        for document in documents:
            lines += one(experiment, document)
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"
