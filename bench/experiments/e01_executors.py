# SPDX-License-Identifier: Apache-2.0
"""E1: AES-128 with every step computed, on data of 1 KiB to 255 MiB: one thread, OpenMP, MPI and CUDA."""
from laboratory import contests, device, mpi
from laboratory.experiment import (
    Counterpart, Experiment, Panel, Series, Shown, Table, Verdict, largest_and_least, separated, without_passing)
from laboratory.judgement import OUTCOMES, QUARTER, TWICE, agreed, all_of, by_parts
from laboratory.published import label, look_up, sizes as published_sizes, value as published, values as published_values
from laboratory.values import derive, given, size

KB, MB = 1 << 10, 1 << 20
SIZES = [KB, 512 * KB, MB, 15 * MB, 128 * MB, 255 * MB]  # the study's
ECB = "aes-128-ecb"


def measure(lab):
    counts = tuple(lab.threads())
    sizes = lab.sizes(SIZES[:4] if lab.quick else SIZES)
    rounds = lab.pick(3, 3)
    contests.threads(lab, sizes=sizes, counts=counts, rounds=rounds, first="speedup")
    leave_out_above(lab, "encryption", sizes, "for the time; --full has it")
    sizes = lab.sizes(lab.pick(SIZES[:3], SIZES[:4]))
    with lab.part("decryption"):
        contests.threads(lab, sizes=sizes, counts=counts, rounds=rounds, directions=("decrypt",), first="speedup")
    leave_out_above(lab, "decryption", sizes, "for the time")
    if counts == (1,):
        lab.leave_out("OpenMP", "there is one core" if lab.cores == 1 else "only one thread was chosen")
    measure_ranks(lab, rounds)
    device.measure_too(lab, "E1")


def leave_out_above(lab, what, sizes, why):
    """Says that larger data is left out, if there is larger data in SIZES. A user who chose sizes knows."""
    if "sizes" not in lab.chosen and sizes[-1] < SIZES[-1]:
        lab.leave_out(f"{what} above {size(sizes[-1])}", why)


def measure_ranks(lab, rounds):
    """Numbers of ranks take turns, first on data in memory, then on data that rank 0 scatters and gathers."""
    few = lab.powers_of_two()
    # 1 is the first, because speedups are over one rank.
    counts = list(dict.fromkeys([1, *lab.ranks([*few, 4] if few[-1] < 4 and not lab.quick else few)]))
    with lab.part("MPI"):
        mpi.program()
        for kind, quantity, usual in (("memory", "time", lab.pick(SIZES[:4], SIZES[:5])),
                                      ("scatter", "time with scatter and gather", lab.pick(SIZES[1:3], SIZES[1:4]))):
            for runs, sizes in runs_of_a_turn(lab.sizes(usual)):
                rows = mpi.in_turns(lab, counts, kind, sizes, "--cipher", ECB, "--kernel", "compute", "--threads", 1,
                                    "--runs", runs, rounds=lab.pick(2, rounds))
                for place, _ in enumerate(sizes):
                    record_ranks(lab, quantity, {ranks: rows[ranks][place] for ranks in counts})
            leave_out_above(lab, quantity.replace("time", "MPI") if kind == "scatter" else "MPI in memory", usual,
                            "for the time: each run is checked by encrypting and decrypting once more")


def runs_of_a_turn(sizes):
    """(runs of ranks, sizes): a turn on short data is the median of several runs, because each is over at once."""
    groups = ((9, [size_ for size_ in sizes if size_ <= MB]), (1, [size_ for size_ in sizes if size_ > MB]))
    return [(runs, group) for runs, group in groups if group]


def record_ranks(lab, quantity, rows):
    """Records the times of each number of ranks, and for each round the speedup over the first number."""
    seconds = {ranks: [seconds_of(row) for row in by_round] for ranks, by_round in rows.items()}
    first = next(iter(seconds.values()))
    for ranks, by_round in rows.items():
        of = {"cipher": ECB, "direction": "encrypt", "kernel": "compute", "executor": "mpi", "ranks": ranks,
              "bytes": by_round[0]["bytes"], "oversubscribed": ranks > lab.cores}
        lab.record_rounds(of, quantity, "s", seconds[ranks])
        lab.record_rounds(of, quantity.replace("time", "speedup"), "ratio",
                          [one / many for one, many in zip(first, seconds[ranks])])


def seconds_of(row):
    phases = ("scatter_seconds", "compute_seconds", "gather_seconds")
    return row["seconds"]["median"] if "seconds" in row else sum(row[phase]["median"] for phase in phases)


def lines(measured, direction):
    """(label, factors) of each line of a figure."""
    yield "sequential", dict(executor="sequential", direction=direction)
    for executor, factor, name in (("openmp", "threads", "OpenMP, {} thread"), ("mpi", "ranks", "MPI, {} rank")):
        for count in measured.factors(factor, executor=executor, direction=direction):
            beyond = "" if count <= measured.machine["cores"] else " (oversubscribed)"
            yield f"{name.format(count)}{'' if count == 1 else 's'}{beyond}", {
                "executor": executor, factor: count, "direction": direction}
    if measured.find(executor="cuda", direction=direction):
        yield "CUDA", dict(executor="cuda", direction=direction)


def drawn(measured, direction):
    """(label, factors) of one line for each executor: the most threads or ranks that have a core each."""
    found = {}
    for name, of in lines(measured, direction):
        if of["executor"] not in found or of.get("threads", of.get("ranks", 1)) <= measured.machine["cores"]:
            found[of["executor"]] = name, of
    return found.values()


def panel(measured, direction):
    series = []
    for name, of in drawn(measured, direction):
        sizes = measured.factors("bytes", "time", **of)
        series.append(Series(name, [given(size_) for size_ in sizes],
                             [measured.value("time", bytes=size_, **of) for size_ in sizes]))
    if direction == "encrypt":
        for key in ("sequential", "openmp_8", "mpi_32", "cuda"):
            path = f"pousa/time_s/{key}"
            series.append(Series(label(path), [given(size_) for size_ in SIZES], published_values(path), "published"))
    return Panel(f"AES-128-ECB, {direction}", "bytes", "seconds", series, logx=True, logy=True,
                 x_is="bytes")


def table(measured, direction):
    sizes = measured.factors("bytes", "time", direction=direction)
    rows = [[name, *[measured.value("time", bytes=size_, **of) for size_ in sizes]]
            for name, of in lines(measured, direction)]
    return Table(f"Seconds to {direction}, here", ["", *[size(size_) for size_ in sizes]], rows)


def study_table():
    return Table("seconds to encrypt", ["", *published_sizes("pousa")],
                 [[label(f"pousa/time_s/{key}"), *published_values(f"pousa/time_s/{key}")] for key in EXECUTORS],
                 "pousa.times")


def gathered(measured):
    quantity = "time with scatter and gather"
    rows = [[size(bytes_), *[measured.value(quantity, bytes=bytes_, ranks=ranks)
                             for ranks in measured.factors("ranks", quantity)]]
            for bytes_ in measured.factors("bytes", quantity)]
    heads = [f"{ranks} rank{'' if ranks == 1 else 's'}{'' if ranks <= measured.machine['cores'] else ' (oversubscribed)'}"
             for ranks in measured.factors("ranks", quantity)]
    return [Table("Seconds with rank 0's data scattered and gathered", ["", *heads], rows)] if rows else []


def counts_within_cores(measured, factor, executor):
    """The numbers of threads or ranks that the cores are enough for."""
    return [count for count in measured.factors(factor, "time", executor=executor, direction="encrypt")
            if count <= measured.machine["cores"]]


def parallel(measured):
    """(name, factors, over what) of each executor with a speedup: all threads, all ranks, the device."""
    for factor, executor, name in (("threads", "openmp", "OpenMP with {} threads"),
                                   ("ranks", "mpi", "MPI with {} ranks")):
        counts = [count for count in counts_within_cores(measured, factor, executor) if count > 1]
        if counts:
            yield (name.format(counts[-1]), {"executor": executor, factor: counts[-1], "direction": "encrypt"},
                   f"one {factor[:-1]}")
    if measured.find("speedup", executor="cuda", direction="encrypt"):
        yield "CUDA", dict(executor="cuda", direction="encrypt"), "one thread"


NOT_MEASURED = {"openmp": "OpenMP was not measured with a core for each of several threads",
                "mpi": "MPI was not measured with a core for each of several ranks", "cuda": "CUDA was not measured"}


def judge_all_faster(measured):
    parts, here, by = [], [], []
    missing = dict(NOT_MEASURED)
    for name, of, one in parallel(measured):
        del missing[of["executor"]]
        speedups = {size_: measured.value("speedup", bytes=size_, **of)
                    for size_ in measured.factors("bytes", "speedup", **of)}
        parts += [(f"{name} at {size(size_)}", measured.is_more(speedup, 1)) for size_, speedup in speedups.items()]
        by += speedups.values()
        least, most = (choose(speedups.values(), key=float) for choose in (min, max))
        here.append([f"{name} was ", least, " to ", most, f" times as fast as {one}, by size"])
    if not parts:
        return Verdict("open", [measured.none_above_one("threads", "ranks")])
    return measured.judged(parts, separated(here), "each executor is faster at each size; whether it is considerably faster is not judged "
                  "here: E3 has a limit for the gain", missing.values(), by)


def judge_decryption(measured):
    ratios, missing = [], dict(WHY_NOT)
    for name, of in (("one thread", dict(executor="sequential")), *((name, of) for name, of, _ in parallel(measured))):
        of = {**of, "direction": "decrypt"}
        sizes = measured.factors("bytes", "time", **of)
        times = [measured.value("time", **{**of, "bytes": sizes[-1], "direction": direction}) if sizes else None
                 for direction in ("decrypt", "encrypt")]
        if all(times):
            ratios.append((name, sizes[-1], derive("quotient", *times)))
            missing.pop(of["executor"], None)
    if not ratios:
        return Verdict("open", ["decryption was not measured"])
    return measured.judged([(name, measured.is_near(ratio, 1, QUARTER)) for name, _, ratio in ratios],
                  [f"decryption with `compute`{', and on the device `cuda_compute`,' if ratios[-1][0] == 'CUDA' else ''} took ",
                   *separated([[ratio, f" times as long as encryption ({name}, {size(size_)})"]
                               for name, size_, ratio in ratios], ", ")],
                  "the times of both directions are within a quarter of each other, at the largest size of decryption",
                  [f"decryption with {' and '.join(missing.values())} was not measured"] if missing else [])


def judge_openmp_like_mpi(measured):
    counts = [count for count in counts_within_cores(measured, "threads", "openmp")
              if count > 1 and count in counts_within_cores(measured, "ranks", "mpi")]
    if not counts:
        return Verdict("open", ["no number above one was run both of threads and of ranks with a core for each"])
    count = counts[-1]
    ratios = {}
    for size_ in measured.factors("bytes", "time", executor="mpi", ranks=count):
        times = [measured.value("time", bytes=size_, direction="encrypt", **of)
                 for of in (dict(executor="mpi", ranks=count), dict(executor="openmp", threads=count))]
        if all(times):
            ratios[size_] = derive("quotient", *times)
    if not ratios:
        return Verdict("open", ["threads and ranks were not measured on data of one size"])
    parts = [(size(size_), measured.is_near(ratio, 1, QUARTER)) for size_, ratio in ratios.items() if size_ != KB]
    here = [f"with {count} of each, ranks took ",
            *separated([[ratio, f" times as long as threads at {size(size_)}"] for size_, ratio in ratios.items()], ", ")]
    rule = (f"above {size(KB)}, the times of threads and ranks are within a quarter of each other; at {size(KB)}, ranks are faster by "
            "more than a quarter, a wide margin because threads and ranks did not take turns")
    if not parts:
        return Verdict("open", [*here, "; larger data was not measured"])
    if KB not in ratios:
        return measured.judged(parts, here, rule, [f"{size(KB)} was not measured"])
    threads_to_ranks = derive("quotient", *(measured.value("time", bytes=KB, direction="encrypt", **of)
                                            for of in (dict(executor="openmp", threads=count), dict(executor="mpi", ranks=count))))
    is_less = measured.is_at_least(threads_to_ranks, QUARTER)
    return measured.judged([*parts, (f"ranks at {size(KB)}", is_less)], here, rule)


def judge_mpi_linear(measured):
    """What one machine says, unless E15 says something else of the same machine."""
    return agreeing(alone_linear(measured), "E15", e15_linear(measured.of("E15")))


def e15_linear(measured):
    """What E15 says of ranks on one machine, or None."""
    sizes, of = measured.factors("bytes", "speedup"), dict(executor="mpi")
    counts = [row["of"]["ranks"] for _, row in measured.find("speedup", **of, bytes=sizes[0])
              if row["of"]["ranks"] > 1 and row["of"]["machines"] == 1 and not row["of"]["oversubscribed"]] if sizes else []
    return linear(measured, max(counts), sizes, [], "") if counts else None


def agreeing(verdict, name, other):
    """A verdict, which is open if another experiment's of the same claim and the same machine is not the same."""
    if other is None or "open" in (verdict.outcome, other.outcome) or verdict.outcome == other.outcome:
        return verdict
    return Verdict("open", [*verdict.here, f"; by this alone it {OUTCOMES[verdict.outcome]}, but by {name}'s ranks on this "
                            f"machine it {OUTCOMES[other.outcome]}, and what two runs of one machine say differently is not said"],
                   verdict.rule)


def alone_linear(measured):
    counts = [count for count in counts_within_cores(measured, "ranks", "mpi") if count > 1]
    if not counts:
        return Verdict("open", [measured.none_above_one("ranks")])
    count = counts[-1]
    of = dict(executor="mpi", direction="encrypt")
    sizes = measured.factors("bytes", "speedup", ranks=count, **of)
    here = []
    gathered_sizes = measured.factors("bytes", "time with scatter and gather", ranks=count, **of)
    if gathered_sizes:
        here = ["; handing out and collecting the data included, ", gathered_speedup(measured, gathered_sizes[-1], count),
                f" times as fast as one rank at {size(gathered_sizes[-1])}"]
    return linear(measured, count, sizes, [*here, doublings(counts)], "one rank's speed")


def doublings(counts):
    """What is to be said of numbers of ranks that had a core for each, if one of them alone is twice the one before."""
    found = sum(1 for before, after in zip([1, *counts], counts) if after == 2 * before)
    return "; there were cores to double the ranks only once" if found == 1 else ""


def gathered_speedup(measured, size_, ranks):
    """Over one rank, formed within the rounds; older results have only the times."""
    of = dict(executor="mpi", direction="encrypt", bytes=size_)
    return measured.value("speedup with scatter and gather", ranks=ranks, **of) or derive(
        "quotient", *(measured.value("time with scatter and gather", ranks=count, **of) for count in (1, ranks)))


def linear(measured, count, sizes, more, over):
    """Whether so many ranks scale at each size and their time grows with the data. `more`: words that follow."""
    of = dict(executor="mpi", ranks=count)
    shares = {size_: derive("percent of", measured.value("speedup", bytes=size_, **of), given(count)) for size_ in sizes}
    worst = min(sizes, key=lambda size_: float(shares[size_]))
    here = [f"{count} ranks reached ", shares[sizes[-1]], f" % of {count} times {over} at {size(sizes[-1])}, and least at "
            f"{size(worst)}, ", shares[worst], " %, each with its data in memory"]
    if len(sizes) < 2:
        return Verdict("open", [*here, *more, "; one size does not show how the time grows"])
    times = [measured.value("time", bytes=size_, **of) for size_ in (sizes[0], sizes[-1])]
    growth = derive("time for a byte", times[1], times[0], given(sizes[-1]), given(sizes[0]))
    here += ["; a byte of the largest took ", growth, " times as long as one of the smallest", *more]
    scaling = {size_: measured.is_at_least(share, LINEAR) for size_, share in shares.items()}
    parts = [*((size(size_), is_linear) for size_, is_linear in scaling.items()),
             ("the time for a byte", measured.is_near(growth, 1, QUARTER))]
    if measured.is_at_least(shares[sizes[-1]], IN_PART) is False:
        parts = [(name, False) for name, _ in parts]
    return measured.judged(parts, here, WHAT_IS_LINEAR, by=[*shares.values(), growth])


# A device is compared with as many cores as the largest cluster had that one was compared with. No such cluster is faster
# than its cores if they scale perfectly.
CLUSTER = look_up("studies/pousa/cores/mpi/2")
PERFECT = f"{CLUSTER} cores would be if they scaled perfectly"


def over_the_cluster(measured):
    """{bytes: how many times as fast CUDA is as CLUSTER cores that scale perfectly}, from its speedup over one core."""
    of = dict(executor="cuda", direction="encrypt")
    return {size_: derive("quotient", measured.value("speedup", bytes=size_, **of), given(CLUSTER))
            for size_ in measured.factors("bytes", "speedup", **of)}


def no_device():
    return Verdict("open", ["no CUDA device was measured"])


def judge_cuda_below(measured):
    found = over_the_cluster(measured)
    if not found:
        return no_device()
    ratios = {size_: ratio for size_, ratio in found.items() if size_ != KB}
    smallest = ["at 1 KiB, which is not judged, ", found[KB], " times"] if KB in found else []
    if not ratios:
        return Verdict("open", ["CUDA, copies included, was, ", *smallest, f" as fast as {PERFECT}; larger data was not measured"])
    return measured.by_degree({size(size_): ratio for size_, ratio in ratios.items()}, TWICE,
                  ["CUDA, copies included, was ", *largest_and_least(ratios, f"as fast as {PERFECT}"),
                   *([", and ", *smallest] if smallest else [])],
                  f"by far: above {size(KB)}, CUDA is at least twice as fast as {PERFECT}, at each size at which one core was measured "
                  "beside it; in part: faster at one of them")


def by_each_experiment(measured, size_):
    """{experiment: how many times as fast as one core CUDA was}: E1's, and E4's if it measured the same again."""
    found = {"E1": measured.value("speedup", bytes=size_, executor="cuda", direction="encrypt"),
             "E4": measured.of("E4").value("speedup", bytes=size_, kernel="cuda_compute", executor="cuda")}
    return {name: speedup for name, speedup in found.items() if speedup}


def judge_cores_to_equal(measured):
    of = dict(executor="cuda", direction="encrypt")
    sizes = measured.factors("bytes", "speedup", **of)
    if not sizes:
        return no_device()
    largest = sizes[-1]
    found = by_each_experiment(measured, largest)
    again = found.get("E4")
    total, one = measured.of("E2").value("total", bytes=largest), measured.value(
        "time", bytes=largest, executor="sequential", direction="encrypt")
    here = ["CUDA, copies included, was ", found["E1"], " times as fast as one core",
            *([" by E1, and ", again, " times by E4, which measures the same again"] if again else []), f", at {size(largest)}, " + ("" if largest == SIZES[-1] else
                                         f"the largest that one core encrypted beside it, and not at {size(SIZES[-1])}, ")
            + "so that it equals as many cores that scale perfectly",
            *(["; E2's time with copies, which took no turns with one core and judges nothing, is ", derive("quotient", one, total),
               " times as short as E1's of one core"] if total and one else [])]
    if largest < SIZES[3]:
        return Verdict("open", [*here, "; larger data, where copies weigh less, were not compared with one core"])
    equal = published("pousa/in_words/mpi_cores_to_equal_cuda")
    parts = {f"{name}'s figure": (measured.is_at_least(speedup, float(equal)), measured.is_near(speedup, equal, TWICE))
             for name, speedup in found.items()}
    within = {name: all_of(both) for name, both in parts.items()}
    outcome = agreed(by_parts([is_within]) for is_within in within.values())
    return measured.decided(Verdict(
        outcome, [*here, *without_passing(within.items(), outcome)],
        "somewhat more: at least that number of cores, and at the most twice as many, by each measurement that is not too near to these "
        "limits and in which device and core took turns",
        tuple(speedup for is_within, speedup in zip(within.values(), found.values()) if outcome == "open" or is_within is not None)))


LINEAR, IN_PART = 90, 60  # per cent of perfect scaling
WHAT_IS_LINEAR = ("at least nine tenths of perfect scaling at each size, and a byte of the largest data takes as long as one of "
                  "the smallest, within a quarter; it does not hold below six tenths at the largest size")


def show(measured):
    panels = [panel(measured, direction) for direction in measured.factors("direction")]
    tables = [table(measured, direction) for direction in measured.factors("direction")]
    decryption = judge_decryption(measured)
    return Shown({"pousa.all-faster": judge_all_faster(measured),
                  "pousa.openmp-like-mpi": judge_openmp_like_mpi(measured),
                  "pousa.mpi-linear": judge_mpi_linear(measured), "pousa.cuda-below": judge_cuda_below(measured),
                  "pousa.cores-to-equal-cuda": judge_cores_to_equal(measured),
                  "pousa.decryption": decryption, "ci-aim.decryption": decryption},
                 panels, [*tables, *gathered(measured), study_table()],
                 ["Sizes are binary: 1 KB is 1 KiB. Threads and ranks are two programs, which do not take turns. The speedup "
                  "of ranks is over one rank."])


def like(measured, key):
    """(factors, words) of what stands beside a row of published figures, such as "mpi_32": as many threads or ranks. If
    there are no more than the cores here, these stand beside the smallest of the published numbers, and nothing beside
    the larger ones (None)."""
    executor, _, wanted = key.partition("_")
    of = dict(executor=executor, direction="encrypt")
    factor = {"openmp": "threads", "mpi": "ranks"}.get(executor)
    if factor is None:
        return of, ""
    counts = measured.factors(factor, "time", **of)
    cores = measured.machine["cores"]
    is_smallest = key == next(one for one in EXECUTORS if one.startswith(executor))
    within = [count for count in counts if count <= min(cores, int(wanted))] if is_smallest else []
    if int(wanted) not in counts and not within:
        return None, f"no run had {wanted} {factor}" if counts else ""
    count = int(wanted) if int(wanted) in counts else within[-1]
    beyond = "" if count <= cores else ", more than cores"
    return {**of, factor: count}, f" with {count} {factor[:-1]}{'' if count == 1 else 's'}{beyond}"


WHY_NOT = {"openmp": "OpenMP", "mpi": "MPI", "cuda": "CUDA"}  # what is left out where an executor is


def by_size(measured, claim, table, key, quantity, unit=""):
    """Counterparts of a row of published figures, one for each size."""
    of, words = like(measured, key)
    why = measured.why_not(WHY_NOT.get(key.partition("_")[0], "")) or ("" if of else words)
    for index, size_ in enumerate(SIZES):
        value = measured.value(quantity, bytes=size_, **of) if of else None
        yield Counterpart(claim, f"{table}/{key}", index, (value, unit, words) if value else (), why)


EXECUTORS = ("sequential", "openmp_8", "mpi_8", "mpi_16", "mpi_32", "cuda")  # rows of published figures


def beside(measured):
    for key in EXECUTORS:
        yield from by_size(measured, "pousa.times", "time_s", key, "time", " s")
    of = dict(executor="cuda", direction="encrypt")
    sizes = measured.factors("bytes", "speedup", **of)
    equal = measured.value("speedup", bytes=sizes[-1], **of) if sizes else None
    yield Counterpart("pousa.cores-to-equal-cuda", "in_words/mpi_cores_to_equal_cuda", None,
                      (equal, f" cores that scale perfectly ({size(sizes[-1])})") if equal else (),
                      measured.why_not("CUDA"))


EXPERIMENT = Experiment(
    name="E1", title="AES-128 by executor",
    did=("pousa.aim", "pousa.programs", "pousa.sbox-table", "pousa.shares", "pousa.mpi", "pousa.cuda", "pousa.machines",
         "pousa.threads-a-block", "pousa.times"),
    judges=("pousa.all-faster", "pousa.openmp-like-mpi", "pousa.mpi-linear", "pousa.cuda-below",
            "pousa.cores-to-equal-cuda",
            "pousa.decryption", "ci-aim.decryption"),
    here="The kernel `compute` (each step of FIPS 197, S-box from a table) in ECB: one thread, OpenMP with a "
         "static schedule and equal shares, MPI ranks where paes-mpi is built, all on one machine. Where there "
         "is a GPU, its kernel `cuda_compute`, from pinned memory to pinned memory.",
    measure=measure, show=show, beside=beside, seconds={"quick": 26, "full": 240})
