// SPDX-License-Identifier: Apache-2.0
// PKCS#7 both ways, and every last block of a kind that is not padding.
#include "message/padding.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace paes {
namespace {

using Buffer = std::vector<std::uint8_t>;

// What RFC 5652, section 6.3 says, read off byte by byte.
std::optional<std::size_t> plainly(const Buffer& block) {
  const std::size_t count = block.back();
  if (count == 0 || count > block.size()) {
    return std::nullopt;
  }
  for (std::size_t i = block.size() - count; i < block.size(); ++i) {
    if (block[i] != count) {
      return std::nullopt;
    }
  }
  return block.size() - count;
}

TEST(Padding, EveryLengthComesBack) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{16}}) {
    for (std::uint64_t text = 0; text < 3 * size; ++text) {
      const std::size_t padding = padding_bytes(text, size);
      EXPECT_EQ((text + padding) % size, 0U);
      EXPECT_TRUE(padding >= 1 && padding <= size);
      Buffer block(size, 0xa5);
      write_padding(MutableBytes(block).last(padding));
      EXPECT_EQ(block, [&] {
        Buffer want(size, 0xa5);
        std::fill(want.end() - static_cast<std::ptrdiff_t>(padding), want.end(),
                  static_cast<std::uint8_t>(padding));
        return want;
      }());
      EXPECT_EQ(unpadded_bytes(block), size - padding);
    }
  }
}

// Every value of the last byte, with every other byte changed in turn.
TEST(Padding, WhatIsNotPaddingIsRefused) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{16}}) {
    for (unsigned last = 0; last < 256; ++last) {
      const Buffer right(size, static_cast<std::uint8_t>(last));
      EXPECT_EQ(unpadded_bytes(right), plainly(right)) << last;
      for (std::size_t at = 0; at + 1 < size; ++at) {
        for (const unsigned change : {1U, 2U, 0x10U, 0x80U, 0xffU}) {
          Buffer wrong = right;
          wrong[at] = static_cast<std::uint8_t>(wrong[at] ^ change);
          EXPECT_EQ(unpadded_bytes(wrong), plainly(wrong)) << last << " at " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace paes
