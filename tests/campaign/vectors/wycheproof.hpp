// SPDX-License-Identifier: Apache-2.0
// Wycheproof's AES-GCM cases (C2SP/wycheproof, testvectors_v1/aes_gcm_test.json, schema
// aead_test_schema_v1): odd IV lengths, counters about to wrap, and tags that must not be accepted.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "hex.hpp"
#include "kernel/kernel.hpp"
#include "message/gcm.hpp"
#include "paes/gcm.hpp"
#include "tested_kernels.hpp"

namespace paes::test {

struct WycheproofCase {
  int id;
  bool is_valid;
  std::vector<std::uint8_t> key, iv, aad, plaintext, ciphertext, tag;
};

inline std::vector<WycheproofCase> read_wycheproof(const std::filesystem::path& path) {
  std::ifstream file(path);
  const nlohmann::json all = nlohmann::json::parse(file);
  std::vector<WycheproofCase> cases;
  for (const auto& group : all.at("testGroups")) {
    for (const auto& test : group.at("tests")) {
      const auto bytes = [&](const char* name) {
        return from_hex(test.at(name).get<std::string>());
      };
      cases.push_back({test.at("tcId").get<int>(), test.at("result") == "valid", bytes("key"),
                       bytes("iv"), bytes("aad"), bytes("msg"), bytes("ct"), bytes("tag")});
    }
  }
  constexpr std::size_t published = 316;
  if (cases.size() != published || all.at("numberOfTests") != published) {
    throw std::runtime_error("Wycheproof: " + std::to_string(cases.size()) + " cases, not 316");
  }
  return cases;
}

// An invalid case must be refused, whether as an argument (an empty IV) or by its tag. `Key` is Gcm
// or GcmKey, to which an empty IV is the caller's bug.
template <class Key>
bool is_passed_with(const Key& key, const WycheproofCase& test) {
  std::vector<std::uint8_t> out(test.ciphertext.size());
  std::vector<std::uint8_t> tag(test.tag.size());
  if (!test.is_valid && test.iv.empty()) {
    if constexpr (std::is_same_v<Key, Gcm>) {
      try {
        key.seal(test.iv, test.aad, test.plaintext, out, tag);
        return false;
      } catch (const Error&) {
      }
    }
    return true;
  }
  if (key.open(test.iv, test.aad, test.ciphertext, out, test.tag) != test.is_valid) {
    return false;
  }
  if (!test.is_valid) {
    return true;
  }
  std::vector<std::uint8_t> sealed(test.plaintext.size());
  key.seal(test.iv, test.aad, test.plaintext, sealed, tag);
  return out == test.plaintext && sealed == test.ciphertext && tag == test.tag;
}

// By the public header where it knows the kernel's name, which of an emulated one it does not.
inline bool is_passed(const WycheproofCase& test, const Kernel& kernel) {
  if (is_emulated(kernel)) {
    return is_passed_with(GcmKey(test.key, kernel), test);
  }
  return is_passed_with(Gcm(test.key, {.kernel = kernel.name}), test);
}

}  // namespace paes::test
