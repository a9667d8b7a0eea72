// SPDX-License-Identifier: Apache-2.0
// The tweaks of XTS (IEEE 1619, section 5): T of a data unit's block i is E(unit number) * x^i in
// GF(2^128), byte 0 being the least significant. Constant time in the tweak.
#pragma once

#include <bit>

#include "cipher/ghash.hpp"
#include "cipher/mode/mode_blocks.hpp"
#include "core/bytes.hpp"

namespace paes::xts {

// SP 800-38E, section 4: a data unit has at most 2^20 blocks.
inline constexpr std::uint64_t max_unit_bytes = std::uint64_t{1} << 24;

// T * x: what falls out at the top comes back as x^7 + x^2 + x + 1.
[[nodiscard]] inline Tweak next_tweak(const Tweak& tweak) noexcept {
  const std::uint64_t low = load_le<std::uint64_t>(tweak.bytes);
  const std::uint64_t high = load_le<std::uint64_t>(tweak.bytes + 8);
  Tweak next;
  store_le(next.bytes, (low << 1) ^ (0x87 & (0 - (high >> 63))));
  store_le(next.bytes + 8, (high << 1) | (low >> 63));
  return next;
}

// Converts to GHASH's field, which is this one with the bits of each byte in the other order.
[[nodiscard]] inline Block reverse_bits_of_bytes(const Block& block) noexcept {
  Block reversed;
  for (std::size_t at = 0; at < block_bytes; at += 8) {
    std::uint64_t bits = load_le<std::uint64_t>(block.bytes + at);
    bits = ((bits >> 1) & 0x5555555555555555) | ((bits & 0x5555555555555555) << 1);
    bits = ((bits >> 2) & 0x3333333333333333) | ((bits & 0x3333333333333333) << 2);
    bits = ((bits >> 4) & 0x0f0f0f0f0f0f0f0f) | ((bits & 0x0f0f0f0f0f0f0f0f) << 4);
    store_le(reversed.bytes + at, bits);
  }
  return reversed;
}

// x^blocks, for `times`. Time depends on `blocks`, which is public.
[[nodiscard]] inline Block power_of_x(std::uint64_t blocks) noexcept {
  const Block x = {{0x02}};
  return reverse_bits_of_bytes(ghash_power(reverse_bits_of_bytes(x), blocks));
}

// T * power.
[[nodiscard]] inline Tweak times(const Tweak& tweak, const Block& power) noexcept {
  const Block reversed = reverse_bits_of_bytes(std::bit_cast<Block>(tweak));
  return std::bit_cast<Tweak>(
      reverse_bits_of_bytes(ghash_multiply(reversed, reverse_bits_of_bytes(power))));
}

// T * x^blocks: the tweak that many blocks later. Time depends on `blocks`, which is public.
[[nodiscard]] inline Tweak advance(const Tweak& tweak, std::uint64_t blocks) noexcept {
  constexpr std::uint64_t step = 64;
  if (blocks >= 512 * step) {  // where steps take longer than a power
    return times(tweak, power_of_x(blocks));
  }
  std::uint64_t low = load_le<std::uint64_t>(tweak.bytes);
  std::uint64_t high = load_le<std::uint64_t>(tweak.bytes + 8);
  // Adds what fell out at the top, times x^7 + x^2 + x + 1.
  const auto come_back = [&](std::uint64_t out) {
    low ^= out ^ (out << 1) ^ (out << 2) ^ (out << 7);
    high ^= (out >> 63) ^ (out >> 62) ^ (out >> 57);
  };
  for (; blocks >= step; blocks -= step) {
    const std::uint64_t out = high;
    high = low;
    low = 0;
    come_back(out);
  }
  if (blocks != 0) {
    const std::uint64_t out = high >> (step - blocks);
    high = (high << blocks) | (low >> (step - blocks));
    low <<= blocks;
    come_back(out);
  }
  Tweak next;
  store_le(next.bytes, low);
  store_le(next.bytes + 8, high);
  return next;
}

// The data unit's number `steps` later. The first one is copied whole: a kernel loads all 16 bytes
// at once, and a load over two recent stores waits for the cache.
[[nodiscard]] inline UnitNumber add_units(const UnitNumber& number, std::uint64_t steps) noexcept {
  if (steps == 0) {
    return number;
  }
  const std::uint64_t low = load_le<std::uint64_t>(number.bytes) + steps;
  UnitNumber sum = number;
  store_le(sum.bytes, low);
  if (low < steps) {
    store_le(sum.bytes + 8, load_le<std::uint64_t>(number.bytes + 8) + 1);
  }
  return sum;
}

}  // namespace paes::xts
