// NVIDIA's run-time library behind the interface that the device knows. Linked statically, it finds
// the driver when it is first asked, so that a program with it starts where there is none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"

namespace paes::cuda {

// Devices that are no older than what paes is built for and that the system lets programs use.
// Starts nothing on them. Empty, with one line of why, where there are none.
[[nodiscard]] std::vector<DeviceProperties> list_cuda_devices(std::string& why);

// On those of them that no other process has for itself and that the driver has code of ours for;
// `share`: on one of them, the number of it modulo how many there are, for processes of one machine
// that share its devices out. Null, with one line of why, where this build has no CUDA or this
// machine no driver or device.
[[nodiscard]] std::unique_ptr<Runtime> open_cuda_runtime(
    std::string& why, std::optional<unsigned> share = std::nullopt);

}  // namespace paes::cuda
