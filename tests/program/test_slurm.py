# SPDX-License-Identifier: Apache-2.0
# Slurm: ranks of paes-mpi that srun starts, an array of paes on a data set of many files of which a
# task is lost and done again, and the lab on an allocation.
import json
import os
import re
import sys
from pathlib import Path

import mpi
import program
import pytest
import slurm

pytestmark = [
    pytest.mark.skipif(bool(slurm.why_not()), reason=slurm.why_not()),
    pytest.mark.skipif("mpi.openmpi" not in mpi.PROGRAMS, reason="paes-mpi is not built for Open MPI"),
]
ROOT = Path(__file__).resolve().parents[2]
FILES = 40


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = slurm.Slurm(tmp_path_factory.mktemp("slurm"))
    yield made
    made.stop()


def batch(cluster, script, *options, first_in_path=Path(program.PAES).parent, **environment):
    """Runs a script of examples/slurm to its end. Gives back its exit code and what it wrote."""
    out = cluster.folder / "out-%a" if any(str(option).startswith("--array") for option in options) else cluster.folder / "out"
    for old in cluster.folder.glob("out*"):
        old.unlink()
    done = cluster.run("sbatch", "--wait", "-o", out, "--export=ALL", *options, ROOT / "examples" / "slurm" / script,
                       **{**mpi.environment(), "PATH": f"{first_in_path}:{os.environ['PATH']}", **environment})
    return done.returncode, "".join(path.read_text() for path in sorted(cluster.folder.glob("out*")))


def test_ranks_of_srun_encrypt_and_verify_one_file(cluster, keys, folder, random_bytes):
    text = random_bytes(5_000_000)
    (folder / "image").write_bytes(text)
    noting = cluster.folder / "noting"
    noting.write_text(f'#!/bin/sh\n: >"{folder}/rank-$1-$SLURM_PROCID"\nexec {mpi.paes_mpi("mpi.openmpi")} "$@"\n')
    noting.chmod(0o755)
    code, said = batch(cluster, "one-file.sbatch", "-n", "2", RECIPIENT=keys.recipient, IDENTITY=str(keys.path),
                       FILE=str(folder / "image"), PAES_MPI=str(noting))
    assert code == 0, said
    assert program.succeed("decrypt", "-i", keys.path, "-o", "-", folder / "image.paes").out == text
    assert f"authentic, {len(text)} bytes" in said
    assert sorted(path.name for path in folder.glob("rank-*")) == [
        f"rank-{command}-{rank}" for command in ("encrypt", "verify") for rank in (0, 1)]


def test_an_array_does_again_what_was_lost_with_a_task(cluster, keys, folder):
    """Each file is there once, complete, with nothing beside it: after a task that was killed in the middle, too."""
    data = folder / "data"
    data.mkdir()
    for number in range(FILES):
        (data / f"part-{number:02}").write_bytes(os.urandom(3_000_000))
    paths = {"RECIPIENT": keys.recipient, "DATA": str(data), "OUTPUT": str(folder / "sealed")}
    # The paes of task 1 is killed after some of its files.
    killer = cluster.folder / "killed"
    killer.mkdir()
    (killer / "paes").write_text(f'#!/bin/sh\n[ "$SLURM_ARRAY_TASK_ID" != 1 ] || exec sh -c "head -z -n 3 | {program.PAES} $*; kill -9 $$"\n'
                                 f'exec {program.PAES} "$@"\n')
    (killer / "paes").chmod(0o755)
    code, said = batch(cluster, "many-files.sbatch", "--array=0-3", first_in_path=killer, **paths)
    assert code != 0, said
    complete = len(list((folder / "sealed").glob("part-??.paes")))
    assert complete == FILES - FILES // 4 + 3, said
    code, said = batch(cluster, "many-files.sbatch", "--array=0-3", **paths)
    assert code == 0, said
    assert sorted(path.name for path in (folder / "sealed").iterdir()) == [f"part-{number:02}.paes" for number in range(FILES)]
    assert sum(map(int, re.findall(r"encrypt: (\d+) files?", said))) == FILES - complete, said
    program.succeed("decrypt", "-i", keys.path, "--recursive", "--output-dir", folder / "back", folder / "sealed")
    for path in data.iterdir():
        assert (folder / "back" / path.name).read_bytes() == path.read_bytes()


def test_the_lab_takes_its_ranks_from_the_allocation(cluster, folder):
    script = cluster.folder / "lab.sh"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "{ROOT}/bench/lab" --only E15 --ranks 1,2 --sizes 1KiB,1MiB '
                      f'--output "{folder}/result.json"\n')
    script.chmod(0o755)
    done = cluster.run("sbatch", "--wait", "-n", "2", "-o", cluster.folder / "lab", "--export=ALL", script,
                       PAES_BIN=str(Path(program.PAES).parent), **mpi.environment())
    assert done.returncode == 0, (cluster.folder / "lab").read_text()
    document = json.loads((folder / "result.json").read_text())
    ranks = {(row["of"]["ranks"], row["of"]["launcher"], row["of"]["hosts"])
             for row in document["experiments"]["E15"]["measurements"] if row["of"]["executor"] == "mpi"}
    assert ranks == {(1, "srun", 1), (2, "srun", 1)}
