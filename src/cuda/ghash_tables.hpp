// SPDX-License-Identifier: Apache-2.0
// GHASH (SP 800-38D, section 6.4) on a device, which has no carry-less multiplication. A product
// with a power of H is a sum of that power's multiples by the 16 polynomials of four bits, or by
// the 256 of eight. They are looked up in shared memory, one for each four or eight bits of the
// other factor, and the sum is reduced once. Each multiple has several copies of 16 bytes, each in
// its own banks, so that look-ups never conflict and their time does not depend on data: 32 copies
// of multiples by four bits, one for each lane, and 16 of those by eight (ByteTables).
//
// Each lane of a warp hashes every 32nd block by Horner's rule with H^32. Then lane l multiplies by
// H^(32 - l), and the sum over the lanes is the hash. The hashes of chunks are joined in the same
// way, with H^1024 (H^256 for short chunks) in place of H, and those hashes once more
// (hash_levels).
#pragma once

#include "cuda/device_code.hpp"
#include "cuda/job.hpp"

namespace paes::cuda {
namespace {  // NOLINT

// An element of the field as big-endian words: x^0 is the top bit of the first.
struct alignas(16) FieldWords {
  std::uint32_t word[4];
};

struct HashLevel {
  // the multiples of G^32 by eight bits, where G is the level's power of H (hash_levels in
  // job.hpp); every 16th is a multiple by four bits
  FieldWords horner[256];
  FieldWords join[16][warp_lanes];  // of each lane's power
};

inline constexpr unsigned hash_entry_bytes = warp_lanes * sizeof(FieldWords);
inline constexpr unsigned hash_table_bytes = 16 * hash_entry_bytes;

PAES_DEVICE FieldWords operator^(const FieldWords& a, const FieldWords& b) {
  return {
      {a.word[0] ^ b.word[0], a.word[1] ^ b.word[1], a.word[2] ^ b.word[2], a.word[3] ^ b.word[3]}};
}

PAES_DEVICE FieldWords field_of(const Words<16>& block) {
  return {{swap_bytes(block.word[0]), swap_bytes(block.word[1]), swap_bytes(block.word[2]),
           swap_bytes(block.word[3])}};
}
PAES_DEVICE Words<16> block_of(const FieldWords& value) {
  return {{swap_bytes(value.word[0]), swap_bytes(value.word[1]), swap_bytes(value.word[2]),
           swap_bytes(value.word[3])}};
}

// Reduces modulo x^128 + x^7 + x^2 + x + 1, one word of the upper half after the other.
PAES_DEVICE FieldWords reduce(std::uint32_t (&z)[8]) {
  PAES_UNROLL
  for (unsigned i = 7; i >= 4; --i) {
    z[i - 4] ^= z[i] ^ (z[i] >> 1) ^ (z[i] >> 2) ^ (z[i] >> 7);
    z[i - 3] ^= (z[i] << 31) ^ (z[i] << 30) ^ (z[i] << 25);
  }
  return {{z[0], z[1], z[2], z[3]}};
}

// Joining the lanes takes one product per unit, so multiples by four bits are enough.
PAES_DEVICE void fill_join_table(std::uint8_t* shared, const HashLevel& level, unsigned index,
                                 unsigned threads) {
  for (unsigned at = index; at < 16 * warp_lanes; at += threads) {
    store_words(shared + std::size_t{at} * sizeof(FieldWords),
                load_words<16>(&level.join[at / warp_lanes][at % warp_lanes]));
  }
}

// x times the power whose multiples by four bits are in `table`. `lane` is times 16.
PAES_DEVICE FieldWords multiply_by_nibbles(const FieldWords& x, const std::uint8_t* table,
                                           std::uint32_t lane) {
  constexpr unsigned entry_shift = 9;
  static_assert(1U << entry_shift == hash_entry_bytes);
  std::uint32_t z[8] = {};
  // From the highest powers down: z *= x^4 is a shift to the right.
  PAES_UNROLL
  for (unsigned bit = 0; bit < 32; bit += 4) {
    PAES_UNROLL
    for (unsigned i = 7; bit != 0 && i > 0; --i) {
      z[i] = shift_right(z[i - 1], z[i], 4);
    }
    z[0] >>= bit != 0 ? 4 : 0;
    PAES_UNROLL
    for (unsigned w = 0; w < 4; ++w) {
      const std::uint32_t placed =
          bit < entry_shift ? x.word[w] << (entry_shift - bit) : x.word[w] >> (bit - entry_shift);
      const std::uint32_t address = (placed & (15U << entry_shift)) | lane;
      const Words<16> multiple = load_words<16>(table + address);
      PAES_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        z[w + i] ^= multiple.word[i];
      }
    }
  }
  return reduce(z);
}

class NibbleTables {
 public:
  static constexpr unsigned shared_bytes = 2 * hash_table_bytes;

  PAES_DEVICE static void fill(std::uint8_t* shared, const HashLevel& level, unsigned index,
                               unsigned threads) {
    for (unsigned at = index; at < 16 * warp_lanes; at += threads) {
      store_words(shared + std::size_t{at} * sizeof(FieldWords),
                  load_words<16>(&level.horner[std::size_t{at} / warp_lanes * 16]));
    }
    fill_join_table(shared + hash_table_bytes, level, index, threads);
  }

  PAES_DEVICE NibbleTables(const std::uint8_t* shared, unsigned lane)
      : shared_(shared), lane_(lane * unsigned{sizeof(FieldWords)}) {}

  PAES_DEVICE FieldWords times_horner(const FieldWords& x) const {
    return multiply_by_nibbles(x, shared_, lane_);
  }
  PAES_DEVICE FieldWords times_join(const FieldWords& x) const {
    return multiply_by_nibbles(x, shared_ + hash_table_bytes, lane_);
  }

 private:
  const std::uint8_t* shared_;
  std::uint32_t lane_;  // times 16
};

// Multiples by eight bits, in 16 copies: half the look-ups, for 64 KiB.
//
// Time does not depend on data. The 32 lanes' 16 bytes are four times what the 32 banks serve at
// once, so that an access is served in quarters: lanes 0 to 7, 8 to 15, and so on (the 128-bit
// accesses of NVIDIA's CUDA C++ Programming Guide). Lane l reads copy l % 16 of an entry of 256
// bytes, hence from the four banks that begin at 4 (l % 8), whatever the entry. So the lanes of a
// quarter read from 32 different banks, and no look-up waits for another. Only lanes l and l + 16
// can ever read the same address, and they are served at different times. So no two reads are ever
// joined to one.
class ByteTables {
 public:
  static constexpr unsigned copies = 16;
  static constexpr unsigned entry_bytes = copies * sizeof(FieldWords);
  static constexpr unsigned horner_bytes = 256 * entry_bytes;
  static constexpr unsigned shared_bytes = horner_bytes + hash_table_bytes;

  PAES_DEVICE static void fill(std::uint8_t* shared, const HashLevel& level, unsigned index,
                               unsigned threads) {
    for (unsigned at = index; at < 256 * copies; at += threads) {
      store_words(shared + std::size_t{at} * sizeof(FieldWords),
                  load_words<16>(&level.horner[at / copies]));
    }
    fill_join_table(shared + horner_bytes, level, index, threads);
  }

  PAES_DEVICE ByteTables(const std::uint8_t* shared, unsigned lane)
      : shared_(shared),
        copy_(lane % copies * unsigned{sizeof(FieldWords)}),
        lane_(lane * unsigned{sizeof(FieldWords)}) {}

  PAES_DEVICE FieldWords times_horner(const FieldWords& x) const {
    std::uint32_t z[8] = {};
    // From the highest powers down, as in multiply_by_nibbles.
    PAES_UNROLL
    for (unsigned byte = 0; byte < 4; ++byte) {
      PAES_UNROLL
      for (unsigned i = 7; byte != 0 && i > 0; --i) {
        z[i] = shift_right(z[i - 1], z[i], 8);
      }
      z[0] >>= byte != 0 ? 8 : 0;
      PAES_UNROLL
      for (unsigned w = 0; w < 4; ++w) {
        // The copy's place is the address's lowest byte, the entry's number the next one.
        static_assert(entry_bytes == 256);
        const std::uint32_t address = byte_permute(x.word[w], copy_, 0x5504 | (byte << 4));
        const Words<16> multiple = load_words<16>(shared_ + address);
        PAES_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          z[w + i] ^= multiple.word[i];
        }
      }
    }
    return reduce(z);
  }
  PAES_DEVICE FieldWords times_join(const FieldWords& x) const {
    return multiply_by_nibbles(x, shared_ + horner_bytes, lane_);
  }

 private:
  const std::uint8_t* shared_;
  std::uint32_t copy_;  // times 16
  std::uint32_t lane_;  // times 16
};

}  // namespace
}  // namespace paes::cuda
