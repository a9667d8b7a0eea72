// A request to stop, safe to make from a signal handler. Workers look at it before each buffer, and
// waits on pipes end at once, whichever thread the signal reached.
#pragma once

#include <atomic>

#include "paes/error.hpp"

namespace paes::stream {

class Cancel {
 public:
  Cancel();  // throws Error when the system has no descriptor left
  ~Cancel();
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  void request() noexcept;  // async-signal-safe; keeps errno
  [[nodiscard]] bool requested() const noexcept {
    return requested_.load(std::memory_order_relaxed);
  }
  // Throws Error(failure) "interrupted: ..." once requested.
  void check() const;

  // Becomes readable when a stop is requested, for poll.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  std::atomic<bool> requested_{false};
  int descriptor_;
};

// `cancel` may be null: such a caller never stops early.
inline void check(const Cancel* cancel) {
  if (cancel != nullptr) {
    cancel->check();
  }
}

}  // namespace paes::stream
