# SPDX-License-Identifier: Apache-2.0
"""E7: 3DES compared with AES-256, and ECB with CTR, by size; with a GPU, the processor compared with CUDA."""
from laboratory import contests, device
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.judgement import QUARTER, TWICE, by_parts, is_more, is_near
from laboratory.published import look_up, value as published
from laboratory.values import derive, given, size

KB, MB = 1 << 10, 1 << 20
CIPHERS = ("aes-256-ecb", "aes-256-ctr", "des-ede3-ecb", "des-ede3-ctr")
BUFFER = 512 * KB  # the study's
PLAIN = {"3des": "des-ede3-ecb", "aes-256": "aes-256-ecb"}  # ciphers by their names in published.json
UNITS = {"KB": KB, "MB": MB}


def measure(lab):
    for kernel, sizes in (("compute", lab.pick([KB, 16 * KB, 256 * KB], [KB, 4 * KB, 64 * KB, MB, 4 * MB])),
                          ("auto", lab.pick([KB, 64 * KB, MB, 16 * MB],
                                            [KB, 4 * KB, 64 * KB, MB, 16 * MB, 256 * MB]))):
        contests.threads(lab, sizes=lab.sizes(sizes), kernels=(kernel,), ciphers=CIPHERS, rounds=3, piece_sizes=(BUFFER,),
                         first=f"rate to {CIPHERS[0]}")
        for row in lab.measurements:
            row["of"].setdefault("choice", kernel)
    if "sizes" not in lab.chosen:
        lab.leave_out(f"more than {size(lab.pick(256 * KB, 4 * MB))} with every step computed", "for the time")
    device.measure_too(lab, "E7")


CHOICES = {"compute": "Every step computed", "auto": "The fastest constant-time kernels"}


def on_device(measured):
    """(panels, tables) that compare CUDA with one thread of the processor."""
    panels, tables = [], []
    for choice, title in CHOICES.items():
        of = dict(choice=choice, executor="cuda")
        sizes = measured.factors("bytes", **of)
        if not sizes:
            continue
        rows, lines = [], []
        for cipher in CIPHERS:
            kernel = measured.factors("kernel", cipher=cipher, **of)[0]
            rows.append([f"{cipher}, `{kernel}`",
                         *[measured.value("time", cipher=cipher, bytes=size_, **of) for size_ in sizes]])
            speedups = [measured.value("speedup", cipher=cipher, bytes=size_, **of) for size_ in sizes]
            rows.append([f"{cipher}: times as fast as one thread", *speedups])
            lines.append(Series(cipher, [given(size_) for size_ in sizes], speedups))
        lines.append(Series("as fast", [given(sizes[0]), given(sizes[-1])], [given(1), given(1)], "ideal"))
        panels.append(Panel(f"CUDA: {title.lower()}", "bytes", "times as fast as one thread", lines, logx=True,
                            logy=True, x_is="bytes"))
        tables.append(Table(f"CUDA: {title.lower()}: seconds, copies included", ["", *[size(size_) for size_ in sizes]],
                            rows))
    return panels, tables


def speedups_on_device(measured, cipher):
    """{bytes: speedup} of CUDA over one thread, both of which compute every step."""
    of = dict(choice="compute", executor="cuda", cipher=cipher)
    return {size_: measured.value("speedup", bytes=size_, **of) for size_ in measured.factors("bytes", "speedup", **of)}


def no_device():
    return Verdict("open", ["no CUDA device was measured"])


def judge_slower(measured, executor):
    """Whether 3DES takes about as many times as long as AES-256 as the claim says."""
    claimed = published(f"pizzuti/ratio_3des_to_aes_time/{executor}")
    of = dict(choice="compute", executor=executor)
    sizes = measured.factors("bytes", **of)
    if not sizes:
        return no_device()
    ratio = derive("inverse", measured.value("rate to aes-256-ecb", cipher=PLAIN["3des"], bytes=sizes[-1], **of))
    here = ["3DES took ", ratio, f" times as long as AES-256 at {size(sizes[-1])}, each computed step by step"]
    fast = measured.factors("bytes", choice="auto", executor=executor)
    if fast:
        rate = measured.value("rate to aes-256-ecb", cipher=PLAIN["3des"], choice="auto", executor=executor,
                              bytes=fast[-1])
        here += [", and ", derive("inverse", rate), " times with the fastest constant-time kernels"]
    return Verdict("holds" if is_near(ratio, claimed, TWICE) else "in part" if is_more(ratio, 1, measured.margin)
                   else "does not hold",
                   here)


def judge_ctr(measured):
    ratios, here = [], []
    for executor, where in (("sequential", "on one core"), ("cuda", "with CUDA")):
        of = dict(choice="compute", executor=executor)
        sizes = measured.factors("bytes", **of)
        for name, cipher in (("AES-256", "aes-256"), ("3DES", "des-ede3")) if sizes else ():
            rates = [measured.value("rate to aes-256-ecb", cipher=f"{cipher}-{mode}", bytes=sizes[-1], **of)
                     for mode in ("ecb", "ctr")]
            ratios.append(derive("quotient", *rates))
            here += ["; " if here else "CTR took ", ratios[-1],
                     f" times as long as ECB {where} with {name} ({size(sizes[-1])})"]
    return Verdict(by_parts(is_near(ratio, 1, QUARTER) for ratio in ratios), here)


def judge_constant(measured):
    held, here = [], []
    for cipher in PLAIN.values():
        speedups = list(speedups_on_device(measured, cipher).items())
        if len(speedups) < 2:
            return no_device()
        (before, smaller), (last, larger) = speedups[-2:]
        held.append(is_near(larger, smaller, QUARTER))
        here += ["; " if here else "", f"{cipher}: ", smaller, f" x at {size(before)} and ", larger,
                 f" x at {size(last)}"]
    if not all(held):
        return Verdict("open", [*here, "; it still changes at the largest size that was compared with one core"])
    return Verdict("holds", here)


def judge_speedups(measured):
    held, here = [], []
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        most = max(speedups.values(), key=float)
        held.append(is_near(most, published(f"pizzuti/max_speedup/{name}"), TWICE))
        here += ["; " if here else "", f"{cipher} was at most ", most,
                 " times as fast as one core that computes every step as well"]
    return Verdict(by_parts(held), here)


def in_bytes(said):
    """The number of bytes of a size such as "4KB"."""
    return int(said[:-2]) * UNITS[said[-2:]]


def judge_crossover(measured):
    held, here = [], []
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        slower = [size_ for size_, speedup in speedups.items() if float(speedup) < 1]
        faster = [size_ for size_, speedup in speedups.items() if float(speedup) > 1]
        claimed = in_bytes(look_up(f"studies/pizzuti/sequential_faster_below/{name}"))
        held.append(bool(slower) and bool(faster) and slower[-1] <= claimed <= faster[0])
        here += ["; " if here else "", f"{cipher}: one core was faster "
                 f"{f'up to {size(slower[-1])}' if slower else 'at no size'} and the device "
                 f"{f'from {size(faster[0])} on' if faster else 'at no size'}"]
    return Verdict(by_parts(held), here)


def judge_parallel_3des(measured):
    sizes = [size_ for size_ in measured.factors("bytes", choice="compute", executor="cuda")
             if measured.find("time", bytes=size_, choice="compute", executor="sequential", cipher=PLAIN["aes-256"])]
    if not sizes:
        return no_device()
    of = dict(choice="compute", bytes=sizes[-1])
    ratio = derive("quotient", measured.value("time", executor="sequential", cipher=PLAIN["aes-256"], **of),
                   measured.value("time", executor="cuda", cipher=PLAIN["3des"], **of))
    return Verdict("holds" if is_more(ratio, 1, measured.margin) else "does not hold",
                   ["3DES with CUDA was ", ratio,
                    f" times as fast as AES-256 on one core ({size(sizes[-1])}, every step computed)"])


def judge_gain(measured):
    most = {}
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        most[name] = max(speedups.values(), key=float)
    of = dict(choice="compute", executor="cuda")
    slower = derive("inverse", measured.value("rate to aes-256-ecb", cipher=PLAIN["3des"],
                                              bytes=measured.factors("bytes", **of)[-1], **of))
    return Verdict(by_parts((is_more(most["3des"], most["aes-256"], measured.margin),
                             is_more(slower, 1, measured.margin))),
                   ["every step computed, 3DES gained ", most["3des"], " x and AES-256 ", most["aes-256"],
                    " x; with CUDA 3DES took ", slower,
                    " times as long"])


def on_processor(measured):
    """(panels, tables) of one core."""
    panels, tables = [], []
    for choice, title in CHOICES.items():
        of = dict(choice=choice, executor="sequential")
        sizes = measured.factors("bytes", **of)
        if not sizes:
            continue
        panels.append(Panel(f"{title}, one core", "bytes", "seconds", [
            Series(cipher, [given(size_) for size_ in sizes],
                   [measured.value("time", cipher=cipher, bytes=size_, **of) for size_ in sizes])
            for cipher in CIPHERS], logx=True, logy=True, x_is="bytes"))
        rows = []
        for cipher in CIPHERS:
            kernel = measured.factors("kernel", cipher=cipher, **of)[0]
            rows.append([f"{cipher}, `{kernel}`",
                         *[measured.value("time", cipher=cipher, bytes=size_, **of) for size_ in sizes],
                         derive("inverse", measured.value("rate to aes-256-ecb", cipher=cipher, bytes=sizes[-1],
                                                          **of))])
        tables.append(Table(f"{title}: seconds on one core",
                            ["", *[size(size_) for size_ in sizes], "time to aes-256-ecb's"], rows))
    return panels, tables


def show(measured):
    panels, tables = on_processor(measured)
    more_panels, more_tables = on_device(measured)
    return Shown({"pizzuti.3des-slower": judge_slower(measured, "sequential"),
                  "pizzuti.ctr-like-ecb": judge_ctr(measured),
                  "pizzuti.speedups": judge_speedups(measured), "pizzuti.constant-speedup": judge_constant(measured),
                  "pizzuti.crossover": judge_crossover(measured),
                  "pizzuti.3des-slower-on-gpu": judge_slower(measured, "cuda"),
                  "pizzuti.parallel-3des-beats-aes": judge_parallel_3des(measured),
                  "pizzuti.3des-gains-more": judge_gain(measured)},
                 [*panels, *more_panels], [*tables, *more_tables],
                 ["Judged are the programs that compute every step, on both sides. About as many times: from half to "
                  "twice; in part: more than once. Much like, and a limit that stays: within a quarter. Where one "
                  "program gets faster than the other: between two sizes that were measured."])


def crossing(speedups):
    """Where one program gets faster than the other, in words."""
    slower = [size(size_) for size_, speedup in speedups.items() if float(speedup) < 1]
    faster = [size(size_) for size_, speedup in speedups.items() if float(speedup) > 1]
    if slower and faster:
        return f"between {slower[-1]} and {faster[0]}"
    return f"above {slower[-1]}" if slower else f"below {faster[0]}, if at all"


def beside(measured):
    why = measured.why_not("CUDA")
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        yield Counterpart("pizzuti.speedups", f"max_speedup/{name}", None,
                          (max(speedups.values(), key=float), " with every step computed") if speedups else (), why)
        yield Counterpart("pizzuti.crossover", f"sequential_faster_below/{name}", None,
                          (crossing(speedups),) if speedups else (), why)
    for executor, claim, where in (("sequential", "pizzuti.3des-slower", "on one core"),
                                   ("cuda", "pizzuti.3des-slower-on-gpu", "with CUDA")):
        of = dict(choice="compute", executor=executor)
        sizes = measured.factors("bytes", **of)
        rate = measured.value("rate to aes-256-ecb", cipher=PLAIN["3des"], bytes=sizes[-1], **of) if sizes else None
        yield Counterpart(claim, f"ratio_3des_to_aes_time/{executor}", None,
                          (derive("inverse", rate), f" {where}, {size(sizes[-1])}") if rate else (), why)


EXPERIMENT = Experiment(
    name="E7", title="3DES and AES-256, ECB and CTR",
    did=("pizzuti.aim", "pizzuti.key", "pizzuti.buffers", "pizzuti.ctr-transfer", "pizzuti.machine",
         "pizzuti.same-code"),
    judges=("pizzuti.3des-slower", "pizzuti.ctr-like-ecb", "pizzuti.speedups", "pizzuti.constant-speedup",
            "pizzuti.crossover",
            "pizzuti.3des-slower-on-gpu", "pizzuti.parallel-3des-beats-aes", "pizzuti.3des-gains-more"),
    here="Encryption by the kernel `compute` and by the fastest constant-time kernels on one core, in memory, "
         f"pieces of {size(BUFFER)}; where there is a GPU, the same two kinds of its kernels beside them.",
    measure=measure, show=show, beside=beside, seconds={"quick": 14, "full": 45})
