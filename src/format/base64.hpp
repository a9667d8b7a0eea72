// Standard Base 64 without padding, canonical only (RFC 4648, sections 4 and 3.5), as age writes
// it. Not for secrets: it looks characters up in a table.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace paes::base64 {

[[nodiscard]] constexpr std::size_t text_length(std::size_t bytes) noexcept {
  return (bytes * 8 + 5) / 6;
}

[[nodiscard]] std::string encode(Bytes data);

// True if `text` is the canonical encoding of some bytes.
[[nodiscard]] bool is_canonical(std::string_view text) noexcept;

// True if `text` is the canonical encoding of exactly data.size() bytes, which are then in `data`.
[[nodiscard]] bool decode(std::string_view text, MutableBytes data) noexcept;

}  // namespace paes::base64
