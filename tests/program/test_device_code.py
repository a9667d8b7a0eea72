# SPDX-License-Identifier: Apache-2.0
"""What nvcc makes of the device kernels, looked at without a device: to which memory their instructions
go, and for which devices the built objects have code."""

import os
import pathlib
import re
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All loops are in any of them; the others, with their own code for blocks, take half a minute.
KERNELS = ["cuda_compute"]
if os.environ.get("PAES_EXHAUSTIVE"):
    KERNELS = re.findall(r"^PAES_DEVICE_KERNEL\((\w+)\)",
                         (ROOT / "src/cuda/device_kernels.def").read_text(), re.MULTILINE)
NVCC = os.environ.get("PAES_NVCC", "")
OBJECTS = [pathlib.Path(path) for path in os.environ.get("PAES_CUDA_OBJECTS", "").split(":") if path]

# A load or store without a state space before its type.
GENERIC = re.compile(r"^\s*((?:@\S+\s+)?(?:ld|st)(?:\.volatile)?(?:\.v[24])?\.[busf]\d+\s.*)$", re.MULTILINE)

needs_nvcc = pytest.mark.skipif(not NVCC, reason="paes is built without nvcc")


@needs_nvcc
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_address_is_of_unknown_memory(kernel, tmp_path):
    """Such a load or store is slower, and the compiler cannot move look-ups in shared memory past it."""
    ptx = tmp_path / "ptx"
    subprocess.run([NVCC, "-ptx", "-arch=compute_90", "-std=c++20", "-O3", "--expt-relaxed-constexpr",
                    f"-I{ROOT}/src", f"-I{ROOT}/include", str(ROOT / f"src/cuda/{kernel}.cu"), "-o",
                    str(ptx)], check=True)
    text = ptx.read_text()
    assert "st.global" in text
    generic = GENERIC.findall(text)
    assert not generic, f"{len(generic)} generic, such as {generic[0]}"


def code_of(path):
    """The kinds ("ptx", "sass") and architectures of an object's device code, from its fat binary. NVIDIA
    documents its layout nowhere; nvcc 13.0 writes a header of 16 bytes before each run of entries, each of
    which has a header of its own."""
    data = path.read_bytes()
    found = set()
    for start in (match.start() for match in re.finditer(re.escape(struct.pack("<I", 0xBA55ED50)), data)):
        header_bytes, size = struct.unpack_from("<HQ", data, start + 6)
        at, end = start + header_bytes, start + header_bytes + size
        while at < end:
            kind, _, entry_header_bytes, entry_bytes = struct.unpack_from("<HHIQ", data, at)
            architecture, = struct.unpack_from("<I", data, at + 28)
            found.add(({1: "ptx", 2: "sass"}[kind], architecture))
            at += entry_header_bytes + entry_bytes
    return found


@pytest.mark.skipif(not OBJECTS, reason="paes is built without nvcc")
def test_every_object_has_ptx_of_the_oldest_and_the_newest_architecture():
    """The driver compiles it for devices between those that were listed, and for those that come later."""
    listed = {int(architecture) for architecture in os.environ["PAES_CUDA_PTX"].split(":")}
    for path in OBJECTS:
        code = code_of(path)
        sass = {architecture for kind, architecture in code if kind == "sass"}
        assert listed == {min(sass), max(sass)}, path
        assert {architecture for kind, architecture in code if kind == "ptx"} == listed, path
