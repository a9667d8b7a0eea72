// SPDX-License-Identifier: Apache-2.0
// AES key expansion (FIPS 197, section 5.2) into the one canonical layout that every kernel starts
// from. Constant time: its S-box is computed, never looked up.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"

namespace paes {

// Round key r is key[r], bytes in the order of the standard's w[4r] .. w[4r+3].
struct RoundKeys {
  static constexpr unsigned max_rounds = 14;
  Block key[max_rounds + 1];
  unsigned rounds;  // 10, 12 or 14
};

// `key` has 16, 24 or 32 bytes; anything else is the caller's bug.
void expand_key(Bytes key, RoundKeys& round_keys) noexcept;

}  // namespace paes
