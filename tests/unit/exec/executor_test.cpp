// SPDX-License-Identifier: Apache-2.0
// Every schedule calls each index once, and hands an exception to the caller after all have
// stopped.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "exec/processors.hpp"
#include "exec/schedule/schedule.hpp"
#include "exec/thread_pool.hpp"
#include "paes/error.hpp"

namespace paes {
namespace {

struct Choice {
  Schedule schedule;
  unsigned threads;
};

std::vector<Choice> all_choices() {
  std::vector<Choice> all = {{Schedule::serial, 1}};
  for (const Schedule schedule : named_schedules()) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
      all.push_back({schedule, threads});
    }
  }
  return all;
}

class Executors : public testing::TestWithParam<Choice> {
 protected:
  std::unique_ptr<Executor> executor_ = make_executor(GetParam().schedule, GetParam().threads);
  std::thread::id caller_ = std::this_thread::get_id();
};

TEST_P(Executors, ForEachCallsEachIndexOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 8U, 1000U}) {
    std::vector<std::atomic<int>> calls(count);
    executor_->for_each(count, [&](std::size_t index) { calls.at(index).fetch_add(1); });
    for (const auto& one : calls) {
      EXPECT_EQ(one.load(), 1);
    }
  }
}

TEST_P(Executors, ForEachSeesWhatItsCallerWroteAndTheOtherWayRound) {
  std::vector<int> values(100, 1);
  executor_->for_each(values.size(), [&](std::size_t index) { values[index] += 1; });
  EXPECT_EQ(values, std::vector<int>(100, 2));
}

TEST_P(Executors, OnEachThreadCallsEachThreadOnce) {
  std::vector<std::atomic<int>> calls(executor_->threads());
  executor_->on_each_thread([&](unsigned thread) { calls.at(thread).fetch_add(1); });
  for (const auto& one : calls) {
    EXPECT_EQ(one.load(), 1);
  }
}

TEST_P(Executors, AnExceptionStopsTheHandOutAndReachesTheCaller) {
  std::atomic<int> calls{0};
  // The others wait for the one that throws, and then take their time: an exception takes longer to
  // travel than empty calls do to run out.
  std::atomic<bool> throws{false};
  try {
    executor_->for_each(100000, [&](std::size_t index) {
      calls.fetch_add(1);
      if (index == 3) {
        throws = true;
        throw Error(ErrorCode::corrupt, "index 3");
      }
      while (index > 3 && !throws) {
        std::this_thread::yield();
      }
      if (throws) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "index 3");
    EXPECT_EQ(error.code, ErrorCode::corrupt);
  }
  EXPECT_LT(calls.load(), 100000);
  // It works again afterwards.
  executor_->for_each(5, [&](std::size_t) { calls.fetch_add(1); });
}

TEST_P(Executors, WhenAllThreadsFailOneExceptionArrives) {
  EXPECT_THROW(executor_->on_each_thread([](unsigned) { throw std::runtime_error("all"); }),
               std::runtime_error);
  EXPECT_THROW(
      executor_->for_each(1000, [](std::size_t) -> void { throw std::runtime_error("all"); }),
      std::runtime_error);
}

TEST_P(Executors, OnEachThreadRunsOnDifferentThreadsAtTheSameTime) {
  const unsigned threads = executor_->threads();
  executor_->start();
  for (int again = 0; again < 20; ++again) {
    std::barrier meeting(static_cast<std::ptrdiff_t>(threads));
    std::mutex mutex;
    std::set<std::thread::id> ids;
    executor_->on_each_thread([&](unsigned thread) {
      meeting.arrive_and_wait();  // hangs unless all are there
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      if (std::this_thread::get_id() == caller_) {
        EXPECT_EQ(thread, 0U);
      }
    });
    EXPECT_EQ(ids.size(), threads);
    EXPECT_EQ(ids.count(caller_), 1U);
  }
}

TEST_P(Executors, ServesEightCallersAtATime) {
  std::vector<std::thread> callers;
  callers.reserve(8);
  std::atomic<int> right{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      executor_->start();
      int done = 0;
      for (int again = 0; again < 50; ++again) {
        std::atomic<int> calls{0};
        executor_->for_each(20, [&](std::size_t) { calls.fetch_add(1); });
        if (again % 10 == 0) {
          executor_->on_each_thread([&](unsigned) { calls.fetch_add(1); });
          calls.fetch_sub(static_cast<int>(executor_->threads()));
        }
        try {
          executor_->for_each(20, [&](std::size_t index) {
            if (index == 7) {
              throw std::runtime_error("one of eight");
            }
          });
        } catch (const std::runtime_error&) {
          done += calls == 20 ? 1 : 0;
        }
      }
      right += done == 50 ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(right.load(), 8);
}

TEST_P(Executors, CallsWithinCalls) {
  std::atomic<int> calls{0};
  executor_->for_each(6, [&](std::size_t) {
    executor_->for_each(10, [&](std::size_t) { calls.fetch_add(1); });
    try {
      executor_->for_each(10, [](std::size_t index) {
        if (index == 3) {
          throw std::runtime_error("inner");
        }
      });
    } catch (const std::runtime_error&) {
      calls.fetch_add(1);
    }
  });
  EXPECT_EQ(calls.load(), 66);
}

INSTANTIATE_TEST_SUITE_P(Choices, Executors, testing::ValuesIn(all_choices()));

TEST(MakeExecutor, TakesTheThreadsAskedForAndAllForZero) {
  EXPECT_EQ(make_executor(Schedule::omp_static, 3)->threads(), 3U);
  EXPECT_EQ(make_executor(Schedule::serial, 3)->threads(), 1U);
  EXPECT_EQ(make_executor(Schedule::omp_dynamic, 0)->threads(), usable_processors());
  EXPECT_EQ(make_thread_pool(0)->threads(), usable_processors());
  EXPECT_EQ(make_thread_pool(max_threads)->threads(), max_threads);
  EXPECT_THROW((void)make_thread_pool(max_threads + 1), Error);
}

TEST_P(Executors, StartMayBeCalledAtAnyTimeAndAgain) {
  executor_->start();
  std::atomic<int> calls{0};
  executor_->for_each(100, [&](std::size_t) { calls.fetch_add(1); });
  executor_->start();
  executor_->on_each_thread([&](unsigned) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 100 + static_cast<int>(executor_->threads()));
}

TEST(SerialExecutor, KeepsTheOrder) {
  std::vector<std::size_t> order;
  serial_executor().for_each(4, [&](std::size_t index) { order.push_back(index); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(ParseSchedule, KnowsItsNames) {
  EXPECT_EQ(parse_schedule("pool"), Schedule::thread_pool);
  EXPECT_EQ(parse_schedule("static"), Schedule::omp_static);
  EXPECT_EQ(parse_schedule("dynamic"), Schedule::omp_dynamic);
  for (const Schedule schedule : named_schedules()) {
    EXPECT_EQ(parse_schedule(name_of(schedule)), schedule);
  }
  EXPECT_STREQ(name_of(Schedule::serial), "serial");
  try {
    (void)parse_schedule("no_such");
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
    EXPECT_STREQ(error.what(), "schedule: unknown name 'no_such'");
    EXPECT_EQ(error.hint, "there are: " + schedule_names());
  }
}

}  // namespace
}  // namespace paes
