// SPDX-License-Identifier: Apache-2.0
// Headers of files, and where their blocks lie.
#include "vault/vault_blocks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "hex.hpp"

namespace paes::vault {
namespace {

using test::from_hex;

TEST(Header, IsTheVersionAndTheId) {
  const FileId id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<std::uint8_t> header(header_bytes);
  write_header(id, header);
  EXPECT_EQ(test::to_hex(header), "00020102030405060708090a0b0c0d0e0f10");
  FileId back = {};
  EXPECT_TRUE(parse_header(header, back));
  EXPECT_EQ(back, id);
}

TEST(Header, NothingElseIsOne) {
  FileId id = {};
  for (const char* bad : {
           "",
           "000200000000000000000000000000000000",    // no id
           "000000000000000000000000000000000000",    // a hole
           "000100000000000000000000000000000001",    // another version
           "000300000000000000000000000000000001",    //
           "020000000000000000000000000000000001",    //
           "00020000000000000000000000000000000101",  // too long
           "0002000000000000000000000000000001",      // too short
       }) {
    EXPECT_FALSE(parse_header(from_hex(bad), id)) << bad;
  }
  EXPECT_TRUE(parse_header(from_hex("000200000000000000000000000000000001"), id));
  EXPECT_TRUE(parse_header(from_hex("000280000000000000000000000000000000"), id));
}

class LayoutCase : public ::testing::TestWithParam<std::size_t> {
 protected:
  BlockLayout layout{GetParam()};
};

// As gocryptfs computes it (internal/contentenc/offsets.go), for all lengths of three blocks.
TEST_P(LayoutCase, TextLengthOfEveryFile) {
  const std::uint64_t overhead = layout.overhead();
  EXPECT_EQ(layout.stride(), 4096 + overhead);
  for (std::uint64_t stored = 0; stored < 18 + 3 * layout.stride() + 100; ++stored) {
    std::uint64_t want = 0;
    if (stored > 18) {
      const std::uint64_t last = (stored - 18) % layout.stride();
      const std::uint64_t padded =
          last > 0 && last <= overhead ? stored - last + overhead + 1 : stored;
      const std::uint64_t blocks = (padded - 18 - 1) / layout.stride() + 1;
      want = padded - 18 - blocks * overhead;
    }
    ASSERT_EQ(layout.text_length(stored), want) << stored;
  }
}

TEST_P(LayoutCase, StoredLengthIsItsInverse) {
  EXPECT_EQ(layout.stored_length(0), 0U);
  EXPECT_EQ(layout.stored_length(1), 18 + layout.overhead() + 1);
  EXPECT_EQ(layout.stored_length(4095), 18 + layout.overhead() + 4095);
  EXPECT_EQ(layout.stored_length(4096), 18 + layout.stride());
  EXPECT_EQ(layout.stored_length(4097), 18 + layout.stride() + layout.overhead() + 1);
  for (std::uint64_t text = 0; text < 3 * 4096 + 100; ++text) {
    ASSERT_EQ(layout.text_length(layout.stored_length(text)), text);
    ASSERT_EQ(text > 0 && layout.stored_length(text) <= layout.stored_length(text - 1), false);
  }
  for (const std::uint64_t text :
       {std::uint64_t{1} << 40, (std::uint64_t{1} << 62) - 1, std::uint64_t{1} << 62}) {
    EXPECT_EQ(layout.text_length(layout.stored_length(text)), text);
    EXPECT_EQ(layout.offset_of(text / 4096),
              18 + text / 4096 * (4096 + std::uint64_t{layout.overhead()}));
  }
}

TEST_P(LayoutCase, TheLongestFilesDoNotOverflow) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t before = layout.text_length(most - 5000);
  for (std::uint64_t stored = most - 4999; stored != 0; ++stored) {
    const std::uint64_t text = layout.text_length(stored);
    ASSERT_GE(text, before);
    ASSERT_LT(text, stored);
    before = text;
  }
}

INSTANTIATE_TEST_SUITE_P(IvBytes, LayoutCase, ::testing::Values(16, 24));

}  // namespace
}  // namespace paes::vault
