# SPDX-License-Identifier: Apache-2.0
"""Runs experiments one after the other and stores each result as it comes."""
import contextlib
import ctypes
import datetime
import math
import os
import resource
import sys
import time
from dataclasses import dataclass

from . import energy, mpi, programs
from .experiment import Failed, OutOfTime, TimedOut, Unavailable
from .results import LEFT_OUT, VERSION, ResultFile, is_whole

# `--quick` must end within five minutes, including the report, even if other programs use the processors. What there is no time for is left
# out.
QUICK_SECONDS = 225
NO_TIME = "no time was left for it in --quick; --continue measures it"
STOPPED_AFTER_S = 15  # an experiment at the soonest: a short one that is disturbed takes as long
SHORTEST_S = 1.0  # in which the use of the processors can be counted


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds):
    seconds = round(seconds)
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"


@dataclass(frozen=True)
class TimeLimit:
    """When an experiment begins nothing more that it can leave out, and when it is stopped. Both are on the clock of
    time.monotonic()."""

    last_begin: float = math.inf
    end: float = math.inf


def time_limit(ends, waiting):
    """The limit of the first of the experiments that wait, if the run ends then. Each has the part of the time that it
    has of the expected time. It is stopped after twice as long, but not sooner than STOPPED_AFTER_S, or later if the
    others then still have the time that they are expected to need."""
    expected = [experiment.seconds["quick"] for experiment in waiting]
    begin = time.monotonic()
    share = (ends - begin) * expected[0] / max(sum(expected), 1)
    return TimeLimit(begin + share, min(max(begin + 2 * share, begin + STOPPED_AFTER_S, ends - sum(expected[1:])), ends))


class Lab:
    """The argument of an experiment's measure(): the effort, the machine, what the user chose, and where measurements
    go."""

    def __init__(self, quick, cores, progress, parameters=None, limit=TimeLimit(), cluster=mpi.Cluster()):
        self.quick = quick
        self.cores = cores
        self.cluster = cluster
        self.chosen = {}  # the user's parameters that the experiment has asked for
        self._parameters = parameters or {}
        self.measurements = []
        self.left_out = []
        self.is_cut = False  # whether something was left out for want of time
        self._limit = limit
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
        """Says what comes next. Throws OutOfTime if there is no time for it."""
        if time.monotonic() > self._limit.end:
            raise OutOfTime(NO_TIME)
        self._progress.step(what)

    def as_time_allows(self, things, name=str):
        """The first of the things, and the others one by one while there is time. The rest is left out under the names."""
        things = list(things)
        for place, thing in enumerate(things):
            if place and time.monotonic() > self._limit.last_begin:
                self.cut(", ".join(map(name, things[place:])), NO_TIME)
                return
            yield thing

    @contextlib.contextmanager
    def part(self, what):
        """A part of an experiment without which the rest can be shown. It is left out if this machine cannot run it, and for
        --continue if the time is over."""
        try:
            yield
        except Unavailable as reason:
            self.leave_out(what, str(reason))
        except OutOfTime as reason:
            self.cut(what, str(reason))

    def leave_out(self, what, why):
        row = {"what": what, "why": why}
        if row not in self.left_out:
            self.left_out.append(row)

    def cut(self, what, why):
        """Leaves something out that --continue measures."""
        self.leave_out(what, why)
        self.is_cut = True

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
    earlier experiments took, compared with what was expected, and is no more than what is left until the run ends."""

    def __init__(self, experiments, effort, ends=math.inf):
        self._effort = effort
        self._ends = ends
        self._left = [experiment.seconds[effort] for experiment in experiments]
        self._count = len(experiments)
        self._expected = 0.0
        self._taken = 0.0
        self._on_terminal = sys.stderr.isatty()
        self._title = ""

    def left(self):
        pace = self._taken / self._expected if self._expected > 5 else 1.0
        return max(min(sum(self._left) * min(max(pace, 0.3), 4.0), self._ends - time.monotonic()), 0)

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


def derive(experiment, document):
    """Throws OutOfTime if what the experiment shows may still be measured, Unavailable if it cannot be."""
    of = document["experiments"].get(experiment.uses, {"outcome": LEFT_OUT})
    if of["outcome"] != "measured":
        raise (Unavailable if of["outcome"] == "unavailable" else OutOfTime)(
            f"it is made of {experiment.uses}'s measurements, and there are none")


def take(experiment, lab, document):
    """(outcome, reason) of an experiment, with its measurements in `lab`. The reason is empty if there are some."""
    try:
        if experiment.measure is None:
            derive(experiment, document)
            return "derived", ""
        experiment.measure(lab)
        if lab.measurements:
            return "measured", ""
        why = "; ".join(f"{row['what']}: {row['why']}" for row in lab.left_out)
        return LEFT_OUT if lab.is_cut else "unavailable", why or "nothing was measured"
    except Unavailable as reason:
        return "unavailable", str(reason)
    except (TimedOut, OutOfTime) as reason:
        return LEFT_OUT, str(reason)
    except Failed as reason:
        return "failed", str(reason)


def measure(experiment, lab, document, ends=math.inf):
    """Measures one experiment and returns its entry, even if it failed or was not available. Its programs are stopped
    when it ends by the clock of time.monotonic()."""
    begun, processors = time.monotonic(), processor_seconds()
    entry = {"outcome": "measured", "date": now(), "seconds": 0.0, "measurements": [], "left_out": []}
    # A file may have been begun with another build.
    if commit := programs.machine().get("commit"):
        entry["commit"] = commit
    with programs.until(ends):
        entry["outcome"], reason = take(experiment, lab, document)
    if reason:
        entry["reason"] = reason
    elif lab.is_cut:
        entry["cut"] = True
    # Half of an experiment cannot be shown.
    entry["measurements"] = [] if entry["outcome"] in ("failed", LEFT_OUT) else lab.measurements
    entry["left_out"] = lab.left_out
    if lab.chosen:
        entry["chosen"] = lab.chosen
    entry["seconds"] = round(time.monotonic() - begun, 3)
    # Slurm's daemon starts ranks, so which of the processor time is theirs cannot be told.
    if entry["measurements"] and not (experiment.on_cluster and lab.cluster.is_slurm):
        # Whatever disturbed a shorter time still runs.
        time.sleep(max(SHORTEST_S - entry["seconds"], 0))
        seconds = time.monotonic() - begun
        every, ours = (after - before for before, after in zip(processors, processor_seconds()))
        share = (every - ours) / (seconds * os.cpu_count())
        entry["others"] = round(min(max(share, 0.0), 1.0), 3)
    return entry


def has_part(entry):
    return entry is not None and entry.get("cut", False)


def says_less(entry, old):
    """Whether an old entry has more measurements: there was less time now, or something failed or is missing."""
    if old is None or old["outcome"] != "measured":
        return False
    return entry["outcome"] != "measured" or has_part(entry) and len(entry["measurements"]) < len(old["measurements"])


def run(experiments, file: ResultFile, limit_seconds=None, again=False, cluster=mpi.Cluster()):
    """Measures the experiments that the file lacks, or all of them with `again`; those that have a part come last. An old
    entry stays until one that says more replaces it. Returns the names of the experiments that failed in this run."""
    adopt_orphans()
    document = file.document
    waiting = [e for e in experiments if again or not is_whole(document["experiments"].get(e.name))]
    waiting.sort(key=lambda e: has_part(document["experiments"].get(e.name)))
    ends = time.monotonic() + (limit_seconds or math.inf)
    progress = Progress(waiting, document["effort"], ends)
    failed = []
    for place, experiment in enumerate(waiting):
        progress.begin(experiment)
        limit = time_limit(ends, waiting[place:]) if limit_seconds else TimeLimit()
        lab = Lab(document["effort"] == "quick", document["machine"]["cores"], progress,
                  document.get("parameters"), limit=limit, cluster=cluster)
        if experiment.measure and time.monotonic() + experiment.seconds["quick"] > ends:
            entry = {"outcome": LEFT_OUT, "date": now(), "seconds": 0.0, "measurements": [], "left_out": [],
                     "reason": NO_TIME}
        else:
            entry = measure(experiment, lab, document, limit.end)
        if not says_less(entry, document["experiments"].get(experiment.name)):
            file.store(experiment.name, entry)
        progress.end(entry["seconds"])
        if entry["outcome"] == "failed":
            failed.append(experiment.name)
        if "reason" in entry:
            print(f"  {entry['outcome']}: {entry['reason']}", file=sys.stderr)
    document["finished"] = True
    file.save()
    return failed
