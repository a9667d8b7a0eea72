// SPDX-License-Identifier: Apache-2.0
// Triple DES on the registers of a processor, of 64 bits or more: the blocks of a message become
// slices, go through the rounds of des_bitslice_rounds.hpp, and become blocks again.
#pragma once

#include <cstring>
#include <utility>

#include "cipher/des_bitslice_rounds.hpp"
#include "core/secret.hpp"

namespace paes {
namespace {  // NOLINT: files compiled for different instruction sets each get their own copy
namespace des_bitslice {

// Each size has a specialization of its own, because g++ 12 drops the attribute if its argument
// depends on a template parameter.
template <std::size_t Size>
struct VectorOf;
template <>
struct VectorOf<32> {
  using Words = std::uint64_t __attribute__((vector_size(32)));
  using Octets = std::uint8_t __attribute__((vector_size(32)));
};
template <>
struct VectorOf<64> {
  using Words = std::uint64_t __attribute__((vector_size(64)));
  using Octets = std::uint8_t __attribute__((vector_size(64)));
};

template <class Word>
struct State {
  static constexpr std::size_t lanes = 8 * sizeof(typename Word::Slice);
  typename Word::Slice slice[64];
};

// The transposition works on eight rows at a time, which fit into registers. One step moves whole
// bytes between rows that are eight apart, the other moves bits within bytes between neighbours.
template <class Word>
using Rows = typename Word::Slice[8];

// Exchanges bits between those of the eight rows whose numbers differ in one bit.
template <class Word, unsigned Distance, unsigned Shift, std::uint64_t Mask>
[[gnu::always_inline]] inline void exchange_rows(Rows<Word>& row) noexcept {
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = k / Distance * 2 * Distance + k % Distance;
    Word::template exchange<Shift, Mask>(row[i], row[i + Distance]);
  }
}

template <class Word>
[[gnu::always_inline]] inline void transpose_bits(Rows<Word>& row) noexcept {
  exchange_rows<Word, 4, 4, 0x0f0f0f0f0f0f0f0f>(row);
  exchange_rows<Word, 2, 2, 0x3333333333333333>(row);
  exchange_rows<Word, 1, 1, 0x5555555555555555>(row);
}

template <class Word>
[[gnu::always_inline]] inline void transpose_bytes(Rows<Word>& row) noexcept {
  exchange_rows<Word, 4, 32, 0x00000000ffffffff>(row);
  exchange_rows<Word, 2, 16, 0x0000ffff0000ffff>(row);
  exchange_rows<Word, 1, 8, 0x00ff00ff00ff00ff>(row);
}

// Interleaves the bytes of the lower, or upper, halves of the lanes of a and b.
template <class Slice, bool Upper, std::size_t... I>
[[gnu::always_inline]] inline Slice interleave(Slice a, Slice b,
                                               std::index_sequence<I...>) noexcept {
  using Octets = typename VectorOf<sizeof(Slice)>::Octets;
  constexpr auto from = [](std::size_t i) {
    return static_cast<int>(i / lane_bytes * lane_bytes + (Upper ? 8 : 0) + i % lane_bytes / 2 +
                            (i % 2) * sizeof(Slice));
  };
  return (Slice)__builtin_shufflevector((Octets)a, (Octets)b, from(I)...);
}

// Swaps the highest bit of a byte's place in its lane with the bit `Distance` of the row's number.
// The other bits of the place move up.
template <class Word, unsigned Distance>
[[gnu::always_inline]] inline void interleave_rows(Rows<Word>& row) noexcept {
  using Slice = typename Word::Slice;
  constexpr std::make_index_sequence<sizeof(Slice)> all;
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = k / Distance * 2 * Distance + k % Distance;
    const Slice a = row[i];
    const Slice b = row[i + Distance];
    row[i] = interleave<Slice, false>(a, b, all);
    row[i + Distance] = interleave<Slice, true>(a, b, all);
  }
}

template <class Word>
inline void slice(const std::uint8_t* blocks, State<Word>& state) noexcept {
  Rows<Word> row;
  constexpr std::size_t row_bytes = sizeof row[0];
  for (unsigned i = 0; i < 8; ++i) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      std::memcpy(&row[j], blocks + (i + 8 * j) * row_bytes, row_bytes);
    }
    if constexpr (is_vector<Word>) {
      interleave_rows<Word, 4>(row);
      interleave_rows<Word, 2>(row);
      interleave_rows<Word, 1>(row);
      interleave_rows<Word, 4>(row);
    } else {
      transpose_bytes<Word>(row);
    }
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + 8 * j] = row[j];
    }
  }
  for (unsigned i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + j];
    }
    transpose_bits<Word>(row);
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + j] = row[j];
    }
  }
}

// The last round leaves the halves exchanged, so each slot takes what its neighbour holds.
template <class Word>
inline void unslice(State<Word>& state, std::uint8_t* blocks) noexcept {
  Rows<Word> row;
  constexpr std::size_t row_bytes = sizeof row[0];
  for (unsigned i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + (j ^ 1)];
    }
    transpose_bits<Word>(row);
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + j] = row[j];
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + 8 * j];
    }
    if constexpr (is_vector<Word>) {
      interleave_rows<Word, 2>(row);
      interleave_rows<Word, 1>(row);
      interleave_rows<Word, 4>(row);
    } else {
      transpose_bytes<Word>(row);
    }
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      // Bits 2, 1 and 0 of j are bits 0, 2 and 1 of the place.
      const unsigned place = is_vector<Word> ? (j << 1 & 7) | j >> 2 : j;
      std::memcpy(blocks + (i + 8 * place) * row_bytes, &row[j], row_bytes);
    }
  }
}

// Step 1 encrypts, from the first round key to the last; step -1 decrypts, from the last to the
// first. `in` may be `out`.
template <class Word, int Step>
inline void crypt(const Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  State<Word> state;
  slice(in, state);
  typename Word::Slice* l = state.slice;
  typename Word::Slice* r = state.slice + 1;
  unsigned next = Step == 1 ? 0 : DesRoundKeys::rounds - 1;
  for (unsigned pass = 0; pass < 3; ++pass) {
    for (unsigned i = 0; i < 16; i += 2) {
      round<Word>(l, r, keys.mask[next]);
      round<Word>(r, l, keys.mask[next + static_cast<unsigned>(Step)]);
      next += static_cast<unsigned>(2 * Step);
    }
    std::swap(l, r);
  }
  unslice(state, out);
  wipe(&state, sizeof state);
}

}  // namespace des_bitslice
}  // namespace
}  // namespace paes
