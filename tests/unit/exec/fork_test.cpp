// SPDX-License-Identifier: Apache-2.0
// A forked child has none of its parent's threads, and gets its work done all the same.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "exec/executor.hpp"
#include "sanitized.hpp"

namespace paes {
namespace {

class Fork : public testing::TestWithParam<Schedule> {
 protected:
  void SetUp() override {
    if (test::is_sanitized) {
      GTEST_SKIP() << "sanitizers do not take threads in a forked child";
    }
  }

  [[nodiscard]] bool works() const {
    std::atomic<int> calls{0};
    executor_->for_each(100, [&](std::size_t) { ++calls; });
    executor_->on_each_thread([&](unsigned) { ++calls; });
    try {
      executor_->for_each(100, [&](std::size_t) { throw std::runtime_error("passes through"); });
    } catch (const std::runtime_error&) {
      return calls == 104;
    }
    return false;
  }

  // Whether `action` is true in a child that does not hang.
  static bool is_true_in_child(const std::function<bool()>& action) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(action() ? 0 : 1);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
  }

  std::unique_ptr<Executor> executor_ = make_executor(GetParam(), 4);
};

TEST_P(Fork, AChildWorksOnSeveralThreads) {
  ASSERT_TRUE(works());
  EXPECT_TRUE(is_true_in_child([&] {
    executor_->start();
    start_here(*executor_);
    bool elsewhere = false;
    std::thread([&] { elsewhere = works(); }).join();
    return works() && works() && elsewhere && is_true_in_child([&] { return works(); });
  }));
  EXPECT_TRUE(works());
}

TEST_P(Fork, AChildOfAnotherThreadToo) {
  bool is_right = false;
  std::thread([&] { is_right = works() && is_true_in_child([&] { return works(); }); }).join();
  EXPECT_TRUE(is_right);
}

INSTANTIATE_TEST_SUITE_P(, Fork, testing::ValuesIn(named_schedules()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace paes
