# SPDX-License-Identifier: Apache-2.0
# A kernel and a subcommand are one file and one line: both are added to a copy of the tree, which is built.
# And what is generated from the tables is looked at: `./dev generate --check` names what is stale. A copy
# with a file for which the compiler has a warning is built, too.
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import program
import pytest
import test_completions

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(program.PAES).parent
GENERATED = ["completions", "docs/man", "docs/schema"]
BUILT_FROM = ["CMakeLists.txt", "CMakePresets.json", "apps", "bench", "cmake", "include", "packaging", "src",
              "tests/support", "tools/generate", "tools/keep_warnings"]

COMMAND = """// `paes greet`: what a subcommand needs.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/option_list.hpp"
#include "cli/report.hpp"

namespace paes::cli {

namespace {

Action declare(CLI::App& app) {
  const auto mood = std::make_shared<std::string>("calm");
  app.add_option("--mood", *mood, "how to greet")->type_name(join_choices({"calm", "loud"}));
  return [mood] {
    print_result("hello, " + *mood + "\\n");
    return exit_done;
  };
}

}  // namespace

extern const Command command_greet = {"greet", "greet whoever asks", declare};

}  // namespace paes::cli
"""
PROSE_OF_COMMAND = ".SH COMMANDS\n.TP\n.B greet\nGreets.\n"
PROSE_OF_OPTION = ".SH OPTIONS\n.TP\n.BR \\-\\-mood \" \" \\fBcalm\\fR | \\fBloud\\fR \" (greet)\"\nHow to greet.\n"


def copy(folder, names):
    for name in names:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)


def generate(root, *options, programs=PROGRAMS):
    """Exit code, and what it says of each file."""
    command = [sys.executable, str(ROOT / "tools/generate/generate.py"), "--root", str(root), *options, str(programs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def replace(path, old, new):
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new, 1))


needs_mount = pytest.mark.skipif(not (PROGRAMS / "paes-mount").exists(),
                                 reason="paes-mount was not built (Debian packages libfuse3-dev and pkg-config)")


@needs_mount
def test_what_is_generated_is_not_stale(tmp_path):
    copy(tmp_path, GENERATED)
    assert generate(tmp_path, "--check") == (0, "")


# What somebody might do by hand, and what is said of it.
STALE = [
    ("completions/paes.bash", "--new-identity", "--old-identity", "completions/paes.bash: is stale"),
    ("completions/_paes", "--resume", "--presume", "completions/_paes: is stale"),
    ("completions/paes-mount.fish", "-l idle", "-l idol", "completions/paes-mount.fish: is stale"),
    ("docs/man/paes.1", ".B encrypt\n\\-r, ", ".B encrypt\n", "docs/man/paes.1: is stale"),
    ("docs/man/paes.1", ".BR \\-\\-reserve ", ".BR \\-\\-spare ", "paes.1: no entry for --reserve"),
    ("docs/man/paes.1", ".BR \\-\\-reserve ", ".BR \\-\\-spare ", "paes.1: an entry for --spare"),
    ("docs/man/paes-vault.1", "xchacha20\\-poly1305", "xchacha20", "--cipher can be xchacha20-poly1305"),
    ("docs/man/paes.1", ".TP\n.B keygen\nMakes", ".TP\n.B generate\nMakes", "paes.1: COMMANDS lacks keygen"),
]


@needs_mount
@pytest.mark.parametrize(("name", "old", "new", "said"), STALE)
def test_what_is_stale_is_named(tmp_path, name, old, new, said):
    copy(tmp_path, GENERATED)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    code, output = generate(tmp_path, "--check")
    assert code == 1 and said in output


@needs_mount
@pytest.mark.skipif(not (PROGRAMS / "paes-mpi").exists(), reason="paes-mpi was not built")
def test_an_enumeration_that_lacks_a_row_is_renewed(tmp_path):
    copy(tmp_path, GENERATED)
    schema = tmp_path / "docs/schema/inspect.schema.json"
    right = schema.read_text()
    schema.write_text(re.sub(r'"paes",\s+"age"', '"paes"', right, count=1))
    code, output = generate(tmp_path, "--check")
    assert code == 1 and "docs/schema/inspect.schema.json: is stale" in output
    assert generate(tmp_path)[0] == 0
    assert schema.read_text() == right


def build(tree, target="paes", launcher="ccache"):
    """Compiles a target of a copy of the tree, with what ccache has from this tree's own build."""
    environment = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1",
                                "CCACHE_SLOPPINESS": "pch_defines, time_macros"}
    for command in [
        ["cmake", "--preset", "release", "-DPAES_TESTS=OFF", "-DPAES_CUDA=OFF", "-DPAES_LIBRARY=OFF",
         f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
        ["ninja", "-C", "build/release", target],
    ]:
        done = subprocess.run(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    built = tree / "build/release/bin"
    # Programs beside it that the new rows do not change.
    for name in ("paes-mount", "paes-mpi"):
        if (PROGRAMS / name).exists():
            shutil.copy2(PROGRAMS / name, built / name)
    return built


@needs_mount
@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed: all of paes would be compiled")
def test_a_subcommand_and_a_kernel_are_one_file_and_one_line_each(tmp_path, monkeypatch):
    copy(tmp_path, BUILT_FROM + GENERATED)
    (tmp_path / "apps/paes/greet.cpp").write_text(COMMAND)
    replace(tmp_path / "apps/paes/paes_commands.def", "PAES_COMMAND(devices)\n",
            "PAES_COMMAND(devices)\nPAES_COMMAND(greet)\n")
    text = (tmp_path / "src/kernel/compute.cpp").read_text()
    text = text.replace("kernel_compute", "kernel_compute_too").replace('"compute"', '"compute_too"')
    (tmp_path / "src/kernel/compute_too.cpp").write_text(text)
    replace(tmp_path / "src/kernel/kernels.def", 'PAES_KERNEL(compute, any, "")\n',
            'PAES_KERNEL(compute, any, "")\nPAES_KERNEL(compute_too, any, "")\n')
    built = build(tmp_path)
    paes = str(built / "paes")

    assert program.run("greet", "--mood", "loud", binary=paes).out == b"hello, loud\n"
    assert re.search(rb"^  greet +greet whoever asks$", program.run("--help", binary=paes).out, re.MULTILINE)
    assert re.search(rb"^. compute_too +yes ", program.run("devices", binary=paes).out, re.MULTILINE)
    (tmp_path / "key").write_bytes(bytes(16))
    encrypted = [program.run("cipher", "aes-128-ecb", "--key", str(tmp_path / "key"), "--kernel", kernel,
                             stdin=b"text", binary=paes).out for kernel in ("compute_too", "openssl")]
    assert len(encrypted[0]) == 16 and encrypted[0] == encrypted[1]

    # The generator writes all but the prose, and says which prose is missing.
    code, output = generate(tmp_path, programs=built)
    assert code == 1
    assert [line for line in output.splitlines() if ": " in line] == [
        "paes.1: no entry for --mood of greet", "paes.1: --mood can be calm, which the page does not say",
        "paes.1: --mood can be loud, which the page does not say", "paes.1: COMMANDS lacks greet"]
    replace(tmp_path / "docs/man/paes.1", ".SH COMMANDS\n", PROSE_OF_COMMAND)
    replace(tmp_path / "docs/man/paes.1", ".SH OPTIONS\n", PROSE_OF_OPTION)
    assert generate(tmp_path, "--check", programs=built) == (0, "")

    monkeypatch.setattr(test_completions, "COMPLETIONS", tmp_path / "completions")
    monkeypatch.setenv("PATH", f"{built}:{os.environ['PATH']}")
    shells = [one for one in (test_completions.by_bash, test_completions.by_zsh, test_completions.by_fish)
              if shutil.which(one.__name__.removeprefix("by_"))]
    for offered_by in shells:
        assert "greet" in offered_by("paes", "paes", ""), offered_by
        assert "--mood" in offered_by("paes", "paes", "greet", "-"), offered_by
    assert test_completions.by_bash("paes", "paes", "greet", "--mood", "") == ["calm", "loud"]
    assert "compute_too" in test_completions.by_bash("paes", "paes", "encrypt", "--kernel", "comp")


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed: all of a library would be compiled")
def test_a_warning_ends_no_build_but_a_check(tmp_path):
    copy(tmp_path, [*BUILT_FROM, "tools/check/warnings"])
    source = tmp_path / "src/core/forks.cpp"
    right = source.read_text()
    source.write_text(right + "namespace { void nobody_calls_this() {} }\n")

    def check():
        command = [tmp_path / "tools/check/warnings", tmp_path / "build/release"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    # What `./dev` sets.
    launcher = f"{tmp_path}/tools/keep_warnings"
    build(tmp_path, "paes_core", launcher)
    code, said = check()
    assert code == 1 and "forks.cpp" in said and "nobody_calls_this" in said
    build(tmp_path, "paes_core", launcher)
    assert check()[0] == 1, "it is not forgotten"
    source.write_text(right)
    build(tmp_path, "paes_core", launcher)
    assert check() == (0, "")
