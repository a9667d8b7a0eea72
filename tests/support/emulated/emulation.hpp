// SPDX-License-Identifier: Apache-2.0
// The launches of device kernels as the host emulates them, found by the kernel. Each kernel that
// the build compiles with emulated/emulated_grid.hpp enters its own.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "cuda/device_kernel.hpp"

namespace paes::cuda {

// What stands for a slot's constant memory: as many bytes as the kernel's keys have.
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
