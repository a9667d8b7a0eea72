# SPDX-License-Identifier: Apache-2.0
"""E5: libcrypto compared with kernels that use AES instructions, for all sizes of key and both directions; and libcrypto's
rates with the three sizes of key, in turns."""
from laboratory import contests, programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, Verdict
from laboratory.values import best, derive

WANTED = ("openssl", "copy", "aesni", "vaes256", "vaes512", "armv8")
TASKS = [("ecb", ("encrypt", "decrypt")), ("ctr", ("encrypt",)), ("cbc", ("decrypt",)),
         ("gcm", ("encrypt", "decrypt"))]
KEY_BITS = (128, 192, 256)
COMPARED = ("aes-128-ctr", "aes-256-ctr")  # which the answer is made of, at the least
TO_SHORTEST = f"rate to aes-{KEY_BITS[0]}"
BYTES = 16384


def measure(lab):
    measure_keys(lab)
    tasks = {f"aes-{bits}-{mode}": directions for bits in KEY_BITS for mode, directions in TASKS}
    others = [cipher for cipher in tasks if cipher not in COMPARED]
    for ciphers in lab.as_time_allows([COMPARED, *([cipher] for cipher in others)], ", ".join):
        for cipher in ciphers:
            names = contests.available_kernels(cipher, WANTED)
            contests.kernels(lab, ciphers=[cipher], sizes=[BYTES], names=names, directions=tasks[cipher],
                             seconds=lab.pick(0, 2), first="ratio to openssl")


def measure_keys(lab):
    """libcrypto's rates with keys of all sizes, which take turns, mode by mode."""
    rounds = lab.pick(3, 9)
    for mode, (direction, *_) in lab.as_time_allows(TASKS, lambda task: f"sizes of key, {task[0]}"):
        rates = {bits: [] for bits in KEY_BITS}
        for turn in range(rounds):
            lab.step(f"sizes of key, {mode}, round {turn + 1} of {rounds}")
            for bits in KEY_BITS:
                (row,) = programs.paes_bench("kernel", "--cipher", f"aes-{bits}-{mode}", "--kernel", "openssl", "--direction",
                                             direction, "--size", BYTES, "--threads", 1, "--seconds", 0)["results"]
                rates[bits].append(row["gb_per_s"])
        for bits in KEY_BITS[1:]:
            lab.record_rounds({"mode": mode, "bits": bits, "direction": direction, "bytes": BYTES}, TO_SHORTEST, "ratio",
                              [mine / shortest for mine, shortest in zip(rates[bits], rates[KEY_BITS[0]])])


def by_keys(measured):
    """{(mode, bits): rate to that with the shortest key}, if the result has turns of them."""
    return {(mode, bits): measured.value(TO_SHORTEST, mode=mode, bits=bits)
            for mode in measured.factors("mode", TO_SHORTEST) for bits in measured.factors("bits", TO_SHORTEST)}


def keys_table(measured):
    found = by_keys(measured)
    if not found:
        return []
    rows = [[f"{mode}, {bits} bits", *[measured.value(TO_SHORTEST, field, mode=mode, bits=bits)
                                       for field in ("median", "min", "max")]] for mode, bits in found]
    return [Table(f"libcrypto's rate to that with keys of {KEY_BITS[0]} bits, in turns", ["", "median", "least", "most"], rows)]


def words_of_keys(measured):
    """How much slower longer keys are."""
    found = [value for (_, bits), value in by_keys(measured).items() if bits == KEY_BITS[-1]]
    if found:
        least, most = best("least", found), best("most", found)
        return [f"libcrypto runs AES-{KEY_BITS[-1]} at ", least, " to ", most,
                f" of its rate with AES-{KEY_BITS[0]}, by mode"]
    of = dict(direction="encrypt", kernel="openssl")
    return ["libcrypto runs AES-256-CTR at ", derive("quotient", *(measured.value("rate", cipher=cipher, **of)
                                                                  for cipher in reversed(COMPARED))),
            " of its rate with AES-128, by runs one after the other, as this result has no turns of them"]


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
    compared = [measured.value("ratio to openssl", kernel=ours[-1] if ours else "openssl", **of)
                for of in tasks]
    least, most = min(compared, key=float), max(compared, key=float)
    return Shown({"pousa.outlook-openssl": Verdict("answered", [
        *words_of_keys(measured), "; ",
        *(["`" + ours[-1] + "` runs at ", least, " to ", most, " x libcrypto's rate"] if ours else
          ["no kernel of ours with AES instructions runs here"]),
        "; all on one core: E4 has libcrypto by executor, E18 its ciphers"])},
                 panels, [Table("GB/s on one core, 16 KiB; the fastest of ours against `openssl` and `copy`",
                                ["", *[f"`{name}`" for name in kernels], "to `openssl`", "to `copy`"], rows),
                          *keys_table(measured)],
                 ["`copy` is memcpy in the cipher's place. Rows of the first table are of separate runs, one after the other, "
                  "so that they say little of each other. The ratio to `copy` is of medians of the same run; that to `openssl` "
                  "was formed in each round."])


EXPERIMENT = Experiment(
    name="E5", title="libcrypto and AES instructions", judges=("pousa.outlook-openssl",),
    here="libcrypto beside our kernels with AES instructions: AES-128, 192 and 256, in ECB, CTR, CBC (decryption) "
         "and GCM, messages of 16 KiB in the cache, one core.",
    measure=measure, show=show, seconds={"quick": 22, "full": 75})
