// SPDX-License-Identifier: Apache-2.0
// The Runtime that calls NVIDIA's run-time library. The library is linked statically and looks for
// the driver when it is first used, so that the program also starts where there is no driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace paes::cuda {

// The devices that are no older than what paes is built for, and that the system lets programs use.
// Starts nothing on them. If there are none, the list is empty and `why` is one line.
[[nodiscard]] std::vector<DeviceProperties> list_cuda_devices(std::string& why);

// Opens a runtime with the listed devices, except those that another process uses exclusively or
// for which the driver has no code of paes. With `share`, it uses one listed device alone, number
// `share` modulo their count, so that the processes of one machine share its devices out. If no
// device is left, or this build has no CUDA, returns null, and `why` is one line.
[[nodiscard]] std::unique_ptr<Runtime> open_cuda_runtime(
    std::string& why, std::optional<unsigned> share = std::nullopt);

}  // namespace paes::cuda
