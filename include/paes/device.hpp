// SPDX-License-Identifier: Apache-2.0
// A GPU, for KeystreamOptions::device and FileOptions::device.
#pragma once

#include <memory>
#include <string>

#include "paes/export.h"

namespace paes {

class Device;  // opaque here

inline namespace v0 {

// Opens all GPUs of this machine that CUDA offers, together. Returns null, and one line in `why`,
// if there is none, if it has no memory left, or if this process already uses all of its eight
// slots. Loads the driver, which is not needed to build or to start a program.
[[nodiscard]] PAES_API std::shared_ptr<Device> open_device(std::string& why);

}  // namespace v0
}  // namespace paes
