# SPDX-License-Identifier: Apache-2.0
"""Starts ranks. Only this module knows mpirun and `paes-mpi-bench`."""
import os
import shutil

from . import programs
from .experiment import Unavailable


def program():
    """The paths of paes-mpi-bench and of its library's mpirun. Throws Unavailable if either is missing."""
    path = programs.BIN / "paes-mpi-bench"
    if not path.exists():
        raise Unavailable("paes-mpi-bench is not built")
    suffix = path.resolve().name.removeprefix("paes-mpi-bench")
    launcher = shutil.which("mpirun" + suffix.replace("-", ".")) or shutil.which("mpirun")
    if launcher is None:
        raise Unavailable("no mpirun is installed")
    return path, launcher


def bench(ranks, kind, *arguments):
    """The rows of `mpirun -n RANKS paes-mpi-bench KIND ...`."""
    path, launcher = program()
    # By default, Open MPI refuses to run as root, and to run more ranks than there are cores.
    environment = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                   "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    document = programs.document(
        [launcher, "-n", ranks, path, kind, *arguments, "--json"],
        "bench-mpi.schema.json", environment=environment)
    return document["results"]


def in_turns(lab, counts, kind, sizes, *arguments, rounds):
    """Runs each number of ranks once in each round. Returns rows[ranks][place of the size]: a list with a row
    for each round."""
    rows = {ranks: [[] for _ in sizes] for ranks in counts}
    for turn in lab.as_time_allows(range(rounds), lambda turn: f"round {turn + 1} of {', '.join(map(str, counts))} ranks"):
        for ranks in counts:
            lab.step(f"{ranks} ranks, {kind}, round {turn + 1} of {rounds}")
            found = bench(ranks, kind, "--bytes", ",".join(map(str, sizes)), *arguments)
            for by_round, row in zip(rows[ranks], found, strict=True):
                by_round.append(row)
    return rows
