#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/assurance.md: why paes can be trusted, and what was not looked at.

Usage: assurance.py [--root ROOT] [--check | --list | --builds NAME | record NAME]
Without anything it writes the page. --check prints what does not fit and exits 1 if there is something: a page that is
not what the records and the tree make, a dependency that is named in one place alone, a promise without a test. --list
prints the campaigns. --builds prints the preset of a campaign and what must be built for it. `record` runs it.
"""

import argparse
import sys
from pathlib import Path

import assurance_page
import dependencies
import promises
import records


def find(root, name):
    for campaign in records.load_campaigns(root)["campaigns"]:
        if campaign["name"] == name:
            return campaign
    raise SystemExit(f"assurance: there is no campaign {name}; ./dev assurance --list names them")


def violations(root):
    found = [*dependencies.violations(root), *promises.violations(root)]
    data = records.load_campaigns(root)
    names = [campaign["name"] for campaign in data["campaigns"]]
    found += [f"docs/assurance/records/{name}.json: there is no such campaign" for name in records.load_records(root) if name not in names]
    if found:
        return found
    document = root / "docs/assurance.md"
    if not document.exists() or document.read_text() != assurance_page.make(root):
        return ["docs/assurance.md does not tell what the records and the tree say: call ./dev assurance"]
    return []


def main():
    parser = argparse.ArgumentParser(prog="./dev assurance", description="write docs/assurance.md, or run a campaign and record it")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="write nothing; say what does not fit")
    parser.add_argument("--list", action="store_true", help="print the names of the campaigns")
    parser.add_argument("--builds", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", metavar="record NAME", help="run this campaign and write its record")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.builds:
        campaign = find(root, options.builds)
        print(campaign.get("preset", "release"), *campaign["targets"])
        return 0
    if options.list:
        for campaign in records.load_campaigns(root)["campaigns"]:
            print(f"{campaign['name']:<16} {campaign['what']}")
        return 0
    if options.check:
        found = violations(root)
        for line in found:
            print(line)
        return 1 if found else 0
    if options.words:
        if len(options.words) != 2 or options.words[0] != "record":
            parser.error("what to do is: record NAME")
        return records.run(root, find(root, options.words[1]))
    (root / "docs/assurance.md").write_text(assurance_page.make(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
