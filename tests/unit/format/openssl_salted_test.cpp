// SPDX-License-Identifier: Apache-2.0
// The header of openssl's salted files, and the derivation against an example made with openssl.
#include "format/openssl_salted.hpp"

#include <gtest/gtest.h>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::openssl_salted {
namespace {

using test::from_hex;
using test::refusal;
using test::to_hex;

constexpr Salt salt = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};

TEST(OpensslSalted, TheHeaderComesBack) {
  const auto head = encode(salt);
  EXPECT_EQ(to_hex(head), "53616c7465645f5f0102030405060708");
  EXPECT_EQ(parse(head), salt);
}

TEST(OpensslSalted, AnythingElseIsRefused) {
  const auto head = encode(salt);
  for (std::size_t bytes = 0; bytes < head.size(); ++bytes) {
    EXPECT_NE(
        refusal(ErrorCode::corrupt, [&] { (void)parse(Bytes(head).first(bytes)); }).find("header"),
        std::string::npos);
  }
  for (std::size_t at = 0; at < 8; ++at) {
    auto other = head;
    other[at] ^= 0x20;
    refusal(ErrorCode::corrupt, [&] { (void)parse(other); });
  }
}

// openssl enc -aes-256-cbc [-pbkdf2 [-iter N]] [-md NAME] -S 0102030405060708 -pass pass:horse -P
TEST(OpensslSalted, KeyAndIvAsOpenssl) {
  const auto derived = [](const Derivation& derivation, std::size_t bytes) {
    return to_hex(derive(libcrypto::bytes_of("horse"), salt, derivation, bytes));
  };
  EXPECT_EQ(derived({}, 48),
            "612aa32614bfe6b7f8d000dc7931db54a12019d9afed3772eed3fb6d04e62113"
            "5bbd792eedc69e4fe10373883940bd2a");
  EXPECT_EQ(derived({.iterations = 1}, 48),
            "56d138c167d5e3afdc1be5ed390a73c60ea5045722de3767292e6b9614847ade"
            "eb46f9462ba728db1f84c8f8d53b83e5");
  EXPECT_EQ(derived({.iterations = 1}, 16), "56d138c167d5e3afdc1be5ed390a73c6");
  EXPECT_EQ(derived({find_digest("sha1"), 3}, 48),
            "0839876075774b29fe286d8fb35368c990e1a2668d1ee7c6c28ca40561efc97b"
            "7dfe0077002be1429882de74d2729594");
  EXPECT_EQ(derived({find_digest("md5"), std::nullopt}, 48),
            "8b8ed0573bd4ce90d59d184521103c4b2be3966d569621c5b661620742aa348b"
            "f8fdd80f7c0601a07d2126aa41fac603");
  EXPECT_EQ(derived({find_digest("sha512"), std::nullopt}, 48),
            "84e95dc9a2b57a9042f95df21b4d745a6cc972d691e02f1988afb7c72fa2b378"
            "d013e8b6f98a25c6e02a14306c932558");
  EXPECT_EQ(derived({find_digest("md5"), std::nullopt}, 16), "8b8ed0573bd4ce90d59d184521103c4b");
}

TEST(OpensslSalted, UnknownDigestsAreRefusedWithTheKnownOnes) {
  EXPECT_STREQ(find_digest("sha384"), "sha384");
  for (const char* name : {"", "SHA256", "sha3-256", "sha25"}) {
    EXPECT_NE(refusal(ErrorCode::usage, [&] { (void)find_digest(name); }).find("unknown name"),
              std::string::npos);
  }
}

TEST(OpensslSalted, ARefusedDigestIsToldWhichThereAre) {
  try {
    (void)find_digest("sha3-256");
    ADD_FAILURE() << "was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint, "there are: md5, sha1, sha224, sha256, sha384, sha512");
  }
}

}  // namespace
}  // namespace paes::openssl_salted
