// SPDX-License-Identifier: Apache-2.0
// A forked child has none of its parent's threads, and gets its work done all the same.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exec/schedule/schedule.hpp"
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

TEST_P(Fork, ManyGenerations) {
  ASSERT_TRUE(works());
  const std::function<bool(int)> works_for = [&](int generations) {
    return works() && (generations == 0 ||
                       is_true_in_child([&] { return works_for(generations - 1) && works(); }));
  };
  EXPECT_TRUE(works_for(5));
  EXPECT_TRUE(works());
}

TEST_P(Fork, WhileAnotherThreadIsInACall) {
  executor_->start();
  std::atomic<int> inside{0};
  std::atomic<bool> may_go{false};
  std::atomic<int> done{0};
  std::thread caller([&] {
    executor_->start();
    executor_->on_each_thread([&](unsigned) {
      ++inside;
      while (!may_go) {
        std::this_thread::yield();
      }
      ++done;
    });
  });
  while (inside < 4) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(is_true_in_child([&] { return works() && works(); }));
  EXPECT_TRUE(works());
  may_go = true;
  caller.join();
  EXPECT_EQ(done, 4);
}

// Whatever moment of the others' calls the fork meets.
TEST_P(Fork, WhileOthersMakeCallsAllTheTime) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  others.reserve(3);
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      executor_->start();
      while (!is_over) {
        (void)works();
      }
    });
  }
  for (int again = 0; again < 30; ++again) {
    EXPECT_TRUE(is_true_in_child([&] { return works(); })) << again;
  }
  is_over = true;
  for (std::thread& other : others) {
    other.join();
  }
}

TEST_P(Fork, AProcessEndsWithThreadsThatHaveNoWork) {
  EXPECT_TRUE(is_true_in_child([&]() -> bool {
    if (!works()) {
      return false;
    }
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): its destructors are what is tested
  }));
}

TEST_P(Fork, AProcessEndsInTheMiddleOfACall) {
  EXPECT_TRUE(is_true_in_child([&]() -> bool {
    std::atomic<int> inside{0};
    std::thread([&] {
      executor_->on_each_thread([&](unsigned) {
        ++inside;
        for (;;) {
          pause();
        }
      });
    }).detach();
    while (inside < 4) {
      std::this_thread::yield();
    }
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): its destructors are what is tested
  }));
}

INSTANTIATE_TEST_SUITE_P(, Fork, testing::ValuesIn(named_schedules()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace paes
