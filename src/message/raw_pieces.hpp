// How the parts of a message in a raw mode are cut into pieces: what all of its modes share.
#pragma once

#include <cstddef>

#include "exec/executor.hpp"

namespace paes {

// Outputs from here on are stored past the caches: by the time they are read they would have left
// them, and a store through the caches reads what it overwrites first.
inline constexpr std::size_t bypass_bytes = std::size_t{32} << 20;

// fn(0) .. fn(count - 1), over threads if there is an executor.
template <typename Fn>
void for_each(const Executor* executor, std::size_t count, Fn&& fn) {
  if (executor != nullptr && count > 1) {
    executor->for_each(count, fn);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      fn(i);
    }
  }
}

}  // namespace paes
