# SPDX-License-Identifier: Apache-2.0
"""What campaigns recorded of themselves (docs/assurance/records), and how a campaign is run so that it does.

A record is written by the run of its campaign, never by hand. It names each file that it covers with git's id of its
content, so that anybody can see whether the record still speaks of the sources that are there.
"""

import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time

# What each kind of output says about how many tests passed, failed and did not run.
COUNTS = {
    "passed": [r"\[  PASSED  \] (\d+) tests?", r"(?<![\d%]) ?\b(\d+) passed\b"],
    "failed": [r"\[  FAILED  \] (\d+) tests?", r"\b(\d+) failed\b"],
    "not run": [r"\[  SKIPPED \] (\d+) tests?", r"\b(\d+) skipped\b"],
}


def load_campaigns(root):
    return json.loads((root / "docs/assurance/campaigns.json").read_text())


def load_records(root):
    """The records, by the names of their campaigns."""
    paths = sorted((root / "docs/assurance/records").glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in paths}


def blob_id(path):
    """What git calls this content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def covered(root, campaign):
    """Each file that a campaign covers, with its id."""
    found = {}
    for name in campaign["covers"]:
        place = root / name
        paths = [place] if place.is_file() else sorted(place.rglob("*"))
        paths = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
        if not paths:
            raise SystemExit(f"assurance: {campaign['name']} covers {name}, which is not there")
        found |= {path.relative_to(root).as_posix(): blob_id(path) for path in paths}
    return found


def changed_since(root, campaign, record):
    """The files that are not what they were, or that came or went."""
    then, now = record["covers"], covered(root, campaign)
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def machine():
    """The processor and the system, without a name of the machine."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} processors, Linux {platform.release().split('-')[0]}"


def count(output):
    """How many tests passed, failed and did not run, in the words of ctest, GoogleTest and pytest."""
    counts = {kind: sum(int(number) for pattern in patterns for number in re.findall(pattern, output)) for kind, patterns in COUNTS.items()}
    for failed, total in re.findall(r"\d+% tests passed, (\d+) tests? failed out of (\d+)", output):
        # ctest counts what was skipped as passed, and lists it.
        skipped = len(re.findall(r"^\s+\d+ - \S+ \((?:Skipped|Not Run)\)$", output, re.MULTILINE))
        counts["passed"] += int(total) - int(failed) - skipped
        counts["not run"] += skipped
    return counts


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.strip()


def run(root, campaign):
    """Runs a campaign, shows what it says, and writes its record. Gives the exit code."""
    if git(root, "status", "--porcelain", "--", *campaign["covers"]):
        raise SystemExit(f"assurance: {campaign['name']} covers files that are not committed, so no commit would have what it looked at")
    before = covered(root, campaign)
    start = time.monotonic()
    output, good = "", True
    for command in campaign["commands"]:
        print("+", *command, flush=True)
        with subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env=os.environ | environment(root)) as process:
            for line in process.stdout:
                output += line
                sys.stdout.write(line)
        good = process.returncode == 0 and good
    duration_s = round(time.monotonic() - start)
    if covered(root, campaign) != before:
        raise SystemExit(f"assurance: files that {campaign['name']} covers have changed while it ran; nothing is recorded")
    counts = count(output)
    good = good and counts["failed"] == 0 and (counts["passed"] > 0 or campaign.get("counts_nothing", False))
    seeds = sorted(set(re.findall(r"\bseed\W{0,3}(\d+)", output, re.IGNORECASE)))
    record = {
        "campaign": campaign["name"],
        "commands": campaign["commands"],
        "commit": git(root, "rev-parse", "HEAD"),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": machine(),
        "seed": ", ".join(seeds) or "none is printed",
        "duration_s": duration_s,
        "result": "passed" if good else "failed",
        "counts": counts,
        "figures": re.findall(r"^(?:\d+: )?campaign: (.+)$", output, re.MULTILINE),
        "covers": before,
    }
    folder = root / "docs/assurance/records"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{campaign['name']}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"assurance: {campaign['name']}: {record['result']}, recorded; ./dev assurance writes the page")
    return 0 if good else 1


def environment(root):
    """What tests in Python need, where ctest does not call them."""
    return {"PAES": str(root / "build/release/bin/paes"), "PYTHONDONTWRITEBYTECODE": "1"}
