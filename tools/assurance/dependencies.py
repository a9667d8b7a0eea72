# SPDX-License-Identifier: Apache-2.0
"""What paes takes from other projects (docs/assurance/dependencies.json), compared with what the tree names.

Each is named by CMake, dev's lists of packages, the requirement files, the SBOM's tables or the workflows. A project
that one of these names and the file does not, or the other way round, is a violation. Versions of PyPI's packages stand
in the requirement files alone. Those after the empty line of such a file came with the ones before it, and are pinned,
but not described.
"""

import ast
import json
import re

ROLES = {
    "linked": "runs in the product",
    "compiled in": "runs in the product",
    "builds": "builds it",
    "tests": "tests it",
    "measures": "measures it",
    "checks": "checks its sources",
}
OURS = {"paes"}


def load(root):
    return json.loads((root / "docs/assurance/dependencies.json").read_text())


def without_comments(path):
    return re.sub(r"(?m)(^|\s)#.*$", "", path.read_text())


def named_by_cmake(root):
    found = set()
    for folder in ("", "apps", "bench", "cmake", "examples", "packaging", "python", "src", "tests", "tools"):
        paths = [root / "CMakeLists.txt"] if not folder else [*(root / folder).rglob("CMakeLists.txt"), *(root / folder).rglob("*.cmake")]
        for path in paths:
            found |= set(re.findall(r"(?:find_package|pkg_check_modules)\((\w+)", without_comments(path)))
    return found - OURS


def named_by_dev(root):
    """All of dev's lists of Debian packages, with those of single releases and the emulator's two names."""
    text = without_comments(root / "dev")
    found = set()
    for words in re.findall(r"^\s*(?:\w+\) *)?packages_\w+\+?=\((.*?)\)", text, re.MULTILINE | re.DOTALL):
        found |= {word for word in words.split() if not word.startswith('"')}
    return found | set(re.findall(r"^\s*emulator=(\S+)", text, re.MULTILINE))


def requirement_files(root):
    return sorted(path for top in ("bench", "packaging", "python", "src", "tests", "tools") for path in (root / top).rglob("requirements*.txt"))


def pinned(path):
    """(chosen, brought) of a requirement file: what we chose, and what came with that, each a name to its pin."""
    parts = ({}, {})
    for line in path.read_text().split("\n"):
        if not line.strip():
            parts = (parts[0], parts[1], True) if parts[0] else parts
        elif not line.startswith("#"):
            name, _, version = line.partition("==")
            parts[1 if len(parts) == 3 else 0][name.strip()] = version.strip()
    return parts[:2]


def named_by_requirements(root):
    """A name to the set of its versions."""
    found = {}
    for path in requirement_files(root):
        for name, version in pinned(path)[0].items():
            found.setdefault(name, set()).add(version)
    return found


def named_by_sbom(root):
    """What tools/sbom.py looks for: headers, archives, and CUDA's run-time library."""
    found = {"cudart_static"} if '"cudart_static"' in (root / "tools/sbom.py").read_text() else set()
    for node in ast.parse((root / "tools/sbom.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id in ("HEADERS", "ARCHIVES"):
            found |= set(ast.literal_eval(node.value))
        if isinstance(node, ast.Assign) and node.targets[0].id == "RUNTIME":
            found |= {file for _, file, *_ in ast.literal_eval(node.value)}
    return found


def named_by_workflows(root):
    """An action to its version, which is a commit."""
    text = "\n".join(path.read_text() for path in (root / ".github/workflows").glob("*.yml"))
    return dict(re.findall(r"uses: *([^@\s]+)@(\S+)", text))


SOURCES = {
    "cmake": ("CMake", named_by_cmake),
    "debian": ("dev", named_by_dev),
    "pypi": ("a requirement file", named_by_requirements),
    "sbom": ("tools/sbom.py", named_by_sbom),
    "actions": ("a workflow", named_by_workflows),
}


def violations(root):
    rows = load(root)
    for row in rows:
        missing = {"role", "name", "licence", "keeper", "why"} - {key for key, value in row.items() if value}
        for key in sorted(missing):
            yield f"dependencies.json: {row.get('name')} has no {key}"
        if row.get("role") not in ROLES:
            yield f"dependencies.json: {row.get('name')} has the role {row.get('role')}, which does not exist"
    for key, (where, names_of) in SOURCES.items():
        told = [name for row in rows for name in row.get(key, [])]
        named = set(names_of(root))
        for name in sorted(named - set(told)):
            yield f"dependencies.json: {where} names {name}, and no row has it under {key}"
        for name in sorted(set(told) - named):
            yield f"dependencies.json: {name} is under {key}, and {where} does not name it"
        for name in sorted({name for name in told if told.count(name) > 1}):
            yield f"dependencies.json: {name} is in two rows"
    for path in requirement_files(root):
        for name, version in {**pinned(path)[0], **pinned(path)[1]}.items():
            if not re.fullmatch(r"[0-9][0-9A-Za-z.]*(\.\*)?", version):
                yield f"{path.relative_to(root)}: {name} is not pinned"
    for action, version in named_by_workflows(root).items():
        if not re.fullmatch("[0-9a-f]{40}", version):
            yield f".github/workflows: {action} is not pinned to a commit"


def versions(root, row):
    """The range that a row claims, or the pins of its requirement files and workflows."""
    pins, actions = named_by_requirements(root), named_by_workflows(root)
    found = [version for name in row.get("pypi", []) for version in sorted(pins[name])]
    found += [actions[name][:12] for name in row.get("actions", [])]
    return row.get("versions") or ", ".join(dict.fromkeys(found)) or "the system's"
