// SPDX-License-Identifier: Apache-2.0
// What StitchedGcm does after its last whole flight: counter mode on at most one flight of
// registers, and the hash of the rest and of the length block, with all lanes joined (SP 800-38D,
// sections 6.5 and 7.1).
#pragma once

#include "kernel/stitched_keys.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Vector>
struct StitchedEnds {
  using Register = typename Vector::Register;
  using Keys = StitchedKeys<Vector>;
  static constexpr unsigned flight = Vector::flight;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr std::size_t vector_bytes = std::size_t{lanes} * block_bytes;
  static constexpr std::size_t flight_bytes = flight * vector_bytes;

  // The counters of one message. Everything but the running count is fixed.
  struct Counters {
    Register reversed;  // the counter block, byte-reversed, with count 0, in every lane
    std::uint32_t next;

    PAES_INLINE static Counters at(const CounterBlock& counter, std::uint32_t next) noexcept {
      const __m128i reversed = reverse_block(load_block(counter.bytes));
      return {Vector::broadcast(_mm_and_si128(reversed, _mm_set_epi32(-1, -1, -1, 0))), next};
    }
    // Counter blocks count, count + 1, ... as the cipher takes them.
    [[nodiscard]] PAES_INLINE static Register blocks(Register reversed_block,
                                                     std::uint32_t count) noexcept {
      return Vector::reverse_bytes(Vector::add_count(reversed_block, count));
    }
  };

  // Encrypts or decrypts at most Count registers of text. The last one may be partial.
  template <unsigned Rounds, unsigned Count>
  PAES_INLINE static void crypt_few(const Keys& keys, Register reversed, std::uint32_t next,
                                    const std::uint8_t* in, std::uint8_t* out,
                                    std::size_t bytes) noexcept {
    Register state[Count];
    const Register whitening = Vector::load(&keys.round_key[0]);
    for (unsigned i = 0; i < Count; ++i) {
      state[i] = Vector::xor2(Counters::blocks(reversed, next + i * lanes), whitening);
    }
    for (unsigned round = 1; round < Rounds; ++round) {
      const Register key = Vector::load(&keys.round_key[round]);
      for (unsigned i = 0; i < Count; ++i) {
        state[i] = Vector::aes_round(state[i], key);
      }
    }
    const Register key = Vector::load(&keys.round_key[Rounds]);
    Register partial = state[0];
    for (unsigned i = 0; i < Count; ++i) {
      const std::size_t at = i * vector_bytes;
      if (at + vector_bytes <= bytes) {
        const Register mask = Vector::xor2(key, Vector::load(in + at));
        Vector::store(out + at, Vector::aes_last_round(state[i], mask));
      } else if (at < bytes) {
        partial = state[i];
      }
    }
    if (const std::size_t rest = bytes % vector_bytes; rest != 0) {
      const std::size_t at = bytes - rest;
      const Register mask = Vector::xor2(key, Vector::load_part(in + at, rest));
      Vector::store_part(out + at, Vector::aes_last_round(partial, mask), rest);
    }
  }

  // Takes everything in registers.
  template <unsigned Rounds>
  PAES_NOINLINE static void crypt_rest(const Keys& keys, Register reversed, std::uint32_t next,
                                       const std::uint8_t* in, std::uint8_t* out,
                                       std::size_t bytes) noexcept {
    if (bytes > flight_bytes / 2) {
      crypt_few<Rounds, flight>(keys, reversed, next, in, out, bytes);
    } else if (bytes > vector_bytes) {
      crypt_few<Rounds, flight / 2>(keys, reversed, next, in, out, bytes);
    } else {
      crypt_few<Rounds, 1>(keys, reversed, next, in, out, bytes);
    }
  }

  // A register of text[at, bytes), with zeros beyond the end.
  PAES_INLINE static Register load_padded(const std::uint8_t* text, std::size_t at,
                                          std::size_t bytes) noexcept {
    if (at + vector_bytes <= bytes) {
      return Vector::load(text + at);
    }
    return at < bytes ? Vector::load_part(text + at, bytes - at) : Vector::zero();
  }

  // Hashes what is left when no whole flight follows: at most two flights of text, the last block
  // padded with zeros, then `length` if given. Then joins the lanes. `chain` holds the lanes' sums
  // so far and must be zero in lanes beyond the text. That holds because either a whole flight is
  // left, or only lane 0 has a value.
  PAES_NOINLINE static __m128i hash_end(const Keys& keys, Register chain, const std::uint8_t* text,
                                        std::size_t bytes, const Block* length) noexcept {
    const std::size_t blocks = (bytes + block_bytes - 1) / block_bytes + (length != nullptr);
    const Block* power = keys.end_power + (Keys::end_powers - blocks);
    Product<Vector> sum{Vector::zero(), Vector::zero(), Vector::zero()};
    const auto* halves = keys.end_halves + (power - keys.end_power);
    for (std::size_t at = 0; at < bytes; at += 2 * vector_bytes) {
      const Register even = load_padded(text, at, bytes);
      const Register odd = load_padded(text, at + vector_bytes, bytes);
      Register low = Vector::reversed_low_halves(even, odd);
      Register high = Vector::reversed_high_halves(even, odd);
      if (at == 0) {
        low = Vector::xor2(low, Vector::low_half(chain));
        high = Vector::xor2(high, Vector::high_half(chain));
      }
      const Register middle = Vector::xor2(low, high);
      const Register even_power = Vector::load(&power[0]);
      const Register odd_power = Vector::load(&power[lanes]);
      sum.low = Vector::xor3(sum.low, Vector::template multiply<0x00>(low, even_power),
                             Vector::template multiply<0x01>(low, odd_power));
      sum.high = Vector::xor3(sum.high, Vector::template multiply<0x10>(high, even_power),
                              Vector::template multiply<0x11>(high, odd_power));
      sum.middle = Vector::xor3(
          sum.middle, Vector::template multiply<0x00>(middle, Vector::load(&halves[0])),
          Vector::template multiply<0x01>(middle, Vector::load(&halves[lanes])));
      power += std::size_t{2} * lanes;
      halves += std::size_t{2} * lanes;
    }
    Product<OneBlock> joined{Vector::join(sum.low), Vector::join(sum.middle),
                             Vector::join(sum.high)};
    if (length != nullptr) {
      __m128i value = reverse_block(load_block(length->bytes));
      if (bytes == 0) {
        value = _mm_xor_si128(value, Vector::first_block(chain));
      }
      const __m128i h = load_block(keys.end_power[Keys::end_powers - 1].bytes);
      const __m128i value_halves = _mm_xor_si128(value, OneBlock::swap_halves(value));
      const __m128i h_halves = _mm_xor_si128(h, OneBlock::swap_halves(h));
      joined.low = _mm_xor_si128(joined.low, _mm_clmulepi64_si128(value, h, 0x00));
      joined.high = _mm_xor_si128(joined.high, _mm_clmulepi64_si128(value, h, 0x11));
      joined.middle =
          _mm_xor_si128(joined.middle, _mm_clmulepi64_si128(value_halves, h_halves, 0x00));
    } else if (bytes == 0) {
      return Vector::first_block(chain);
    }
    return reduce<OneBlock>(joined, reduction_block());
  }
};

}  // namespace
}  // namespace paes
