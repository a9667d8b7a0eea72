// SPDX-License-Identifier: Apache-2.0
// The question whether threads can start: yes for few, and an Error, not the end of the process,
// where stacks of the size that OMP_STACKSIZE asks for do not fit.
#include "exec/schedule/start_threads.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "exec/schedule/schedule.hpp"
#include "paes/error.hpp"

namespace paes {
namespace {

class StackSize {
 public:
  explicit StackSize(const char* text) { (void)setenv("OMP_STACKSIZE", text, 1); }
  ~StackSize() { (void)unsetenv("OMP_STACKSIZE"); }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;
};

TEST(StartThreads, FewCanStart) {
  for (const unsigned threads : {1U, 2U, 8U}) {
    EXPECT_NO_THROW(check_threads_can_start(threads));
  }
}

TEST(StartThreads, StacksThatDoNotFitAreAnError) {
  // libomp reads the environment once, when it first starts threads: not with what follows.
  make_executor(Schedule::omp_dynamic, 2)->start();
  for (const char* text : {"100000G", "100000 g", "107374182400000", "112589990684262400B"}) {
    const StackSize stacks(text);
    EXPECT_NO_THROW(check_threads_can_start(1)) << text;
    try {
      check_threads_can_start(3);
      FAIL() << "no exception: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_STREQ(error.what(), "threads: only 1 of 3 could be started") << text;
      EXPECT_NE(error.hint.find("-T 1"), std::string::npos);
    }
    EXPECT_THROW(make_executor(Schedule::omp_dynamic, 2)->start(), Error) << text;
  }
}

TEST(StartThreads, StackSizesThatSayNothingAreIgnored) {
  for (const char* text : {"", "large", "1", "99999999999999999999G", "512k", "64M"}) {
    const StackSize stacks(text);
    EXPECT_NO_THROW(check_threads_can_start(3)) << text;
  }
}

}  // namespace
}  // namespace paes
