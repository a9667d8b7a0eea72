# SPDX-License-Identifier: Apache-2.0
"""E7: 3DES compared with AES-256, and ECB with CTR, by size and in both directions; with a GPU, the processor compared
with CUDA, which gets the text as a whole or in buffers, from pinned memory or other."""
import contextlib
import itertools

from laboratory import contests, device
from laboratory.experiment import Counterpart, Experiment, Panel, Series, Shown, Table, Verdict, separated
from laboratory.judgement import QUARTER, TENTH, TWICE
from laboratory.published import kibibytes, label, value as published
from laboratory.values import as_shown, derive, given, size

KB, MB = 1 << 10, 1 << 20
CIPHERS = ("aes-256-ecb", "aes-256-ctr", "des-ede3-ecb", "des-ede3-ctr")
NAMES = {"AES-256": "aes-256", "3DES": "des-ede3"}
DIRECTIONS = ("encrypt", "decrypt")
RATE = f"rate to {CIPHERS[0]}"
BUFFER = 512 * KB  # the study's
PLAIN = {"3des": "des-ede3-ecb", "aes-256": "aes-256-ecb"}  # ciphers by their names in published.json


def measure(lab):
    for kernel, sizes in (("compute", lab.pick([KB, 16 * KB, 256 * KB], [KB, 4 * KB, 64 * KB, MB, 4 * MB])),
                          ("auto", lab.pick([KB, 64 * KB, MB, 16 * MB],
                                            [KB, 4 * KB, 64 * KB, MB, 16 * MB, 256 * MB]))):
        for direction in DIRECTIONS:
            # Without the first of them nothing can be shown.
            with lab.part(f"{direction} with {kernel}") if lab.measurements else contextlib.nullcontext():
                contests.threads(lab, sizes=lab.sizes(sizes if direction == "encrypt" else lab.pick(sizes[1:2], sizes)),
                                 kernels=(kernel,), ciphers=CIPHERS, directions=(direction,), rounds=3,
                                 piece_sizes=(BUFFER,), first=RATE)
        for row in lab.measurements:
            row["of"].setdefault("choice", kernel)
    if "sizes" not in lab.chosen:
        lab.leave_out(f"more than {size(lab.pick(256 * KB, 4 * MB))} with every step computed", "for the time")
    if lab.quick and "sizes" not in lab.chosen:
        lab.leave_out("decryption but at one size", "for the time; --full has it")
    device.measure_too(lab, "E7")


CHOICES = {"compute": "Every step computed", "auto": "The fastest constant-time kernels"}
# How the device gets the text. Older results have the first way alone, and do not say so.
PINNED, PAGEABLE = {"way": (None, "whole"), "memory": (None, "pinned")}, {"way": "whole", "memory": "pageable"}
BUFFERS_PINNED, BUFFERS = {"way": "buffers", "memory": "pinned"}, {"way": "buffers", "memory": "pageable"}
WAYS = {"pinned": PINNED, "pageable": PAGEABLE, "buffers, pinned": BUFFERS_PINNED, "buffers, pageable": BUFFERS}


def buffer_of(measured):
    return next(iter(measured.factors("buffer_bytes")), BUFFER)


def judged_way(measured, size_):
    """The way through the device that verdicts are about: in buffers from pageable memory. A text that is no longer
    than a buffer is a buffer."""
    of = dict(executor="cuda", choice="compute", bytes=size_)
    return next((way for way in (BUFFERS, PAGEABLE) if measured.find("time", **of, **way)), PINNED)


def words_of_way(measured):
    if measured.find(executor="cuda", memory="pageable"):
        return f"in buffers of {size(buffer_of(measured))} from pageable memory"
    return "as a whole from pinned memory"


def figure(measured, quantity, executor, cipher, size_, direction="encrypt"):
    """A figure of the programs that compute every step."""
    way = judged_way(measured, size_) if executor == "cuda" else {}
    return measured.value(quantity, choice="compute", executor=executor, cipher=cipher, bytes=size_,
                          direction=direction, **way)


def sizes_of(measured, quantity, executor, cipher, direction="encrypt"):
    """The sizes that have the figure; on the device, by the way that verdicts are about."""
    is_pageable = executor == "cuda" and measured.find(executor="cuda", memory="pageable")
    return measured.factors("bytes", quantity, choice="compute", executor=executor, cipher=cipher, direction=direction,
                            **({"memory": "pageable"} if is_pageable else {}))


def speedups_on_device(measured, cipher):
    """{bytes: speedup} of CUDA over one thread, both of which compute every step."""
    return {size_: figure(measured, "speedup", "cuda", cipher, size_)
            for size_ in sizes_of(measured, "speedup", "cuda", cipher)}


def no_device():
    return Verdict("open", ["no CUDA device was measured"])


WHERE = {"sequential": "on one core", "cuda": "with CUDA"}


def judge_slower(measured, executor):
    """Whether 3DES takes about as many times as long as AES-256 as the claim says, in both directions."""
    claimed = published(f"pizzuti/ratio_3des_to_aes_time/{executor}")
    ratios, here = {}, []
    for direction in DIRECTIONS:
        sizes = sizes_of(measured, RATE, executor, PLAIN["3des"], direction)
        if sizes:
            ratios[direction] = derive("inverse", figure(measured, RATE, executor, PLAIN["3des"], sizes[-1], direction))
            here += [", and " if here else "3DES took ", ratios[direction],
                     f" times as long as AES-256 to {direction} {size(sizes[-1])}"]
    if not ratios:
        return no_device()
    here.append(", each computed step by step")
    of = dict(choice="auto", executor=executor, direction="encrypt", cipher=PLAIN["3des"])
    fast = measured.factors("bytes", **of)
    if fast:
        rate = measured.value(RATE, bytes=fast[-1], **of)
        here += [", and ", derive("inverse", rate), " times to encrypt with the fastest constant-time kernels"]
    return measured.judged([(f"to {direction}", measured.is_near(ratio, claimed, TWICE)) for direction, ratio in ratios.items()], here,
                  "from half to twice as many times as is said, in each direction, at the largest size",
                  [f"to {direction} was not measured" for direction in DIRECTIONS if direction not in ratios], ratios.values())


def ctr_to_ecb(measured):
    """(executor, direction, cipher, bytes, how many times as long as ECB CTR took) of the programs that compute every step."""
    for executor, direction, (name, cipher) in itertools.product(WHERE, DIRECTIONS, NAMES.items()):
        ecb, ctr = (sizes_of(measured, RATE, executor, f"{cipher}-{mode}", direction) for mode in ("ecb", "ctr"))
        if sizes := [size_ for size_ in ecb if size_ in ctr]:
            rates = [figure(measured, RATE, executor, f"{cipher}-{mode}", sizes[-1], direction) for mode in ("ecb", "ctr")]
            yield executor, direction, name, sizes[-1], derive("quotient", *rates)


def fastest_ctr(measured):
    """What CTR takes to ECB with the fastest kernels on one core, in words."""
    of = dict(choice="auto", executor="sequential", direction="encrypt")
    words = []
    for name, cipher in NAMES.items():
        if sizes := measured.factors("bytes", RATE, cipher=f"{cipher}-ctr", **of):
            rates = [measured.value(RATE, cipher=f"{cipher}-{mode}", bytes=sizes[-1], **of) for mode in ("ecb", "ctr")]
            if all(rates):
                words += [" and " if words else "; with the fastest kernels on one core ", derive("quotient", *rates),
                          f" times to encrypt {size(sizes[-1])} with {name}"]
    return words


def judge_ctr(measured):
    """In speed, and on a device in speedup as well."""
    parts, found, by = [], {}, []
    for executor, direction, name, size_, ratio in ctr_to_ecb(measured):
        parts.append((f"{name} ({direction}, {WHERE[executor]})", measured.is_near(ratio, 1, TENTH)))
        found.setdefault(f"{WHERE[executor]} to {direction} {size(size_)} ", []).append([ratio, f" ({name})"])
        by.append(ratio)
    here = ["CTR took as many times as long as ECB: ",
            *separated([[where, *separated(ratios, " and ")] for where, ratios in found.items()], ", ")]
    missing = ["the speedup was not compared, for no CUDA device was measured"]
    for name, cipher in NAMES.items():
        gains = [speedups_on_device(measured, f"{cipher}-{mode}") for mode in ("ecb", "ctr")]
        if sizes := [size_ for size_ in gains[0] if size_ in gains[1]]:
            missing = []
            ratio = derive("quotient", gains[1][sizes[-1]], gains[0][sizes[-1]])
            parts.append((f"the speedup with {name}", measured.is_near(ratio, 1, TENTH)))
            by.append(ratio)
            here += [f"; CTR's speedup with {name} was ", ratio, f" times ECB's to encrypt {size(sizes[-1])}"]
    return measured.judged(parts, [*here, *fastest_ctr(measured)],
                  "where every step is computed, times and speedups are within a tenth of each other, at the largest size",
                  missing, by)


def judge_constant(measured):
    """Whether the speedup is the same from a buffer on: a longer text is more of the same."""
    held, here = [], []
    for cipher in PLAIN.values():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        speedups = {size_: speedup for size_, speedup in speedups.items() if size_ >= buffer_of(measured)}
        if len(speedups) < 2:
            return Verdict("open", ["fewer than two sizes of at least a buffer were compared with one core"])
        held.append((cipher, measured.is_near(max(speedups.values(), key=float), min(speedups.values(), key=float), QUARTER)))
        here += ["; " if here else f"to encrypt {words_of_way(measured)}, ", f"{cipher} was as many times as fast as one core: "]
        for place, (size_, speedup) in enumerate(speedups.items()):
            here += [", " if place else "", speedup, f" at {size(size_)}"]
    return measured.judged(held, here, "to encrypt with each cipher, speedups from a buffer on are within a quarter of each other")


def judge_speedups(measured):
    held, here = [], []
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        most = max(speedups.values(), key=float)
        held.append((cipher, measured.is_near(most, published(f"pizzuti/max_speedup/{name}"), TWICE)))
        here += ["; " if here else "to encrypt, ", f"{cipher} was at most ", most,
                 " times as fast as one core that computes every step as well"]
    return measured.judged(held, [*here, f", {words_of_way(measured)}"], "to encrypt with each cipher, from half to twice the limit that is said")


def crossing(measured, cipher):
    """(the largest size up to which one core is faster, the smallest from which the device is); None where it is at no
    size. Sizes between the two may be either."""
    speedups = speedups_on_device(measured, cipher)
    core, device_ = None, None
    for size_, speedup in speedups.items():
        if not measured.is_more(1, speedup):
            break
        core = size_
    for size_, speedup in reversed(speedups.items()):
        if not measured.is_more(speedup, 1):
            break
        device_ = size_
    return core, device_


def judge_crossover(measured):
    """Each cipher: whether the claimed size lies where the device gets faster, or whether there is such a size."""
    held, here, by = [], [], []
    for name, cipher in PLAIN.items():
        if not speedups_on_device(measured, cipher):
            return no_device()
        core, device_ = crossing(measured, cipher)
        claimed = KB * float(kibibytes(f"pizzuti/sequential_faster_below/{name}"))
        # If the device is faster at the smallest size that was measured, nobody knows whether one core is below it.
        if core is not None or device_ is None:
            held.append((f"such sizes with {cipher}", None not in (core, device_)))
        held.append((f"where the published size for {cipher} lies", None not in (core, device_) and core <= claimed <= device_))
        speedups = speedups_on_device(measured, cipher)
        by += speedups.values()
        here += ["; " if here else "to encrypt with ", f"{cipher}: one core was faster ",
                 *([f"up to {size(core)}, where the device was ", speedups[core], " times as fast,"] if core is not None
                   else ["at no size that was measured"]), " and the device ",
                 *([f"from {size(device_)} on, where it was ", speedups[device_], " times as fast"] if device_ is not None
                   else ["not at the largest size"])]
    return measured.judged(held, [*here, f", {words_of_way(measured)}"],
                  "with each cipher one core is faster up to some size and the device from some size on, and the published size lies "
                  "between the two", by=by)


def judge_parallel_3des(measured):
    with_aes = sizes_of(measured, "time", "sequential", PLAIN["aes-256"])
    ratios = {size_: derive("quotient", figure(measured, "time", "sequential", PLAIN["aes-256"], size_),
                            figure(measured, "time", "cuda", PLAIN["3des"], size_))
              for size_ in sizes_of(measured, "time", "cuda", PLAIN["3des"]) if size_ in with_aes}
    if not ratios:
        return no_device()
    largest = list(ratios)[-1]
    slower = [size_ for size_, ratio in ratios.items() if as_shown(ratio) <= 1]
    return measured.judged([(size(largest), measured.is_more(ratios[largest], 1))],
                  ["3DES with CUDA was ", ratios[largest],
                   f" times as fast as AES-256 on one core (to encrypt {size(largest)}, every step computed, "
                   f"{words_of_way(measured)})",
                   f", and no faster at {', '.join(map(size, slower))}" if slower else ""],
                  "faster at the largest size", by=[ratios[largest]])


def judge_gain(measured):
    most = {}
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        if not speedups:
            return no_device()
        most[name] = max(speedups.values(), key=float)
    sizes = sizes_of(measured, RATE, "cuda", PLAIN["3des"])
    slower = derive("inverse", figure(measured, RATE, "cuda", PLAIN["3des"], sizes[-1]))
    return measured.judged((("the gain", measured.is_more(most["3des"], most["aes-256"])), ("the time", measured.is_more(slower, 1))),
                  ["every step computed, to encrypt, 3DES gained at most ", most["3des"], " x and AES-256 ", most["aes-256"],
                   " x; with CUDA 3DES took ", slower, f" times as long, {words_of_way(measured)}"],
                  "to encrypt, 3DES has the larger speedup, and takes longer; by how much is not judged")


def speedup_panel(title, lines, limits=()):
    """Speedups by size. `limits`: published ones, as lines."""
    xs = sorted({x for _, speedups in lines for x in speedups})
    ends = [given(xs[0]), given(xs[-1])]
    series = [Series(name, [given(size_) for size_ in speedups], list(speedups.values())) for name, speedups in lines]
    series += [Series(label(path), ends, [published(path)] * 2, "published") for path in limits]
    return Panel(title, "bytes", "times as fast as one thread",
                 [*series, Series("as fast", ends, [given(1), given(1)], "ideal")], logx=True, logy=True, x_is="bytes")


def crossover_panel(measured):
    """From which size on the device is faster, beside the published sizes."""
    found = {name: crossing(measured, cipher) for name, cipher in PLAIN.items()}
    xs = {"3des": "3DES", "aes-256": "AES-256"}
    bounds = [Series(words, [xs[name] for name in found if found[name][end] is not None],
                     [given(bounds[end] // KB if bounds[end] % KB == 0 else bounds[end] / KB)
                      for bounds in found.values() if bounds[end] is not None])
              for end, words in enumerate(("one core was faster up to", "CUDA was faster from"))]
    paths = {name: f"pizzuti/sequential_faster_below/{name}" for name in found}
    return Panel("Where CUDA gets faster than one core", "", "KiB",
                 [*bounds, *(Series(label(path), [xs[name]], [kibibytes(path)], "published")
                             for name, path in paths.items())], kind="bars", logy=True)


def ways_panel(measured):
    """The ways through the device at the largest size."""
    of = dict(choice="compute", executor="cuda", direction="encrypt")
    largest = measured.factors("bytes", **of)[-1]
    times = {name: [measured.value("time", cipher=cipher, bytes=largest, **of, **way) for cipher in CIPHERS]
             for name, way in WAYS.items()}
    return Panel(f"CUDA: {size(largest)} by memory, whole and in buffers", "", "GB/s", [
        Series(name, list(CIPHERS), [time and derive("GB/s", time, given(largest)) for time in by_cipher])
        for name, by_cipher in times.items() if any(by_cipher)], kind="bars", logy=True)


def tables_on_device(measured, choice, direction):
    """Seconds, and speedups over one thread, of all ways through the device."""
    of = dict(choice=choice, executor="cuda", direction=direction)
    sizes = measured.factors("bytes", **of)
    for quantity, what in (("time", "seconds, copies included"), ("speedup", "times as fast as one thread")):
        rows = []
        for cipher in CIPHERS:
            for name, way in WAYS.items():
                if measured.find(quantity, cipher=cipher, **of, **way):
                    kernel = measured.factors("kernel", cipher=cipher, **of)[0]
                    rows.append([f"{cipher}, `{kernel}`, {name}",
                                 *[measured.value(quantity, cipher=cipher, bytes=size_, **of, **way)
                                   for size_ in sizes]])
        if rows:
            yield Table(f"CUDA: {CHOICES[choice].lower()}, {direction}: {what}", ["", *map(size, sizes)], rows)


def on_device(measured):
    """(panels, tables) that compare CUDA with one thread of the processor."""
    panels, tables = [], []
    for choice, title in CHOICES.items():
        of = dict(choice=choice, executor="cuda", direction="encrypt", **PINNED)
        lines = [(cipher, {size_: measured.value("speedup", cipher=cipher, bytes=size_, **of)
                           for size_ in measured.factors("bytes", "speedup", cipher=cipher, **of)})
                 for cipher in CIPHERS]
        if any(speedups for _, speedups in lines):
            panels.append(speedup_panel(f"CUDA: {title.lower()}", lines))
        for direction in DIRECTIONS:
            tables += tables_on_device(measured, choice, direction)
    judged = [(cipher, speedups_on_device(measured, cipher)) for cipher in PLAIN.values()]
    if all(speedups for _, speedups in judged):
        panels.append(speedup_panel(f"CUDA, {words_of_way(measured)}", judged,
                                    [f"pizzuti/max_speedup/{name}" for name in PLAIN]))
        panels.append(crossover_panel(measured))
    if measured.find(executor="cuda", way="whole"):
        panels.append(ways_panel(measured))
    return panels, tables


def on_processor(measured):
    """(panels, tables) of one core."""
    panels, tables, longer = [], [], []
    for choice, title in CHOICES.items():
        of = dict(choice=choice, executor="sequential")
        sizes = measured.factors("bytes", direction="encrypt", **of)
        if not sizes:
            continue
        panels.append(Panel(f"{title}, one core", "bytes", "seconds", [
            Series(cipher, [given(size_) for size_ in sizes],
                   [measured.value("time", cipher=cipher, bytes=size_, direction="encrypt", **of) for size_ in sizes])
            for cipher in CIPHERS], logx=True, logy=True, x_is="bytes"))
        rows = []
        for direction in measured.factors("direction", **of):
            largest = measured.factors("bytes", direction=direction, **of)[-1]
            for cipher in CIPHERS:
                here = dict(cipher=cipher, direction=direction, **of)
                found = measured.factors("kernel", **here)
                if found:
                    rate = measured.value(RATE, bytes=largest, **here)
                    rows.append([f"{cipher}, {direction}, `{found[0]}`",
                                 *[measured.value("time", bytes=size_, **here) for size_ in sizes],
                                 derive("inverse", rate) if rate else None])
        tables.append(Table(f"{title}: seconds on one core",
                            ["", *[size(size_) for size_ in sizes], "time to aes-256-ecb's"], rows))
        largest = next(iter(reversed(measured.factors("bytes", "time", direction="decrypt", **of))), None)
        times = [[measured.value("time", cipher=cipher, bytes=largest, direction=direction, **of)
                  for direction in ("decrypt", "encrypt")] for cipher in CIPHERS]
        longer.append(Series(f"{title.lower()}, {size(largest)}" if largest else title, list(CIPHERS),
                             [derive("quotient", *both) if all(both) else None for both in times]))
    if any(any(series.ys) for series in longer):
        panels.append(Panel("Decryption on one core: times as long as encryption", "", "times as long", longer,
                            kind="bars"))
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
                 ["Judged are the programs that compute every step, on both sides; on the device in buffers one after "
                  "the other, copied from and to pageable memory, where that was measured."])


def crossing_in_words(measured, cipher):
    core, device_ = crossing(measured, cipher)
    if core is not None and device_ is not None:
        return f"between {size(core)} and {size(device_)}"
    if device_ is not None:
        return f"below {size(device_)}, if at all"
    return f"above {size(core)}" if core is not None else "at no size that was measured here"


def beside(measured):
    why = measured.why_not("CUDA")
    for name, cipher in PLAIN.items():
        speedups = speedups_on_device(measured, cipher)
        yield Counterpart("pizzuti.speedups", f"max_speedup/{name}", None,
                          (max(speedups.values(), key=float), " to encrypt, with every step computed") if speedups else (), why)
        yield Counterpart("pizzuti.crossover", f"sequential_faster_below/{name}", None,
                          (crossing_in_words(measured, cipher),) if speedups else (), why)
    for executor, claim, where in (("sequential", "pizzuti.3des-slower", "on one core"),
                                   ("cuda", "pizzuti.3des-slower-on-gpu", "with CUDA")):
        sizes = sizes_of(measured, RATE, executor, PLAIN["3des"])
        rate = figure(measured, RATE, executor, PLAIN["3des"], sizes[-1]) if sizes else None
        yield Counterpart(claim, f"ratio_3des_to_aes_time/{executor}", None,
                          (derive("inverse", rate), f" {where}, {size(sizes[-1])}") if rate else (), why)


EXPERIMENT = Experiment(
    name="E7", title="3DES and AES-256, ECB and CTR",
    did=("pizzuti.aim", "pizzuti.key", "pizzuti.buffers", "pizzuti.ctr-transfer", "pizzuti.machine",
         "pizzuti.same-code"),
    judges=("pizzuti.3des-slower", "pizzuti.ctr-like-ecb", "pizzuti.speedups", "pizzuti.constant-speedup",
            "pizzuti.crossover",
            "pizzuti.3des-slower-on-gpu", "pizzuti.parallel-3des-beats-aes", "pizzuti.3des-gains-more"),
    here="Encryption and decryption by the kernel `compute` and by the fastest constant-time kernels on one core, in "
         f"memory, pieces of {size(BUFFER)}. Where there is a GPU, the same two kinds of its kernels beside them; those "
         f"that compute every step get the text as a whole and in buffers of {size(BUFFER)} one after the other, from "
         "pinned and from pageable memory.",
    measure=measure, show=show, beside=beside, seconds={"quick": 18, "full": 95})
