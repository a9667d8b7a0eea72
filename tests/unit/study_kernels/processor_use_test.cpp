// SPDX-License-Identifier: Apache-2.0
// What gpu_bench takes for other programs' use of the processors: theirs, and not its own.
#include "gpu/processor_use.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace paes::bench {
namespace {

using std::chrono::steady_clock;

double processors() { return static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)); }

double seconds_of(const rusage& use) {
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

// Keeps as many threads busy as there are processors.
void work_until(steady_clock::time_point end) {
  std::vector<std::thread> threads(static_cast<std::size_t>(processors()));
  for (std::thread& thread : threads) {
    thread = std::thread([end] {
      while (steady_clock::now() < end) {
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(ProcessorUse, OurOwnWorkIsNobodyElses) {
  rusage before = {}, after = {};
  (void)getrusage(RUSAGE_SELF, &before);
  const steady_clock::time_point begun = steady_clock::now();
  const ProcessorUse use;
  work_until(begun + std::chrono::milliseconds(1500));
  const std::optional<double> others = use.of_others();
  const double wall = std::chrono::duration<double>(steady_clock::now() - begun).count();
  (void)getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(others.has_value());
  // All programs together have no more than there is.
  const double ours = (seconds_of(after) - seconds_of(before)) / (wall * processors());
  EXPECT_LE(*others + ours, 1.05);
}

TEST(ProcessorUse, WhatAnotherProgramUsesIsItsOwn) {
  const ProcessorUse use;
  const steady_clock::time_point begun = steady_clock::now();
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    // A loop without an end or an effect is no program: clang left it out, and the child went on.
    while (steady_clock::now() < begun + std::chrono::minutes(10)) {
    }
    _exit(0);
  }
  std::this_thread::sleep_until(begun + std::chrono::milliseconds(1500));
  const std::optional<double> others = use.of_others();
  const double wall = std::chrono::duration<double>(steady_clock::now() - begun).count();
  rusage theirs = {};
  ASSERT_EQ(kill(other, SIGKILL), 0);
  ASSERT_EQ(wait4(other, nullptr, 0, &theirs), other);
  ASSERT_TRUE(others.has_value());
  EXPECT_GE(*others, seconds_of(theirs) / (wall * processors()) - 0.05);
}

TEST(ProcessorUse, AShortTimeIsMadeLongEnoughToCount) {
  const steady_clock::time_point begun = steady_clock::now();
  const std::optional<double> others = ProcessorUse().of_others();
  EXPECT_GE(steady_clock::now() - begun, ProcessorUse::shortest());
  ASSERT_TRUE(others.has_value());
  EXPECT_GE(*others, 0);
  EXPECT_LE(*others, 1);
}

}  // namespace
}  // namespace paes::bench
