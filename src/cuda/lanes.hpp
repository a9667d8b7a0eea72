// SPDX-License-Identifier: Apache-2.0
// The tools of bit slicing on a device: three-input gates, each a single instruction, and exchanges
// of bits between words. Here a lane is a bit of a word, not a thread of a warp.
#pragma once

#include "cuda/device_code.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device_code.hpp

// Bit (a << 2 | b << 1 | c) of Table, in every lane (LOP3). Compilers do not turn the loop below
// into that one instruction. It is constexpr because the circuits that call it are.
template <unsigned Table>
[[gnu::always_inline]] constexpr std::uint32_t lut3(std::uint32_t a, std::uint32_t b,
                                                    std::uint32_t c) noexcept {
#if defined(__CUDA_ARCH__)
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(Table));
  return result;
#else
  std::uint32_t sum = 0;
  for (unsigned cell = 0; cell < 8; ++cell) {
    if ((Table >> cell & 1) != 0) {
      sum |= ((cell & 4) != 0 ? a : ~a) & ((cell & 2) != 0 ? b : ~b) & ((cell & 1) != 0 ? c : ~c);
    }
  }
  return sum;
#endif
}

[[gnu::always_inline]] constexpr std::uint32_t xor3(std::uint32_t a, std::uint32_t b,
                                                    std::uint32_t c) noexcept {
  return lut3<0x96>(a, b, c);
}

// `a` where the mask has a bit, else `b`.
[[gnu::always_inline]] constexpr std::uint32_t select(std::uint32_t mask, std::uint32_t a,
                                                      std::uint32_t b) noexcept {
  return lut3<0xca>(mask, a, b);
}

[[gnu::always_inline]] constexpr std::uint32_t add_masked(std::uint32_t a, std::uint32_t b,
                                                          std::uint32_t mask) noexcept {
  return lut3<0x78>(a, b, mask);
}

// Copies bit `bit` of each byte to all bits of the byte (PRMT can repeat a byte's highest bit).
PAES_DEVICE std::uint32_t spread_bit(std::uint32_t word, unsigned bit) {
#if defined(__CUDA_ARCH__)
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %1, 0xba98;" : "=r"(result) : "r"(word << (7 - bit)));
  return result;
#else
  return (word >> bit & 0x01010101) * 0xff;
#endif
}

// `a` and `b` are rows of a bit matrix whose numbers differ by Distance. Exchanges the bits of `a`
// in the upper half of each group of 2 * Distance with those of `b` in the lower half.
template <unsigned Distance>
PAES_DEVICE void exchange(std::uint32_t& a, std::uint32_t& b) {
  const std::uint32_t before = a;
  if constexpr (Distance == 16) {
    a = byte_permute(a, b, 0x5410);
    b = byte_permute(before, b, 0x7632);
  } else if constexpr (Distance == 8) {
    a = byte_permute(a, b, 0x6240);
    b = byte_permute(before, b, 0x7351);
  } else {
    constexpr std::uint32_t low = 0xffffffff / ((1U << Distance) + 1);
    a = select(low, a, b << Distance);
    b = select(low, before >> Distance, b);
  }
}

// One level of a transposition of `Rows` rows.
template <unsigned Distance, unsigned Rows>
PAES_DEVICE void exchange_rows(std::uint32_t (&row)[Rows]) {
  PAES_UNROLL
  for (unsigned k = 0; k < Rows / 2; ++k) {
    const unsigned i = k / Distance * 2 * Distance + k % Distance;
    exchange<Distance>(row[i], row[i + Distance]);
  }
}

// Transposes, for each byte position, its 8 x 8 matrix of bits.
PAES_DEVICE void transpose_bits(std::uint32_t (&row)[8]) {
  exchange_rows<4>(row);
  exchange_rows<2>(row);
  exchange_rows<1>(row);
}

PAES_DEVICE void transpose(std::uint32_t (&row)[32]) {
  exchange_rows<16>(row);
  exchange_rows<8>(row);
  exchange_rows<4>(row);
  exchange_rows<2>(row);
  exchange_rows<1>(row);
}

}  // namespace
}  // namespace paes::cuda
