// SPDX-License-Identifier: Apache-2.0
// The blocks that the modes of operation name, each with its own type, so that one becomes another
// only by an explicit std::bit_cast. 3DES uses the first 8 bytes of those that it shares.
#pragma once

#include "cipher/block.hpp"

namespace paes {

// What counter mode encrypts for one block of text (SP 800-38A, section 6.5), and GCM's J0 and
// those that follow it (SP 800-38D, sections 6.5 and 7.1).
struct alignas(16) CounterBlock {
  std::uint8_t bytes[16];
};

// What a block of CBC, CFB or OFB takes from the previous one: the ciphertext, or in OFB the
// cipher's output. The first block takes the IV (SP 800-38A, sections 6.2 to 6.4).
struct alignas(16) ChainBlock {
  std::uint8_t bytes[16];
};

// The number of a data unit of XTS, little-endian (IEEE 1619, section 5.1 calls it the tweak).
struct alignas(16) UnitNumber {
  std::uint8_t bytes[16];
};

// T, the encrypted unit number times x^i, which masks block i of a data unit (IEEE 1619, section
// 5.3). Protect it like a key: whoever has it can forge the block's neighbours.
struct alignas(16) Tweak {
  std::uint8_t bytes[16];
};

// The whole tag of a GCM message. Messages may carry only its first bytes (SP 800-38D, section
// 7.1).
struct alignas(16) Tag {
  std::uint8_t bytes[16];
};

}  // namespace paes
