// SPDX-License-Identifier: Apache-2.0
// The numbers [first, end): of bytes, chunks, stripes or items, as the name beside it says.
#pragma once

#include <cstdint>

namespace paes {

struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t count() const noexcept { return end - first; }
  [[nodiscard]] bool is_empty() const noexcept { return first == end; }
  bool operator==(const Range&) const = default;
};

}  // namespace paes
