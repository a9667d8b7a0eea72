// SPDX-License-Identifier: Apache-2.0
// What a benchmark needs from a device besides the runtime: time on the device's own clock, and the
// facts from which limits are computed.
#pragma once

#include <memory>

#include "cuda/runtime.hpp"

namespace paes::cuda {

struct DeviceFacts {
  double clock_hz;  // the highest clock rate of the multiprocessors
  int driver;       // the CUDA version of the driver, as 1000 * major + 10 * minor
  int toolkit;      // the CUDA version of this program
};
[[nodiscard]] DeviceFacts facts_of(int ordinal);

// Times a part of a stream's work. Read it after wait() of that stream.
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

// A stopwatch that uses events of the device. Like Runtime, these throw Error with the name of the
// call that failed; builds without CUDA always throw.
[[nodiscard]] std::unique_ptr<DeviceStopwatch> make_stopwatch(int ordinal);

}  // namespace paes::cuda
