# SPDX-License-Identifier: Apache-2.0
# Completions against the programs' own help: each shell runs its file and must offer every command, and
# of every command exactly the options that its help names.
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import mpi
import program
import pytest

COMPLETIONS = Path(__file__).resolve().parents[2] / "completions"
# One library's build is as good as the other's: the command line is the same.
NEEDS_MPI = pytest.mark.skipif(not mpi.LIBRARIES, reason=mpi.NONE_BUILT)
PROGRAMS = ["paes", pytest.param("paes-mpi", marks=NEEDS_MPI)]

each_program = pytest.mark.parametrize("name", PROGRAMS)


@cache
def shown_help(name, *words):
    if name == "paes":
        return program.succeed(*words, "--help").out.decode()
    library = mpi.LIBRARIES[0]
    return mpi.succeed(
        library, 1, *words, "--help", program_path=mpi.paes_mpi(library)
    ).out


HAS_MOUNT = Path(program.PAES).with_name("paes-mount").exists()


def subcommands(name, *words):
    _, _, listed = shown_help(name, *words).partition("Subcommands:\n")
    return set(re.findall(r"^  (\w+)  ", listed, re.MULTILINE))


def options(name, *words):
    """Short and long names, but -h, which every program has."""
    found = set()
    for names in re.findall(r"^  ((?:-\w,)?-\S+)", shown_help(name, *words), re.MULTILINE):
        found.update(names.split(","))
    return found - {"-h"}


def shell(*words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(
        words,
        capture_output=True,
        env=program.clean_environment(),
        timeout=program.TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, ""), words
    return done.stdout.decode().splitlines()


def by_bash(name, *words):
    """What bash offers for the last of the words."""
    function = "_" + name.replace("-", "_")
    return shell(
        "bash",
        "--norc",
        "-c",
        f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function};'
        ' [ ${#COMPREPLY[@]} = 0 ] || printf "%s\\n" "${COMPREPLY[@]}"',
        "bash",
        str(COMPLETIONS / f"{name}.bash"),
        *words,
    )


def by_fish(name, *words):
    lines = shell(
        "fish",
        "--no-config",
        "-c",
        'source $argv[1]; complete -C "$argv[2..]"',
        str(COMPLETIONS / f"{name}.fish"),
        *words,
    )
    return [line.split("\t")[0] for line in lines]


def by_zsh(name, *words):
    """What the file hands to zsh's own functions, in the place of which there are printing ones."""
    file = COMPLETIONS / f"_{name}"
    lines = shell(
        "zsh",
        "--no-rcs",
        "-c",
        '_arguments() { print -rl -- "$@" }; _describe() { print -rl -- "${(P@)2}" };'
        " _default() { print default };"
        ' file=$1; shift; words=("$@"); CURRENT=$#; source $file',
        "zsh",
        str(file),
        *words,
    )
    offered = []
    for line in lines:
        # '(-o --output)-o[what]:...', '*-r[what]:...', '--range[what]:...' or 'command:what'.
        match = re.match(r"(?:\([^)]*\)|\*)?(-[-\w]+)\[", line) or re.match(r"([a-z]+):", line)
        if match:
            offered.append(match.group(1))
    return offered


@each_program
@pytest.mark.parametrize("offered_by", [by_bash, by_fish, by_zsh])
def test_commands(name, offered_by):
    offered = {word for word in offered_by(name, name, "") if not word.startswith("-")}
    assert offered == subcommands(name)


@each_program
@pytest.mark.parametrize("offered_by", [by_bash, by_fish, by_zsh])
def test_options_are_those_of_the_help(name, offered_by):
    for command in subcommands(name) - (set() if HAS_MOUNT else {"mount"}):
        offered = set(offered_by(name, name, command, "-")) - {"-h"}
        assert offered == options(name, command), (name, command)


@pytest.mark.parametrize("offered_by", [by_bash, by_fish, by_zsh])
def test_commands_of_vault(offered_by):
    words = ("paes", "vault")
    offered = {word for word in offered_by("paes", *words, "") if not word.startswith("-")}
    assert offered == subcommands(*words) and "init" in offered
    for command in offered:
        offered_options = set(offered_by("paes", *words, command, "-")) - {"-h"}
        assert offered_options == options(*words, command), command


@pytest.mark.skipif(not HAS_MOUNT, reason="paes-mount was not built (Debian packages libfuse3-dev and pkg-config)")
@pytest.mark.parametrize("offered_by", [by_bash, by_fish, by_zsh])
def test_options_of_paes_mount(offered_by):
    """Its help is also that of `paes mount`."""
    offered = set(offered_by("paes-mount", "paes-mount", "-")) - {"-h"}
    assert offered == options("paes", "mount")


@NEEDS_MPI
def test_behind_a_launcher():
    """The launcher's own words are not ours."""
    launched = ["mpirun", "-n", "4", "/opt/bin/paes-mpi.mpich"]
    commands = subcommands("paes-mpi")
    for offered_by in (by_bash, by_zsh):
        assert set(offered_by("paes-mpi", *launched, "")) >= commands
        assert "--access" in offered_by("paes-mpi", *launched, "verify", "--")
        assert not set(offered_by("paes-mpi", "mpirun", "-n", "")) & commands


@NEEDS_MPI
def test_ciphers_that_are_parallel():
    """`paes-mpi cipher` has no OFB."""
    offered = by_bash("paes-mpi", "paes-mpi", "cipher", "")
    assert "aes-256-cbc" in offered and not [word for word in offered if "ofb" in word]
    assert sorted(offered) == sorted(by_fish("paes-mpi", "paes-mpi", "cipher", "aes")
                                     + by_fish("paes-mpi", "paes-mpi", "cipher", "des"))
