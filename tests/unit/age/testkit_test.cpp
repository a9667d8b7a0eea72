// SPDX-License-Identifier: Apache-2.0
// The age format's community test vectors (testkit.txt says whence): every file opens, or is
// refused for the reason that its vector names.
#include "age/testkit.hpp"

#include <gtest/gtest.h>

#include <map>

#include "age/age_payload.hpp"
#include "age/envelope.hpp"
#include "crypto/ml_kem.hpp"
#include "format/container.hpp"
#include "hex.hpp"
#include "paes/error.hpp"

namespace paes::age {
namespace {

using test::sha256;
using test::Vector;

// What `open` does with the vector, in the vectors' words.
std::string outcome(const Vector& vector) {
  const test::VectorKeys keys(vector);
  try {
    const SecretBytes plaintext = open(vector.file, keys.credentials());
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
    EXPECT_EQ(error.code, work_factor ? ErrorCode::failure : ErrorCode::corrupt) << what;
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
  std::size_t count = 0;
  std::map<std::string, int> seen;
  for (const Vector& vector : test::read_vectors()) {
    if (vector.is_armored()) {
      continue;  // an envelope has no armor; tests/unit/stream opens these as files
    }
    SCOPED_TRACE(vector.name);
    ++count;
    const bool is_long = vector.file.size() > container::max_envelope_bytes;
    EXPECT_EQ(is_long ? outcome_of_long_stream(vector) : outcome(vector), vector.expect);
    ++seen[vector.expect];
  }
  EXPECT_EQ(count, 92U);
  EXPECT_EQ(seen["success"], 15);
  EXPECT_EQ(seen["no match"], 7);
  EXPECT_EQ(seen["header failure"], 51);
  EXPECT_EQ(seen["HMAC failure"], 1);
  EXPECT_EQ(seen["payload failure"], 18);
}

TEST(AgeTestkit, EveryPostQuantumVectorEndsAsItSays) {
  if (!libcrypto::has_ml_kem_768()) {
    GTEST_SKIP() << "this libcrypto has no ML-KEM-768 (OpenSSL 3.5 and later have it)";
  }
  const auto vectors = test::read_vectors("testkit_hybrid.txt");
  ASSERT_EQ(vectors.size(), 18U);
  for (const Vector& vector : vectors) {
    EXPECT_EQ(outcome(vector), vector.expect) << vector.name;
  }
}

}  // namespace
}  // namespace paes::age
