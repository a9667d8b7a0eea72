// SPDX-License-Identifier: Apache-2.0
// PKCS#7 padding (RFC 5652, section 6.3), for modes that take whole blocks: one byte up to a whole
// block, each byte being the number of bytes. Removing it always looks at the whole last block, in
// the same time.
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "core/bytes.hpp"

namespace paes {

// How many bytes of padding follow a text: at least one.
[[nodiscard]] constexpr std::size_t padding_bytes(std::uint64_t text_bytes,
                                                  std::size_t block_size) noexcept {
  return block_size - static_cast<std::size_t>(text_bytes % block_size);
}

// Fills `padding`, whose size comes from padding_bytes().
inline void write_padding(MutableBytes padding) noexcept {
  std::memset(padding.data(), static_cast<int>(padding.size()), padding.size());
}

// How many bytes of a text's last block are not padding; empty if it does not end with padding. The
// block has 1 to 255 bytes, and time depends on its size alone. But the answer itself becomes
// public: whoever may ask often, with ciphertexts of his choice, learns texts from it (a padding
// oracle).
[[nodiscard]] inline std::optional<std::size_t> unpadded_bytes(Bytes last_block) noexcept {
  const std::size_t size = last_block.size();
  assert(size >= 1 && size <= 255);
  const std::uint32_t count = last_block[size - 1];
  // 1 if a >= b, else 0, by the difference of two small numbers of any sign.
  const auto at_least = [](std::uint32_t a, std::uint32_t b) { return ~((a - b) >> 31) & 1; };
  std::uint32_t good = at_least(count, 1) & at_least(static_cast<std::uint32_t>(size), count);
  for (std::size_t i = 0; i < size; ++i) {
    // Counted from the end, byte `i` is padding if i < count.
    const std::uint32_t is_padding = at_least(count, static_cast<std::uint32_t>(i) + 1);
    const std::uint32_t difference = last_block[size - 1 - i] ^ count;
    const std::uint32_t differs = (0 - difference) >> 31;
    good &= ~(is_padding & differs) & 1;
  }
  if (good == 0) {
    return std::nullopt;
  }
  return size - count;
}

}  // namespace paes
