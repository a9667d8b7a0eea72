# SPDX-License-Identifier: Apache-2.0
"""E11: keystream that is computed ahead of the data, by number of clients, number of workers and delay."""
from laboratory import contests, programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table
from laboratory.published import look_up
from laboratory.values import derive, given

MIB = 1 << 20


def runs(lab):
    """(cipher, kernels, clients, workers, delays, bytes) of each run of the benchmark."""
    fast = contests.available_kernels("aes-256-ctr", ("bitslice", "aesni", "vaes512"))
    if lab.quick:
        return [("aes-128-ctr", fast[-1:], (1, 2, 4), (0, 1), (0, 20), 8 * MIB),
                ("aes-256-ctr", ["bitslice"], (1, 2, 4), (0, 1), (20,), 8 * MIB)]
    clients, workers = (1, 2, 4, 8), (0, 1, 2, 4, 8)
    return [("aes-128-ctr", fast, clients, workers, (0, 20), 32 * MIB),
            ("aes-256-ctr", fast, clients, workers, (0, 20), 32 * MIB),
            ("des-ede3-ctr", ["auto"], clients, (0, 1), (20,), 4 * MIB)]


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
    for quantity, label, logy in (("rate", "GB/s of all clients", False), ("encrypt p50", "ns, half of the calls", True)):
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
    schedules = [measured.value("schedule p50", way="speculative", clients=n, workers=workers[0], **base)
                 for n in clients]
    rates = {n: measured.value("rate", way="speculative", clients=n, workers=workers[-1], **base) for n in clients}
    peak = max(rates, key=lambda n: float(rates[n]))
    spread = float(max(schedules, key=float)) / float(min(schedules, key=float))
    best = max((measured.value("p50 ratio", clients=n, workers=m, **base)
                for n in clients for m in workers), key=float)
    finding = "; ".join(look_up("studies/waeslib/findings"))
    return Shown("in part" if spread > 2 or peak > cores else "holds", [finding],
                 ["the call that schedules took ", min(schedules, key=float), " to ", max(schedules, key=float),
                  " ns; throughput was highest, ", rates[peak], f" GB/s, with {peak} clients on {cores} cores; "
                  "with keystream ahead half of the requests waited up to ", best, " times shorter"],
                 panels, tables,
                 ["Requests of 4 KiB. Held: scheduling varies by less than a factor of two with the clients, and "
                  "the peak is at no more clients than cores. Waiting between requests stands for a fast SSD."])


def combinations(measured):
    for cipher in measured.factors("cipher"):
        for kernel in measured.factors("kernel", cipher=cipher):
            for delay in measured.factors("delay_us", cipher=cipher, kernel=kernel):
                yield dict(cipher=cipher, kernel=kernel, delay_us=delay)


EXPERIMENT = Experiment(
    name="E11", title="Keystream before the data", study="waeslib",
    did="Measured WAESlib: AES-CTR with contexts of 4 KiB computed ahead, 1 to 8 clients and internal threads, 1 GiB "
        "in each cycle, delays in place of an SSD.",
    here="The keystream engine against the same requests computed directly, in turns; contexts are windows of 16 "
         "chunks of 4 KiB.",
    measure=measure, show=show, seconds={"quick": 16, "full": 130})
