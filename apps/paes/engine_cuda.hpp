// The device engine as the program opens it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "message/engine.hpp"
#include "paes/engine.hpp"

namespace paes::cli {

struct CudaEngine {
  std::unique_ptr<Engine> engine;
  std::string why;          // null has one line of it
  bool has_device = false;  // which has no memory or no slot left, as a note has said by then
};

// The note goes to standard error unless Notes::none. `share` as open_cuda_runtime has it.
[[nodiscard]] CudaEngine open_cuda_engine(const std::string& device_kernel, Notes notes,
                                          std::optional<unsigned> share = std::nullopt,
                                          bool copies_keystream = false);

}  // namespace paes::cli
