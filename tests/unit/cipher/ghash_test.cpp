// SPDX-License-Identifier: Apache-2.0
// GHASH against the examples of the GCM submission and against SP 800-38D's bit-by-bit algorithm.
#include "cipher/ghash.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "cipher/aes_compute.hpp"
#include "hex.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::from_hex;
using test::to_hex;
using test::varied_bytes;

template <typename AnyBlock = Block>
AnyBlock block_of(const std::vector<std::uint8_t>& bytes) {
  AnyBlock block;
  std::memcpy(block.bytes, bytes.data(), block_bytes);
  return block;
}

template <typename AnyBlock>
std::string hex_of(const AnyBlock& block) {
  return to_hex({block.bytes, block_bytes});
}

// McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", test cases 2 and 3.
TEST(Ghash, KnownAnswers) {
  HashValue value = {};
  const auto one_block =
      from_hex("0388dace60b6a392f328c2b971b2fe7800000000000000000000000000000080");
  ghash_update(block_of<HashSubkey>(from_hex("66e94bd4ef8a2c3b884cfa59ca342b2e")), value,
               one_block.data(), 2);
  EXPECT_EQ(hex_of(value), "f38cbb1ad69223dcc3457ae5b6b0f885");
  value = {};
  const auto four_blocks = from_hex(
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
      "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
      "00000000000000000000000000000200");
  ghash_update(block_of<HashSubkey>(from_hex("b83b533708bf535d0aa6e52980d53b78")), value,
               four_blocks.data(), 5);
  EXPECT_EQ(hex_of(value), "7f1b32b81b820d02614f8895ac1d4eac");
}

TEST(Ghash, MultipliesLikeTheStandardsAlgorithm) {
  const auto random = varied_bytes(32 * 500, 1);
  for (std::size_t i = 0; i < 500; ++i) {
    Block a;
    Block b;
    std::memcpy(a.bytes, random.data() + 32 * i, block_bytes);
    std::memcpy(b.bytes, random.data() + 32 * i + block_bytes, block_bytes);
    ASSERT_EQ(hex_of(ghash_multiply(a, b)), hex_of(aes_compute::ghash_multiply(a, b)));
  }
}

// The columns of the integer products are fullest, and the reduction's overflow largest, when every
// bit is set; single bits meet each column alone.
TEST(Ghash, MultipliesExtremes) {
  Block ones;
  std::memset(ones.bytes, 0xff, block_bytes);
  EXPECT_EQ(hex_of(ghash_multiply(ones, ones)), hex_of(aes_compute::ghash_multiply(ones, ones)));
  for (unsigned i = 0; i < 128; ++i) {
    Block a = {};
    a.bytes[i / 8] = static_cast<std::uint8_t>(1U << (i % 8));
    ASSERT_EQ(hex_of(ghash_multiply(ones, a)), hex_of(aes_compute::ghash_multiply(ones, a)));
    for (unsigned j = 0; j < 128; ++j) {
      Block b = {};
      b.bytes[j / 8] = static_cast<std::uint8_t>(1U << (j % 8));
      ASSERT_EQ(hex_of(ghash_multiply(a, b)), hex_of(aes_compute::ghash_multiply(a, b)));
    }
  }
}

TEST(Ghash, PowersAreRepeatedProducts) {
  const Block h = block_of(varied_bytes(block_bytes, 2));
  Block product = {{0x80}};
  for (std::uint64_t exponent = 0; exponent < 70; ++exponent) {
    ASSERT_EQ(hex_of(ghash_power(h, exponent)), hex_of(product)) << exponent;
    product = aes_compute::ghash_multiply(product, h);
  }
  // Squaring 128 times gives h back: (h^(2^64))^(2^64) = h.
  const Block high = ghash_multiply(ghash_power(h, ~std::uint64_t{0}), h);
  EXPECT_EQ(hex_of(ghash_multiply(ghash_power(high, ~std::uint64_t{0}), high)), hex_of(h));
}

TEST(Ghash, UpdateGoesOnWhereItStopped) {
  const Block h = block_of(varied_bytes(block_bytes, 3));
  const auto data = varied_bytes(40 * block_bytes, 4);
  Block expected = {};
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < block_bytes; ++j) {
      expected.bytes[j] = static_cast<std::uint8_t>(expected.bytes[j] ^ data[i * block_bytes + j]);
    }
    expected = aes_compute::ghash_multiply(expected, h);
  }
  for (std::size_t first = 0; first <= 40; ++first) {
    HashValue value = {};
    ghash_update(std::bit_cast<HashSubkey>(h), value, data.data(), first);
    ghash_update(std::bit_cast<HashSubkey>(h), value, data.data() + first * block_bytes,
                 40 - first);
    ASSERT_EQ(hex_of(value), hex_of(expected)) << first;
  }
}

}  // namespace
}  // namespace paes
