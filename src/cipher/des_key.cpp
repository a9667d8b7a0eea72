// SPDX-License-Identifier: Apache-2.0
// SP 800-67 Rev. 2, appendix A: PC-1, sixteen rotations, PC-2. The positions of the permutations
// are constants, so that no address depends on the key.
#include "cipher/des_key.hpp"

#include <cassert>

#include "cipher/des_standard.hpp"

namespace paes {

namespace {

// Rotates both halves of 28 bits to the left.
std::uint64_t rotate_halves(std::uint64_t cd, unsigned places) noexcept {
  constexpr std::uint64_t half = (std::uint64_t{1} << 28) - 1;
  const std::uint64_t c = cd >> 28;
  const std::uint64_t d = cd & half;
  return ((c << places | c >> (28 - places)) & half) << 28 |
         ((d << places | d >> (28 - places)) & half);
}

}  // namespace

void expand_des_key(Bytes key, DesRoundKeys& round_keys) noexcept {
  assert(key.size() == DesRoundKeys::key_bytes);
  for (unsigned part = 0; part < 3; ++part) {
    std::uint64_t cd = des_standard::permute(load_be64(key.data() + std::size_t{8} * part), 64,
                                             des_standard::permuted_choice_1);
    for (unsigned round = 0; round < 16; ++round) {
      cd = rotate_halves(cd, des_standard::rotations[round]);
      const unsigned place = 16 * part + (part == 1 ? 15 - round : round);
      round_keys.key[place] = des_standard::permute(cd, 56, des_standard::permuted_choice_2);
    }
  }
}

}  // namespace paes
