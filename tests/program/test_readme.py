# SPDX-License-Identifier: Apache-2.0
# README.md and the documents with recipes, run as they stand (recipes.py). `./dev run` stands for the
# program under test, and the parts of `dev` that build, test and measure for an hour are only looked up.
# What installs something is only looked at here; test_packages.py runs it, on a machine of its own.
import pytest
from program import BENCH, PAES, clean_environment
from recipes import ROOT, blocks, furnish, run_block, session_of

# Each with what it makes, and with pairs of files that must be equal afterwards.
DOCUMENTS = {
    "README.md": (
        ["photos.tar.paes", "folder.tar.paes", "disk.img.paes", "head"],
        [("restored.tar", "backup.tar")],
    ),
    "docs/recipes.md": (
        ["photos.tar.paes", "shared.paes", "notes.txt.paes", "big.img.paes", "folder.tar.paes"],
        [
            ("again.tar", "photos.tar"),
            ("report", "data"),
            ("old", "data"),
            ("restored/folder/file", "folder/file"),
            ("one-file", "folder/file"),
        ],
    ),
    "docs/vault-files.md": (["everything/folder/file"], [("back.tar", "photos.tar")]),
    "docs/open-without-paes.md": ([], [("opened.tar", "backup.tar")]),
    "bench/README.md": ([], []),
}

DEV = """#!/bin/sh
"$REAL_DEV" help | grep -q "^  $1 " || exit 9
case $1 in
  run) shift; exec paes "$@" ;;
  bench) exec paes-bench "$2" --help ;;
esac
"""
# Looked at, and no more.
INSTALLERS = {
    "apt-get": '[ "$1 $2" = "install -y" ]',
    "install": '[ "$1 $2" = "-m 755" ]',
    "g++": 'printf "#!/bin/sh\\n" >one_message && chmod +x one_message',
    "pkg-config": '[ "$3" = paes ]',
}
# A job of one rank, which is paes.
MPIRUN = """#!/bin/sh
[ "$1" = -n ] && [ "$3" = paes-mpi ] && shift 3 && exec paes "$@"
"""


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def stage(tmp_path):
    """The folder, with what a reader is told to have; `paes` is in the path, and `mpirun`."""
    folder, programs = tmp_path / "folder", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (programs / "paes").symlink_to(PAES)
    (programs / "paes-bench").symlink_to(BENCH)
    write_script(programs / "mpirun", MPIRUN)
    for name, text in INSTALLERS.items():
        write_script(programs / name, f"#!/bin/sh\n{text}\n")
    write_script(folder / "dev", DEV)
    furnish(folder)
    environment = clean_environment(HOME=str(folder), REAL_DEV=str(ROOT / "dev"))
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    return folder, environment


def test_readme_shows_the_main_job():
    commands = [command for kind, block in blocks("README.md") if kind == "console" for command, _ in session_of(block)]
    assert any(command.startswith("paes encrypt --new-identity") for command in commands)


def test_readme_shows_every_way_to_install():
    shown = "\n".join(block for _, block in blocks("README.md"))
    for way in ("./dev package", "./build/package/paes_*.deb", "/paes-*-linux-*", "./dev run", "./build/package/libpaes*.deb"):
        assert way in shown, way


def test_readme_shows_how_to_test():
    assert any(line.startswith("./dev test") for _, block in blocks("README.md") for line in block.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_in_order(document, stage):
    folder, environment = stage
    assert blocks(document)
    for kind, block in blocks(document):
        run_block(kind, block, folder, environment)
    made, equal = DOCUMENTS[document]
    for name in made:
        assert (folder / name).exists(), name
    for one, other in equal:
        assert (folder / one).read_bytes() == (folder / other).read_bytes(), one
