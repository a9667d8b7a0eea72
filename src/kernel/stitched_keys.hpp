// SPDX-License-Identifier: Apache-2.0
// What StitchedGcm and the raw modes on vectors keep of a key: round keys in every lane, powers of
// H, and the table of the shared first round, which gcm_stitched.hpp explains. The arithmetic that
// computes the powers is here, too: GHASH on single blocks and unreduced products (SP 800-38D,
// section 6.3).
#pragma once

// GCC 12 and 13 warn about intended undefined operands in their own intrinsics (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>

#include "cipher/aes_key.hpp"
#include "kernel/kernel.hpp"

#define PAES_INLINE __attribute__((always_inline)) inline
#define PAES_NOINLINE __attribute__((noinline))

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// J0 = IV || 1, and text starts at inc32(J0).
inline constexpr std::uint32_t first_text_counter = 2;

PAES_INLINE __m128i load_block(const void* from) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

PAES_INLINE void store_block(void* to, __m128i block) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), block);
}

PAES_INLINE __m128i reverse_block(__m128i block) noexcept {
  return _mm_shuffle_epi8(block,
                          _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Less than a block; the rest reads as zero and is not touched. Both functions need no memory of
// their own: a call of memcpy would put every register in use on the stack.
PAES_INLINE __m128i load_part(const std::uint8_t* from, std::size_t bytes) noexcept {
  std::uint64_t end = 0;  // what follows the last whole half
  if ((bytes & 1) != 0) {
    end = from[bytes - 1];
  }
  if ((bytes & 2) != 0) {
    end = end << 16 | load_le<std::uint16_t>(from + (bytes & 12));
  }
  if ((bytes & 4) != 0) {
    end = end << 32 | load_le<std::uint32_t>(from + (bytes & 8));
  }
  const __m128i half = _mm_cvtsi64_si128(static_cast<long long>(end));
  return (bytes & 8) == 0
             ? half
             : _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), half);
}

PAES_INLINE void store_part(std::uint8_t* to, __m128i block, std::size_t bytes) noexcept {
  if ((bytes & 8) != 0) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), block);
    block = _mm_unpackhi_epi64(block, block);
  }
  auto end = static_cast<std::uint64_t>(_mm_cvtsi128_si64(block));
  if ((bytes & 4) != 0) {
    store_le(to + (bytes & 8), static_cast<std::uint32_t>(end));
    end >>= 32;
  }
  if ((bytes & 2) != 0) {
    store_le(to + (bytes & 12), static_cast<std::uint16_t>(end));
    end >>= 16;
  }
  if ((bytes & 1) != 0) {
    to[bytes - 1] = static_cast<std::uint8_t>(end);
  }
}

// An unreduced product or sum of products: low + middle * x^64 + high * x^128, where `middle` still
// holds low and high as well (Karatsuba).
template <class Vector>
struct Product {
  typename Vector::Register low;
  typename Vector::Register middle;
  typename Vector::Register high;
};

// The field's reduction constant in reflected order: x^63 + x^62 + x^57 of the upper half.
inline constexpr std::uint64_t reduction_constant = 0xc200000000000000;

template <class Vector>
PAES_INLINE typename Vector::Register reduce(const Product<Vector>& sum,
                                             typename Vector::Register constant) noexcept {
  // Each step adds a multiple of the field polynomial that clears the lowest 64 bits, and moves on
  // by 64 bits. What remains is the product divided by x^128, as the reflected order wants it.
  auto middle = Vector::xor3(sum.middle, sum.low, sum.high);
  middle = Vector::xor3(middle, Vector::swap_halves(sum.low),
                        Vector::template multiply<0x00>(sum.low, constant));
  return Vector::xor3(sum.high, Vector::swap_halves(middle),
                      Vector::template multiply<0x00>(middle, constant));
}

// One-block registers, which key set-up and the ends of messages need under every instruction set.
struct OneBlock {
  using Register = __m128i;
  template <int Halves>
  PAES_INLINE static Register multiply(Register a, Register b) noexcept {
    return _mm_clmulepi64_si128(a, b, Halves);
  }
  PAES_INLINE static Register xor3(Register a, Register b, Register c) noexcept {
    return _mm_xor_si128(_mm_xor_si128(a, b), c);
  }
  PAES_INLINE static Register swap_halves(Register a) noexcept {
    return _mm_shuffle_epi32(a, 0x4e);
  }
};

PAES_INLINE __m128i reduction_block() noexcept {
  return _mm_set_epi64x(0, static_cast<long long>(reduction_constant));
}

// value * power for single blocks; `power` is a power of H times x.
PAES_INLINE __m128i multiply_blocks(__m128i value, __m128i power) noexcept {
  const __m128i value_halves = _mm_xor_si128(value, OneBlock::swap_halves(value));
  const __m128i power_halves = _mm_xor_si128(power, OneBlock::swap_halves(power));
  const Product<OneBlock> product{_mm_clmulepi64_si128(value, power, 0x00),
                                  _mm_clmulepi64_si128(value_halves, power_halves, 0x00),
                                  _mm_clmulepi64_si128(value, power, 0x11)};
  return reduce<OneBlock>(product, reduction_block());
}

// value * x in reflected order: a left shift by one bit, plus the polynomial if a bit fell out.
PAES_INLINE __m128i times_x(__m128i value) noexcept {
  const __m128i carries = _mm_srli_epi64(value, 63);
  const __m128i shifted = _mm_or_si128(_mm_slli_epi64(value, 1), _mm_slli_si128(carries, 8));
  const __m128i top = _mm_shuffle_epi32(_mm_srai_epi32(value, 31), 0xff);
  const __m128i polynomial = _mm_set_epi64x(static_cast<long long>(reduction_constant), 1);
  return _mm_xor_si128(shifted, _mm_and_si128(top, polynomial));
}

// What one kernel keeps of a key in KernelKeys. Each table starts a cache line.
template <class Vector>
struct StitchedKeys {  // NOLINT(clang-analyzer-optin.performance.Padding)
  static constexpr unsigned flight_blocks = Vector::flight * Vector::blocks;
  // At most: a whole flight, a second one that lacks at least a byte, and the length block.
  static constexpr unsigned end_powers = 2 * flight_blocks + 1;

  alignas(64) std::uint8_t round_key[RoundKeys::max_rounds + 1][Vector::blocks][16];
  // Keys for the equivalent inverse cipher, in the order of use (FIPS 197, section 5.3.5).
  alignas(64) std::uint8_t inverse_key[RoundKeys::max_rounds + 1][Vector::blocks][16];
  // How many registers' products are added before a reduction.
  static constexpr unsigned group = Vector::group_flights * Vector::flight;
  // H^(lanes * (group - i)) * x in every lane, and for each two of them the sums of their halves.
  alignas(64) std::uint8_t step_power[group][Vector::blocks][16];
  alignas(64) std::uint8_t step_halves[group / 2][Vector::blocks][2][8];
  // H^(end_powers - i) * x, and in both halves the sum of its halves. The zeros after them multiply
  // the zeros after a text.
  static constexpr unsigned end_entries = end_powers + 2 * Vector::blocks - 1;
  alignas(64) Block end_power[end_entries];
  alignas(64) Block end_halves[end_entries];
  // First-round differences: entry c is first_round[c]. The first one used begins a cache line.
  alignas(64) Block padding_before_first_round[2];
  Block first_round[256 + first_text_counter];
  unsigned rounds;

  // Expects zeroed memory.
  void prepare(const RoundKeys& round_keys) noexcept {
    rounds = round_keys.rounds;
    for (unsigned round = 0; round <= round_keys.rounds; ++round) {
      const __m128i key = load_block(round_keys.key[round].bytes);
      const bool is_outer = round == 0 || round == round_keys.rounds;
      const __m128i inverse = is_outer ? key : _mm_aesimc_si128(key);
      for (unsigned lane = 0; lane < Vector::blocks; ++lane) {
        store_block(round_key[round][lane], key);
        store_block(inverse_key[round_keys.rounds - round][lane], inverse);
      }
    }
    prepare_powers(round_keys);
    prepare_first_round(round_keys);
  }

  void prepare_powers(const RoundKeys& round_keys) noexcept {
    __m128i h = load_block(round_keys.key[0].bytes);  // E(0), section 6.4
    for (unsigned round = 1; round < round_keys.rounds; ++round) {
      h = _mm_aesenc_si128(h, load_block(round_keys.key[round].bytes));
    }
    h = reverse_block(_mm_aesenclast_si128(h, load_block(round_keys.key[round_keys.rounds].bytes)));
    const __m128i h_times_x = times_x(h);
    __m128i power = h;
    constexpr unsigned all_powers = std::max(end_powers, group * Vector::blocks);
    for (unsigned exponent = 1; exponent <= all_powers; ++exponent) {
      const __m128i power_times_x = times_x(power);
      const __m128i halves = _mm_xor_si128(power_times_x, OneBlock::swap_halves(power_times_x));
      if (exponent <= end_powers) {
        store_block(end_power[end_powers - exponent].bytes, power_times_x);
        store_block(end_halves[end_powers - exponent].bytes, halves);
      }
      if (exponent % Vector::blocks == 0 && exponent <= group * Vector::blocks) {
        const unsigned index = group - exponent / Vector::blocks;
        for (unsigned lane = 0; lane < Vector::blocks; ++lane) {
          store_block(step_power[index][lane], power_times_x);
          _mm_storel_epi64(reinterpret_cast<__m128i*>(step_halves[index / 2][lane][index % 2]),
                           halves);
        }
      }
      power = multiply_blocks(power, h_times_x);
    }
  }

  void prepare_first_round(const RoundKeys& round_keys) noexcept {
    const __m128i whitening = load_block(round_keys.key[0].bytes);
    const __m128i zero = _mm_setzero_si128();
    const __m128i at_zero = _mm_aesenc_si128(whitening, zero);
    for (unsigned entry = 0; entry < 256 + first_text_counter; ++entry) {
      const __m128i counter = _mm_insert_epi8(zero, static_cast<int>(entry & 0xff), 15);
      const __m128i state = _mm_aesenc_si128(_mm_xor_si128(counter, whitening), zero);
      store_block(first_round[entry].bytes, _mm_xor_si128(state, at_zero));
    }
  }
};

}  // namespace
}  // namespace paes
