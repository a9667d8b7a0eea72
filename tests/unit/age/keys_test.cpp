// SPDX-License-Identifier: Apache-2.0
// Keys and key files: what is read, what is refused, and that no error quotes a secret.
#include <gtest/gtest.h>

#include <algorithm>

#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::refusal;

// From c2sp.org/age, "The X25519 recipient type".
constexpr std::string_view secret =
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
constexpr std::string_view its_public =
    "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

std::string text_of(const SecretBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string written(std::string_view part, const std::vector<std::uint8_t>& data) {
  std::string text(bech32::text_length(part), '?');
  bech32::encode(part, std::span<const std::uint8_t, 32>(data.data(), 32),
                 {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

std::string changed(std::string_view text, std::size_t at, char to) {
  std::string copy(text);
  copy.at(at) = to;
  return copy;
}

TEST(AgeKeys, TheSpecificationsPair) {
  const SharedIdentity identity = parse_identity(secret);
  EXPECT_EQ(text_of(identity->secret_text()), secret);
  EXPECT_EQ(identity->recipients().front()->text(), its_public);
  EXPECT_EQ(parse_recipient(its_public)->text(), its_public);
}

TEST(AgeKeys, GeneratedKeysDifferAndRoundTrip) {
  const SharedIdentity one = generate_x25519();
  const SharedIdentity other = generate_x25519();
  EXPECT_NE(text_of(one->secret_text()), text_of(other->secret_text()));
  EXPECT_EQ(parse_identity(text_of(one->secret_text()))->recipients().front()->text(),
            one->recipients().front()->text());
}

// The points of small order of Curve25519 and its twist. RFC 7748 masks the top bit.
TEST(AgeKeys, RecipientsOfSmallOrderAreRefused) {
  for (const char* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                            "0000000000000000000000000000000000000000000000000000000000000080",
                            "0100000000000000000000000000000000000000000000000000000000000080",
                            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    const std::string text = written("age", test::from_hex(point));
    EXPECT_NE(refusal(ErrorCode::usage, [&] { (void)parse_recipient(text); }).find("small order"),
              std::string::npos);
  }
}

TEST(AgeKeys, RecipientsBesideThoseOfSmallOrderAreTaken) {
  for (const char* point : {"0200000000000000000000000000000000000000000000000000000000000000",
                            "0001000000000000000000000000000000000000000000000000000000000000",
                            "0000000000000000000000000000000000000000000000000000000000000100",
                            "e1eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                            "ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "edfffffffffffffffffffffffffffffffffffffffffffffffffffffffffeff7f"}) {
    const std::string text = written("age", test::from_hex(point));
    EXPECT_EQ(parse_recipient(text)->text(), text);
  }
}

TEST(AgeKeys, RecipientRefusalsSayWhy) {
  const auto why = [](std::string_view text) {
    return refusal(ErrorCode::usage, [&] { (void)parse_recipient(text); });
  };
  EXPECT_EQ(why(""), "recipient: does not begin with age1");
  EXPECT_EQ(why("bob"), "recipient: does not begin with age1");
  EXPECT_EQ(why("age1"), "recipient: is not 62 characters long");
  EXPECT_EQ(why(std::string(its_public) + "\n"), "recipient: is not 62 characters long");
  EXPECT_EQ(why(changed(its_public, 9, 'b')), "recipient: has a character that keys do not have");
  EXPECT_EQ(why(changed(its_public, 9, 'p')),
            "recipient: has a typing error: its checksum is wrong");
  EXPECT_EQ(why(secret), "recipient: is a secret key");
  EXPECT_EQ(why("age1pq1xxxx"),
            "recipient: is a post-quantum key with a typing error: it is cut or its checksum is "
            "wrong");
  EXPECT_EQ(why("age1yubikey1q2w3"), "recipient: is a plugin's key with a typing error");
  EXPECT_EQ(why("-----BEGIN OPENSSH PRIVATE KEY-----"),
            "recipient: is a line of a private key in PEM, which needs a file of its own");
  EXPECT_EQ(why("-----BEGIN PUBLIC KEY-----"), "recipient: is a line of a public key in PEM");
  EXPECT_EQ(why("-----BEGIN RSA PUBLIC KEY-----"), "recipient: is a line of a public key in PEM");
  EXPECT_EQ(why("---- BEGIN SSH2 PUBLIC KEY ----"),
            "recipient: is a line of a key in the form of RFC 4716");
  EXPECT_EQ(why("PuTTY-User-Key-File-3: ssh-ed25519"), "recipient: is a line of a key of PuTTY's");
}

// Whatever is wrong with it, no part of the key stands in the message.
TEST(AgeKeys, NoErrorQuotesASecret) {
  const std::string good(secret);
  std::string lower = good;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const std::string& bad :
       {good + "Q", good.substr(1), good.substr(0, 70), changed(good, 30, 'B'),
        changed(good, 30, 'Q'), lower, std::string("my secret GFPYYSJZ passphrase")}) {
    const std::string one = refusal(ErrorCode::usage, [&] { (void)parse_identity(bad); });
    const std::string in_file = refusal(
        ErrorCode::usage, [&] { (void)parse_identity_file(bytes_of("# x\n" + bad), "key.txt"); });
    for (const std::string& message : {one, in_file}) {
      EXPECT_EQ(message.find("GFPYY"), std::string::npos) << message;
      EXPECT_EQ(message.find("gfpyy"), std::string::npos) << message;
      EXPECT_EQ(message.find("JZGFP"), std::string::npos) << message;
    }
    EXPECT_TRUE(in_file.starts_with("key.txt line 2: ")) << in_file;
  }
}

TEST(AgeKeys, FilesOfKeysSkipCommentsAndEmptyLines) {
  const std::string key(secret);
  const std::string public_key(its_public);
  EXPECT_EQ(parse_identity_file(bytes_of(key), "f").size(), 1u);
  EXPECT_EQ(parse_identity_file(
                bytes_of("# made today\r\n\r\n" + key + "\r\n\n#" + key + "\n" + key), "f")
                .size(),
            2u);
  const auto recipients =
      parse_recipient_file(bytes_of("\n# us\n" + public_key + "\n" + public_key + "\n"), "f");
  ASSERT_EQ(recipients.size(), 2u);
  EXPECT_EQ(recipients[1]->text(), public_key);
}

TEST(AgeKeys, FilesWithAnythingElseAreRefused) {
  const std::string key(secret);
  const auto why = [](const std::string& contents) {
    return refusal(ErrorCode::usage,
                   [&] { (void)parse_identity_file(bytes_of(contents), "key.txt"); });
  };
  EXPECT_EQ(why(""), "key.txt: holds no identity");
  EXPECT_EQ(why("# nothing\n\n"), "key.txt: holds no identity");
  EXPECT_EQ(why(" " + key), "key.txt line 1: identity: does not begin with AGE-SECRET-KEY-1");
  EXPECT_EQ(why(key + "\n" + key + " \n"), "key.txt line 2: identity: is not 74 characters long");
  EXPECT_EQ(why("ssh-ed25519 AAAA"),
            "key.txt line 1: identity: is an SSH public key: give the file of the private key");
  EXPECT_EQ(why(std::string((1 << 20) + 1, '#')), "key.txt: longer than 1048576 bytes");
}

TEST(AgeKeys, AFileHoldsAtMostTenThousandKeys) {
  std::string contents;
  for (int i = 0; i < 10001; ++i) {
    contents.append(its_public).append("\n");
  }
  // The message is the cap's own: ten thousand keys were taken before it.
  EXPECT_EQ(
      refusal(ErrorCode::usage, [&] { (void)parse_recipient_file(bytes_of(contents), "all.txt"); }),
      "all.txt: more than 10000 keys");
  contents.erase(0, its_public.size() + 1);
  EXPECT_EQ(parse_recipient_file(bytes_of(contents), "all.txt").size(), 10000u);
}

TEST(AgeKeys, AFileHasAtMostOneMebibyte) {
  std::string contents = std::string(its_public) + "\n";
  contents.resize(std::size_t{1} << 20, '#');
  EXPECT_EQ(parse_recipient_file(bytes_of(contents), "f").size(), 1u);
  contents.push_back('#');
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_recipient_file(bytes_of(contents), "f"); }),
            "f: longer than 1048576 bytes");
}

// What is told of any key: letters and digits of a checksum follow a plugin's name and "-1".
TEST(AgeKeys, SecretKeysAreNoticedInAnyText) {
  const std::string checksum = "q2w3e4";
  for (const std::string& text :
       {std::string("x age-secret-key"), std::string("AGE-SECRET-KEY"), "AGE-PLUGIN-A-1" + checksum,
        "age-plugin--1" + checksum, "see age-plugin-x-1, age-plugin-y-1" + checksum + "!"}) {
    EXPECT_TRUE(mentions_secret_key(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("age-secret-ke"), "age-plugin-x-2" + checksum,
        "age-plugin-x-1" + checksum.substr(1), "age-plugin" + checksum, "-1" + checksum,
        "age-plug1n-x-1" + checksum}) {
    EXPECT_FALSE(mentions_secret_key(text)) << text;
  }
  for (int c = 0; c < 256; ++c) {
    const bool is_in_key =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    for (const std::size_t at : {0u, 5u}) {
      EXPECT_EQ(mentions_secret_key("age-plugin-x-1" + changed(checksum, at, static_cast<char>(c))),
                is_in_key)
          << c;
    }
  }
}

TEST(AgeKeys, AFileOfOneKeySaysWhenItWasMadeAndForWhom) {
  const std::string text = text_of(identity_file_text(*parse_identity(secret)));
  const std::string after =
      "\n# public key: " + std::string(its_public) + "\n" + std::string(secret) + "\n";
  ASSERT_TRUE(text.starts_with("# created: 20"));
  ASSERT_TRUE(text.ends_with(after));
  const std::string date = text.substr(11, text.size() - 11 - after.size());
  EXPECT_EQ(date.size(), std::string_view("2026-01-31T23:59:59Z").size());
  EXPECT_EQ(date.substr(10, 1) + date.substr(19), "TZ");
  EXPECT_EQ(parse_identity_file(bytes_of(text), "f").size(), 1u);
}

}  // namespace
}  // namespace paes::age
