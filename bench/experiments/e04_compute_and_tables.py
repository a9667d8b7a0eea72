# SPDX-License-Identifier: Apache-2.0
"""E4: AES with every step computed (AES-CI), AES by tables (AES-AIM), and libcrypto's, compared."""
from laboratory import contests, device
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import by_parts, is_more
from laboratory.published import label, value as published
from laboratory.values import derive, size

MB = 1 << 20
SIZES = [MB // 2, MB, 15 * MB, 128 * MB, 255 * MB]
KERNELS = ("compute", "tables", "openssl")
CUDA_KERNELS = ("cuda_compute", "cuda_tables")
REDUCTION = "pousa_ci_aim/reduction_percent_aim_over_ci"


def measure(lab):
    sizes = lab.sizes(lab.pick(SIZES[:3], SIZES))
    for count in lab.threads((1, lab.cores)):
        contests.threads(lab, sizes=sizes, kernels=KERNELS, counts=(count,), rounds=3,
                         first="ratio to compute")
    if lab.quick and "sizes" not in lab.chosen:
        lab.leave_out(" and ".join(map(size, SIZES[3:])), "for the time; --full has them")
    device.measure_too(lab, "E4")


HELD = 95  # per cent less; about what is claimed
NEAR = 5  # per cent on either side of a range
NO_DEVICE = ["no CUDA device was measured"]
WAYS = {", copies included": ("time", "ratio to compute"),
        ", without copies": ("time without copies", "ratio to compute without copies")}


def less_on_device(measured):
    """{way: {bytes: per cent less time}} of CUDA's tables than CUDA's computing."""
    of = dict(executor="cuda")
    return {way: {size_: derive("percent less", measured.value(ratio, kernel=CUDA_KERNELS[1], bytes=size_, **of))
                  for size_ in measured.factors("bytes", **of)} for way, (_, ratio) in WAYS.items()}


def on_device(measured):
    """(panels, tables) for CUDA."""
    of = dict(executor="cuda")
    sizes = measured.factors("bytes", **of)
    if not sizes:
        return [], []
    heads, rows, less = [size(size_) for size_ in sizes], [], less_on_device(measured)
    for way, (time, _) in WAYS.items():
        rows += [[f"`{kernel}`{way}", *[measured.value(time, kernel=kernel, bytes=size_, **of) for size_ in sizes]]
                 for kernel in CUDA_KERNELS]
        rows.append([f"per cent less{way}", *less[way].values()])
    panel = Panel("CUDA: less time than computing", "", "per cent",
                  [Series(way[2:], heads, list(values.values())) for way, values in less.items()], kind="bars")
    return [panel], [Table("CUDA: seconds, and per cent less than `cuda_compute`", ["", *heads], rows)]


def ratios_of(measured, kernel, count):
    return {size_: measured.value("ratio to compute", kernel=kernel, threads=count, bytes=size_)
            for size_ in measured.factors("bytes", threads=count)}


def judge_faster(measured, counts):
    """Whether tables beat computing in all cases: sizes, numbers of threads, and the device."""
    cases = {f"{count} thread{'' if count == 1 else 's'}": ratios_of(measured, "tables", count) for count in counts}
    if measured.find(executor="cuda"):
        cases["CUDA, copies included"] = {size_: measured.value("ratio to compute", kernel=CUDA_KERNELS[1], bytes=size_,
                                                                executor="cuda")
                                          for size_ in measured.factors("bytes", executor="cuda")}
    held, here = [], []
    for name, ratios in cases.items():
        slower = [size_ for size_, ratio in ratios.items() if not is_more(ratio, 1, measured.margin)]
        held += [size_ not in slower for size_ in ratios]
        largest = list(ratios)[-1]
        here += ["; " if here else "tables were ", ratios[largest],
                 f" times as fast as computing with {name} ({size(largest)})",
                 f", and no faster at {', '.join(map(size, slower))}" if slower else ""]
    return Verdict(by_parts(held), here)


def judge_reduction(measured, count):
    if count is None:
        return Verdict("open", ["it was not measured on the processor"])
    ratios = ratios_of(measured, "tables", count)
    largest = list(ratios)[-1]
    less = derive("percent less", ratios[largest])
    outcome = ("holds" if float(less) >= HELD else "in part" if is_more(ratios[largest], 1, measured.margin)
               else "does not hold")
    return Verdict(outcome, [
        "`tables` took ", less, f" % less time than `compute` on {count} thread{'' if count == 1 else 's'} "
        f"({size(largest)}), that is ", ratios[largest], " x as fast"])


def judge_reduction_cuda(measured):
    low, high = (float(published(f"{REDUCTION}/cuda/{end}")) for end in (0, 1))
    least = {way: {size_: value for size_, value in values.items() if size_ >= SIZES[0]}
             for way, values in less_on_device(measured).items()}
    if not any(least.values()):
        return Verdict("open", NO_DEVICE)
    here = []
    for way, values in least.items():
        here += ["; " if here else "`cuda_tables` took ", min(values.values(), key=float), " to ",
                 max(values.values(), key=float),
                 f" % less time than `cuda_compute`{way}"]
    # Which of the two is meant is not said.
    return Verdict(max((by_parts(low - NEAR <= float(value) <= high + NEAR for value in values.values())
                        for values in least.values()),
                       key=("does not hold", "in part", "holds").index), here)


def judge_openssl(measured, counts):
    if not counts:
        return Verdict("open", ["it was not measured on the processor"])
    ratios = ratios_of(measured, "openssl", counts[0])
    largest = list(ratios)[-1]
    return Verdict(by_parts(is_more(ratio, 1, measured.margin) for ratio in ratios.values()),
                   ["libcrypto was ", ratios[largest], f" times as fast as `compute` on one thread ({size(largest)})"])


def show(measured):
    counts = measured.factors("threads")
    panels, tables = [], []
    if counts:
        sizes = measured.factors("bytes", threads=counts[0])
        rows = []
        for count in counts:
            for kernel in KERNELS:
                name = f"`{kernel}`, {count} thread{'' if count == 1 else 's'}"
                rows.append([name, *[measured.value("time", kernel=kernel, threads=count, bytes=size_)
                                     for size_ in sizes]])
                if kernel != "compute":
                    rows.append([f"{name}: per cent less than `compute`",
                                 *[derive("percent less", value)
                                   for value in ratios_of(measured, kernel, count).values()]])
        less = [derive("percent less", list(ratios_of(measured, "tables", count).values())[-1]) for count in counts]
        panels.append(Panel("Time of AES-128-ECB", "", "seconds", [
            Series(f"`{kernel}`", [f"{size(size_)}, {count} thr." for count in counts for size_ in sizes],
                   [measured.value("time", kernel=kernel, threads=count, bytes=size_)
                    for count in counts for size_ in sizes]) for kernel in KERNELS], kind="bars", logy=True))
        panels.append(Panel("Less time than computing, per cent", "", "per cent", [
            Series("here", [f"{count} thr." for count in counts], less),
            *[Series(label(f"{REDUCTION}/{key}"), [key], [published(f"{REDUCTION}/{key}")], "published")
              for key in ("sequential", "openmp", "mpi")]], kind="bars"))
        tables.append(Table("Seconds, and per cent less than `compute`", ["", *[size(size_) for size_ in sizes]], rows))
    on_it = on_device(measured)
    return Shown({"ci-aim.tables-faster": judge_faster(measured, counts),
                  "ci-aim.reduction-sequential": judge_reduction(measured, 1 if counts else None),
                  "ci-aim.reduction-openmp": judge_reduction(measured, counts[-1] if len(counts) > 1 else None),
                  "ci-aim.reduction-cuda": judge_reduction_cuda(measured),
                  "pousa.openssl-faster": judge_openssl(measured, counts)},
                 [*panels, *on_it[0]], [*tables, *on_it[1]],
                 [f"About as much less: at least {HELD} %; in part: less by more than other programs may disturb. A "
                  f"range: within {NEAR} % of it on either side at every size from 512 KiB on, with the copies or "
                  "without them. `compute` is not as slow as such code may be, which E13 looks into, so there is less "
                  "to save. libcrypto reads no tables here: it uses the processor's AES instructions."])


def beside(measured):
    """The largest data of each executor, with all threads or ranks that have a core each."""
    cores = measured.machine["cores"]
    for key, factor in (("sequential", "threads"), ("openmp", "threads"), ("mpi", "ranks")):
        if BESIDE[key] not in EXPERIMENT.judges:
            continue
        counts = [count for count in measured.factors(factor, "ratio to compute", kernel="tables")
                  if (count == 1) == (key == "sequential") and count <= cores]
        of = {"kernel": "tables", factor: counts[-1]} if counts else {}
        sizes = measured.factors("bytes", "ratio to compute", **of) if of else []
        ratio = measured.value("ratio to compute", bytes=sizes[-1], **of) if sizes else None
        here = (derive("percent less", ratio), f" % with {counts[-1]} {factor[:-1]}{'' if counts[-1] == 1 else 's'}, "
                f"{size(sizes[-1])}") if ratio else ()
        yield Counterpart(BESIDE[key], f"reduction_percent_aim_over_ci/{key}", None, here,
                          measured.why_not("MPI" if key == "mpi" else "OpenMP"))
    less = [value for size_, value in less_on_device(measured)[", copies included"].items() if size_ >= SIZES[0]]
    yield Counterpart(BESIDE["cuda"], "reduction_percent_aim_over_ci/cuda", None,
                      (min(less, key=float), " to ", max(less, key=float), " %, copies included") if less else (),
                      measured.why_not("CUDA"))


# The claims that have the published figures.
BESIDE = {"sequential": "ci-aim.reduction-sequential", "openmp": "ci-aim.reduction-openmp",
          "mpi": "ci-aim.reduction-mpi", "cuda": "ci-aim.reduction-cuda"}

EXPERIMENT = Experiment(
    name="E4", title="Computing against tables",
    did=("ci-aim.versions", "ci-aim.key", "ci-aim.programs", "ci-aim.cuda", "ci-aim.machines", "ci-aim.sizes"),
    judges=("ci-aim.tables-faster", "ci-aim.reduction-sequential", "ci-aim.reduction-openmp", "ci-aim.reduction-cuda",
            "pousa.openssl-faster"),
    here="The kernels `compute` and `tables`, and libcrypto, AES-128-ECB, one thread and all cores; each size "
         "and number of threads is one run in which the kernels take turns.",
    measure=measure, show=show, beside=beside, seconds={"quick": 11, "full": 95})
