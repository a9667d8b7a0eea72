// SPDX-License-Identifier: Apache-2.0
// What can be known of rings without a mount. tests/program runs mounts with them and without.
#include "paes-mount/request_ring.hpp"

#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "paes-mount/init_flags.hpp"
#include "paes-mount/ring_queues.hpp"

namespace paes::mount {
namespace {

TEST(RequestRing, CountsTheProcessorsOfAList) {
  EXPECT_EQ(count_listed("0"), 1U);
  EXPECT_EQ(count_listed("0-1"), 2U);
  EXPECT_EQ(count_listed("0-127"), 128U);
  EXPECT_EQ(count_listed("0-3,8,10-11"), 7U);
}

TEST(RequestRing, CountsNothingInWhatIsNoList) {
  for (const char* text : {"", "-", "0-", "-1", "0,", ",0", "3-1", "0 1", "0-1x", "x"}) {
    EXPECT_EQ(count_listed(text), 0U) << text;
  }
}

TEST(RequestRing, EachQueueAndEachRingHasOne) {
  for (unsigned queues = 1; queues <= 9; ++queues) {
    for (unsigned rings = 1; rings <= 9; ++rings) {
      const auto shares = queues_of_rings(queues, rings);
      ASSERT_EQ(shares.size(), rings);
      std::vector<unsigned> times(queues);
      for (const auto& share : shares) {
        EXPECT_FALSE(share.empty());
        for (const std::uint16_t queue : share) {
          ++times.at(queue);
        }
      }
      const auto [least, most] = std::minmax_element(times.begin(), times.end());
      EXPECT_GE(*least, 1U);
      EXPECT_LE(*most - *least, 1U) << queues << " queues, " << rings << " rings";
    }
  }
}

struct FirstRequest {
  fuse_in_header header{};
  std::uint32_t words[16] = {7, 38, 0, 0};  // fuse_init_in
};

std::uint64_t offered(const FirstRequest& request, std::size_t bytes = sizeof(FirstRequest)) {
  return offered_flags(&request, bytes);
}

TEST(InitFlags, AreReadOnlyInTheFirstRequest) {
  FirstRequest request;
  request.header.opcode = FUSE_INIT;
  request.words[3] = 1U << 28 | 1U << 30;
  request.words[4] = 1U << 9;
  EXPECT_EQ(offered(request), RequestRing::init_flag | 1U << 28 | 1U << 30);
  EXPECT_EQ(offered(request, sizeof request.header + 16), 1U << 28 | 1U << 30);
  EXPECT_EQ(offered(request, sizeof request.header + 15), 0U);
  request.words[3] = 1U << 28;  // the second word does not count
  EXPECT_EQ(offered(request), 1U << 28);
  request.header.opcode = FUSE_LOOKUP;
  EXPECT_EQ(offered(request), 0U);
}

TEST(InitFlags, AreAddedToLibfusesAnswer) {
  fuse_out_header header{};
  std::uint32_t words[16] = {7, 38, 5, 1, 6, 7, 8, 9, 10};
  const iovec parts[] = {{&header, sizeof header}, {words, sizeof words}};
  EXPECT_TRUE(add_to_answer(parts, 2, 1U << 28));
  EXPECT_EQ(words[3], 1U << 28 | 1U);
  EXPECT_EQ(words[8], 10U);
  EXPECT_TRUE(add_to_answer(parts, 2, RequestRing::init_flag));
  EXPECT_EQ(words[3], 1U << 28 | 1U << 30 | 1U);
  EXPECT_EQ(words[8], 10U | 1U << 9);
  EXPECT_EQ(words[7], 9U);
  EXPECT_EQ(words[9], 0U);
}

TEST(InitFlags, AreNotAddedWhereThereIsNoRoom) {
  fuse_out_header header{};
  std::uint32_t words[16] = {7, 4, 5, 1};
  const iovec early[] = {{&header, sizeof header}, {words, 24}};
  EXPECT_FALSE(add_to_answer(early, 2, RequestRing::init_flag));
  EXPECT_EQ(words[3], 1U);
  EXPECT_TRUE(add_to_answer(early, 2, 2U));
  EXPECT_EQ(words[3], 3U);
  EXPECT_FALSE(add_to_answer(early, 1, 4U));
}

}  // namespace
}  // namespace paes::mount
