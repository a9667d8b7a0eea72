# SPDX-License-Identifier: Apache-2.0
# tools/assurance, on a small tree: a record is what a run gave, a page says so only while the files are
# those that were run, and a promise without a test or a dependency without a row is found. And the two
# forms of the SBOM say the same.
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = {
    "name": "looking", "subject": "1", "what": "looks", "targets": [], "covers": ["src"],
    "commands": [["sh", "-c", "echo 'seed: 17'; cat src/says"]],
}
SECURITY = """# Security

## What paes protects

- **P1. Content.** It does.

## What paes does not protect

**Nonces under `--resume`.** These rules:

- **R1.** It waits.

Other text.

## Limits that are enforced

- **L1.** At most one.
"""
TEST = "tests/test_it.py::test_one"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


@pytest.fixture
def tree(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is missing (Debian package git)")
    data = tmp_path / "docs/assurance"
    write(data / "campaigns.json", {"subjects": {"1": "Looks", "2": "Other"}, "campaigns": [CAMPAIGN], "not_looked_at": {"2": ["All of it."]}})
    write(data / "promises.json", {"P1": [TEST], "R1": [TEST], "L1": ["tests/a_test.cpp::Suite.Name"]})
    write(data / "dependencies.json", [
        {"role": "linked", "name": "Some library", "licence": "MIT", "keeper": "Some", "why": "it must", "cmake": ["Some"], "debian": ["libsome-dev"], "pypi": ["some"]}])
    write(tmp_path / "SECURITY.md", SECURITY)
    write(tmp_path / "tests/test_it.py", "def test_one():\n    pass\n")
    write(tmp_path / "tests/a_test.cpp", "TEST_F(Suite, Name) {}\n")
    write(tmp_path / "tests/requirements.txt", "# why\nsome==1.2\n\nother==3\n")
    write(tmp_path / "CMakeLists.txt", "find_package(Some 1.0) # find_package(Comment)\n")
    write(tmp_path / "dev", "packages_run=(libsome-dev) # libcomment-dev\n")
    write(tmp_path / "tools/sbom.py", "HEADERS = []\n")
    write(tmp_path / "src/says", "3 passed, 1 skipped in 0.1s\n")
    write(tmp_path / "src/folder/kept", "")
    commit(tmp_path)
    return tmp_path


def commit(tree):
    git = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)


def assurance(tree, *words):
    done = subprocess.run(
        [sys.executable, ROOT / "tools/assurance/assurance.py", "--root", tree, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def page(tree):
    assert assurance(tree) == (0, "")
    assert assurance(tree, "--check") == (0, "")
    return (tree / "docs/assurance.md").read_text()


def record(tree):
    return json.loads((tree / "docs/assurance/records/looking.json").read_text())


def test_the_tree_itself_fits():
    assert assurance(ROOT, "--check") == (0, "")


def test_what_has_not_run_is_said(tree):
    text = page(tree)
    assert "| 1. Looks | `looking`: looks | **not run yet** |" in text
    assert "| 2. Other | there is none | **not run yet** |" in text
    assert "- **Other.** All of it." in text
    assert "| P1: Content | `test_it.py::test_one` |" in text
    assert "| Some library | 1.2 | MIT | Some | linked: it must |" in text


def test_a_run_is_recorded_and_holds_until_its_files_change(tree):
    code, said = assurance(tree, "record", "looking")
    assert code == 0 and "3 passed" in said, said
    head = subprocess.run(["git", "-C", tree, "rev-parse", "HEAD", "HEAD:src/folder/kept", "HEAD:src/says"], capture_output=True, text=True, check=True).stdout.split()
    found = record(tree)
    assert (found["result"], found["seed"], found["commit"]) == ("passed", "17", head[0])
    assert found["counts"] == {"passed": 3, "failed": 0, "not run": 1}
    assert found["covers"] == {"src/folder/kept": head[1], "src/says": head[2]}
    assert f"| holds: 3 passed, 1 not run | {found['date']}, commit {head[0][:12]}, 0 s, seed: 17;" in page(tree)
    for change in (lambda: write(tree / "src/says", "4 passed\n"), lambda: write(tree / "src/more", ""), (tree / "src/says").unlink):
        change()
        code, said = assurance(tree, "--check")
        assert code == 1 and "call ./dev assurance" in said
        assert "out of date: `src/" in page(tree)
        subprocess.run(["git", "-C", tree, "clean", "-qfd", "src"], check=True)
        subprocess.run(["git", "-C", tree, "checkout", "-q", "src"], check=True)
    assert "| holds: " in page(tree)


def test_what_a_campaign_says_of_its_result_is_told(tree):
    write(tree / "src/says", "2 passed\ncampaign: 7 of 9 mutants killed\n12: campaign: 80.0 % of lines\nnot campaign: this\n")
    commit(tree)
    assert assurance(tree, "record", "looking")[0] == 0
    assert record(tree)["figures"] == ["7 of 9 mutants killed", "80.0 % of lines"]
    assert "| holds: 2 passed, 7 of 9 mutants killed, 80.0 % of lines | " in page(tree)


def test_executions_are_told_if_somebody_has_counted_them(tree):
    assert "Executions" not in page(tree)
    write(tree / "docs/assurance/executions.json", {"armor": {"executions": 1234567, "seconds": 90, "since": "2026-01-02"}})
    assert "| `armor` | 1,234,567 | 90 s | 2026-01-02 |" in page(tree)


@pytest.mark.parametrize("says", ["2 passed, 1 failed\n", "\n"])
def test_a_run_that_fails_or_finds_nothing_to_do_is_recorded_as_such(says, tree):
    write(tree / "src/says", says)
    commit(tree)
    assert assurance(tree, "record", "looking")[0] == 1
    assert record(tree)["result"] == "failed"
    assert "**failed**" in page(tree)


def test_what_no_commit_has_is_not_recorded(tree):
    write(tree / "src/says", "9 passed\n")
    code, said = assurance(tree, "record", "looking")
    assert code == 1 and "not committed" in said
    assert not (tree / "docs/assurance/records").exists()


def test_an_edited_page_is_found(tree):
    text = page(tree)
    write(tree / "docs/assurance.md", text.replace("not run yet", "holds"))
    assert assurance(tree, "--check")[0] == 1


PLANTED = {
    "a promise without a number": ("SECURITY.md", "It waits.\n", "It waits.\n- It does more.\n"),
    "P2 has no test": ("SECURITY.md", "It does.\n", "It does.\n- **P2. More.** Too.\n"),
    "is the number of two promises": ("SECURITY.md", "It does.\n", "It does.\n- **P1. More.** Too.\n"),
    "P1 has no test": ("docs/assurance/promises.json", f'"P1": ["{TEST}"]', '"P1": []'),
    "there is no test tests/test_it.py::test_two": ("docs/assurance/promises.json", f'"P1": ["{TEST}"]', '"P1": ["tests/test_it.py::test_two"]'),
    "there is no test tests/a_test.cpp::Suite.Name": ("tests/a_test.cpp", "Name", "Other"),
    "SECURITY.md makes no promise P1": ("SECURITY.md", "- **P1. Content.** It does.\n", ""),
    "CMake names Other": ("CMakeLists.txt", "find", "find_package(Other)\nfind"),
    "dev names libother-dev": ("dev", "(lib", "(libother-dev lib"),
    "libsome-dev is under debian, and dev does not name it": ("dev", "libsome", "libother"),
    "a requirement file names more": ("tests/requirements.txt", "some==1.2\n", "some==1.2\nmore==2\n"),
    "other>=3 is not pinned": ("tests/requirements.txt", "other==3", "other>=3"),
    "tools/sbom.py names x.h": ("tools/sbom.py", "[]", "['x.h']"),
    "Some library has no licence": ("docs/assurance/dependencies.json", '"MIT"', '""'),
}


@pytest.mark.parametrize("says", PLANTED)
def test_planted_faults_are_found(says, tree):
    page(tree)
    name, before, after = PLANTED[says]
    text = (tree / name).read_text()
    assert before in text
    write(tree / name, text.replace(before, after, 1))
    code, said = assurance(tree, "--check")
    assert code == 1 and says in said, said


def test_both_forms_of_the_sbom_say_the_same(tmp_path):
    if shutil.which("dpkg-query") is None or shutil.which("g++") is None:
        pytest.skip("the SBOM asks dpkg and g++")
    (tmp_path / "paes-static").write_bytes(b"a program")
    done = subprocess.run(
        [ROOT / "tools/sbom.py", "--version", "1.2", "--build", tmp_path, "--cyclonedx", tmp_path / "cdx", tmp_path / "paes-static"],
        capture_output=True, text=True, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}, check=True)
    spdx, cyclonedx = json.loads(done.stdout), json.loads((tmp_path / "cdx").read_text())
    assert (cyclonedx["bomFormat"], cyclonedx["specVersion"]) == ("CycloneDX", "1.5")
    assert cyclonedx["metadata"]["timestamp"] == spdx["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    components = {component["bom-ref"]: component for component in cyclonedx["components"]}
    assert components.keys() == {package["SPDXID"] for package in spdx["packages"]}
    for package in spdx["packages"]:
        component = components[package["SPDXID"]]
        assert (component["name"], component["version"]) == (package["name"], package["versionInfo"])
        assert component["licenses"] == [{"expression": package["licenseDeclared"]}]
    [file] = components["SPDXRef-Package-paes-static"]["components"]
    assert {sum["algorithm"].replace("SHA", "SHA-"): sum["checksumValue"] for sum in spdx["files"][0]["checksums"]} == {
        sum["alg"]: sum["content"] for sum in file["hashes"]}
    [ours] = [row["dependsOn"] for row in cyclonedx["dependencies"] if row["ref"] == "SPDXRef-Package-paes-static"]
    assert ours == sorted(r["relatedSpdxElement"] for r in spdx["relationships"] if r["relationshipType"] == "STATIC_LINK")
    assert any(name.startswith("SPDXRef-Package-libssl") for name in ours)
