// A GPU, for those classes that can have one: KeystreamOptions::device. Programs that call this
// link paes_cuda as well.
#pragma once

#include <memory>
#include <string>

namespace paes {

class Device;  // opaque here

// All GPUs of this machine that CUDA has, together. Null if there is none, if it has no memory
// left, or if this process uses all of its eight slots already; `why` then says so in one line.
// This call loads the driver, which is not needed to build or to start a program.
[[nodiscard]] std::shared_ptr<Device> open_device(std::string& why);

}  // namespace paes
