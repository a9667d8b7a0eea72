// SPDX-License-Identifier: Apache-2.0
// A request to stop long work, safe to make from any thread and from a signal handler.
//
//   paes::Cancel cancel;
//   paes::encrypt_file(from, to, seal_for, {.cancel = &cancel});  // throws once it is requested
#pragma once

#include <atomic>

#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {
inline namespace v0 {

class PAES_API Cancel {
 public:
  Cancel();
  ~Cancel();
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  void request() noexcept;  // async-signal-safe; preserves errno
  [[nodiscard]] bool requested() const noexcept {
    return requested_.load(std::memory_order_relaxed);
  }
  // Throws Error(failure) "interrupted: ..." once requested.
  void check() const;

  // Becomes readable when a stop is requested, for poll. The first call makes it, and later calls
  // return the same one. Throws Error(failure) if the system has no descriptor left.
  [[nodiscard]] int descriptor() const;

 private:
  void show() const noexcept;

  std::atomic<bool> requested_{false};
  mutable std::atomic<int> descriptor_{-1};
};

}  // namespace v0
}  // namespace paes
