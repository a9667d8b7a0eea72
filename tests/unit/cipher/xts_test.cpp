// SPDX-License-Identifier: Apache-2.0
// The tweaks of XTS: any number of blocks at once against one block after the other, which the
// published vectors check.
#include "cipher/mode/xts.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "varied_bytes.hpp"

namespace paes::xts {
namespace {

TEST(XtsTweaks, AdvanceByAnyNumberOfBlocks) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Tweak first;
    std::memcpy(first.bytes, test::varied_bytes(16, seed).data(), sizeof first.bytes);
    Tweak tweak = first;
    // Beyond the number where `advance` takes another way.
    for (std::uint64_t blocks = 0; blocks < 32768 + 300; ++blocks) {
      if (blocks < 300 || blocks % 977 == 0 || blocks > 32768 - 70) {
        const Tweak advanced = advance(first, blocks);
        ASSERT_EQ(std::memcmp(advanced.bytes, tweak.bytes, sizeof tweak.bytes), 0) << blocks;
      }
      tweak = next_tweak(tweak);
    }
  }
}

}  // namespace
}  // namespace paes::xts
