// A GPU, for those classes that can have one: KeystreamOptions::device. Programs that call this
// link paes_cuda as well.
#pragma once

#include <memory>
#include <string>

namespace paes {

class Device;  // opaque here

// All GPUs of this machine that CUDA has, together. Null, and why, in one line, where there is
// none, where it has no memory left, or where this process uses all of its eight slots already. The
// driver is loaded now, and is not needed to build or to start a program.
[[nodiscard]] std::shared_ptr<Device> open_device(std::string& why);

}  // namespace paes
