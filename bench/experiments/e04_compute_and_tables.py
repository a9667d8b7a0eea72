# SPDX-License-Identifier: Apache-2.0
"""E4: AES with every step computed (AES-CI), AES by tables (AES-AIM), and libcrypto's, compared."""
from laboratory import contests, device
from laboratory.experiment import Experiment, Panel, Series, Shown, Table
from laboratory.published import value as published
from laboratory.values import derive, size

MB = 1 << 20
SIZES = [MB // 2, MB, 15 * MB, 128 * MB, 255 * MB]
KERNELS = ("compute", "tables", "openssl")
CUDA_KERNELS = ("cuda_compute", "cuda_tables")
REDUCTION = "pousa_ci_aim/reduction_percent_aim_over_ci"


def measure(lab):
    sizes = lab.pick(SIZES[:3], SIZES)
    for count in dict.fromkeys((1, lab.cores)):
        contests.threads(lab, sizes=sizes, kernels=KERNELS, counts=(count,), rounds=3,
                         first="ratio to compute")
    if lab.quick:
        lab.leave_out("128 and 255 MB", "for the time; --full has them")
    device.measure_too(lab, "E4")


def on_device(measured):
    """(finding in words and numbers, panel, table) for CUDA; None if no device was measured."""
    of = dict(executor="cuda")
    sizes = measured.factors("bytes", **of)
    if not sizes:
        return None
    rows, less = [], {}
    for ending, ways in ((", copies included", ("time", "ratio to compute")),
                         ("", ("time without copies", "ratio to compute without copies"))):
        for kernel in CUDA_KERNELS:
            rows.append([f"`{kernel}`{ending}", *[measured.value(ways[0], kernel=kernel, bytes=size_, **of)
                                                  for size_ in sizes]])
        less[ending] = [derive("percent less", measured.value(ways[1], kernel=CUDA_KERNELS[1], bytes=size_, **of))
                        for size_ in sizes]
        rows.append([f"per cent less{ending}", *less[ending]])
    heads = [size(size_) for size_ in sizes]
    panel = Panel("CUDA: less time than computing", "", "per cent", [
        Series("copies included", heads, less[", copies included"]), Series("without copies", heads, less[""])],
        kind="bars")
    return (["with CUDA they took ", less[", copies included"][-1], f" % less ({size(sizes[-1])}), ",
             less[""][-1], " % less without the copies"], panel,
            Table("CUDA: seconds, and per cent less than `cuda_compute`", ["", *heads], rows))


FINDING = ["tables took ", published(f"{REDUCTION}/sequential"), " % less time than computing on one "
           "core, ", published(f"{REDUCTION}/openmp"), " % with OpenMP, ",
           published(f"{REDUCTION}/cuda/0"), " to ", published(f"{REDUCTION}/cuda/1"), " % with CUDA"]


def show(measured):
    cuda = on_device(measured)
    counts = measured.factors("threads")
    if not counts:
        here, panel, table = cuda
        return Shown("in part" if float(table.rows[2][-1]) > 5 else "does not hold", FINDING, here, [panel], [table])
    sizes = measured.factors("bytes", threads=counts[0])
    rows = []
    for count in counts:
        for kernel in KERNELS:
            values = [measured.value("ratio to compute", kernel=kernel, threads=count, bytes=size_)
                      for size_ in sizes]
            name = f"`{kernel}`, {count} thread{'' if count == 1 else 's'}"
            rows.append([name, *[measured.value("time", kernel=kernel, threads=count, bytes=size_)
                                 for size_ in sizes]])
            if kernel != "compute":
                rows.append([f"{name}: per cent less than `compute`",
                             *[derive("percent less", value) for value in values]])
    largest = sizes[-1]
    ratios = [measured.value("ratio to compute", kernel="tables", threads=count, bytes=largest)
              for count in counts]
    less = [derive("percent less", ratio) for ratio in ratios]
    peer = measured.value("ratio to compute", kernel="openssl", threads=counts[0], bytes=largest)
    outcome = ("holds" if all(float(value) >= 95 for value in less) else
               "in part" if all(float(value) > 5 for value in less) else "does not hold")
    here = ["`tables` took ", less[0], " % less time than `compute` on one thread"]
    if len(counts) > 1:
        here += [", ", less[-1], f" % on {counts[-1]}"]
    here += [f" ({size(largest)}), that is ", ratios[0], " x as fast, and libcrypto was ", peer, " x as fast"]
    panels = [Panel("Time of AES-128-ECB", "", "seconds", [
        Series(f"`{kernel}`", [f"{size(size_)}, {count} thr." for count in counts for size_ in sizes],
               [measured.value("time", kernel=kernel, threads=count, bytes=size_)
                for count in counts for size_ in sizes]) for kernel in KERNELS], kind="bars", logy=True)]
    panels.append(Panel("Less time than computing, per cent", "", "per cent", [
        Series("here", [f"{count} thr." for count in counts], less),
        Series("study", ["sequential", "openmp", "mpi"], [
            published(f"{REDUCTION}/{key}")
            for key in ("sequential", "openmp", "mpi")], "published")], kind="bars"))
    tables = [Table("Seconds, and per cent less than `compute`", ["", *[size(size_) for size_ in sizes]], rows)]
    if cuda:
        here += ["; ", *cuda[0]]
        panels.append(cuda[1])
        tables.append(cuda[2])
    return Shown(outcome, FINDING, here, panels, tables,
                 ["Held: at least 95 % less on every number of threads; in part: more than 5 %. The study's "
                  "computed AES was slower than such code has to be, which E13 looks into; so there was more "
                  "to save. The study's tables were OpenSSL's, hence the row of libcrypto, which uses the "
                  "processor's AES instructions."])


EXPERIMENT = Experiment(
    name="E4", title="Computing against tables", study="pousa_ci_aim",
    did="Compared AES computed step by step (AES-CI) with AES by tables as in OpenSSL (AES-AIM), sequential, "
        "with OpenMP, MPI and CUDA; 512 KB to 255 MB.",
    here="The kernels `compute` and `tables`, and libcrypto, AES-128-ECB, one thread and all cores; each size "
         "and number of threads is one run in which the kernels take turns.",
    measure=measure, show=show, seconds={"quick": 11, "full": 95})
