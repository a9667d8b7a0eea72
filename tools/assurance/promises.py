# SPDX-License-Identifier: Apache-2.0
"""The promises of SECURITY.md, and the tests of each (docs/assurance/promises.json).

A promise is a line of a list that begins with its number, as in "- **P1. Confidentiality ...**". In the sections of
FULL, every line of a list is one. A test is named as FILE::test_name, or as FILE::Suite.Name for GoogleTest.
"""

import json
import re

# Sections, by the beginning of their first line, in which every line is a promise, and the letter of those.
FULL = {"## What paes protects": "P", "**Nonces under `--resume`.**": "R", "## Limits that are enforced": "L"}


def load(root):
    return json.loads((root / "docs/assurance/promises.json").read_text())


def made_in(text):
    """A number to the first words of its promise, in order."""
    return {number: " ".join(words.split()) for number, words in re.findall(
        r"^- \*\*([A-Z]\d+)\.[* ]*([^*.:;(]+(?:\n  [^*.:;(]+)*)", text, re.MULTILINE)}


def section(text, beginning):
    """What begins with this line, up to the next heading or, of a paragraph with a list, to that list's end."""
    rest = text[text.index("\n" + beginning) + 1 :]
    end = re.search(r"\n## ", rest[1:]) if beginning.startswith("## ") else re.search(r"\n\n(?!- )", rest)
    return rest[: end.start() + 1] if end else rest


def has_test(root, test):
    name, _, what = test.partition("::")
    path = root / name
    if not what or not path.is_file():
        return False
    text = path.read_text()
    if path.suffix == ".py":
        return re.search(rf"^def {re.escape(what)}\(", text, re.MULTILINE) is not None
    suite, _, case = what.partition(".")
    return re.search(rf"^TEST(_[FP])?\({re.escape(suite)},\s*{re.escape(case)}\)", text, re.MULTILINE) is not None


def violations(root):
    text, rows = (root / "SECURITY.md").read_text(), load(root)
    made = made_in(text)
    for beginning, letter in FULL.items():
        if "\n" + beginning not in text:
            yield f"SECURITY.md: the section that begins with {beginning!r} is not there"
            continue
        for line in re.findall(r"^- .*", section(text, beginning), re.MULTILINE):
            if not re.match(rf"- \*\*{letter}\d+\.", line):
                yield f"SECURITY.md: a promise without a number: {line}"
    numbers = re.findall(r"^- \*\*([A-Z]\d+)\.", text, re.MULTILINE)
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
        yield f"SECURITY.md: {number} is the number of two promises"
    for number in made:
        if not rows.get(number):
            yield f"promises.json: {number} has no test: {made[number]}"
    for number, tests in rows.items():
        if number not in made:
            yield f"promises.json: SECURITY.md makes no promise {number}"
        for test in tests:
            if not has_test(root, test):
                yield f"promises.json: {number}: there is no test {test}"
