# SPDX-License-Identifier: Apache-2.0
"""Starts ranks. Only this module knows mpirun, srun and `paes-mpi-bench`."""
import functools
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import programs
from .experiment import Failed, Unavailable

START_SECONDS = 120  # that ranks have to start on all hosts
LAUNCHERS = ("mpirun", "mpiexec", "srun")
KIND = ("hosts", "machines", "cores", "oversubscribed")  # of a job's machines: what paes-mpi-bench says of them
HOST = re.compile(r"(?P<host>[^\s:=]+)(:(?P<count>[0-9]{1,6}))?(\s+slots=(?P<slots>[0-9]{1,6}))?(\s+max[-_]slots=[0-9]+)?")


class ClusterError(Exception):
    """The options do not say where ranks can run. The message is one line for the user."""


@dataclass(frozen=True)
class Cluster:
    """Where ranks run: the hosts of a file, Slurm's allocation, or neither of them, which is this machine."""

    launcher: str | None = None  # as the user named it; None: the one of the program's MPI library
    hostfile: Path | None = None
    slots: int | None = None  # ranks that the hosts have room for, if that is known

    @property
    def is_given(self):
        return self.hostfile is not None or self.launcher is not None

    @property
    def is_slurm(self):
        return self.launcher is not None and Path(self.launcher).name == "srun"

    @property
    def hosts(self):
        """A short digest of the hosts' names, so that a result can tell other hosts without naming any; None without a cluster."""
        if not self.is_given:
            return None
        names = sorted(hosts_of(self.hostfile)) if self.hostfile else [os.environ.get("SLURM_JOB_NODELIST", "")]
        return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]

    @property
    def launcher_name(self):
        return Path(program(self.launcher)[1]).name

    def command(self, ranks):
        """(program, the words that start so many ranks of a program on the cluster)."""
        path, launcher = program(self.launcher)
        hosts = ["--hostfile", self.hostfile] if self.hostfile else []
        return path, [launcher, *hosts, "-n", ranks]


def declare(parser):
    group = parser.add_argument_group("cluster", "Where E4, E15 and E16 run ranks; the default is Slurm's allocation, or this "
                                      "machine where there is none.")
    group.add_argument("--hostfile", type=Path, metavar="FILE", help="the hosts, one a line, as mpirun takes them: NAME or "
                       "NAME slots=8 (Open MPI), or NAME:8 (MPICH)")
    group.add_argument("--launcher", metavar="PROGRAM", help="mpirun, mpiexec or srun, by name or path")


def hosts_of(path):
    """{host: how many ranks it has room for} of a file; a host that does not say so counts once. Throws ClusterError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"--hostfile: {path}: cannot be read: {error}") from error
    slots = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        found = HOST.fullmatch(words)
        if found is None or "0" in (found["count"], found["slots"]):
            raise ClusterError(f"--hostfile: {path}: line {number} is not understood: {words}")
        slots[found["host"]] = slots.get(found["host"], 0) + int(found["slots"] or found["count"] or 1)
    if not slots:
        raise ClusterError(f"--hostfile: {path}: names no host")
    return slots


def cluster(options):
    """The Cluster of the command line. Throws ClusterError."""
    launcher = options.launcher
    if launcher is None and "SLURM_JOB_ID" in os.environ and options.hostfile is None:
        launcher = shutil.which("srun")
    elif launcher is not None:
        if not Path(launcher).name.startswith(LAUNCHERS):
            raise ClusterError(f"--launcher: {launcher} is none of {', '.join(LAUNCHERS)}")
        if shutil.which(launcher) is None:
            raise ClusterError(f"--launcher: {launcher}: there is no such program")
    if options.hostfile is not None:
        if launcher is not None and Path(launcher).name == "srun":
            raise ClusterError("--hostfile: srun starts ranks on the allocation's hosts, not on those of a file")
        return Cluster(launcher, options.hostfile.absolute(), sum(hosts_of(options.hostfile).values()))
    tasks = os.environ.get("SLURM_NTASKS", "")
    return Cluster(launcher, slots=int(tasks) if tasks.isdigit() and Cluster(launcher).is_slurm else None)


def require_ranks(where):
    """Starts a program that does nothing on each slot of a cluster. Throws ClusterError if that fails, so that a host that
    cannot be reached is told before anything is measured. What has no launcher is left to the experiments."""
    if not where.is_given:
        return
    try:
        programs.run([*where.command(where.slots or 1)[1], "true"], seconds=START_SECONDS, environment=environment())
    except Unavailable:
        return
    except Failed as error:
        raise ClusterError(f"no rank starts on some of the hosts: {error}") from error


def program(launcher=None):
    """The paths of paes-mpi-bench and of the launcher, by default its library's mpirun. Throws Unavailable if either is missing."""
    path = programs.BIN / "paes-mpi-bench"
    if not path.exists():
        raise Unavailable("paes-mpi-bench is not built")
    if launcher is not None:
        # mpirun.mpich starts the program of its library, if the build made several.
        of_library = path.with_name(path.name + re.sub(r"^[a-z]+", "", Path(launcher).name))
        return (of_library if of_library.exists() else path), launcher
    suffix = path.resolve().name.removeprefix("paes-mpi-bench")
    launcher = shutil.which("mpirun" + suffix.replace("-", ".")) or shutil.which("mpirun")
    if launcher is None:
        raise Unavailable("no mpirun is installed")
    return path, launcher


@functools.cache
def environment():
    # By default, Open MPI refuses to run as root, and to run more ranks than there are cores.
    made = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if os.geteuid() == 0:
        made |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return made


def document(ranks, kind, *arguments, where=Cluster()):
    """What `paes-mpi-bench KIND ...` prints on so many ranks of a cluster."""
    path, start = where.command(ranks)
    return programs.document([*start, path, kind, *arguments, "--json"], "bench-mpi.schema.json", environment=environment())


def bench(ranks, kind, *arguments, where=Cluster()):
    """The rows of `paes-mpi-bench KIND ...` on so many ranks, each with the KIND of the job's machines. Without a cluster
    that the user gave, it is this machine."""
    made = document(ranks, kind, *arguments, where=where)
    if not where.is_given and made["mpi"].get("machines", 1) > 1:
        raise Unavailable(f"mpirun starts ranks on {made['mpi']['machines']} machines here; E15 measures those")
    return [{**row, **{name: made["mpi"][name] for name in KIND}} for row in made["results"]]


def first_host(where, kind, *arguments):
    """What `paes-bench KIND ...` prints on the host of rank 0."""
    _, start = where.command(1)
    return programs.document([*start, programs.BIN / "paes-bench", kind, *arguments, "--json"],
                             f"bench-{kind}.schema.json", environment=environment())


def in_turns(lab, counts, kind, sizes, *arguments, rounds):
    """Runs each number of ranks once in each round. Returns rows[ranks][place of the size]: a list with a row
    for each round."""
    return all_in_turns(lab, {ranks: (ranks, *arguments) for ranks in counts}, kind, sizes, rounds)


def all_in_turns(lab, entrants, kind, sizes, rounds, where=Cluster()):
    """Runs each entrant once in each round. `entrants`: by any name the number of ranks and the arguments. Returns
    rows[name][place of the size]: a list with a row for each round."""
    rows = {name: [[] for _ in sizes] for name in entrants}
    counts = ", ".join(dict.fromkeys(str(ranks) for ranks, *_ in entrants.values()))
    for turn in lab.as_time_allows(range(rounds), lambda turn: f"round {turn + 1} of {counts} ranks"):
        for name, (ranks, *arguments) in entrants.items():
            lab.step(f"{ranks} ranks, {kind}, round {turn + 1} of {rounds}")
            found = bench(ranks, kind, "--bytes", ",".join(map(str, sizes)), *arguments, where=where)
            for by_round, row in zip(rows[name], found, strict=True):
                by_round.append(row)
    return rows
