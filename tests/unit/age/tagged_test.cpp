// SPDX-License-Identifier: Apache-2.0
// Tagged recipients: the specification's keys, what they wrap, and what may not stand beside them.
// tests/program/test_tagged_hardware.py opens what they wrap by other code.
#include <gtest/gtest.h>

#include <array>

#include "age/envelope.hpp"
#include "age/hybrid.hpp"
#include "age/tagged_stanza.hpp"
#include "age/x25519.hpp"
#include "crypto/hpke.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/ml_kem.hpp"
#include "crypto/p256.hpp"
#include "encoding/encodings.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::refusal;

// c2sp.org/age, "The tagged recipient types".
constexpr std::string_view of_the_specification =
    "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2yqdj4e";

constexpr std::string_view info = "age-encryption.org/p256tag";

std::string encoded(std::string_view human_part, Bytes key) {
  std::string text(bech32::text_length(human_part, key.size()), '\0');
  bech32::encode(human_part, key, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

// A pair of keys as hardware has it.
struct Pair {
  Pair() {
    libcrypto::p256_generate(secret, point);
    compressed[0] = static_cast<std::uint8_t>(2 + point.back() % 2);
    std::copy_n(point.begin() + 1, compressed.size() - 1, compressed.begin() + 1);
  }
  [[nodiscard]] SharedRecipient recipient() const {
    return parse_recipient(encoded("age1tag", compressed));
  }

  std::array<std::uint8_t, libcrypto::p256_secret_bytes> secret;
  std::array<std::uint8_t, libcrypto::p256_point_bytes> point;
  std::array<std::uint8_t, libcrypto::p256_compressed_bytes> compressed;
};

std::string hybrid_text(const Pair& pair) {
  std::vector<std::uint8_t> key(libcrypto::ml_kem_768_public_key_bytes);
  libcrypto::MlKem768Key(std::vector<std::uint8_t>(libcrypto::ml_kem_768_seed_bytes))
      .public_key(key);
  key.insert(key.end(), pair.point.begin(), pair.point.end());
  return encoded("age1tagpq", key);
}

TEST(Tagged, TheSpecificationsKey) {
  EXPECT_EQ(parse_recipient(of_the_specification)->text(), of_the_specification);
}

TEST(Tagged, TheOwnerOpensWhatIsWrapped) {
  const Pair pair;
  const auto file_key = std::vector<std::uint8_t>(file_key_bytes, 7);
  const WrappedKey wrapped = pair.recipient()->wrap(file_key, {});
  EXPECT_TRUE(wrapped.labels.empty());
  ASSERT_EQ(wrapped.stanzas.size(), 1U);
  const NewStanza& stanza = wrapped.stanzas.front();
  std::array<std::uint8_t, recipient_tag_bytes> tag;
  std::array<std::uint8_t, libcrypto::p256_point_bytes> share;
  const Stanza written{stanza.arguments, {}};
  const auto words = written.split_arguments();
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0], "p256tag");
  ASSERT_TRUE(base64::decode(words[1], tag));
  ASSERT_TRUE(base64::decode(words[2], share));

  std::array<std::uint8_t, libcrypto::sha256_bytes> hash;
  libcrypto::sha256(pair.compressed, hash);
  std::vector<std::uint8_t> named(share.begin(), share.end());
  named.insert(named.end(), hash.begin(), hash.begin() + 4);
  std::array<std::uint8_t, libcrypto::sha256_bytes> expected;
  libcrypto::hkdf_extract_sha256(named, bytes_of(info), expected);
  EXPECT_TRUE(std::equal(tag.begin(), tag.end(), expected.begin()));

  std::array<std::uint8_t, libcrypto::p256_secret_bytes> exchanged;
  std::array<std::uint8_t, hpke::secret_bytes> secret;
  ASSERT_TRUE(libcrypto::p256(pair.secret, share, exchanged));
  hpke::derive_secret(hpke::p256, exchanged, {share, pair.point}, secret);
  std::vector<std::uint8_t> opened(file_key_bytes);
  ASSERT_TRUE(hpke::open(hpke::p256, secret, bytes_of(info), stanza.body, opened));
  EXPECT_EQ(opened, file_key);
}

TEST(Tagged, EveryStanzaHasAShareOfItsOwn) {
  const SharedRecipient recipient = Pair().recipient();
  const std::vector<std::uint8_t> file_key(file_key_bytes);
  EXPECT_NE(recipient->wrap(file_key, {}).stanzas.front().arguments,
            recipient->wrap(file_key, {}).stanzas.front().arguments);
}

TEST(Tagged, StandsBesideOtherKindsThatAreNotPostQuantum) {
  const SharedRecipient both[] = {Pair().recipient(), generate_x25519()->recipients().front()};
  EXPECT_EQ(summarize(seal_to_recipients(both, {})).stanzas.size(), 2U);
}

TEST(Tagged, WhatIsNoPointIsRefused) {
  std::array<std::uint8_t, libcrypto::p256_compressed_bytes> key{};
  for (const int mark : {0, 2, 3, 4}) {
    key.front() = static_cast<std::uint8_t>(mark);
    key.back() = 7;  // no point of the curve has this x
    EXPECT_EQ(
        refusal(ErrorCode::usage, [&] { (void)parse_recipient(encoded("age1tag", key), "key"); }),
        "key: is not a tagged key that anybody could have made");
  }
  EXPECT_NE(refusal(ErrorCode::usage,
                    [&] { (void)parse_recipient(encoded("age1tag", Bytes(key).first(32)), "key"); })
                .find("typing error"),
            std::string::npos);
}

// What a plugin writes goes into a header only in this form.
TEST(Tagged, MalformedStanzasAreRefused) {
  const Pair pair;
  const NewStanza good =
      pair.recipient()->wrap(std::vector<std::uint8_t>(file_key_bytes), {}).stanzas.front();
  check_new_stanza(good);
  NewStanza body = good;
  body.body.pop_back();
  NewStanza more = good;
  more.arguments += " more";
  NewStanza other = good;
  other.arguments.replace(0, 7, "mlkem768p256tag");
  NewStanza tag = good;
  tag.arguments.insert(8, "A");
  for (const NewStanza& bad : {body, more, other, tag}) {
    EXPECT_NE(refusal(ErrorCode::corrupt, [&] { check_new_stanza(bad); }).find("malformed"),
              std::string::npos);
  }
}

class HybridTagged : public testing::Test {
 protected:
  void SetUp() override {
    if (!libcrypto::has_ml_kem_768()) {
      GTEST_SKIP() << "this libcrypto has no ML-KEM-768 (OpenSSL 3.5 and later have it)";
    }
  }
};

TEST_F(HybridTagged, OnlyPostQuantumKeysStandBesideIt) {
  const std::string text = hybrid_text(Pair());
  const SharedRecipient recipient = parse_recipient(text);
  EXPECT_EQ(recipient->text(), text);
  const SharedRecipient like[] = {recipient, generate_hybrid()->recipients().front()};
  EXPECT_EQ(summarize(seal_to_recipients(like, {})).stanzas.front().type, "mlkem768p256tag");
  for (const SharedRecipient& weaker :
       {generate_x25519()->recipients().front(), Pair().recipient()}) {
    const SharedRecipient both[] = {recipient, weaker};
    const auto why = refusal(ErrorCode::usage, [&] { (void)seal_to_recipients(both, {}); });
    EXPECT_NE(why.find("post-quantum"), std::string::npos) << why;
  }
}

TEST_F(HybridTagged, APointBesideTheCurveIsRefused) {
  Pair pair;
  pair.point.back() ^= 1;
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_recipient(hybrid_text(pair), "key"); }),
            "key: is not a tagged key that anybody could have made");
}

}  // namespace
}  // namespace paes::age
