// SPDX-License-Identifier: Apache-2.0
// What a schedule is: a name for users, and a way to hand out the pieces of work.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

namespace paes {

// Several threads make their calls through it. After one call has thrown, it makes no others, and
// keeps that exception.
class FirstError {
 public:
  template <typename Fn>
  void guard(Fn&& fn) noexcept {
    if (stopped_.load(std::memory_order_relaxed)) {
      return;
    }
    try {
      fn();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) {
        error_ = std::current_exception();
      }
      stopped_.store(true, std::memory_order_relaxed);
    }
  }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

struct ScheduleRow {
  const char* name;
  // Calls fn(index), guarded by `error`, for each index below count, on up to `threads` threads.
  void (*for_each)(std::size_t count, int threads, FirstError& error,
                   const std::function<void(std::size_t)>& fn);
};

#define PAES_SCHEDULE(name) extern const ScheduleRow schedule_##name;
#include "exec/schedules.def"
#undef PAES_SCHEDULE

}  // namespace paes
