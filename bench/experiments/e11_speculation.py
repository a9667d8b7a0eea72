# SPDX-License-Identifier: Apache-2.0
"""E11: keystream that is computed ahead of the data, by number of clients, number of workers and delay."""
from laboratory import contests, programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import QUARTER, TWICE, is_more, is_near
from laboratory.values import derive, given

MIB = 1 << 20


def runs(lab):
    """(cipher, kernels, clients, workers, delays, bytes) of each run of the benchmark."""
    fast = contests.available_kernels("aes-256-ctr", ("bitslice", "aesni", "vaes512"))
    if lab.quick:
        return [("aes-128-ctr", fast[-1:], (1, 2, 4), (0, 1), lab.delays((0, 20)), 8 * MIB),
                ("aes-256-ctr", ["bitslice"], (1, 2, 4), (0, 1), lab.delays((20,)), 8 * MIB)]
    clients, workers = (1, 2, 4, 8), (0, 1, 2, 4, 8)
    return [("aes-128-ctr", fast, clients, workers, lab.delays((0, 20)), 32 * MIB),
            ("aes-256-ctr", fast, clients, workers, lab.delays((0, 20)), 32 * MIB),
            ("des-ede3-ctr", ["auto"], clients, (0, 1), lab.delays((20,)), 4 * MIB)]


def measure(lab):
    for cipher, kernels, clients, workers, delays, count in runs(lab):
        for kernel in kernels:
            lab.step(f"{cipher}, {kernel}")
            # Without AES instructions counter mode is a tenth as fast, so it gets less data.
            some = count // 8 if kernel == "bitslice" else count
            document = programs.paes_bench(
                "speculate", "--cipher", cipher, "--kernel", kernel, "--clients", ",".join(map(str, clients)),
                "--workers", ",".join(map(str, workers)), "--delay-us", ",".join(map(str, delays)), "--bytes",
                some, "--runs", lab.pick(3, 3))
            for row in document["results"]:
                record(lab, row)
    lab.leave_out("1 GiB in each cycle", "shorter cycles measure the same and leave time for more of them")


def record(lab, row):
    of = {key: row[key] for key in ("cipher", "kernel", "clients", "workers", "delay_us", "oversubscribed")}
    of["bytes"] = row["requests"] * row["request_bytes"]
    rounds = row["rounds"]
    for way in ("direct", "speculative"):
        with_way = {**of, "way": way}
        lab.record(with_way, "rate", "GB/s", row[way]["gb_per_s"], rounds)
        for call in ("schedule", "encrypt"):
            for field in ("p50", "p99"):
                lab.record(with_way, f"{call} {field}", "ns", row[way][call][f"{field}_ns"], rounds)
    lab.record({**of, "way": "speculative"}, "hit rate", "share", row["speculative"]["hit_rate"], rounds)
    lab.record_ratio(of, "throughput ratio", row["throughput_ratio"], rounds)
    lab.record_ratio(of, "p50 ratio", row["p50_ratio"], rounds)


def show(measured):
    cipher = measured.factors("cipher")[0]
    kernel = measured.factors("kernel", cipher=cipher)[-1]
    delay = measured.factors("delay_us", cipher=cipher, kernel=kernel)[-1]
    base = dict(cipher=cipher, kernel=kernel, delay_us=delay)
    clients = measured.factors("clients", **base)
    workers = measured.factors("workers", **base)
    cores = measured.machine["cores"]
    panels = []
    for quantity, label, logy in (("rate", "GB/s of all clients", False),
                                  ("encrypt p50", "ns, half of the calls", True)):
        series = [Series("direct", [given(n) for n in clients],
                         [measured.value(quantity, clients=n, workers=workers[0], way="direct", **base)
                          for n in clients])]
        series += [Series(f"ahead, {m} workers", [given(n) for n in clients],
                          [measured.value(quantity, clients=n, workers=m, way="speculative", **base)
                           for n in clients]) for m in workers]
        panels.append(Panel(f"{cipher}, `{kernel}`, {delay} µs between requests", "clients", label, series, logy=logy))
    tables = []
    for of in combinations(measured):
        rows = []
        for n in measured.factors("clients", **of):
            for m in measured.factors("workers", **of):
                at = dict(clients=n, workers=m, **of)
                rows.append([f"{n} / {m}" + ("" if n + m <= cores else " *"),
                             *[measured.value("rate", way=way, **at) for way in ("direct", "speculative")],
                             *[measured.value(f"encrypt {field}", way=way, **at) for field in ("p50", "p99")
                               for way in ("direct", "speculative")],
                             measured.value("schedule p50", way="speculative", **at),
                             derive("percent", measured.value("hit rate", way="speculative", **at)),
                             measured.value("p50 ratio", **at)])
        tables.append(Table(f"{of['cipher']}, `{of['kernel']}`, {of['delay_us']} µs between requests "
                            "(* more threads than cores)",
                            ["clients / workers", "GB/s direct", "ahead", "p50 ns direct", "ahead", "p99 ns direct",
                             "ahead", "schedule p50 ns", "hits %", "p50 shorter, x"], rows))
    # As many workers as cores, if there were: more compete with the clients.
    at = dict(workers=[m for m in workers if m <= cores][-1], **base)
    return Shown({"waeslib.schedule-constant": judge_schedule(measured, clients, at),
                  "waeslib.encrypt-grows": judge_encrypt(measured, clients, at),
                  "waeslib.peak": judge_peak(measured, clients, at, cores),
                  "waeslib.viable": judge_viable(measured, clients, at)},
                 panels, tables,
                 [f"Requests of 4 KiB. Judged are {cipher} with `{kernel}`, {delay} µs between requests, and "
                  f"{at['workers']} workers, no more than cores. Practically constant: within a quarter from one "
                  "number of clients to another; in part: within a factor of two. What differs by less than other "
                  "programs may disturb, or than the clock takes, is the same. Here a client computes ahead itself "
                  "while it waits, and workers run when the processor is idle: a delay is computing time, as it is "
                  "not for a disk."])


CLOCK_NS = 25  # that reading the clock takes: a smaller difference between two calls says nothing


def takes_longer(time, other, least):
    return is_more(time, other, least) and float(time) > float(other) + CLOCK_NS


def by_clients(measured, quantity, clients, at):
    return {n: measured.value(quantity, clients=n, way="speculative", **at) for n in clients}


def extremes(values):
    return [choose(values.values(), key=float) for choose in (min, max)]


def judge_schedule(measured, clients, at):
    least, most = extremes(by_clients(measured, "schedule p50", clients, at))
    is_constant = is_near(most, least, QUARTER) or float(most) <= float(least) + CLOCK_NS
    return Verdict("holds" if is_constant else "in part" if is_near(most, least, TWICE) else "does not hold",
                   ["half of the calls that schedule took at most ", least, " to ", most,
                    f" ns with {clients[0]} to {clients[-1]} clients"])


def judge_encrypt(measured, clients, at):
    times = by_clients(measured, "encrypt p50", clients, at)
    fewest, largest = times[clients[0]], times[clients[-1]]
    falls = any(takes_longer(times[before], times[after], measured.margin)
                for before, after in zip(clients, clients[1:]))
    if takes_longer(largest, fewest, measured.margin):
        outcome = "in part" if falls else "holds"
    else:
        outcome = "does not hold"
    return Verdict(outcome, ["half of the calls that encrypt took at most ",
                             *(word for n, time in times.items()
                               for word in ("" if n == clients[0] else ", ", time,
                                            f" ns with {n} client{'' if n == 1 else 's'}"))])


def judge_peak(measured, clients, at, cores):
    """A peak stands out by the margin on both sides; between the first and the last number of clients."""
    rates = by_clients(measured, "rate", clients, at)
    top = max(rates, key=lambda n: float(rates[n]))
    level = [n for n in clients if not is_more(rates[top], rates[n], measured.margin)]
    here = ["throughput was highest, ", rates[top],
            f" GB/s, with {top} client{'' if top == 1 else 's'}; cores: {cores}, workers: {at['workers']}"]
    if len(level) > 1:
        here += [f", but with {' and '.join(map(str, (n for n in level if n != top)))} clients it was less by no more "
                 "than other programs may disturb"]
    if top == clients[0] or {clients[0], clients[-1]} <= set(level):  # the first is as good, or all are
        return Verdict("does not hold", here)
    if len(level) > 1:
        return Verdict("open", here)
    return Verdict("holds" if top < clients[-1] else "does not hold", here)


def judge_viable(measured, clients, at):
    """Whether keystream ahead shortens the calls and costs no throughput."""
    ratios = {n: (measured.value("p50 ratio", clients=n, **at),
                  derive("quotient", *(measured.value("rate", clients=n, way=way, **at)
                                       for way in ("speculative", "direct"))))
              for n in clients}
    shorter = [n for n, (calls, _) in ratios.items() if is_more(calls, 1, measured.margin)]
    costs = [n for n, (_, rate) in ratios.items() if is_more(1, rate, measured.margin)]
    if len(shorter) == len(ratios) and not costs:
        outcome = "holds"
    else:
        outcome = "in part" if set(shorter) - set(costs) else "does not hold"
    calls, rates = ([pair[which] for pair in ratios.values()] for which in (0, 1))
    (shortest, longest), (least, most) = ((min(pair, key=float), max(pair, key=float)) for pair in (calls, rates))
    return Verdict(outcome, ["with keystream ahead calls were shorter by a factor of ", shortest, " to ", longest,
                             " (half of the calls), and throughput was ", least, " to ", most,
                             " times that without"])


def combinations(measured):
    for cipher in measured.factors("cipher"):
        for kernel in measured.factors("kernel", cipher=cipher):
            for delay in measured.factors("delay_us", cipher=cipher, kernel=kernel):
                yield dict(cipher=cipher, kernel=kernel, delay_us=delay)


EXPERIMENT = Experiment(
    name="E11", title="Keystream before the data",
    did=("waeslib.speculation", "waeslib.keys", "waeslib.requests", "waeslib.calls", "waeslib.machine"),
    judges=("waeslib.schedule-constant", "waeslib.encrypt-grows", "waeslib.peak", "waeslib.viable"),
    here="The keystream engine against the same requests computed directly, in turns; contexts are windows of 16 "
         "chunks of 4 KiB.",
    measure=measure, show=show, seconds={"quick": 16, "full": 130})
