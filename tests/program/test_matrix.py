# SPDX-License-Identifier: Apache-2.0
# `./dev matrix`: its table, its steps, and that nothing runs on when it is stopped. A copy of it stands in
# a tree of its own, whose "roots" are folders and run nothing.
import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import program
import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60

# It makes what looks like a clone, says what it is to run, and fails, waits or passes as the test wants.
BARE_ROOT = """#!/bin/bash
tree=$(cd "$(dirname "$0")/../.." && pwd)
case $1 in
  --why-not) [ "$2" != impossible ] || echo "only root can make a bare root" ;;
  --make) mkdir -p "$2/root" "$2/etc" && echo "$3" >"$2/release" ;;
  --cache)
    [ -d "$2" ] || exit 1
    echo "${@: -1}"
    case ${@: -1} in
      *'./dev test'*) echo '98% tests passed, 2 tests failed out of 100'; exit 8 ;;
      *'./dev setup'*) sleep 1000 & echo "$!" >"$tree/sleeper"; wait ;;
    esac
    ;;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("setpriv") is None or shutil.which("git") is None,
                                reason="setpriv or git is missing (Debian packages util-linux, git)")


@pytest.fixture
def tree(tmp_path):
    """A repository with what `matrix` reads, and a file that nobody has committed."""
    (tmp_path / "tools/check").mkdir(parents=True)
    shutil.copy2(ROOT / "tools/matrix", tmp_path / "tools")
    shutil.copy2(ROOT / "README.md", tmp_path)
    (tmp_path / ".gitignore").write_text("/build/\n")
    (tmp_path / "examples").mkdir()
    bare_root = tmp_path / "tools/check/bare_root"
    bare_root.write_text(BARE_ROOT)
    bare_root.chmod(0o755)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t.invalid", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "new").write_text("not committed\n")
    return tmp_path


def matrix(tree, *arguments):
    return subprocess.run([tree / "tools/matrix", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


def test_a_step_that_fails_is_named_and_the_others_run(tree):
    done = matrix(tree, "forky", "--steps", "wheel,test,run,root", "--json", str(tree / "out.json"))
    assert done.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:3] for row in rows[1:]] == [["forky", "root", "passed"], ["forky", "run", "passed"], ["forky", "test", "failed"],
                                             ["forky", "wheel", "passed"]]
    assert rows[3][5:] == ["98", "of", "100", "tests", "build/matrix/forky/test.log"]
    assert "./dev test" in (tree / "build/matrix/forky/test.log").read_text()
    report = json.loads((tree / "out.json").read_text())
    assert [(step["step"], step["verdict"], step["exit_code"]) for step in report["steps"]] == [
        ("root", "passed", 0), ("run", "passed", 0), ("test", "failed", 8), ("wheel", "passed", 0)]
    assert (tree / "build/matrix/forky/root/release").read_text() == "forky\n"


def test_all_passed(tree):
    done = matrix(tree, "trixie", "--steps", "root,run")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr


def test_the_clone_is_the_tree_with_what_is_not_committed(tree):
    assert matrix(tree, "trixie", "--steps", "root").returncode == 0
    clone = tree / "build/matrix/trixie/root/root/paes"
    assert (clone / "new").read_text() == "not committed\n"
    (clone / "build").mkdir()
    (clone / "build/made").touch()
    (tree / "new").unlink()
    (tree / "examples").rmdir()
    (tree / "README.md").write_text((tree / "README.md").read_text() + "More.\n")
    (tree / ".gitignore").unlink()
    assert matrix(tree, "trixie", "--steps", "run").returncode == 0
    assert not (clone / "new").exists() and not (clone / ".gitignore").exists()
    assert (clone / "README.md").read_text().endswith("More.\n")
    assert (clone / "build/made").exists(), "what was built there stays"


def test_steps_without_their_root_or_packages_are_not_passed(tree):
    done = matrix(tree, "forky", "--steps", "run,test")
    assert done.returncode == 1
    assert [line.split()[1:4] for line in done.stdout.splitlines()[1:]] == [["run", "not", "run"], ["test", "not", "run"]]
    done = matrix(tree, "forky", "--steps", "root,install")
    assert done.returncode == 1 and "has no packages" in (tree / "build/matrix/forky/install.log").read_text()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_nothing_runs_on_when_it_is_stopped(tree, sent):
    running = subprocess.Popen([tree / "tools/matrix", "forky", "--steps", "root,setup"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sleeper = tree / "sleeper"
    program.wait_until(lambda: sleeper.exists() and sleeper.read_text().endswith("\n"), "the step to run")
    running.send_signal(sent)
    out, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 128 + sent
    assert "stopped" in err and re.search(r"^forky +root +passed", out, re.MULTILINE)
    assert re.search(r"^forky +setup +not run .* stopped$", out, re.MULTILINE)
    program.wait_until(lambda: not Path(f"/proc/{sleeper.read_text().strip()}").exists(), "what it started to end")


def test_one_line_says_why_there_can_be_no_root(tree):
    done = matrix(tree, "impossible")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "matrix: impossible: only root can make a bare root\n")


@pytest.mark.parametrize("arguments", [["--steps", "tset"], ["../etc"], ["--steps", ""]])
def test_bad_arguments_are_usage_errors(tree, arguments):
    done = matrix(tree, *arguments)
    assert done.returncode == 2 and done.stdout == ""


def test_a_command_that_readme_no_longer_has_is_named(tree):
    readme = tree / "README.md"
    readme.write_text(readme.read_text().replace("./dev wheel", "./dev wheels"))
    done = matrix(tree, "forky")
    assert (done.returncode, done.stderr) == (1, "matrix: README.md no longer has the command: ./dev wheel\n")
