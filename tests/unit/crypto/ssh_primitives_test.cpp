// SPDX-License-Identifier: Apache-2.0
// What only keys of SSH need: Ed25519's keys and their map to X25519's, SHA-2, and AES as it
// encrypts such keys.
#include <gtest/gtest.h>

#include <array>

#include "core/secret.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/libcrypto.hpp"
#include "hex.hpp"

namespace paes {
namespace {

using test::from_hex;
using test::to_hex;

// RFC 8032, section 7.1, test 1.
constexpr std::string_view seed =
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
constexpr std::string_view its_public =
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

bool maps(std::string_view key, std::span<std::uint8_t, 32> u) {
  const auto bytes = from_hex(key);
  return ed25519::to_x25519(std::span<const std::uint8_t, 32>(bytes.data(), 32), u);
}

TEST(Ed25519, PublicKeyOfRfc8032) {
  std::array<std::uint8_t, 32> key;
  libcrypto::ed25519_public_key(from_hex(seed), key);
  EXPECT_EQ(to_hex(key), its_public);
}

// Both ways around the same square: the map of the public key is the public key of the scalar.
TEST(Ed25519, TheMapCommutesWithMultiplication) {
  for (int i = 0; i < 32; ++i) {
    std::array<std::uint8_t, 32> secret;
    random_bytes(secret);
    std::array<std::uint8_t, 32> key, mapped, expected;
    libcrypto::ed25519_public_key(secret, key);
    ASSERT_TRUE(ed25519::to_x25519(key, mapped));
    std::array<std::uint8_t, 64> hash;
    libcrypto::sha512(secret, hash);
    libcrypto::x25519_public_key(Bytes(hash).first(32), expected);
    EXPECT_EQ(mapped, expected);
  }
}

// RFC 7748, section 4.1: the base points, y = 4/5 and u = 9.
TEST(Ed25519, TheBasePoint) {
  std::array<std::uint8_t, 32> u;
  ASSERT_TRUE(maps("5866666666666666666666666666666666666666666666666666666666666666", u));
  EXPECT_EQ(to_hex(u), "09" + std::string(62, '0'));
}

TEST(Ed25519, HalfOfAllBytesAreNoPoint) {
  int points = 0;
  for (int i = 0; i < 256; ++i) {
    std::array<std::uint8_t, 32> y{}, u;
    y[0] = static_cast<std::uint8_t>(i);
    points += ed25519::to_x25519(y, u) ? 1 : 0;
  }
  EXPECT_GT(points, 100);
  EXPECT_LT(points, 156);
  std::array<std::uint8_t, 32> u;
  EXPECT_FALSE(maps("02" + std::string(62, '0'), u));
  EXPECT_FALSE(maps("01" + std::string(62, '0'), u)) << "the neutral point";
}

// SP 800-38A, sections F.2.5 and F.5.5, first blocks.
TEST(AesOfSshKeys, PublishedVectors) {
  const auto key = from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  const auto opened = [&](const char* cipher, std::string_view iv, std::string_view sealed) {
    std::vector<std::uint8_t> out(sealed.size() / 2);
    EXPECT_TRUE(libcrypto::aes_decrypt(cipher, key, from_hex(iv), from_hex(sealed), {}, out));
    return to_hex(out);
  };
  EXPECT_EQ(
      opened("AES-256-CBC", "000102030405060708090a0b0c0d0e0f", "f58c4c04d6e5f1ba779eabfb5f7bfbd6"),
      "6bc1bee22e409f96e93d7e117393172a");
  EXPECT_EQ(
      opened("AES-256-CTR", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "601ec313775789a5b7a7f504bbf3d228"),
      "6bc1bee22e409f96e93d7e117393172a");
}

// McGrew and Viega's test case 14: a zero key, IV and block.
TEST(AesOfSshKeys, GcmChecksItsTag) {
  const auto sealed = from_hex("cea7403d4d606b6e074ec5d3baf39d18");
  auto tag = from_hex("d0d1c8a799996bf0265b98b5d48ab919");
  std::vector<std::uint8_t> out(16, 1);
  const std::vector<std::uint8_t> key(32), iv(12);
  EXPECT_TRUE(libcrypto::aes_decrypt("AES-256-GCM", key, iv, sealed, tag, out));
  EXPECT_EQ(out, std::vector<std::uint8_t>(16));
  tag[15] ^= 1;
  out.assign(16, 1);
  EXPECT_FALSE(libcrypto::aes_decrypt("AES-256-GCM", key, iv, sealed, tag, out));
  EXPECT_EQ(out, std::vector<std::uint8_t>(16));
}

TEST(Sha2, Fips180Examples) {
  std::array<std::uint8_t, 32> short_hash;
  libcrypto::sha256(libcrypto::bytes_of("abc"), short_hash);
  EXPECT_EQ(to_hex(short_hash), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::array<std::uint8_t, 64> hash;
  libcrypto::sha512(libcrypto::bytes_of("abc"), hash);
  EXPECT_EQ(to_hex(hash),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

}  // namespace
}  // namespace paes
