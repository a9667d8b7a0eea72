# SPDX-License-Identifier: Apache-2.0
"""What the studies' device kernels could do at the most (tools/gpu_model.py, bench/gpu/bounds.json), each with its
place there. A bound is counted from machine code, and no device has shown it."""
import functools
import json
from pathlib import Path

from .values import Value

PATH = Path(__file__).resolve().parents[1] / "gpu" / "bounds.json"


@functools.cache
def document():
    return json.loads(PATH.read_text(encoding="utf-8"))


def gpus():
    """The names of the GPUs that have bounds."""
    return list(document()["gpus"])


def rate(kernel, gpu):
    """The bound in GB/s of a study's kernel on a GPU, as a Value; None if there is none."""
    for index, row in enumerate(document()["studies"]):
        if row["kernel"] == kernel and gpu in row["bounds"]:
            # Sources of a number are separated by spaces.
            place = f"studies/{index}/bounds/{gpu.replace(' ', '+')}/gb_per_s"
            return Value(row["bounds"][gpu]["gb_per_s"], (f"bound:{place}",))
    return None


def gpu_of(device):
    """The GPU of a device by its name, such as "NVIDIA H100 PCIe", or None. An "RTX 4070 Ti SUPER" is another one."""
    return next((name for name in gpus() if device.endswith(name)), None)
