#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every fuzz harness for a while, and adds its executions to those of earlier runs.

Usage: fuzzing.py [--seconds N] [--jobs N] [--kept FILE] [HARNESS...]

What a harness finds stays in build/corpus/HARNESS, so that the next run begins where this one ends. The sums are kept
in docs/assurance/executions.json, which is committed with the record of the campaign. The exit code is 1 if a harness
crashed; libFuzzer then says which input it was.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/asan-ubsan"


def harnesses():
    said = subprocess.run(["ctest", "--test-dir", BUILD, "-N", "-R", r"^fuzz\."], capture_output=True, text=True, check=True).stdout
    return re.findall(r": fuzz\.(\w+)$", said, re.MULTILINE)


def run(name, seconds):
    """What a harness has done: how many executions, and whether it has crashed."""
    environment = os.environ | {"PAES_FUZZ_SECONDS": str(seconds), "PAES_FUZZ_CORPUS": str(ROOT / "build/corpus")}
    done = subprocess.run(["ctest", "--test-dir", BUILD, "-R", rf"^fuzz\.{name}$", "--verbose", "--no-tests=error", "--timeout", str(seconds + 600)],
                          capture_output=True, text=True, errors="replace", env=environment, check=False)
    executed = re.search(r"stat::number_of_executed_units:\s+(\d+)", done.stdout)
    if done.returncode != 0:
        print(f"{name}: crashed\n{done.stdout[-3000:]}", flush=True)
    return int(executed[1]) if executed else 0, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("PAES_FUZZ_SECONDS", "60")), help="for each harness")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kept", type=Path, default=ROOT / "docs/assurance/executions.json")
    parser.add_argument("names", nargs="*", metavar="HARNESS")
    options = parser.parse_args()
    names = options.names or harnesses()
    kept = json.loads(options.kept.read_text()) if options.kept.exists() else {}
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    all_good, executions = True, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (executed, good) in zip(names, pool.map(lambda name: run(name, options.seconds), names)):
            one = kept.setdefault(name, {"executions": 0, "seconds": 0, "since": today})
            one["executions"] += executed
            one["seconds"] += options.seconds
            print(f"{name}: {executed:,} executions now, {one['executions']:,} since {one['since']}", flush=True)
            all_good, executions = all_good and good and executed > 0, executions + executed
    options.kept.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    print(f"{len(names)} {'passed' if all_good else 'run, and not all passed'}")
    print(f"campaign: {executions:,} executions of {len(names)} harnesses, {options.seconds} s each")
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
