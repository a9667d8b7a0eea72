// PEM and the Base 64 of secrets: what is read, and every other spelling that is refused.
#include "format/pem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "format/encodings.hpp"
#include "format/libcrypto.hpp"

namespace paes {
namespace {

std::string block(const std::string& body, const std::string& label = "KEY") {
  return "-----BEGIN " + label + "-----\n" + body + "-----END " + label + "-----\n";
}

std::string read(const std::string& text) {
  const auto parsed = pem::parse(text);
  return parsed ? std::string(libcrypto::text_of(parsed->data)) : "refused";
}

TEST(SecretBase64, IsReadAsTheOther) {
  for (std::size_t bytes = 0; bytes < 70; ++bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<std::uint8_t>(bytes * 37));
    std::vector<std::uint8_t> back(bytes);
    EXPECT_TRUE(base64::decode_secret(base64::encode(data), back));
    EXPECT_EQ(back, data);
  }
}

// Every character at every place, so that both decoders agree about the canonical spelling, too.
TEST(SecretBase64, RefusesWhatTheOtherRefuses) {
  for (const std::string_view good : {"Zg", "Zm8", "Zm9v"}) {
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string text(good);
        text[at] = static_cast<char>(c);
        std::vector<std::uint8_t> data(good.size() * 3 / 4);
        std::vector<std::uint8_t> secret(data.size());
        const bool is_good = base64::decode(text, data);
        ASSERT_EQ(base64::decode_secret(text, secret), is_good) << c << " at " << at;
        if (is_good) {
          EXPECT_EQ(secret, data);
        }
      }
    }
  }
  std::array<std::uint8_t, 3> three{};
  EXPECT_FALSE(base64::decode_secret("Zm9", three));
  EXPECT_FALSE(base64::decode_secret("Zm9vZg", three));
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
