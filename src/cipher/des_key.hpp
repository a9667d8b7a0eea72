// SPDX-License-Identifier: Apache-2.0
// The key schedule of three-key Triple DES (SP 800-67 Rev. 2, section 3 and appendix A), in the one
// layout that every kernel starts from. Constant time: it only moves bits.
#pragma once

#include <cstdint>

#include "core/bytes.hpp"

namespace paes {

// The 48 round keys in the order in which encryption uses them: those of key 1, those of key 2
// backwards (its pass decrypts), those of key 3. Decryption takes all of them backwards. A round
// key has 48 bits; bit 1 of K is the highest.
struct DesRoundKeys {
  static constexpr std::size_t key_bytes = 24;
  static constexpr unsigned rounds = 48;
  std::uint64_t key[rounds];
};

inline constexpr std::size_t des_block_bytes = 8;

// `key` has 24 bytes, key 1 first. Parity bits are ignored. Equal and weak keys are accepted.
void expand_des_key(Bytes key, DesRoundKeys& round_keys) noexcept;

}  // namespace paes
