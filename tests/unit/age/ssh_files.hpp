// SPDX-License-Identifier: Apache-2.0
// The keys in tests/unit/age/ssh, for tests of SSH's keys. The README.md there says where they come
// from.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "age/keys.hpp"
#include "crypto/libcrypto.hpp"
#include "test_data.hpp"

namespace paes::test {

inline constexpr std::string_view ssh_passphrase = "open sesame";  // of ed25519_encrypted

inline std::string ssh_file(const std::string& name) {
  std::ifstream in(test_data("age/ssh/" + name), std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string ssh_line_of(const std::string& name) {
  const std::string text = ssh_file(name + ".pub");
  return text.substr(0, text.find('\n'));
}

inline std::vector<age::SharedIdentity> load_ssh(const std::string& name,
                                                 const age::Prompts& prompts = {}) {
  return age::parse_identity_file(libcrypto::bytes_of(ssh_file(name)), name, prompts);
}

}  // namespace paes::test
