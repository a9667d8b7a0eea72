// SPDX-License-Identifier: Apache-2.0
// Configurations that gocryptfs made, and what it says of them (tests/unit/vault/configurations).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "test_data.hpp"
#include "vault/configuration.hpp"

namespace paes::test {

struct KnownConfiguration {
  const char* name;
  const char* passphrase;
  const char* master_key;
  const char* creator;
  vault::Features features;
};

inline const std::vector<KnownConfiguration>& known_configurations() {
  using vault::ContentCipher;
  using vault::Features;
  static const std::vector<KnownConfiguration> all = {
      {"default", "correct horse",
       "fd966e5206f641d2afcc938298e358df203b2f8bbc0449d2cd95eb9e5e5859dc", "gocryptfs 2.3",
       Features{}},
      {"aessiv", "correct horse",
       "699e033893102eec3d0a9e7486462889142ecb0dc56237372826dea4f13ae939", "gocryptfs 2.3",
       Features{.content = ContentCipher::aes_siv}},
      {"xchacha", "correct horse",
       "8dfdead1ff4651419d8e882db84fa757b4925e7f4206b37629b5de4fa2a51911", "gocryptfs 2.3",
       Features{.content = ContentCipher::xchacha20_poly1305}},
      {"plaintextnames", "correct horse",
       "31f23adb3ae5100939983e4143c65d52002714f7ec84d1d1632bed1d538874a6", "gocryptfs 2.3",
       Features{.has_plaintext_names = true,
                .has_directory_ivs = false,
                .has_long_names = false,
                .has_raw_base64 = false}},
      {"deterministic", "correct horse",
       "f0b087ca50d75e9d29762e460e8544e14099814c2a42be86cb7bcb695adab380", "gocryptfs 2.3",
       Features{.has_directory_ivs = false}},
      {"longnamemax", "correct horse",
       "ccf5781fe429bc3c1adfc26a38770b61d255eadd5c1050e1e44cc6c032f6703c", "gocryptfs 2.3",
       Features{.long_name_max = 100}},
      {"all", "correct horse", "6e1f53619d92018e26aef23e41be87da5f3c71b689e6314deb524d3a9e1afab3",
       "gocryptfs 2.3",
       Features{.content = ContentCipher::xchacha20_poly1305,
                .has_directory_ivs = false,
                .long_name_max = 62}},
      {"example-v0.7", "test", "ed7f6d8340cce86c0e7d79c2a9438710575221bf30a0eb602821fa8f7f3123bf",
       "", Features{.has_hkdf = false, .has_long_names = false, .has_raw_base64 = false}},
      {"example-v0.7-plaintextnames", "test",
       "6d96397b585631e1c7cba69d61e738b64d5ad2c2e21f0fb352f60d3ab08526f7", "",
       Features{.has_hkdf = false,
                .has_plaintext_names = true,
                .has_directory_ivs = false,
                .has_long_names = false,
                .has_raw_base64 = false}},
      {"example-v0.9", "test", "1cafe3f4bc3164662214c47cecd89bf34e078fe4f5faeea78b7cab02884f5e1c",
       "", Features{.has_hkdf = false, .has_raw_base64 = false}},
      {"example-v1.1-aessiv", "test",
       "eaf371c3f9a553368819f22b7bccd7c2a738cf617261c65814c28a039428992b",
       "gocryptfs v1.1-beta1-33-gf054353-dirty",
       Features{.content = ContentCipher::aes_siv, .has_hkdf = false, .has_raw_base64 = false}},
      {"example-v1.3", "test", "fd890dab86bf61cfec5ad460ad3ed01f9c52d5462a31783da56b088d3d05232e",
       "gocryptfs v1.2.1-23-gd78a8d1-dirty", Features{}},
  };
  return all;
}

inline std::string configuration_file(const std::string& name) {
  std::ifstream file(test_data("vault/configurations/" + name + ".conf"), std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace paes::test
