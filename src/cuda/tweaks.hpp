// SPDX-License-Identifier: Apache-2.0
// XTS's tweaks in the words of a thread (IEEE 1619, section 5). Byte 0 is the least significant, so
// multiplying by x^n shifts to the left. What falls out at the top comes back, multiplied by x^7 +
// x^2 + x + 1.
#pragma once

#include "cuda/device_code.hpp"
#include "cuda/job.hpp"

namespace paes::cuda {
namespace {  // NOLINT

// How many steps of 32 blocks a thread takes from one start.
inline constexpr std::uint32_t tweak_run = 64;

PAES_DEVICE void add_overflow(Words<16>& tweak, std::uint32_t overflow) {
  tweak.word[0] ^= overflow ^ (overflow << 1) ^ (overflow << 2) ^ (overflow << 7);
  tweak.word[1] ^= (overflow >> 31) ^ (overflow >> 30) ^ (overflow >> 25);
}

// T * x^n, n below 32.
PAES_DEVICE Words<16> times_x(const Words<16>& tweak, unsigned n) {
  Words<16> product = {{tweak.word[0] << n, shift_left(tweak.word[1], tweak.word[0], n),
                        shift_left(tweak.word[2], tweak.word[1], n),
                        shift_left(tweak.word[3], tweak.word[2], n)}};
  add_overflow(product, shift_left(0, tweak.word[3], n));
  return product;
}

PAES_DEVICE Words<16> times_x32(const Words<16>& tweak) {
  Words<16> product = {{0, tweak.word[0], tweak.word[1], tweak.word[2]}};
  add_overflow(product, tweak.word[3]);
  return product;
}

// x^(2^i): each is the square of the previous one.
struct PowersOfX {
  std::uint32_t word[32][4];
};

constexpr PowersOfX make_powers_of_x() {
  PowersOfX powers = {};
  std::uint32_t power[4] = {2, 0, 0, 0};
  for (auto& entry : powers.word) {
    std::uint32_t square[4] = {};
    for (unsigned bit = 128; bit-- > 0;) {
      const std::uint32_t overflow = square[3] >> 31;
      for (unsigned i = 3; i > 0; --i) {
        square[i] = (square[i] << 1) | (square[i - 1] >> 31);
      }
      square[0] = (square[0] << 1) ^ (overflow * 0x87);
      const bool is_set = ((power[bit / 32] >> (bit % 32)) & 1) != 0;
      for (unsigned i = 0; i < 4; ++i) {
        square[i] ^= is_set ? power[i] : 0;
      }
    }
    for (unsigned i = 0; i < 4; ++i) {
      entry[i] = power[i];
      power[i] = square[i];
    }
  }
  return powers;
}

PAES_DEVICE_TABLE PowersOfX powers_of_x = make_powers_of_x();

// T * x^exponent, for the few places that are far into a data unit. The exponent is public.
PAES_DEVICE Words<16> times_power_of_x(Words<16> tweak, std::uint32_t exponent) {
  for (unsigned i = 0; i < 32; ++i) {
    if (((exponent >> i) & 1) == 0) {
      continue;
    }
    Words<16> product = {};
    PAES_KEEP_LOOP
    for (unsigned bit = 128; bit-- > 0;) {
      product = times_x(product, 1);
      const std::uint32_t mask = 0 - ((powers_of_x.word[i][bit / 32] >> (bit % 32)) & 1);
      for (unsigned w = 0; w < 4; ++w) {
        product.word[w] ^= tweak.word[w] & mask;
      }
    }
    tweak = product;
  }
  return tweak;
}

// Unit numbers count in 16 bytes, little-endian.
PAES_DEVICE Words<16> add_to_unit_number(const Words<16>& number, std::uint32_t steps) {
  Words<16> sum = number;
  std::uint64_t carry = steps;
  for (std::uint32_t& word : sum.word) {
    carry += word;
    word = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return sum;
}

// The tweak T of block `index` of a part.
PAES_DEVICE Words<16> tweak_at(const Job& job, std::uint32_t index) {
  std::uint32_t step = index / tweak_step;
  std::uint32_t beyond = index % tweak_step;
  // If a unit is a whole number of steps, or the part lies in one unit, the tweaks of blocks follow
  // each other without gaps. Otherwise each unit has its own steps.
  if (job.unit_blocks % tweak_step != 0) {
    const std::uint32_t number = index / job.unit_blocks;
    const std::uint32_t within = index % job.unit_blocks;
    step = number * ((job.unit_blocks + tweak_step - 1) / tweak_step) + within / tweak_step;
    beyond = within % tweak_step;
  }
  return times_x(load_words<16>(job.tweaks + step), beyond);
}

}  // namespace
}  // namespace paes::cuda
