// SPDX-License-Identifier: Apache-2.0
// Every kernel's single operations against libcrypto's AES and the portable GHASH: positions far
// into a message, pieces in any order, hashes in parts. What `message` builds on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cipher/ghash.hpp"
#include "guarded_buffer.hpp"
#include "kernel_cases.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::Guard;
using test::GuardedBuffer;
using test::PreparedKeys;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

template <typename AnyBlock>
AnyBlock block_of(const Buffer& bytes) {
  AnyBlock block;
  std::memcpy(block.bytes, bytes.data(), block_bytes);
  return block;
}

Buffer expected_gctr(Bytes key, const CounterBlock& counter, Bytes in) {
  Buffer counters(in.size());
  for (std::size_t at = 0; at < in.size(); at += block_bytes) {
    CounterBlock block = counter;
    // Written out here, so that an error in gcm::add_counter would show.
    const std::uint64_t sum = load_be32(counter.bytes + 12) + at / block_bytes;
    for (unsigned i = 0; i < 4; ++i) {
      block.bytes[15 - i] = static_cast<std::uint8_t>(sum >> (8 * i));
    }
    std::memcpy(counters.data() + at, block.bytes, block_bytes);
  }
  Buffer out = test::reference_ecb(key, counters);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(out[i] ^ in[i]);
  }
  return out;
}

HashSubkey hash_key(Bytes key) {
  return block_of<HashSubkey>(test::reference_ecb(key, Buffer(block_bytes)));
}

class Operations : public KernelCase {
 protected:
  static std::size_t many_blocks() { return 4 * std::size_t{kernel().lanes} + 7; }
};

TEST_P(Operations, CounterModeAtAnyPosition) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer text = varied_bytes(many_blocks() * block_bytes, 1);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 2);
    const PreparedKeys keys(kernel(), key);
    // 2^28 blocks are 4 GiB, 2^32 blocks wrap the counter.
    for (const std::uint32_t count :
         {0x3e4U, 0U, 1U, 255U, (1U << 28) - 3, (1U << 31) - 1, 0U - 5}) {
      auto counter = block_of<CounterBlock>(varied_bytes(block_bytes, 3));
      store_be32(counter.bytes + 12, load_be32(counter.bytes + 12) + count);
      for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
        const Bytes in(text.data(), blocks * block_bytes);
        Buffer out(in.size());
        kernel().run(Operation::ctr)(
            *keys, {.text = {in.data(), out.data(), in.size()}, .counter = &counter});
        ASSERT_TRUE(out == expected_gctr(key, counter, in))
            << key_length << " bytes of key, " << blocks << " blocks from " << count << " on";
      }
    }
  }
}

// A kernel may take a shorter way where the counter is public and lies well; it must know when the
// carry leaves the last byte, and when the count wraps.
TEST_P(Operations, PublicCountersAcrossCarries) {
  PAES_SKIP_IF_UNAVAILABLE();
  constexpr std::size_t most_blocks = 600;  // two carries out of the last byte
  const Buffer text = varied_bytes(most_blocks * block_bytes, 10);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 11);
    const PreparedKeys keys(kernel(), key);
    for (const std::uint32_t count : {0U, 1U, 2U, 3U, 18U, 34U, 226U, 242U, 250U, 0xfffffee2U,
                                      0xffffff02U, 0xffffffe2U, 0xfffffff2U}) {
      auto counter = block_of<CounterBlock>(varied_bytes(block_bytes, 12));
      store_be32(counter.bytes + 12, count);
      for (const std::size_t blocks :
           {std::size_t{1}, std::size_t{kernel().lanes}, std::size_t{kernel().lanes} + 1,
            std::size_t{254}, std::size_t{258}, most_blocks}) {
        const Bytes in(text.data(), blocks * block_bytes);
        Buffer out(in.size());
        kernel().run(Operation::ctr)(*keys, {.text = {in.data(), out.data(), in.size()},
                                             .counter = &counter,
                                             .is_counter_public = true});
        ASSERT_TRUE(out == expected_gctr(key, counter, in))
            << key_length << " bytes of key, " << blocks << " blocks from count " << count;
      }
    }
  }
}

TEST_P(Operations, HashesAndGoesOn) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer key = varied_bytes(16, 4);
  const PreparedKeys keys(kernel(), key);
  const HashSubkey h = hash_key(key);
  const Buffer text = varied_bytes(2 * many_blocks() * block_bytes, 5);
  for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
    auto value = block_of<HashValue>(varied_bytes(block_bytes, blocks));
    HashValue expected = value;
    const std::size_t bytes = blocks * block_bytes;
    kernel().gcm.hash(*keys, text.data(), bytes, value);
    kernel().gcm.hash(*keys, text.data() + bytes, bytes, value);
    ghash_update(h, expected, text.data(), 2 * blocks);
    ASSERT_EQ(std::memcmp(value.bytes, expected.bytes, block_bytes), 0) << blocks;
  }
}

// The fused operations are gctr and ghash of the ciphertext, in place or not, with nothing touched
// beyond the piece.
TEST_P(Operations, FusedPiecesAreTheirParts) {
  PAES_SKIP_IF_UNAVAILABLE();
  const std::size_t longest = many_blocks() * block_bytes;
  const Buffer text = varied_bytes(longest, 6);
  const GuardedBuffer in(longest);
  const GuardedBuffer out(longest);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 7);
    const PreparedKeys keys(kernel(), key);
    const HashSubkey h = hash_key(key);
    const auto counter = block_of<CounterBlock>(varied_bytes(block_bytes, 8));
    const auto before = block_of<HashValue>(varied_bytes(block_bytes, 9));
    for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
      const Bytes plaintext(text.data(), blocks * block_bytes);
      const Buffer ciphertext = expected_gctr(key, counter, plaintext);
      HashValue hash = before;
      ghash_update(h, hash, ciphertext.data(), blocks);
      for (const Guard side : {Guard::before, Guard::behind}) {
        for (const bool in_place : {false, true}) {
          const MutableBytes from = in.filled(plaintext, side);
          const MutableBytes to = in_place ? from : out.view(from.size(), side);
          const GcmPiece piece{{from.data(), to.data(), from.size()}, &counter};
          HashValue value = before;
          kernel().gcm.encrypt(*keys, piece, value);
          ASSERT_TRUE(std::equal(to.begin(), to.end(), ciphertext.begin())) << blocks;
          ASSERT_EQ(std::memcmp(value.bytes, hash.bytes, block_bytes), 0) << blocks;

          in.filled(ciphertext, side);
          value = before;
          kernel().gcm.decrypt(*keys, piece, value);
          ASSERT_TRUE(std::equal(to.begin(), to.end(), plaintext.begin())) << blocks;
          ASSERT_EQ(std::memcmp(value.bytes, hash.bytes, block_bytes), 0) << blocks;
        }
      }
    }
  }
}

PAES_FOR_ALL_KERNELS(Operations);

}  // namespace
}  // namespace paes
