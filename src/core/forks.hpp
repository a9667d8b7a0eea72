// SPDX-License-Identifier: Apache-2.0
// Tells a process from its forked children. A child has none of its parent's threads, and would use
// the same keys, counters and nonces.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace paes {

// Starts to count forks, and returns the count. Throws std::bad_alloc.
std::uint32_t count_forks();

// The count of forks: in a child, one more than in its parent. A child that was made without fork()
// has its parent's count.
[[nodiscard]] std::uint32_t forks() noexcept;

// Makes every fork wait for this mutex, so that it is free in the child, which has only the forking
// thread. Use it for a mutex that guards what the whole process shares, and never fork while you
// hold it. Returns 0, or the error of pthread_atfork.
template <std::mutex& mutex>
int free_in_children() noexcept {
  // NOLINTNEXTLINE(readability-redundant-parentheses): there are none
  return pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

// Tells the process that made it from its children, however they were made. Throws std::bad_alloc.
class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  // True in the process that made the mark, false in each of its children.
  [[nodiscard]] bool is_intact() const noexcept;
  // False where the system cannot wipe memory in a child; only fork() is noticed then.
  [[nodiscard]] bool is_wiped_in_children() const noexcept { return is_wiped_; }

 private:
  // The system zeroes this page in a child. That also reveals children made without fork().
  std::uint8_t* page_;
  std::size_t page_bytes_;
  bool is_wiped_;
  std::uint32_t forks_;
};

}  // namespace paes
