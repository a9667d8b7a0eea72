// SPDX-License-Identifier: Apache-2.0
// The block cipher against FIPS 197's examples, and the two derivations of the S-box (the circuit
// and the definition) against each other.
#include <gtest/gtest.h>

#include "cipher/aes_compute.hpp"
#include "cipher/aes_key.hpp"
#include "cipher/aes_sbox.hpp"
#include "hex.hpp"

namespace paes {
namespace {

using test::from_hex;
using test::to_hex;

TEST(Aes, SboxFollowsTheStandardsTable) {
  // FIPS 197, figure 7 (table 4 in the 2023 edition): corners and the example of section 5.1.1.
  EXPECT_EQ(aes_compute::sbox.image[0x00], 0x63);
  EXPECT_EQ(aes_compute::sbox.image[0x53], 0xed);
  EXPECT_EQ(aes_compute::sbox.image[0xff], 0x16);
  EXPECT_EQ(aes_compute::sbox.image[0x10], 0xca);
}

TEST(Aes, CircuitComputesTheSbox) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::uint64_t bits[8];
    for (unsigned i = 0; i < 8; ++i) {
      bits[i] = ((byte >> i) & 1) != 0 ? ~std::uint64_t{0} : 0;
    }
    sbox_circuit(bits);
    unsigned image = 0;
    for (unsigned i = 0; i < 8; ++i) {
      ASSERT_TRUE(bits[i] == 0 || bits[i] == ~std::uint64_t{0});
      image |= static_cast<unsigned>(bits[i] & 1) << i;
    }
    EXPECT_EQ(image, aes_compute::sbox.image[byte]) << "byte " << byte;
  }
}

struct Example {
  const char* key;
  const char* last_round_key;
  const char* ciphertext;
};

// FIPS 197, appendix C; the last round keys are those of its traces (k_sch of the last round).
constexpr Example examples[] = {
    {"000102030405060708090a0b0c0d0e0f", "13111d7fe3944a17f307a78b4d2b30c5",
     "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"000102030405060708090a0b0c0d0e0f1011121314151617", "a4970a331a78dc09c418c271e3a41d5d",
     "dda97ca4864cdfe06eaf70a0ec0d7191"},
    {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "24fc79ccbf0979e9371ac23c6d68de36", "8ea2b7ca516745bfeafc49904b496089"},
};

TEST(Aes, EncryptsTheStandardsExamples) {
  for (const Example& example : examples) {
    RoundKeys keys;
    expand_key(from_hex(example.key), keys);
    EXPECT_EQ(to_hex({keys.key[keys.rounds].bytes, block_bytes}), example.last_round_key);
    Block block;
    const auto plaintext = from_hex("00112233445566778899aabbccddeeff");
    std::memcpy(block.bytes, plaintext.data(), block_bytes);
    aes_compute::encrypt_block(keys, block);
    EXPECT_EQ(to_hex({block.bytes, block_bytes}), example.ciphertext);
  }
}

TEST(Aes, ExpandsTheStandardsKeys) {
  // FIPS 197, appendix A: the last word of each schedule.
  const struct {
    const char* key;
    const char* last_word;
  } schedules[] = {
      {"2b7e151628aed2a6abf7158809cf4f3c", "b6630ca6"},
      {"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "01002202"},
      {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", "706c631e"},
  };
  for (const auto& schedule : schedules) {
    RoundKeys keys;
    expand_key(from_hex(schedule.key), keys);
    EXPECT_EQ(to_hex({keys.key[keys.rounds].bytes + 12, 4}), schedule.last_word);
  }
}

}  // namespace
}  // namespace paes
