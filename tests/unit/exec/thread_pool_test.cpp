// SPDX-License-Identifier: Apache-2.0
// What is promised of the pool's threads alone: they sleep, leave signals to others, are no more
// than needed, and what cannot start is an Error.
#include "exec/thread_pool.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exec/processors.hpp"
#include "paes/error.hpp"
#include "sanitized.hpp"
#include "without_call.hpp"

namespace paes {
namespace {

using std::chrono::milliseconds;

// How many there are, and how many of them run or want to (proc(5), stat: "ID (NAME) STATE ...").
struct PoolThreads {
  unsigned all = 0;
  unsigned awake = 0;
};
PoolThreads look_at_pool_threads() {
  PoolThreads found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    std::getline(std::ifstream(task.path() / "stat") >> std::ws, line);
    const std::size_t at = line.find("(paes) ");
    if (at != std::string::npos) {
      ++found.all;
      found.awake += line[at + 7] == 'R' ? 1U : 0U;
    }
  }
  return found;
}
unsigned pool_threads_now() { return look_at_pool_threads().all; }
unsigned awake_pool_threads_now() { return look_at_pool_threads().awake; }

// A process that has none of the pool's threads yet.
bool is_true_in_child(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(action() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

class FreshPool : public testing::Test {
 protected:
  void SetUp() override {
    if (test::is_sanitized) {
      GTEST_SKIP() << "sanitizers do not take threads in a forked child";
    }
  }
};

TEST(ThreadPool, SleepsWithoutWork) {
  const auto pool = make_thread_pool(4);
  pool->start();
  for (int again = 0; again < 100; ++again) {
    pool->for_each(8, [](std::size_t) {});
    pool->on_each_thread([](unsigned) {});
  }
  // A thread that has been woken on a busy machine may still wait for a processor.
  for (int again = 0; again < 1000 && awake_pool_threads_now() != 0; ++again) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  for (int again = 0; again < 20; ++again) {
    EXPECT_EQ(awake_pool_threads_now(), 0U);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// A caller whose thread is long in coming does not wait for it: there is no processor for it here.
TEST(ThreadPool, ACallerTakesWhatNobodyElseTakes) {
  const auto pool = make_thread_pool(2);
  pool->start();
  std::atomic<int> calls{0};
  pool->on_each_thread([&](unsigned thread) {
    if (thread == 0) {
      // The other thread is in this team, and a new one may come or not.
      pool->for_each(100, [&](std::size_t) { calls.fetch_add(1); });
      calls.fetch_add(1000);
    } else {
      while (calls < 1000) {
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(calls, 1100);
}

TEST(ThreadPool, ThreadsLeaveSignalsToOthersAndHaveAName) {
  const auto pool = make_thread_pool(3);
  std::atomic<int> right{0};
  pool->on_each_thread([&](unsigned thread) {
    if (thread == 0) {
      return;
    }
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF, SIGTSTP}) {
      EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE, SIGXFSZ}) {
      EXPECT_EQ(sigismember(&blocked, signal), 0) << signal;
    }
    std::array<char, 16> name = {};
    EXPECT_EQ(pthread_getname_np(pthread_self(), name.data(), name.size()), 0);
    EXPECT_STREQ(name.data(), "paes");
    ++right;
  });
  EXPECT_EQ(right, 2);
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);
}

// Teams within pieces: each gets threads, however many wait.
TEST(ThreadPool, TeamsWithinCallsAreWhole) {
  const auto pool = make_thread_pool(3);
  std::atomic<int> met{0};
  pool->for_each(6, [&](std::size_t) {
    std::barrier meeting(3);
    pool->on_each_thread([&](unsigned) {
      meeting.arrive_and_wait();
      ++met;
    });
  });
  EXPECT_EQ(met, 18);
}

// A long call has all threads; a second one gets its share of them once they have ended a piece.
TEST(ThreadPool, ASecondCallGetsThreadsOfTheFirst) {
  const auto pool = make_thread_pool(8);
  pool->start();
  std::atomic<bool> is_over{false};
  std::atomic<unsigned> inside{0};
  std::thread first([&] {
    pool->for_each(1000000, [&](std::size_t) {
      ++inside;
      if (!is_over) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      --inside;
    });
  });
  while (inside < 8) {
    std::this_thread::yield();
  }
  // Two pieces of the second call run at the same time, or this hangs.
  std::barrier meeting(2);
  pool->for_each(2, [&](std::size_t) { meeting.arrive_and_wait(); });
  is_over = true;
  first.join();
}

TEST_F(FreshPool, HasNoMoreThreadsThanAnyoneAskedFor) {
  EXPECT_TRUE(is_true_in_child([] {
    const unsigned processors = usable_processors();
    const auto pool = make_thread_pool(4);
    if (pool_threads_now() != 0) {
      return false;
    }
    pool->for_each(1, [](std::size_t) {});
    if (pool_threads_now() != 0) {
      return false;  // a single piece needs none
    }
    pool->start();
    for (int again = 0; again < 1000 && pool_threads_now() < 3; ++again) {
      std::this_thread::sleep_for(milliseconds(5));  // a thread gives itself its name
    }
    if (pool_threads_now() != 3) {
      return false;
    }
    std::barrier meeting(32);
    std::vector<std::thread> callers;
    callers.reserve(8);
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back(
          [&] { pool->on_each_thread([&](unsigned) { meeting.arrive_and_wait(); }); });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    const unsigned kept = std::max(3U, processors - 1);
    for (int again = 0; again < 1000 && pool_threads_now() > kept; ++again) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    return pool_threads_now() <= kept;
  }));
}

// What a user's limit is does not count, apart from stacks of ended threads, which glibc keeps: 40
// MiB of them.
TEST_F(FreshPool, StacksHaveOurSize) {
  EXPECT_TRUE(is_true_in_child([] {
    constexpr std::size_t wanted = std::size_t{2} << 20;
    std::atomic<int> exact{0};
    std::atomic<int> smaller{0};
    make_thread_pool(65)->on_each_thread([&](unsigned thread) {
      pthread_attr_t attributes;
      std::size_t bytes = 0;
      if (thread != 0 && pthread_getattr_np(pthread_self(), &attributes) == 0 &&
          pthread_attr_getstacksize(&attributes, &bytes) == 0) {
        (void)pthread_attr_destroy(&attributes);
        exact += bytes < wanted + (1 << 20) ? 1 : 0;
        smaller += bytes < wanted ? 1 : 0;
      }
    });
    return exact >= 32 && smaller == 0;
  }));
}

TEST_F(FreshPool, ThreadsThatCannotStartAreAnErrorBeforeAnythingRuns) {
  EXPECT_TRUE(is_true_in_child([] {
    const auto pool = make_thread_pool(3);
    int calls = 0;
    bool is_whole = false;
    const std::string thrown = run_without({SYS_clone, SYS_clone3}, EAGAIN, [&] {
      // Nobody else takes a piece, and no call fails for it.
      pool->for_each(10, [&](std::size_t) { ++calls; });
      is_whole = calls == 10;
      try {
        pool->on_each_thread([&](unsigned) { ++calls; });
      } catch (const Error& error) {
        is_whole = is_whole && error.code == ErrorCode::failure && calls == 10;
      }
      pool->start();
    });
    pool->on_each_thread([&](unsigned thread) { calls += thread == 0 ? 1 : 0; });
    return is_whole && calls == 11 && thrown == "threads: only 1 of 3 could be started";
  }));
}

// The child has what is left, and knows that it is not all.
TEST_F(FreshPool, AForkWithinACallIsAnErrorInTheChild) {
  const auto pool = make_thread_pool(2);
  const auto caller = std::this_thread::get_id();
  for (const bool is_team : {false, true}) {
    std::atomic<pid_t> child{-1};
    std::barrier meeting(2);
    const auto body = [&](std::size_t) {
      meeting.arrive_and_wait();
      if (std::this_thread::get_id() == caller) {
        child = fork();
        if (child == 0) {
          alarm(20);
        }
      } else {
        while (child == -1) {
          std::this_thread::yield();
        }
      }
    };
    std::string thrown;
    try {
      is_team ? pool->on_each_thread(body) : pool->for_each(2, body);
    } catch (const Error& error) {
      thrown = error.what();
    }
    if (child == 0) {
      std::atomic<int> calls{0};
      pool->on_each_thread([&](unsigned) { ++calls; });
      _exit(thrown == "threads: those of a call were lost in a fork" && calls == 2 ? 0 : 1);
    }
    EXPECT_EQ(thrown, "");
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(FreshPool, AThreadOfThePoolMayForkAChildThatEndsThere) {
  const auto pool = make_thread_pool(2);
  std::atomic<int> status{-1};
  pool->on_each_thread([&](unsigned thread) {
    if (thread == 0) {
      return;
    }
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<int> calls{0};
      pool->on_each_thread([&](unsigned) { ++calls; });
      pool->for_each(10, [&](std::size_t) { ++calls; });
      _exit(calls == 12 ? 0 : 1);
    }
    int ended = -1;
    if (waitpid(child, &ended, 0) == child) {
      status = ended;
    }
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace paes
