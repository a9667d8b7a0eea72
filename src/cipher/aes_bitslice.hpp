// SPDX-License-Identifier: Apache-2.0
// AES on 16 blocks at once by Boolean operations alone (bit slicing: E. Biham, FSE 1997; for AES,
// E. Kasper and P. Schwabe, CHES 2009). No branch and no address depends on data or key. It uses
// the compilers' vector types of 128 bits; where a processor has no such registers, compilers split
// them into 64-bit words.
//
// One round takes 230 operations for S-boxes, 24 for ShiftRows and 86 for MixColumns with the key:
// 21 per block. Slicing and unslicing take another 26 per block. In all, AES-256 takes about 320
// operations of 128 bits per block, AES-128 about 235.
#pragma once

#include <cstring>

#include "cipher/aes_key.hpp"
#include "cipher/aes_sbox.hpp"
#include "cipher/block.hpp"

namespace paes {
namespace {  // NOLINT: files compiled for different instruction sets each get their own copy
namespace aes_bitslice {

inline constexpr std::size_t lanes = 16;

using Slice = std::uint64_t __attribute__((vector_size(16)));
using Bytes16 = std::uint8_t __attribute__((vector_size(16)));
using Words8 = std::uint16_t __attribute__((vector_size(16)));
using Dwords4 = std::uint32_t __attribute__((vector_size(16)));

// `upper[b]` has bit b of the bytes in rows 0 and 1 of all 16 states, `lower[b]` in rows 2 and 3.
// Each half of a slice is a row, each 16-bit word of it a column, each bit of the word a block. So
// ShiftRows permutes words within halves, and MixColumns permutes whole halves.
struct State {
  Slice upper[8];
  Slice lower[8];
};

struct Keys {
  State round[RoundKeys::max_rounds + 1];
  unsigned rounds;
};

template <int... Index>
[[gnu::always_inline]] inline Slice shuffle_bytes(Slice a, Slice b) noexcept {
  return (Slice)__builtin_shufflevector((Bytes16)a, (Bytes16)b, Index...);
}
template <int... Index>
[[gnu::always_inline]] inline Slice shuffle_words(Slice a) noexcept {
  return (Slice)__builtin_shufflevector((Words8)a, (Words8)a, Index...);
}
template <int... Index>
[[gnu::always_inline]] inline Slice shuffle_dwords(Slice a, Slice b) noexcept {
  return (Slice)__builtin_shufflevector((Dwords4)a, (Dwords4)b, Index...);
}
[[gnu::always_inline]] inline Slice interleave_low(Slice a, Slice b) noexcept {
  return shuffle_bytes<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
}
[[gnu::always_inline]] inline Slice interleave_high(Slice a, Slice b) noexcept {
  return shuffle_bytes<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b);
}

[[gnu::always_inline]] inline Slice even_bytes(Slice a, Slice b) noexcept {
  return shuffle_bytes<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(a, b);
}
[[gnu::always_inline]] inline Slice odd_bytes(Slice a, Slice b) noexcept {
  return shuffle_bytes<1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31>(a, b);
}

// Exchanges the bits of a under `mask << Shift` with those of b under `mask`.
template <int Shift>
[[gnu::always_inline]] inline void exchange(Slice& a, Slice& b, std::uint64_t mask) noexcept {
  const Slice difference = ((a >> Shift) ^ b) & Slice{mask, mask};
  b ^= difference;
  a ^= difference << Shift;
}

// Transposes the slices' 8 x 8 matrix of bits at every byte position. It is its own inverse.
[[gnu::always_inline]] inline void transpose_bits(Slice (&s)[8]) noexcept {
  for (unsigned i = 0; i < 8; i += 2) {
    exchange<1>(s[i], s[i + 1], 0x5555555555555555);
  }
  for (unsigned i = 0; i < 8; i += (i % 2 == 0) ? 1U : 3U) {
    exchange<2>(s[i], s[i + 2], 0x3333333333333333);
  }
  for (unsigned i = 0; i < 4; ++i) {
    exchange<4>(s[i], s[i + 4], 0x0f0f0f0f0f0f0f0f);
  }
}

// Blocks n and n + 8 share 16-bit words: block n has the low bytes, the other the high bytes.
[[gnu::always_inline]] inline void slice(const std::uint8_t* blocks, State& state) noexcept {
  for (unsigned n = 0; n < 8; ++n) {
    Slice first;
    Slice second;
    std::memcpy(&first, blocks + n * block_bytes, sizeof first);
    std::memcpy(&second, blocks + (n + 8) * block_bytes, sizeof second);
    const Slice columns01 = shuffle_dwords<0, 4, 1, 5>(first, second);
    const Slice columns23 = shuffle_dwords<2, 6, 3, 7>(first, second);
    const Slice rows02 = even_bytes(columns01, columns23);
    const Slice rows13 = odd_bytes(columns01, columns23);
    state.upper[n] = even_bytes(rows02, rows13);
    state.lower[n] = odd_bytes(rows02, rows13);
  }
  transpose_bits(state.upper);
  transpose_bits(state.lower);
}

[[gnu::always_inline]] inline void unslice(State& state, std::uint8_t* blocks) noexcept {
  transpose_bits(state.upper);
  transpose_bits(state.lower);
  for (unsigned n = 0; n < 8; ++n) {
    const Slice rows02 = interleave_low(state.upper[n], state.lower[n]);
    const Slice rows13 = interleave_high(state.upper[n], state.lower[n]);
    const Slice columns01 = interleave_low(rows02, rows13);
    const Slice columns23 = interleave_high(rows02, rows13);
    const Slice first = shuffle_dwords<0, 2, 4, 6>(columns01, columns23);
    const Slice second = shuffle_dwords<1, 3, 5, 7>(columns01, columns23);
    std::memcpy(blocks + n * block_bytes, &first, sizeof first);
    std::memcpy(blocks + (n + 8) * block_bytes, &second, sizeof second);
  }
}

[[gnu::always_inline]] inline void add_round_key(State& state, const State& key) noexcept {
  for (unsigned b = 0; b < 8; ++b) {
    state.upper[b] ^= key.upper[b];
    state.lower[b] ^= key.lower[b];
  }
}

[[gnu::always_inline]] inline void shift_rows(State& state) noexcept {
  for (unsigned b = 0; b < 8; ++b) {
    state.upper[b] = shuffle_words<0, 1, 2, 3, 5, 6, 7, 4>(state.upper[b]);
    state.lower[b] = shuffle_words<2, 3, 0, 1, 7, 4, 5, 6>(state.lower[b]);
  }
}

// {02}(s[r] ^ s[r+1]) ^ s[r+1] ^ s[r+2] ^ s[r+3] (FIPS 197, section 5.1.3), with the sum of two
// neighbouring rows, `step`, used twice.
[[gnu::always_inline]] inline void mix_columns(State& state, const State& key) noexcept {
  Slice upper_step[8];
  Slice lower_step[8];
  for (unsigned b = 0; b < 8; ++b) {
    const Slice upper_next = shuffle_dwords<2, 3, 4, 5>(state.upper[b], state.lower[b]);
    const Slice lower_next = shuffle_dwords<2, 3, 4, 5>(state.lower[b], state.upper[b]);
    upper_step[b] = state.upper[b] ^ upper_next;
    lower_step[b] = state.lower[b] ^ lower_next;
    state.upper[b] = upper_next ^ lower_step[b] ^ key.upper[b];
    state.lower[b] = lower_next ^ upper_step[b] ^ key.lower[b];
  }
  for (unsigned b = 0; b < 8; ++b) {
    state.upper[b] ^= upper_step[(b + 7) % 8];
    state.lower[b] ^= lower_step[(b + 7) % 8];
    // x^8 = x^4 + x^3 + x + 1.
    if (b == 1 || b == 3 || b == 4) {
      state.upper[b] ^= upper_step[7];
      state.lower[b] ^= lower_step[7];
    }
  }
}

inline void encrypt(const Keys& keys, State& state) noexcept {
  add_round_key(state, keys.round[0]);
  for (unsigned round = 1; round < keys.rounds; ++round) {
    sbox_circuit_without_constant(state.upper);
    sbox_circuit_without_constant(state.lower);
    shift_rows(state);
    mix_columns(state, keys.round[round]);
  }
  sbox_circuit_without_constant(state.upper);
  sbox_circuit_without_constant(state.lower);
  shift_rows(state);
  add_round_key(state, keys.round[keys.rounds]);
}

[[gnu::always_inline]] inline void inv_shift_rows(State& state) noexcept {
  for (unsigned b = 0; b < 8; ++b) {
    state.upper[b] = shuffle_words<0, 1, 2, 3, 7, 4, 5, 6>(state.upper[b]);
    state.lower[b] = shuffle_words<2, 3, 0, 1, 5, 6, 7, 4>(state.lower[b]);
  }
}

// A^-1, the inverse of the S-box's linear part: bit i of the result is the sum of bits i + 2, i + 5
// and i + 7, modulo 8 (FIPS 197, section 5.3.2).
[[gnu::always_inline]] inline void inverse_linear_part(Slice (&x)[8]) noexcept {
  Slice y[8];
  for (unsigned i = 0; i < 8; ++i) {
    y[i] = x[(i + 2) % 8] ^ x[(i + 5) % 8] ^ x[(i + 7) % 8];
  }
  for (unsigned i = 0; i < 8; ++i) {
    x[i] = y[i];
  }
}

// S(x) = A x^-1 + c, so S^-1(y) = (A^-1 (y + c))^-1 = A^-1 A (A^-1 (y + c))^-1: the forward circuit
// without c, with A^-1 before and after it. The caller has added c to y.
[[gnu::always_inline]] inline void inverse_sbox_without_constant(Slice (&x)[8]) noexcept {
  inverse_linear_part(x);
  sbox_circuit_without_constant(x);
  inverse_linear_part(x);
}

// MixColumns applied three times is its inverse. So this multiplies each column by {04}x^2 + {05},
// which is MixColumns twice, and then calls MixColumns. {04} moves bits up by two, and what falls
// out comes back by x^8 = x^4 + x^3 + x + 1.
[[gnu::always_inline]] inline void inv_mix_columns(State& state) noexcept {
  Slice both[8];
  for (unsigned b = 0; b < 8; ++b) {
    both[b] = state.upper[b] ^ state.lower[b];  // rows 0 + 2 and 1 + 3
  }
  const Slice times4[8] = {both[6],
                           both[6] ^ both[7],
                           both[0] ^ both[7],
                           both[1] ^ both[6],
                           both[2] ^ both[6] ^ both[7],
                           both[3] ^ both[7],
                           both[4],
                           both[5]};
  for (unsigned b = 0; b < 8; ++b) {
    state.upper[b] ^= times4[b];
    state.lower[b] ^= times4[b];
  }
  mix_columns(state, State{});
}

// All keys but the first contain the S-box's constant (see prepare), and the steps on rows and
// columns leave it unchanged. So each key addition here also adds the constant that the inverse
// S-box after it wants. No S-box follows the addition of key 0, which has no constant.
inline void decrypt(const Keys& keys, State& state) noexcept {
  add_round_key(state, keys.round[keys.rounds]);
  for (unsigned round = keys.rounds - 1; round > 0; --round) {
    inv_shift_rows(state);
    inverse_sbox_without_constant(state.upper);
    inverse_sbox_without_constant(state.lower);
    add_round_key(state, keys.round[round]);
    inv_mix_columns(state);
  }
  inv_shift_rows(state);
  inverse_sbox_without_constant(state.upper);
  inverse_sbox_without_constant(state.lower);
  add_round_key(state, keys.round[0]);
}

// ShiftRows and MixColumns leave the S-box's constant as it is, so it goes into the keys.
inline void prepare(const RoundKeys& round_keys, Keys& keys) noexcept {
  keys.rounds = round_keys.rounds;
  for (unsigned round = 0; round <= round_keys.rounds; ++round) {
    std::uint8_t blocks[lanes * block_bytes];
    for (std::size_t i = 0; i < sizeof blocks; ++i) {
      const unsigned constant = round == 0 ? 0 : 0x63;
      blocks[i] =
          static_cast<std::uint8_t>(round_keys.key[round].bytes[i % block_bytes] ^ constant);
    }
    slice(blocks, keys.round[round]);
  }
}

// out[i] = E(blocks[i]); 16 blocks, in place or not.
inline void encrypt_blocks(const Keys& keys, const std::uint8_t* blocks,
                           std::uint8_t* out) noexcept {
  State state;
  slice(blocks, state);
  encrypt(keys, state);
  unslice(state, out);
}

// out[i] = D(blocks[i]).
inline void decrypt_blocks(const Keys& keys, const std::uint8_t* blocks,
                           std::uint8_t* out) noexcept {
  State state;
  slice(blocks, state);
  decrypt(keys, state);
  unslice(state, out);
}

}  // namespace aes_bitslice
}  // namespace
}  // namespace paes
