// SPDX-License-Identifier: Apache-2.0
// What a log of damage keeps: neighbours joined in whatever order they come, the first hundred
// ranges, the right sum, and bounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "stream/container/damage.hpp"

namespace paes::stream {
namespace {

// The plain way, with a place for each chunk.
Damage expected(const std::vector<bool>& damaged) {
  Damage all;
  for (std::uint64_t chunk = 0; chunk < damaged.size(); ++chunk) {
    if (!damaged[chunk]) {
      continue;
    }
    if (!all.ranges.empty() && all.ranges.back().end == chunk) {
      ++all.ranges.back().end;
    } else if (all.ranges.size() == Damage::max_ranges) {
      ++all.more_chunks;
    } else {
      all.ranges.push_back({chunk, chunk + 1});
    }
  }
  return all;
}

TEST(DamageLog, NothingIsNothing) {
  EXPECT_TRUE(DamageLog().found().is_empty());
  EXPECT_EQ(DamageLog().found().chunks(), 0U);
}

TEST(DamageLog, AnyOrderGivesTheSame) {
  std::mt19937 random(1);
  for (const unsigned percent : {1U, 10U, 50U, 90U, 100U}) {
    std::vector<bool> damaged(1500);
    std::vector<Range> single;
    for (std::uint64_t chunk = 0; chunk < damaged.size(); ++chunk) {
      damaged[chunk] = random() % 100 < percent;
      if (damaged[chunk]) {
        single.push_back({chunk, chunk + 1});
      }
    }
    std::shuffle(single.begin(), single.end(), random);
    DamageLog log;
    for (const Range& one : single) {
      log.add(one);
    }
    const Damage found = log.found();
    const Damage wanted = expected(damaged);
    EXPECT_EQ(found.ranges, wanted.ranges) << percent;
    EXPECT_EQ(found.chunks(), wanted.chunks()) << percent;
  }
}

// Threads that each have a part of a file, every other chunk of which is damaged, one after the
// other: many more ranges than are kept.
TEST(DamageLog, TheFirstRangesAreKeptAndAllChunksCounted) {
  constexpr std::uint64_t chunks = 400000;
  for (const std::uint64_t parts : {1U, 2U, 7U}) {
    DamageLog log;
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < chunks / parts; at += 2) {
      for (std::uint64_t part = 0; part < parts; ++part) {
        const std::uint64_t first = (parts - 1 - part) * (chunks / parts) / 2 * 2 + at;
        log.add(Range{first, first + 1});
        ++sum;
      }
    }
    const Damage found = log.found();
    EXPECT_EQ(found.chunks(), sum);
    ASSERT_EQ(found.ranges.size(), Damage::max_ranges);
    for (std::uint64_t i = 0; i < Damage::max_ranges; ++i) {
      EXPECT_EQ(found.ranges[i], (Range{2 * i, 2 * i + 1}));
    }
  }
}

TEST(DamageLog, LogsOfSharesAreTheLogOfTheWhole) {
  std::vector<bool> damaged(5000);
  for (std::uint64_t chunk = 0; chunk < damaged.size(); ++chunk) {
    damaged[chunk] = chunk % 7 == 3 || (chunk > 900 && chunk < 1100);  // across the first border
  }
  DamageLog whole;
  for (const std::uint64_t share : {0U, 1U, 2U, 3U, 4U}) {
    DamageLog log;
    for (std::uint64_t chunk = share * 1000; chunk < (share + 1) * 1000; ++chunk) {
      if (damaged[chunk]) {
        log.add(Range{chunk, chunk + 1});
      }
    }
    whole.add(log.found());
  }
  EXPECT_EQ(whole.found().chunks(), expected(damaged).chunks());
  EXPECT_EQ(whole.found().ranges.front(), (Range{3, 4}));
}

}  // namespace
}  // namespace paes::stream
