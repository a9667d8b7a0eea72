// SPDX-License-Identifier: Apache-2.0
// Affinity and quota decide how many threads 0 means.
#include "exec/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "exec/thread_pool.hpp"

namespace paes {
namespace {

class Quota : public testing::Test {
 protected:
  void set(const std::string& group, const std::string& line) const {
    std::filesystem::create_directories(root_ / group);
    std::ofstream(root_ / group / "cpu.max") << line;
  }
  [[nodiscard]] std::optional<unsigned> of(std::string_view membership) const {
    return processors_of_quota(membership, root_);
  }

  void SetUp() override {
    std::string pattern = testing::TempDir() + "quota-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_;
};

TEST_F(Quota, IsRoundedUp) {
  set("a", "100000 100000\n");
  set("b", "100001 100000\n");
  set("c", "1000 100000\n");
  set("d", "250000 50000\n");
  EXPECT_EQ(of("0::/a\n"), 1U);
  EXPECT_EQ(of("0::/b\n"), 2U);
  EXPECT_EQ(of("0::/c\n"), 1U);
  EXPECT_EQ(of("0::/d"), 5U);
}

TEST_F(Quota, OfTheGroupAndOfAllAboveTheLeastCounts) {
  set("a", "200000 100000\n");
  set("a/b", "max 100000\n");
  set("a/b/c", "700000 100000\n");
  EXPECT_EQ(of("0::/a/b/c\n"), 2U);
  EXPECT_EQ(of("0::/a/b\n"), 2U);
  set("a/b", "100000 100000\n");
  EXPECT_EQ(of("0::/a/b/c\n"), 1U);
  EXPECT_EQ(of("0::/\n"), std::nullopt);
  set("", "300000 100000\n");  // a container's group is its root
  EXPECT_EQ(of("0::/\n"), 3U);
  EXPECT_EQ(of("0::/gone\n"), 3U);
}

TEST_F(Quota, OnlyTheLineOfVersion2Counts) {
  set("a", "200000 100000\n");
  EXPECT_EQ(of("12:cpu:/x\n4:memory:/0::/b\n0::/a\n"), 2U);
  EXPECT_EQ(of("10::/a\n"), std::nullopt);
  EXPECT_EQ(of("1:cpu:/a\n"), std::nullopt);
  EXPECT_EQ(of(""), std::nullopt);
}

TEST_F(Quota, LinesThatSayNothingAreNone) {
  for (const char* line :
       {"", "max\n", "max 100000\n", "100000\n", "100000 0\n", "many 100000\n"}) {
    set("a", line);
    EXPECT_EQ(of("0::/a\n"), std::nullopt) << line;
  }
}

TEST(Processors, AreThoseOfTheCallersAffinity) {
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_LE(usable_processors(), static_cast<unsigned>(CPU_COUNT(&all)));
    EXPECT_GE(usable_processors(), 1U);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t number = 0; CPU_COUNT(&one) == 0; ++number) {
      if (CPU_ISSET(number, &all)) {
        CPU_SET(number, &one);
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_processors(), 1U);
    EXPECT_EQ(make_thread_pool(0)->threads(), 1U);
  }).join();
}

}  // namespace
}  // namespace paes
