// SPDX-License-Identifier: Apache-2.0
// Triple DES by tables: one look-up does an S-box and P. IP and its inverse exchange bits, and run
// once for all three passes, because they cancel between passes. This is the fast form for
// processors without wide registers; the studies compare others with it. Its look-ups depend on
// secrets, so never use it with a real key.
//
// Halves are kept rotated to the left by one bit, so that the low six bits of the four bytes are
// what E gives to boxes 2, 4, 6 and 8. After another rotation, by four, they are what it gives to
// boxes 1, 3, 5 and 7.
#pragma once

#include <bit>
#include <utility>

#include "cipher/des_key.hpp"
#include "cipher/des_standard.hpp"

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges
namespace des_tables {

// Entry x of box k: its four bits where P puts them, rotated like the halves.
struct SpTables {
  std::uint32_t entry[8][64];
};

constexpr SpTables make_sp_tables() noexcept {
  SpTables tables = {};
  for (unsigned box = 0; box < 8; ++box) {
    for (unsigned input = 0; input < 64; ++input) {
      const std::uint32_t s = des_standard::sbox_entry(box, input) << (28 - 4 * box);
      std::uint32_t permuted = 0;
      for (const std::uint8_t position : des_standard::permutation) {
        permuted = permuted << 1 | (s >> (32 - position) & 1);
      }
      tables.entry[box][input] = std::rotl(permuted, 1);
    }
  }
  return tables;
}

inline constexpr SpTables sp = make_sp_tables();

// A round key in parts of six bits, each in the low bits of a byte.
struct Keys {
  struct {
    std::uint32_t odd;   // boxes 1, 3, 5, 7
    std::uint32_t even;  // boxes 2, 4, 6, 8
  } round[DesRoundKeys::rounds];
};

inline void prepare(const DesRoundKeys& round_keys, Keys& keys) noexcept {
  for (unsigned i = 0; i < DesRoundKeys::rounds; ++i) {
    const std::uint64_t k = round_keys.key[i];
    keys.round[i] = {};
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned shift = 8 * (3 - byte);
      keys.round[i].odd |= static_cast<std::uint32_t>(k >> (42 - 12 * byte) & 63) << shift;
      keys.round[i].even |= static_cast<std::uint32_t>(k >> (36 - 12 * byte) & 63) << shift;
    }
  }
}

// Exchanges the bits of a under `mask << shift` with those of b under `mask`.
inline void exchange(std::uint32_t& a, std::uint32_t& b, int shift, std::uint32_t mask) noexcept {
  const std::uint32_t difference = ((a >> shift) ^ b) & mask;
  b ^= difference;
  a ^= difference << shift;
}

[[gnu::always_inline]] inline std::uint32_t f(std::uint32_t r, std::uint32_t odd,
                                              std::uint32_t even) noexcept {
  const std::uint32_t u = std::rotr(r, 4) ^ odd;
  const std::uint32_t v = r ^ even;
  return sp.entry[0][u >> 24 & 63] ^ sp.entry[2][u >> 16 & 63] ^ sp.entry[4][u >> 8 & 63] ^
         sp.entry[6][u & 63] ^ sp.entry[1][v >> 24 & 63] ^ sp.entry[3][v >> 16 & 63] ^
         sp.entry[5][v >> 8 & 63] ^ sp.entry[7][v & 63];
}

// Step 1 encrypts, from the first round key on; step -1 decrypts, from the last one down.
template <int Step>
inline void crypt(const Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  std::uint32_t l = load_be32(in);
  std::uint32_t r = load_be32(in + 4);
  // IP, as exchanges between the halves; each half ends up rotated by one.
  exchange(l, r, 4, 0x0f0f0f0f);
  exchange(l, r, 16, 0x0000ffff);
  exchange(r, l, 2, 0x33333333);
  exchange(r, l, 8, 0x00ff00ff);
  exchange(l, r, 1, 0x55555555);
  l = std::rotl(l, 1);
  r = std::rotl(r, 1);
  const auto* key = keys.round + (Step == 1 ? 0U : DesRoundKeys::rounds - 1);
  for (unsigned pass = 0; pass < 3; ++pass) {
    for (unsigned round = 0; round < 16; round += 2, key += std::ptrdiff_t{2} * Step) {
      l ^= f(r, key[0].odd, key[0].even);
      r ^= f(l, key[Step].odd, key[Step].even);
    }
    std::swap(l, r);
  }
  l = std::rotr(l, 1);
  r = std::rotr(r, 1);
  exchange(l, r, 1, 0x55555555);
  exchange(r, l, 8, 0x00ff00ff);
  exchange(r, l, 2, 0x33333333);
  exchange(l, r, 16, 0x0000ffff);
  exchange(l, r, 4, 0x0f0f0f0f);
  store_be32(out, l);
  store_be32(out + 4, r);
}

}  // namespace des_tables
}  // namespace
}  // namespace paes
