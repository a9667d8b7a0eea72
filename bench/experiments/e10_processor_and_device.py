# SPDX-License-Identifier: Apache-2.0
"""E10: processor and GPU together. It needs a CUDA device."""
from laboratory import device
from laboratory.experiment import OURS, Experiment, Panel, Series, Shown, Table, Unavailable, Verdict
from laboratory.values import derive, size

WAYS = {"processor": "processor", "device": "GPU", "hybrid": "both"}


def measure(lab):
    try:
        device.measure(lab, "E10")
    except Unavailable as reason:
        raise Unavailable(f"it needs a CUDA device: {reason}") from reason


def show(measured):
    ciphers = measured.factors("cipher")
    if not ciphers:
        return Shown({})
    rows = []
    for cipher in ciphers:
        share = measured.value("share of device", cipher=cipher, way="hybrid")
        rows.append([cipher, *[measured.value("rate", cipher=cipher, way=way) for way in WAYS],
                     *[measured.value(f"rate to {way}", cipher=cipher, way="hybrid")
                       for way in ("processor", "device")],
                     derive("percent", share)])
    # The shares that processor and device had in their common work.
    by_device = [derive("product", measured.value("rate", cipher=cipher, way="hybrid"),
                        measured.value("share of device", cipher=cipher, way="hybrid")) for cipher in ciphers]
    by_processor = [derive("product of rest", measured.value("rate", cipher=cipher, way="hybrid"),
                           measured.value("share of device", cipher=cipher, way="hybrid")) for cipher in ciphers]
    bars = [f"{cipher}, {WAYS[way]}" for cipher in ciphers for way in WAYS]

    def placed(way, together):
        """The bars of one colour: what the processor or the device did alone, and its share of the common work."""
        values = dict.fromkeys(bars)
        for cipher, part in zip(ciphers, together):
            values[f"{cipher}, {WAYS[way]}"] = measured.value("rate", cipher=cipher, way=way)
            values[f"{cipher}, {WAYS['hybrid']}"] = part
        return [values[bar] for bar in bars]
    bytes_, piece, slots = (measured.factors(key, way="device")[0] for key in ("bytes", "piece_bytes", "slots"))
    here = [f"{size(bytes_)} went through {slots} slots of {size(piece)} on one GPU"]
    for cipher in ciphers:
        alone, device_, both = (measured.value("rate", cipher=cipher, way=way) for way in WAYS)
        here += [f"; {cipher} ran at ", alone, " GB/s on all cores, ", device_, " on the GPU and ", both, " on both, which is ",
                 measured.value("rate to device", cipher=cipher, way="hybrid"), " times as fast as the GPU alone"]
    here.append("; each ratio is the median of those of single rounds, and so not quite the quotient of the rates")
    return Shown({OURS: Verdict("ours", here)},
                 [Panel("From memory to memory", "", "GB/s", [
                     Series("done by the processor", bars, placed("processor", by_processor)),
                     Series("done by the GPU", bars, placed("device", by_device))], kind="bars", stacked=True)],
                 [Table("GB/s, copies included", ["", *WAYS.values(), "both to the processor", "both to the GPU",
                                                  "share of the GPU, %"], rows)],
                 ["Memory on the GPU bounds no message: it is cut into pieces, and whatever is free takes the next."])


EXPERIMENT = Experiment(
    name="E10", title="Processor and GPU together",
    asks="how fast are processor and GPU together on data beyond the memory that they take on the GPU",
    here="One GPU and no cluster: the processor's kernels on all cores, the GPU, and both, where whatever is free "
         "takes the next piece.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 1})
