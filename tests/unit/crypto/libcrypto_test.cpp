// SPDX-License-Identifier: Apache-2.0
// The primitives against their RFCs' own examples: a wrong parameter name or order would show here.
#include "crypto/libcrypto.hpp"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>

#include <functional>

#include "crypto/default_provider.hpp"
#include "found_residue.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::libcrypto {
namespace {

using test::from_hex;
using test::to_hex;

TEST(Libcrypto, HkdfSha256OfRfc5869) {
  std::array<std::uint8_t, 42> out{};
  const std::vector<std::uint8_t> key_material(22, 0x0b);
  hkdf_sha256(key_material, from_hex("000102030405060708090a0b0c"),
              from_hex("f0f1f2f3f4f5f6f7f8f9"), out);  // A.1
  EXPECT_EQ(to_hex(out),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  hkdf_sha256(key_material, {}, {}, out);  // A.3: no salt, no info
  EXPECT_EQ(to_hex(out),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Libcrypto, HmacSha256OfRfc4231) {
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");  // 4.3
  EXPECT_EQ(to_hex(hmac_sha256(std::vector<std::uint8_t>(131, 0xaa),
                               bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");  // 4.7
}

// What libcrypto itself makes of the same inputs.
std::string expanded_by_evp(const char* digest, Bytes key, Bytes info, std::size_t bytes) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(
      EVP_KDF_fetch(own_context(), OSSL_KDF_NAME_HKDF, nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  const std::array parameters = {name_of(OSSL_KDF_PARAM_DIGEST, digest),
                                 OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                                 octets(OSSL_KDF_PARAM_KEY, key), octets(OSSL_KDF_PARAM_INFO, info),
                                 OSSL_PARAM_construct_end()};
  std::vector<std::uint8_t> out(bytes);
  EXPECT_EQ(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()), 1);
  return to_hex(out);
}

TEST(Libcrypto, HkdfExpandsAsLibcryptoDoes) {
  for (const std::size_t bytes : {1u, 31u, 32u, 33u, 64u, 65u, 200u, 255u * 32u}) {
    for (const std::size_t key_bytes : {16u, 32u, 64u, 65u, 128u, 129u}) {
      const std::vector<std::uint8_t> key(key_bytes, static_cast<std::uint8_t>(bytes));
      const std::vector<std::uint8_t> info(key_bytes % 50, 0x33);
      std::vector<std::uint8_t> out(bytes);
      hkdf_expand_sha256(key, info, out);
      EXPECT_EQ(to_hex(out), expanded_by_evp("SHA256", key, info, bytes)) << key_bytes;
      hkdf_expand_sha512(key, info, out);
      EXPECT_EQ(to_hex(out), expanded_by_evp("SHA512", key, info, bytes)) << key_bytes;
    }
  }
}

TEST(Libcrypto, AlgorithmsHaveWholeNames) {
  for (const char* const name : {"SHA2-512", "SHA512", "SHA-512"}) {
    EXPECT_NE(ProviderFunctions(OSSL_OP_DIGEST, name)
                  .function<OSSL_FUNC_digest_newctx_fn>(OSSL_FUNC_DIGEST_NEWCTX),
              nullptr);
  }
  for (const char* const name : {"", "SHA2", "SHA2-512:", "SHA2-5122", "X25519"}) {
    EXPECT_EQ(
        test::refusal(ErrorCode::failure, [&] { (void)ProviderFunctions(OSSL_OP_DIGEST, name); }),
        std::string(name) + ": libcrypto failed");
  }
  EXPECT_EQ(test::refusal(
                ErrorCode::failure,
                [] { (void)ProviderFunctions(OSSL_OP_DIGEST, "SHA512").function<void()>(12345); }),
            "SHA512: libcrypto failed");
}

TEST(Libcrypto, X25519OfRfc7748) {
  std::array<std::uint8_t, 32> public_key{};
  std::array<std::uint8_t, 32> shared{};
  // Section 5.2.
  const auto exchange = [&](const std::vector<std::uint8_t>& secret_key,
                            const std::vector<std::uint8_t>& peer) {
    x25519_public_key(secret_key, public_key);
    return x25519({secret_key, public_key}, peer, shared);
  };
  ASSERT_TRUE(
      exchange(from_hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
               from_hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")));
  EXPECT_EQ(to_hex(shared), "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  // After one iteration: the base point's u-coordinate taken as the scalar.
  const auto nine = from_hex("0900000000000000000000000000000000000000000000000000000000000000");
  EXPECT_FALSE(exchange(nine, std::vector<std::uint8_t>(32, 0)));
  EXPECT_EQ(to_hex(public_key), "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
}

std::string derived_once(std::string_view passphrase, Bytes salt, std::size_t bytes) {
  std::vector<std::uint8_t> once(bytes);
  std::vector<std::uint8_t> known(bytes);
  pbkdf2_once_sha256(bytes_of(passphrase), salt, {}, once);
  pbkdf2_hmac("SHA256", bytes_of(passphrase), salt, 1, known);
  EXPECT_EQ(once, known) << salt.size();
  return to_hex(once);
}

TEST(Libcrypto, Pbkdf2OfOneIteration) {
  EXPECT_EQ(derived_once("passwd", bytes_of("salt"), 64),  // RFC 7914, section 11
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
            "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783");
  for (const std::size_t bytes : {1u, 31u, 33u, 100u}) {
    (void)derived_once("", {}, bytes);
    (void)derived_once("word", std::vector<std::uint8_t>((1u << 20) + bytes, 0x61), bytes);
  }
}

// Copies of random bytes at a place of the salt that `derive` gets, the salt itself included.
std::size_t copies_after(std::size_t salt_bytes, std::size_t at,
                         const std::function<void(Bytes salt)>& derive) {
  SecretBytes salt(salt_bytes);
  std::vector<std::uint8_t> inverted(32);
  random_bytes(inverted);
  for (std::size_t i = 0; i < inverted.size(); ++i) {
    salt.data()[at + i] = static_cast<std::uint8_t>(~inverted[i]);
  }
  derive(salt);
  return test::count_in_memory(inverted);
}

TEST(Libcrypto, ASaltThatIsASecretIsNotLeftBehind) {
  if (!test::can_search_memory()) {
    GTEST_SKIP() << "a sanitizer keeps copies";
  }
  std::array<std::uint8_t, 32> out{};
  for (const std::size_t at : {100u, 500u, 990u}) {
    const auto once = [&](Bytes salt) { pbkdf2_once_sha256(bytes_of("word"), salt, {}, out); };
    EXPECT_EQ(copies_after(1024, at, once), 1u) << at;  // as scrypt has it with r = 8
  }
  const auto extract = [&](Bytes salt) { hkdf_extract_sha256(bytes_of("psk"), salt, out); };
  EXPECT_EQ(copies_after(500, 300, extract), 1u);
}

TEST(Libcrypto, ChaCha20Poly1305OfRfc8439) {
  const auto key = from_hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const auto nonce = from_hex("070000004041424344454647");
  auto aad = from_hex("50515253c0c1c2c3c4c5c6c7");
  const std::string_view text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  std::vector<std::uint8_t> sealed(text.size() + chacha20_poly1305_tag_bytes);
  chacha20_poly1305_seal(key, nonce, bytes_of(text), sealed, aad);
  EXPECT_EQ(to_hex(Bytes(sealed).first(16)), "d31a8d34648e60db7b86afbc53ef7ec2");
  EXPECT_EQ(to_hex(Bytes(sealed).last(16)), "1ae10b594f09e26a7e902ecbd0600691");  // 2.8.2
  std::vector<std::uint8_t> opened(text.size());
  EXPECT_TRUE(chacha20_poly1305_open(key, nonce, sealed, opened, aad));
  EXPECT_EQ(text_of(opened), text);
  aad[0] ^= 1;
  EXPECT_FALSE(chacha20_poly1305_open(key, nonce, sealed, opened, aad));
}

TEST(Libcrypto, ChaCha20Poly1305OpensOnlyWhatItSealed) {
  const std::vector<std::uint8_t> key(32, 0x80);
  const std::vector<std::uint8_t> nonce(12, 7);
  for (const std::size_t bytes : {0u, 1u, 16u, 100u}) {
    const std::vector<std::uint8_t> text(bytes, 0x61);
    std::vector<std::uint8_t> sealed(bytes + chacha20_poly1305_tag_bytes);
    chacha20_poly1305_seal(key, nonce, text, sealed);
    std::vector<std::uint8_t> opened(bytes);
    EXPECT_TRUE(chacha20_poly1305_open(key, nonce, sealed, opened));
    EXPECT_EQ(opened, text);
    sealed.back() ^= 1;
    EXPECT_FALSE(chacha20_poly1305_open(key, nonce, sealed, opened));
    EXPECT_EQ(opened, std::vector<std::uint8_t>(bytes, 0))
        << "unauthenticated text was left behind";
  }
}

}  // namespace
}  // namespace paes::libcrypto
