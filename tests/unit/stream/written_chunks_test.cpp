// SPDX-License-Identifier: Apache-2.0
// No chunk is claimed twice, in whatever order they come; compared with a plain set.
#include "stream/container/written_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace paes::stream {
namespace {

// The rules in their plainest form.
class Plain {
 public:
  bool claim(Range chunks, bool with_last) {
    for (std::uint64_t i = chunks.first; i < chunks.end; ++i) {
      if (all_.count(i) != 0 || (has_last_ && i > *all_.rbegin())) {
        return false;
      }
    }
    if (with_last && (has_last_ || (!all_.empty() && *all_.rbegin() >= chunks.end))) {
      return false;
    }
    for (std::uint64_t i = chunks.first; i < chunks.end; ++i) {
      all_.insert(i);
    }
    has_last_ = has_last_ || with_last;
    return true;
  }
  [[nodiscard]] bool has_last() const { return has_last_; }
  [[nodiscard]] std::optional<std::uint64_t> count() const {
    const std::uint64_t size = all_.size();
    return all_.empty() || *all_.rbegin() + 1 == size ? std::optional(size) : std::nullopt;
  }

 private:
  std::set<std::uint64_t> all_;
  bool has_last_ = false;
};

TEST(WrittenChunks, AgreeWithASet) {
  std::mt19937_64 generator(5);
  for (int round = 0; round < 2000; ++round) {
    WrittenChunks written;
    Plain plain;
    for (int step = 0; step < 24; ++step) {
      const std::uint64_t first = generator() % 20;
      const Range chunks{first, first + 1 + generator() % 4};
      const bool with_last = generator() % 12 == 0;
      ASSERT_EQ(written.claim(chunks, with_last), plain.claim(chunks, with_last))
          << "round " << round << " step " << step;
      ASSERT_EQ(written.count(), plain.count());
      ASSERT_EQ(written.has_last(), plain.has_last());
    }
  }
}

TEST(WrittenChunks, KnowTheHighestNumbers) {
  constexpr std::uint64_t high = std::uint64_t{1} << 38;
  WrittenChunks written;
  EXPECT_TRUE(written.claim({high - 1, high}, true));
  EXPECT_FALSE(written.claim({high, high + 1}, false));
  EXPECT_FALSE(written.claim({high - 1, high}, true));
  EXPECT_EQ(written.count(), std::nullopt);
  EXPECT_TRUE(written.claim({0, high - 1}, false));
  EXPECT_EQ(written.count(), high);
}

TEST(WrittenChunks, AllInRandomOrderAreAllOnce) {
  std::vector<std::uint64_t> order(500);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  WrittenChunks written;
  for (const std::uint64_t chunk : order) {
    EXPECT_TRUE(written.claim({chunk, chunk + 1}, chunk + 1 == order.size()));
  }
  EXPECT_EQ(written.count(), order.size());
  for (const std::uint64_t chunk : order) {
    EXPECT_FALSE(written.claim({chunk, chunk + 1}, false));
  }
}

}  // namespace
}  // namespace paes::stream
