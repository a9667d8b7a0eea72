# SPDX-License-Identifier: Apache-2.0
# What happens before the first byte of a small file: which libraries are loaded, what of libcrypto is used,
# how many system calls that takes. Users wait for it at each start.
import re
import shutil
import subprocess
from pathlib import Path

import openssl_trap
import program
import pytest
from program import OK, run, succeed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def small(folder):
    path = folder / "plain"
    path.write_bytes(b"text" * 256)
    return path


def build_has(option):
    cache = Path(program.PAES).parents[1] / "CMakeCache.txt"
    return cache.exists() and re.search(rf"^{option}:\w+=(ON|1)$", cache.read_text(), re.MULTILINE) is not None


def test_libraries():
    """A shared C++ library has thousands of names, which are looked up at each start."""
    if not build_has("PAES_HAS_STATIC_RUNTIME"):
        pytest.skip("this build's compiler has no archive of the C++ library, or is not GCC")
    if shutil.which("readelf") is None:
        pytest.skip("readelf is missing (Debian package binutils)")
    shown = subprocess.run(["readelf", "-d", program.PAES], capture_output=True, text=True, check=True).stdout
    needed = {name.split(".so")[0].rsplit("-", 1)[-1] for name in re.findall(r"NEEDED.*\[(\S+)\]", shown)}
    assert "libcrypto" in needed
    assert not needed & {"libstdc++", "libgcc_s", "libgomp", "libfmt"}, needed
    assert "BIND_NOW" in shown


COMMANDS = {
    "encrypt": ["-r", "RECIPIENT", "plain"],
    "decrypt": ["-i", "KEYS", "-o", "back", "sealed"],
    "verify": ["-i", "KEYS", "sealed"],
    "inspect": ["sealed"],
    "keygen": [],
}


def command_line(command, keys):
    return [command, *({"RECIPIENT": keys.recipient, "KEYS": keys.path}.get(word, word) for word in COMMANDS[command])]


@pytest.mark.parametrize("format", ["paes", "age"])
def test_no_configuration_of_libcrypto(format, small, keys, folder):
    """openssl.cnf decides neither whether a file can be read, nor how long a start takes."""
    trap = openssl_trap.Trap(folder)
    succeed("encrypt", "-r", keys.recipient, "--format", format, "-o", "sealed", "plain", cwd=folder)
    for command in COMMANDS:
        arguments = [*command_line(command, keys), *(["--format", format] if command == "encrypt" else [])]
        done = subprocess.run([program.PAES, *arguments], cwd=folder, env=trap.environment, capture_output=True, check=False)
        assert done.returncode == OK, done.stderr
        assert not trap.was_sprung(), command
    assert (folder / "back").read_bytes() == small.read_bytes()
    # The trap works.
    done = subprocess.run([program.PAES, *openssl_trap.USES_CONFIGURATION], cwd=folder, env=trap.environment,
                          capture_output=True, check=False)
    assert done.returncode != OK
    assert trap.was_sprung()


def test_passphrases_need_no_configuration_either(small, folder):
    trap = openssl_trap.Trap(folder)
    (folder / "words").write_text("any words")
    for arguments in (["encrypt", "--passphrase-file", "words", "plain"],
                      ["decrypt", "--passphrase-file", "words", "-o", "back", "plain.paes"]):
        done = subprocess.run([program.PAES, *arguments], cwd=folder, env=trap.environment, capture_output=True, check=False)
        assert done.returncode == OK, done.stderr
    assert not trap.was_sprung()
    assert (folder / "back").read_bytes() == small.read_bytes()


# A tenth more than on Debian 12; before 2026-11-27 an encryption made 267.
CALLS = {"encrypt": 182, "decrypt": 197, "inspect": 105, "keygen": 126}
# There libcrypto is the only library besides the system's C library. Elsewhere it needs others, such as zlib.
LIBRARIES, CALLS_PER_LIBRARY = 2, 8


def count_libraries():
    """What the loader loads, but itself."""
    environment = program.clean_environment(LD_TRACE_LOADED_OBJECTS="1")
    done = subprocess.run([program.PAES], env=environment, capture_output=True, text=True, check=True)
    count = done.stdout.count(" => ")
    assert count >= LIBRARIES, done.stdout
    return count


@pytest.mark.parametrize("command", CALLS)
def test_system_calls_of_a_start(command, small, keys, folder):
    can_trace = shutil.which("strace") and subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False)
    if not can_trace or can_trace.returncode != 0:
        pytest.skip("strace is missing, or may trace nothing here")
    succeed("encrypt", "-r", keys.recipient, "-o", "sealed", "plain", cwd=folder)
    counts = folder / "counts"
    result = run(*command_line(command, keys), cwd=folder, prefix=["strace", "-f", "-c", "-U", "calls,name", "-o", counts])
    assert result.code == OK, result.err
    calls = int(re.search(r"(\d+) total", counts.read_text())[1])
    limit = CALLS[command] + CALLS_PER_LIBRARY * (count_libraries() - LIBRARIES)
    assert calls <= limit, f"at most {limit}\n{counts.read_text()}"
