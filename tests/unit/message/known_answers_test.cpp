// SPDX-License-Identifier: Apache-2.0
// Published GCM examples on every kernel: McGrew and Viega, "The Galois/Counter Mode of Operation
// (GCM)", appendix B, which take IVs of 8, 12 and 60 bytes and all three key lengths.
#include <gtest/gtest.h>

#include "hex.hpp"
#include "kernel/registry.hpp"
#include "kernel_cases.hpp"
#include "message/gcm.hpp"

namespace paes {
namespace {

using test::from_hex;
using test::to_hex;

struct Example {
  const char* name;
  const char* key;
  const char* iv;
  const char* aad;
  const char* plaintext;
  const char* ciphertext;
  const char* tag;
};

constexpr const char* text_60 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25"
    "b16aedf5aa0de657ba637b39";
constexpr const char* aad_20 = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
constexpr const char* iv_60 =
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b52"
    "54"
    "16aedbf5a0de6a57a637b39b";

constexpr Example examples[] = {
    {"case 1", "00000000000000000000000000000000", "000000000000000000000000", "", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"case 2", "00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {"case 4", "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", aad_20, text_60,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84a"
     "a"
     "051ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {"case 5", "feffe9928665731c6d6a8f9467308308", "cafebabefacedbad", aad_20, text_60,
     "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896"
     "b"
     "424989b5e1ebac0f07c23f4598",
     "3612d2e79e3b0785561be14aaca2fccb"},
    {"case 6", "feffe9928665731c6d6a8f9467308308", iv_60, aad_20, text_60,
     "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca701e4a9a4fba43c90ccdcb281d48c7"
     "c"
     "6fd62875d2aca417034c34aee5",
     "619cc5aefffe0bfa462af43c1699d050"},
    {"case 10", "feffe9928665731c6d6a8f9467308308feffe9928665731c", "cafebabefacedbaddecaf888",
     aad_20, text_60,
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3"
     "f"
     "4718e2448b2fe324d9ccda2710",
     "2519498e80f1478f37ba55bd6d27618c"},
    {"case 16", "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888", aad_20, text_60,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828"
     "838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {"case 18", "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", iv_60, aad_20,
     text_60,
     "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf40fc0c3b780f244452da3ebf1c5d82"
     "c"
     "dea2418997200ef82e44ae7e3f",
     "a44a8266ee1c8eb0c8b5d4cf5ae9f19a"},
};

class GcmKnownAnswers : public KernelCase {};

TEST_P(GcmKnownAnswers, SealOpenVerify) {
  PAES_SKIP_IF_UNAVAILABLE();
  for (const Example& example : examples) {
    SCOPED_TRACE(example.name);
    const auto iv = from_hex(example.iv);
    const auto aad = from_hex(example.aad);
    const auto plaintext = from_hex(example.plaintext);
    const GcmKey key(from_hex(example.key), kernel());

    std::vector<std::uint8_t> out(plaintext.size());
    std::vector<std::uint8_t> tag(16);
    key.seal(iv, aad, plaintext, out, tag);
    EXPECT_EQ(to_hex(out), example.ciphertext);
    EXPECT_EQ(to_hex(tag), example.tag);

    const auto ciphertext = from_hex(example.ciphertext);
    EXPECT_TRUE(key.verify(iv, aad, ciphertext, tag));
    EXPECT_TRUE(key.open(iv, aad, ciphertext, out, tag));
    EXPECT_EQ(out, plaintext);
    tag[15] ^= 1;
    EXPECT_FALSE(key.verify(iv, aad, ciphertext, tag));
    EXPECT_FALSE(key.open(iv, aad, ciphertext, out, tag));
    EXPECT_EQ(out, std::vector<std::uint8_t>(plaintext.size(), 0));
  }
}

PAES_FOR_ALL_KERNELS(GcmKnownAnswers);

}  // namespace
}  // namespace paes
