# SPDX-License-Identifier: Apache-2.0
"""Runs experiments one after the other and stores each result as it comes."""
import contextlib
import ctypes
import datetime
import os
import resource
import sys
import time

from . import energy, mpi, programs
from .experiment import Failed, Unavailable
from .results import VERSION, ResultFile

# `--quick` must end within three minutes, including the report, even if something is slower than expected. An experiment that would end
# later than this is not begun.
QUICK_SECONDS = 155


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds):
    seconds = round(seconds)
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"


class Lab:
    """The argument of an experiment's measure(): the effort, the machine, what the user chose, and where measurements
    go."""

    def __init__(self, quick, cores, progress, parameters=None, cluster=mpi.Cluster()):
        self.quick = quick
        self.cores = cores
        self.cluster = cluster
        self.chosen = {}  # the user's parameters that the experiment has asked for
        self._parameters = parameters or {}
        self.measurements = []
        self.left_out = []
        self._progress = progress

    def pick(self, quick, full):
        return quick if self.quick else full

    def _parameter(self, name, default):
        """What the user chose, or else the experiment's own numbers."""
        if name not in self._parameters:
            return list(default)
        self.chosen[name] = self._parameters[name]
        return list(self._parameters[name])

    def threads(self, default=None):
        """Numbers of threads. 1 is the first, because speedups are over one thread. The default is all of powers_of_two()."""
        return list(dict.fromkeys([1, *self._parameter("threads", default or self.powers_of_two())]))

    def ranks(self, default=None):
        """Numbers of MPI ranks. The default is all of powers_of_two()."""
        return self._parameter("ranks", default or self.powers_of_two())

    def sizes(self, default):
        """Bytes of a message or a file."""
        return self._parameter("sizes", default)

    def delays(self, default):
        """Microseconds between requests."""
        return self._parameter("delays", default)

    def powers_of_two(self, most=None):
        """1, 2, 4 and so on, up to the number of cores or another one, which is always the last."""
        most = most or self.cores
        counts = [1]
        while counts[-1] * 2 <= most:
            counts.append(counts[-1] * 2)
        if counts[-1] != most:
            counts.append(most)
        return counts

    def step(self, what):
        self._progress.step(what)

    def leave_out(self, what, why):
        self.left_out.append({"what": what, "why": why})

    def record(self, of, quantity, unit, median, rounds, least=None, most=None):
        row = {"of": of, "quantity": quantity, "unit": unit, "median": median, "rounds": rounds}
        if least is not None:
            row["min"] = least
            row["max"] = most
        self.measurements.append(row)

    def record_ratio(self, of, quantity, ratio, rounds):
        self.record(of, quantity, "ratio", ratio["median"], rounds, ratio["min"], ratio["max"])

    def record_rounds(self, of, quantity, unit, numbers):
        """Records the numbers of several rounds as their median and range."""
        self.record(of, quantity, unit, median(numbers), len(numbers), min(numbers), max(numbers))


def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def adopt_orphans():
    """From now on, processes whose parents have ended become ours. mpirun does not wait for the daemons that it starts on hosts, and the
    processor time of their ranks would count as other programs'."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    """Waits for orphans that have ended; call it only while no program of ours runs."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass


def processor_seconds():
    """(all programs', ours): processor time since the machine started, and since we did. Time that a virtual machine's host takes away
    counts as other programs'."""
    reap_orphans()
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, *interrupts = map(int, file.readline().split()[1:9])
    all_seconds = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return all_seconds, sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Progress:
    """Says on standard error which experiment runs, what it is doing, and how much time is left. The estimate is corrected by how long the
    earlier experiments took, compared with what was expected."""

    def __init__(self, experiments, effort):
        self._effort = effort
        self._left = [experiment.seconds[effort] for experiment in experiments]
        self._count = len(experiments)
        self._expected = 0.0
        self._taken = 0.0
        self._on_terminal = sys.stderr.isatty()
        self._title = ""

    def left(self):
        pace = self._taken / self._expected if self._expected > 5 else 1.0
        return sum(self._left) * min(max(pace, 0.3), 4.0)

    def begin(self, experiment):
        number = self._count - len(self._left) + 1
        self._title = f"lab: {number}/{self._count} {experiment.name} {experiment.title}"
        print(f"{self._title} (about {duration(self.left())} left)", file=sys.stderr, flush=True)

    def step(self, what):
        if self._on_terminal:
            print(f"\r\033[K  {what}", end="", file=sys.stderr, flush=True)

    def end(self, seconds):
        if self._on_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._expected += self._left.pop(0)
        self._taken += seconds


def new_document(effort, parameters):
    document = {"command": "lab", "version": VERSION, "effort": effort, "machine": programs.machine(),
                "devices": programs.devices(), "finished": False, "experiments": {}}
    if parameters:
        document["parameters"] = parameters
    if document["devices"]["cuda"]["available"]:
        with contextlib.suppress(Unavailable):
            document["driver"] = energy.Nvml().driver_version()
    return document


def measure(experiment, lab, document):
    """Measures one experiment and returns its entry, even if it failed or was not available."""
    begun, processors = time.monotonic(), processor_seconds()
    entry = {"outcome": "measured", "date": now(), "seconds": 0.0, "measurements": [], "left_out": []}
    # A file may have been begun with another build.
    if commit := programs.machine().get("commit"):
        entry["commit"] = commit
    try:
        if experiment.measure is None:
            of = document["experiments"].get(experiment.uses, {"outcome": "missing"})
            if of["outcome"] != "measured":
                raise Unavailable(f"it is made of {experiment.uses}'s measurements, and there are none")
            entry["outcome"] = "derived"
        else:
            experiment.measure(lab)
            if not lab.measurements:
                why = "; ".join(f"{row['what']}: {row['why']}" for row in lab.left_out)
                raise Unavailable(why or "nothing was measured")
    except Unavailable as reason:
        entry["outcome"], entry["reason"] = "unavailable", str(reason)
    except Failed as reason:
        entry["outcome"], entry["reason"] = "failed", str(reason)
    entry["measurements"] = lab.measurements
    entry["left_out"] = lab.left_out
    if lab.chosen:
        entry["chosen"] = lab.chosen
    seconds = time.monotonic() - begun
    entry["seconds"] = round(seconds, 3)
    if experiment.measure is not None and lab.measurements and seconds > 1:
        every, ours = (after - before for before, after in zip(processors, processor_seconds()))
        share = (every - ours) / (seconds * os.cpu_count())
        entry["others"] = round(min(max(share, 0.0), 1.0), 3)
    return entry


def run(experiments, file: ResultFile, limit_seconds=None, again=False, cluster=mpi.Cluster()):
    """Measures the experiments that the file lacks, or all of them with `again`. An old entry stays until a new one replaces it. Returns
    the names of the experiments that failed."""
    adopt_orphans()
    document = file.document
    waiting = [e for e in experiments if again or document["experiments"].get(e.name, {}).get("outcome")
               not in ("measured", "derived", "unavailable")]
    progress = Progress(waiting, document["effort"])
    begun = time.monotonic()
    for experiment in waiting:
        progress.begin(experiment)
        lab = Lab(document["effort"] == "quick", document["machine"]["cores"], progress,
                  document.get("parameters"), cluster)
        spent = time.monotonic() - begun
        if limit_seconds and experiment.measure and spent + experiment.seconds["quick"] > limit_seconds:
            entry = {"outcome": "failed", "date": now(), "seconds": 0.0, "measurements": [],
                     "left_out": [], "reason": f"no time was left for it in --quick after {duration(spent)}; "
                                               f"run it alone: ./dev lab --only {experiment.name}"}
        else:
            entry = measure(experiment, lab, document)
        file.store(experiment.name, entry)
        progress.end(entry["seconds"])
        if entry["outcome"] in ("failed", "unavailable"):
            print(f"  {entry['outcome']}: {entry['reason']}", file=sys.stderr)
    document["finished"] = True
    file.save()
    return [e.name for e in experiments if document["experiments"][e.name]["outcome"] == "failed"]
