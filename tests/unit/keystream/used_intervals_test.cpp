// SPDX-License-Identifier: Apache-2.0
// The record of used intervals against a plain list of bytes, and within its budget.
#include "keystream/used_intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace paes::keystream {
namespace {

using Claim = UsedIntervals::Claim;

TEST(UsedIntervals, AnswersAsAListOfBytesDoes) {
  constexpr std::size_t space = 3000;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Budget budget(1 << 20);
    UsedIntervals used(budget);
    std::vector<bool> bytes(space, false);
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t first = random() % space;
      const std::size_t end = std::min<std::size_t>(space, first + 1 + random() % (1 + seed * 3));
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = bytes.begin() + static_cast<std::ptrdiff_t>(end);
      const bool is_free = std::find(from, to, true) == to;
      if (random() % 8 == 0) {
        ASSERT_EQ(used.add(first, end), Claim::granted);
        std::fill(from, to, true);
      } else {
        ASSERT_EQ(used.claim(first, end), is_free ? Claim::granted : Claim::used) << seed;
        if (is_free) {
          std::fill(from, to, true);
        }
      }
      std::size_t runs = 0;
      for (std::size_t at = 0; at < space; ++at) {
        runs += bytes[at] && (at == 0 || !bytes[at - 1]) ? 1U : 0U;
      }
      ASSERT_EQ(used.count(), runs) << "intervals that touch are one";
    }
  }
}

TEST(UsedIntervals, TakesOnePlaceForAWholeFileInEitherDirection) {
  Budget budget(UsedIntervals::interval_bytes * UsedIntervals::reserved_at_once);
  UsedIntervals used(budget);
  constexpr std::uint64_t middle = std::uint64_t{1} << 63;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(used.claim(middle + i * 4096, middle + (i + 1) * 4096), Claim::granted);
    ASSERT_EQ(used.claim(middle - (i + 1) * 4096, middle - i * 4096), Claim::granted);
  }
  EXPECT_EQ(used.count(), 1U);
  EXPECT_EQ(used.claim(middle, middle + 1), Claim::used);
}

TEST(UsedIntervals, ReachesTheEndsOfAllOffsets) {
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  Budget budget(1 << 20);
  UsedIntervals used(budget);
  EXPECT_EQ(used.claim(last - 10, last), Claim::granted);
  EXPECT_EQ(used.claim(last - 1, last), Claim::used);
  EXPECT_EQ(used.claim(last - 20, last - 10), Claim::granted);
  EXPECT_EQ(used.claim(0, last - 20), Claim::granted);
  EXPECT_EQ(used.count(), 1U);
  EXPECT_EQ(used.claim(0, 1), Claim::used);
}

TEST(UsedIntervals, RefusesBeyondItsBudgetAndGivesItBack) {
  Budget budget(2 * UsedIntervals::interval_bytes * UsedIntervals::reserved_at_once);
  {
    UsedIntervals used(budget);
    std::uint64_t granted = 0;
    while (used.claim(granted * 10, granted * 10 + 1) == Claim::granted) {
      ++granted;
    }
    EXPECT_EQ(granted, 2 * UsedIntervals::reserved_at_once);
    EXPECT_EQ(used.claim(granted * 10, granted * 10 + 1), Claim::no_room);
    EXPECT_EQ(used.claim(1, 2), Claim::granted) << "growing takes no room";
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

}  // namespace
}  // namespace paes::keystream
