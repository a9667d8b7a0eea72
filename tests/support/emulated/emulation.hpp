// SPDX-License-Identifier: Apache-2.0
// The host's emulations of device kernels' launches, found by the kernel. Each kernel that the
// build compiles with emulated/emulated_grid.hpp registers its own.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "cuda/device_kernel.hpp"

namespace paes::cuda {

// Imitates a slot's constant memory. It has as many bytes as the kernel's keys.
using EmulatedConstant = std::vector<std::uint8_t>;

class Emulation {
 public:
  Emulation(const char* name, const DeviceRuns& runs) noexcept { all().emplace(name, runs); }
  [[nodiscard]] static const DeviceRuns& of(const DeviceKernel& kernel) {
    return all().at(kernel.name);
  }

 private:
  static std::map<std::string_view, DeviceRuns>& all() {
    static std::map<std::string_view, DeviceRuns> emulations;
    return emulations;
  }
};

}  // namespace paes::cuda
