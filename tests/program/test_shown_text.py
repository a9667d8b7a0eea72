# SPDX-License-Identifier: Apache-2.0
# What a terminal is shown: names and texts of others, which may hold anything. Python's strict
# decoder says what UTF-8 is, and its table of characters which of them a terminal obeys, which turn
# text around and which show nothing; those reach no terminal as they are, neither in messages nor
# in JSON.
import itertools
import json
import subprocess
import unicodedata

import pytest
from program import PAES, TIMEOUT_S, clean_environment

# Every byte that begins or ends a class in the table of well-formed UTF-8 (Unicode, table 3-7).
BOUNDARIES = bytes.fromhex("1f 41 7e 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
# They join letters of Persian and parts of emoji: without them such names cannot be read.
JOINERS = "\u200c\u200d"
# Letters and marks that show nothing, and the rest of the block of tags.
INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, range(0xE0000, 0xE1000)))


def is_harmless(character):
    category = unicodedata.category(character)
    return character in JOINERS or not (category in ("Cc", "Cf", "Zl", "Zp") or character in INVISIBLE)


def first_character(text):
    """The first character of a byte string, as text; None where it does not begin with UTF-8."""
    for size in range(1, 5):
        try:
            return text[:size].decode()
        except UnicodeDecodeError:
            continue
    return None


def printable(text):
    shown = bytearray()
    while text:
        character = first_character(text)
        if character is None:
            shown += b"\\x%02x" % text[0]
            text = text[1:]
            continue
        size = len(character.encode())
        shown += text[:size] if is_harmless(character) else b"".join(b"\\x%02x" % b for b in text[:size])
        text = text[size:]
    return bytes(shown)


def inspect(name, *options):
    """A file that is not there: paes says so, whatever and however long its name is."""
    command = [PAES, "inspect", *options, b"/nowhere/" + name]
    return subprocess.run(
        command, capture_output=True, env=clean_environment(), timeout=TIMEOUT_S, check=False
    )


def shown_in_message(name):
    said = inspect(name).stderr
    start = b"paes: /nowhere/"
    assert said.startswith(start) and said.endswith((b"No such file or directory\n", b"name too long\n"))
    return said[len(start) : said.rindex(b": ")]


def names(sequences, limit=100_000):
    """The sequences, each with a space after it, in names below the longest that an argument may be."""
    name = bytearray()
    for sequence in sequences:
        name += sequence + b" "
        if len(name) > limit:
            yield bytes(name)
            name.clear()
    yield bytes(name)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_only_utf8_reaches_the_terminal(length):
    """Every sequence of boundary bytes: overlong, cut, surrogates, beyond the last character."""
    sequences = (bytes(s) for s in itertools.product(BOUNDARIES, repeat=length))
    if length == 4:  # what shorter ones do not say already
        sequences = (s for s in sequences if s[0] >= 0xEF and s[1] >= 0x7F and s[2] in b"\x7f\x80\xbf\xc0")
    for name in names(sequences):
        assert shown_in_message(name) == b" ".join(map(printable, name.split(b" ")))


def assigned_characters():
    """Those of Python's Unicode, which may be older than the program's."""
    for code in range(1, 0x110000):
        if unicodedata.category(chr(code)) not in ("Cn", "Cs") or chr(code) in INVISIBLE:
            yield chr(code)


def test_every_character():
    characters = [c for c in assigned_characters() if c != " "]
    for name in names(c.encode() for c in characters):
        assert shown_in_message(name) == b" ".join(map(printable, name.split(b" ")))


@pytest.mark.parametrize(
    "text",
    [b"\xe0\x82\x9b", b"\xc1\x9b", b"\xf0\x80\x82\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "\u202e".encode(),
     "\u2066".encode(), "\u2069".encode(), "\u200f".encode(), "\u061c".encode(), "\u2028".encode(),
     "\u200b".encode(), "\U000e0041".encode()],
)  # fmt: skip
def test_known_tricks(text):
    assert shown_in_message(text) == b"".join(b"\\x%02x" % byte for byte in text)


def test_json_has_only_harmless_characters():
    """JSON must be UTF-8, so what is none becomes U+FFFD; and what a terminal would obey is escaped."""
    everything = (c.encode() for c in assigned_characters() if not is_harmless(c))
    broken = (bytes(s) for s in itertools.product(BOUNDARIES, repeat=3))
    for name in names(itertools.chain(everything, broken)):
        text = inspect(name, "--json").stdout.decode()  # strict
        assert all(map(is_harmless, text.replace("\n", ""))), ascii([c for c in text if not is_harmless(c)][:5])
        assert json.loads(text)["file"] == "/nowhere/" + name.decode(errors="replace")


def test_json_keeps_what_it_escapes():
    name = "a\u202eb\U000e0041c\x7f\x9bd\n"
    said = inspect(name.encode(), "--json").stdout
    assert json.loads(said)["file"] == "/nowhere/" + name
    assert b"a\\u202eb\\udb40\\udc41c\\u007f\\u009bd\\n" in said
