# SPDX-License-Identifier: Apache-2.0
"""E11: keystream that threads compute before the data is there, by clients, requests, threads and delay; and beside it the keystream
engine as it is."""

from laboratory import contests, programs
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import QUARTER, TWICE, in_steps
from laboratory.values import best, derive, given, size

MIB = 1 << 20
CLIENTS = (1, 2, 4, 8)
MORE_CLIENTS = (16, 32)  # beside them in a full run, because a delay of sleep bounds what a few clients can ask for
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


def threads_inside(cores):
    """Numbers of threads inside: first those that leave a core for each of as many clients, then one core for one client,
    all cores, and other numbers."""
    return list(dict.fromkeys([max(cores // 2, 1), max(cores - 1, 1), cores, 1, 8]))


def runs(lab, most):
    """(cipher, kernel, workers, delay, bytes of all clients in a run). The first is judged, and has `most` bytes."""
    fast, *others = (*contests.available_kernels("aes-128-ctr", WITH_INSTRUCTIONS), "bitslice")
    half, *other_workers = threads_inside(lab.cores)
    delay, *other_delays = judged_first(lab.delays(lab.pick(DELAYS_US[:1], DELAYS_US)))
    if lab.quick:
        return [("aes-128-ctr", fast, half, delay, most), ("aes-256-ctr", "bitslice", half, delay, most // 2),
                *(("aes-128-ctr", fast, half, other, most // 2) for other in other_delays)]
    some = most // 16
    return [("aes-128-ctr", fast, half, delay, most), ("aes-256-ctr", fast, half, delay, some),
            *(("aes-128-ctr", kernel, half, delay, some) for kernel in others),
            *(("aes-128-ctr", fast, workers, delay, some) for workers in other_workers),
            *(("aes-128-ctr", fast, half, other, some) for other in other_delays),
            ("des-ede3-ctr", "auto", half, delay, min(some, 4 * MIB))]


def name_of_run(run):
    cipher, kernel, workers, delay, bytes_ = run
    return f"{cipher} with {kernel}, {count(workers, 'thread')}, {delay} µs, {size(bytes_)}"


def rows_of(lab, run, turn=0):
    """One round of a run: a row for each number of clients. Each round begins with another number."""
    cipher, kernel, workers, delay, count = run
    lab.step(f"{cipher}, {kernel}, {workers} threads, {delay} us, {size(count)}, round {turn + 1} of {ROUNDS}")
    counts = CLIENTS if lab.quick else (*CLIENTS, *MORE_CLIENTS)
    clients = [*counts[turn:], *counts[:turn]]
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

    for ways, first_ways in zip(zip(*(row["ways"] for row in rows)), zip(*(row["ways"] for row in first_rows))):
        with_way = {**of, "way": ways[0]["way"]}
        lab.record_rounds(with_way, "rate", "GB/s", [way["gb_per_s"] for way in ways])
        lab.record_rounds(with_way, "delay p50", "ns", [way["delay"]["p50_ns"] for way in ways])
        for call in ("schedule", "encrypt"):
            for field in ("p50", "p99"):
                lab.record_rounds(with_way, f"{call} {field}", "ns", [way[call][f"{field}_ns"] for way in ways])
        for beginnings in zip(*(way["beginnings"] for way in ways), strict=True):
            with_requests = {**with_way, "requests": beginnings[0]["requests"]}
            for call in ("schedule", "encrypt"):
                for field in ("p50", "p99"):
                    lab.record_rounds(with_requests, f"{call} {field} of a beginning", "ns",
                                      [one[call][f"{field}_ns"] for one in beginnings])
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
    if not found:
        return []
    # Others differ from the first only by their delay or their threads.
    alike = [of for of in found if (of["cipher"], of["kernel"]) == (found[0]["cipher"], found[0]["kernel"])]
    delay = judged_first(dict.fromkeys(of["delay_us"] for of in alike))[0]
    first = max((of for of in alike if of["delay_us"] == delay), key=lambda of: len(with_cores(measured, of)))
    return [first, *(of for of in found if of != first)]


def with_cores(measured, of):
    """The numbers of clients for which, and for the threads inside, there was a core each."""
    return [n for n in clients_of(measured, of) if n + of["workers"] <= measured.machine["cores"]]


def show(measured):
    found = combinations(measured)
    if not found:
        here = ["this result has no requests whose keystream threads of ordinary priority made"]
        return Shown({name: Verdict("open", here) for name in EXPERIMENT.verdicts})
    of = found[0]
    clients = with_cores(measured, of)
    if not of["delay_us"]:
        verdicts = dict.fromkeys(EXPERIMENT.verdicts, Verdict("open", [
            "no delay above 0 was measured, so that there was no time to compute ahead"]))
    elif not clients:
        verdicts = dict.fromkeys(EXPERIMENT.verdicts, Verdict("open", [
            "no number of clients had a core for each of them and for each thread inside"]))
    else:
        verdicts = {"waeslib.schedule-constant": judge_schedule(measured, of, clients),
                    "waeslib.encrypt-grows": judge_encrypt(measured, of, clients),
                    "waeslib.peak": judge_peak(measured, of, clients)}
        verdicts["waeslib.viable"] = judge_viable(measured, of, clients, [verdict.outcome for verdict in verdicts.values()])
    return Shown(verdicts, panels(measured, of), [table(measured, one) for one in found],
                 [f"{'Judged' if of['delay_us'] and clients else 'Drawn'} is the first table: {named(of)}, "
                  f"{bytes_of(measured, of)} in a run. Only its rows without a star are judged, where each client and each "
                  "thread inside has a core. A change of a call's time counts only if it is more than the "
                  f"{CLOCK_NS} ns that reading the clock takes. Half of the calls take at most p50, and all but one in a "
                  "hundred at most p99.",
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
    busy = (with_cores(measured, of) or clients)[-1]
    requests = measured.factors("requests", "encrypt p50 of a beginning", clients=busy, way="threads", **of)
    by_requests = [Series(f"{label}, {field}", [given(n) for n in requests],
                          [measured.value(f"{call} {field} of a beginning", requests=n, clients=busy, way="threads", **of)
                           for n in requests])
                   for call, label in (("encrypt", "a request"), ("schedule", "scheduling it")) for field in ("p50", "p99")]
    by_requests = [series for series in by_requests if any(series.ys)]
    made = [Panel(f"Who made the keystream? {said[:1].upper()}{said[1:]}", "clients", "% of the requests",
                  [Series(label, [str(n) for n in clients],
                          [(made := measured.value("made", maker=maker, clients=n, way=way, **of)) and derive("percent", made)
                           for n in clients])
                   for maker, label in MAKERS.items()], kind="bars", stacked=True)
            for way, said in WAYS.items() if way != "direct"]
    return [Panel("Does keystream ahead raise the throughput?", "clients", "GB/s of all clients",
                  [by_clients(said, "rate", way) for way, said in WAYS.items()], logx=True, x_is="cores"),
            Panel("How long do calls take? By clients", "clients", "ns, p50",
                  [by_clients("a request, threads ahead", "encrypt p50", "threads"),
                   by_clients("scheduling it", "schedule p50", "threads"),
                   by_clients("a request, at the call", "encrypt p50", "direct")], logx=True, logy=True, x_is="cores"),
            *([Panel(f"How long do calls take? By requests, {count(busy, 'client')}", "requests of a run",
                     "ns", by_requests, logx=True, logy=True)] if by_requests else []),
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


def change(measured, before, after):
    """Whether a call takes longer than before; False if the change is within what reading the clock takes."""
    if abs(float(after) - float(before)) <= CLOCK_NS:
        return False
    return measured.is_more(after, before)


def is_constant(measured, values, factor):
    least, most = (choose(values, key=float) for choose in (min, max))
    return True if float(most) - float(least) <= CLOCK_NS else measured.is_near(most, least, factor)


def by_clients(measured, quantity, of, clients):
    return {n: measured.value(quantity, clients=n, way="threads", **of) for n in clients}


def by_requests(measured, quantity, of, n):
    """{requests: figure} of the beginnings of a run, shortest first."""
    at = dict(clients=n, way="threads", **of)
    quantity = f"{quantity} of a beginning"
    return {m: measured.value(quantity, requests=m, **at) for m in measured.factors("requests", quantity, **at)}


def in_order(values, noun):
    """Figures with the numbers that they are of, in this order."""
    return [word for n, value in values.items() for word in (", " if n != next(iter(values)) else "", value,
                                                             f" ns with {count(n, noun)}")]


def ends(values):
    """The figures of the first and the last number."""
    return [values[n] for n in (next(iter(values)), list(values)[-1])]


FEW = "clients above one had no core each"
NO_LOAD = "requests within a run are no other load"


def judge_schedule(measured, of, clients):
    """By clients, who are what loads the threads inside. How calls change within a run is told: its first requests are a
    beginning, and no lower load."""
    every = by_clients(measured, "schedule p50", of, clients)
    here = ["half of the calls that schedule took at most ", *in_order(every, "client"),
            *within_a_run(measured, "schedule p50", of, clients[-1])]
    if len(every) < 2:
        return Verdict("open", [*here, f"; {FEW}, and {NO_LOAD}"])
    outcome = in_steps(*(is_constant(measured, every.values(), factor) for factor in (QUARTER, TWICE)))
    return measured.decided(Verdict(outcome, here, "within a quarter from one number of clients to another; in part: within a factor of two",
                   tuple(every.values())))


def within_a_run(measured, quantity, of, n):
    """What is to be said of a call in the first requests of a run and in all."""
    row = by_requests(measured, quantity, of, n)
    if len(row) < 2:
        return []
    first, last = ends(row)
    return [f", and with {count(n, 'client')} ", first, f" ns in the first {next(iter(row))} requests and ", last,
            f" ns in all {list(row)[-1]}"]


def judge_encrypt(measured, of, clients):
    """Half of the calls and the slowest, by clients."""
    parts, here, by = [], [], []
    for field, words in (("p50", "half of the calls that encrypt took at most "), ("p99", "99 % of them at most ")):
        times = by_clients(measured, f"encrypt {field}", of, clients)
        here += ["; " if here else "", words, *in_order(times, "client")]
        if len(times) > 1:
            parts.append((f"{field} by clients", change(measured, *ends(times))))
            by += ends(times)
        here += within_a_run(measured, f"encrypt {field}", of, clients[-1])
    if late := measured.value("made", maker="at the call", clients=clients[-1], way="threads", **of):
        here += ["; keystream was not ready for ", derive("percent", late),
                 f" % of the requests with {count(clients[-1], 'client')}"]
    if not parts:
        return Verdict("open", [*here, f"; {FEW}, and {NO_LOAD}"])
    return measured.judged(parts, here, "p50 and p99 are longer with the most clients than with one", by=by)


def judge_peak(measured, of, clients):
    """A peak stands out by the margin on both sides, in ratios that were formed in each round; between the first and the last
    number of clients that had a core each."""
    every = clients_of(measured, of)
    rates, ratios = (by_clients(measured, quantity, of, every) for quantity in ("rate", TO_FIRST))
    slept = by_clients(measured, "delay p50", of, every).values()
    if not all(ratios.values()):
        return Verdict("open", ["this result has no turns of numbers of clients with these threads inside"])
    top = max(ratios, key=lambda n: float(ratios[n]))
    here = [f"of {count(every[0], 'client')} to {every[-1]}, cores or not, throughput was highest with {top}: ", rates[top],
            " GB/s and ", ratios[top], f" times that with {count(every[0], 'client')}"]
    if top == every[-1]:
        here.append(", which is the last number measured, so that no peak was reached")
    here += [f"; cores: {measured.machine['cores']}, threads inside: {of['workers']}; clients asked to sleep {of['delay_us']} µs "
             "and slept ", best("least", slept), " to ", best("most", slept), " ns, which bounds what few of them can ask for"]
    if len(clients) < 3:
        return Verdict("open", [*here, f"; {FEW if len(clients) < 2 else 'two numbers of clients show no peak'}"])
    top = max(clients, key=lambda n: float(ratios[n]))
    here += [f"; with a core each, it was highest with {count(top, 'client')}, ", rates[top], " GB/s"]
    if top in (clients[0], clients[-1]):
        return Verdict("does not hold" if top == clients[0] else "open",
                       [*here, ", and more had no core each" if top == clients[-1] else ""], PEAK)
    return measured.judged([(f"{top} beside {n}", measured.is_more(ratios[top], ratios[n])) for n in (clients[0], clients[-1])], here, PEAK,
                  by=[ratios[n] for n in (clients[0], top, clients[-1])])


PEAK = ("where each client and thread has a core, some number of clients between the fewest and the most has more throughput than "
        "both")


def judge_viable(measured, of, clients, others):
    """Whether keystream ahead shortens the call that encrypts, which has a time of its own beside that of the call that schedules,
    whether it costs throughput, and whether calls and throughput are as expected: the outcomes of `others`."""
    parts, here, by = [], [], []
    for n in clients:
        at = dict(clients=n, **of)
        direct, ahead, schedule = (measured.value(f"{call} p50", way=way, **at) for call, way in (
            ("encrypt", "direct"), ("encrypt", "threads"), ("schedule", "threads")))
        took = derive("quotient", ahead, direct)
        # Older results have not kept the ratios of each round.
        rate = measured.value("throughput ratio", way="threads", **at) or derive("quotient", *(
            measured.value("rate", way=way, **at) for way in ("threads", "direct")))
        slower = measured.is_more(1, rate)
        parts += [(f"the call that encrypts with {count(n, 'client')}", change(measured, ahead, direct)),
                  (f"the throughput with {count(n, 'client')}", None if slower is None else not slower)]
        by += [took, rate]
        here += ["; " if here else "", f"with {count(n, 'client')} half of the calls that encrypt took at most ", ahead, " ns, which is ",
                 took, " times the ", direct, " ns without keystream ahead; throughput was ", rate, " times that without; the call that "
                 "schedules took ", schedule, " ns more, so that both calls together took ", derive("sum to", ahead, schedule, direct),
                 " times as long as the one without"]
    parts.append(("calls and throughput as expected", as_expected(others)))
    return measured.judged(parts, here, "little time: with each number of clients the call that encrypts is shorter than without keystream ahead; "
                  "high throughput: it is not less than without; and by the three verdicts above, calls and throughput are as expected",
                  [FEW] if len(clients) < 2 else [], by)


def as_expected(outcomes):
    """Whether claims of which these are the outcomes all hold; None if what is open or in part leaves it in doubt."""
    if "does not hold" in outcomes:
        return False
    return True if set(outcomes) == {"holds"} else None


def beside(measured):
    """The number of clients with the highest throughput, in what is judged."""
    found = combinations(measured)
    here = ()
    if found:
        every = clients_of(measured, found[0])
        rates, ratios = (by_clients(measured, quantity, found[0], every) for quantity in ("rate", TO_FIRST))
        top = max(rates, key=lambda n: float(ratios[n] or rates[n]))
        here = (given(top), f" client{'' if top == 1 else 's'}, ", rates[top], " GB/s",
                ", the most that were measured" if top == every[-1] else "")
    yield Counterpart("waeslib.peak", "best_clients", None, here)


EXPERIMENT = Experiment(
    name="E11", title="Keystream before the data",
    did=("waeslib.speculation", "waeslib.instructions", "waeslib.keys", "waeslib.requests", "waeslib.calls", "waeslib.machine"),
    judges=("waeslib.schedule-constant", "waeslib.encrypt-grows", "waeslib.peak", "waeslib.viable"),
    here="Clients schedule a request of 4 KiB, sleep as if a disk brought its data, and encrypt; threads of the "
         "keystream engine, of ordinary priority, compute its keystream meanwhile. In turns with it run the same "
         "requests computed at the call, and the keystream engine as it is: with a window of 16 requests, clients that "
         "compute ahead in their delays, and threads that run when the processor is idle. Numbers of "
         "clients take turns, too. Half as many threads inside as cores leave a core for as many clients.",
    measure=measure, show=show, beside=beside, seconds={"quick": 10, "full": 420})
