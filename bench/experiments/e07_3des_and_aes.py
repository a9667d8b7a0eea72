# SPDX-License-Identifier: Apache-2.0
"""E7: 3DES compared with AES-256, and ECB with CTR, by size; with a GPU, the processor compared with CUDA."""
from laboratory import contests, device
from laboratory.experiment import Experiment, Panel, Series, Shown, Table
from laboratory.published import value as published
from laboratory.values import derive, given, size

KB, MB = 1 << 10, 1 << 20
CIPHERS = ("aes-256-ecb", "aes-256-ctr", "des-ede3-ecb", "des-ede3-ctr")
BUFFER = 512 * KB  # the study's


def measure(lab):
    for kernel, sizes in (("compute", lab.pick([KB, 16 * KB, 256 * KB], [KB, 4 * KB, 64 * KB, MB, 4 * MB])),
                          ("auto", lab.pick([KB, 64 * KB, MB, 16 * MB],
                                            [KB, 4 * KB, 64 * KB, MB, 16 * MB, 256 * MB]))):
        contests.threads(lab, sizes=sizes, kernels=(kernel,), ciphers=CIPHERS, rounds=3, piece_sizes=(BUFFER,),
                         first=f"rate to {CIPHERS[0]}")
        for row in lab.measurements:
            row["of"].setdefault("choice", kernel)
    lab.leave_out(f"more than {size(lab.pick(256 * KB, 4 * MB))} with every step computed", "for the time")
    device.measure_too(lab, "E7")


CHOICES = {"compute": "Every step computed", "auto": "The fastest constant-time kernels"}


def on_device(measured):
    """(panels, tables, words and numbers) that compare CUDA with one thread of the processor."""
    panels, tables, here = [], [], []
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
        here += [*("; " if here else ""), *words_on_device(measured, choice, title)]
    return panels, tables, here


def words_on_device(measured, choice, title):
    """Says how much faster CUDA is at best, and up to which size the processor is faster."""
    words = [f"with CUDA ({title.lower()}) "]
    for cipher in ("des-ede3-ecb", "aes-256-ecb"):
        of = dict(choice=choice, executor="cuda", cipher=cipher)
        speedups = {size_: measured.value("speedup", bytes=size_, **of) for size_ in measured.factors("bytes", "speedup", **of)}
        slower = [size_ for size_, speedup in speedups.items() if float(speedup) < 1]
        words += [cipher, " was up to ", max(speedups.values(), key=float), " times as fast as one thread, which won ",
                  f"up to {size(slower[-1])}" if slower else "at no size", "; "]
    ratio = measured.value("rate to aes-256-ecb", choice=choice, executor="cuda", cipher="des-ede3-ecb",
                           bytes=measured.factors("bytes", choice=choice, executor="cuda")[-1])
    return [*words, "3DES took ", derive("inverse", ratio), " times as long as AES-256"]


def show(measured):
    of = dict(choice="compute", executor="sequential")
    sizes = measured.factors("bytes", **of)
    largest = sizes[-1]

    def ratio(cipher, choice, bytes_):
        return measured.value("rate to aes-256-ecb", cipher=cipher, choice=choice, bytes=bytes_,
                              executor="sequential")
    des = derive("inverse", ratio("des-ede3-ecb", "compute", largest))
    fast_sizes = measured.factors("bytes", choice="auto", executor="sequential")
    fast = derive("inverse", ratio("des-ede3-ecb", "auto", fast_sizes[-1]))
    ctr = derive("inverse", ratio("aes-256-ctr", "compute", largest))
    outcome = "holds" if float(des) > 4 and 0.8 < float(ctr) < 1.25 else "in part"
    panels, tables = [], []
    for choice, title in CHOICES.items():
        of = dict(choice=choice, executor="sequential")
        at = measured.factors("bytes", **of)
        panels.append(Panel(f"{title}, one core", "bytes", "seconds", [
            Series(cipher, [given(size_) for size_ in at],
                   [measured.value("time", cipher=cipher, bytes=size_, **of) for size_ in at])
            for cipher in CIPHERS], logx=True, logy=True, x_is="bytes"))
        rows = []
        for cipher in CIPHERS:
            kernel = measured.factors("kernel", cipher=cipher, **of)[0]
            rows.append([f"{cipher}, `{kernel}`",
                         *[measured.value("time", cipher=cipher, bytes=size_, **of) for size_ in at],
                         derive("inverse", ratio(cipher, choice, at[-1]))])
        tables.append(Table(f"{title}: seconds on one core",
                            ["", *[size(size_) for size_ in at], "time to aes-256-ecb's"], rows))
    more_panels, more_tables, cuda = on_device(measured)
    study = "pizzuti"
    return Shown(outcome,
                 ["3DES took ", published(f"{study}/ratio_3des_to_aes_time/sequential"),
                  " times as long as AES-256 on the processor and ",
                  published(f"{study}/ratio_3des_to_aes_time/cuda"), " times with CUDA, which was up to ",
                  published(f"{study}/max_speedup/3des"), " x (3DES) and ",
                  published(f"{study}/max_speedup/aes-256"), " x (AES-256) as fast; CTR cost about what ECB cost"],
                 ["on one core 3DES took ", des, " times as long as AES-256, each computed step by step, and ",
                  fast, " times with the fastest constant-time kernels; CTR took ", ctr, " times as long as ECB",
                  *(["; ", *cuda] if cuda else [])],
                 [*panels, *more_panels], [*tables, *more_tables],
                 ["The part of the finding that a processor can show: 3DES takes several times as long (held from "
                  "four times), and CTR within a quarter of ECB's time."])


EXPERIMENT = Experiment(
    name="E7", title="3DES and AES-256, ECB and CTR", study="pizzuti",
    did="Compared sequential C++ with CUDA for 3DES and AES-256 in ECB and CTR, in buffers of 512 KB, without the "
        "disk; files up to hundreds of MB.",
    here="The kernel `compute` and the fastest constant-time kernels on one core, in memory, pieces of 512 KB; where "
         "there is a GPU, the same two kinds of its kernels beside them.",
    measure=measure, show=show, seconds={"quick": 14, "full": 45})
