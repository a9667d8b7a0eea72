# SPDX-License-Identifier: Apache-2.0
# How the command line reads numbers: decimal, and nothing else. A number that C would take for octal
# or hexadecimal is refused, not guessed at. And an empty word where a command belongs.
import os

import pytest
from program import BENCH, USAGE, fail, run, succeed

OPTIONS = {
    "-T": ["encrypt", "-r", "RECIPIENT", "plain"],
    "--piece": ["encrypt", "-r", "RECIPIENT", "plain"],
    "--passphrase-fd": ["encrypt", "plain"],
    "--max-work-factor": ["verify", "plain"],
}


@pytest.mark.parametrize("number", ["010", "0x10", "00", "0X1", "010KiB", "0xff", "+5"])
@pytest.mark.parametrize("option", OPTIONS)
def test_zeros_in_front_are_refused(option, number, keys, folder):
    (folder / "plain").write_bytes(b"text")
    command, *rest = [word.replace("RECIPIENT", keys.recipient) for word in OPTIONS[option]]
    says = "not a number of bytes" if option == "--piece" and number[0] == "+" else "numbers are decimal"
    said = fail(command, option, number, *rest, code=USAGE, says=says, cwd=folder)
    assert f"'{number}'" in said.err
    assert [path.name for path in folder.iterdir()] == ["plain"]


@pytest.mark.parametrize("kind, option", [("kernel", "--size"), ("kernel", "-T"), ("file", "--runs")])
def test_in_bench_too(kind, option):
    fail(kind, option, "010", binary=BENCH, code=USAGE, says="numbers are decimal")


def test_decimal_numbers_are_taken(keys, folder):
    (folder / "plain").write_bytes(b"text")
    for options in (["-T", "0"], ["-T", "10"], ["--piece", "10KiB"], ["--piece", "100"]):
        succeed("encrypt", "-f", "-r", keys.recipient, *options, "plain", cwd=folder)
    fail("encrypt", "-r", keys.recipient, "--piece", "0", "plain", code=USAGE, says="0 bytes is not")


def test_an_empty_command():
    fail("", code=USAGE, says="the command is empty")
    fail("", "--help", code=USAGE, says="the command is empty")


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "-1"])
def test_times_are_finite(text):
    fail("kernel", f"--seconds={text}", binary=BENCH, code=USAGE, says="--seconds")


UNITS = {"k": 1000, "kB": 1000, "K": 1000, "KB": 1000, "Ki": 1024, "KiB": 1024, "kib": 1024}
UNITS |= {"M": 1000**2, "MB": 1000**2, "Mi": 1024**2, "MiB": 1024**2, "": 1, "B": 1}


@pytest.mark.parametrize("unit", UNITS)
def test_k_is_a_thousand_and_ki_is_1024(unit, folder):
    """What paes(1) says of BYTES, by the bytes that a data unit of XTS has."""
    (folder / "key").write_bytes(os.urandom(64))
    (folder / "plain").write_bytes(bytes(4 << 20))

    def sealed(size):
        return succeed("cipher", "aes-256-xts", "--key", "key", "--iv", "00" * 16, "--unit", size, "plain", cwd=folder).out

    number = 4 if UNITS[unit] > 1 else 4096
    assert sealed(f"{number}{unit}") == sealed(str(number * UNITS[unit]))
    assert sealed("4000") != sealed("4096")


@pytest.mark.parametrize(
    "command",
    [
        ["encrypt", "--piece", "{}", "plain"],
        ["cipher", "aes-256-xts", "--unit", "{}", "plain"],
        ["paes-bench", "kernel", "--size", "{}"],
        ["paes-bench", "file", "--size", "{}"],
        ["paes-bench", "threads", "--size", "{}"],
        ["paes-bench", "threads", "--piece", "{}"],
        ["paes-bench", "speculate", "--request", "{}"],
        ["paes-bench", "speculate", "--bytes", "{}"],
        ["paes-bench", "ahead", "--bytes", "{}"],
    ],
    ids=" ".join,
)
def test_every_size_knows_the_same_units(command, folder):
    """None takes what is no unit, half a byte, or more bytes than 64 bits count."""
    for text in ("1Q", "1KiBB", "1.5KiB", "k", "-1", "99999999999999999999", "99999999EiB"):
        words = [word.format(text) for word in command]
        is_bench = words[0] == "paes-bench"
        said = run(*words[1:], cwd=folder, binary=BENCH) if is_bench else run(*words, cwd=folder)
        # Without a key, encrypt and cipher give this code whatever the size is.
        assert said.code == USAGE and command[command.index("{}") - 1] in said.err, (text, said.err)
