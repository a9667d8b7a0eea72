// SPDX-License-Identifier: Apache-2.0
// What libcrypto computes for paes-bench: known answers, pieces that begin anywhere, and checks
// that notice a wrong output.
#include "paes-bench/libcrypto_work.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "hex.hpp"
#include "paes-bench/libcrypto_options.hpp"
#include "paes/error.hpp"

namespace paes::cli {
namespace {

using test::from_hex;
using Vector = std::vector<std::uint8_t>;

Vector crypt(std::string_view name, const Vector& key, const Vector& iv, std::uint64_t offset,
             const Vector& in) {
  Vector out(in.size());
  crypt_stream(name, key, iv, offset, in, out);
  return out;
}

// RFC 8439, section 2.3.2: the block of counter 1.
TEST(LibcryptoWork, ChaCha20HasThePublishedKeystream) {
  Vector key(32);
  std::iota(key.begin(), key.end(), std::uint8_t{0});
  const Vector wanted = from_hex(
      "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
      "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
  const Vector nothing(64);
  EXPECT_EQ(crypt("chacha20", key, from_hex("01000000000000090000004a00000000"), 0, nothing),
            wanted);
  EXPECT_EQ(crypt("chacha20", key, from_hex("00000000000000090000004a00000000"), 64, nothing),
            wanted);
}

TEST(LibcryptoWork, ChaCha20CountsThroughAllFourBytes) {
  const Vector key(32);
  const Vector nothing(64);
  EXPECT_EQ(crypt("chacha20", key, from_hex("ffffff00000000000000000000000000"), 64, nothing),
            crypt("chacha20", key, from_hex("00000001000000000000000000000000"), 0, nothing));
}

// SP 800-38A, F.5.5, the second block.
TEST(LibcryptoWork, AesHasThePublishedCiphertext) {
  const Vector key = from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  const Vector text = from_hex("ae2d8a571e03ac9c9eb76fac45af8e51");
  EXPECT_EQ(crypt("aes-256-ctr", key, from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), 16, text),
            from_hex("f443e3ca4d62b59aca84e990cacaf5c5"));
}

// RFC 7748, section 5.2.
TEST(LibcryptoWork, X25519HasThePublishedSecret) {
  const auto secret = agree_upon_secret(
      from_hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
      from_hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"));
  EXPECT_EQ(Vector(secret.begin(), secret.end()),
            from_hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"));
}

TEST(LibcryptoWork, OnlyAllItemsInAnyOrderAreRight) {
  constexpr LibcryptoWorkSize size{.message_bytes = 1000, .piece_bytes = 192, .agreements = 3};
  for (const std::string_view name : libcrypto_algorithms()) {
    SCOPED_TRACE(name);
    const auto work = make_libcrypto_work(name, size);
    const LibcryptoWorkTotal total = work->total();
    EXPECT_EQ(total.items, name == "x25519" ? 3U : 6U);
    EXPECT_EQ(total.bytes, name == "x25519" ? 96U : 1000U);
    work->clear();
    EXPECT_FALSE(work->is_right());
    for (std::uint64_t item = total.items; item-- > 1;) {
      work->run(item);
    }
    EXPECT_FALSE(work->is_right());
    EXPECT_THROW(require_right("it", *work), Error);
    work->run(0);
    EXPECT_TRUE(work->is_right());
    work->clear();
    EXPECT_FALSE(work->is_right());
  }
}

TEST(LibcryptoWork, MayHaveNoItems) {
  for (const std::string_view name : libcrypto_algorithms()) {
    const auto work = make_libcrypto_work(name, {0, 64, 0});
    EXPECT_EQ(work->total().items, 0U);
    EXPECT_TRUE(work->is_right());
  }
}

TEST(LibcryptoWork, UnknownAlgorithmsAreRefused) {
  EXPECT_NO_THROW(check_libcrypto_algorithm("x25519"));
  try {
    check_libcrypto_algorithm("rot13");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
  }
}

}  // namespace
}  // namespace paes::cli
