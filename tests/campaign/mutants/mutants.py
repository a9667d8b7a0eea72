#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: do the unit tests notice if one place of the code is wrong?

Usage: mutants.py [--seed N] [--sample N] [--minutes N] [--least PERCENT] [FOLDER_OR_FILE...]

Each mutant is a source file with one operator, constant, condition or statement changed. It is compiled by itself, with
the release build's own command, and linked in front of the libraries, so that no source and no library of the tree
changes. Then the folder's unit tests run. A mutant that no test notices has survived. `equivalent.json` has those that
somebody has read and that change nothing, each with the reason; they are not counted.

Tests that take too long may be stuck by the mutant or by a busy machine, so these
mutants are counted apart. The last line says how many were killed; the exit code is 1 if these are fewer than --least percent.
"""

import argparse
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/release"

# What is mutated, and the tests that must notice, the quickest first: a program of unit tests and a filter, or paes and
# a file of its own tests. The first row that a name begins with counts.
TESTS = {
    "src/age/armor": [("stream_tests", "Armor*"), ("stream_tests", "AgeTestkit*"), ("age_tests", "*")],
    "src/age/plugin": [("age_tests", "*Plugin*"), ("paes", "tests/program/test_plugins.py")],
    "src/age/openssh": [("age_tests", "*"), ("paes", "tests/program/test_ssh_keys.py")],
    "src/age/ssh": [("age_tests", "*"), ("paes", "tests/program/test_ssh_keys.py")],
    "src/format": [("format_tests", "*")],
    "src/age": [("age_tests", "*")],
    "src/vault": [("vault_tests", "*")],
    "src/stream/resume/journal.cpp": [("stream_tests", "Journal*"), ("stream_tests", "Resume*")],
}

OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&", "+=": "-=", "-=": "+=", "|=": "&=",
}
SPACED = re.compile(r"(?<= )(" + "|".join(map(re.escape, sorted(OPERATORS, key=len, reverse=True))) + r")(?= |$)")
STATEMENT = re.compile(r"^ +((?:throw |\(void\))?[\w:.>*()\[\]-]+(?:\(.*\)| [-+|&^]?= .*)|throw \w+.*);$")
NO_STATEMENT = re.compile(r"^ *(?:return|using|const|constexpr|static|auto|template|friend|case|default|else|public|private)\b")


HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'"""
    r"""|^\#(?:[^\n]*\\\n)*[^\n]*|\b(?:static_)?assert\([^;]*;|\[\[[^\]]*\]\]""", re.DOTALL | re.MULTILINE)


def hide(text):
    """The text with spaces in the place of comments, strings, assertions and lines for the preprocessor."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def end_of_brackets(code, begin):
    depth = 0
    for at in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


def mutants_of(text):
    """Each mutant: where it begins and ends, what stands there instead, and of which kind it is."""
    code, found = hide(text), []
    for match in SPACED.finditer(code):
        # A reference or a pointer in a declaration has no space on both sides.
        found.append((match.start(), match.end(), OPERATORS[match[0]], "operator"))
    for match in re.finditer(r"(?<![\w.'])(\d+)U?\b(?![.'x\w])", code):
        found.append((match.start(1), match.end(1), str(int(match[1]) + 1), "constant"))
    for match in re.finditer(r"\b(true|false)\b", code):
        found.append((match.start(), match.end(), {"true": "false", "false": "true"}[match[1]], "constant"))
    for match in re.finditer(r"\b(?:if|while) \(", code):
        begin, end = match.end(), end_of_brackets(code, match.end() - 1)
        if "{" in code[begin:end]:
            continue
        begin = code.rfind(";", begin, end) + 1 or begin
        found.append((begin, end, f" !({text[begin:end].strip()})", "condition"))
    place = 0
    for line in code.splitlines(keepends=True):
        statement = STATEMENT.match(line.rstrip("\n"))
        if statement and not NO_STATEMENT.match(line) and line.count("(") == line.count(")"):
            found.append((place + statement.start(1), place + statement.end(1), "", "statement"))
        place += len(line)
    return sorted(set(found))


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def described(text, mutant):
    begin, end, instead, _ = mutant
    first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
    return " ".join(text[first:last].split()), " ".join((text[first:begin] + instead + text[end:last]).split())


class Compiler:
    """Compiles a mutant and links each test program with it."""

    def __init__(self, folder):
        self.folder = folder
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        self.compiles = {str(Path(entry["directory"], entry["file"]).resolve()): (entry["directory"], shlex.split(entry["command"])) for entry in entries}
        self.links = {}

    def compile(self, source, text):
        directory, words = self.compiles[str(source)]
        begin = next(at for at, word in enumerate(words) if re.search(r"(?:g|c|clang)\+\+[-\d]*$", word))
        words = words[begin:]
        for option in ("-o", "-c", "-MF", "-MT"):
            if option in words:
                at = words.index(option)
                del words[at:at + 2]
        words = [word for word in words if word not in ("-MD", "-Werror", "-D_FORTIFY_SOURCE=2") and not re.fullmatch(r"-O\d", word)]
        mutant, made = self.folder / source.name, self.folder / "mutant.o"
        mutant.write_text(text)
        # Not optimised, which takes a third of the time.
        done = subprocess.run([*words, "-O0", "-w", "-I", str(source.parent), "-c", str(mutant), "-o", str(made)], cwd=directory, capture_output=True, check=False)
        return made if done.returncode == 0 else None

    def link(self, program, made):
        if program not in self.links:
            said = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s", f"bin/{program}"], capture_output=True, text=True, check=True).stdout
            self.links[program] = said.splitlines()[-1]
        output = self.folder / program
        words = shlex.split(self.links[program])
        words = words[words.index("&&") + 1:] if "&&" in words else words
        words = words[:words.index("&&")] if "&&" in words else words
        begin = next(at for at, word in enumerate(words) if re.search(r"(?:g|c|clang)\+\+[-\d]*$", word))
        words = words[begin:]
        at = words.index("-o")
        words[at:at + 2] = ["-o", str(output), str(made)]
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"mutants: {program} cannot be linked: {done.stderr[-2000:]}")
        return output


# Whose tests are skipped where libcrypto is older than 3.5: nothing there could be killed.
POST_QUANTUM = "src/age/hybrid"


def passes(program, chosen, limit_s):
    """Whether the tests pass; None if they take longer than the limit."""
    words, environment = [program, f"--gtest_filter={chosen}", "--gtest_brief=1", "--gtest_fail_fast"], os.environ
    if chosen.endswith(".py"):
        words = [sys.executable, "-m", "pytest", "-xq", "-c", ROOT / "tests/program/pytest.ini", "--basetemp", ROOT / "build/mutants/tried", ROOT / chosen]
        environment = environment | {"PAES": str(program), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=program.parent, timeout=limit_s, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode == 0


def has_skipped(program, chosen):
    return "SKIPPED" in subprocess.run([program, f"--gtest_filter={chosen}"], capture_output=True, text=True, check=False).stdout


def outcome_of(program, chosen, limit_s):
    """What became of a mutant. The tests must fail twice: one that measures time may fail once on a busy machine."""
    found = []
    for _ in range(2):
        found.append(passes(program, chosen, limit_s))
        if found[-1]:
            return "survived"
    return "killed" if False in found else "timed out"


def sources_below(places):
    for place in places:
        path = ROOT / place
        yield from [path] if path.is_file() else sorted(path.glob("*.cpp"))


def tests_of(source):
    name = source.relative_to(ROOT).as_posix()
    return next(tests for place, tests in TESTS.items() if name.startswith(place))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants to try")
    parser.add_argument("--minutes", type=float, default=1e9, help="try no more after so long")
    parser.add_argument("--least", type=float, default=85, help="how many of them must be killed, in percent")
    parser.add_argument("--without", default="-", metavar="BEGINNING", help="leave out files whose names begin like this")
    parser.add_argument("places", nargs="*", default=["src/format", "src/age", "src/vault", "src/stream/resume/journal.cpp"], metavar="FOLDER_OR_FILE")
    options = parser.parse_args()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # a shell ignores them for what runs in the background, and tests of signals would fail
    known = json.loads((Path(__file__).parent / "equivalent.json").read_text())
    is_equivalent = {(one["file"], one["is"], one["becomes"]) for one in known}
    folder = ROOT / "build/mutants"
    folder.mkdir(parents=True, exist_ok=True)
    sources = [source for source in sources_below(options.places) if not source.relative_to(ROOT).as_posix().startswith(options.without)]
    if has_skipped(BUILD / "bin/age_tests", "*Hybrid*"):
        print(f"not run: {POST_QUANTUM}*, because this libcrypto has no ML-KEM-768")
        sources = [source for source in sources if not source.relative_to(ROOT).as_posix().startswith(POST_QUANTUM)]
    texts = {source: source.read_text() for source in sources}
    every = [(source, mutant) for source, text in texts.items() for mutant in mutants_of(text)]
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    compiler, limits, counts, begin = Compiler(folder), {}, {"killed": 0, "survived": 0, "timed out": 0, "not compiled": 0, "equivalent": 0}, time.monotonic()
    print(f"seed: {options.seed}; {len(every)} mutants of {len(texts)} files, of which {len(chosen)} are tried", flush=True)
    for source, mutant in chosen:
        if time.monotonic() - begin > 60 * options.minutes:
            break
        name, text = source.relative_to(ROOT).as_posix(), texts[source]
        before, after = described(text, mutant)
        if (name, before, after) in is_equivalent:
            counts["equivalent"] += 1
            continue
        for program, filter_ in tests_of(source):  # they must pass without a change, or they would kill everything
            if (program, filter_) not in limits:
                started = time.monotonic()
                if outcome_of(BUILD / "bin" / program, filter_, 600) != "survived":
                    raise SystemExit(f"mutants: {program} fails without a change")
                limits[program, filter_] = 10 + 5 * (time.monotonic() - started)
        made = compiler.compile(source, text[:mutant[0]] + mutant[2] + text[mutant[1]:])
        if made is None:
            counts["not compiled"] += 1
            continue
        outcomes = []
        for program, filter_ in tests_of(source):
            outcomes.append(outcome_of(compiler.link(program, made), filter_, limits[program, filter_]))
            if outcomes[-1] == "killed":
                break
        outcome = next(one for one in ("killed", "timed out", "survived") if one in outcomes)
        counts[outcome] += 1
        print(f"{time.monotonic() - begin:.0f} s: {name}:{line_of(text, mutant[0])}: {outcome}", file=sys.stderr, flush=True)
        if outcome == "survived":
            print(f"survived: {name}:{line_of(text, mutant[0])}: {before}\n      as: {after}", flush=True)
    tried = counts["killed"] + counts["survived"]
    percent = 100 * counts["killed"] / max(tried, 1)
    print("campaign: " + ", ".join(f"{number} {kind}" for kind, number in counts.items()) + f": {percent:.1f} % of {tried} mutants killed")
    return 0 if tried > 0 and percent >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
