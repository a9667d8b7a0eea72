// SPDX-License-Identifier: Apache-2.0
// Placement without MPI: every piece has one owner, for up to a thousand ranks.
#include "mpi/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "format/cobblestone.hpp"
#include "stream/container/container_file.hpp"

namespace paes::mpi {
namespace {

constexpr std::uint64_t most = UINT64_MAX;

TEST(Placement, EveryThingHasOneOwnerInTheOrderOfTheRanks) {
  for (unsigned ranks = 1; ranks <= 1000; ++ranks) {
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{ranks} - 1,
          std::uint64_t{ranks}, std::uint64_t{ranks} + 1, std::uint64_t{1000003},
          cobblestone::max_chunks, most - 1, most}) {
      std::uint64_t end = 0;
      std::uint64_t least = most;
      std::uint64_t largest = 0;
      for (unsigned rank = 0; rank < ranks; ++rank) {
        const Range range = share_of(count, ranks, rank);
        ASSERT_EQ(range.first, end) << count << " over " << ranks << ", rank " << rank;
        ASSERT_GE(range.end, range.first);
        end = range.end;
        least = std::min(least, range.count());
        largest = std::max(largest, range.count());
      }
      ASSERT_EQ(end, count) << ranks;
      ASSERT_LE(largest - least, 1U) << count << " over " << ranks;
    }
  }
}

TEST(Placement, OnlyWholeGroupsChangeHands) {
  for (const unsigned ranks : {1U, 2U, 3U, 5U, 8U, 64U, 999U, 1000U}) {
    for (const std::uint64_t group :
         {std::uint64_t{1}, stream::stripe_chunks, std::uint64_t{least_share_bytes}}) {
      for (const std::uint64_t count :
           {std::uint64_t{0}, std::uint64_t{1}, group - 1, group, group + 1, 7 * group + 3,
            1000 * group, 2000 * group + 1, cobblestone::max_chunks, most}) {
        std::uint64_t end = 0;
        for (unsigned rank = 0; rank < ranks; ++rank) {
          const Range range = share_of_groups(count, group, ranks, rank);
          ASSERT_EQ(range.first, end) << count << " by " << group << " over " << ranks;
          ASSERT_TRUE(range.first % group == 0 || range.is_empty());
          ASSERT_TRUE(range.end % group == 0 || range.end == count);
          end = range.end;
        }
        ASSERT_EQ(end, count) << ranks << " ranks, groups of " << group;
      }
    }
  }
}

TEST(Placement, SharesAreNearlyEqual) {
  EXPECT_EQ(share_of(10, 3, 0), (Range{0, 4}));
  EXPECT_EQ(share_of(10, 3, 1), (Range{4, 7}));
  EXPECT_EQ(share_of(10, 3, 2), (Range{7, 10}));
  EXPECT_EQ(share_of_groups(1000, 256, 3, 0), (Range{0, 512}));
  EXPECT_EQ(share_of_groups(1000, 256, 3, 2), (Range{768, 1000}));
  EXPECT_TRUE(share_of_groups(256, 256, 2, 1).is_empty());
}

// What makes it safe that ranks write one file without asking each other.
TEST(Placement, NoTwoRanksShareAPageOfTheContainer) {
  constexpr std::uint64_t page_bytes = 4096;
  EXPECT_EQ(stream::stripe_chunks * cobblestone::chunk_text_bytes, least_share_bytes);
  EXPECT_EQ(stream::stripe_chunks * cobblestone::chunk_bytes % page_bytes, 0U);
  EXPECT_EQ(least_share_bytes % page_bytes, 0U);
}

}  // namespace
}  // namespace paes::mpi
