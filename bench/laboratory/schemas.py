# SPDX-License-Identifier: Apache-2.0
"""Validates documents by the schemas of bench/schema and docs/schema, which refer to each other by file name."""
import functools
import json
from pathlib import Path

import jsonschema
import referencing

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "bench" / "schema", ROOT / "docs" / "schema")


@functools.cache
def _validator(name):
    paths = {path.name: path for folder in FOLDERS for path in folder.glob("*.json")}
    resources = [(file, referencing.Resource.from_contents(json.loads(path.read_text())))
                 for file, path in paths.items()]
    registry = referencing.Registry().with_resources(resources)
    return jsonschema.Draft202012Validator(json.loads(paths[name].read_text()), registry=registry)


def first_violation(document, name):
    """One line that says where and how the document is wrong, or None if it is valid."""
    error = jsonschema.exceptions.best_match(_validator(name).iter_errors(document))
    if error is None:
        return None
    where = "/".join(str(step) for step in error.absolute_path) or "the whole document"
    message = error.message.splitlines()[0]
    return f"{where}: {message if len(message) < 200 else message[:200] + '...'}"
