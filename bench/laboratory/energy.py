# SPDX-License-Identifier: Apache-2.0
"""Energy counters. Linux offers the processor's through powercap (Documentation/power/powercap), and NVML an NVIDIA GPU's through
nvmlDeviceGetTotalEnergyConsumption. Only counters are read; nothing is estimated from power limits or times."""
import ctypes
from pathlib import Path

from .experiment import Unavailable

POWERCAP = Path("/sys/class/powercap")
NVML = "libnvidia-ml.so.1"
NVML_SUCCESS = 0


class PackageCounter:
    """A zone of powercap for a whole processor package. It counts microjoules and wraps around."""

    def __init__(self, zone):
        self._energy = zone / "energy_uj"
        self._range_uj = int((zone / "max_energy_range_uj").read_text())
        self.name = (zone / "name").read_text().strip()
        self.read()

    def read(self):
        return int(self._energy.read_text())

    def joules_between(self, before, after):
        # The counter wraps around at most once between two readings: at 200 W a range of 2^32 uJ lasts 21 s, and readings are closer
        # together.
        microjoules = after - before if after >= before else after - before + self._range_uj
        return microjoules / 1e6


def package_counters(folder=POWERCAP):
    """A counter for each package. Throws Unavailable with the reason if there is none."""
    if not folder.is_dir():
        raise Unavailable(f"{folder}: this system has no powercap, as virtual machines usually have not")
    zones = [zone for zone in sorted(folder.glob("intel-rapl:*"))
             if (zone / "name").is_file() and (zone / "name").read_text().strip().startswith("package")]
    if not zones:
        raise Unavailable(f"{folder}: has no zone of a processor package")
    try:
        return [PackageCounter(zone) for zone in zones]
    except PermissionError as error:
        raise Unavailable(f"{error.filename}: cannot be read without being root") from error
    except (OSError, ValueError) as error:
        raise Unavailable(f"powercap: {error}") from error


class Nvml:
    """NVML, the library of the GPU's driver."""

    def __init__(self, library=NVML):
        try:
            self._nvml = ctypes.CDLL(library)
        except OSError as error:
            raise Unavailable(f"NVML: {error}") from error
        self._call("nvmlInit_v2")

    def _call(self, function, *arguments):
        code = getattr(self._nvml, function)(*arguments)
        if code != NVML_SUCCESS:
            raise Unavailable(f"NVML: {function} gives error {code}")

    def driver_version(self):
        version = ctypes.create_string_buffer(80)  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
        self._call("nvmlSystemGetDriverVersion", version, ctypes.c_uint(len(version)))
        return version.value.decode("ascii")


class DeviceCounter(Nvml):
    """The energy that the first GPU has taken since its driver was loaded, in millijoules."""

    def __init__(self, library=NVML):
        super().__init__(library)
        self._device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(self._device))
        self.name = "gpu"
        self.read()

    def read(self):
        energy = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._device, ctypes.byref(energy))
        return energy.value

    @staticmethod
    def joules_between(before, after):
        return (after - before) / 1e3


class Meter:
    """Adds up the joules of all counters. Between two updates, each may wrap around at most once."""

    def __init__(self, counters):
        self._counters = counters
        self._last = [counter.read() for counter in counters]
        self.joules = 0.0

    def update(self):
        now = [counter.read() for counter in self._counters]
        self.joules += sum(counter.joules_between(before, after)
                           for counter, before, after in zip(self._counters, self._last, now))
        self._last = now
        return self.joules
