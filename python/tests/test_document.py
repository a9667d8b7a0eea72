# SPDX-License-Identifier: Apache-2.0
# The examples of the pages about Python, run as they stand. Those of data tools run in processes of
# their own, because some start workers, or register what they open files with.
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import IS_EXHAUSTIVE

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ["docs/python.md", "docs/data-tools.md", "python/README.md"]
EXAMPLES = [
    (page.rpartition("/")[2], number, code)
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    )
]
HEAVY = {"ray", "torch"}


def test_there_are_examples():
    assert len(EXAMPLES) >= 18


def make_vault(folder):
    """What `paes vault init` and an editor would have made."""
    from vaults import PASSPHRASE, stored_tree

    (folder / "vault").mkdir()
    (folder / "pass").write_text(PASSPHRASE + "\n")
    stored_tree({}, lambda path, data: (folder / "vault" / path).write_bytes(data))


@pytest.mark.parametrize(
    ("document", "number", "code"), EXAMPLES, ids=lambda value: str(value)[:12]
)
def test_example(document, number, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in sorted(set(re.findall(r"^(?:import|from) (\w+)", code, re.M))):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
        if name in HEAVY and not IS_EXHAUSTIVE:
            pytest.skip(f"{name} is tried with PAES_EXHAUSTIVE=1 alone")
    if "paes-vault" in code:
        make_vault(tmp_path)
    if document != "data-tools.md":
        exec(compile(code, f"{document}, example {number}", "exec"), {})
        return
    path = tmp_path / "example.py"
    path.write_text(f"{code}\nprint('reached its end')\n")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    # The exit code says nothing more: while Python ends, a thread of pyarrow's that waits for
    # a file system in Python may abort the process.
    assert "reached its end" in done.stdout, done.stderr
