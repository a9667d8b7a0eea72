// SPDX-License-Identifier: Apache-2.0
// Triple DES in its three forms (step by step, by tables, bit-sliced at every width) against the
// standards' examples and against the reference.
#include <gtest/gtest.h>

#include <vector>

#include "cipher/des_bitslice.hpp"
#include "cipher/des_compute.hpp"
#include "cipher/des_key.hpp"
#include "cipher/des_sbox_three_input.hpp"
#include "cipher/des_sbox_two_input.hpp"
#include "cipher/des_tables.hpp"
#include "hex.hpp"
#include "reference.hpp"
#include "sanitized.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::from_hex;
using test::to_hex;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

// One form of the cipher: `lanes` blocks at a time.
struct Form {
  const char* name;
  std::size_t lanes;
  void (*crypt)(const DesRoundKeys&, Direction, const std::uint8_t*, std::uint8_t*);
};

void compute(const DesRoundKeys& keys, Direction direction, const std::uint8_t* in,
             std::uint8_t* out) {
  const std::uint64_t block = load_be64(in);
  store_be64(out, direction == Direction::encrypt ? des_compute::encrypt(keys, block)
                                                  : des_compute::decrypt(keys, block));
}

void tables(const DesRoundKeys& round_keys, Direction direction, const std::uint8_t* in,
            std::uint8_t* out) {
  des_tables::Keys keys;
  des_tables::prepare(round_keys, keys);
  direction == Direction::encrypt ? des_tables::crypt<1>(keys, in, out)
                                  : des_tables::crypt<-1>(keys, in, out);
}

template <std::size_t Lanes, class Slice, class Sboxes>
void bitslice(const DesRoundKeys& round_keys, Direction direction, const std::uint8_t* in,
              std::uint8_t* out) {
  using Word = des_bitslice::PlainWord<Slice, Sboxes>;
  static_assert(Lanes == 8 * sizeof(Slice));
  des_bitslice::Keys keys;
  des_bitslice::prepare<Word>(round_keys, keys);
  direction == Direction::encrypt ? des_bitslice::crypt<Word, 1>(keys, in, out)
                                  : des_bitslice::crypt<Word, -1>(keys, in, out);
}

// With a sanitizer in it, the compiler takes longer for the widest than for the rest of the tests.
constexpr decltype(Form::crypt) widest() {
  if constexpr (test::is_sanitized) {
    return bitslice<64, std::uint64_t, DesThreeInputSboxes>;
  } else {
    return bitslice<512, des_bitslice::VectorOf<64>::Words, DesThreeInputSboxes>;
  }
}

const Form forms[] = {
    {"compute", 1, compute},
    {"tables", 1, tables},
    {"64 lanes", 64, bitslice<64, std::uint64_t, DesTwoInputSboxes>},
    {"256 lanes", 256, bitslice<256, des_bitslice::VectorOf<32>::Words, DesTwoInputSboxes>},
    {"three inputs", test::is_sanitized ? 64 : 512, widest()},
};

// Any number of blocks; what a form needs beyond them is filled with other bytes.
Buffer crypt(const Form& form, Bytes key, Direction direction, Bytes blocks) {
  DesRoundKeys keys;
  expand_des_key(key, keys);
  const std::size_t step = form.lanes * des_block_bytes;
  Buffer padded = varied_bytes((blocks.size() + step - 1) / step * step, 99);
  std::copy(blocks.begin(), blocks.end(), padded.begin());
  for (std::size_t at = 0; at < padded.size(); at += step) {
    form.crypt(keys, direction, padded.data() + at, padded.data() + at);
  }
  padded.resize(blocks.size());
  return padded;
}

Buffer reference(Bytes key, Direction direction, Bytes blocks) {
  return test::reference_crypt("DES-EDE3-ECB", direction == Direction::encrypt, key, {}, blocks);
}

struct Example {
  const char* key;  // one key of 8 bytes stands for three equal ones
  const char* plaintext;
  const char* ciphertext;
};

constexpr Example examples[] = {
    // SP 800-67 Rev. 1, appendix B.1.
    {"0123456789abcdef23456789abcdef01456789abcdef0123",
     "5468652071756663"
     "6b2062726f776e20"
     "666f78206a756d70",
     "a826fd8ce53b855f"
     "cce21c8112256fe6"
     "68d5c05dd9b6b900"},
    // SP 800-20, table A.1: variable plaintext.
    {"0101010101010101", "8000000000000000", "95f8a5e5dd31d900"},
    {"0101010101010101", "4000000000000000", "dd7f121ca5015619"},
    {"0101010101010101", "2000000000000000", "2e8653104f3834ea"},
    {"0101010101010101", "1000000000000000", "4bd388ff6cd81d4f"},
    {"0101010101010101", "0800000000000000", "20b9e767b2fb1456"},
    {"0101010101010101", "0400000000000000", "55579380d77138ef"},
    {"0101010101010101", "0200000000000000", "6cc5defaaf04512f"},
    {"0101010101010101", "0100000000000000", "0d9f279ba5d87260"},
    // Table A.2: variable key.
    {"8001010101010101", "0000000000000000", "95a8d72813daa94d"},
    {"4001010101010101", "0000000000000000", "0eec1487dd8c26d5"},
    {"2001010101010101", "0000000000000000", "7ad16ffb79c45926"},
    {"1001010101010101", "0000000000000000", "d3746294ca6a6cf3"},
    // Table A.4: together these use every entry of every S-box.
    {"7ca110454a1a6e57", "01a1d6d039776742", "690f5b0d9a26939b"},
    {"0131d9619dc1376e", "5cd54ca83def57da", "7a389d10354bd271"},
    {"07a1133e4a0b2686", "0248d43806f67172", "868ebb51cab4599a"},
    {"3849674c2602319e", "51454b582ddf440a", "7178876e01f19b2a"},
    {"04b915ba43feb5b6", "42fd443059577fa2", "af37fb421f8c4095"},
    {"0113b970fd34f2ce", "059b5e0851cf143a", "86a560f10ec6d85b"},
};

TEST(Des, KnownAnswers) {
  for (const Form& form : forms) {
    for (const Example& example : examples) {
      Buffer key = from_hex(example.key);
      while (key.size() < DesRoundKeys::key_bytes) {
        key.insert(key.end(), key.begin(), key.begin() + 8);
      }
      const Buffer plaintext = from_hex(example.plaintext);
      EXPECT_EQ(to_hex(crypt(form, key, Direction::encrypt, plaintext)), example.ciphertext)
          << form.name;
      EXPECT_EQ(to_hex(crypt(form, key, Direction::decrypt, from_hex(example.ciphertext))),
                example.plaintext)
          << form.name;
    }
  }
}

// Blocks that all differ, so that each lane has its own, and enough of them for every lane.
TEST(Des, EveryLaneAgreesWithTheReference) {
  for (const Form& form : forms) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Buffer key = varied_bytes(DesRoundKeys::key_bytes, seed);
      const Buffer blocks = varied_bytes(1024 * des_block_bytes, 100 + seed);
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        ASSERT_EQ(crypt(form, key, direction, blocks), reference(key, direction, blocks))
            << form.name << ", seed " << seed;
      }
    }
  }
}

TEST(Des, ParityBitsAreIgnored) {
  const Buffer key = varied_bytes(DesRoundKeys::key_bytes, 5);
  Buffer other = key;
  for (std::uint8_t& byte : other) {
    byte ^= 1;
  }
  const Buffer block = varied_bytes(des_block_bytes, 6);
  for (const Form& form : forms) {
    EXPECT_EQ(crypt(form, key, Direction::encrypt, block),
              crypt(form, other, Direction::encrypt, block))
        << form.name;
  }
}

// The round keys of the worked example that FIPS 46-3's key schedule is usually shown with: the
// first and the last, of key 133457799bbcdff1.
TEST(Des, RoundKeysInTheOrderOfUse) {
  Buffer key = from_hex("133457799bbcdff1133457799bbcdff1133457799bbcdff1");
  DesRoundKeys keys;
  expand_des_key(key, keys);
  EXPECT_EQ(keys.key[0], 0b000110110000001011101111111111000111000001110010U);
  EXPECT_EQ(keys.key[15], 0b110010110011110110001011000011100001011111110101U);
  EXPECT_EQ(keys.key[16], keys.key[15]);
  EXPECT_EQ(keys.key[31], keys.key[0]);
  EXPECT_EQ(keys.key[32], keys.key[0]);
}

}  // namespace
}  // namespace paes
