#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Power failures below real file systems: what was promised must be there.

Usage: power.py [--file-system NAME]... [--scenario NAME]... [--failures N] [--seed N]

Each scenario runs once on each file system, on a disk that logs what is written to it and when it is flushed. Then the
power fails at many moments: at each moment at which something was promised, and at others. The file system is mounted as
the failure left it, and the scenario looks at what is there. Then programs run whose syncs do nothing; that must be
noticed in each scenario. Needs root, loop devices and FUSE; otherwise it says why, and exits 77.

The seed decides the scenarios' data and which part of what was not flushed is there. What the programs write, and in
which order, depends on the moment, too. With --keep, the disks on which something was wrong are kept there.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "program"))

import age_file  # noqa: E402
import disks  # noqa: E402
import file_scenarios  # noqa: E402
import program  # noqa: E402
import vault_scenarios  # noqa: E402

SCENARIOS = {
    "encrypt": file_scenarios.Encrypt,
    "batch": file_scenarios.Batch,
    "rekey": file_scenarios.Rekey,
    "resume": file_scenarios.Resume,
    "keys": vault_scenarios.Keys,
    "put": vault_scenarios.Put,
    "mount": vault_scenarios.Mount,
}
# What a program without some of its syncs is caught at: without those of files, of folders, or with those of files at its end.
PLANTED = {"files": list(SCENARIOS), "folders": ["encrypt", "batch", "keys", "put"], "late": ["encrypt", "batch", "put"]}
NOT_RUN = 77


class KeyPair:
    def __init__(self, path):
        self.path, self.recipient = path, age_file.keygen(path)


class Trial:
    """A scenario on a file system, and what was found."""

    def __init__(self, options, kind_name, name, planted=None):
        self.options, self.kind_name, self.name, self.planted = options, kind_name, name, planted
        self.kind = disks.KINDS[kind_name]
        self.seed = f"{options.seed} {kind_name} {name} {planted}"
        self.failures, self.broken = 0, []

    def run(self, place):
        with contextlib.ExitStack() as stack:
            image = place / "image"
            outside = place / "outside"
            outside.mkdir()
            scenario_place = file_scenarios.Place(outside, random.Random(self.seed), KeyPair(place / "key"), KeyPair(place / "other"))
            scenario = SCENARIOS[self.name](scenario_place)
            disks.make_image(self.kind, image)
            with disks.attached(self.kind, image, place / "point"):
                (place / "point/folder").mkdir()
                scenario.prepare(place / "point/folder")
            disk = disks.LoggedDisk(self.options.logged_disk, place)
            live = disks.copy_image(image, place / "live")
            if self.planted:
                scenario_place.prefix = ("env", f"LD_PRELOAD={self.options.no_syncs}", f"NO_SYNCS={self.planted}")
            with disk.mounted(self.kind, live) as folder:
                if not self.planted:
                    stack.enter_context(disks.synced_now_and_then(folder, random.Random(self.seed + " syncs")))
                disk.mark("begin")
                scenario.run(folder, disk.mark)
                disk.mark("end")
                stack.close()
            live.unlink()
            scenario_place.prefix = ()
            written = disks.Written(disk.log)
            self.look_at(scenario, written, disks.Disks(self.kind, image, written, place), place)
        return scenario_place.counts

    def chosen(self, written):
        """The moments right after commands have returned, with nothing that was not flushed, and as many others as asked for:
        half of them right before a flush, when most is undecided, and half at any write."""
        chance = random.Random(self.seed + " failures")
        marks = written.marks()
        first, last = (next(at for at, words in marks if words == wanted) for wanted in ("begin", "end"))
        flushes = [at for at in range(first, last) if written.records[at][0] == "F" and written.records[at - 1][0] == "W"]
        ends = [at for at, words in marks if words.startswith("end")]
        ends = ends if len(ends) <= self.options.failures else chance.sample(ends, self.options.failures)
        found = [disks.Failure(at + 1, 0, False, "") for at in ends]
        others = 40 if self.planted == "late" else 0 if self.planted else self.options.failures
        for number in range(others):
            at = chance.choice(flushes) if flushes and number % 2 else chance.randint(first, last) + 1
            kept = chance.choice((0, 1, chance.random(), chance.random()))
            found.append(disks.Failure(at, kept, chance.random() < 0.6, f"{self.seed} {number}"))
        return sorted(found, key=lambda one: one.at)

    def look_at(self, scenario, written, left, place):
        for failure in self.chosen(written):
            image = left.after(failure, random.Random(failure.seed))
            said = written.said_before(failure.at)
            self.failures += 1
            try:
                with disks.mounted(self.kind, image, place) as folder:
                    scenario.check(folder, said)
            except (file_scenarios.Broken, AssertionError, OSError) as error:
                if self.planted and isinstance(error, OSError):
                    raise  # no program's fault
                self.broken.append(f"{self.kind_name}, {self.name}, {failure}: {error}".strip())
                if self.planted:
                    return
                if self.options.keep:
                    again = left.after(failure, random.Random(failure.seed))
                    disks.copy_image(again, self.options.keep / f"{self.kind_name}-{self.name}-{failure.at}")


def run(options):
    begin = time.monotonic()
    failures, broken, counts, not_noticed, tried = 0, [], {}, [], 0
    trials = [Trial(options, kind, name) for kind in options.file_system for name in options.scenario]
    trials += [Trial(options, options.file_system[0], name, what) for what, names in PLANTED.items() for name in names if name in options.scenario]
    for trial in trials:
        with tempfile.TemporaryDirectory(prefix="paes-power-", dir=disks.fast_folder()) as folder:
            (Path(folder) / "point").mkdir()
            started = time.monotonic()
            found = trial.run(Path(folder))
        what = f"without syncs of {trial.planted}" if trial.planted else "as it is"
        print(f"{time.monotonic() - begin:.0f} s: {trial.kind_name}, {trial.name}, {what}: {trial.failures} failures of the power, "
              f"{len(trial.broken)} broken promises, {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
        if trial.planted:
            print("".join(f"  noticed: {line.splitlines()[0]}\n" for line in trial.broken), end="", file=sys.stderr, flush=True)
            tried += 1
            not_noticed += [] if trial.broken else [f"{trial.name} without syncs of {trial.planted}"]
            continue
        failures += trial.failures
        broken += trial.broken
        for key, number in found.items():
            counts[key] = counts.get(key, 0) + number
    for line in broken:
        print(f"broken: {line}")
    for line in not_noticed:
        print(f"not noticed: {line}")
    more = "".join(f", {number} {key}" for key, number in sorted(counts.items()))
    print(f"campaign: {failures} power failures on {', '.join(options.file_system)} in {len(options.scenario)} scenarios{more}; "
          f"{tried - len(not_noticed)} of {tried} programs with missing syncs noticed")
    print(f"{failures - len(broken)} passed, {len(broken) + len(not_noticed)} failed")
    return 1 if broken or not_noticed or failures == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file-system", action="append", choices=disks.KINDS, help="the default is all")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="the default is all")
    parser.add_argument("--failures", type=int, default=20, help="how many, beside those at promises, for each scenario and file system")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", type=Path, help="a folder for disks on which something was wrong")
    options = parser.parse_args()
    built = Path(program.PAES).parent / "long"
    options.logged_disk, options.no_syncs = built / "logged_disk", built / "no_syncs.so"
    options.file_system = options.file_system or list(disks.KINDS)
    options.scenario = options.scenario or list(SCENARIOS)
    reasons = {name: disks.missing(disks.KINDS[name]) for name in options.file_system}
    for name, why in reasons.items():
        if why:
            print(f"NOT RUN: {name}: {why}", flush=True)
    options.file_system = [name for name in options.file_system if not reasons[name]]
    if not options.file_system:
        return NOT_RUN
    if "POWER_SPACE" not in os.environ:
        # Nobody else sees what is mounted here, and it ends with the last process that does.
        words = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv]
        os.execvpe(words[0], words, os.environ | {"POWER_SPACE": "own"})
    print(f"seed: {options.seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
