# How the command line reads numbers: decimal, and nothing else. A number that C would take for octal
# or hexadecimal is refused, not guessed at. And an empty word where a command belongs.
import pytest
from program import USAGE, fail, succeed

OPTIONS = {
    "-T": ["encrypt", "-r", "RECIPIENT", "plain"],
    "--grain": ["encrypt", "-r", "RECIPIENT", "plain"],
    "--passphrase-fd": ["encrypt", "plain"],
    "--max-work-factor": ["verify", "plain"],
}


@pytest.mark.parametrize("number", ["010", "0x10", "00", "0X1", "010KiB", "0xff"])
@pytest.mark.parametrize("option", OPTIONS)
def test_zeros_in_front_are_refused(option, number, keys, folder):
    (folder / "plain").write_bytes(b"text")
    command, *rest = [word.replace("RECIPIENT", keys.recipient) for word in OPTIONS[option]]
    said = fail(command, option, number, *rest, code=USAGE, says="numbers are decimal", cwd=folder)
    assert f"'{number}'" in said.err
    assert [path.name for path in folder.iterdir()] == ["plain"]


@pytest.mark.parametrize("kind, option", [("kernel", "--size"), ("kernel", "-T"), ("file", "--runs")])
def test_in_bench_too(kind, option):
    fail("bench", kind, option, "010", code=USAGE, says="numbers are decimal")


def test_decimal_numbers_are_taken(keys, folder):
    (folder / "plain").write_bytes(b"text")
    for options in (["-T", "0"], ["-T", "10"], ["--grain", "10KiB"], ["--grain", "100"]):
        succeed("encrypt", "-f", "-r", keys.recipient, *options, "plain", cwd=folder)
    fail("encrypt", "-r", keys.recipient, "--grain", "0", "plain", code=USAGE, says="0 bytes is not")


def test_an_empty_command():
    fail("", code=USAGE, says="the command is empty")
    fail("", "--help", code=USAGE, says="the command is empty")


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "-1"])
def test_times_are_finite(text):
    fail("bench", "kernel", f"--seconds={text}", code=USAGE, says="--seconds")
