// The CUDA device as the program opens it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "message/device.hpp"
#include "paes/work.hpp"

namespace paes::cli {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string why;          // null has one line of it
  bool has_device = false;  // which has no memory or no slot left, as a note has said by then
};

// The note goes to standard error unless Notes::none. `share` as open_cuda_runtime has it.
[[nodiscard]] OpenedDevice open_cuda_device(const std::string& device_kernel, Notes notes,
                                            std::optional<unsigned> share = std::nullopt,
                                            bool copies_keystream = false);

}  // namespace paes::cli
