// SPDX-License-Identifier: Apache-2.0
// A GPU, for the classes and calls that can use one: KeystreamOptions::device, FileOptions::device.
#pragma once

#include <memory>
#include <string>

#include "paes/export.h"

namespace paes {

class Device;  // opaque here

inline namespace v0 {

// All GPUs of this machine that CUDA has, together. Null if there is none, if it has no memory
// left, or if this process uses all of its eight slots already; `why` then says so in one line.
// This call loads the driver, which is not needed to build or to start a program.
[[nodiscard]] PAES_API std::shared_ptr<Device> open_device(std::string& why);

}  // namespace v0
}  // namespace paes
