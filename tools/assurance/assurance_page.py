# SPDX-License-Identifier: Apache-2.0
"""docs/assurance.md, made from what is recorded and from nothing else."""

import json
import textwrap

import dependencies
import promises
import records

BEGINNING = """\
# Why to trust paes, and what was not looked at

`./dev assurance` makes this page from the files in `docs/assurance`, and `./dev check` fails if it
does not fit the tree. Results come from campaigns alone: `./dev assurance record NAME` runs one and
keeps what it gave, with commit, machine, seed and duration. [SECURITY.md](../SECURITY.md) says what
paes promises.

A result *holds* if each file that its campaign covers is still the same to the byte. What the
ordinary tests look at is not repeated here: `./dev test` runs them, and each promise below names
the tests of it.
"""


def cell(text):
    return text.replace("|", "\\|")


def duration(seconds):
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def counted(record):
    words = [f"{number} {kind}" for kind, number in record["counts"].items() if number]
    words += record.get("figures", [])  # what the campaign itself says of its result
    return ", ".join(words) or record["result"]


def campaign_rows(root, data):
    found = records.load_records(root)
    for number, subject in data["subjects"].items():
        here = [campaign for campaign in data["campaigns"] if campaign["subject"] == number]
        for campaign in here:
            record = found.get(campaign["name"])
            columns = [f"{number}. {subject}", f"`{campaign['name']}`: {campaign['what']}"]
            if record is None:
                columns += ["**not run yet**", ""]
            else:
                changed = records.changed_since(root, campaign, record)
                state = "**failed**" if record["result"] != "passed" else "holds" if not changed else f"out of date: `{changed[0]}` has changed"
                columns += [
                    f"{state}: {counted(record)}",
                    f"{record['date']}, commit {record['commit'][:12]}, {duration(record['duration_s'])}, seed: {record['seed']}; {record['machine']}",
                ]
            yield "| " + " | ".join(map(cell, columns)) + " |"
        if not here:
            yield f"| {number}. {subject} | there is none | **not run yet** |  |"


def fuzzing_rows(root):
    """What the harnesses have done since somebody counts; fuzzing.py adds it up."""
    path = root / "docs/assurance/executions.json"
    for name, one in json.loads(path.read_text()).items() if path.exists() else ():
        yield f"| `{name}` | {one['executions']:,} | {duration(one['seconds'])} | {one['since']} |"


def test_cell(tests):
    return "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests)


def dependency_rows(root, wanted):
    for row in dependencies.load(root):
        if (dependencies.ROLES[row["role"]] == "runs in the product") == wanted:
            columns = [row["name"], dependencies.versions(root, row), row["licence"], row["keeper"], f"{row['role']}: {row['why']}"]
            yield "| " + " | ".join(map(cell, columns)) + " |"


def make(root):
    data = records.load_campaigns(root)
    made, tests = promises.made_in((root / "SECURITY.md").read_text()), promises.load(root)
    lines = [BEGINNING, "## What was run", "", "| subject | campaign | result | when and where |", "|---|---|---|---|"]
    lines += campaign_rows(root, data)
    if executions := list(fuzzing_rows(root)):
        lines += ["", "## Executions of the fuzz harnesses, all runs together", ""]
        lines += ["| harness | executions | time | since |", "|---|---|---|---|", *executions]
    lines += ["", "## What was not looked at", ""]
    for number, subject in data["subjects"].items():
        for sentence in data["not_looked_at"].get(number, []):
            lines += textwrap.wrap(f"- **{subject}.** {sentence}", 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    lines += ["", "Nobody outside the project has audited paes."]
    lines += ["", "## What SECURITY.md promises, and the tests of it", "", "| promise | tests, below `tests` |", "|---|---|"]
    lines += [f"| {number}: {words} | {test_cell(tests[number])} |" for number, words in made.items()]
    header = ["| project | version | licence | who keeps it | why |", "|---|---|---|---|---|"]
    lines += ["", "## What runs in the product and is not ours", "", *header, *dependency_rows(root, True)]
    lines += ["", "## What builds, tests, measures and checks it", ""]
    lines += ["Packages of PyPI are pinned, with all that they bring, in the `requirements.txt` of the folder that", "uses them.", ""]
    lines += [*header, *dependency_rows(root, False)]
    return "\n".join(lines) + "\n"
