# SPDX-License-Identifier: Apache-2.0
"""The report in Markdown, without figures."""
from . import claims, published
from .judgement import OUTCOMES
from .presentation import MISSING, NOT_RUN, asked_for, chosen, commit_of, disturbance, gpu, grouped, presentation, title_of


def words(parts):
    return "".join(MISSING if part is None else str(part) for part in parts)


def cell(content):
    return (MISSING if content is None else str(content)).replace("|", "\\|")


def table(made):
    lines = [f"{caption(made)}:", "", "| " + " | ".join(cell(column) for column in made.columns) + " |",
             "|" + "---|" * len(made.columns)]
    lines += ["| " + " | ".join(cell(content) for content in row) + " |" for row in made.rows]
    return [*lines, ""]


def caption(made):
    return f"{claims.claim(made.claim).source}: {made.caption}" if made.claim else made.caption


def asked(experiment, names):
    """The claims that a verdict is about, each with its source."""
    return [f"{source}: {words(sentence)}" for source, sentence in (asked_for(experiment, name) for name in names)]


def verdict(experiment, names, said):
    """An item of a list: claims, what they come to here, and by which figures. Several claims are a list in it."""
    outcome = f"**{capital(OUTCOMES[said.outcome])}.**"
    if said.here == [NOT_RUN]:
        return f"- {outcome} {capital(NOT_RUN)}."
    claimed = asked(experiment, names)
    if len(claimed) == 1:
        return f"- {outcome} {claimed[0]}. Here: {found(said)}."
    return "\n".join([f"- {outcome} Here: {found(said)}.", *(f"  - {one}." for one in claimed)])


def found(said, before_rule=". "):
    """What a verdict says of this machine, and by what rule."""
    return f"{words(said.here)}{f'{before_rule}Rule: {said.rule}' if said.rule else ''}"


def row(experiment, names, said):
    """Cells of a table: claims, outcome, figures. A line of its own has each claim, and the rule."""
    return "<br>".join(asked(experiment, names)), OUTCOMES[said.outcome], found(said, ".<br>")


def told(name):
    """What a study did, as a sentence, with its source."""
    claim = claims.claim(name)
    return f"{words(claims.as_sentence(claim.says))} ({claim.where})"


def head(experiment):
    """What the studies did, and what we noticed of their claims."""
    lines = []
    for study in claims.studies_of(experiment.did):
        said = " ".join(told(name) for name in experiment.did if claims.claim(name).study == study)
        lines += [f"{published.short(study)}: {said}", ""]
    for name in (*experiment.did, *experiment.judges):
        if remark := claims.claim(name).remark:
            lines += [f"Our remark on {claims.claim(name).source}: {words(remark)}", ""]
    lines += [f"Source: {published.cite(study)}" for study in claims.studies_of((*experiment.did, *experiment.judges))]
    return [*lines, ""]


def capital(text):
    return text[:1].upper() + text[1:]


def one(experiment, document):
    shown_, entry = presentation(experiment, document)
    lines = [f"**{title_of(document)}**", ""]
    lines += [verdict(experiment, names, said) for names, said in grouped(shown_)] + [""]
    for made in shown_.tables:
        lines += table(made)
    lines += [f"{note}" for note in shown_.notes] + ([""] if shown_.notes else [])
    if said := disturbance(experiment, document):
        lines += [f"Disturbed: {words(said)}.", ""]
    if commit := commit_of(experiment, document):
        lines += [f"Measured by paes {commit}, {entry['date']}.", ""]
    if words_ := chosen(experiment, document):
        lines += [f"Chosen for this run: {words_}.", ""]
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
        lines += ["", f"## {experiment.name}. {experiment.title}", "", *head(experiment), f"Here: {experiment.here}",
                  ""]
        for document in documents:
            lines += one(experiment, document)
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"
