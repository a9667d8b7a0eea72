#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the reference has what the public headers have: each function of the recorded C interface, each class and
function of the C++ headers, and each example.

Usage: complete.py ROOT FOLDER; prints what is missing in FOLDER, which tools/docs/build made, and exits 1 if
there is something. A name counts as there if a page of the reference has its anchor.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

C_FUNCTION = re.compile(r"<elf-symbol name='(paes_\w+)'")
CLASS = re.compile(r"^(?:class|struct) (?:PAES_API )?(\w+)(?: : [^{;]*)? \{", re.MULTILINE)
FUNCTION = re.compile(r"^\S.* PAES_API (?:[\w:<>]+ )*(\w+)\(|^[\w:<>]+ PAES_API (\w+)\(", re.MULTILINE)


def wanted(root):
    """The names that the reference must have, as it spells them."""
    names = set(C_FUNCTION.findall((root / "packaging/libpaes.abi").read_text()))
    for path in sorted((root / "include/paes").glob("*.hpp")):
        text = path.read_text()
        names |= {f"paes::{name}" for name in CLASS.findall(text)}
        names |= {f"paes::{one or other}" for one, other in FUNCTION.findall(text)}
    examples = root / "examples"
    names |= {path.relative_to(examples).as_posix() for path in examples.rglob("*.c*") if path.suffix in {".c", ".cpp"}}
    return names


def there(folder):
    """The names that have pages, with their anchors."""
    names = set()
    html = folder / "html"
    pages = {path.name: path.read_text(errors="replace") for path in html.glob("*.html")}
    for compound in ElementTree.parse(folder / "paes.tag").getroot().iter("compound"):
        name, kind = compound.findtext("name"), compound.get("kind")
        file = compound.findtext("filename")
        if kind in {"class", "struct", "page"} and file and (file in pages or file + ".html" in pages):
            names.add(name)
        for member in compound.iter("member"):
            page, anchor = member.findtext("anchorfile"), member.findtext("anchor")
            if f'id="{anchor}"' in pages.get(page, ""):
                prefix = f"{name}::" if kind == "namespace" else ""
                names.add(prefix + member.findtext("name"))
    # Doxygen's index of examples lists them.
    names.update(re.findall(r'href="[^"]+-example\.html"[^>]*>([\w/.]+)</a>', pages.get("examples.html", "")))
    return names


def main():
    root, folder = map(pathlib.Path, sys.argv[1:3])
    needed = wanted(root)
    missing = sorted(needed - there(folder))
    for name in missing:
        print(f"docs: the reference lacks {name}")
    if len(needed) < 100:
        print(f"docs: only {len(needed)} names are looked for; this check no longer understands the headers")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
