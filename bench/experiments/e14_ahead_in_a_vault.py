# SPDX-License-Identifier: Apache-2.0
"""E14: whether keystream made in advance pays in an encrypted file system: on blocks of a vault, and on a mount."""
import contextlib
import os
import subprocess
import time

from laboratory import contests, programs, scratch
from laboratory.experiment import Experiment, Failed, Panel, Series, Shown, Table, Verdict, separated
from laboratory.values import derive

AHEAD = 64
BLOCK = 4096
KERNELS = ("bitslice", "aesni", "vaes256", "vaes512")
WITHOUT, WITH = "at once", "ahead"  # ways of a mount
WAYS = ("random", "numbered", "ahead", "ready")  # of a block, as paes-bench names them


def measure(lab):
    kernels = contests.available_kernels("aes-256-gcm", KERNELS)
    lab.step("blocks of a vault")
    document = programs.paes_bench("vault", "--kernel", ",".join(kernels), "--ahead", AHEAD, "--delay-us",
                                   ",".join(map(str, lab.delays((0, 20)))), "--blocks", lab.pick(1024, 16384), "--runs", 5)
    for row in document["results"]:
        of = {key: row[key] for key in ("kernel", "delay_us")}
        for way in row["ways"]:
            at = {**of, "way": way["way"]}
            for field in ("p50", "p99"):
                lab.record(at, f"seal {field}", "ns", way[f"{field}_ns"], row["rounds"])
            lab.record_ratio(at, "seal p50 ratio", way["p50_ratio"], row["rounds"])
        lab.record(of, "hit rate", "share", row["hit_rate"], row["rounds"])
    why = why_no_mount()
    if why is not None:
        lab.leave_out("a mount", why)
        return
    for kernel in lab.as_time_allows(kernels, lambda kernel: f"a mount, {kernel}"):
        lab.step(f"a mount, {kernel}")
        measure_mount(lab, kernel)


def why_no_mount():
    if not (programs.BIN / "paes-mount").exists():
        return "paes-mount is not built, because there is no libfuse"
    return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "there is no /dev/fuse that this user may open"


def measure_mount(lab, kernel):
    """Writes a file again and again, in blocks of 4 KiB, on a mount with keystream ahead and on one without."""
    blocks, rounds = lab.pick(1024, 16384), 7
    times = {WITHOUT: [], WITH: []}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch.scratch_folder())
        files = {way: stack.enter_context(file_on_a_mount(folder, kernel, ahead))
                 for way, ahead in ((WITHOUT, 0), (WITH, AHEAD))}
        text = os.urandom(BLOCK)
        for round_ in range(rounds + 1):
            lab.step(f"a mount, {kernel}, round {round_} of {rounds}")
            for way in (WITHOUT, WITH) if round_ % 2 else (WITH, WITHOUT):
                begun = time.perf_counter()
                for block in range(blocks):
                    os.pwrite(files[way], text, block * BLOCK)
                if round_:  # the first one warms the caches
                    times[way].append((time.perf_counter() - begun) / blocks)
                if os.pread(files[way], BLOCK, (blocks - 1) * BLOCK) != text:
                    raise Failed("paes-mount: what was written reads as something else")
    for way, seconds in times.items():
        lab.record_rounds({"kernel": kernel, "way": way}, "write", "ns", [1e9 * second for second in seconds])
    lab.record_rounds({"kernel": kernel}, "write ratio", "ratio",
                      [without / with_ for without, with_ in zip(times[WITHOUT], times[WITH])])


@contextlib.contextmanager
def file_on_a_mount(folder, kernel, ahead):
    """A descriptor of a new file on a mount whose writes reach the vault before they return."""
    vault, point, passphrase = (folder / f"{what}-{ahead}" for what in ("vault", "text", "passphrase"))
    passphrase.write_text("measured\n")
    vault.mkdir()
    point.mkdir()
    paes = programs.BIN / "paes"
    programs.run([paes, "vault", "init", "--work-factor", 10, "--passphrase-file", passphrase, vault])
    with programs.signals_kept() as take_signals, subprocess.Popen(
            [programs.BIN / "paes-mount", "-f", "-w", "--cache", "through", "--kernel", kernel, "--ahead", str(ahead),
             "--passphrase-file", passphrase, vault, point],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            take_signals()
            while not os.path.ismount(point):
                if server.poll() is not None:
                    said = server.stderr.read().decode(errors="replace").strip().splitlines() or ["nothing was said"]
                    raise Failed(f"paes-mount: {said[-1]}")
                time.sleep(0.01)
            file = os.open(point / "file", os.O_RDWR | os.O_CREAT)
            try:
                yield file
            finally:
                os.close(file)
        finally:
            server.terminate()
            server.wait(60)


def within_rounds(measured, quantity, **of):
    """A ratio with the least and the most of its rounds."""
    median, least, most = (measured.value(quantity, field, **of) for field in ("median", "min", "max"))
    return [median, " (", least, " to ", most, ")"] if least and most else [median]


def pays(measured, kernel):
    least, most = (measured.value("write ratio", field, kernel=kernel) for field in ("min", "max"))
    if float(least) > 1:
        return "pays in each round"
    return "costs time in each round" if float(most) < 1 else MIXED


MIXED = "pays in some rounds and costs time in others"


def where_it_pays(measured, kernels):
    """In what rounds it pays with each kernel, said once of those that are alike. Where rounds differ with all of them, the verdict is
    open, and says so itself."""
    alike = {}
    for kernel in kernels:
        alike.setdefault(pays(measured, kernel), []).append(f"`{kernel}`")
    if list(alike) == [MIXED]:
        return []
    return [f"; it {words} with {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}" for words, names in alike.items()]


def show(measured):
    kernels = measured.factors("kernel", "seal p50")
    delays = measured.factors("delay_us")
    of = dict(delay_us=delays[-1])
    sealing = []
    for kernel in kernels:
        for delay in delays:
            at = dict(kernel=kernel, delay_us=delay)
            sealing.append([f"`{kernel}`, {delay} µs", *[measured.value("seal p50", way=way, **at) for way in WAYS],
                            *[measured.value("seal p50 ratio", way=way, **at) for way in WAYS[1:]],
                            *[measured.value("seal p99", way=way, **at) for way in WAYS],
                            derive("percent", measured.value("hit rate", **at))])
    tables = [Table("A block of 4 KiB is sealed, by kernel and time between two blocks",
                    ["", *(f"p50 ns, {way}" for way in WAYS), *(f"random to {way}" for way in WAYS[1:]),
                     *(f"p99 ns, {way}" for way in WAYS), "% of ahead that were ready"], sealing)]
    panels = [Panel(f"A block is sealed, {delays[-1]} µs after the one before", "", "ns, half of the blocks",
                    [Series(way, kernels, [measured.value("seal p50", kernel=kernel, way=way, **of)
                                           for kernel in kernels]) for way in WAYS], kind="bars", logy=True)]
    here = [f"{delays[-1]} µs after the one before, and beside sealing at once under an IV of the same kind, a block whose "
            "keystream was there was sealed "]
    for kernel in kernels:
        numbered, ready = (measured.value("seal p50", kernel=kernel, way=way, **of) for way in ("numbered", "ready"))
        here += ["" if kernel == kernels[0] else ", ", derive("quotient", numbered, ready), f" times as fast with `{kernel}`"]
    mounted = measured.factors("kernel", "write ratio")
    if mounted:
        tables.append(Table("A write of 4 KiB on a mount", ["", "ns at once", "ahead", "at once to ahead", "least", "most"],
                            [[f"`{kernel}`", *[measured.value("write", kernel=kernel, way=way)
                                               for way in (WITHOUT, WITH)],
                              *[measured.value("write ratio", field, kernel=kernel)
                                for field in ("median", "min", "max")]] for kernel in mounted]))
        panels.append(Panel("A write on a mount", "", "ns", [
            Series(way, mounted, [measured.value("write", kernel=kernel, way=way) for kernel in mounted])
            for way in (WITHOUT, WITH)], kind="bars"))
        here += ["; on a mount keystream ahead made a write as many times as fast: ", *separated(
            [[*within_rounds(measured, "write ratio", kernel=kernel), f" with `{kernel}`"] for kernel in mounted], ", "),
            *where_it_pays(measured, mounted)]
    else:
        here += ["; a mount was not measured"]
    return Shown({"waeslib.outlook-file-system": Verdict("answered", here)}, panels, tables,
                 ["AES-256-GCM with IVs of 16 bytes. random: at once, under an IV that the system is asked for. "
                  "numbered: at once, under an encrypted number. ahead: under such an IV, with the keystream of up to "
                  f"{AHEAD} blocks made by a thread that runs when the system is idle. ready: with the keystream there "
                  "for certain. The time of a block includes reading the clock. A write is one request that reaches "
                  "the vault, in memory, before it returns."])


EXPERIMENT = Experiment(
    name="E14", title="Keystream ahead in an encrypted file system",
    judges=("waeslib.outlook-file-system",),
    here="Blocks of a vault in gocryptfs's format, and 4 KiB writes on a mount of it (`paes-mount --ahead`), each with "
         "IVs and keystream made ahead and without, in turns.",
    measure=measure, show=show, seconds={"quick": 8, "full": 90})
