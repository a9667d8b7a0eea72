// SPDX-License-Identifier: Apache-2.0
// The age format's community test vectors, as testkit.txt has them; it says whence they come.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "age/header.hpp"
#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "test_data.hpp"

namespace paes::test {

struct Vector {
  std::string name;
  std::string expect;
  std::string payload_sha256;
  std::string file_key;
  std::vector<std::string> identities;
  std::vector<std::string> passphrases;
  std::vector<std::uint8_t> file;

  [[nodiscard]] bool is_armored() const { return name.starts_with("armor_"); }
};

// The keys of a vector, as open_header takes them.
class VectorKeys {
 public:
  explicit VectorKeys(const Vector& vector) {
    for (const std::string& text : vector.identities) {
      identities_.push_back(age::parse_identity(text));
    }
    credentials_.identities = identities_;
    if (!vector.passphrases.empty()) {
      credentials_.ask_passphrase = [&vector] {
        return SecretBytes(libcrypto::bytes_of(vector.passphrases.front()));
      };
    }
  }
  VectorKeys(const VectorKeys&) = delete;
  VectorKeys& operator=(const VectorKeys&) = delete;
  [[nodiscard]] const age::Credentials& credentials() const { return credentials_; }

 private:
  std::vector<age::SharedIdentity> identities_;
  age::Credentials credentials_;
};

inline std::vector<std::uint8_t> expand(const std::string& tokens) {
  std::vector<std::uint8_t> bytes;
  std::istringstream stream(tokens);
  for (std::string token; stream >> token;) {
    const std::size_t star = token.find('*');
    const auto part = from_hex(token.substr(0, star));
    if (star == std::string::npos) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    } else {
      bytes.insert(bytes.end(), std::stoul(token.substr(star + 1)), part.at(0));
    }
  }
  return bytes;
}

inline std::vector<Vector> read_vectors(const char* file = "testkit.txt") {
  std::ifstream stream(test_data(std::string("age/") + file));
  std::vector<Vector> vectors;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    const std::string field = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (field == "vector") {
      vectors.push_back({});
      vectors.back().name = value;
    } else if (field == "expect") {
      vectors.back().expect = value;
    } else if (field == "payload") {
      vectors.back().payload_sha256 = value;
    } else if (field == "file_key") {
      vectors.back().file_key = value;
    } else if (field == "identity") {
      vectors.back().identities.push_back(value);
    } else if (field == "passphrase") {
      vectors.back().passphrases.push_back(value);
    } else if (field == "file") {
      vectors.back().file = expand(value);
    } else if (field != "#") {
      throw std::runtime_error("testkit.txt: unknown field " + field);
    }
  }
  return vectors;
}

inline std::string sha256(Bytes bytes) {
  std::uint8_t digest[32];
  EXPECT_EQ(EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(), digest, nullptr),
            1);
  return to_hex(digest);
}

}  // namespace paes::test
