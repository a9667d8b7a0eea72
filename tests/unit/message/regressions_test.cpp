// SPDX-License-Identifier: Apache-2.0
// Bugs that other libraries shipped, each as a test that would have caught it, for every kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "cipher/mode/gcm_blocks.hpp"
#include "kernel_cases.hpp"
#include "message/gcm.hpp"
#include "paes/error.hpp"
#include "reference.hpp"
#include "sanitized.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::reference_seal;
using test::Sealed;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class Regressions : public KernelCase {};

// OpenSSL 32873: a wide CTR that was wrong only for AES-192 and AES-256 and only when four blocks
// were left over.
TEST_P(Regressions, EveryRemainderForEveryKeyLength) {
  PAES_SKIP_IF_UNAVAILABLE();
  const std::size_t lanes = kernel().lanes;
  const Buffer iv = varied_bytes(12, 1);
  const Buffer text = varied_bytes(4 * lanes * block_bytes + 64 * block_bytes, 2);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key_bytes = varied_bytes(key_length, 3);
    const GcmKey key(key_bytes, kernel());
    for (std::size_t blocks = 0; blocks * block_bytes <= text.size(); ++blocks) {
      const Bytes plaintext(text.data(), blocks * block_bytes);
      const Sealed expected = reference_seal(key_bytes, iv, {}, plaintext);
      Buffer out(plaintext.size());
      Buffer tag(16);
      key.seal(iv, {}, plaintext, out, tag);
      ASSERT_TRUE(out == expected.ciphertext && tag == expected.tag)
          << key_length << " bytes of key, " << blocks << " blocks";
    }
  }
}

// OpenSSL PR 31633: a tail that was encrypted but not hashed. Every bit of ciphertext, AAD, IV and
// tag must matter; and (CVE-2023-42811) no plaintext stays behind when it does.
TEST_P(Regressions, EveryBitIsAuthenticated) {
  PAES_SKIP_IF_UNAVAILABLE();
  const std::size_t length = std::size_t{std::min(kernel().lanes, 16U)} * block_bytes + 16 + 5;
  const Buffer key_bytes = varied_bytes(32, 4);
  const GcmKey key(key_bytes, kernel());
  const Buffer text = varied_bytes(length, 5);
  Buffer parts[4] = {varied_bytes(12, 6), varied_bytes(21, 7), Buffer(length), Buffer(16)};
  auto& [iv, aad, ciphertext, tag] = parts;
  key.seal(iv, aad, text, ciphertext, tag);
  Buffer out(length);
  for (Buffer& part : parts) {
    for (std::size_t bit = 0; bit < 8 * part.size(); ++bit) {
      const auto flip = static_cast<std::uint8_t>(1U << (bit % 8));
      part[bit / 8] ^= flip;
      ASSERT_FALSE(key.verify(iv, aad, ciphertext, tag));
      std::fill(out.begin(), out.end(), std::uint8_t{0xaa});
      ASSERT_FALSE(key.open(iv, aad, ciphertext, out, tag));
      ASSERT_TRUE(std::all_of(out.begin(), out.end(), [](auto byte) { return byte == 0; }));
      part[bit / 8] ^= flip;
    }
  }
  EXPECT_TRUE(key.open(iv, aad, ciphertext, out, tag));
  EXPECT_EQ(out, text);
}

// BoringSSL: a wide path that was handed another kernel's key layout gave wrong bytes with a tag
// that still verified. Two kernels take turns here, on keys of different lengths.
TEST_P(Regressions, KeysOfOtherKernelsDoNotMix) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer iv = varied_bytes(12, 8);
  const Buffer text = varied_bytes(5000, 9);
  const Buffer short_key = varied_bytes(16, 10);
  const Buffer long_key = varied_bytes(32, 11);
  for (const Kernel* other : tested_kernels()) {
    if (!unavailable_reason(*other).empty()) {
      continue;
    }
    const GcmKey mine(short_key, kernel());
    const GcmKey theirs(long_key, *other);
    const GcmKey mine_too(long_key, kernel());
    Buffer out(text.size());
    Buffer other_out(text.size());
    Buffer tag(16);
    mine_too.seal(iv, {}, text, out, tag);
    EXPECT_TRUE(theirs.open(iv, {}, out, other_out, tag)) << other->name;
    EXPECT_TRUE(other_out == text) << other->name;
    EXPECT_FALSE(mine.open(iv, {}, out, other_out, tag)) << other->name;
    theirs.seal(iv, {}, text, other_out, tag);
    EXPECT_TRUE(other_out == out) << other->name;
  }
}

// CVE-2026-45445: a one-shot call that ignored the IV. Tarsnap 2011: a nonce that stood still.
TEST_P(Regressions, TheIvMatters) {
  PAES_SKIP_IF_UNAVAILABLE();
  const GcmKey key(varied_bytes(16, 12), kernel());
  const Buffer text(100);
  Buffer iv = varied_bytes(12, 13);
  Buffer first(text.size());
  Buffer second(text.size());
  Buffer tag(16);
  key.seal(iv, {}, text, first, tag);
  iv[11] ^= 1;
  EXPECT_FALSE(key.verify(iv, {}, first, tag));
  key.seal(iv, {}, text, second, tag);
  for (std::size_t at = 0; at + 16 <= text.size(); at += 16) {
    EXPECT_FALSE(std::equal(first.begin() + static_cast<int>(at),
                            first.begin() + static_cast<int>(at) + 16,
                            second.begin() + static_cast<int>(at)));
  }
}

// CVE-2025-15469: data beyond 16 MiB silently left out, success reported.
TEST_P(Regressions, NothingIsCutAt16MiB) {
  PAES_SKIP_IF_UNAVAILABLE();
  if (test::is_sanitized && std::string_view(kernel().name) == "compute") {
    GTEST_SKIP() << "not run: 16 MiB of compute take ten seconds under a sanitizer";
  }
  constexpr std::size_t length = (std::size_t{1} << 24) + 16 + 1;
  const Buffer key_bytes = varied_bytes(16, 14);
  const GcmKey key(key_bytes, kernel());
  const Buffer iv = varied_bytes(12, 15);
  Buffer text(length);
  text.back() = 1;
  const Sealed expected = reference_seal(key_bytes, iv, {}, text);
  Buffer tag(16);
  key.seal(iv, {}, text, text, tag);
  EXPECT_TRUE(text == expected.ciphertext);
  EXPECT_EQ(tag, expected.tag);
}

PAES_FOR_ALL_KERNELS(Regressions);

// Lengths in bits pass 2^32 at 512 MiB, and 2^39 - 256 is the limit.
TEST(GcmLengths, SurviveFourGibibits) {
  const Block block = gcm::length_block(std::uint64_t{1} << 29, gcm::max_plaintext_bytes);
  EXPECT_EQ(load_be64(block.bytes), std::uint64_t{1} << 32);
  EXPECT_EQ(load_be64(block.bytes + 8), (std::uint64_t{1} << 39) - 256);
}

TEST(GcmKeys, OtherLengthsAreRefused) {
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{15}, std::size_t{17}, std::size_t{33}, std::size_t{64}}) {
    try {
      const GcmKey key(Buffer(length), best_kernel(Cipher::aes));
      FAIL() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::usage);
    }
  }
}

}  // namespace
}  // namespace paes
