// SPDX-License-Identifier: Apache-2.0
// What --range takes and what it refuses.
#include "format/byte_range.hpp"

#include <gtest/gtest.h>

#include "paes/error.hpp"

namespace paes {
namespace {

TEST(Range, BothEnds) {
  const ByteRange range = parse_range("16384-18446744073709551615");
  EXPECT_EQ(range.first, 16384u);
  EXPECT_EQ(range.last, 18446744073709551615u);
  EXPECT_EQ(parse_range("7-7").last, 7u);
}

TEST(Range, OpenEnd) {
  EXPECT_EQ(parse_range("0-").first, 0u);
  EXPECT_EQ(parse_range("0-").last, std::nullopt);
}

TEST(Range, RefusesAnythingElse) {
  for (const char* text : {"",
                           "-",
                           "5",
                           "-5",
                           "5-4",
                           "+5-6",
                           "5-+6",
                           "5--6",
                           "5-6-",
                           "5-6-7",
                           " 5-6",
                           "5-6 ",
                           "5 -6",
                           "0x5-6",
                           "5-0x6",
                           "5.0-6",
                           "5,6",
                           "01-5",
                           "1-05",
                           "00-5",
                           "00-",
                           "a-b",
                           "18446744073709551616-",
                           "0-18446744073709551616",
                           "0-99999999999999999999999999"}) {
    try {
      (void)parse_range(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::usage) << text;
      EXPECT_FALSE(error.hint.empty());
    }
  }
}

}  // namespace
}  // namespace paes
