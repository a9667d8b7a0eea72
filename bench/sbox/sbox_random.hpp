// SPDX-License-Identifier: Apache-2.0
// A small reproducible random generator: the searches must yield the same circuits from the same
// seed with every standard library. (SplitMix64's constants: Steele, Lea, Flood, OOPSLA 2014.)
#pragma once

#include <cstdint>

namespace sbox {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // 0 to bound - 1.
  unsigned below(unsigned bound) noexcept {
    return static_cast<unsigned>((next() >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace sbox
