# SPDX-License-Identifier: Apache-2.0
"""Stores lists of rows as tables, which take a fifth of the space: a table has the names of the members once,
and once the values that all rows have in common.

    [{"of": {"a": 1}, "b": 2}, {"of": {"a": 1}, "c": 3}]
    {"columns": ["b", "c"], "same": {"of/a": 1}, "rows": [[2, null], [null, 3]]}

A null stands where a row lacks the member. This module needs no package, so that every tool can read results
in this form."""
import json

MEMBERS = {"same", "columns", "rows"}


def _flat(row, above=""):
    """The members of a row, and of the objects in it, by their paths."""
    found = {}
    for name, value in row.items():
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{above}{name}/")
        else:
            found[above + name] = value
    return found


def _deep(flat):
    """The inverse of _flat()."""
    row = {}
    for path, value in flat.items():
        *above, name = path.split("/")
        here = row
        for step in above:
            here = here.setdefault(step, {})
        here[name] = value
    return row


def _is_table(document):
    return isinstance(document, dict) and document.keys() == MEMBERS


def _as_table(rows):
    flat = [_flat(row) for row in rows]
    first = flat[0]
    paths = dict.fromkeys(path for row in flat for path in row)
    same = {path: first[path] for path in paths
            if path in first and all(path in row and row[path] == first[path] for row in flat)}
    # The order of unpack(): unpacking and packing a table again must not change it.
    paths = _flat(_deep({path: path for group in (paths.keys() - same.keys(), same) for path in paths if path in group}))
    columns = [path for path in paths if path not in same]
    return {"columns": columns, "same": {path: same[path] for path in paths if path in same},
            "rows": [[row.get(path) for path in columns] for row in flat]}


def pack(document):
    """The document with each list of several rows as a table. Lists whose rows contain tables or nulls stay lists."""
    if isinstance(document, dict):
        return {name: pack(value) for name, value in document.items()}
    if not isinstance(document, list):
        return document
    packed = [pack(value) for value in document]
    is_plain = all(isinstance(row, dict) and row for row in packed) and not any(
        value is None or _is_table(value) for row in packed for value in _parts(row))
    return _as_table(packed) if len(packed) > 1 and is_plain else packed


def _parts(row):
    """All values of a row, and of the objects in it."""
    for value in row.values():
        yield value
        if isinstance(value, dict):
            yield from _parts(value)


def unpack(document):
    """The document with its tables as lists of rows. A document without tables does not change."""
    if _is_table(document):
        columns, same = document["columns"], document["same"]
        return [_deep({path: value for path, value in zip(columns, row) if value is not None} | same)
                for row in document["rows"]]
    if isinstance(document, dict):
        return {name: unpack(value) for name, value in document.items()}
    return [unpack(value) for value in document] if isinstance(document, list) else document


def load(path):
    """The document of a JSON file, with its tables unpacked."""
    return unpack(json.loads(path.read_text(encoding="utf-8")))


def dump(document):
    """JSON with one line for each row of a table, so that people can read the file and its differences."""
    return _lines(document, "") + "\n"


def _lines(value, indent):
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(member, (dict, list)) and member for member in members) or _is_row(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, dict):
        written = [f"{json.dumps(name)}: {_lines(member, indent + ' ')}" for name, member in value.items()]
        opening, closing = "{}"
    else:
        written = [_lines(member, indent + " ") for member in value]
        opening, closing = "[]"
    return f"{opening}\n" + ",\n".join(f"{indent} {line}" for line in written) + f"\n{indent}{closing}"


def _is_row(value):
    """Whether this is a row of a table that has lists among its values."""
    return isinstance(value, list) and any(not isinstance(member, (dict, list)) for member in value)
