// How many chunks a thread takes at a time.
#pragma once

#include <algorithm>
#include <string>

#include "paes/error.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

[[nodiscard]] inline std::size_t chunks_of_grain(const Options& options) {
  const Engine* const engine = options.engine_use.engine;
  const std::size_t most = engine == nullptr ? max_grain_bytes : max_engine_grain_bytes;
  if (options.grain_bytes > most) {
    throw Error(ErrorCode::usage, "grain: " + std::to_string(options.grain_bytes) +
                                      " is above the limit of " + std::to_string(most));
  }
  constexpr std::size_t unit = cobblestone::chunk_text_bytes;
  const std::size_t chunks = (options.grain_bytes + unit - 1) / unit;
  const std::size_t liked = engine == nullptr ? chunks : engine->piece_bytes() / unit;
  return std::max<std::size_t>(std::min(chunks, liked), 1);
}

}  // namespace paes::stream
