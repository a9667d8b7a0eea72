// SPDX-License-Identifier: Apache-2.0
// Cobblestone's derivation, nonces and lengths. The derived values were read from streams that PyPI
// cryptography 50 made (Cobblestone128Encryptor and Cobblestone256Encryptor with the key and
// context below; the salt is the one it drew): commitment from the stream, key and nonce recomputed
// with its HKDFExpand and checked by opening the stream's last chunk.
#include "format/cobblestone.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "crypto/libcrypto.hpp"
#include "format/container.hpp"
#include "hex.hpp"

namespace paes::cobblestone {
namespace {

using container::Suite;
using test::from_hex;
using test::to_hex;

struct Vector {
  Suite suite;
  const char* salt;
  const char* commitment;
  const char* key;
  const char* base_nonce;
};

constexpr Vector vectors[] = {
    {Suite::cobblestone_128, "555f06585133039d4bf646434a6c8983177c7644a4279d78",
     "5e453843bec27c51253c2a55897ed1a573c28628e10ffc944ff099eac40d49cb",
     "137f0615c7b5bcb9e582ecb2c38c4099", "97b8b41bc62239fa475d4fee"},
    {Suite::cobblestone_256, "c5262c2ea8cd2620f87729b82e50f6c630d53b0ef04e34da",
     "65a3a0f0175b394117a7b973185ab5582f7e0733c03c5932af07f50e99fe7153",
     "b782b2baba89692274189b174912f0057a0e8cc9a5b2796a06ea51de2c13fd16",
     "4c626952066f4dd3e748181c"}};

// Input key 00 01 02 ...; context the first ten bytes of a container.
Secret<StreamKeys> derive_from_counting_key(Suite suite, Bytes salt) {
  std::vector<std::uint8_t> input_key(container::key_bytes(suite));
  std::iota(input_key.begin(), input_key.end(), std::uint8_t{0});
  const auto header = container::encode(container::layout({suite}, 200));
  return derive(suite, input_key, salt, Bytes(header).first(container::context_bytes));
}

TEST(Cobblestone, DerivesWhatPyCryptographyDerives) {
  for (const Vector& vector : vectors) {
    const auto keys = derive_from_counting_key(vector.suite, from_hex(vector.salt));
    EXPECT_EQ(to_hex(Bytes(keys->key).first(container::key_bytes(vector.suite))), vector.key);
    EXPECT_EQ(to_hex(keys->base_nonce), vector.base_nonce);
    EXPECT_EQ(to_hex(keys->commitment), vector.commitment);
  }
}

TEST(Cobblestone, EveryInputOfTheDerivationMatters) {
  const std::vector<std::uint8_t> key(32, 1), other_key(32, 2), salt(24, 3), other_salt(24, 4);
  const std::vector<std::uint8_t> context{5}, other_context{6};
  const auto commitment = [](Bytes k, Bytes s, Bytes c) {
    return to_hex(derive(Suite::cobblestone_256, k, s, c)->commitment);
  };
  const std::string base = commitment(key, salt, context);
  EXPECT_EQ(commitment(key, salt, context), base);
  EXPECT_NE(commitment(other_key, salt, context), base);
  EXPECT_NE(commitment(key, other_salt, context), base);
  EXPECT_NE(commitment(key, salt, other_context), base);
  EXPECT_NE(commitment(key, salt, {}), base);
}

TEST(Cobblestone, ChunkNoncesXorABigEndianCounter) {
  StreamKeys keys{};
  const auto base = from_hex("0102030405060708090a0bff");
  std::copy(base.begin(), base.end(), keys.base_nonce);
  EXPECT_EQ(to_hex(chunk_nonce(keys, 0)), "0102030405060708090a0bff");
  EXPECT_EQ(to_hex(chunk_nonce(keys, 1)), "0102030405060708090a0bfe");
  EXPECT_EQ(to_hex(chunk_nonce(keys, 0x100)), "0102030405060708090a0aff");
  EXPECT_EQ(to_hex(chunk_nonce(keys, max_chunks - 1)), "0102030405060737f6f5f400");
}

TEST(Cobblestone, LengthsOfPayloadAndTextAreInverse) {
  for (const std::uint64_t text :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{16383}, std::uint64_t{16384},
        std::uint64_t{16385}, std::uint64_t{1} << 32, (std::uint64_t{1} << 52) - 1}) {
    EXPECT_EQ(chunking.text_of(chunking.payload_bytes(text)), text);
  }
  EXPECT_EQ(chunking.payload_bytes(0), 72u);
  EXPECT_EQ(chunking.payload_bytes(16384), 56u + 16400 + 16);
  EXPECT_EQ(chunking.chunk_offset(2), 56u + 2 * 16400);
}

TEST(Cobblestone, ImpossiblePayloadLengthsAreTruncated) {
  for (std::uint64_t chunks = 0; chunks < 3; ++chunks) {
    for (std::uint64_t rest = 0; rest < tag_bytes; ++rest) {
      EXPECT_EQ(chunking.text_of(chunking.chunk_offset(chunks) + rest), std::nullopt)
          << chunks << " " << rest;
    }
    EXPECT_EQ(chunking.text_of(chunking.chunk_offset(chunks) + tag_bytes),
              chunks * chunk_text_bytes);
  }
  for (std::uint64_t bytes = 0; bytes < prefix_bytes; ++bytes) {
    EXPECT_EQ(chunking.text_of(bytes), std::nullopt);
  }
}

TEST(Cobblestone, NoStreamHasMoreThan2To38Chunks) {
  const std::uint64_t longest = chunking.payload_bytes((std::uint64_t{1} << 52) - 1);
  EXPECT_TRUE(chunking.text_of(longest).has_value());
  EXPECT_EQ(chunking.text_of(longest + 1), std::nullopt);
  EXPECT_EQ(chunking.text_of(longest + 1 + tag_bytes), std::nullopt);
  EXPECT_EQ(chunking.text_of(~std::uint64_t{0}), std::nullopt);
}

}  // namespace
}  // namespace paes::cobblestone
