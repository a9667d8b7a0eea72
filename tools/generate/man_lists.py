# SPDX-License-Identifier: Apache-2.0
"""The lists of options in the man pages, and whether each option has its entry there and no other has.

A list stands between the lines `.\\" options of each command` and `.\\" end of options`. The entries are prose."""

import re

FIRST = '.\\" options of each command, made by `./dev generate`'
LAST = '.\\" end of options'
BLOCK = re.compile(re.escape(FIRST) + r"\n.*?" + re.escape(LAST), re.DOTALL)

# What every program has, and the command whose manual is another program's.
EVERYWHERE = {"-h", "--help", "--version"}
ELSEWHERE = {"age"}


def page_of(program, command, names):
    """The page of a command: its own if there is one, otherwise its program's."""
    own = f"{program}-{command.words[0]}.1" if command.words else ""
    return own if own in names else f"{program}.1"


def escaped(text):
    return text.replace("\\", "\\\\").replace("-", "\\-")


def unescaped(text):
    return re.sub(r"\\f.", "", text).replace("\\-", "-").replace("\\", "")


def write_list(page, commands):
    lines = [FIRST]
    for command in commands:
        if command.options and command.words and not command.commands:
            names = ", ".join(name for option in command.shown_options for name in option.names
                              if name not in EVERYWHERE)
            lines += [".TP", f".B {escaped(command.words[-1])}", escaped(names)]
    return BLOCK.sub(lambda _: "\n".join([*lines, LAST]), page)


def section(page, title):
    found = re.search(rf'^\.SH "?{title}"?\n(.*?)(?=^\.SH |\Z)', page, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def entries(text):
    """The lines that name the subject of an entry."""
    return [unescaped(line) for line in re.findall(r"^\.TP(?: \d+)?\n(.*)$", BLOCK.sub("", text), re.MULTILINE)]


def names_in(text):
    return set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", text))


def faults(name, page, commands, see_also=""):
    """What the page lacks or has too much. What it lacks may be in another page's text."""
    options = section(page, "OPTIONS")
    documented = set().union(*(names_in(line) for line in entries(options)))
    elsewhere = set().union(*(names_in(line) for line in entries(section(see_also, "OPTIONS"))))
    text = unescaped(options + section(see_also, "OPTIONS"))
    known = set()
    for command in commands:
        for option in command.options:
            known.update(option.names)
            missing = set(option.names) - EVERYWHERE - documented - elsewhere
            if missing and not option.is_hidden and not ELSEWHERE.intersection(command.words):
                yield f"{name}: no entry for {', '.join(sorted(missing))} of {' '.join(command.words) or 'the program'}"
            for choice in option.choices:
                if not re.search(rf"(?<![\w-]){re.escape(choice)}(?![\w-])", text):
                    yield f"{name}: {option.names[-1]} can be {choice}, which the page does not say"
    for extra in sorted(documented - known - EVERYWHERE):
        yield f"{name}: an entry for {extra}, which is no option"
    listed = " ".join(entries(section(page, "COMMANDS")))
    own = max((command.words[:-1] for command in commands if command.words), key=len, default=())
    for command in commands:
        if command.words[:-1] == own and command.words and not re.search(rf"\b{command.words[-1]}\b", listed):
            if section(page, "COMMANDS"):
                yield f"{name}: COMMANDS lacks {command.words[-1]}"
