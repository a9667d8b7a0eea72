// SPDX-License-Identifier: Apache-2.0
// Reproducible bytes that look random: a seed yields the same bytes on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace paes::test {

inline std::vector<std::uint8_t> varied_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(generator() >> 32);
  }
  return bytes;
}

}  // namespace paes::test
