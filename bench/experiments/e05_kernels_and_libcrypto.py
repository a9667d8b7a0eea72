# SPDX-License-Identifier: Apache-2.0
"""E5: libcrypto compared with kernels that use AES instructions, for all sizes of key and both directions."""
from laboratory import contests
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.values import derive

WANTED = ("openssl", "copy", "aesni", "vaes256", "vaes512", "armv8")
TASKS = [("ecb", ("encrypt", "decrypt")), ("ctr", ("encrypt",)), ("cbc", ("decrypt",)),
         ("gcm", ("encrypt", "decrypt"))]
KEY_BITS = (128, 192, 256)
COMPARED = ("aes-128-ctr", "aes-256-ctr")  # which the answer is made of


def measure(lab):
    tasks = {f"aes-{bits}-{mode}": directions for bits in KEY_BITS for mode, directions in TASKS}
    others = [cipher for cipher in tasks if cipher not in COMPARED]
    for ciphers in lab.as_time_allows([COMPARED, *([cipher] for cipher in others)], ", ".join):
        for cipher in ciphers:
            names = contests.available_kernels(cipher, WANTED)
            contests.kernels(lab, ciphers=[cipher], sizes=[16384], names=names, directions=tasks[cipher],
                             seconds=lab.pick(0, 2), first="ratio to openssl")


def in_order(ciphers):
    """By key, and then by mode."""
    return sorted(ciphers, key=[f"aes-{bits}-{mode}" for bits in KEY_BITS for mode, _ in TASKS].index)


def show(measured):
    kernels = measured.factors("kernel")
    ours = [name for name in kernels if name not in ("openssl", "copy")]
    rows, tasks = [], []
    for cipher in in_order(measured.factors("cipher")):
        for direction in measured.factors("direction", cipher=cipher):
            of = dict(cipher=cipher, direction=direction)
            tasks.append(of)
            fastest = max(ours or ["openssl"], key=lambda name: float(measured.value("rate", kernel=name, **of)))
            rows.append([f"{cipher} {direction}",
                         *[measured.value("rate", kernel=name, **of) for name in kernels],
                         measured.value("ratio to openssl", kernel=fastest, **of),
                         derive("quotient", measured.value("rate", kernel=fastest, **of),
                                measured.value("rate", kernel="copy", **of))])
    panels = [Panel(f"AES-{bits}, 16 KiB, one core", "", "GB/s", [
        Series(f"`{name}`", [f"{of['cipher'][8:]} {of['direction'][:3]}." for of in tasks
                             if of["cipher"].startswith(f"aes-{bits}")],
               [measured.value("rate", kernel=name, **of) for of in tasks
                if of["cipher"].startswith(f"aes-{bits}")]) for name in kernels], kind="bars", logy=True)
        for bits in (128, 256)]
    keys = dict(direction="encrypt", kernel="openssl")
    ratio = derive("quotient", measured.value("rate", cipher="aes-256-ctr", **keys),
                   measured.value("rate", cipher="aes-128-ctr", **keys))
    compared = [measured.value("ratio to openssl", kernel=ours[-1] if ours else "openssl", **of)
                for of in tasks]
    least, most = min(compared, key=float), max(compared, key=float)
    return Shown({"pousa.outlook-openssl": Verdict("answered", [
        "libcrypto runs AES-256-CTR at ", ratio, " of its rate with AES-128; ",
        *(["`" + ours[-1] + "` runs at ", least, " to ", most, " x libcrypto's rate"] if ours else
          ["no kernel of ours with AES instructions runs here"])])},
                 panels, [Table("GB/s on one core, 16 KiB; the fastest of ours against `openssl` and `copy`",
                                ["", *[f"`{name}`" for name in kernels], "to `openssl`", "to `copy`"], rows)],
                 ["`copy` is memcpy in the cipher's place. The ratio to `copy` is of medians of the same run; "
                  "that to `openssl` was formed in each round."])


EXPERIMENT = Experiment(
    name="E5", title="libcrypto and AES instructions", judges=("pousa.outlook-openssl",),
    here="libcrypto beside our kernels with AES instructions: AES-128, 192 and 256, in ECB, CTR, CBC (decryption) "
         "and GCM, messages of 16 KiB in the cache, one core.",
    measure=measure, show=show, seconds={"quick": 18, "full": 60})
