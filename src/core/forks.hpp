// SPDX-License-Identifier: Apache-2.0
// Tells a process from the children that it forks: a child has none of its parent's threads, and
// would use the same keys, counters and nonces.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace paes {

// Has forks counted from now on, and gives their number. Throws std::bad_alloc if the system has no
// memory for that.
std::uint32_t count_forks();

// In a child, one more than in its parent. A child that was made without fork() does not know.
[[nodiscard]] std::uint32_t forks() noexcept;

// A fork waits for this mutex, so that it is free in the child, which has only the thread that
// forked. For one that guards what the whole process shares, and under which nobody forks. Returns
// 0, or what pthread_atfork says.
template <std::mutex& mutex>
int free_in_children() noexcept {
  // NOLINTNEXTLINE(readability-redundant-parentheses): there are none
  return pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

// Knows the process that made it, from children of every kind. Throws std::bad_alloc.
class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  // True in the process that made the mark, false in each of its children.
  [[nodiscard]] bool is_intact() const noexcept;
  // False where the system does not wipe memory in a child, so that only fork() is noticed.
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return is_wiped_; }

 private:
  // The system zeroes this page in a child. That also tells children that were made without fork(),
  // of which no handler hears.
  std::uint8_t* page_;
  std::size_t page_bytes_;
  bool is_wiped_;
  std::uint32_t forks_;
};

}  // namespace paes
