// SPDX-License-Identifier: Apache-2.0
// What is given back comes again, and a forked child never waits for its parent's threads.
#include "core/pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/secret.hpp"
#include "core/secret_heap.hpp"
#include "sanitized.hpp"

namespace paes {
namespace {

TEST(Pool, HandsOutWhatCameBackLast) {
  Pool<int> pool;
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.take(), nullptr);
  pool.give_back(std::make_unique<int>(1));
  pool.give_back(std::make_unique<int>(2));
  EXPECT_EQ(*pool.take(), 2);
  EXPECT_EQ(*pool.take(), 1);
  EXPECT_EQ(pool.take(), nullptr);
}

// Whether `use` ends in each of many children that are made while other threads call it.
template <typename Use>
void expect_no_child_waits(const Use& use) {
  if (test::is_sanitized) {
    GTEST_SKIP() << "sanitizers do not take threads in a forked child";
  }
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        use();
      }
    });
  }
  int ended = 0;
  constexpr int children = 200;
  for (int i = 0; i < children && ended == i; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      use();
      _exit(0);
    }
    int status = -1;
    ended += waitpid(child, &status, 0) == child && status == 0 ? 1 : 0;
  }
  is_over = true;
  EXPECT_EQ(ended, children);
}

TEST(Pool, WorksInAChildWhateverThreadsDid) {
  Pool<int> pool;
  expect_no_child_waits([&] {
    std::unique_ptr<int> number = pool.take();
    pool.give_back(number ? std::move(number) : std::make_unique<int>(1));
  });
}

TEST(SecretMemory, WorksInAChildWhateverThreadsDid) {
  const SecretPagesKept kept;
  expect_no_child_waits([] {
    const Secret<std::array<std::uint8_t, 32>> secret;
    const SecretAllocations wanted;
    secret_heap::release(secret_heap::allocate(100));
  });
}

TEST(Pool, KeepsWhatAChildGivesBack) {
  if (test::is_sanitized) {
    GTEST_SKIP() << "sanitizers do not take threads in a forked child";
  }
  Pool<int> pool;
  EXPECT_EQ(pool.take(), nullptr);
  auto of_the_parent = std::make_unique<int>(1);
  const pid_t child = fork();
  if (child == 0) {
    pool.give_back(std::move(of_the_parent));  // there is no room for it
    bool is_right = pool.take() == nullptr;
    pool.give_back(std::make_unique<int>(2));
    is_right = is_right && *pool.take() == 2;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool.give_back(std::move(of_the_parent));
  EXPECT_EQ(*pool.take(), 1);
}

}  // namespace
}  // namespace paes
