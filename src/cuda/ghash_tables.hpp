// GHASH (SP 800-38D, section 6.4) on a device, which has no carry-less multiplication. A product
// with a power of H is a sum of that power's multiples by the 16 polynomials of four bits. They are
// looked up in shared memory, one for each four bits of the other factor, and the sum is reduced
// once. Each of the 32 lanes has multiples of its own, 16 bytes each, so that look-ups never
// conflict and their time does not depend on data.
//
// Each lane of a warp hashes every 32nd block by Horner's rule with H^32. Then lane l multiplies by
// H^(32 - l), and the sum over the lanes is the hash. The hashes of chunks are joined in the same
// way, with H^1024 in place of H, and those hashes once more (hash_levels).
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
  // the multiples of G^32, where G is H on level 0, H^1024 on level 1, and so on
  FieldWords horner[16];
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

class HashTables {
 public:
  static constexpr unsigned shared_bytes = 2 * hash_table_bytes;

  PAES_DEVICE static void fill(std::uint8_t* shared, const HashLevel& level, unsigned index,
                               unsigned threads) {
    for (unsigned at = index; at < 16 * warp_lanes; at += threads) {
      const auto store = [&](unsigned to, const FieldWords& from) {
        store_words(shared + to, load_words<16>(&from));
      };
      store(at * unsigned{sizeof(FieldWords)}, level.horner[at / warp_lanes]);
      store(hash_table_bytes + at * unsigned{sizeof(FieldWords)},
            level.join[at / warp_lanes][at % warp_lanes]);
    }
  }

  PAES_DEVICE HashTables(const std::uint8_t* shared, unsigned lane)
      : shared_(shared), lane_(lane * unsigned{sizeof(FieldWords)}) {}

  PAES_DEVICE FieldWords times_horner(const FieldWords& x) const { return multiply(x, shared_); }
  PAES_DEVICE FieldWords times_join(const FieldWords& x) const {
    return multiply(x, shared_ + hash_table_bytes);
  }

 private:
  PAES_DEVICE FieldWords multiply(const FieldWords& x, const std::uint8_t* table) const {
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
        const std::uint32_t address = (placed & (15U << entry_shift)) | lane_;
        const Words<16> multiple = load_words<16>(table + address);
        PAES_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          z[w + i] ^= multiple.word[i];
        }
      }
    }
    return reduce(z);
  }

  const std::uint8_t* shared_;
  std::uint32_t lane_;  // times 16
};

}  // namespace
}  // namespace paes::cuda
