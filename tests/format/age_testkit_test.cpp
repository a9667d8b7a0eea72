// The age format's community test vectors (age_testkit.txt says whence): every file opens, or is
// refused for the reason that its vector names.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <fstream>
#include <map>
#include <sstream>

#include "format/age.hpp"
#include "format/age_stream.hpp"
#include "format/container.hpp"
#include "format/libcrypto.hpp"
#include "hex.hpp"
#include "paes/error.hpp"

namespace paes::age {
namespace {

struct Vector {
  std::string name;
  std::string expect;
  std::string payload_sha256;
  std::string file_key;
  std::vector<std::string> identities;
  std::vector<std::string> passphrases;
  std::vector<std::uint8_t> file;
};

std::vector<std::uint8_t> expand(const std::string& tokens) {
  std::vector<std::uint8_t> bytes;
  std::istringstream stream(tokens);
  for (std::string token; stream >> token;) {
    const std::size_t star = token.find('*');
    const auto part = test::from_hex(token.substr(0, star));
    if (star == std::string::npos) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    } else {
      bytes.insert(bytes.end(), std::stoul(token.substr(star + 1)), part.at(0));
    }
  }
  return bytes;
}

std::vector<Vector> read_vectors() {
  std::ifstream stream(PAES_TEST_DATA "/format/age_testkit.txt");
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
      throw std::runtime_error("age_testkit.txt: unknown field " + field);
    }
  }
  return vectors;
}

std::string sha256(Bytes bytes) {
  std::uint8_t digest[32];
  EXPECT_EQ(EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(), digest, nullptr),
            1);
  return test::to_hex(digest);
}

// What `open` does with the vector, in the vectors' words.
std::string outcome(const Vector& vector) {
  std::vector<X25519Identity> identities;
  for (const std::string& text : vector.identities) {
    identities.push_back(parse_identity(text));
  }
  Credentials credentials{identities, {}};
  if (!vector.passphrases.empty()) {
    credentials.ask_passphrase = [&] {
      return SecretBytes(libcrypto::bytes_of(vector.passphrases.front()));
    };
  }
  try {
    const SecretBytes plaintext = open(vector.file, credentials);
    EXPECT_EQ(sha256(plaintext), vector.payload_sha256);
    return "success";
  } catch (const Error& error) {
    const std::string what = error.what();
    if (error.code == ErrorCode::wrong_key) {
      return "no match";
    }
    if (what.find("MAC") != std::string::npos) {
      return "HMAC failure";
    }
    if (what.find("payload") != std::string::npos) {
      return "payload failure";
    }
    const bool work_factor = what.find("work factor") != std::string::npos;
    EXPECT_EQ(error.code, work_factor ? ErrorCode::usage : ErrorCode::corrupt) << what;
    return "header failure";
  }
}

// Payloads too long for an envelope still test the stream itself.
std::string outcome_of_long_stream(const Vector& vector) {
  EXPECT_THROW((void)open(vector.file, {}), Error);
  const std::string_view text(reinterpret_cast<const char*>(vector.file.data()),
                              vector.file.size());
  const std::size_t end_line = text.find("\n--- ");
  const std::size_t payload = text.find('\n', end_line + 1) + 1;
  const auto plaintext =
      open_payload(test::from_hex(vector.file_key), Bytes(vector.file).subspan(payload));
  if (!plaintext) {
    return "payload failure";
  }
  EXPECT_EQ(sha256(*plaintext), vector.payload_sha256);
  return "success";
}

TEST(AgeTestkit, EveryVectorEndsAsItSays) {
  const auto vectors = read_vectors();
  ASSERT_EQ(vectors.size(), 92u);
  std::map<std::string, int> seen;
  for (const Vector& vector : vectors) {
    SCOPED_TRACE(vector.name);
    const bool is_long = vector.file.size() > container::max_envelope_bytes;
    EXPECT_EQ(is_long ? outcome_of_long_stream(vector) : outcome(vector), vector.expect);
    ++seen[vector.expect];
  }
  EXPECT_EQ(seen["success"], 15);
  EXPECT_EQ(seen["no match"], 7);
  EXPECT_EQ(seen["header failure"], 51);
  EXPECT_EQ(seen["HMAC failure"], 1);
  EXPECT_EQ(seen["payload failure"], 18);
}

}  // namespace
}  // namespace paes::age
