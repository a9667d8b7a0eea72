// SPDX-License-Identifier: Apache-2.0
// The device kernel `cuda_bitslice`: AES on 8 blocks in the registers of one thread, by three-input
// logic alone. No branch and no address depends on data or key. A word holds one bit of one row of
// the states: byte c is column c, and bit n of the byte is block n. So the S-box is a circuit over
// the eight words of a row, ShiftRows rotates words by bytes (PRMT), and MixColumns adds words of
// different rows.
//
// Why 8 blocks: with 32, ShiftRows would be free, but a thread would need 128 registers for the
// state alone, and a round would take 27 KB of code. With 2 blocks, a word would hold several rows
// side by side, and ShiftRows would take masks and shifts. Round keys are added inside the S-boxes,
// except for two bits (aes_sbox_three_input.hpp). Operations of a round, on 8 blocks:
//
//                 forward                  inverse
//   S-boxes       4 x (74 + 2)       304   4 x (8 + 74 + 2 + 8)   368
//   ShiftRows     3 x 8               24                           24
//   MixColumns    32 + 20 + 2 x 12    76   50 + 76                126
//                                   ----                         ----
//                                    404                          518
//
// The last round has no MixColumns. The first key takes 32 operations, and the way to slices and
// back 2 x (64 PRMT, 48 shifts to each side, 96 LOP3) = 512. So a block takes 563 operations with
// AES-128 and 765 with AES-256, or 700 and 959 for decryption. Counters cost 105 fewer: the way to
// slices, the first key and two rounds take 1096 operations for 8 blocks. Instead, counters take 74
// for S-boxes, 19 before and after those, and 96 to add what all counters of a tile share.
#include <cstring>

#include "cipher/aes_key.hpp"
#include "core/secret.hpp"
#include "cuda/aes_logic.hpp"
#include "cuda/grid.hpp"
#include "cuda/lanes.hpp"

namespace paes::cuda {
namespace {

// The words of bits 0 to 7 of each row.
using AesSlices = std::uint32_t[4][8];

// One direction's round keys in the order of use. All after the first are in the form that the
// S-boxes take.
struct AesBitsliceKeys {
  std::uint32_t round[RoundKeys::max_rounds + 1][4][8];
  Words<16> columns[3];  // the first round keys, not sliced, for counters
};

// Moves the bytes of a block from columns to rows or back: row r's byte c is column c's byte r.
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

// S(x) = A x^-1 + c. The inverse applies A^-1 before and after the forward circuit; the previous
// round key has already added c to the input.
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

// InvMixColumns: multiplies each column by {04}x^2 + {05}, which adds {04}(s[r] ^ s[r+2]) to row r,
// and then does MixColumns.
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

// One round, after `Done` rounds. The inverse cipher takes the steps in the same order: ShiftRows
// moves whole bytes, so it may also stand after the S-boxes, and the keys are added inside those.
template <bool Inverse, unsigned Done>
PAES_DEVICE void finish_slices(const AesBitsliceKeys& keys, unsigned rounds, AesSlices& state) {
  PAES_KEEP_LOOP
  for (unsigned round = Done + 1; round < rounds; ++round) {
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

template <bool Inverse>
PAES_DEVICE void crypt_slices(const AesBitsliceKeys& keys, unsigned rounds, AesSlices& state) {
  PAES_UNROLL
  for (unsigned r = 0; r < 4; ++r) {
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      state[r][b] ^= keys.round[0][r][b];
    }
  }
  finish_slices<Inverse, 0>(keys, rounds, state);
}

// Counters that differ only in their last byte.
//
// Round 1 sends that byte to column 0, and round 2 sends row r of that column to column (4 - r) %
// 4. All other bytes are the same for these counters. So round 2 needs one circuit for what varies,
// which takes the four bytes together, and the circuit of round 1 is the same for every tile of a
// thread. These circuits take the bytes in the order of the columns to which round 2 sends them.

// The row whose byte round 2 sends to a column.
PAES_DEVICE constexpr unsigned row_for(unsigned column) { return (4 - column) % 4; }

// What MixColumns multiplies row `from` by for row `to` (FIPS 197, section 5.1.3).
PAES_DEVICE constexpr unsigned coefficient(unsigned to, unsigned from) {
  return from == to ? 2 : from == (to + 1) % 4 ? 3 : 1;
}

// The bytes whose coefficient has this bit, in round 2, for the output's row `to`.
PAES_DEVICE constexpr std::uint32_t bytes_with(unsigned bit, unsigned to) {
  std::uint32_t mask = 0;
  for (unsigned column = 0; column < 4; ++column) {
    mask |= (coefficient(to, row_for(column)) & bit) != 0 ? 0xffU << (8 * column) : 0;
  }
  return mask;
}
// The bytes whose coefficient has this bit, in round 1. There row 3 varies, and each byte is of
// another row of the output.
PAES_DEVICE constexpr std::uint32_t bytes_with(unsigned bit) {
  std::uint32_t mask = 0;
  for (unsigned column = 0; column < 4; ++column) {
    mask |= (coefficient(row_for(column), 3) & bit) != 0 ? 0xffU << (8 * column) : 0;
  }
  return mask;
}

// Times x, modulo x^8 + x^4 + x^3 + x + 1.
PAES_DEVICE void double_slices(const std::uint32_t (&x)[8], std::uint32_t (&doubled)[8]) {
  PAES_UNROLL
  for (unsigned b = 0; b < 8; ++b) {
    doubled[b] = b == 1 || b == 3 || b == 4 ? x[b - 1] ^ x[7] : x[(b + 7) % 8];
  }
}

PAES_DEVICE Words<16> column_round(const Words<16>& block, const Words<16>& key) {
  Words<16> s = shift_rows_and_sub_bytes<false>(block);
  PAES_UNROLL
  for (unsigned c = 0; c < 4; ++c) {
    const std::uint32_t next = byte_permute(s.word[c], 0, 0x0321);  // row r + 1 in row r
    const std::uint32_t step = s.word[c] ^ next;
    const std::uint32_t twice = ((step & 0x7f7f7f7f) << 1) ^ (((step >> 7) & 0x01010101) * 0x1b);
    s.word[c] = twice ^ next ^ byte_permute(step, 0, 0x1032) ^ key.word[c];
  }
  return s;
}

struct AesBitsliceLaunchKeys {
  const AesBitsliceKeys* keys;  // in device memory
  unsigned rounds;
};

// What the counters of a tile share; see mode_loop.hpp.
struct TileCounters {
  std::uint32_t first;    // column 0 after round 1, in the order of row_for
  std::uint32_t rows[4];  // after round 2
};
// What the last bytes of a thread's counters change in column 0 in round 1, in slices.
struct LaneCounters {
  std::uint32_t column[8];
};

template <bool Inverse>
class AesBitsliceCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 8;
  static constexpr bool inverse = Inverse;
  using TakesTiles = void;
  using Keys = AesBitsliceLaunchKeys;
  static constexpr unsigned threads = 512;  // limits a thread to 128 registers
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

  // For run_counter_tiles (sliced_loop.hpp). What all counters of a tile share has a zero for each
  // byte that varies before an S-box. It includes the S-box's constant, so that the circuits need
  // not add it.
  using SharesTiles = void;

  PAES_DEVICE TileCounters start_tile(const Words<16>& counter) const {
    Words<16> s = counter ^ keys_.columns[0];
    s.word[3] &= 0x00ffffff;
    s = column_round(s, keys_.columns[1]);
    TileCounters start = {byte_permute(s.word[0], 0, 0x1230), {}};
    s.word[0] = 0;
    s = column_round(s, keys_.columns[2]);
    transpose_bytes(s.word);
    PAES_UNROLL
    for (unsigned r = 0; r < 4; ++r) {
      start.rows[r] = s.word[r];
    }
    return start;
  }

  PAES_DEVICE LaneCounters start_lane(unsigned lane) const {
    // Bits 5 to 7 of the byte are the block's number in the thread.
    constexpr std::uint32_t of_block[8] = {0, 0, 0, 0, 0, 0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0};
    const std::uint32_t of_lane = lane ^ keys_.columns[0].word[3] >> 24;
    constexpr std::uint32_t no_key[8] = {};
    std::uint32_t x[8];
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      x[b] = of_block[b] ^ (0 - (of_lane >> b & 1));
    }
    sbox_three_input<AesGates>(x, no_key);
    std::uint32_t doubled[8];
    double_slices(x, doubled);
    LaneCounters counters = {};
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      counters.column[b] = (x[b] & bytes_with(1)) ^ (doubled[b] & bytes_with(2));
    }
    return counters;
  }

  PAES_DEVICE void crypt_counters(const TileCounters& tile, const LaneCounters& lane,
                                  Words<16> (&block)[blocks]) const {
    constexpr std::uint32_t no_key[8] = {};
    std::uint32_t x[8];
    PAES_UNROLL
    for (unsigned b = 0; b < 8; ++b) {
      x[b] = spread_bit(tile.first, b) ^ lane.column[b];
    }
    sbox_three_input<AesGates>(x, no_key);
    std::uint32_t doubled[8];
    double_slices(x, doubled);
    AesSlices state;
    PAES_UNROLL
    for (unsigned r = 0; r < 4; ++r) {
      PAES_UNROLL
      for (unsigned b = 0; b < 8; ++b) {
        state[r][b] = add_masked(add_masked(spread_bit(tile.rows[r], b), x[b], bytes_with(1, r)),
                                 doubled[b], bytes_with(2, r));
      }
    }
    finish_slices<false, 2>(keys_, rounds_, state);
    to_blocks(state, block);
  }

 private:
  const AesBitsliceKeys& keys_;
  unsigned rounds_;
};

struct Image {
  AesBitsliceKeys keys[2];  // of both directions
};

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

AesBitsliceLaunchKeys keys_of(const Launch& launch, bool is_inverse) {
  const auto& image = *static_cast<const Image*>(launch.image);
  return {image.keys + (is_inverse ? 1 : 0), static_cast<unsigned>(launch.key_bytes / 4 + 6)};
}

int run(const Launch& launch, const Job& job) {
  return run_operation<AesBitsliceCore>(launch, job,
                                        keys_of(launch, formula_of(job.operation).inverse));
}

int run_tweaks(const Launch& launch, const TweakJob& job) {
  return run_tweaks_on_grid<AesBitsliceCore<false>>(launch, job, keys_of(launch, false));
}

}  // namespace

PAES_LAUNCHES(cuda_bitslice, run, run_tweaks, nullptr, nullptr,
              find_on_grid<AesBitsliceCore<false>, Operation::ctr>);

#else

namespace {

// One round key of one direction. `key` is added after the S-boxes, before ShiftRows and
// MixColumns; if `is_first`, before everything.
void prepare_round(const AesSlices& key, bool is_first, AesSlices& round) noexcept {
  for (unsigned r = 0; r < 4; ++r) {
    if (is_first) {
      std::memcpy(round[r], key[r], sizeof round[r]);
    } else {
      spread_key(key[r], round[r]);
    }
  }
}

// One key for all eight blocks, with `constant` added to each byte.
void key_slices(const Block& key, unsigned constant, AesSlices& slices) noexcept {
  std::memset(slices, 0, sizeof slices);
  for (unsigned place = 0; place < block_bytes; ++place) {
    const unsigned byte = key.bytes[place] ^ constant;
    for (unsigned b = 0; b < 8; ++b) {
      slices[place % 4][b] |= (byte >> b & 1) * 0xffU << (8 * (place / 4));
    }
  }
}

// A x (FIPS 197, section 5.1.1).
void matrix(std::uint32_t (&x)[8]) noexcept {
  std::uint32_t y[8];
  for (unsigned i = 0; i < 8; ++i) {
    y[i] = x[i] ^ x[(i + 4) % 8] ^ x[(i + 5) % 8] ^ x[(i + 6) % 8] ^ x[(i + 7) % 8];
  }
  std::memcpy(x, y, sizeof y);
}

void prepare_direction(const RoundKeys& round_keys, bool is_inverse,
                       AesBitsliceKeys& keys) noexcept {
  constexpr unsigned affine_constant = 0x63;
  std::memset(&keys, 0, sizeof keys);
  AesSlices key;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(key), sizeof key});
  const unsigned last = round_keys.rounds;
  for (unsigned round = 0; round <= last; ++round) {
    if (is_inverse) {
      // Each key but the last carries c for the S-boxes after it. InvMixColumns leaves c unchanged,
      // and so do the steps before the key of a forward round.
      key_slices(round_keys.key[last - round], round < last ? affine_constant : 0, key);
      if (round > 0) {
        shift_rows<false>(key);
        for (auto& row : key) {
          matrix(row);  // because A^-1 follows
        }
      }
    } else {
      key_slices(round_keys.key[round], round > 0 ? affine_constant : 0, key);
      if (round > 0 && round < last) {
        inv_mix_columns(key);
      }
      if (round > 0) {
        shift_rows<true>(key);
      }
    }
    prepare_round(key, round == 0, keys.round[round]);
  }
  std::memcpy(keys.columns, round_keys.key, sizeof keys.columns);
}

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  auto* const ready = reinterpret_cast<Image*>(image);
  prepare_direction(round_keys, false, ready->keys[0]);
  prepare_direction(round_keys, true, ready->keys[1]);
}

}  // namespace

const DeviceKernel device_kernel_cuda_bitslice = {
    .name = "cuda_bitslice",
    .cipher = Cipher::aes,
    .summary = "constant time, three-input logic, 8 blocks a thread",
    .warning = nullptr,
    .blocks = AesBitsliceCore<false>::blocks,
    .takes_gcm = false,
    .image_bytes = sizeof(Image),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_bitslice),
};

#endif

}  // namespace paes::cuda
