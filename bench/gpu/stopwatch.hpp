// SPDX-License-Identifier: Apache-2.0
// What a benchmark asks of a device beside the runtime: time on the device's own clock, and the
// facts that limits are computed from.
#pragma once

#include <memory>

#include "cuda/runtime.hpp"

namespace paes::cuda {

struct DeviceFacts {
  double clock_hz;  // the highest that the multiprocessors go to
  int driver;       // the CUDA version that the driver knows, as 1000 * major + 10 * minor
  int toolkit;      // and the one that this program was built with
};
[[nodiscard]] DeviceFacts facts_of(int ordinal);

// Between two places of a stream's work. Reads after wait() of that stream.
class DeviceStopwatch {
 public:
  DeviceStopwatch() = default;
  virtual ~DeviceStopwatch() = default;
  DeviceStopwatch(const DeviceStopwatch&) = delete;
  DeviceStopwatch& operator=(const DeviceStopwatch&) = delete;

  virtual void start(Stream stream) = 0;
  virtual void stop(Stream stream) = 0;
  [[nodiscard]] virtual double seconds() = 0;
};

// By events of the device. As Runtime, these throw Error with the name of the call that failed; in
// builds without CUDA that is all they do.
[[nodiscard]] std::unique_ptr<DeviceStopwatch> make_stopwatch(int ordinal);

}  // namespace paes::cuda
