# SPDX-License-Identifier: Apache-2.0
"""E18: another symmetric cipher, ChaCha20, and an asymmetric algorithm, X25519, by executor. libcrypto computes both,
and AES beside them."""
from laboratory import mpi, programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.values import derive, given

NAMES = {"aes-256-ctr": "AES-256-CTR", "chacha20": "ChaCha20", "x25519": "X25519"}
CIPHERS = ("aes-256-ctr", "chacha20")
AGREEMENT = "x25519"


def measure(lab):
    counts = lab.threads()
    work = ("--size", lab.pick(4, 64) << 20, "--agreements", lab.pick(256, 4096))
    lab.step(f"{', '.join(NAMES.values())}, {counts[-1]} threads")
    document = programs.paes_bench("libcrypto", "--algorithm", ",".join(NAMES), *work, "--threads",
                                   ",".join(map(str, counts)), "--runs", lab.pick(5, 15))
    for row in document["results"]:
        of = {key: row[key] for key in ("algorithm", "threads", "oversubscribed", "bytes", "items")}
        of["executor"] = "sequential" if row["schedule"] == "serial" else "openmp"
        lab.record(of, "time", "s", row["seconds_median"], row["rounds"], row["seconds_min"], row["seconds_max"])
        lab.record_ratio(of, "speedup", row["ratio_to_first"], row["rounds"])
    if counts == [1]:
        lab.leave_out("OpenMP", "there is one core" if lab.cores == 1 else "only one thread was chosen")
    with lab.part("MPI"):
        # 1 is the first, because speedups are over one rank.
        measure_ranks(lab, list(dict.fromkeys([1, *lab.ranks()])), work, lab.pick(2, 5))
    lab.leave_out("CUDA", "neither libcrypto nor paes has code of ChaCha20 or X25519 for a device")


def measure_ranks(lab, counts, work, rounds):
    """Numbers of ranks take turns. Each algorithm's speedup over the first number is formed in each round."""
    mpi.program()
    rows = {}
    for turn in lab.as_time_allows(range(rounds), lambda turn: f"round {turn + 1} of {', '.join(map(str, counts))} ranks"):
        for ranks in counts:
            lab.step(f"{ranks} ranks, round {turn + 1} of {rounds}")
            for row in mpi.bench(ranks, "libcrypto", "--algorithm", ",".join(NAMES), *work, "--threads", 1, "--runs", 3):
                rows.setdefault((row["algorithm"], ranks), []).append(row)
    for (algorithm, ranks), by_round in rows.items():
        of = {"algorithm": algorithm, "executor": "mpi", "ranks": ranks, "bytes": by_round[0]["bytes"],
              "items": by_round[0]["items"], "oversubscribed": ranks > lab.cores}
        seconds = [row["seconds"]["median"] for row in by_round]
        lab.record_rounds(of, "time", "s", seconds)
        lab.record_rounds(of, "speedup", "ratio", [row["seconds"]["median"] / mine for row, mine
                                                   in zip(rows[algorithm, counts[0]], seconds)])


def lines(measured):
    """(name, factors) of each row of a table."""
    yield "sequential", dict(executor="sequential")
    for executor, factor, name in (("openmp", "threads", "OpenMP, {} thread"), ("mpi", "ranks", "MPI, {} rank")):
        for count in measured.factors(factor, "time", executor=executor):
            beyond = "" if count <= measured.machine["cores"] else " (oversubscribed)"
            yield f"{name.format(count)}{'' if count == 1 else 's'}{beyond}", {"executor": executor, factor: count}


def rate(measured, algorithm, of):
    """GB/s of a cipher, agreements a second of X25519."""
    time = measured.value("time", algorithm=algorithm, **of)
    if time is None:
        return None
    how, factor = ("per second", "items") if algorithm == AGREEMENT else ("GB/s", "bytes")
    return derive(how, time, given(measured.factors(factor, algorithm=algorithm, **of)[0]))


def parallel(measured):
    """(words, factors) of the most threads and of the most ranks that have a core each."""
    for executor, factor in (("openmp", "threads"), ("mpi", "ranks")):
        counts = [count for count in measured.factors(factor, "time", executor=executor)
                  if 1 < count <= measured.machine["cores"]]
        if counts:
            yield f"{counts[-1]} {factor}", {"executor": executor, factor: counts[-1]}


def bytes_meanwhile(measured, cipher):
    """How many bytes a cipher encrypts in the time of one agreement, on one core."""
    one = dict(executor="sequential")
    return derive("bytes meanwhile", measured.value("time", algorithm=AGREEMENT, **one),
                  given(measured.factors("items", algorithm=AGREEMENT, **one)[0]),
                  measured.value("time", algorithm=cipher, **one),
                  given(measured.factors("bytes", algorithm=cipher, **one)[0]))


def speedup(measured, algorithm, of):
    """A speedup with the least and the most of its rounds, if the result has kept them."""
    median, least, most = (measured.value("speedup", field, algorithm=algorithm, **of) for field in ("median", "min", "max"))
    return [median, " times as fast (", least, " to ", most, " in single rounds)"] if least else [median, " times as fast"]


def judge_others(measured):
    one = dict(executor="sequential")
    seconds = [measured.value("time", algorithm=cipher, **one) for cipher in CIPHERS]
    here = ["on one core libcrypto's ChaCha20 ran at ", rate(measured, "chacha20", one), " GB/s, ",
            derive("quotient", *seconds), " times as fast as its AES-256-CTR, and X25519 made ",
            rate(measured, AGREEMENT, one), " agreements a second"]
    for words, of in parallel(measured):
        here += [f"; with {words} ChaCha20 was ", *speedup(measured, "chacha20", of), ", X25519 ",
                 *speedup(measured, AGREEMENT, of)]
    return Verdict("answered", [*here, "; neither has code for a device"])


def judge_cost(measured):
    """Two parts: it computes more, and parallel programs of it are faster."""
    runs = list(parallel(measured))
    counts = {cipher: bytes_meanwhile(measured, cipher) for cipher in CIPHERS}
    bytes_, items = (measured.factors(key, algorithm=AGREEMENT)[0] for key in ("bytes", "items"))
    here = ["in the time of one agreement with X25519 AES-256-CTR encrypts ", counts["aes-256-ctr"], " bytes and ChaCha20 ",
            counts["chacha20"], ", on one core, where a shared key needs no agreement"]
    if not runs:
        return Verdict("open", [*here, f"; {measured.none_above_one('threads', 'ranks')}"])
    parts = [(f"the cost beside {NAMES[cipher]}", measured.is_more(counts[cipher], bytes_ // items)) for cipher in CIPHERS]
    by = list(counts.values())
    for words, of in runs:
        mine, *others = (measured.value("speedup", algorithm=name, **of) for name in (AGREEMENT, *CIPHERS))
        parts.append((f"the gain with {words}", measured.is_more(mine, 1)))
        by.append(mine)
        here += [f"; with {words} X25519 was ", mine, " times as fast, AES-256-CTR ", others[0], ", ChaCha20 ", others[1]]
    return measured.judged(parts, [*here, "; the public key that each side sends for it has ", given(bytes_ // items),
                          " bytes, which no shared key needs"],
                  "an agreement takes longer than to encrypt as many bytes as it agrees upon, and threads and ranks make a batch of "
                  "them faster", [f"{words} not measured" for executor, words in (
                      ("openmp", "threads with a core each were"), ("mpi", "ranks with a core each were"))
                                  if executor not in [of["executor"] for _, of in runs]]
                  + ["what such a cipher adds to a text was not measured"], by)


def panel(measured):
    series = []
    for algorithm, name in NAMES.items():
        for executor, factor, by in (("openmp", "threads", "OpenMP"), ("mpi", "ranks", "MPI")):
            # One thread is the sequential run, and stands where the line of the threads begins.
            begins = [(1, dict(executor="sequential"))] if executor == "openmp" else []
            points = [*begins, *((count, {"executor": executor, factor: count})
                                 for count in measured.factors(factor, "speedup", executor=executor))]
            if len(points) > len(begins):
                series.append(Series(f"{name}, {by}", [given(count) for count, _ in points],
                                     [measured.value("speedup", algorithm=algorithm, **of) for _, of in points]))
    cores = measured.machine["cores"]
    series.append(Series("ideal", [given(1), given(cores)], [given(1), given(cores)], "ideal"))
    return Panel("Speedup over one thread, or one rank", "threads or ranks", "times as fast", series, least=1)


def show(measured):
    ways = list(lines(measured))
    rates = [[name, *[rate(measured, algorithm, of) for algorithm in NAMES]] for name, of in ways]
    speedups = [[name, *[measured.value("speedup", algorithm=algorithm, **of) for algorithm in NAMES]]
                for name, of in ways]
    heads = list(NAMES.values())
    return Shown({"pousa.outlook-others": judge_others(measured), "pousa.asymmetric-cost": judge_cost(measured)},
                 [panel(measured)],
                 [Table("GB/s of a cipher, and agreements a second of X25519",
                        ["", *[f"{name}, GB/s" for name in heads[:2]], f"{heads[2]}, 1/s"], rates),
                  Table("Speedup (of MPI: over one rank)", ["", *heads], speedups)],
                 ["A speedup was formed in each round and is their median. Where rounds lie far apart, as with ranks, it is "
                  "another number than the quotient of two rates, which are of the median times.",
                  "The time of X25519 is the agreement alone: libcrypto's objects of the keys were made before. Threads share one message, in pieces of 256 KiB; "
                  "ranks have messages of their own. Each output is compared with one that was computed in one "
                  "piece, and each secret with the other side's."])


EXPERIMENT = Experiment(
    name="E18", title="Other ciphers: ChaCha20 and X25519",
    judges=("pousa.outlook-others", "pousa.asymmetric-cost"),
    here="libcrypto's ChaCha20 on one message, its AES-256-CTR beside it, and a batch of key agreements with X25519: "
         "sequential, OpenMP's threads and MPI's ranks. No device: there is no code for one.",
    measure=measure, show=show, seconds={"quick": 5, "full": 25})
