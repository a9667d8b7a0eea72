// SPDX-License-Identifier: Apache-2.0
// Work that makes more work, on one thread and on many.
#include "volume/check/work_stack.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "exec/thread_pool.hpp"

namespace paes::volume {
namespace {

// Each task of a depth pushes two of the next one.
void grow(WorkStack& stack, unsigned depth, std::atomic<unsigned>& done) {
  stack.push([&stack, depth, &done] {
    ++done;
    if (depth > 0) {
      grow(stack, depth - 1, done);
      grow(stack, depth - 1, done);
    }
  });
}

TEST(WorkStack, DoesAllThatTasksPush) {
  for (const unsigned threads : {1U, 2U, 8U}) {
    WorkStack stack;
    std::atomic<unsigned> done{0};
    grow(stack, 11, done);
    stack.run(*make_thread_pool(threads), {});
    EXPECT_EQ(done.load(), (1U << 12) - 1);
  }
}

TEST(WorkStack, LastPushedIsFirstDone) {
  WorkStack stack;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    stack.push([&order, i] { order.push_back(i); });
  }
  stack.run(serial_executor(), {});
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

TEST(WorkStack, WhatIsForLaterWaitsForTheRest) {
  for (const unsigned threads : {1U, 4U}) {
    WorkStack stack;
    std::mutex mutex;
    std::vector<int> order;
    const auto note = [&](int number) {
      const std::lock_guard lock(mutex);
      order.push_back(number);
    };
    stack.push_for_later([&] {
      note(3);
      stack.push([&] { note(4); });
    });
    stack.push_for_later([&] { note(2); });
    stack.push([&] {
      note(0);
      stack.push([&] { note(1); });
    });
    stack.run(*make_thread_pool(threads), {});
    if (threads == 1) {
      EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
    }
    EXPECT_EQ(order.size(), 5U);
  }
}

TEST(WorkStack, StopsAndDropsTheRest) {
  WorkStack stack;
  std::atomic<unsigned> done{0};
  grow(stack, 12, done);
  stack.run(*make_thread_pool(4), [&] { return done.load() >= 100; });
  EXPECT_GE(done.load(), 100U);
  EXPECT_LT(done.load(), 200U);
  const unsigned before = done.load();
  stack.run(serial_executor(), {});
  EXPECT_EQ(done.load(), before);
}

TEST(WorkStack, TheFirstExceptionEndsIt) {
  WorkStack stack;
  std::atomic<unsigned> done{0};
  grow(stack, 6, done);
  stack.push([] { throw std::runtime_error("task"); });
  EXPECT_THROW(stack.run(*make_thread_pool(4), {}), std::runtime_error);
}

}  // namespace
}  // namespace paes::volume
