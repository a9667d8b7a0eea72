// AES on 8 blocks in the registers of one thread, by three-input logic alone: no branch and no
// address depends on data or key. A word holds one bit of one row of the states: byte c is column
// c, bit n of the byte block n. So the S-box is a circuit over the eight words of a row, ShiftRows
// rotates words by bytes (PRMT) and MixColumns adds words of different rows.
//
// Why 8 blocks: with 32, ShiftRows would be free, but a thread would need 128 registers for the
// state alone, and a round 27 KB of code; with 2 (rows side by side in a word) it would take masks
// and shifts. Round keys are added inside the S-boxes, but for two bits (see
// aes_sbox_three_input.hpp). Operations of a round, on 8 blocks:
//
//                 forward                  inverse
//   S-boxes       4 x (74 + 2)       304   4 x (8 + 74 + 2 + 8)   368
//   ShiftRows     3 x 8               24                           24
//   MixColumns    32 + 20 + 2 x 12    76   50 + 76                126
//                                   ----                         ----
//                                    404                          518
//
// The last round has no MixColumns, the first key takes 32, and the way to slices and back 2 x (64
// PRMT, 48 shifts to each side, 96 LOP3) = 512: a block takes 563 operations with AES-128, 765 with
// AES-256, 700 and 959 backwards.
#pragma once

#include "cipher/aes_key.hpp"
#include "cipher/aes_sbox_three_input.hpp"
#include "cuda/lanes.hpp"
#include "cuda/sliced_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device.hpp

// Of each row the words of bits 0 to 7.
using AesSlices = std::uint32_t[4][8];

// For one direction, in the order of use; all but the first as the S-boxes take them.
struct AesBitsliceKeys {
  std::uint32_t round[RoundKeys::max_rounds + 1][4][8];
};

// ---- Blocks to slices and back.

// The bytes of a block from columns to rows or back: row r's byte c is column c's byte r.
PAES_DEVICE void transpose_bytes(std::uint32_t (&word)[4]) {
  exchange<16>(word[0], word[2]);
  exchange<16>(word[1], word[3]);
  exchange<8>(word[0], word[1]);
  exchange<8>(word[2], word[3]);
}

PAES_DEVICE void to_slices(const Words<16> (&block)[8], AesSlices& state) {
  PAES_UNROLL
  for (unsigned n = 0; n < 8; ++n) {
    Words<16> rows = block[n];
    transpose_bytes(rows.word);
    PAES_UNROLL
    for (unsigned r = 0; r < 4; ++r) {
      state[r][n] = rows.word[r];
    }
  }
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    transpose_bits(state[r]);
  }
}

PAES_DEVICE void to_blocks(AesSlices& state, Words<16> (&block)[8]) {
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    transpose_bits(state[r]);
  }
  PAES_UNROLL
  for (unsigned n = 0; n < 8; ++n) {
    PAES_UNROLL
    for (unsigned r = 0; r < 4; ++r) {
      block[n].word[r] = state[r][n];
    }
    transpose_bytes(block[n].word);
  }
}

// ---- The steps of a round.

struct AesGates {
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr std::uint32_t lut3(std::uint32_t a, std::uint32_t b,
                                                             std::uint32_t c) noexcept {
    return cuda::lut3<Table>(a, b, c);
  }
};

// A^-1, the inverse of the S-box's matrix (FIPS 197, section 5.3.2).
PAES_DEVICE void inverse_matrix(std::uint32_t (&x)[8]) {
  const std::uint32_t y[8] = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
  PAES_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    x[i] = xor3(y[(i + 2) % 8], y[(i + 5) % 8], y[(i + 7) % 8]);
  }
}

// S(x) = A x^-1 + c. Its inverse is A^-1 around the forward circuit, for inputs to which the key
// before has already added c.
template <bool Inverse>
PAES_DEVICE void sub_bytes(AesSlices& state, const AesSlices& key) {
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    if constexpr (Inverse) {
      inverse_matrix(state[r]);
    }
    sbox_three_input<AesGates>(state[r], key[r]);
    if constexpr (Inverse) {
      inverse_matrix(state[r]);
    }
  }
}

template <bool Inverse>
PAES_DEVICE void shift_rows(AesSlices& state) {
  PAES_UNROLL
  for (unsigned b = 0; b < 8; ++b) {
    state[1][b] = byte_permute(state[1][b], 0, Inverse ? 0x2103 : 0x0321);
    state[2][b] = byte_permute(state[2][b], 0, 0x1032);
    state[3][b] = byte_permute(state[3][b], 0, Inverse ? 0x0321 : 0x2103);
  }
}

// {02}(s[r] ^ s[r+1]) ^ s[r+1] ^ s[r+2] ^ s[r+3] (FIPS 197, section 5.1.3), with the sum of two
// neighbouring rows, `step`, used twice.
PAES_DEVICE void mix_columns(AesSlices& state) {
  AesSlices step;
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      step[r][b] = state[r][b] ^ state[(r + 1) % 4][b];
    }
  }
  AesSlices mixed;
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      mixed[r][b] = xor3(state[(r + 1) % 4][b], step[(r + 2) % 4][b], step[r][(b + 7) % 8]);
      // x^8 = x^4 + x^3 + x + 1.
      if (b == 1 || b == 3 || b == 4) {
        mixed[r][b] ^= step[r][7];
      }
    }
  }
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      state[r][b] = mixed[r][b];
    }
  }
}

// MixColumns undone: MixColumns after each column has been multiplied by {04}x^2 + {05}, which adds
// {04}(s[r] ^ s[r+2]) to each row.
PAES_DEVICE void inv_mix_columns(AesSlices& state) {
  PAES_UNROLL
  for (unsigned r = 0; r < 2; ++r) {
    std::uint32_t both[8];
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      both[b] = state[r][b] ^ state[r + 2][b];
    }
    const std::uint32_t top = both[6] ^ both[7];
    PAES_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t(&s)[8] = state[r + 2 * half];
      s[0] ^= both[6];
      s[1] ^= top;
      s[2] = xor3(s[2], both[0], both[7]);
      s[3] = xor3(s[3], both[1], both[6]);
      s[4] = xor3(s[4], both[2], top);
      s[5] = xor3(s[5], both[3], both[7]);
      s[6] ^= both[4];
      s[7] ^= both[5];
    }
  }
  mix_columns(state);
}

// The inverse cipher takes the steps of a round in the same order: ShiftRows moves whole bytes, so
// it may stand after the S-boxes as well as before them, and the keys stand inside those.
template <bool Inverse>
PAES_DEVICE void crypt_slices(const AesBitsliceKeys& keys, unsigned rounds, AesSlices& state) {
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      state[r][b] ^= keys.round[0][r][b];
    }
  }
  PAES_KEEP_LOOP
  for (unsigned round = 1; round < rounds; ++round) {
    sub_bytes<Inverse>(state, keys.round[round]);
    shift_rows<Inverse>(state);
    if constexpr (Inverse) {
      inv_mix_columns(state);
    } else {
      mix_columns(state);
    }
  }
  sub_bytes<Inverse>(state, keys.round[rounds]);
  shift_rows<Inverse>(state);
}

struct AesBitsliceLaunchKeys {
  const AesBitsliceKeys* keys;  // in device memory
  unsigned rounds;
};

// See mode_loop.hpp.
template <bool Inverse>
class AesBitsliceCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 8;
  static constexpr bool inverse = Inverse;
  using TakesTiles = void;
  using Keys = AesBitsliceLaunchKeys;
  static constexpr unsigned threads = 512;  // so at most 128 registers
  static constexpr unsigned shared_bytes = sizeof(AesBitsliceKeys);

  PAES_DEVICE static void fill(std::uint8_t* shared, const Keys& keys, const Thread& thread) {
    copy_to_shared(shared, keys.keys, shared_bytes, thread);
  }

  PAES_DEVICE AesBitsliceCore(const std::uint8_t* shared, const Keys& keys,
                              const Thread& /*thread*/)
      : keys_(*reinterpret_cast<const AesBitsliceKeys*>(shared)), rounds_(keys.rounds) {}

  PAES_DEVICE void crypt(Words<16> (&block)[blocks]) const {
    AesSlices state;
    to_slices(block, state);
    crypt_slices<Inverse>(keys_, rounds_, state);
    to_blocks(state, block);
  }

 private:
  const AesBitsliceKeys& keys_;
  unsigned rounds_;
};

}  // namespace
}  // namespace paes::cuda
