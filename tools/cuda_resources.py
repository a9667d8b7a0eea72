#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registers, spills and shared memory of each device kernel, as the compiler reports them.

Usage: cuda_resources.py [--nvcc NVCC] [--write docs/log/cuda-bounds.md] [--architectures 75,80,86,89,90]

Compiles every file of src/cuda/device_kernels.def and prints a table; --write puts it between its
markers in a document instead. Exits 1 if a kernel of cuda_tables spills.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN = "<!-- resources of device kernels: made by tools/cuda_resources.py -->"
END = "<!-- end of the resources of device kernels -->"
OPERATIONS = ["ECB encryption", "ECB decryption", "CTR", "XTS encryption", "XTS decryption",
              "CBC decryption", "CFB decryption"]
FLOWS = ["GCM encryption", "GCM decryption", "GHASH"]
REPORT = re.compile(
    r"Compiling entry function '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers", re.DOTALL)


def find_nvcc():
    packaged = [str(path) for path in
                (ROOT / "build/cuda/lib").glob("python3*/site-packages/nvidia/cu13/bin")]
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin", *packaged])
    return shutil.which("nvcc", path=path)


def compile_kernel(nvcc, kernel, architecture):
    """The compiler's report on one file: (mangled name, registers, bytes spilled)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-ccbin", "g++",
                   f"-I{ROOT}/src", f"-I{ROOT}/include", f"-arch=sm_{architecture}", "-cubin",
                   "-Xptxas", "-v", str(ROOT / f"src/cuda/{kernel}.cu"), "-o", f"{folder}/cubin"]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return [(name, int(registers), int(stores) + int(loads))
            for name, _, stores, loads, registers in REPORT.findall(report)]


def demangle(names):
    result = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True,
                            text=True)
    return result.stdout.splitlines()


def describe(name):
    """What a kernel does, its core, its threads and its shared memory, from its demangled name."""
    name = re.sub(r"paes::(cuda::)?|\(anonymous namespace\)::|\((bool|unsigned int)\)", "", name)
    function, arguments, threads, shared = re.match(
        r"void (\w+)<(.*), (\d+)u?, (\d+)u?>\(", name).groups()
    if match := re.search(r", \(Operation\)(\d+)$", arguments):
        what = OPERATIONS[int(match[1])]
    elif match := re.search(r", \(TextFlow\)(\d+)$", arguments):
        what = FLOWS[int(match[1])]
    else:
        what = {"run_tweaks_grid": "XTS tweaks"}.get(function, function)
    return what, arguments, int(threads), int(shared)


def variant_of(core):
    if match := re.search(r"AesTablesCore<(\d)u?, (?:\w+), (\d+)u?>", core):
        rounds = "any rounds" if match[2] == "0" else f"{match[2]} rounds"
        return f"{match[1]} table{'s' if match[1] != '1' else ''}, {rounds}"
    return "hash alone" if "NoCipher" in core else ""


def table(nvcc, architectures):
    kernels = re.findall(r"^PAES_DEVICE_KERNEL\((\w+)\)",
                         (ROOT / "src/cuda/device_kernels.def").read_text(), re.MULTILINE)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(kernel, architecture): pool.submit(compile_kernel, nvcc, kernel, architecture)
                for kernel in kernels for architecture in architectures}
        reports = {key: job.result() for key, job in jobs.items()}
    rows = {}
    for (kernel, architecture), report in reports.items():
        names = demangle([name for name, _, _ in report])
        for name, (_, registers, spilled) in zip(names, report):
            what, core, threads, shared = describe(name)
            row = rows.setdefault((kernel, what, variant_of(core), threads, shared), {})
            if architecture in row:
                sys.exit(f"cuda_resources.py: two kernels look alike: {name}")
            row[architecture] = (registers, spilled)
    lines = ["| kernel | what | variant | threads | shared KiB | "
             + " | ".join(f"sm_{a}" for a in architectures) + " |",
             "|---|---|---|--:|--:|" + "--:|" * len(architectures)]
    spills = False
    for (kernel, what, variant, threads, shared), row in sorted(
            rows.items(), key=lambda item: (kernels.index(item[0][0]), item[0][1:])):
        cells = []
        for architecture in architectures:
            registers, spilled = row[architecture]
            cells.append(f"{registers}" + (f" (spills {spilled})" if spilled else ""))
            spills |= kernel == "cuda_tables" and spilled != 0
        lines.append(f"| {kernel} | {what} | {variant} | {threads} | {shared / 1024:g} | "
                     + " | ".join(cells) + " |")
    return "\n".join(lines), spills


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default=find_nvcc())
    parser.add_argument("--architectures", default="75,80,86,89,90")
    parser.add_argument("--write", metavar="DOCUMENT", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.nvcc:
        sys.exit("cuda_resources.py: there is no nvcc")
    text, spills = table(arguments.nvcc, arguments.architectures.split(","))
    if arguments.write:
        document = arguments.write.read_text()
        before, rest = document.split(BEGIN)
        after = rest.split(END)[1]
        arguments.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    else:
        print(text)
    return 1 if spills else 0


if __name__ == "__main__":
    sys.exit(main())
