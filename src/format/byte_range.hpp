// SPDX-License-Identifier: Apache-2.0
// The range of plaintext bytes that a user asks for, FIRST-LAST or FIRST-, as in HTTP's Range
// (RFC 9110, section 14.1.2) without its suffix form: zero-based, both ends included.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace paes {

struct ByteRange {
  std::uint64_t first;
  std::optional<std::uint64_t> last;  // empty: to the end
};

// Throws Error(usage) unless the numbers are decimal, below 2^64, without leading 0, and in order.
[[nodiscard]] ByteRange parse_range(std::string_view text);

}  // namespace paes
