# SPDX-License-Identifier: Apache-2.0
# The files of a release (tools/release), made of clones of this tree at two paths, whose users have other
# settings. What takes seconds is made everywhere; `./dev check --deep` makes packages and static programs,
# too, and installs them in bare roots by the lines of docs/packages.md.
import hashlib
import os
import re
import shutil
import subprocess
import tarfile

import pytest
from recipes import ROOT

VERSION = re.search(r"^project\(paes VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
CHEAP = "source,notes,recipes"
LIMIT_S = 4 * 3600
SIGNER = "releases@example.org"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing (Debian package git)")

# Two people, as git and the system know them.
ONE = {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
OTHER = {
    "TZ": "Asia/Kathmandu", "LC_ALL": "C", "GZIP": "-1", "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "tar.umask",
    "GIT_CONFIG_VALUE_0": "0077", "GIT_CONFIG_KEY_1": "core.autocrlf", "GIT_CONFIG_VALUE_1": "true",
}


def git(folder, *words):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", folder, *words],
        stdout=subprocess.PIPE, text=True, check=True,
        env=os.environ | {"GIT_AUTHOR_DATE": "1770000000 +0000", "GIT_COMMITTER_DATE": "1770000000 +0000"},
    ).stdout


def clone(target):
    """This tree as it is now, in a repository of one commit, whose date and so whose name is always the same."""
    try:
        listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except subprocess.CalledProcessError:
        pytest.skip("this tree is no checkout of git")
    target.mkdir(parents=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)
    git(target, "init", "-q")
    git(target, "add", "-A")
    git(target, "commit", "-q", "-m", "tree")
    return target


def release(tree, *options, code=0, umask=0o022, **variables):
    done = subprocess.run(
        [tree / "tools/release", *options], capture_output=True, text=True, umask=umask, env=os.environ | variables,
        stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False,
    )
    assert done.returncode == code, done.stderr[-4000:]
    return done


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("one") / "paes")


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is missing (Debian package openssh-client)")
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    kind, public = path.with_suffix(".pub").read_text().split()[:2]
    (path.parent / "allowed_signers").write_text(f'{SIGNER} namespaces="paes" {kind} {public}\n')
    return path


@pytest.fixture(scope="module")
def made(tree, key):
    """The cheap parts, signed: the folder of a release."""
    done = release(tree, "--only", CHEAP, "--sign", key, **ONE)
    folder = tree / f"build/release-{VERSION}"
    assert done.stdout.split() == sorted(str(path) for path in folder.iterdir())
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_another_run_elsewhere_makes_the_same_bytes(made, key, tmp_path):
    """Another path, umask, time zone, language, and settings of git and gzip."""
    other = clone(tmp_path / "a/longer/path/of/the/tree")
    output = tmp_path / "output"
    release(other, "--only", CHEAP, "--sign", key, "--output", output, umask=0o077, **OTHER)
    assert contents(output) == contents(made)


def test_archive_is_the_commit(tree, made):
    archive = made / f"paes-{VERSION}-source.tar.gz"
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
        assert packed.pax_headers["comment"] == git(tree, "rev-parse", "HEAD").strip()
        inside = {m.name: packed.extractfile(m).read() for m in members if m.isreg()}
    assert {m.mtime for m in members} == {1770000000}
    assert {(m.uname, m.gname) for m in members} == {("root", "root")}
    assert {m.mode & 0o022 for m in members if not m.issym()} == {0}
    regular = [name for name in git(tree, "ls-files", "-z").split("\0") if name and not (tree / name).is_symlink()]
    assert inside == {f"paes-{VERSION}/{name}": (tree / name).read_bytes() for name in regular}


def test_notes_are_the_section_of_this_version(made):
    notes = (made / f"paes-{VERSION}-notes.md").read_text()
    assert notes.startswith(f"# paes {VERSION}")
    changes = (ROOT / "CHANGELOG.md").read_text()
    section = changes[changes.index(f"## [{VERSION}]"):].split("\n", 1)[1].split("\n## ")[0].strip()
    assert notes.split("\n\n", 2)[2] == section + "\n"


def test_sums_are_of_all_other_files(made):
    there = contents(made)
    sums = there.pop("SHA256SUMS").decode()
    there.pop("SHA256SUMS.sig")
    assert sums == "".join(f"{hashlib.sha256(there[name]).hexdigest()}  {name}\n" for name in sorted(there))


def test_recipes_name_the_archive(made, tmp_path):
    subprocess.run(["tar", "-xf", made / f"paes-{VERSION}-recipes.tar.gz", "-C", tmp_path], check=True)
    packed = (made / f"paes-{VERSION}-source.tar.gz").read_bytes()
    sums = {len(value): value for value in (hashlib.sha256(packed).hexdigest(), hashlib.sha512(packed).hexdigest())}
    found = []
    for path in (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "README.md"):
        text = path.read_text()
        assert not re.findall(r"@(?!URL@)[A-Z0-9]+@", text), path
        for word in re.findall(r"\b[0-9a-f]{64,}\b", text):
            assert word == sums[len(word)], path
            found.append(len(word))
    assert sorted(found) == [64] * 4 + [128]  # one for each package manager


def verified(folder, key, namespace="paes"):
    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", key.parent / "allowed_signers", "-I", SIGNER, "-n", namespace, "-s", folder / "SHA256SUMS.sig"],
        input=(folder / "SHA256SUMS").read_bytes(), capture_output=True, check=False,
    )
    return done.returncode == 0


def test_signature(made, key, tmp_path):
    assert verified(made, key)
    assert not verified(made, key, namespace="git")
    changed = shutil.copytree(made, tmp_path / "changed")
    with (changed / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  more\n")
    assert not verified(changed, key)


def test_source_package(tree, tmp_path):
    if shutil.which("dpkg-source") is None:
        pytest.skip("dpkg-source is missing (Debian package dpkg-dev)")
    made = tmp_path / "made"
    release(tree, "--only", "debian-source", "--output", made)
    assert set(contents(made)) == {"SHA256SUMS", f"paes_{VERSION}.dsc", f"paes_{VERSION}.tar.xz"}
    subprocess.run(["dpkg-source", "-x", made / f"paes_{VERSION}.dsc", tmp_path / "unpacked"], check=True, capture_output=True)
    for name in ("debian/rules", "debian/tests/control", "CMakeLists.txt"):
        assert (tmp_path / "unpacked" / name).exists(), name
    assert not (tmp_path / "unpacked/build").exists()


# ---- all of it: hours, so only where that is asked for


BARE_ROOT = str(ROOT / "tools/check/bare_root")
SYSTEMS = {"bookworm": "deb12", "trixie": "deb13", "forky": "deb14"}


@pytest.fixture(scope="module")
def whole(tree, key):
    """Everything, made once. `tree/build` is on the disk of the tests, where roots need some GB."""
    if "PAES_EXHAUSTIVE" not in os.environ:
        pytest.skip("makes all files of a release twice, some hours: ./dev check --deep")
    for system in SYSTEMS:
        reason = subprocess.run([BARE_ROOT, "--why-not", system], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        if reason:
            pytest.skip(f"no bare root of {system}: {reason}")
    folder = tree.parent / "whole"
    # reproducible.sh looks at the devices' code.
    release(tree, "--sign", key, "--output", folder, PAES_CUDA="OFF", **ONE)
    return folder


def test_whole_release_is_the_same_again(tree, key, whole, tmp_path):
    release(tree, "--sign", key, "--output", tmp_path / "again", PAES_CUDA="OFF", umask=0o077, **OTHER)
    again, first = contents(tmp_path / "again"), contents(whole)
    assert again["SHA256SUMS"].decode().splitlines() == first["SHA256SUMS"].decode().splitlines()
    assert again == first


def commands(system):
    """The commands of docs/packages.md by which that system installs a release."""
    document = (ROOT / "docs/packages.md").read_text()
    section = re.search(r"^### Verify and install a release\n(.*?)^##", document, re.MULTILINE | re.DOTALL)[1]
    for block in re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if (others := re.search(r"\+(deb\d+)_", line)) and others[1] != SYSTEMS[system]:
                continue
            # test_packages.py builds an image, and the source is built below `tree`.
            if not line.startswith(("podman ", "cd ")):
                yield line.replace("us@paes.invalid", SIGNER)


@pytest.mark.parametrize("system", SYSTEMS)
def test_release_is_installed_as_documented(tree, key, whole, system):
    root = tree.parent / f"root-{system}"
    subprocess.run([BARE_ROOT, "--make", root, system], check=True)
    try:
        shutil.copytree(whole, root / "root/release")
        shutil.copy(key.parent / "allowed_signers", root / "root/release")
        lines = "\n".join(commands(system))
        assert "sha256sum" in lines and "-Y verify" in lines and f"+{SYSTEMS[system]}_" in lines and "/usr/local/bin" in lines and "pip install" in lines
        # What the text says that one has, and then each line as it stands.
        script = f"""
            apt-get -qq update
            apt-get -qq install -y openssh-client g++ pkg-config python3-venv
            python3 -m venv /root/python
            PATH=/root/python/bin:$PATH
            cd release
            {lines}
            echo text >plain
            for program in /usr/bin/paes /usr/local/bin/paes; do
              [ "$($program --version)" = "paes {VERSION}" ]
              $program encrypt --new-identity key.txt plain
              $program decrypt -f -i key.txt -o plain plain.paes
              grep -x text plain
              rm key.txt plain.paes
            done
            g++ -std=c++20 paes-*[0-9]/examples/one_message.cpp -o one_message $(pkg-config --cflags --libs paes)
            ./one_message
            python3 -c 'import paes; assert paes.__version__ == "{VERSION}"'
        """
        done = subprocess.run(
            [BARE_ROOT, root, "bash", "-euxo", "pipefail", "-c", script], capture_output=True, text=True, check=False, timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


# ---- refusals


def refused(tree, *options, code=1, **variables):
    """The one line that says why."""
    lines = release(tree, *options, code=code, **variables).stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture
def own_tree(tree, tmp_path):
    """A clone to be changed."""
    subprocess.run(["git", "clone", "-q", tree, tmp_path / "own"], check=True)
    return tmp_path / "own"


def test_changed_tree_is_refused(own_tree):
    (own_tree / "README.md").write_text("other")
    assert refused(own_tree, "--only", "notes").endswith(": README.md")
    git(own_tree, "checkout", "README.md")
    (own_tree / "new").touch()
    (own_tree / "newer").touch()
    assert refused(own_tree, "--only", "notes").endswith(": new and 1 more")
    assert not list((own_tree / "build").glob("release*"))


def test_tree_without_git_is_refused(own_tree):
    shutil.rmtree(own_tree / ".git")
    # Otherwise git looks above it.
    assert "no checkout of git" in refused(own_tree, "--only", "notes", GIT_CEILING_DIRECTORIES=str(own_tree.parent))


def test_folder_of_others_is_not_emptied(own_tree, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mine").write_text("text")
    assert "no release has made mine" in refused(own_tree, "--only", "notes", "--output", folder)
    (folder / "SHA256SUMS").write_text("0  theirs\n")
    assert "no release has made mine" in refused(own_tree, "--only", "notes", "--output", folder)
    assert (folder / "mine").read_text() == "text"


def test_notes_end_where_an_older_version_begins(own_tree):
    with (own_tree / "CHANGELOG.md").open("a") as changes:
        changes.write("\n## [0.0.1] - 2020-02-02\n\n- What was.\n")
    git(own_tree, "commit", "-qam", "an older version")
    release(own_tree, "--only", "notes")
    assert "What was." not in (own_tree / f"build/release-{VERSION}/paes-{VERSION}-notes.md").read_text()


def test_unknown_part_and_bad_key_are_refused(own_tree, tmp_path):
    assert "there is no part sources" in refused(own_tree, "--only", "sources", code=2)
    (tmp_path / "key").write_text("text")
    assert "is no key of SSH" in refused(own_tree, "--only", "notes", "--sign", tmp_path / "key")


def test_part_that_cannot_be_made_is_named(own_tree):
    text = (own_tree / "CHANGELOG.md").read_text()
    (own_tree / "CHANGELOG.md").write_text(text.replace(f"## [{VERSION}]", "## [9.9.9]"))
    git(own_tree, "commit", "-qam", "no section")
    folder = own_tree / f"build/release-{VERSION}"
    said = release(own_tree, "--only", CHEAP, code=1).stderr
    assert f"notes is not made: CHANGELOG.md has no section [{VERSION}]" in said
    assert not (folder / "SHA256SUMS").exists()
    release(own_tree, "--only", CHEAP, "--without", "notes,recipes")
    assert set(contents(folder)) == {"SHA256SUMS", f"paes-{VERSION}-source.tar.gz"}


# `./dev wheels`, of which two files in three are made.
WHEELS = """#!/bin/sh
[ "$1" = wheels ] || exit 9
[ "$2" != --list ] || { printf '%s\\n' cp311-one cp311-other cp312-one sdist; exit; }
mkdir -p build/wheels && rm -f build/wheels/*
shift
for name in "$@"; do
  case $name in
    sdist) echo sdist >build/wheels/paes-1.tar.gz ;;
    cp312-one) echo "wheels: not made: cp312-one: no headers" ;;
    *) echo "$name" >"build/wheels/paes-1-$name.whl" ;;
  esac
done
"""


def test_wheels_are_taken_and_missed(own_tree):
    (own_tree / "dev").write_text(WHEELS)
    git(own_tree, "commit", "-qam", "stand-in")
    folder = own_tree / f"build/release-{VERSION}"
    release(own_tree, "--only", "wheels-cp311,sdist")
    assert set(contents(folder)) == {"SHA256SUMS", "paes-1-cp311-one.whl", "paes-1-cp311-other.whl", "paes-1.tar.gz"}
    assert contents(folder)["paes-1-cp311-other.whl"] == b"cp311-other\n"
    said = release(own_tree, "--only", "wheels-cp312,sdist", code=1).stderr
    assert "wheels-cp312 is not made: cp312-one: no headers\n" in said
    assert "sdist is not made" not in said


# A machine on which `./dev package` makes a package of which lintian says $FOUND.
MACHINE = """#!/bin/sh
case $1 in
  --why-not) ;;
  --make) mkdir -p "$2/root" ;;
  *"/root-bookworm")
    case $* in
      *" package "*)
        mkdir "$1/root/made"
        echo deb >"$1/root/made/paes_1+deb12_amd64.deb"
        printf 'W: paes: a warning\\n%s\\n' "$FOUND" >"$1/root/made/lintian.log"
        ;;
    esac
    ;;
  *) exit 9 ;;
esac
"""


def test_an_error_of_lintian_ends_a_release(own_tree):
    """The packages of `./dev package` are there in spite of one."""
    (own_tree / "tools/check/bare_root").write_text(MACHINE)
    git(own_tree, "commit", "-qam", "stand-in")
    said = release(own_tree, "--only", "debs-bookworm", code=1, FOUND="E: paes: an-error").stderr
    assert "debs-bookworm is not made: lintian: paes: an-error (" in said
    release(own_tree, "--only", "debs-bookworm", FOUND="I: paes: an-information")
    assert set(contents(own_tree / f"build/release-{VERSION}")) == {"SHA256SUMS", "paes_1+deb12_amd64.deb"}


def test_machine_where_no_root_can_be_made(own_tree, tmp_path):
    """The reason comes from tools/check/bare_root."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "bin/id").chmod(0o755)
    said = release(own_tree, "--only", "static", code=1, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}").stderr
    assert "static is not made: only root can make a bare root" in said
