// SPDX-License-Identifier: Apache-2.0
// PEM and the Base 64 of secrets: what is read, and every other spelling that is refused.
#include "encoding/pem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes {
namespace {

std::string block(const std::string& body, const std::string& label = "KEY") {
  return "-----BEGIN " + label + "-----\n" + body + "-----END " + label + "-----\n";
}

std::string read(const std::string& text) {
  const auto parsed = pem::parse(text);
  return parsed ? std::string(libcrypto::text_of(parsed->data)) : "refused";
}

TEST(Pem, IsOneBlock) {
  EXPECT_EQ(read(block("Zm9v\n")), "foo");
  EXPECT_EQ(read(block("Zm9v\r\nYmFy\r\n")), "foobar");
  EXPECT_EQ(read(block("Zm9v\nYg==\n") + "\n \n"), "foob");
  EXPECT_EQ(pem::parse(block("Zm9v\n", "OPENSSH PRIVATE KEY"))->label, "OPENSSH PRIVATE KEY");
  const auto with_fields = pem::parse(block("Proc-Type: 4,ENCRYPTED\n\nZm9v\n"));
  ASSERT_TRUE(with_fields.has_value());
  EXPECT_TRUE(with_fields->has_fields);
  EXPECT_TRUE(with_fields->data.empty());
}

TEST(Pem, AnythingElseIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("-----BEGIN KEY-----"),
        std::string("-----BEGIN KEY-----\nZm9v\n"), "\n" + block("Zm9v\n"),
        block("Zm9v\n") + "more", block("Zm9v\n") + block("Zm9v\n"), block(""), block("Zm9\n"),
        block("Zm9v=\n"), block("Zm9=\n"), block("Z===\n"), block("Zh==\n"), block("Zm=v\n"),
        block("Zm9v!\n"), block("Zm9v\n", ""),
        std::string("-----BEGIN KEY-----\nZm9v\n-----END OTHER-----\n"),
        std::string("-----BEGIN KEY-----\nZm9v\n-----BEGIN KEY-----\n"),
        std::string("-----BEGIN -----\nZm9v\n-----END -----\n"),
        std::string("-----BEGIN KEY----\nZm9v\n-----END KEY----\n")}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
}

}  // namespace
}  // namespace paes
