# SPDX-License-Identifier: Apache-2.0
"""E11: keystream that threads compute before the data is there, by clients, requests, threads and delay; and beside it the keystream
engine as it is."""
from statistics import median

from laboratory import contests, programs
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import QUARTER, TWICE, is_more, is_near
from laboratory.values import derive, given, size

MIB = 1 << 20
CLIENTS = (1, 2, 4, 8)
DELAYS_US = (20, 0, 100)
JUDGED_US = 20  # of the delays, if it is among them
ROUNDS = 3
# With instructions for AES, and of those the one that most processors have first.
WITH_INSTRUCTIONS = ("aesni", "armv8", "vaes512", "vaes256")
WAYS = {"direct": "at the call", "threads": "threads ahead", "idle": "engine as it is"}
TO_FIRST = "rate to the first number of clients"
MAKERS = {"threads": "threads", "client ahead": "the client, in its delay", "at the call": "the call itself"}


def judged_first(delays):
    """The delays, of which the first is judged: JUDGED_US or the smallest that is one. Without a delay no keystream can
    be ahead."""
    delays = list(delays)
    judged = JUDGED_US if JUDGED_US in delays else min(filter(None, delays), default=delays[0])
    return [judged, *(delay for delay in delays if delay != judged)]


def runs(lab, most):
    """(cipher, kernel, workers, delay, bytes of all clients in a run). The first is judged, and has `most` bytes."""
    fast, *others = (*contests.available_kernels("aes-128-ctr", WITH_INSTRUCTIONS), "bitslice")
    cores = lab.cores
    delay, *other_delays = judged_first(lab.delays(lab.pick(DELAYS_US[:1], DELAYS_US)))
    if lab.quick:
        return [("aes-128-ctr", fast, cores, delay, most), ("aes-256-ctr", "bitslice", cores, delay, most // 2),
                *(("aes-128-ctr", fast, cores, other, most // 2) for other in other_delays)]
    some = most // 16
    return [("aes-128-ctr", fast, cores, delay, most), ("aes-256-ctr", fast, cores, delay, some),
            *(("aes-128-ctr", kernel, cores, delay, some) for kernel in others),
            *(("aes-128-ctr", fast, workers, delay, some) for workers in (1, 8) if workers != cores),
            *(("aes-128-ctr", fast, cores, other, some) for other in other_delays),
            ("des-ede3-ctr", "auto", cores, delay, min(some, 4 * MIB))]


def name_of_run(run):
    cipher, kernel, workers, delay, bytes_ = run
    return f"{cipher} with {kernel}, {count(workers, 'thread')}, {delay} µs, {size(bytes_)}"


def rows_of(lab, run, turn=0):
    """One round of a run: a row for each number of clients. Each round begins with another number."""
    cipher, kernel, workers, delay, count = run
    lab.step(f"{cipher}, {kernel}, {workers} threads, {delay} us, {size(count)}, round {turn + 1} of {ROUNDS}")
    clients = [*CLIENTS[turn:], *CLIENTS[:turn]]
    rows = programs.paes_bench(
        "ahead", "--cipher", cipher, "--kernel", kernel, "--clients", ",".join(map(str, clients)), "--workers",
        workers, "--delay-us", delay, "--bytes", count, "--runs", 1)["results"]
    return sorted(rows, key=lambda row: row["clients"])


def most_bytes(lab):
    """How much the judged runs may encrypt: 1 GiB if the machine, as busy as it is, takes no more than the experiment's
    share of the time for that, or else a smaller power of two."""
    wanted, seconds, trial = lab.pick((16 * MIB, 4, MIB), (1024 * MIB, 360, 8 * MIB))
    rates = [way["gb_per_s"] for row in rows_of(lab, runs(lab, trial)[0]) for way in row["ways"]]
    while wanted > trial and ROUNDS * sum(wanted / 1e9 / rate for rate in rates) > seconds:
        wanted //= 2
    return wanted


def measure(lab):
    most = most_bytes(lab)
    for run in lab.as_time_allows(runs(lab, most), name_of_run):
        # Numbers of clients take turns.
        rounds = [rows_of(lab, run, turn) for turn in range(ROUNDS)]
        for rows in zip(*rounds, strict=True):
            record(lab, rows, [round_[0] for round_ in rounds])
    if lab.quick:
        lab.leave_out("1 GiB in each run", "it takes minutes")
    elif most < 1024 * MIB:
        lab.leave_out("1 GiB in each run", f"it would take too long here; the judged runs have {size(most)}")
    else:
        lab.leave_out("1 GiB in each run beyond the first table", "shorter runs leave time for more of them")


def record(lab, rows, first_rows):
    """Records a number of clients. `rows`: of each round, and `first_rows` those of the first number."""
    of = {key: rows[0][key] for key in ("cipher", "kernel", "clients", "workers", "delay_us", "oversubscribed")}
    of["bytes"] = rows[0]["requests"] * rows[0]["request_bytes"]

    def record_median(factors, quantity, unit, numbers):
        lab.record(factors, quantity, unit, median(numbers), len(rows))

    for ways, first_ways in zip(zip(*(row["ways"] for row in rows)), zip(*(row["ways"] for row in first_rows))):
        with_way = {**of, "way": ways[0]["way"]}
        record_median(with_way, "rate", "GB/s", [way["gb_per_s"] for way in ways])
        record_median(with_way, "delay p50", "ns", [way["delay"]["p50_ns"] for way in ways])
        for call in ("schedule", "encrypt"):
            for field in ("p50", "p99"):
                record_median(with_way, f"{call} {field}", "ns", [way[call][f"{field}_ns"] for way in ways])
        for beginnings in zip(*(way["beginnings"] for way in ways), strict=True):
            with_requests = {**with_way, "requests": beginnings[0]["requests"]}
            for call in ("schedule", "encrypt"):
                record_median(with_requests, f"{call} p50 of a beginning", "ns", [one[call]["p50_ns"] for one in beginnings])
        if with_way["way"] == "direct":
            continue
        made = {"threads": sum(way["other"] for way in ways), "client ahead": sum(way["own"] for way in ways),
                "at the call": sum(way["direct"] + way["bypassed"] for way in ways)}
        for maker, count in made.items():
            lab.record({**with_way, "maker": maker}, "made", "share", count / sum(made.values()), len(rows))
        for quantity in ("throughput ratio", "p50 ratio"):
            lab.record_rounds(with_way, quantity, "ratio", [way[quantity.replace(" ", "_")]["median"] for way in ways])
        lab.record_rounds(with_way, TO_FIRST, "ratio",
                          [way["gb_per_s"] / first["gb_per_s"] for way, first in zip(ways, first_ways)])


def combinations(measured):
    """The factors of each table: first of the one that is judged, then in the order measured."""
    keys = ("cipher", "kernel", "workers", "delay_us")
    rows = [row["of"] for _, row in measured.find("rate", way="threads")]
    found = [dict(zip(keys, one)) for one in dict.fromkeys(tuple(of[key] for key in keys) for of in rows)]
    # The first differs from some others only by its delay.
    delays = [of["delay_us"] for of in found if of == {**found[0], "delay_us": of["delay_us"]}]
    first = [{**found[0], "delay_us": judged_first(delays)[0]}] if found else []
    return [*first, *(of for of in found if of not in first)]


def show(measured):
    found = combinations(measured)
    if not found:
        here = ["this result has no requests whose keystream threads of ordinary priority made"]
        return Shown({name: Verdict("open", here) for name in EXPERIMENT.verdicts})
    judged = found[0]
    if judged["delay_us"]:
        verdicts = {"waeslib.schedule-constant": judge_schedule(measured, judged),
                    "waeslib.encrypt-grows": judge_encrypt(measured, judged),
                    "waeslib.peak": judge_peak(measured, judged), "waeslib.viable": judge_viable(measured, judged)}
    else:
        verdicts = dict.fromkeys(EXPERIMENT.verdicts, Verdict("open", [
            "no delay above 0 was measured, so that there was no time to compute ahead"]))
    return Shown(verdicts, panels(measured, judged), [table(measured, of) for of in found],
                 [f"{'Judged' if judged['delay_us'] else 'Drawn'} is the first table, where threads compute ahead: "
                  f"{named(judged)}, {bytes_of(measured, judged)} in a run. There are as many of these threads as cores. Practically constant: within a quarter from "
                  "one number of clients or requests to another; in part: within a factor of two. What differs by "
                  f"less than other programs may disturb, or by less than {CLOCK_NS} ns, is the same.",
                  "A client whose keystream is not ready computes it at the call and does not wait."])


def named(of):
    return f"{of['cipher']} with `{of['kernel']}`, {count(of['workers'], 'thread')}, delays of {of['delay_us']} µs"


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def bytes_of(measured, of):
    return size(measured.factors("bytes", "rate", way="threads", **of)[0])


def clients_of(measured, of):
    return measured.factors("clients", "rate", way="threads", **of)


def panels(measured, of):
    clients = clients_of(measured, of)

    def by_clients(label, quantity, way):
        return Series(label, [given(n) for n in clients],
                      [measured.value(quantity, clients=n, way=way, **of) for n in clients])
    busy = clients[len(clients) // 2]  # neither alone nor far more than cores
    requests = measured.factors("requests", "encrypt p50 of a beginning", clients=busy, way="threads", **of)
    by_requests = [Series(label, [given(n) for n in requests],
                          [measured.value(f"{call} p50 of a beginning", requests=n, clients=busy, way="threads", **of)
                           for n in requests])
                   for call, label in (("encrypt", "a request"), ("schedule", "scheduling it"))]
    made = [Panel(f"Who made the keystream? {said[:1].upper()}{said[1:]}", "clients", "% of the requests",
                  [Series(label, [str(n) for n in clients],
                          [derive("percent", measured.value("made", maker=maker, clients=n, way=way, **of))
                           for n in clients])
                   for maker, label in MAKERS.items()], kind="bars", stacked=True)
            for way, said in WAYS.items() if way != "direct"]
    return [Panel("Does keystream ahead raise the throughput?", "clients", "GB/s of all clients",
                  [by_clients(said, "rate", way) for way, said in WAYS.items()]),
            Panel("How long do calls take? By clients", "clients", "ns, half of the calls",
                  [by_clients("a request, threads ahead", "encrypt p50", "threads"),
                   by_clients("scheduling it", "schedule p50", "threads"),
                   by_clients("a request, at the call", "encrypt p50", "direct")], logy=True),
            Panel(f"How long do calls take? By requests, {count(busy, 'client')}", "requests of a run",
                  "ns, half of the calls", by_requests, logx=True, logy=True),
            *made]


def table(measured, of):
    cores = measured.machine["cores"]
    rows = []
    for n in clients_of(measured, of):
        at = dict(clients=n, **of)
        rows.append([f"{n}" + ("" if n + of["workers"] <= cores else " *"),
                     *[measured.value("rate", way=way, **at) for way in WAYS],
                     *[measured.value("encrypt p50", way=way, **at) for way in WAYS],
                     *[measured.value("encrypt p99", way=way, **at) for way in ("direct", "threads")],
                     measured.value("schedule p50", way="threads", **at),
                     measured.value("delay p50", way="threads", **at),
                     *[derive("percent", measured.value("made", maker=maker, way=way, **at))
                       for way, maker in (("threads", "threads"), ("idle", "threads"), ("idle", "client ahead"))]])
    return Table(f"{named(of)}, {bytes_of(measured, of)} in a run (* more threads and clients than cores)",
                 ["clients", *(f"GB/s {said}" if way == "direct" else said for way, said in WAYS.items()),
                  *(f"p50 ns {said}" if way == "direct" else said for way, said in WAYS.items()),
                  "p99 ns at the call", "threads ahead", "schedule p50 ns", "slept ns", "% by threads ahead",
                  "% by threads, engine as it is", "% by the client"], rows)


CLOCK_NS = 25  # that reading the clock takes: a smaller difference between two calls says nothing


def takes_longer(time, other, least):
    return is_more(time, other, least) and float(time) > float(other) + CLOCK_NS


def by_clients(measured, quantity, of):
    return {n: measured.value(quantity, clients=n, way="threads", **of) for n in clients_of(measured, of)}


def extremes(values):
    return [choose(values, key=float) for choose in (min, max)]


def judge_schedule(measured, of):
    """By clients, and for each number of them by requests; the worse of the two counts."""
    clients = list(clients_of(measured, of))
    every = by_clients(measured, "schedule p50", of)
    rows = [list(every.values())]
    for n in clients:
        requests = measured.factors("requests", "schedule p50 of a beginning", clients=n, way="threads", **of)
        rows.append([measured.value("schedule p50 of a beginning", requests=m, clients=n, way="threads", **of)
                     for m in requests])
    outcomes = []
    for row in rows:
        least, most = extremes(row)
        is_constant = is_near(most, least, QUARTER) or float(most) <= float(least) + CLOCK_NS
        outcomes.append(0 if is_constant else 1 if is_near(most, least, TWICE) else 2)
    (least, most), by_requests = extremes(rows[0]), rows[1:]
    changes = max(by_requests, key=lambda row: float(max(row, key=float)) / float(min(row, key=float)))
    return Verdict(("holds", "in part", "does not hold")[max(outcomes)],
                   ["half of the calls that schedule took at most ", least, " to ", most,
                    f" ns with {clients[0]} to {clients[-1]} clients; by the number of requests they changed most with "
                    f"{count(clients[by_requests.index(changes)], 'client')}, from ", extremes(changes)[0], " to ",
                    extremes(changes)[1], " ns"])


def judge_encrypt(measured, of):
    times = by_clients(measured, "encrypt p50", of)
    clients = list(times)
    falls = any(takes_longer(times[before], times[after], measured.margin)
                for before, after in zip(clients, clients[1:]))
    if takes_longer(times[clients[-1]], times[clients[0]], measured.margin):
        outcome = "in part" if falls else "holds"
    else:
        outcome = "does not hold"
    late = [derive("percent", measured.value("made", maker="at the call", clients=n, way="threads", **of))
            for n in (clients[0], clients[-1])]
    return Verdict(outcome, ["half of the calls that encrypt took at most ",
                             *(word for n, time in times.items()
                               for word in ("" if n == clients[0] else ", ", time, f" ns with {count(n, 'client')}")),
                             "; keystream was not ready for ", late[0], f" % of the requests with "
                             f"{count(clients[0], 'client')} and for ", late[1], f" % with {clients[-1]}"])


def judge_peak(measured, of):
    """A peak stands out by the margin on both sides, in ratios that were formed in each round; between the first and the last
    number of clients."""
    rates = by_clients(measured, "rate", of)
    clients = list(rates)
    ratios = by_clients(measured, TO_FIRST, of)
    if not all(ratios.values()):
        return Verdict("open", ["numbers of clients did not take turns in this result"])
    top = max(ratios, key=lambda n: float(ratios[n]))
    level = [n for n in clients if not is_more(ratios[top], ratios[n], measured.margin)]
    here = [f"throughput was highest with {count(top, 'client')}, ", rates[top], " GB/s and ", ratios[top],
            f" times that with {count(clients[0], 'client')}; cores: {measured.machine['cores']}, threads inside: {of['workers']}"]
    if len(level) > 1:
        here += [f", but with {' and '.join(map(str, (n for n in level if n != top)))} clients it was less by no more "
                 "than other programs may disturb"]
    if top == clients[0] or {clients[0], clients[-1]} <= set(level):  # the first is as good, or all are
        return Verdict("does not hold", here)
    if len(level) > 1:
        return Verdict("open", here)
    return Verdict("holds" if top < clients[-1] else "does not hold", here)


def judge_viable(measured, of):
    """Whether keystream ahead shortens the calls and costs no throughput."""
    ratios = {n: [measured.value(quantity, clients=n, way="threads", **of)
                  for quantity in ("p50 ratio", "throughput ratio")] for n in clients_of(measured, of)}
    shorter = [n for n, (calls, _) in ratios.items() if is_more(calls, 1, measured.margin)]
    costs = [n for n, (_, rate) in ratios.items() if is_more(1, rate, measured.margin)]
    if len(shorter) == len(ratios) and not costs:
        outcome = "holds"
    else:
        outcome = "in part" if set(shorter) - set(costs) else "does not hold"
    (shortest, longest), (least, most) = (extremes([pair[which] for pair in ratios.values()]) for which in (0, 1))
    return Verdict(outcome, ["calls that encrypt were shorter than without keystream ahead by a factor of ", shortest,
                             " to ", longest, " (half of the calls), and throughput was ", least, " to ", most,
                             " times that without"])


def beside(measured):
    """The number of clients with the highest throughput, in what is judged."""
    found = combinations(measured)
    rates, ratios = (by_clients(measured, quantity, found[0]) if found else {} for quantity in ("rate", TO_FIRST))
    here = ()
    if rates:
        top = max(rates, key=lambda n: float(ratios[n] or rates[n]))
        here = (given(top), f" client{'' if top == 1 else 's'}, ", rates[top], " GB/s")
    yield Counterpart("waeslib.peak", "best_clients", None, here)


EXPERIMENT = Experiment(
    name="E11", title="Keystream before the data",
    did=("waeslib.speculation", "waeslib.keys", "waeslib.requests", "waeslib.calls", "waeslib.machine"),
    judges=("waeslib.schedule-constant", "waeslib.encrypt-grows", "waeslib.peak", "waeslib.viable"),
    here="Clients schedule a request of 4 KiB, sleep as if a disk brought its data, and encrypt; threads of the "
         "keystream engine, of ordinary priority, compute its keystream meanwhile. In turns with it run the same "
         "requests computed at the call, and the keystream engine as it is: with a window of 16 requests, clients that "
         "compute ahead in their delays, and threads that run when the processor is idle. Numbers of "
         "clients take turns, too.",
    measure=measure, show=show, beside=beside, seconds={"quick": 10, "full": 330})
