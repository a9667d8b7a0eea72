# SPDX-License-Identifier: Apache-2.0
"""What the built programs report about their own command lines: `--list-options` of each (apps/cli/option_list.hpp)."""

import json
import subprocess


class Option:
    def __init__(self, listed):
        self.names = listed["names"]
        self.value = listed["value"]  # "" if the option takes none
        self.choices = listed["choices"]
        self.repeats = listed["repeats"]
        self.is_hidden = listed["hidden"]
        self.help = listed["help"]


class Operand:
    """A word that is no option. Its name says which files it can be."""

    def __init__(self, listed, encrypted_suffixes):
        self.name = listed["name"]
        self.choices = listed["choices"]
        self.encrypted_suffixes = encrypted_suffixes  # [] if the command reads no encrypted files


class Command:
    """A program, or one of its commands; `words` follow the program's name."""

    def __init__(self, words, listed):
        self.words = words
        self.summary = listed["summary"]
        self.options = [Option(one) for one in listed["options"]]
        self.operands = [Operand(one, listed["encrypted_suffixes"]) for one in listed["operands"]]
        self.commands = [(one["name"], one["summary"]) for one in listed["commands"]]

    @property
    def shown_options(self):
        return [option for option in self.options if not option.is_hidden]


def ask(program, words):
    done = subprocess.run([program, *words, "--list-options"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise SystemExit(f"generate: {program} {' '.join(words)} --list-options: {done.stderr.strip()}")
    return Command(words, json.loads(done.stdout))


def ask_all(program, words=()):
    """The program, its commands, and their subcommands, in the order of the help."""
    own = ask(program, words)
    return [own] + [found for name, _ in own.commands for found in ask_all(program, (*words, name))]
