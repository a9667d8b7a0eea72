# SPDX-License-Identifier: Apache-2.0
"""The GPU's part of the experiments. On a machine with a GPU, gpu_bench measures it beside the processor's part. What `./dev gpu` measured
on another machine has the same rows, and its result file is read like a result of the lab."""
import json
import tempfile
from pathlib import Path

from . import programs, schemas
from .experiment import Failed, Unavailable

SCHEMA = "gpu-bench.schema.json"
FINISHED, LEFT_OUT = 0, 3  # gpu_bench's exit codes


def measure(lab, name):
    """Records what this machine's device measures for an experiment. Throws Unavailable if there is none."""
    reason = programs.cuda_reason()
    if reason is not None:
        raise Unavailable(reason)
    program = programs.BIN / "gpu_bench"
    if not program.exists():
        raise Unavailable("gpu_bench is not built")
    lab.step("the device")
    if "sizes" in lab.chosen:
        lab.leave_out("the chosen sizes with CUDA", "gpu_bench has sizes of its own")
    with tempfile.TemporaryDirectory(prefix="paes-lab-") as folder:
        path = Path(folder) / "gpu.json"
        programs.run([program, "--study", name, *lab.pick([], ["--full"]), "--seconds", 600, "--json", path],
                     codes=(FINISHED, LEFT_OUT))
        document = json.loads(path.read_text(encoding="utf-8"))
    wrong = schemas.first_violation(document, SCHEMA)
    if wrong is not None:
        raise Failed(f"gpu_bench: {SCHEMA}: {wrong}")
    if document["device"]["emulated"]:
        raise Failed("gpu_bench: the device is emulated, and its figures mean nothing")
    if name not in document["studies"]:
        raise Failed(f"gpu_bench: {'; '.join(document['left_out']) or 'nothing was measured'}")
    study = document["studies"][name]
    # The processor alone was measured before, with all its threads.
    lab.measurements += [row for row in study["measurements"] if row["of"].get("executor") != "sequential"]
    lab.left_out += study["left_out"]
    lab.left_out += [{"what": what, "why": "gpu_bench left it out"} for what in document["left_out"]]


def measure_too(lab, name):
    """Measures for an experiment that also uses the processor. A missing device is noted, and so is a want of time."""
    with lab.part("CUDA"):
        try:
            measure(lab, name)
        except Unavailable as reason:
            raise Unavailable(f"no device: {reason}") from reason


def as_lab_result(document):
    """A valid result of `./dev gpu` in the form of the lab's. Throws ValueError if it has no figures."""
    bench = document["bench"]
    if bench is None:
        raise ValueError("nothing was measured")
    if bench["device"]["emulated"]:
        raise ValueError("the device is emulated, and its figures mean nothing")
    experiments = {
        name: {"outcome": "measured", "date": document["date"], "seconds": study["seconds"],
               "measurements": study["measurements"], "left_out": study["left_out"],
               **{key: study[key] for key in ("others",) if key in study}}
        for name, study in bench["studies"].items() if study["measurements"]}
    if "E1" in experiments:
        experiments["E3"] = {**experiments["E1"], "outcome": "derived", "measurements": [], "left_out": []}
    machine = {"cpu": bench["processor"]["name"], "cores": bench["processor"]["threads"], "date": document["date"],
               "compiler": f"nvcc {document['nvcc']}", "flags": document["architecture"],
               **{key: document[key] for key in ("os", "commit") if key in document}}
    device = {key: bench["device"][key] for key in ("name", "architecture", "multiprocessors", "memory_bytes")}
    made = {"command": "lab", "effort": "gpu", "finished": True, "machine": machine, "experiments": experiments,
            "devices": {"cuda": {"available": True, "reason": "", "devices": [device]}}}
    return {**made, "driver": document["driver"]} if "driver" in document else made
