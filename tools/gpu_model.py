#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each device kernel could do at the most, counted from what nvcc makes of it. No device is needed, and none is
measured: a bound says what the code's instructions allow if nothing else costs time.

    gpu_model.py                     the bounds as JSON
    gpu_model.py --table             a table of the counts
    gpu_model.py --record            writes bench/gpu/bounds.json, which the documents' tables are made of
    gpu_model.py --check             fails if a bound is 3 % below the recorded one
    gpu_model.py --beside RESULT     what a result of `./dev gpu` measured, beside the recorded bounds

Every file of src/cuda/device_kernels.def is compiled with the release build's options for each architecture and
disassembled. gpu/sass.py finds the loop that stores the text and the way through it for whole blocks. Each of its
instructions takes time on the pipe that executes it, and one of the multiprocessor's four issue slots. The busiest pipe
is the bound. An instruction with a predicate counts in full.

The units of time are clocks of one multiprocessor for 32 blocks of the cipher, one for each lane of a warp. The rates
are those of the table "Throughput of Native Arithmetic Instructions" of NVIDIA's CUDA C++ Programming Guide
(results a clock and multiprocessor), which are the same for compute capability 8.0, 8.6, 8.9 and 9.0 as far as they are
used here. The load-store unit serves 128 bytes a clock, be it of shared memory without conflicts of banks or of global
memory; that is so for 32 banks of 4 bytes, and assumed for the rest.

The studies' kernels (bench/gpu/placed_kernels.cu) look entries of tables up at random. What that costs is an
expectation: in shared memory the most different words of one bank, by the same Guide; in constant memory the different
words, which it says are served one after the other, here one a clock (assumed)."""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tools/gpu"))
import cuda_resources
import sass

RECORD = ROOT / "bench/gpu/bounds.json"
STUDIES = "bench/gpu/placed_kernels.cu"
TOLERANCE = 0.03

# Multiprocessors, the highest clock in GHz, and the memory's rate in GB/s.
GPUS = {
    "H200": {"architecture": 90, "multiprocessors": 132, "ghz": 1.98, "memory_gb_per_s": 4800,
             "source": "NVIDIA H200 data sheet (memory); nvidia-smi -q of H100 SXM and H200 (132, 1980 MHz)"},
    "H100 SXM": {"architecture": 90, "multiprocessors": 132, "ghz": 1.98, "memory_gb_per_s": 3350,
                 "source": "NVIDIA H100 data sheet (memory); nvidia-smi -q of H100 SXM (132, 1980 MHz)"},
    "H100 PCIe": {"architecture": 90, "multiprocessors": 114, "ghz": 1.755, "memory_gb_per_s": 2000,
                  "source": "NVIDIA H100 PCIe product brief PB-11133 (114, 1755 MHz, 2.0 TB/s)"},
    "A100 80GB": {"architecture": 80, "multiprocessors": 108, "ghz": 1.41, "memory_gb_per_s": 2039,
                  "source": "NVIDIA A100 architecture white paper (108, 1410 MHz); A100 80GB data sheet (SXM memory)"},
    "RTX 4090": {"architecture": 89, "multiprocessors": 128, "ghz": 2.52, "memory_gb_per_s": 1008,
                 "source": "NVIDIA Ada GPU architecture white paper, appendix A (128, 2520 MHz, 1008 GB/s)"},
    "RTX 4070 Ti": {"architecture": 89, "multiprocessors": 60, "ghz": 2.61, "memory_gb_per_s": 504,
                    "source": "NVIDIA's specifications of the GeForce RTX 4070 Ti (7680 cores, 2.61 GHz, 504 GB/s)"},
}
ARCHITECTURES = sorted({gpu["architecture"] for gpu in GPUS.values()})
# KiB of shared memory that a thread block may have (CUDA C++ Programming Guide, technical specifications). Four tables of AES need 128
# (cuda_tables.cu, with_cores).
SHARED_KIB = {80: 163, 89: 99, 90: 227}
FOUR_TABLES_KIB = 128
BYTE_TABLES_KIB = 200  # for GCM, with multiples of the hash key by eight bits (ghash_tables.hpp)

# The pipe that executes an instruction. Instructions that are not listed take only an issue slot: branches, barriers, special registers,
# constants, and the uniform datapath, of which each of the four schedulers has its own.
LOAD_STORE = {"LDS", "STS", "LDG", "STG", "LD", "ST", "LDL", "STL", "ATOMS", "LDSM"}
ALU = {"LOP3", "LOP", "PRMT", "SHF", "IADD3", "IADD", "LEA", "ISETP", "SEL", "MOV", "PLOP3", "IMNMX", "VIMNMX", "IABS",
       "BMSK", "SGXT", "FSETP", "P2R", "R2P", "VOTE", "LOP32I", "IADD32I", "ICMP", "FMNMX", "FSEL", "VIADD", "MOV32I"}
FMA = {"IMAD", "FFMA", "FMUL", "FADD", "HFMA2", "HADD2", "HMUL2", "IMUL", "IDP"}
SLOW = {"MUFU", "POPC", "FLO", "BREV", "I2F", "F2I", "F2F", "I2I", "I2FP"}

# Rounds of AES by key length.
ROUNDS = {128: 10, 192: 12, 256: 14}


def clocks_of(instruction):
    """How long a warp's instruction takes on each pipe of a multiprocessor."""
    name = instruction.name
    clocks = {"issue": 0.25}
    if name in LOAD_STORE:
        clocks["load-store"] = max(1.0, instruction.bits / 32)
    elif name == "SHFL":
        clocks["load-store"] = 1.0
    elif name in ALU:
        clocks["ALU"] = 0.5
    elif name in FMA:
        clocks["FMA"] = 0.5
    elif name in SLOW:
        clocks["conversions"] = 2.0
    return clocks


def add_up(way, cost=clocks_of):
    """Clocks by pipe and the number of instructions, along a way through a loop."""
    total, count = {}, 0.0
    for instruction, often in way:
        count += often
        for pipe, clocks in cost(instruction).items():
            total[pipe] = total.get(pipe, 0.0) + clocks * often
    return total, count


# ---- What is known about a kernel in advance: how often its inner loops run, and how rarely counters start anew.

def variants(kernel, what, core, architecture):
    """The key lengths for which a kernel's code runs. None, with the reason, if nobody needs its bound."""
    has_four = SHARED_KIB[architecture] >= FOUR_TABLES_KIB
    if kernel == "cuda_des_compute":
        return [], "compute: the baseline of studies, whose rounds ptxas unrolls as it likes"
    if what == "XTS tweaks":
        return [], "one tweak for 32 blocks: no bound of a mode"
    if "NoCipher" in core or what == "GHASH":
        return [], "a hash alone, which a file's own formats never ask for in bulk"
    if match := re.search(r"AesTablesCore<(\d)u?, (?:\w+), (\d+)u?>", core):
        if has_four != (match[1] == "4"):
            return [], "it does not run there: cuda_tables.cu chooses four tables or one by the shared memory"
        if "GcmCore" in core and ("ByteTables" in core) != (SHARED_KIB[architecture] >= BYTE_TABLES_KIB):
            return [], "it does not run there: cuda_tables.cu chooses the hash's tables by the shared memory"
        if has_four:
            return [next(bits for bits, rounds in ROUNDS.items() if rounds == int(match[2]))], ""
    return ([192] if "Des" in core else [128, 256]), ""


def trips(kernel, what, bits, architecture):
    """How often the loops inside the loop over the text run. These are the loops over rounds, unless they are unrolled."""
    if kernel == "cuda_des_bitslice":
        return ((3, (16,)),)
    if kernel == "cuda_tables":
        if SHARED_KIB[architecture] >= FOUR_TABLES_KIB:
            # Two rounds at a time if there are too many keys for uniform registers (cuda_tables.cu).
            return (6,) if bits == 256 and not blocks_a_start(kernel, what) else ()
        return (ROUNDS[bits] - (3 if blocks_a_start(kernel, what) else 1),)
    if shares_tiles(kernel, what):
        return ((TILES_A_START, (ROUNDS[bits] - 3,)),)
    return (ROUNDS[bits] - 1,)


# A lane makes what the counters of a tile share, for as many tiles as a warp has lanes (cuda/sliced_loop.hpp).
TILES_A_START = 32


def shares_tiles(kernel, what):
    return kernel == "cuda_bitslice" and what == "CTR"


def blocks_a_start(kernel, what):
    """For how many blocks counters share the first two rounds (cuda/mode_loop.hpp, cuda/gcm_loop.hpp), or None."""
    if kernel != "cuda_tables":
        return None
    return 64 if what == "CTR" else 8 if what.startswith("GCM") else None


def count(lines, kernel, what, bits, architecture, cost=clocks_of):
    """For one function: the clocks by pipe for 32 blocks, and the instructions per block."""
    blocks = sass.blocks_of(lines)
    loops = sass.loops_of(blocks)
    block_bytes = 8 if kernel.startswith("cuda_des") else 16
    stores = sass.whole_store(block_bytes)
    loads = sass.whole_load(block_bytes)
    tiles = kernel.endswith("bitslice")

    def accesses(instruction):
        # As far as the code shows, an incomplete tile also stores all its blocks, but it loads none.
        return stores(instruction) or (tiles and loads(instruction))

    candidates = sass.main_loops(blocks, loops, stores)
    if shares_tiles(kernel, what):
        # The loop around it makes the starts.
        candidates = [min((outer for outer in loops if outer.contains(loop)), key=lambda one: len(one.body))
                      for loop in candidates]
    if not candidates:
        raise sass.SassError(f"sass: {kernel}: {what}: no loop stores whole blocks")
    best = None
    for loop in candidates:
        inner = trips(kernel, what, bits, architecture)
        way = sass.ways(blocks, loop, loops, lambda _: 1, accesses, inner)
        stored = sum(often for instruction, often in way if stores(instruction))
        clocks, instructions = add_up(way, cost)
        if every := blocks_a_start(kernel, what):
            on_way = {id(instruction) for instruction, _ in way}
            starts = [number for number in loop.body if id(blocks[number].instructions[0]) not in on_way
                      and sum(one.name == "LDS" and one.bits == 32 for one in blocks[number].instructions) >= 20]
            if len(starts) != 1:
                raise sass.SassError(f"sass: {kernel}: {what}: {len(starts)} places start counters, and not 1")
            longer, more = add_up(sass.ways(blocks, loop, loops, lambda _: 1, accesses, inner, starts[0]),
                                  cost)
            for pipe, value in longer.items():
                clocks[pipe] = clocks.get(pipe, 0.0) + (value - clocks.get(pipe, 0.0)) / every
            instructions += (more - instructions) / every
        counted = ({pipe: value / stored for pipe, value in clocks.items()}, instructions / stored, stored)
        if best is None or max(counted[0].values()) < max(best[0].values()):
            best = counted
    return best


def bound(clocks, gpu, block_bytes):
    """GB/s of a GPU, and the pipe that limits it. A block is read and written once."""
    by_pipe = {pipe: gpu["multiprocessors"] * gpu["ghz"] * 32 * block_bytes / value for pipe, value in clocks.items()}
    by_pipe["memory"] = gpu["memory_gb_per_s"] / 2
    pipe = min(by_pipe, key=by_pipe.get)
    return by_pipe[pipe], pipe


# ---- The studies' kernels, whose look-ups meet in a memory.

LANES = 32
BANKS = 32
PLACES = ("compute", "constant", "global", "shared")  # bench/gpu/placed_kernels.hpp
TABLE_WORDS = 256
SBOX_WORDS = 64


def different_words(words):
    """How many different words a warp's look-ups at random places of a table are expected to read."""
    return words * (1 - (1 - 1 / words) ** LANES)


@functools.cache
def busiest_bank(words):
    """How many different words of one bank such look-ups are expected to read, in the bank where they are most."""
    in_bank = words // BANKS

    def of_a_bank(most):
        """Coefficients of x^n / n! of the ways to read at most so many words of a bank in n look-ups."""
        return [sum((-1) ** (read - other) * math.comb(in_bank, read) * math.comb(read, other) * other ** lanes
                    for read in range(most + 1) for other in range(read + 1)) for lanes in range(LANES + 1)]

    def ways(most):
        all_banks = [1, *[0] * LANES]
        for _ in range(BANKS):
            one = of_a_bank(most)
            all_banks = [sum(math.comb(lanes, here) * one[here] * all_banks[lanes - here] for here in range(lanes + 1))
                         for lanes in range(LANES + 1)]
        return all_banks[LANES]
    return sum(1 - ways(most) / words ** LANES for most in range(in_bank))


def clocks_of_placed(place):
    """clocks_of() for the kernel whose tables lie there."""
    words = SBOX_WORDS if place == "compute" else TABLE_WORDS

    def cost(instruction):
        clocks = clocks_of(instruction)
        # Wider ones read round keys, whose address is the same for the whole warp, as is one that is no register.
        if instruction.name == "LDC" and instruction.bits <= 32 and re.search(r"c\[0x3\]\[R\d", instruction.operands):
            clocks["constant memory"] = different_words(words)
        elif instruction.name == "LDS" and place == "shared":
            clocks["load-store"] = busiest_bank(words)
        return clocks
    return cost


def studies_of(text, architecture):
    """The rows of the studies' kernels: ECB encryption with a key of 128 bits."""
    functions = sass.functions(text)
    rows = []
    for (_, lines), name in zip(functions.items(), cuda_resources.demangle(list(functions))):
        what, core, _, _ = cuda_resources.describe(name)
        match = re.search(r"\(TablePlace\)(\d)", core)
        place = PLACES[int(match[1])] if match else "compute"
        rows.append(row_of(f"study_{place}", 128, what, architecture,
                           count(lines, "study", what, 128, architecture, clocks_of_placed(place))))
    return sorted(rows, key=lambda row: row["kernel"])


# ---- The compiler and the disassembler.

def find_nvdisasm(nvcc):
    packaged = [str(path) for path in
                (ROOT / "build/disassembler/lib").glob("python3*/site-packages/nvidia/cu13/bin")]
    path = os.pathsep.join([*packaged, str(pathlib.Path(nvcc).parent), os.environ.get("PATH", "")])
    return shutil.which("nvdisasm", path=path)


def version_of(nvcc):
    said = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    match = re.search(r"release [^,]*, V([0-9.]+)", said)
    if not match:
        raise sass.SassError(f"{nvcc}: says no version")
    return match[1]


def disassemble(nvcc, nvdisasm, source, architecture):
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/cubin"
        subprocess.run([nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-ccbin", os.environ.get("CXX", "g++"),
                        f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{ROOT}/bench", f"-arch=sm_{architecture}", "-cubin",
                        str(ROOT / source), "-o", cubin], check=True)
        return subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout


def kernels_of(text, kernel, architecture):
    """The rows of one file."""
    functions = sass.functions(text)
    rows = []
    for (_, lines), name in zip(functions.items(), cuda_resources.demangle(list(functions))):
        what, core, _, _ = cuda_resources.describe(name)
        keys, _ = variants(kernel, what, core, architecture)
        for bits in keys:
            rows.append(row_of(kernel, bits, what, architecture, count(lines, kernel, what, bits, architecture)))
    return rows


def row_of(kernel, bits, what, architecture, counted):
    """A row of the record, of what count() found."""
    clocks, instructions, stored = counted
    block_bytes = 8 if kernel.startswith("cuda_des") else 16
    row = {"kernel": kernel, "cipher": "des-ede3" if block_bytes == 8 else f"aes-{bits}", "what": what,
           "architecture": f"sm_{architecture}", "blocks_a_step": round(stored),
           "instructions_a_block": round(instructions, 1),
           "clocks_for_32_blocks": {pipe: round(value, 1) for pipe, value in sorted(clocks.items())}, "bounds": {}}
    for gpu_name, gpu in GPUS.items():
        if gpu["architecture"] == architecture:
            rate, pipe = bound(clocks, gpu, block_bytes)
            row["bounds"][gpu_name] = {"gb_per_s": round(rate, 1), "tb_per_s": round(rate * 8 / 1000, 2), "binds": pipe}
    return row


def model(nvcc, nvdisasm, architectures):
    names = re.findall(r"^PAES_DEVICE_KERNEL\((\w+)\)",
                       (ROOT / "src/cuda/device_kernels.def").read_text(encoding="utf-8"), re.MULTILINE)
    # The longest come first, so that none runs alone at the end.
    jobs = [(name, architecture) for name in sorted(names, key=lambda name: name != "cuda_tables")
            for architecture in architectures if variants(name, "CTR", "", architecture)[0]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(lambda job: disassemble(nvcc, nvdisasm, f"src/cuda/{job[0]}.cu", job[1]), jobs))
        studies = list(pool.map(lambda architecture: disassemble(nvcc, nvdisasm, STUDIES, architecture), architectures))
    rows = [row for job, text in zip(jobs, texts) for row in kernels_of(text, *job)]
    rows.sort(key=lambda row: (-int(row["architecture"][3:]), names.index(row["kernel"]), row["what"], row["cipher"]))
    return {"model": 1, "nvcc": version_of(nvcc), "gpus": GPUS, "kernels": rows,
            "studies": [row for architecture, text in sorted(zip(architectures, studies), reverse=True)
                        for row in studies_of(text, architecture)]}


# ---- The record.

def identity(row):
    return (row["kernel"], row["cipher"], row["what"], row["architecture"])


def rows_of(document):
    return document["kernels"] + document["studies"]


def fallen(recorded, made, architectures):
    """What is wrong with the new bounds, one line each: fallen, gone, or not recorded."""
    wanted = {identity(row): row for row in rows_of(recorded) if int(row["architecture"][3:]) in architectures}
    found = {identity(row): row for row in rows_of(made)}
    lines = [f"{' '.join(key)}: is not in the record" for key in found.keys() - wanted.keys()]
    for key, row in wanted.items():
        if key not in found:
            lines.append(f"{' '.join(key)}: is in the record alone")
            continue
        # The busiest pipe, not a GPU's bound: a GPU limited by its memory would hide what the code has lost.
        before = max(row["clocks_for_32_blocks"].values())
        now = max(found[key]["clocks_for_32_blocks"].values())
        if before < now * (1 - TOLERANCE):
            lines.append(f"{' '.join(key)}: {now:.1f} clocks for 32 blocks, recorded {before:.1f}: "
                         f"the bound fell by {100 * (1 - before / now):.1f} %")
    return sorted(lines)


def check(made, architectures, path=RECORD):
    """The exit code of --check."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    if recorded["nvcc"] != made["nvcc"]:
        print(f"gpu-model: not compared: the record is of nvcc {recorded['nvcc']}, and here is {made['nvcc']}")
        return 0
    lines = fallen(recorded, made, architectures)
    for line in lines:
        print(f"gpu-model: {line}", file=sys.stderr)
    if lines:
        print("gpu-model: if that is meant, ./dev gpu-model --record writes the bounds anew", file=sys.stderr)
        return 1
    print(f"gpu-model: {len(rows_of(made))} bounds are what is recorded, or better")
    return 0


def pipes(row):
    clocks = row["clocks_for_32_blocks"]
    return [f"{clocks.get(pipe, 0):.0f}" for pipe in ("load-store", "ALU", "FMA", "issue")]


def table(document, architecture, gpu):
    """The lines of a table of one architecture's kernels, with the bounds of one GPU."""
    yield f"| sm_{architecture}, for 32 blocks | LSU | ALU | FMA | issue | instructions a block | {gpu}, Tb/s | binds |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for row in document["kernels"]:
        if row["architecture"] == f"sm_{architecture}":
            bounds = row["bounds"][gpu]
            yield (f"| {row['kernel']} {row['cipher']} {row['what']} | " + " | ".join(pipes(row))
                   + f" | {row['instructions_a_block']:.0f} | {bounds['tb_per_s']:.2f} | {bounds['binds']} |")


def bounds_table(document):
    """The lines of a table: each kernel's bound on every GPU."""
    names = list(document["gpus"])
    found = {}
    for row in document["kernels"]:
        found.setdefault((row["kernel"], row["cipher"], row["what"]), {}).update(row["bounds"])
    yield "| Tb/s | " + " | ".join(names) + " |"
    yield "|---|" + "--:|" * len(names)
    for key, bounds in found.items():
        yield f"| {' '.join(key)} | " + " | ".join(
            f"{bounds[name]['tb_per_s']:.2f}" if name in bounds else "" for name in names) + " |"


# ---- Compared with what was measured.

def beside(result, document):
    """The lines of a table: what `./dev gpu` measured in device memory, and the bound for its multiprocessors and clock. A device has no
    bound if its architecture is not in the document."""
    bench = result["bench"]
    device = bench["device"]
    ghz = device["clock_hz"] / 1e9
    gpu = {"multiprocessors": device["multiprocessors"], "ghz": ghz, "memory_gb_per_s": float("inf")}
    rows = {identity(row): row for row in document["kernels"]}
    yield (f"| {device['name']}, {device['multiprocessors']} multiprocessors, {ghz:.2f} GHz | measured GB/s | "
           "bound GB/s | of it |")
    yield "|---|--:|--:|--:|"
    for one in bench["resident"]:
        cipher, _, mode = one["cipher"].rpartition("-")
        what = mode.upper() + ("" if mode == "ctr" else f" {one['direction']}ion")
        row = rows.get((one["kernel"], cipher, what, device["architecture"]))
        if row is not None:
            limit, _ = bound(row["clocks_for_32_blocks"], gpu, 8 if cipher == "des-ede3" else 16)
            whole = " of one message" if mode == "gcm" and one.get("way") == "message" else ""
            yield (f"| {one['kernel']} {one['cipher']} {one['direction']}{whole} | {one['gb_per_s']:.1f} | {limit:.1f} | "
                   f"{100 * one['gb_per_s'] / limit:.0f} % |")


def main():
    parser = argparse.ArgumentParser(prog="dev gpu-model", description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--table", action="store_true", help="a table of the counts instead of JSON")
    what.add_argument("--record", action="store_true", help="write bench/gpu/bounds.json")
    what.add_argument("--check", action="store_true", help="fail if a bound fell by 3 %% against bench/gpu/bounds.json")
    what.add_argument("--beside", metavar="RESULT", type=pathlib.Path, help="a result of ./dev gpu, beside the recorded bounds")
    parser.add_argument("--architectures", default=",".join(map(str, ARCHITECTURES)), help="as in 80,90")
    parser.add_argument("--nvcc", default=cuda_resources.find_nvcc())
    parser.add_argument("--nvdisasm")
    options = parser.parse_args()
    if options.beside:
        result = json.loads(options.beside.read_text(encoding="utf-8"))
        recorded = json.loads(RECORD.read_text(encoding="utf-8"))
        if result.get("bench") is None:
            print("gpu-model: the result has no measurements")
            return 0
        print(f"Measured beside the bounds of nvcc {recorded['nvcc']}; the kernels were made by {result['nvcc']}:")
        print("\n".join(beside(result, recorded)))
        return 0
    architectures = [int(number) for number in options.architectures.split(",")]
    if unknown := set(architectures) - set(ARCHITECTURES):
        sys.exit(f"gpu-model: no GPU is listed for sm_{min(unknown)}; there are: {', '.join(map(str, ARCHITECTURES))}")
    if options.record and architectures != ARCHITECTURES:
        sys.exit("gpu-model: the record has all architectures")
    if not options.nvcc:
        sys.exit("gpu-model: there is no nvcc")
    nvdisasm = options.nvdisasm or find_nvdisasm(options.nvcc)
    if not nvdisasm:
        sys.exit("gpu-model: there is no nvdisasm, which ./dev gpu-model installs")
    made = model(options.nvcc, nvdisasm, architectures)
    if options.check:
        return check(made, architectures)
    if options.record:
        RECORD.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        print(f"gpu-model: {RECORD.relative_to(ROOT)}: written")
    elif options.table:
        for name, gpu in GPUS.items():
            if gpu["architecture"] in architectures:
                print("\n".join(table(made, gpu["architecture"], name)) + "\n")
    else:
        print(json.dumps(made, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sass.SassError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"gpu-model: {error}")
