"""E2: what CUDA's copies cost beside the encryption. Needs a device."""
from laboratory import programs
from laboratory.experiment import Experiment, Shown, Table, Unavailable
from laboratory.published import value as published, values as published_values


def measure(lab):
    reason = programs.cuda_reason()
    raise Unavailable(f"it needs a CUDA device: {reason}" if reason else
                      "copies are timed by ./dev gpu bench, whose result the lab does not read yet")


def show(measured):
    names = {"host_to_device": "host to device", "encrypt": "encryption", "device_to_host": "device to host",
             "total": "total"}
    columns = ["", "1KB", "512KB", "1MB", "15MB", "128MB", "255MB"]
    rows = [[label, *published_values(f"pousa/cuda_split_s/{key}")] for key, label in names.items()]
    return Shown("open", ["of the ", published("pousa/cuda_split_s/total/5"), " s that 255 MB took, ",
                          published("pousa/cuda_split_s/host_to_device/5"), " s and ",
                          published("pousa/cuda_split_s/device_to_host/5"), " s were copies"],
                 [], [], [Table("Seconds, published", columns, rows)])


EXPERIMENT = Experiment(
    name="E2", title="CUDA: copies and encryption", study="pousa",
    did="Timed the copies to the device and back and the kernel, one after the other.",
    here="The same, and the same overlapped.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 1})
