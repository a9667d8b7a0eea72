# SPDX-License-Identifier: Apache-2.0
"""What the user may choose instead of an experiment's own choice: numbers of threads and ranks, sizes of the data, delays."""
import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass

from .values import size

BLOCK = 16  # bytes: ECB encrypts whole blocks of AES
UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class ParameterError(Exception):
    """A parameter cannot be used. The message is one line for the user."""


@dataclass(frozen=True)
class Parameter:
    """`least` and `most` bound each number, and each number is a multiple of `step`."""

    name: str
    example: str
    help: str
    least: int
    most: int
    step: int = 1
    units: tuple = ("",)
    shown: Callable = str

    def number(self, word):
        found = re.fullmatch(r"([0-9]{1,18})([A-Za-z]*)", word)
        if found is None or found[2] not in self.units:
            raise ParameterError(f"--{self.name}: '{word}' is not understood; an example is {self.example}")
        number = int(found[1]) * UNITS[found[2]]
        if not self.least <= number <= self.most:
            raise ParameterError(f"--{self.name}: {word} is not from {self.shown(self.least)} to {self.shown(self.most)}")
        if number % self.step:
            raise ParameterError(f"--{self.name}: {word} is no multiple of {self.shown(self.step)}")
        return number

    def numbers(self, text):
        """The numbers of a list with commas, in ascending order. Throws ParameterError."""
        numbers = [self.number(word.strip()) for word in text.split(",")]
        twice = [number for number in numbers if numbers.count(number) > 1]
        if twice:
            raise ParameterError(f"--{self.name}: {self.shown(twice[0])} is there twice")
        return sorted(numbers)

    def said(self, numbers):
        return f"{self.name} {', '.join(map(self.shown, numbers))}"


# `lab.schema.json` has the same limits.
PARAMETERS = [
    Parameter("threads", "1,2,4", "numbers of threads; 1 is always among them, since speedups are over one thread", 1, 4096),
    Parameter("sizes", "1KiB,1MiB", "bytes of a message or a file, multiples of 16; KB is 1000 bytes, KiB 1024",
              BLOCK, 64 << 30, BLOCK, tuple(UNITS), size),
    Parameter("ranks", "8,16,32", "numbers of MPI ranks", 1, 65536),
    Parameter("delays", "0,20", "microseconds between the requests of a client", 0, 1000000),
]


def declare(parser):
    group = parser.add_argument_group("parameters", "Lists that replace an experiment's own, where it has such a list.")
    for parameter in PARAMETERS:
        group.add_argument(f"--{parameter.name}", metavar=parameter.example, help=parameter.help)


def chosen(options: argparse.Namespace):
    """{name: numbers} of the options that were given. Throws ParameterError."""
    return {parameter.name: parameter.numbers(text) for parameter in PARAMETERS
            if (text := getattr(options, parameter.name)) is not None}


def said(parameters):
    """What was chosen, in words."""
    return "; ".join(parameter.said(parameters[parameter.name]) for parameter in PARAMETERS if parameter.name in parameters)


def require_same(begun, here):
    """Throws ParameterError if one is chosen here that a run was not begun with."""
    for parameter in PARAMETERS:
        if parameter.name in here and here[parameter.name] != begun.get(parameter.name):
            other = parameter.said(begun[parameter.name]) if parameter.name in begun else f"no --{parameter.name}"
            raise ParameterError(f"was begun with {other}; here it is {parameter.said(here[parameter.name])}")
