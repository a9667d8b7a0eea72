// The device engine as the program opens it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "message/engine.hpp"
#include "paes/engine.hpp"

namespace paes::cli {

// Null with one line of why where there is no device; null without one, after a note on standard
// error unless Notes::none, where the device has no memory left. `share` as open_cuda_runtime has
// it.
[[nodiscard]] std::unique_ptr<Engine> open_cuda_engine(const std::string& device_kernel,
                                                       std::string& why, Notes notes,
                                                       std::optional<unsigned> share = std::nullopt,
                                                       bool copies_keystream = false);

}  // namespace paes::cli
