// SPDX-License-Identifier: Apache-2.0
#include "vault/master_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "paes/error.hpp"
#include "refusal.hpp"
#include "vault/configurations.hpp"

namespace paes::vault {
namespace {

using libcrypto::bytes_of;
using test::from_hex;
using test::to_hex;

Configuration read(const std::string& name) {
  return parse_configuration(bytes_of(test::configuration_file(name)), name);
}

TEST(VaultMasterKey, GocryptfsWrappedIt) {
  for (const test::KnownConfiguration& known : test::known_configurations()) {
    SCOPED_TRACE(known.name);
    const Configuration configuration = read(known.name);
    const auto key = unwrap_master_key(configuration, bytes_of(known.passphrase), {});
    ASSERT_TRUE(key);
    EXPECT_EQ(to_hex(key->bytes()), known.master_key);
    EXPECT_FALSE(unwrap_master_key(configuration, bytes_of("correct horse "), {}));
    EXPECT_FALSE(unwrap_master_key(configuration, {}, {}));
  }
}

TEST(VaultMasterKey, IsWrappedAgain) {
  for (const test::KnownConfiguration& known : test::known_configurations()) {
    SCOPED_TRACE(known.name);
    Configuration configuration = read(known.name);
    const Configuration before = configuration;
    const MasterKey key(from_hex(known.master_key));
    wrap_master_key(key, bytes_of("another"), 11, configuration, {});
    EXPECT_EQ(configuration.scrypt.log2_n, 11U);
    EXPECT_EQ(configuration.scrypt.salt.size(), 32U);
    EXPECT_NE(configuration.scrypt.salt, before.scrypt.salt);
    EXPECT_EQ(configuration.encrypted_key.size(), before.encrypted_key.size());
    EXPECT_EQ(configuration.features, before.features);
    const auto again =
        unwrap_master_key(parse_configuration(bytes_of(configuration_text(configuration)), "conf"),
                          bytes_of("another"), {});
    ASSERT_TRUE(again);
    EXPECT_EQ(to_hex(again->bytes()), known.master_key);
    EXPECT_FALSE(unwrap_master_key(configuration, bytes_of(known.passphrase), {}));
  }
}

TEST(VaultMasterKey, TheDerivationCanBeGivenUp) {
  const Configuration configuration = read("default");
  int checks = 0;
  const auto key = unwrap_master_key(configuration, bytes_of("correct horse"),
                                     [&](int descriptor, short /*events*/) {
                                       EXPECT_LT(descriptor, 0);
                                       ++checks;
                                     });
  EXPECT_GE(checks, 1);
  ASSERT_TRUE(key);
  EXPECT_EQ(to_hex(key->bytes()), test::known_configurations().front().master_key);
  EXPECT_THROW((void)unwrap_master_key(configuration, bytes_of("correct horse"),
                                       [](int, short) { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

// A salt and an IV are never used twice.
TEST(VaultMasterKey, EachWrappingIsNew) {
  std::set<std::vector<std::uint8_t>> salts;
  std::set<std::vector<std::uint8_t>> wrapped;
  Configuration configuration = read("default");
  const MasterKey key = MasterKey::random();
  for (int i = 0; i < 8; ++i) {
    wrap_master_key(key, bytes_of("p"), min_log2_n, configuration, {});
    EXPECT_TRUE(salts.insert(configuration.scrypt.salt).second);
    EXPECT_TRUE(
        wrapped
            .insert({configuration.encrypted_key.begin(), configuration.encrypted_key.begin() + 16})
            .second);
  }
}

// As for a new vault: its configuration has no key and no salt yet.
TEST(VaultMasterKey, IsWrappedForTheFirstTime) {
  const MasterKey key = MasterKey::random();
  for (const bool has_hkdf : {false, true}) {
    Configuration configuration;
    configuration.features.has_hkdf = has_hkdf;
    wrap_master_key(key, bytes_of("p"), min_log2_n, configuration, {});
    ASSERT_EQ(configuration.encrypted_key.size(), has_hkdf ? 64U : 60U);
    const auto again = unwrap_master_key(configuration, bytes_of("p"), {});
    ASSERT_TRUE(again);
    EXPECT_EQ(to_hex(again->bytes()), to_hex(key.bytes()));
  }
}

TEST(VaultMasterKey, EveryDamagedBitOfWhatIsWrapped) {
  const Configuration good = read("example-v0.9");
  for (std::size_t bit = 0; bit < good.encrypted_key.size() * 8; bit += 7) {
    Configuration damaged = good;
    damaged.encrypted_key[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(unwrap_master_key(damaged, bytes_of("test"), {})) << bit;
  }
}

TEST(VaultMasterKey, HasItsLength) {
  EXPECT_EQ(test::refusal(ErrorCode::usage, [] { MasterKey key(std::vector<std::uint8_t>(31)); }),
            "master key: has 31 bytes and not 32");
  EXPECT_NE(to_hex(MasterKey::random().bytes()), to_hex(MasterKey::random().bytes()));
}

// From a master key of 0, 1, ... 31, computed with Python's hmac and hashlib by RFC 5869's
// formulas.
TEST(VaultMasterKey, KeysForEachUse) {
  std::vector<std::uint8_t> bytes(master_key_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i);
  }
  const MasterKey key(bytes);
  Features features;
  EXPECT_EQ(to_hex(key.name_key(features)),
            "59366f708e4d4ed892d6bd6ca0de6e927040808b21bd0e1a2753ea365aeaf6c9");
  EXPECT_EQ(to_hex(key.content_key(features)),
            "17df772cfec9d28b9ede3c753d0010ba9f199655acfc3b78dd3b61b5dd5f36c5");
  features.content = ContentCipher::xchacha20_poly1305;
  EXPECT_EQ(to_hex(key.content_key(features)),
            "957caa5a8d2a9189b77f2fcb17707c1fc6ce862c0061f9d1db29a3b71eb7ca0d");
  features.content = ContentCipher::aes_siv;
  EXPECT_EQ(to_hex(key.content_key(features)),
            "90be6449231c24d9d308f1772b47953b6acf97f9e7876a16172e019977f3b7e0"
            "2419aaf86d684593cf2b43008422ad6726b83aaf0897186fb8a8cbd04854bd3c");
  features.has_hkdf = false;
  EXPECT_EQ(to_hex(key.name_key(features)), to_hex(bytes));
  EXPECT_EQ(to_hex(key.content_key(features)),
            "3d94eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f"
            "a9d71862a3e5746b571be3d187b0041046f52ebd850c7cbd5fde8ee38473b649");
  features.content = ContentCipher::aes_256_gcm;
  EXPECT_EQ(to_hex(key.content_key(features)), to_hex(bytes));
}

}  // namespace
}  // namespace paes::vault
