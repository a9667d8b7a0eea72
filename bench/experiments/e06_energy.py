# SPDX-License-Identifier: Apache-2.0
"""E6: joules per gigabyte. It needs a machine with energy counters."""
import secrets
import time

from laboratory import contests, energy, programs, scratch
from laboratory.experiment import Experiment, Failed, Panel, Series, Shown, Table, Unavailable, Verdict

WANTED = ("compute", "tables", "bitslice", "openssl", "aesni", "vaes256", "vaes512", "armv8")
CIPHER = "aes-128-ctr"


def measure(lab):
    counters, reasons = [], []
    for find in (energy.package_counters, lambda: [energy.DeviceCounter()]):
        try:
            counters += find()
        except Unavailable as reason:
            reasons.append(str(reason))
    if not counters:
        raise Unavailable("; ".join(reasons))
    for reason in reasons:
        lab.leave_out("another counter", reason)
    idle_watts = idle_power(counters, lab.pick(5, 30))
    lab.record({"state": "idle"}, "watts idle", "count", idle_watts, 1)
    with scratch.scratch_folder() as folder:
        measure_kernels(lab, folder, counters, idle_watts)


def idle_power(counters, seconds):
    meter = energy.Meter(counters)
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        time.sleep(1)
        meter.update()
    return meter.joules / (time.perf_counter() - begun)


def measure_kernels(lab, folder, counters, idle_watts):
    text_bytes = lab.pick(64, 512) << 20
    text = scratch.random_file(folder / "text", text_bytes)
    key, iv = folder / "key", secrets.token_hex(16)
    key.write_bytes(secrets.token_bytes(16))
    wanted = folder / "wanted"
    scratch.seconds_of(scratch.cipher(CIPHER, key, text, wanted, iv=iv, kernel="openssl"))
    names = contests.available_kernels(CIPHER, WANTED)
    # A GPU is chosen with --device, not by the name of a kernel.
    ways = {name: {"kernel": name} for name in names}
    if programs.cuda_reason() is None:
        ways["cuda"] = {"device": "cuda"}
    gross = {name: [] for name in ways}
    net = {name: [] for name in ways}
    for turn in range(3):
        for name, options in ways.items():
            lab.step(f"{name}, round {turn + 1} of 3")
            out = folder / "out"
            command = scratch.cipher(CIPHER, key, text, out, iv=iv, **options)
            meter, count, seconds = energy.Meter(counters), 0, 0.0
            while count == 0 or seconds < 2:
                seconds += scratch.seconds_of(command)
                meter.update()
                count += 1
            if not scratch.same(out, wanted):
                raise Failed(f"{name}: wrong output")
            gross[name].append(meter.joules / (count * text_bytes / 1e9))
            net[name].append((meter.joules - idle_watts * seconds) / (count * text_bytes / 1e9))
    for name in ways:
        of = {"cipher": CIPHER, "kernel": name, "bytes": text_bytes}
        lab.record_rounds(of, "energy", "J/GB", gross[name])
        lab.record_rounds(of, "energy above idle", "J/GB", net[name])


def show(measured):
    kernels = measured.factors("kernel")
    quantities = ("energy", "energy above idle")
    if not kernels:
        return Shown({})
    values = {quantity: [measured.value(quantity, kernel=name) for name in kernels] for quantity in quantities}
    least = min(values["energy"], key=float)
    best = kernels[values["energy"].index(least)]
    if "cuda" in kernels:
        on_gpu = ["with the GPU's fastest kernel `paes` took ", measured.value("energy", kernel="cuda"),
                  " J/GB, and with `", kernels[0],
                  "` on the processor ", values["energy"][0], " J/GB; a GPU that computes every step was not measured"]
    else:
        on_gpu = ["no GPU was measured"]
    return Shown({"pousa.outlook-energy": Verdict("answered", [
        f"`{best}` takes least, ", least, " J/GB, and `", kernels[0], "` ", values["energy"][0], " J/GB"]),
        "ci-aim.earlier-energy": Verdict("open", on_gpu)},
                 [Panel("AES-128-CTR, a file in memory", "", "joules per GB",
                        [Series(quantity, [f"`{name}`" for name in kernels], values[quantity])
                         for quantity in quantities], kind="bars", logy=True)],
                 [Table("Joules per GB", ["", *quantities],
                        [[f"`{name}`", values["energy"][i], values["energy above idle"][i]]
                         for i, name in enumerate(kernels)])],
                 ["What the counters of all packages, and of the GPU where there is one, say together while `paes "
                  "cipher` runs; above idle: less what they said in the same time at rest."])


EXPERIMENT = Experiment(
    name="E6", title="Energy", judges=("pousa.outlook-energy", "ci-aim.earlier-energy"),
    here="The counters of the processor (powercap) and of a GPU (NVML) around `paes cipher` on a file in memory, "
         "kernel by kernel, gross and less what the machine takes at rest. Read, never estimated.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 120})
