# SPDX-License-Identifier: Apache-2.0
# The examples of docs/python.md and python/README.md, run as they stand.
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = [
    (document.name, number, code)
    for document in (ROOT / "docs" / "python.md", ROOT / "python" / "README.md")
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```", document.read_text(), re.M | re.S)
    )
]


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize(
    ("document", "number", "code"), EXAMPLES, ids=lambda value: str(value)[:12]
)
def test_example(document, number, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{document}, example {number}", "exec"), {})
