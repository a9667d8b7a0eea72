// SPDX-License-Identifier: Apache-2.0
// The longest message that GCM has, 2^36 - 32 bytes (SP 800-38D, section 5.2.1.1), at its end: the
// counter of the last block is 2^32 - 1, and the tag counts all bits. Its ciphertext is zero up to
// the last blocks, so that the hash of most of it is zero as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cipher/mode/gcm_blocks.hpp"
#include "kernel_cases.hpp"
#include "message/gcm_message.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;
using Field = std::array<std::uint8_t, 16>;

// SP 800-38D, section 6.3, bit by bit.
Field multiply(const Field& x, Field v) {
  Field z{};
  for (unsigned bit = 0; bit < 128; ++bit) {
    if ((x[bit / 8] >> (7 - bit % 8) & 1) != 0) {
      std::transform(z.begin(), z.end(), v.begin(), z.begin(), std::bit_xor<>());
    }
    const bool is_odd = (v[15] & 1) != 0;
    for (unsigned i = 16; i-- > 0;) {
      v[i] = static_cast<std::uint8_t>(v[i] >> 1 | (i != 0 ? v[i - 1] << 7 : 0));
    }
    v[0] ^= is_odd ? 0xe1 : 0;
  }
  return z;
}

class GcmLimit : public KernelCase {};
PAES_FOR_ALL_KERNELS(GcmLimit);

TEST_P(GcmLimit, TheLongestMessageEndsAtTheLastCounter) {
  PAES_SKIP_IF_UNAVAILABLE();
  for (const std::size_t key_bytes : {16U, 24U, 32U}) {
    const Buffer key_value = varied_bytes(key_bytes, 1);
    const Buffer iv = varied_bytes(12, 2);
    const GcmKey key(key_value, kernel());
    const GcmMessage message(key, iv, {});
    const auto block_of = [&](std::uint32_t counter) {
      Buffer block = iv;
      block.resize(16);
      store_be32(block.data() + 12, counter);
      return test::reference_ecb(key_value, block);
    };
    for (const std::size_t blocks : {1U, 2U, 3U, 17U, 64U, 130U}) {
      const std::size_t bytes = 16 * blocks;
      const std::uint64_t offset = gcm::max_plaintext_bytes - bytes;
      const Buffer text = varied_bytes(bytes, blocks);
      Buffer expected = text;
      for (std::size_t i = 0; i < blocks; ++i) {
        const Buffer keystream = block_of(static_cast<std::uint32_t>(0 - blocks + i));
        for (std::size_t j = 0; j < 16; ++j) {
          expected[16 * i + j] ^= keystream[j];
        }
      }
      Buffer sealed(bytes);
      const GhashPart last = message.encrypt(offset, text, sealed);
      EXPECT_EQ(sealed, expected) << blocks << " blocks";
      Buffer opened(bytes);
      const GhashPart again = message.decrypt(offset, sealed, opened);
      EXPECT_EQ(opened, text);

      Field h;
      const Buffer subkey = test::reference_ecb(key_value, Buffer(16));
      std::copy(subkey.begin(), subkey.end(), h.begin());
      Field hash{};
      const auto add = [&](const std::uint8_t* block) {
        std::transform(hash.begin(), hash.end(), block, hash.begin(), std::bit_xor<>());
        hash = multiply(hash, h);
      };
      for (std::size_t i = 0; i < blocks; ++i) {
        add(expected.data() + 16 * i);
      }
      Field lengths{};
      store_be64(lengths.data() + 8, 8 * gcm::max_plaintext_bytes);
      add(lengths.data());
      const Buffer mask = block_of(1);
      std::transform(hash.begin(), hash.end(), mask.begin(), hash.begin(), std::bit_xor<>());
      for (const GhashPart* part : {&last, &again}) {
        Tag tag;
        const GhashPart zeros{{}, offset / 16};
        message.tag(message.join(zeros, *part), gcm::max_plaintext_bytes, tag);
        EXPECT_TRUE(std::equal(hash.begin(), hash.end(), tag.bytes)) << blocks << " blocks";
      }
    }
  }
}

}  // namespace
}  // namespace paes
