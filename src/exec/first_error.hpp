// SPDX-License-Identifier: Apache-2.0
// What several threads do with exceptions: the first one is kept for their caller.
#pragma once

#include <atomic>
#include <exception>

namespace paes {

// Several threads make their calls through it. After one call has thrown, it makes no others, and
// keeps that exception. It has no lock that a thread could hold during a fork.
class FirstError {
 public:
  template <typename Fn>
  void guard(Fn&& fn) noexcept {
    if (has_stopped()) {
      return;
    }
    try {
      fn();
    } catch (...) {
      if (!stopped_.exchange(true, std::memory_order_relaxed)) {
        error_ = std::current_exception();
      }
    }
  }
  [[nodiscard]] bool has_stopped() const noexcept {
    return stopped_.load(std::memory_order_relaxed);
  }
  // For the caller, when no other thread is in guard() any more.
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
};

}  // namespace paes
