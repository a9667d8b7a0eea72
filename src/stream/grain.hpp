// How many chunks a thread takes at a time.
#pragma once

#include <algorithm>
#include <string>

#include "paes/error.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

[[nodiscard]] inline std::size_t chunks_of_grain(std::size_t grain_bytes) {
  if (grain_bytes > max_grain_bytes) {
    throw Error(ErrorCode::usage, "grain: " + std::to_string(grain_bytes) +
                                      " is above the limit of " + std::to_string(max_grain_bytes));
  }
  constexpr std::size_t unit = cobblestone::chunk_text_bytes;
  return std::max<std::size_t>((grain_bytes + unit - 1) / unit, 1);
}

}  // namespace paes::stream
