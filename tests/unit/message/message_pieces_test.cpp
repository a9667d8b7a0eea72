// SPDX-License-Identifier: Apache-2.0
// One message in pieces over an executor: the same bytes for every schedule, thread count and
// piece, and parts of a hash that join in any grouping.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/schedule/schedule.hpp"
#include "kernel_cases.hpp"
#include "message/gcm_message.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::reference_seal;
using test::Sealed;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class Pieces : public KernelCase {};

TEST_P(Pieces, EveryScheduleAndPieceGivesTheSameBytes) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer iv = varied_bytes(12, 1);
  const Buffer aad = varied_bytes(29, 2);
  const Buffer key_bytes = varied_bytes(32, 3);
  const GcmKey key(key_bytes, kernel());
  const std::size_t flight = std::size_t{kernel().lanes} * block_bytes;
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{17},
                                   flight + 15, 3 * flight, std::size_t{50001}}) {
    const Buffer text = varied_bytes(length, 4);
    const Sealed expected = reference_seal(key_bytes, iv, aad, text);
    for (const Schedule schedule : named_schedules()) {
      for (const unsigned threads : {1U, 2U, 3U}) {
        const auto executor = make_executor(schedule, threads);
        for (const std::size_t piece :
             {std::size_t{1}, std::size_t{16}, std::size_t{100}, flight - 1, flight + 16,
              std::size_t{4096}, std::size_t{16384}, std::size_t{1048576}}) {
          if (length / std::max<std::size_t>(piece, 16) > 1000) {
            continue;  // thousands of one-block pieces take long and add nothing
          }
          SCOPED_TRACE(std::to_string(length) + " bytes, piece " + std::to_string(piece) + ", " +
                       std::to_string(threads) + " threads");
          Buffer out(length);
          Buffer tag(16);
          key.seal(iv, aad, text, out, tag, *executor, piece);
          ASSERT_TRUE(out == expected.ciphertext);
          ASSERT_TRUE(tag == expected.tag);
          ASSERT_TRUE(key.open(iv, aad, out, out, tag, *executor, piece));  // in place
          ASSERT_TRUE(out == text);
          tag[0] ^= 1;
          ASSERT_FALSE(key.open(iv, aad, expected.ciphertext, out, tag, *executor, piece));
          ASSERT_TRUE(std::all_of(out.begin(), out.end(), [](auto byte) { return byte == 0; }));
        }
      }
    }
  }
}

PAES_FOR_ALL_KERNELS(Pieces);

GhashPart hash_of(const HashSubkey& h, const Buffer& data, std::size_t first, std::size_t blocks) {
  GhashPart part{{}, blocks};
  ghash_update(h, part.value, data.data() + first * block_bytes, blocks);
  return part;
}

bool is_same(const GhashPart& a, const GhashPart& b) {
  return a.blocks == b.blocks && std::memcmp(a.value.bytes, b.value.bytes, block_bytes) == 0;
}

TEST(GhashPart, CombinesInAnyGrouping) {
  constexpr std::size_t blocks = 40;
  const Buffer data = varied_bytes(blocks * block_bytes, 5);
  HashSubkey h;
  std::memcpy(h.bytes, varied_bytes(block_bytes, 6).data(), block_bytes);
  const GhashPart whole = hash_of(h, data, 0, blocks);
  for (std::size_t i = 0; i <= blocks; ++i) {
    for (std::size_t j = i; j <= blocks; ++j) {
      const GhashPart a = hash_of(h, data, 0, i);
      const GhashPart b = hash_of(h, data, i, j - i);
      const GhashPart c = hash_of(h, data, j, blocks - j);
      ASSERT_TRUE(is_same(combine(h, combine(h, a, b), c), whole));
      ASSERT_TRUE(is_same(combine(h, a, combine(h, b, c)), whole));
    }
  }
  EXPECT_TRUE(is_same(combine(h, GhashPart{}, whole), whole));
  EXPECT_TRUE(is_same(combine(h, whole, GhashPart{}), whole));
}

TEST(GhashPart, OrderMatters) {
  const Buffer data = varied_bytes(3 * block_bytes, 7);
  HashSubkey h;
  std::memcpy(h.bytes, varied_bytes(block_bytes, 8).data(), block_bytes);
  const GhashPart a = hash_of(h, data, 0, 1);
  const GhashPart b = hash_of(h, data, 1, 2);
  EXPECT_FALSE(is_same(combine(h, a, b), combine(h, b, a)));
}

}  // namespace
}  // namespace paes
