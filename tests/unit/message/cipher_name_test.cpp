// SPDX-License-Identifier: Apache-2.0
// The names of ciphers, spelled out here once more: a name that is gone, or one too many, shows.
#include "message/cipher_name.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "paes/error.hpp"
#include "raw_claims.hpp"

namespace paes {
namespace {

TEST(CipherNames, AreTheseAndNoOthers) {
  const std::vector<std::string> expected = {
      "aes-128-ecb",  "aes-128-cbc",  "aes-128-cfb",  "aes-128-ofb",  "aes-128-ctr",
      "aes-128-xts",  "aes-128-gcm",  "aes-192-ecb",  "aes-192-cbc",  "aes-192-cfb",
      "aes-192-ofb",  "aes-192-ctr",  "aes-192-gcm",  "aes-256-ecb",  "aes-256-cbc",
      "aes-256-cfb",  "aes-256-ofb",  "aes-256-ctr",  "aes-256-xts",  "aes-256-gcm",
      "des-ede3-ecb", "des-ede3-cbc", "des-ede3-cfb", "des-ede3-ofb", "des-ede3-ctr",
  };
  std::vector<std::string> names;
  for (const CipherName& name : all_cipher_names()) {
    names.push_back(name.name);
  }
  EXPECT_EQ(names, expected);
}

TEST(CipherNames, SayWhatTheyAre) {
  EXPECT_EQ(find_cipher_name("aes-192-cfb").key_bytes, 24U);
  EXPECT_EQ(find_cipher_name("aes-192-cfb").mode, Mode::cfb);
  EXPECT_EQ(find_cipher_name("aes-128-xts").key_bytes, 32U);
  EXPECT_EQ(find_cipher_name("aes-256-xts").key_bytes, 64U);
  EXPECT_TRUE(find_cipher_name("aes-256-gcm").is_gcm());
  EXPECT_EQ(find_cipher_name("des-ede3-ctr").cipher, Cipher::des_ede3);
  EXPECT_EQ(find_cipher_name("des-ede3-ctr").key_bytes, 24U);
}

TEST(CipherNames, OthersAreRefused) {
  for (const char* name :
       {"", "aes", "aes-192-xts", "AES-128-CTR", "des-ede3-xts", "des-ede3-gcm", "aes-128-ctr "}) {
    EXPECT_THROW((void)find_cipher_name(name), Error) << name;
  }
}

TEST(CipherNames, HasCipherIsWhatRawKeyAccepts) {
  test::expect_has_cipher_is_what_raw_key_accepts(all_kernels());
}

}  // namespace
}  // namespace paes
