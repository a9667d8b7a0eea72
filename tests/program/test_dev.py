# SPDX-License-Identifier: Apache-2.0
# The script `dev`: what its help says, and what happens when several of it run at once in one tree,
# which wait for each other to build the same preset, and for nothing else. A copy of it stands in a tree
# of its own, with stand-ins for the programs that it calls, so that no time is spent on building.
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import program
import pytest

DEV = Path(__file__).resolve().parents[2] / "dev"
LIMIT_S = 120

STAND_INS = {
    "dpkg-query": 'shift 3; for name in "$@"; do printf "installed=%s " "$name"; done',
    "cmake": 'mkdir -p "build/$2/bin"; echo "$*" >>build/cmake.calls',
    # The test decides when these two end.
    "ninja": "shift 4; echo \"$*\" >build/ninja.targets; echo >ninja.begins; [ ! -e ninja.hold ] || read -r _ <ninja.hold",
    "nvcc": "",
    "wheel": "echo build/wheel/paes.whl",
    "arm64_libraries": '[ "$1" = --why-not ] || { mkdir -p "$1" && touch "$1/.done"; }',
    "gpu_model.py": 'echo "gpu-model $*"',
    "ctest": (
        'echo "$*" >>build/ctest.calls; case " $* " in *" -N "*) printf "  Test #1: one\\n  Test #2: python.two\\n"; exit ;; esac; '
        'echo >ctest.begins; read -r _ <ctest.hold; echo "100% tests passed, of stand-ins"'
    ),
}


@pytest.fixture
def tree(tmp_path):
    """A tree that looks built and tested before."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in STAND_INS.items():
        (tools / name).write_text(f"#!/bin/sh\ncd {tmp_path}\n{text}\n")
    binary = tmp_path / "build/release/bin/paes"
    wanted = [tmp_path / folder / "requirements.txt" for folder in ("tests/program", "bench", "python", "python/tests", "tools/gpu")]
    installed = [tmp_path / "build" / name / "requirements.txt" for name in ("venv", "python", "wheel_tests", "disassembler")]
    for path in (binary, *wanted, *installed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    binary.write_text('#!/bin/sh\necho "paes $*"\n')
    (tmp_path / "CMakePresets.json").touch()
    shutil.copy(DEV, tmp_path)
    for path in (*tools.iterdir(), binary, tmp_path / "dev"):
        path.chmod(0o755)
    os.mkfifo(tmp_path / "ctest.hold")
    summary = tmp_path / "build/all/Testing/Temporary/LastTest.log"
    summary.parent.mkdir(parents=True)
    summary.touch()
    return tmp_path


@pytest.fixture
def dev(tree):
    """Starts a `dev` in the tree. Those that still run when the test ends are killed."""
    started = []

    def start(*arguments, path=None):
        environment = program.clean_environment()
        environment["PATH"] = f"{tree / 'tools'}:{environment['PATH'] if path is None else path}"
        started.append(
            subprocess.Popen(
                [tree / "dev", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def put(tree, name, text):
    (tree / "tools" / name).write_text(f"#!/bin/sh\n{text}\n")
    (tree / "tools" / name).chmod(0o755)


def test_package_that_this_system_lacks(tree, dev):
    put(tree, "dpkg-query", "")
    put(tree, "sudo", 'shift; exec "$@"')
    put(tree, "apt-get", f'echo "$*" >>{tree}/build/apt.calls')
    put(tree, "apt-cache", '[ "$2" != libcli11-dev ] && [ "$2" != libfmt-dev ]')
    process = dev("run", "inspect", "x")
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (1, "")
    first, second = err.splitlines()
    assert first.startswith("dev: installing g++ cmake ")
    assert second.startswith("dev: this system has no package libcli11-dev libfmt-dev: Debian 12, 13 and testing ")
    assert " install " not in (tree / "build/apt.calls").read_text()


OF_OTHERS = {
    "": "dev: neither Debian nor Ubuntu: nothing is installed, and CMake names what is missing",
    "dnf": "dnf install gcc-c++ cmake ninja-build openssl-devel cli11-devel json-devel fmt-devel",
    "apk": "apk add g++ cmake ninja openssl-dev cli11-dev nlohmann-json fmt-dev",
    "pacman": "pacman -S --needed gcc cmake ninja openssl cli11 nlohmann-json fmt",
    "zypper": "zypper install gcc-c++ cmake ninja libopenssl-devel cli11-devel nlohmann_json-devel fmt-devel",
}


@pytest.mark.parametrize("manager", OF_OTHERS)
def test_system_without_packages_of_debian(tree, dev, manager):
    (tree / "tools/dpkg-query").unlink()
    for name in ("awk", "bash", "sh", "dirname", "readlink", "nproc", "sed", "mkdir", "uname", "flock", "tee", "touch", "cat", "rm"):
        (tree / "tools" / name).symlink_to(shutil.which(name))
    if manager:
        put(tree, manager, f"touch {tree}/called")
    process = dev("run", "inspect", "x", path="")
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (0, "paes inspect x\n")
    first, *others = err.splitlines()
    assert first.endswith(OF_OTHERS[manager]) and first.startswith("dev: neither Debian nor Ubuntu: nothing is installed")
    assert not any("neither" in line for line in others)
    assert not (tree / "called").exists()


def test_names_of_other_systems_are_complete():
    """One name, or "-", for each system, and for every package that a build of paes itself needs."""
    text = DEV.read_text()
    header, *rows = [line.split() for line in re.search(r"other_names\(\) .*?END'\n(.*?)\nEND", text, re.DOTALL)[1].splitlines()]
    assert header == ["Debian", "dnf", "apk", "pacman", "zypper"]
    assert {len(row) for row in rows} == {5}
    wanted = re.search(r"^packages_run=\((.*?)\)$", text, re.MULTILINE)[1].split()
    assert wanted and set(wanted) <= {row[0] for row in rows if "-" not in row}


def let_go(path):
    path.write_text("\n")


def test_run_does_not_wait_for_tests_that_run(tree, dev):
    tests = dev("test", "release")
    program.wait_until((tree / "ctest.begins").exists, "the tests to begin")
    try:
        out, err = dev("run", "inspect", "x").communicate(timeout=LIMIT_S)
        assert tests.poll() is None, "the tests still run"
    finally:
        let_go(tree / "ctest.hold")
        tested, _ = tests.communicate(timeout=LIMIT_S)
    assert (out, err) == ("paes inspect x\n", "")
    assert tests.returncode == 0
    assert "100% tests passed" in tested


def test_two_builds_of_a_preset_take_turns(tree, dev):
    os.mkfifo(tree / "ninja.hold")
    first = dev("run", "1")
    program.wait_until((tree / "ninja.begins").exists, "the first to build")
    (tree / "ninja.begins").unlink()
    second = dev("run", "2")
    assert second.stderr.readline() == "dev: waiting for another dev that works on release\n"
    assert not (tree / "ninja.begins").exists()
    let_go(tree / "ninja.hold")
    assert first.communicate(timeout=LIMIT_S)[0] == "paes 1\n"
    let_go(tree / "ninja.hold")
    assert second.communicate(timeout=LIMIT_S)[0] == "paes 2\n"
    assert (tree / "build/cmake.calls").read_text().count("\n") == 1


def test_two_test_runs_take_turns(tree, dev):
    first = dev("test", "release")
    program.wait_until((tree / "ctest.begins").exists, "the first to test")
    (tree / "ctest.begins").unlink()
    second = dev("test", "release")
    assert second.stderr.readline() == "dev: waiting for another dev that tests\n"
    assert not (tree / "ctest.begins").exists()
    for process in (first, second):
        let_go(tree / "ctest.hold")
        assert process.wait(timeout=LIMIT_S) == 0
        process.communicate()


def run_tests(tree, dev, *arguments):
    """The arguments that ctest got for the run itself."""
    tests = dev("test", *arguments)
    program.wait_until((tree / "ctest.begins").exists, "the tests to begin")
    let_go(tree / "ctest.hold")
    out, _ = tests.communicate(timeout=LIMIT_S)
    assert tests.returncode == 0
    (tree / "ctest.begins").unlink()
    return (tree / "build/ctest.calls").read_text().splitlines()[-1], out


def test_all_leaves_out_what_has_just_passed(tree, dev):
    for path in ("ctest.begins", "ninja.begins"):
        (tree / path).touch()
    ran, out = run_tests(tree, dev)
    assert "-LE ^long$" in ran and "./dev test --all" in out
    assert (tree / "build/ninja.targets").read_text() == "short\n"
    os.utime(tree / "build/release/.passed-short", (2**32, 2**32))  # the stand-ins write files meanwhile
    ran, out = run_tests(tree, dev, "--all")
    assert "-E ^(one|python.two)$" in ran and "it passed" in out
    assert (tree / "build/ninja.targets").read_text() == "\n"
    # What only long tests run is no reason to run the others again.
    long_program = tree / "build/release/bin/long/program"
    long_program.parent.mkdir()
    long_program.touch()
    os.utime(long_program, (2**32 + 1, 2**32 + 1))
    ran, out = run_tests(tree, dev, "--all")
    assert "-E ^(one|python.two)$" in ran
    os.utime(tree / "dev", (2**32 + 1, 2**32 + 1))
    ran, out = run_tests(tree, dev, "--all")
    assert " -E " not in ran and "it passed" not in out


@pytest.mark.skipif(os.uname().machine == "aarch64", reason="there the preset aarch64 is not tested")
def test_libraries_for_armv8_that_cannot_be_had(tree, dev):
    """`test --all` fetches them, or leaves the preset out and says why."""
    ran, out = run_tests(tree, dev, "--all")
    assert "-LE ^deep$" in ran and "preset aarch64" not in out
    assert (tree / "build/arm64-root/.done").exists()
    assert "--preset aarch64" in (tree / "build/cmake.calls").read_text()
    (tree / "build/cmake.calls").unlink()
    shutil.rmtree(tree / "build/arm64-root")
    for preset in ("aarch64", "tsan"):
        (tree / f"build/{preset}/.configured-test").unlink()
    put(tree, "arm64_libraries", "echo no mirror here")
    ran, out = run_tests(tree, dev, "--all")
    assert "preset aarch64: no mirror here" in out
    assert "aarch64" not in (tree / "build/cmake.calls").read_text()
    assert "tsan" in (tree / "build/cmake.calls").read_text()


def test_packages_that_come_later_are_found_and_cost_no_cache(tree, dev):
    """What was compiled before is kept; CMake forgets what it knew, and looks again at what there is now."""
    for name, text in {"apt-get": "touch build/installed", "sudo": 'shift; exec "$@"', "ccache": ""}.items():
        (tree / "tools" / name).write_text(f"#!/bin/sh\ncd {tree}\n{text}\n")
        (tree / "tools" / name).chmod(0o755)
    cache = tree / "build/ccache/object"
    cache.parent.mkdir()
    cache.touch()
    calls = tree / "build/cmake.calls"
    assert said_by(dev("run"))[0] == 0 and said_by(dev("run"))[0] == 0
    assert calls.read_text().count("\n") == 1
    known = tree / "build/release/CMakeFiles"
    compiled = known / "paes_core.dir/src/one.o"
    for path in (known / "4.3.0/CMakeCXXCompiler.cmake", compiled, tree / "build/release/CMakeCache.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    query = tree / "tools/dpkg-query"
    query.write_text(f"#!/bin/sh\n[ ! -e {tree}/build/installed ] || {{ {STAND_INS['dpkg-query']}; }}\n")
    for _ in range(2):
        assert said_by(dev("run"))[0] == 0
        assert cache.exists() and compiled.exists()
        assert [path.name for path in known.iterdir()] == ["paes_core.dir"]
        assert not (tree / "build/release/CMakeCache.txt").exists()
        assert calls.read_text().count("\n") == 2


COMPILER = 'printf "%s;" "$CMAKE_CXX_COMPILER_LAUNCHER" "$CCACHE_DIR" "$CCACHE_BASEDIR" "$CCACHE_NOHASHDIR" "$CCACHE_SLOPPINESS"'


def test_the_compiler_cache_is_the_users(tree, dev, monkeypatch):
    """Its folder and its settings stay; what they do not say lets another folder's objects be found."""
    ccache = tree / "tools/ccache"
    (tree / "tools/ninja").write_text(f"#!/bin/sh\n{COMPILER} >{tree}/build/said\n")

    def said(base="", hash_dir="true", sloppiness=""):
        answers = f'base_dir) echo "{base}" ;; hash_dir) echo {hash_dir} ;; sloppiness) echo "{sloppiness}" ;;'
        ccache.write_text(f"#!/bin/sh\ncase $2 in {answers} esac\n")
        ccache.chmod(0o755)
        assert said_by(dev("run"))[0] == 0
        return (tree / "build/said").read_text().split(";")[:-1]

    keeper = str(tree / "tools/keep_warnings")
    assert said() == [keeper, "", str(tree), "1", "pch_defines, time_macros"]
    assert said("/home", "false", "locale") == [keeper, "", "", "", "locale, pch_defines, time_macros"]
    # A launcher of the user's own is called, and then no ccache.
    environment = program.clean_environment() | {"CMAKE_CXX_COMPILER_LAUNCHER": "theirs"}
    monkeypatch.setattr(program, "clean_environment", lambda: environment)
    assert said()[:4] == ["env", "PAES_COMPILER_CACHE=", keeper, "theirs"]


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_warnings_are_kept_with_and_without_a_cache(tree, is_asked_for):
    """The cache is called where it is installed, whenever that was, unless the variable is empty."""
    put(tree, "ccache", 'echo "cache: $*" >&2; exec "$@"')
    put(tree, "compiler", 'echo "warning: $1" >&2; touch "$3"')
    environment = program.clean_environment() | {"PATH": f"{tree / 'tools'}:{os.environ['PATH']}"}
    if not is_asked_for:
        environment["PAES_COMPILER_CACHE"] = ""
    words = ["compiler", "one.cpp", "-o", tree / "one.o"]
    keeper = DEV.parent / "tools/keep_warnings"
    done = subprocess.run([keeper, *words], env=environment, capture_output=True, text=True, check=True)
    kept = (tree / "one.o.warnings").read_text()
    assert done.stderr == kept and (tree / "one.o").exists()
    assert kept.endswith("warning: one.cpp\n") and kept.startswith("cache: compiler one.cpp -o ") == is_asked_for


@pytest.fixture
def checkers(tree):
    """Stand-ins for what checks and formats, which say what they were asked."""
    for folder in ("tools/check", "build/check"):
        (tree / folder).mkdir()
        (tree / folder / "requirements.txt").touch()
    for name in ("all", "format"):
        path = tree / "tools/check" / name
        path.write_text(f"#!/bin/sh\necho {name} $*\nexit 1\n")
        path.chmod(0o755)


def test_quick_checks_build_nothing(tree, dev, checkers):
    assert said_by(dev("check", "--quick")) == (1, "all --quick\n", "")
    assert not (tree / "ninja.begins").exists()
    assert not (tree / "build/cmake.calls").exists()


def test_fmt_formats_what_is_named(tree, dev, checkers):
    assert said_by(dev("fmt", "src/one.cpp", "python/two.py")) == (1, "format src/one.cpp python/two.py\n", "")
    assert said_by(dev("fmt")) == (1, "format\n", "")


def test_docs_says_where_they_are(tree, dev):
    build = tree / "tools/docs/build"
    build.parent.mkdir()
    build.write_text("#!/bin/sh\nexit 0\n")
    build.chmod(0o755)
    assert said_by(dev("docs")) == (0, f"{tree}/build/docs/html/index.html\n", "")
    build.write_text("#!/bin/sh\necho header:1: wrong; exit 1\n")
    code, out, err = said_by(dev("docs"))
    assert (code, out) == (1, "") and "header:1: wrong" in err


def test_hooks_call_dev(tree, dev, checkers):
    """What a hook of pre-commit calls is a command that there is."""
    entries = re.findall(r"^ +entry: (.*)$", (DEV.parent / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert entries == ["./dev fmt", "./dev check --quick"]
    for entry in entries:
        assert said_by(dev(*entry.split()[1:]))[0] == 1, "the stand-in's"


def said_by(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_names_commands_presets_and_exit_codes(tree, dev, word):
    code, out, err = said_by(dev(word))
    assert (code, err) == (0, "")
    known = re.search(r"^case \$command in\n  run\)(.*)^esac", DEV.read_text(), re.MULTILINE | re.DOTALL)[1]
    for command in ["run", *re.findall(r"^  ([a-z-]+)\)", known, re.MULTILINE)]:
        assert re.search(rf"^  {command} ", out, re.MULTILINE), command
    presets = json.loads((DEV.parent / "CMakePresets.json").read_text())["configurePresets"]
    named = re.search(r"^Presets: (.*) \(", out, re.MULTILINE)[1].split()
    assert set(named) == {preset["name"] for preset in presets if not preset.get("hidden")} - {"gpu", "static", "static-aarch64"}
    assert "check [--quick|--deep]" in out
    assert "Exit codes: 0" in out


def test_commands_have_help_of_their_own(tree, dev):
    for command in ("test", "check", "build", "package"):
        code, out, _ = said_by(dev(command, "--help"))
        assert code == 0 and out.startswith(f"usage: ./dev {command}"), command
    assert "about five hours" in said_by(dev("check", "--help"))[1]
    assert "about five hours" in said_by(dev("help", "check"))[1]
    # What runs a program hands it on.
    assert said_by(dev("run", "--help"))[:2] == (0, "paes --help\n")
    assert said_by(dev("gpu-model", "--help"))[:2] == (0, "gpu-model --help\n")


def test_an_unknown_command_is_a_usage_error(tree, dev):
    for arguments in ((), ("tset",)):
        code, out, err = said_by(dev(*arguments))
        assert (code, out) == (2, "") and "usage: ./dev COMMAND" in err
