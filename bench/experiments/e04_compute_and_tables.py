# SPDX-License-Identifier: Apache-2.0
"""E4: AES with every step computed (AES-CI), AES by tables (AES-AIM), and libcrypto's, compared by executor: one
thread, OpenMP, MPI and CUDA; and which of the two gains most where."""
from dataclasses import dataclass

from laboratory import contests, device, mpi
from laboratory.experiment import (
    Counterpart, Experiment, Panel, Series, Shown, Table, Verdict, largest_and_least, separated)
from laboratory.judgement import TWICE, by_parts
from laboratory.published import label, look_up, value as published
from laboratory.values import as_shown, derive, given, size

MB = 1 << 20
SIZES = [MB // 2, MB, 15 * MB, 128 * MB, 255 * MB]
ECB = "aes-128-ecb"
COMPUTE, TABLES = "compute", "tables"
KERNELS = (COMPUTE, TABLES, "openssl")
CUDA_KERNELS = {COMPUTE: "cuda_compute", TABLES: "cuda_tables"}
REDUCTION = "pousa_ci_aim/reduction_percent_aim_over_ci"


def measure(lab):
    sizes = lab.sizes(lab.pick(SIZES[:3], SIZES))
    counts = lab.threads((1, lab.cores))
    contests.threads(lab, sizes=sizes, kernels=KERNELS, counts=counts[:1], rounds=3, first="ratio to compute")
    for count in counts[1:]:
        with lab.part(f"{', '.join(KERNELS)} with {plural(count, 'thread')}"):
            contests.threads(lab, sizes=sizes, kernels=KERNELS, counts=(count,), rounds=3, first="ratio to compute")
    if len(counts) > 1:
        with lab.part(f"the speedup of {TABLES}"):
            contests.threads(lab, sizes=sizes, kernels=(TABLES,), counts=counts, rounds=3, first="speedup",
                             has_times=False)
    else:
        lab.leave_out("OpenMP", "there is one core" if lab.cores == 1 else "only one thread was chosen")
    if lab.quick and "sizes" not in lab.chosen:
        lab.leave_out(" and ".join(map(size, SIZES[3:])), "for the time; --full has them")
    # 1 is the first, because speedups are over one rank.
    with lab.part("MPI"):
        measure_ranks(lab, list(dict.fromkeys([1, *lab.ranks((1, lab.cluster.slots or lab.cores))])),
                      lab.sizes(lab.pick(SIZES[:2], SIZES[:4])))
    device.measure_too(lab, "E4")


def measure_ranks(lab, counts, sizes):
    """Both kernels and all numbers of ranks take turns, each rank with its share of the data in its memory."""
    entrants = {(kernel, ranks): (ranks, "--cipher", ECB, "--kernel", kernel, "--threads", 1, "--runs", 1)
                for ranks in counts for kernel in (COMPUTE, TABLES)}
    mpi.program()
    rows = mpi.all_in_turns(lab, entrants, "memory", sizes, rounds=lab.pick(2, 3), where=lab.cluster)
    for place, size_ in enumerate(sizes):
        record_ranks(lab, {entrant: by_size[place] for entrant, by_size in rows.items()}, size_)
    if "sizes" not in lab.chosen:
        lab.leave_out(f"MPI above {size(sizes[-1])}",
                      "for the time: each run is checked by encrypting and decrypting once more")


def record_ranks(lab, rows, size_):
    """Records for one size each entrant's times, and for each round how many times as fast it was as computing on as
    many ranks, and as the first number of ranks with its own kernel."""
    seconds = {entrant: [row["seconds"]["median"] for row in by_round] for entrant, by_round in rows.items()}
    first = next(iter(rows))[1]
    for (kernel, ranks), by_round in rows.items():
        of = {"cipher": ECB, "direction": "encrypt", "kernel": kernel, "executor": "mpi", "ranks": ranks,
              "bytes": size_, **{name: by_round[0][name] for name in mpi.KIND}}
        mine = seconds[kernel, ranks]
        lab.record_rounds(of, "time", "s", mine)
        for quantity, other in (("ratio to compute", (COMPUTE, ranks)), ("speedup", (kernel, first))):
            lab.record_rounds(of, quantity, "ratio", [one / many for one, many in zip(seconds[other], mine)])


HELD = 95  # per cent less; about what is claimed
TIMES = 100 / (100 - HELD)  # as fast, which is as much
NEAR = 5  # points, percentages of the time: on either side of a range, or of a similar figure
NO_DEVICE = ["no CUDA device was measured"]
WAYS = {", copies included": ("time", "ratio to compute"),
        ", without copies": ("time without copies", "ratio to compute without copies")}


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def executors(measured):
    """{key of the published figures: (name, factors)} of the executors that were measured, but for CUDA."""
    found, cores = {}, measured.machine["cores"]
    counts = [count for count in measured.factors("threads") if count <= cores]
    if 1 in counts:
        found["sequential"] = (plural(1, "thread"), dict(threads=1))
    if counts and counts[-1] > 1:
        found["openmp"] = (plural(counts[-1], "thread"), dict(threads=counts[-1]))
    ranks = [count for count in measured.factors("ranks", executor="mpi")
             if count > 1 and not job_of(measured, count)["oversubscribed"]]
    if ranks:
        found["mpi"] = (plural(ranks[-1], "rank"), dict(executor="mpi", ranks=ranks[-1]))
    return found


def job_of(measured, ranks):
    """The factors of a number of ranks that say on what machines they ran."""
    _, row = measured.find(executor="mpi", ranks=ranks)[0]
    return row["of"]


def on_a_cluster(measured, ranks):
    """Whether a number of ranks ran on several machines with a core for each. Hosts may share a machine."""
    job = job_of(measured, ranks)
    return job.get("machines", 1) > 1 and not job["oversubscribed"]


def ratios_of(measured, kernel, **of):
    """{bytes: how many times as fast as computing}."""
    return {size_: measured.value("ratio to compute", kernel=kernel, bytes=size_, **of)
            for size_ in measured.factors("bytes", "ratio to compute", **of)}


def speedups_of(measured, kernel, **of):
    """{bytes: how many times as fast as one thread or one rank with the same kernel}."""
    return {size_: measured.value("speedup", kernel=kernel, bytes=size_, **of)
            for size_ in measured.factors("bytes", "speedup", kernel=kernel, **of)}


def gain_on_a_core(measured):
    """(bytes, how many times as fast as computing tables are on one thread, whether a device's turns with it say so), at the largest
    size; (0, None, False) if nothing does. A device's are its speedups over one thread with the same kernel."""
    if alone := ratios_of(measured, TABLES, threads=1):
        return max(alone), alone[max(alone)], False
    of = dict(executor="cuda")
    found = {kernel: speedups_of(measured, CUDA_KERNELS[kernel], **of) for kernel in (TABLES, COMPUTE)}
    largest = largest_common(*found.values())
    ratio = largest and measured.value("ratio to compute", kernel=CUDA_KERNELS[TABLES], bytes=largest, **of)
    if not ratio:
        return 0, None, False
    return largest, derive("ratio after speedups", ratio, *(found[kernel][largest] for kernel in (TABLES, COMPUTE))), True


def less_on_device(measured):
    """{way: {bytes: per cent less time}} of CUDA's tables than CUDA's computing."""
    of = dict(executor="cuda")
    return {way: {size_: derive("percent less", measured.value(ratio, kernel=CUDA_KERNELS[TABLES], bytes=size_, **of))
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
                 for kernel in CUDA_KERNELS.values()]
        rows.append([f"per cent less{way}", *less[way].values()])
    panel = Panel("CUDA: less time than computing", "", "per cent",
                  [Series(way[2:], heads, list(values.values())) for way, values in less.items()], kind="bars")
    return [panel], [Table("CUDA: seconds, and per cent less than `cuda_compute`", ["", *heads], rows)]


EXECUTORS = ("sequential", "openmp", "mpi")  # keys of the published figures


def why_missing(measured, key):
    """Why tables and computing are not compared with an executor."""
    if key != "sequential":
        return measured.none_above_one({"openmp": "threads", "mpi": "ranks"}[key])
    if measured.find("speedup", executor="cuda"):
        return "on one thread the two kernels took no turns with each other, but only with the device"
    return "one thread was not measured"


COPIED = "with 32 copies of each table in shared memory"


def judge_faster(measured):
    """Whether tables beat computing in all cases: the study's sizes, numbers of threads and ranks, and the device."""
    found = executors(measured)
    cases = {name: ratios_of(measured, TABLES, **of) for name, of in found.values()}
    missing = [why_missing(measured, key) for key in EXECUTORS if key not in found]
    if measured.find(executor="cuda"):
        cases[f"CUDA {COPIED}, copying the text included"] = ratios_of(measured, CUDA_KERNELS[TABLES], executor="cuda")
    else:
        missing.append("CUDA was not measured")
    parts, here, by = [], [], []
    for name, ratios in cases.items():
        ratios = of_the_study(ratios)
        if not ratios:
            continue
        parts += [(f"{name} at {size(size_)}", measured.is_more(ratio, 1)) for size_, ratio in ratios.items()]
        by += ratios.values()
        here += ["; " if here else "tables were ", *largest_and_least(ratios, f"as fast as computing with {name}")]
    if not parts:
        return Verdict("open", [f"no data of {size(SIZES[0])} or more was measured"])
    if in_constant := measured.of("E17").value("ratio to compute", **IN_CONSTANT):
        parts.append(("CUDA with tables in constant memory", measured.is_more(in_constant, 1)))
        by.append(in_constant)
        here += ["; with tables that lie once in constant memory the device was ", in_constant,
                 " times as fast as computing, without copying the text (E17)"]
    return measured.judged(parts, here, f"faster than computing in each case and at each size from {size(SIZES[0])} on", missing, by)


def of_the_study(by_size):
    """What is of sizes that the study has, or larger than its smallest."""
    return {size_: value for size_, value in by_size.items() if size_ >= SIZES[0]}


# The factors of E17's tables that lie once in constant memory.
IN_CONSTANT = dict(tables="constant", blocks="all", threads_a_block=look_up("studies/pousa_ci_aim/device/threads_a_block"))


def ratios_with(measured, key):
    """{bytes: times as fast} of tables with an executor."""
    return ratios_of(measured, TABLES, **executors(measured)[key][1])


def reduction(measured, key, size_):
    """(name, times as fast, per cent less) of tables with an executor."""
    ratio = ratios_with(measured, key)[size_]
    return executors(measured)[key][0], ratio, derive("percent less", ratio)


def largest_common(*by_size):
    """The largest size that all have; None if there is none."""
    return max(set.intersection(*map(set, by_size)), default=None)


REDUCED = f"at least {HELD} % less time"


def similar(measured, ratio, other):
    """Whether two reductions are within NEAR points of each other, with the rounds of both."""
    off = {sign: [1 / (as_shown(one) * (1 + sign * measured.doubt_in_points(one))) for one in (ratio, other)] for sign in (-1, 1)}
    apart = abs(1 / as_shown(ratio) - 1 / as_shown(other))
    doubt = sum(abs(low - high) / 2 for low, high in zip(off[1], off[-1]))
    limit = NEAR / 100
    return True if apart + doubt <= limit else False if apart - doubt > limit else None


def judge_reduction(measured, key, similar_to=()):
    """Whether tables take about as much less time as is claimed, and about as much less as with other executors."""
    if key not in executors(measured):
        return Verdict("open", [why_missing(measured, key)])
    others = [other for other in similar_to if other in executors(measured)]
    missing = [why_missing(measured, other) for other in similar_to if other not in others]
    common = largest_common(*(ratios_with(measured, one) for one in (key, *others)))
    if common is None:
        others, missing = [], [*missing, "no data of one size was measured on all of these"]
        common = largest_common(ratios_with(measured, key))
    name, ratio, less = reduction(measured, key, common)
    here = ["`tables` took ", less, f" % less time than `compute` on {name} ({size(common)}), that is ", ratio,
            " x as fast"]
    parts = [("so much less time", measured.is_at_least(ratio, TIMES))]
    for other in others:
        its_name, its_ratio, its_less = reduction(measured, other, common)
        parts.append((f"as much less as on {its_name}", similar(measured, ratio, its_ratio)))
        here += [", and ", its_less, f" % less on {its_name}"]
    rule = (f"{REDUCED}, and within {NEAR} points of what each of the others saves, at the largest size that all of them encrypted"
            if similar_to else f"{REDUCED}, at the largest size")
    return measured.judged(parts, here, rule, missing)


def judge_reduction_cuda(measured):
    low, high = (float(published(f"{REDUCTION}/cuda/{end}")) for end in (0, 1))
    least = {way: of_the_study(values) for way, values in less_on_device(measured).items()}
    if not any(least.values()):
        return Verdict("open", NO_DEVICE)
    others = {key: largest_common(ratios_with(measured, key), next(iter(least.values()))) for key in executors(measured)}
    missing = [f"{executors(measured)[key][0]} had no data of the device's sizes" if key in others else why_missing(measured, key)
               for key in EXECUTORS if others.get(key) is None]
    others = {key: (common, *reduction(measured, key, common)) for key, common in others.items() if common is not None}
    here, ways = [], []
    for way, values in least.items():
        here += ["; " if here else f"`cuda_tables`, {COPIED}, took ", min(values.values(), key=float), " to ",
                 max(values.values(), key=float),
                 f" % less time than `cuda_compute`{way}"]
        gains = {size_: measured.value(WAYS[way][1], kernel=CUDA_KERNELS[TABLES], bytes=size_, executor="cuda") for size_ in values}
        how = way.removeprefix(", ")
        ways.append([*((f"the range at {size(size_)} ({how})", is_in_range(measured, value, low - NEAR, high + NEAR))
                       for size_, value in values.items()),
                     *((f"{name} ({how})", measured.is_more(ratio, gains[common]))
                       for common, name, ratio, _ in others.values())])
    for common, name, _, less in others.values():
        here += [", and ", less, f" % less on {name} ({size(common)})"]
    # Which of the two is meant is not said.
    better = max(ways, key=lambda parts: ("open", "does not hold", "in part", "holds").index(
        by_parts(part for _, part in parts)))
    passed = [name for name, part in better if part]
    if passed and len(passed) < len(better):
        here.append(f"; what passes the rule: {', '.join(passed)}")
    return measured.judged(better, here, f"within {NEAR} points of the range on either side at each size from {size(SIZES[0])} on, with the "
                  "copies or without them, and less than what each of the other executors saves, at the largest size that both "
                  "encrypted", missing,
                  [*(value for values in least.values() for value in values.values()), *(ratio for *_, ratio, _ in others.values())])


def is_in_range(measured, less, low, high):
    """Whether a percentage of less time lies between two others, with the rounds of the ratio that it is made of."""
    time, doubt = 1 - as_shown(less) / 100, measured.doubt_in_points(less)
    least, most = (100 * (1 - time * off) for off in (1 + doubt, 1 - doubt))
    return True if low <= least and most <= high else False if most < low or least > high else None


@dataclass(frozen=True)
class Cluster:
    """With what a device is compared: so many cores, or measured ranks on several machines, of which either the smallest
    number counts or the largest."""

    cores: int
    ranks: int  # 0: the smallest number, -1: the largest

    def __str__(self):
        return f"{self.cores} cores of {self.cores // CORES_OF_ONE} machines"


CORES_OF_ONE, CORES_OF_TWO, CORES_OF_ALL = (look_up(f"studies/pousa_ci_aim/cores/mpi/{place}") for place in range(3))
MORE_THAN_ONE, WHOLE = Cluster(CORES_OF_TWO, 0), Cluster(CORES_OF_ALL, -1)


def beside_a_cluster(measured, kernel, cluster):
    """(words, [whether a cluster is faster], the figures) of CUDA, copies included, by size. It is slower than a cluster if
    ranks on several machines were faster, and faster than one if all its cores could not come up to it even if they
    scaled perfectly. Otherwise nobody knows (None)."""
    speedups = of_the_study(speedups_of(measured, CUDA_KERNELS[kernel], executor="cuda"))
    if not speedups:
        return [], [], []
    here = [f"`{CUDA_KERNELS[kernel]}`, copies included, was as many times as fast as one core with `{kernel}`: ",
            *separated([[speedup, f" at {size(size_)}"] for size_, speedup in speedups.items()], ", "),
            f" ({COPIED})" if kernel == TABLES else ""]
    by = list(speedups.values())
    beyond = [size_ for size_, speedup in speedups.items() if measured.is_more(speedup, cluster.cores)]
    is_slower = {size_: False if size_ in beyond else None for size_ in speedups}
    for size_ in [size_ for size_ in speedups if size_ not in beyond]:
        count, theirs = ranks_of_a_cluster(measured, kernel, cluster, size_)
        if theirs:
            by.append(theirs)
            here += [f"; {count} ranks on {job_of(measured, count)['machines']} machines were ", theirs, f" times as fast at {size(size_)}"]
            if measured.is_more(theirs, speedups[size_]) or measured.is_more(speedups[size_], theirs):
                is_slower[size_] = float(theirs) > float(speedups[size_])
    for words, sizes in (("would be slower, even if they scaled perfectly", beyond),
                         ("may be faster or slower", [size_ for size_, said in is_slower.items() if said is None])):
        if sizes:
            here.append(f"; {cluster} {words}, at {'each size' if len(sizes) == len(speedups) else ', '.join(map(size, sizes))}")
    once = in_constant_memory(measured) if kernel == TABLES else None
    if once:
        by.append(once)
        is_slower["once"] = False if measured.is_more(once, cluster.cores) else None
        here += ["; with tables that lie once in constant memory the device does, even without copying the text, what ", once,
                 " such cores do (E17)",
                 ", so that the answer turns with the place of the tables" if is_slower["once"] is None else ""]
    return here, list(is_slower.values()), by


def ranks_of_a_cluster(measured, kernel, cluster, size_):
    """(ranks, speedup) of ranks on several machines; without them, of none."""
    counts = [count for count in measured.factors("ranks", "speedup", kernel=kernel, executor="mpi", bytes=size_)
              if count > 1 and on_a_cluster(measured, count)]
    if not counts:
        return 0, None
    count = counts[cluster.ranks]
    return count, measured.value("speedup", kernel=kernel, executor="mpi", ranks=count, bytes=size_)


def in_constant_memory(measured):
    """How many times as fast as one core with tables a device is, without copies, whose tables lie once in constant memory;
    None if it was not measured."""
    of = dict(kernel=CUDA_KERNELS[TABLES], executor="cuda")
    sizes = list(speedups_of(measured, **of))
    rate = measured.of("E17").value("rate without copies", **IN_CONSTANT)
    if not sizes or not rate:
        return None
    return derive("times a core", rate, measured.value("speedup", bytes=sizes[-1], **of),
                  measured.value("time", bytes=sizes[-1], **of), given(sizes[-1]))


def half(is_slower):
    """Whether a cluster is faster at all sizes; None if nobody knows it of some."""
    return None if None in is_slower else all(is_slower)


THEIRS = (f"at each size from {size(SIZES[0])} on; a device that is faster than these cores would be if they scaled perfectly is faster "
          "than the cluster, and otherwise ranks on several machines decide, or nothing does")


def why_no_cluster(measured):
    if not measured.find(executor="cuda"):
        return NO_DEVICE
    return [f"one core was not measured beside CUDA on data of {size(SIZES[0])} or more"]


def judge_tables_on_cluster(measured):
    here, is_slower, by = beside_a_cluster(measured, TABLES, MORE_THAN_ONE)
    if not here:
        return Verdict("open", why_no_cluster(measured))
    return measured.decided(Verdict(by_parts(is_slower), here, f"with tables a cluster of {MORE_THAN_ONE} is faster, {THEIRS}", tuple(by)))


def judge_architecture(measured):
    """Two parts: a device is slower than a cluster with tables, and faster with computing."""
    found = {kernel: beside_a_cluster(measured, kernel, WHOLE) for kernel in (TABLES, COMPUTE)}
    if not all(here for here, _, _ in found.values()):
        return Verdict("open", why_no_cluster(measured))
    (tables, tables_slower, by), (compute, compute_slower, more) = found.values()
    is_faster = None if None in compute_slower else not any(compute_slower)
    return measured.decided(Verdict(by_parts((half(tables_slower), is_faster)), [*tables, "; ", *compute],
                   f"with tables a cluster of {WHOLE} is faster, and with computing the device, {THEIRS}", (*by, *more)))


def judge_openssl(measured):
    counts = measured.factors("threads")
    if not counts:
        return Verdict("open", ["it was not measured on the processor"])
    ratios = ratios_of(measured, "openssl", threads=counts[0])
    return measured.by_degree({size(size_): ratio for size_, ratio in ratios.items()}, TWICE,
                  ["libcrypto, with the processor's AES instructions, was ",
                   *largest_and_least(ratios, "as fast as `compute` on one thread")],
                  "far more: at least twice as fast at each size; in part: faster at one of them")


def on_threads(measured, counts):
    """(panels, tables) of numbers of threads."""
    if not counts:
        return [], []
    sizes = measured.factors("bytes", "time", threads=counts[0])
    rows = []
    for count in counts:
        for kernel in KERNELS:
            name = f"`{kernel}`, {plural(count, 'thread')}"
            rows.append([name, *[measured.value("time", kernel=kernel, threads=count, bytes=size_)
                                 for size_ in sizes]])
            if kernel != COMPUTE:
                rows.append([f"{name}: per cent less than `compute`",
                             *[derive("percent less", value)
                               for value in ratios_of(measured, kernel, threads=count).values()]])
    panel = Panel(f"Time of {ECB.upper()}", "", "seconds", [
        Series(f"`{kernel}`", [f"{size(size_)}, {count} thr." for count in counts for size_ in sizes],
               [measured.value("time", kernel=kernel, threads=count, bytes=size_)
                for count in counts for size_ in sizes]) for kernel in KERNELS], kind="bars", logy=True)
    return [panel], [Table("Seconds, and per cent less than `compute`", ["", *[size(size_) for size_ in sizes]], rows)]


def on_ranks(measured):
    """Tables of numbers of ranks."""
    counts = measured.factors("ranks", executor="mpi")
    sizes = measured.factors("bytes", executor="mpi")
    rows = []
    for ranks in counts:
        for kernel in (COMPUTE, TABLES):
            of = dict(executor="mpi", ranks=ranks)
            rows.append([f"`{kernel}`, {plural(ranks, 'rank')}",
                         *[measured.value("time", kernel=kernel, bytes=size_, **of) for size_ in sizes]])
        rows.append([f"{plural(ranks, 'rank')}: per cent less than `compute`",
                     *[derive("percent less", ratio) for ratio in ratios_of(measured, TABLES, **of).values()]])
    return [Table("MPI: seconds, and per cent less than `compute`", ["", *map(size, sizes)], rows)] if rows else []


def reduction_panel(measured):
    """Per cent less time by executor, beside the published figures."""
    keys = {"sequential": "one thread", "openmp": "OpenMP", "mpi": "MPI"}
    found = {name: derive("percent less", list(ratios_with(measured, key).values())[-1]) if key in executors(measured) else None
             for key, name in keys.items()}
    for way, values in less_on_device(measured).items():
        if values:
            found[f"CUDA{way}"] = list(values.values())[-1]
    theirs = [Series(label(f"{REDUCTION}/{key}"), [name], [published(f"{REDUCTION}/{key}")], "published")
              for key, name in keys.items()]
    ends = [published(f"{REDUCTION}/cuda/{end}") for end in (0, 1)]
    theirs.append(Series(label(f"{REDUCTION}/cuda"), ["CUDA, least", "CUDA, most"], ends, "published"))
    return Panel("Less time than computing, per cent", "", "per cent",
                 [Series("here", list(found), list(found.values())), *theirs], kind="bars")


def speedup_lines(measured):
    """(label, {bytes: speedup}) by kernel and executor, over one thread or one rank with the same kernel. What threads that
    compute gain, E1 has measured."""
    for kernel in (TABLES, COMPUTE):
        for key, (name, of) in executors(measured).items():
            speedups = speedups_of(measured, kernel, **of) if key != "sequential" else {}
            if key == "openmp" and kernel == COMPUTE and not speedups:
                by_e1 = speedups_of(measured.of("E1"), kernel, executor="openmp", direction="encrypt", **of)
                speedups = {size_: by_e1[size_] for size_ in measured.factors("bytes") if size_ in by_e1}
                name += ", by E1"
            if speedups:
                yield f"`{kernel}`, {name}", speedups
        speedups = speedups_of(measured, CUDA_KERNELS[kernel], executor="cuda")
        if speedups:
            yield f"`{CUDA_KERNELS[kernel]}`, copies included", speedups


def speedups(measured):
    """(panels, tables) of speedups over one thread or one rank."""
    lines = dict(speedup_lines(measured))
    if not lines:
        return [], []
    sizes = sorted({size_ for line in lines.values() for size_ in line})
    cores = measured.machine["cores"]
    title = "Times as fast as one thread or one rank, with the same kernel"
    panel = Panel("Speedup with the same kernel", "bytes", "over one thread or one rank", [
        *[Series(name, [given(size_) for size_ in line], list(line.values())) for name, line in lines.items()],
        Series("as many times as cores", [given(sizes[0]), given(sizes[-1])], [given(cores), given(cores)], "ideal")],
        logx=True, logy=True, x_is="bytes", least=1)
    rows = [[name, *[line.get(size_) for size_ in sizes]] for name, line in lines.items()]
    return [panel], [Table(title, ["", *map(size, sizes)], rows)]


def show(measured):
    counts = measured.factors("threads")
    threads, gains, on_it = on_threads(measured, counts), speedups(measured), on_device(measured)
    return Shown({"ci-aim.tables-faster": judge_faster(measured),
                  "ci-aim.reduction-sequential": judge_reduction(measured, "sequential"),
                  "ci-aim.reduction-openmp": judge_reduction(measured, "openmp", ("sequential", "mpi")),
                  "ci-aim.reduction-mpi": judge_reduction(measured, "mpi"),
                  "ci-aim.reduction-cuda": judge_reduction_cuda(measured),
                  "ci-aim.tables-on-cluster": judge_tables_on_cluster(measured),
                  "ci-aim.architecture": judge_architecture(measured),
                  "pousa.openssl-faster": judge_openssl(measured)},
                 [*threads[0], reduction_panel(measured), *gains[0], *on_it[0]],
                 [*threads[1], *on_ranks(measured), *gains[1], *on_it[1]],
                 ["`compute` is not as slow as such code may be, which E13 looks into, so there is less to save.",
                  "A device and a cluster are compared by how many times as fast as one core each is, copies included. Where "
                  f"no ranks ran on several machines with a core for each, {MORE_THAN_ONE} stand for more than one machine and "
                  f"{WHOLE} for a whole cluster, as if they scaled perfectly: none of so many cores is faster than that. Where the "
                  "device is not faster than these cores, it may be faster or slower than a real cluster, and nothing is said of that "
                  "size. `cuda_tables` has 32 copies of each table in shared memory, one for each bank; E17 has tables that lie once in each memory."])


def beside(measured):
    """The largest data of each executor, with all threads or ranks that have a core each."""
    for key in EXECUTORS:
        here = ()
        if key in executors(measured):
            largest = largest_common(ratios_with(measured, key))
            name, _, less = reduction(measured, key, largest)
            here = (less, f" % with {name}, {size(largest)}")
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
    did=("ci-aim.versions", "ci-aim.key", "ci-aim.programs", "ci-aim.cuda", "ci-aim.machines", "ci-aim.sizes",
         "ci-aim.speedup-defined"),
    judges=("ci-aim.tables-faster", "ci-aim.reduction-sequential", "ci-aim.reduction-openmp", "ci-aim.reduction-mpi",
            "ci-aim.reduction-cuda", "ci-aim.tables-on-cluster", "ci-aim.architecture", "pousa.openssl-faster"),
    here="The kernels `compute` and `tables`, and libcrypto, AES-128-ECB, one thread and all cores; each size "
         "and number of threads is one run in which the kernels take turns. The first two also on one MPI rank and on "
         "as many as cores, here or on a cluster, in memory, where there is an mpirun. Where there is a GPU, its kernels "
         "`cuda_compute` and `cuda_tables`, beside one thread that does the same.",
    on_cluster=True, measure=measure, show=show, beside=beside, seconds={"quick": 15, "full": 160})
