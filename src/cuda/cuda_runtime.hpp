// SPDX-License-Identifier: Apache-2.0
// The Runtime of NVIDIA's run-time library. The library is linked statically and looks for the
// driver when it is first asked, so that a program with it starts where there is no driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace paes::cuda {

// The devices that are no older than what paes is built for, and that the system lets programs use.
// Starts nothing on them. Where there are none, the answer is empty and `why` is one line.
[[nodiscard]] std::vector<DeviceProperties> list_cuda_devices(std::string& why);

// A runtime with those of the listed devices that no other process has for itself and for which the
// driver has code of paes. With `share`, it looks at one listed device alone, number `share` modulo
// their count: so the processes of one machine share its devices out. Where no device is left, or
// this build has no CUDA, the answer is null and `why` is one line.
[[nodiscard]] std::unique_ptr<Runtime> open_cuda_runtime(
    std::string& why, std::optional<unsigned> share = std::nullopt);

}  // namespace paes::cuda
