// SPDX-License-Identifier: Apache-2.0
// The S-boxes of AES by three-input logic, also for a single block whose words are not sliced. A
// kernel that consists mainly of look-ups does its last round better with logic, where each of the
// 16 look-ups would bring a single byte.
#pragma once

#include "cipher/aes_sbox_three_input.hpp"
#include "cuda/lanes.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device_code.hpp

struct AesGates {
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr std::uint32_t lut3(std::uint32_t a, std::uint32_t b,
                                                             std::uint32_t c) noexcept {
    return cuda::lut3<Table>(a, b, c);
  }
};

// A^-1, the inverse of the S-box's matrix (FIPS 197, section 5.3.2), plus the bits of `Constant`.
template <unsigned Constant = 0>
PAES_DEVICE void inverse_matrix(std::uint32_t (&x)[8]) {
  const std::uint32_t y[8] = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
  PAES_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint32_t a = y[(i + 2) % 8];
    const std::uint32_t b = y[(i + 5) % 8];
    const std::uint32_t c = y[(i + 7) % 8];
    x[i] = (Constant >> i & 1) != 0 ? lut3<0x69>(a, b, c) : xor3(a, b, c);
  }
}

// ShiftRows, or InvShiftRows (FIPS 197, sections 5.1.2 and 5.3.1), on words that are columns.
template <bool Inverse>
PAES_DEVICE void shift_rows(Words<16>& s) {
  Words<16> odd = {};  // rows 1 and 3 moved by one column
  PAES_UNROLL
  for (unsigned c = 0; c < 4; ++c) {
    odd.word[c] = byte_permute(s.word[c], s.word[(c + (Inverse ? 3 : 1)) % 4], 0x7250);
  }
  PAES_UNROLL
  for (unsigned c = 0; c < 4; ++c) {
    s.word[c] = byte_permute(odd.word[c], odd.word[(c + 2) % 4], 0x7610);
  }
}

// Between columns and pairs of bits: word i gets bits 2 i and 2 i + 1 of all 16 bytes.
PAES_DEVICE void columns_to_pairs(std::uint32_t (&word)[4]) {
  exchange<4>(word[0], word[1]);
  exchange<4>(word[2], word[3]);
  exchange<2>(word[0], word[2]);
  exchange<2>(word[1], word[3]);
  const std::uint32_t middle = word[1];
  word[1] = word[2];
  word[2] = middle;
}
PAES_DEVICE void pairs_to_columns(std::uint32_t (&word)[4]) {
  const std::uint32_t middle = word[1];
  word[1] = word[2];
  word[2] = middle;
  exchange<2>(word[0], word[2]);
  exchange<2>(word[1], word[3]);
  exchange<4>(word[0], word[1]);
  exchange<4>(word[2], word[3]);
}

// ShiftRows and SubBytes of one block, or their inverses. The circuit has bit b of the 16 bytes in
// the even bits of a word and nothing in the odd ones, so it could take two blocks at once.
template <bool Inverse>
PAES_DEVICE Words<16> shift_rows_and_sub_bytes(Words<16> s) {
  constexpr std::uint32_t even = 0x55555555;
  constexpr std::uint32_t no_key[8] = {};
  shift_rows<Inverse>(s);
  columns_to_pairs(s.word);
  std::uint32_t x[8];
  PAES_UNROLL
  for (std::size_t i = 0; i < 4; ++i) {
    x[2 * i] = s.word[i];
    x[2 * i + 1] = s.word[i] >> 1;
  }
  // S(x) = A x^-1 + c with c = 0x63. The circuit leaves c out.
  if constexpr (Inverse) {
    inverse_matrix<0x05>(x);  // A^-1 (x + c)
    sbox_three_input<AesGates>(x, no_key);
    inverse_matrix(x);
    PAES_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      s.word[i] = select(even, x[2 * i], x[2 * i + 1] << 1);
    }
  } else {
    sbox_three_input<AesGates>(x, no_key);
    // select() with the bits of c: bits 0, 1, 5 and 6 are inverted.
    s.word[0] = lut3<0x35>(even, x[0], x[1] << 1);
    s.word[1] = select(even, x[2], x[3] << 1);
    s.word[2] = lut3<0xc5>(even, x[4], x[5] << 1);
    s.word[3] = lut3<0x3a>(even, x[6], x[7] << 1);
  }
  pairs_to_columns(s.word);
  return s;
}

}  // namespace
}  // namespace paes::cuda
