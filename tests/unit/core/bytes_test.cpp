// SPDX-License-Identifier: Apache-2.0
// Byte order and the comparison without early exit.
#include "core/bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace paes {
namespace {

TEST(Bytes, LoadsAndStoresInTheNamedOrder) {
  const std::array<std::uint8_t, 8> counting = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(load_be16(counting.data()), 0x0102);
  EXPECT_EQ(load_be32(counting.data()), 0x01020304u);
  EXPECT_EQ(load_be64(counting.data()), 0x0102030405060708u);
  EXPECT_EQ(load_le<std::uint32_t>(counting.data()), 0x04030201u);
  std::array<std::uint8_t, 8> stored{};
  store_be64(stored.data(), 0x0102030405060708u);
  EXPECT_EQ(stored, counting);
  store_be16(stored.data() + 1, 0xabcd);  // not aligned
  EXPECT_EQ(load_be16(stored.data() + 1), 0xabcd);
  store_be32(stored.data() + 3, 0x89abcdef);
  EXPECT_EQ(load_be32(stored.data() + 3), 0x89abcdefu);
}

TEST(Bytes, EqualityLooksAtEveryBit) {
  std::vector<std::uint8_t> a(33, 0x5a);
  const std::vector<std::uint8_t> b = a;
  EXPECT_TRUE(equal_constant_time(a, b));
  EXPECT_TRUE(equal_constant_time({}, {}));
  for (std::size_t bit = 0; bit < a.size() * 8; ++bit) {
    a[bit / 8] = static_cast<std::uint8_t>(a[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(equal_constant_time(a, b)) << bit;
    a = b;
  }
  EXPECT_FALSE(equal_constant_time(Bytes(a).first(32), b));
}

}  // namespace
}  // namespace paes
