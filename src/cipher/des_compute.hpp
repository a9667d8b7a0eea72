// SPDX-License-Identifier: Apache-2.0
// Triple DES step by step, in the words of SP 800-67 Rev. 2 (section 3, appendix A): a reference to
// read, and to test other code against. Every permutation moves one bit after the other, and the
// S-boxes are the printed tables. Look-ups in them depend on secrets, so never use this code with a
// real key. Everything is constexpr and plain, so that a device compiler takes it too. The tables
// are a parameter, because a device keeps them in its own memory.
#pragma once

#include "cipher/des_key.hpp"
#include "cipher/des_standard.hpp"

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges
namespace des_compute {

// The tables of des_standard.hpp in one place.
struct Tables {
  std::uint8_t initial_permutation[64];
  std::uint8_t final_permutation[64];
  std::uint8_t expansion[48];
  std::uint8_t permutation[32];
  std::uint8_t sbox[8][64];
};

[[nodiscard]] constexpr Tables make_tables() noexcept {
  Tables tables = {};
  for (unsigned i = 0; i < 64; ++i) {
    tables.initial_permutation[i] = des_standard::initial_permutation[i];
    tables.final_permutation[i] = des_standard::final_permutation[i];
    for (unsigned box = 0; box < 8; ++box) {
      tables.sbox[box][i] = des_standard::sbox[box][i];
    }
  }
  for (unsigned i = 0; i < 48; ++i) {
    tables.expansion[i] = des_standard::expansion[i];
  }
  for (unsigned i = 0; i < 32; ++i) {
    tables.permutation[i] = des_standard::permutation[i];
  }
  return tables;
}

inline constexpr Tables standard_tables = make_tables();

[[nodiscard]] constexpr std::uint32_t f(const Tables& tables, std::uint32_t r,
                                        std::uint64_t k) noexcept {
  const std::uint64_t b = des_standard::permute(r, 32, tables.expansion) ^ k;
  std::uint32_t s = 0;
  for (unsigned box = 0; box < 8; ++box) {
    const auto input = static_cast<unsigned>(b >> (42 - 6 * box) & 63);
    s = s << 4 | tables.sbox[box][des_standard::sbox_place(input)];
  }
  return static_cast<std::uint32_t>(des_standard::permute(s, 32, tables.permutation));
}

// One pass of DES: IP, sixteen rounds, the halves exchanged, the inverse of IP. `step` is 1 to use
// the round keys forwards, -1 to use them backwards.
[[nodiscard]] constexpr std::uint64_t pass(const Tables& tables, std::uint64_t block,
                                           const std::uint64_t* round_key, int step) noexcept {
  const std::uint64_t permuted = des_standard::permute(block, 64, tables.initial_permutation);
  auto l = static_cast<std::uint32_t>(permuted >> 32);
  auto r = static_cast<std::uint32_t>(permuted);
  for (unsigned round = 0; round < 16; ++round, round_key += step) {
    const std::uint32_t next = l ^ f(tables, r, *round_key);
    l = r;
    r = next;
  }
  return des_standard::permute(std::uint64_t{r} << 32 | l, 64, tables.final_permutation);
}

// `keys` has the 48 of DesRoundKeys, in the same order.
[[nodiscard]] constexpr std::uint64_t encrypt(const Tables& tables, const std::uint64_t* keys,
                                              std::uint64_t block) noexcept {
  for (unsigned first = 0; first < DesRoundKeys::rounds; first += 16) {
    block = pass(tables, block, keys + first, 1);
  }
  return block;
}

[[nodiscard]] constexpr std::uint64_t decrypt(const Tables& tables, const std::uint64_t* keys,
                                              std::uint64_t block) noexcept {
  for (unsigned last = DesRoundKeys::rounds; last > 0; last -= 16) {
    block = pass(tables, block, keys + last - 1, -1);
  }
  return block;
}

[[nodiscard]] constexpr std::uint64_t encrypt(const DesRoundKeys& keys,
                                              std::uint64_t block) noexcept {
  return encrypt(standard_tables, keys.key, block);
}

[[nodiscard]] constexpr std::uint64_t decrypt(const DesRoundKeys& keys,
                                              std::uint64_t block) noexcept {
  return decrypt(standard_tables, keys.key, block);
}

}  // namespace des_compute
}  // namespace
}  // namespace paes
