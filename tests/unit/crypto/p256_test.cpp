// SPDX-License-Identifier: Apache-2.0
// Exchanges on P-256: RFC 5903's vector, both forms of points, and what is refused.
#include "crypto/p256.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hex.hpp"

namespace paes::libcrypto {
namespace {

using test::from_hex;
using test::to_hex;

// RFC 5903, section 8.1: i, g^i, r, g^r and g^ir.
constexpr std::string_view i = "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433";
constexpr std::string_view gi =
    "04dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180"
    "5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3";
constexpr std::string_view r = "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53";
constexpr std::string_view gr =
    "04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63"
    "56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab";
constexpr std::string_view gir = "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de";
constexpr std::string_view order =
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

using Point = std::array<std::uint8_t, p256_point_bytes>;
using Secret = std::array<std::uint8_t, p256_secret_bytes>;

TEST(P256, TheExchangeOfRfc5903) {
  Point point;
  Secret shared;
  ASSERT_TRUE(p256_public_key(from_hex(i), point));
  EXPECT_EQ(to_hex(point), gi);
  ASSERT_TRUE(p256(from_hex(i), from_hex(gr), shared));
  EXPECT_EQ(to_hex(shared), gir);
  ASSERT_TRUE(p256(from_hex(r), from_hex(gi), shared));
  EXPECT_EQ(to_hex(shared), gir);
}

TEST(P256, BothFormsOfAPoint) {
  auto compressed = from_hex(gr.substr(0, 2 * p256_compressed_bytes));
  compressed[0] = 3;  // its y is odd
  Point point;
  ASSERT_TRUE(p256_uncompressed(compressed, point));
  EXPECT_EQ(to_hex(point), gr);
  ASSERT_TRUE(p256_uncompressed(from_hex(gr), point));
  EXPECT_EQ(to_hex(point), gr);
  compressed[0] = 2;
  ASSERT_TRUE(p256_uncompressed(compressed, point));
  EXPECT_NE(to_hex(point), gr);
}

TEST(P256, WhatIsNoPoint) {
  Point point;
  Secret shared;
  auto bytes = from_hex(gr);
  bytes.back() ^= 1;
  EXPECT_FALSE(p256_uncompressed(bytes, point));
  EXPECT_FALSE(p256(from_hex(i), bytes, shared));
  bytes.back() ^= 1;
  for (const int mark : {0, 2, 3, 5, 6, 7}) {  // 6 and 7 are a form that nobody writes
    bytes.front() = static_cast<std::uint8_t>(mark);
    EXPECT_FALSE(p256_uncompressed(bytes, point)) << mark;
  }
  EXPECT_FALSE(p256_uncompressed(from_hex("00"), point));  // infinity
  EXPECT_FALSE(p256_uncompressed({}, point));
  std::vector<std::uint8_t> compressed(p256_compressed_bytes);
  compressed.front() = 2;
  compressed.back() = 7;
  EXPECT_FALSE(p256_uncompressed(compressed, point));  // 7^3 - 3 * 7 + b is no square
}

TEST(P256, SecretKeysAreFromOneToTheOrder) {
  Point point;
  Secret shared;
  for (const auto& none : {std::vector<std::uint8_t>(p256_secret_bytes), from_hex(order)}) {
    EXPECT_FALSE(p256_public_key(none, point));
    EXPECT_FALSE(p256(none, from_hex(gr), shared));
  }
  auto last = from_hex(order);
  last.back() -= 1;
  EXPECT_TRUE(p256_public_key(last, point));
}

TEST(P256, GeneratedPairsAgree) {
  Secret one{};
  one.back() = 1;  // a key: one that is not drawn stays the same
  Secret other = one;
  Point of_one;
  Point of_other;
  p256_generate(one, of_one);
  p256_generate(other, of_other);
  EXPECT_NE(one, other);
  Secret shared;
  Secret same;
  ASSERT_TRUE(p256(one, of_other, shared));
  ASSERT_TRUE(p256(other, of_one, same));
  EXPECT_EQ(shared, same);
}

}  // namespace
}  // namespace paes::libcrypto
