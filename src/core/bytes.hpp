// SPDX-License-Identifier: Apache-2.0
// Views of bytes, big- and little-endian loads and stores, and a comparison whose time does not
// depend on where the inputs differ. Lengths are in bytes throughout.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace paes {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

static_assert(std::endian::native == std::endian::little, "big-endian hosts are not supported");

template <typename Integer>
inline Integer load_le(const std::uint8_t* from) noexcept {
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename Integer>
inline void store_le(std::uint8_t* to, Integer value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

inline std::uint16_t load_be16(const std::uint8_t* from) noexcept {
  return __builtin_bswap16(load_le<std::uint16_t>(from));
}
inline std::uint32_t load_be32(const std::uint8_t* from) noexcept {
  return __builtin_bswap32(load_le<std::uint32_t>(from));
}
inline std::uint64_t load_be64(const std::uint8_t* from) noexcept {
  return __builtin_bswap64(load_le<std::uint64_t>(from));
}
inline void store_be16(std::uint8_t* to, std::uint16_t value) noexcept {
  store_le(to, __builtin_bswap16(value));
}
inline void store_be32(std::uint8_t* to, std::uint32_t value) noexcept {
  store_le(to, __builtin_bswap32(value));
}
inline void store_be64(std::uint8_t* to, std::uint64_t value) noexcept {
  store_le(to, __builtin_bswap64(value));
}

// False if the lengths differ: they are public, the contents are not.
[[nodiscard]] inline bool equal_constant_time(Bytes a, Bytes b) noexcept {
  if (a.size() != b.size()) {
    return false;
  }
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace paes
