// SPDX-License-Identifier: Apache-2.0
// Post-quantum keys: both ways, and what may not stand beside them. The published vectors are in
// testkit_test.cpp.
#include "age/hybrid.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "age/envelope.hpp"
#include "age/hybrid_stanza.hpp"
#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/ml_kem.hpp"
#include "encoding/encodings.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using test::refusal;

// The identity of the specification's example, and how its recipient begins and ends
// (c2sp.org/age, "The MLKEM768-X25519 hybrid post-quantum recipient type").
constexpr std::string_view secret =
    "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR";
constexpr std::string_view begin_of_public =
    "age1pq1x34nzsvr0rxjsgdn8zgyhfe8j7ceq5r9rdelkjuh3y235jzxshfg87pzf5zrqtzdxz95paef6caq5aapdmw";
constexpr std::string_view end_of_public = "hh6gjtqmwze9pyyzk3tlhl53k2ykx3qheyty7saeq0d3fzv49zc0k";

class Hybrid : public testing::Test {
 protected:
  void SetUp() override {
    if (!libcrypto::has_ml_kem_768()) {
      GTEST_SKIP() << "this libcrypto has no ML-KEM-768 (OpenSSL 3.5 and later have it)";
    }
  }
};

TEST_F(Hybrid, TheSpecificationsPair) {
  const std::string text = parse_identity(secret)->recipients().front()->text();
  EXPECT_TRUE(text.starts_with(begin_of_public)) << text;
  EXPECT_TRUE(text.ends_with(end_of_public)) << text;
  EXPECT_EQ(parse_recipient(text)->text(), text);
}

TEST_F(Hybrid, OpensWhatItSealsAndNobodyElseDoes) {
  const std::vector<SharedIdentity> mine = {generate_hybrid()};
  const std::vector<SharedIdentity> other = {generate_hybrid()};
  const SharedRecipient recipient = mine.front()->recipients().front();
  const auto text = libcrypto::bytes_of("a file's key");
  const auto envelope = seal_to_recipients(std::span(&recipient, 1), text);
  const SecretBytes opened = open(envelope, {mine, {}});
  EXPECT_EQ(libcrypto::text_of(opened), libcrypto::text_of(text));
  EXPECT_EQ(refusal(ErrorCode::wrong_key,
                    [&] {
                      (void)open(envelope, {other, {}});
                    }),
            "envelope: no identity given opens it");
}

TEST_F(Hybrid, EveryStanzaHasSharesOfItsOwn) {
  const SharedRecipient recipient = generate_hybrid()->recipients().front();
  const std::vector<std::uint8_t> file_key(file_key_bytes);
  const auto encapsulation = [&] {
    const NewStanza stanza = recipient->wrap(file_key, {}).stanzas.front();
    HybridEncapsulation decoded{};
    EXPECT_TRUE(base64::decode(Stanza{stanza.arguments, {}}.split_arguments().at(1), decoded));
    return decoded;
  };
  const HybridEncapsulation one = encapsulation();
  const HybridEncapsulation other = encapsulation();
  const auto of_x25519 = libcrypto::ml_kem_768_ciphertext_bytes;
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + of_x25519, other.begin()));
  EXPECT_FALSE(std::equal(one.begin() + of_x25519, one.end(), other.begin() + of_x25519));
}

TEST_F(Hybrid, NoOtherKindStandsBesideIt) {
  const SharedRecipient both[] = {generate_hybrid()->recipients().front(),
                                  generate_x25519()->recipients().front()};
  const auto why = refusal(ErrorCode::usage, [&] { (void)seal_to_recipients(both, {}); });
  EXPECT_NE(why.find("post-quantum"), std::string::npos) << why;
}

// Nobody may weaken a file afterwards.
TEST_F(Hybrid, NoOtherKindIsAddedToIt) {
  const std::vector<SharedIdentity> mine = {generate_hybrid()};
  const SharedRecipient recipient = mine.front()->recipients().front();
  const SharedRecipient weaker = generate_x25519()->recipients().front();
  const auto envelope = seal_to_recipients(std::span(&recipient, 1), {});
  (void)refusal(ErrorCode::usage, [&] {
    (void)OpenEnvelope(envelope, {mine, {}}).changed({.added = std::span(&weaker, 1)});
  });
  const std::vector<SharedIdentity> weak = {generate_x25519()};
  const SharedRecipient first = weak.front()->recipients().front();
  const auto weak_envelope = seal_to_recipients(std::span(&first, 1), {});
  const OpenEnvelope opened(weak_envelope, {weak, {}});
  (void)refusal(ErrorCode::usage,
                [&] { (void)opened.changed({.added = std::span(&recipient, 1)}); });
  // In place of all that are there it may be any kind.
  const auto replaced = opened.changed({.removed = {0}, .added = std::span(&recipient, 1)});
  EXPECT_EQ(summarize(replaced).stanzas.front().type, "mlkem768x25519");
}

}  // namespace
}  // namespace paes::age
