// SPDX-License-Identifier: Apache-2.0
#include "keystream/workers.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "core/residue.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

using std::chrono::microseconds;

// The time between two looks: less than a client takes to use up a window of 16 chunks, at 20
// microseconds a request.
constexpr microseconds interval{200};
// After this many fruitless looks the pause doubles each time, until there are four looks a second.
constexpr unsigned most_looks = 50;
constexpr microseconds first_sleep{1000};
constexpr microseconds longest_sleep{256000};

// The pause before a look, after so many fruitless ones.
microseconds pause_before(unsigned looks) noexcept {
  if (looks < most_looks) {
    return interval;
  }
  const unsigned doublings = std::min(looks - most_looks, 8U);
  return std::min(first_sleep * (1U << doublings), longest_sleep);
}

void become_worker(WorkerPriority priority) noexcept {
  if (priority == WorkerPriority::idle) {
    // So workers take time from nobody. If the system refuses, they compete like any thread.
    sched_param parameters = {};
    (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameters);
  }
  (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

}  // namespace

void Workers::start(unsigned count, WorkerPriority priority, const std::shared_ptr<void>& owner,
                    WorkSource& source) {
  priority_ = priority;
  count_ = count;
  awake_.store(count, std::memory_order_relaxed);
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_all = true;
  try {
    for (unsigned i = 0; i < count; ++i) {
      std::thread([this, owner, &source] { work(source); }).detach();
    }
  } catch (const std::exception&) {  // a limit of threads or memory
    has_all = false;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_all) {
    throw Error(ErrorCode::failure, "keystream: the system does not give that many threads");
  }
}

void Workers::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_.store(true, std::memory_order_relaxed);
  }
  wake_.notify_all();
}

void Workers::wake() noexcept {
  if (priority_ == WorkerPriority::ordinary) {
    if (awake_.load(std::memory_order_seq_cst) < count_) {
      // With the mutex, a worker about to sleep sees the request or is woken.
      { const std::lock_guard lock(mutex_); }
      wake_.notify_one();
    }
    return;
  }
  if (awake_.load(std::memory_order_seq_cst) == 0) {
    // A client must not wait for a worker that the system has set aside while it held the mutex. If
    // that worker is about to sleep, it may miss this, and looks again after its pause.
    const Lock lock(mutex_, std::try_to_lock);
    wake_.notify_one();
  }
}

void Workers::work(WorkSource& source) noexcept {
  const WipeResidueOnExit wiped;
  become_worker(priority_);
  unsigned looks = 0;
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    if (source.work()) {
      looks = 0;
    } else {
      wait_for_work(source, looks);
    }
  }
}

void Workers::wait_for_work(const WorkSource& source, unsigned& looks) noexcept {
  const auto is_over = [&] {
    return is_stopping_.load(std::memory_order_relaxed) || source.has_work();
  };
  Lock lock(mutex_);
  const bool looks_here = !is_looking_;
  is_looking_ = true;
  if (looks_here && looks < most_looks && priority_ == WorkerPriority::idle) {
    lock.unlock();
    while (!is_over() && ++looks < most_looks) {
      std::this_thread::sleep_for(interval);
    }
    lock.lock();
    is_looking_ = false;
    return;
  }
  // A client looks at awake_ after its request, and a worker looks at the requests after awake_. So
  // one of them sees the other.
  awake_.fetch_sub(1, std::memory_order_seq_cst);
  if (looks_here) {
    wake_.wait_for(lock, pause_before(looks++), is_over);
    is_looking_ = false;
  } else {
    wake_.wait(lock, is_over);
  }
  awake_.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace paes::keystream
