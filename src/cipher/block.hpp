// SPDX-License-Identifier: Apache-2.0
// One 16-byte block in the byte order of the standards: byte 0 is the first byte of the message.
// A cipher transforms such blocks. Blocks that mean something else have types of their own
// (cipher/ghash.hpp, cipher/mode/mode_blocks.hpp), so that a tag cannot be passed where a counter
// belongs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes {

struct alignas(16) Block {
  std::uint8_t bytes[16];
};

inline constexpr std::size_t block_bytes = 16;

}  // namespace paes
