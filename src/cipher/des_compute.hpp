// Triple DES step by step as SP 800-67 Rev. 2 (section 3, appendix A) writes it down: the reference
// to read and to test others against. Every permutation moves bit after bit, the S-boxes are the
// printed tables. Their look-ups depend on secrets: never the choice where a key matters.
// Everything is constexpr and plain, so that a device compiler takes it too.
#pragma once

#include "cipher/des_key.hpp"
#include "cipher/des_standard.hpp"

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges
namespace des_compute {

// Bit i of the result is bit positions[i] of `bits`, whose bit 1 is the highest of `width`.
template <std::size_t Size>
[[nodiscard]] constexpr std::uint64_t permute(std::uint64_t bits, unsigned width,
                                              const std::uint8_t (&positions)[Size]) noexcept {
  std::uint64_t permuted = 0;
  for (const std::uint8_t position : positions) {
    permuted = permuted << 1 | (bits >> (width - position) & 1);
  }
  return permuted;
}

// The function f(R, K) = P(S(E(R) ^ K)).
[[nodiscard]] constexpr std::uint32_t f(std::uint32_t r, std::uint64_t k) noexcept {
  const std::uint64_t b = permute(r, 32, des_standard::expansion) ^ k;
  std::uint32_t s = 0;
  for (unsigned box = 0; box < 8; ++box) {
    const auto input = static_cast<unsigned>(b >> (42 - 6 * box) & 63);
    s = s << 4 | des_standard::sbox_entry(box, input);
  }
  return static_cast<std::uint32_t>(permute(s, 32, des_standard::permutation));
}

// One pass of DES: IP, sixteen rounds, the halves exchanged, the inverse of IP. The round keys
// stand in the order of use, `step` apart: 1, or -1 for the opposite direction.
[[nodiscard]] constexpr std::uint64_t pass(std::uint64_t block, const std::uint64_t* round_key,
                                           int step) noexcept {
  const std::uint64_t permuted = permute(block, 64, des_standard::initial_permutation);
  auto l = static_cast<std::uint32_t>(permuted >> 32);
  auto r = static_cast<std::uint32_t>(permuted);
  for (unsigned round = 0; round < 16; ++round, round_key += step) {
    const std::uint32_t next = l ^ f(r, *round_key);
    l = r;
    r = next;
  }
  return permute(std::uint64_t{r} << 32 | l, 64, des_standard::final_permutation);
}

[[nodiscard]] constexpr std::uint64_t encrypt(const DesRoundKeys& keys,
                                              std::uint64_t block) noexcept {
  for (unsigned first = 0; first < DesRoundKeys::rounds; first += 16) {
    block = pass(block, keys.key + first, 1);
  }
  return block;
}

[[nodiscard]] constexpr std::uint64_t decrypt(const DesRoundKeys& keys,
                                              std::uint64_t block) noexcept {
  for (unsigned last = DesRoundKeys::rounds; last > 0; last -= 16) {
    block = pass(block, keys.key + last - 1, -1);
  }
  return block;
}

}  // namespace des_compute
}  // namespace
}  // namespace paes
