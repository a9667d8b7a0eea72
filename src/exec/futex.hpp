// SPDX-License-Identifier: Apache-2.0
// Threads of one process sleep until a number in memory changes: futex(2). Unlike a condition
// variable, the number knows nothing of its sleepers, so that a forked child, which has none of
// them, can go on with it.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace paes {

// Sleeps unless the number is no longer `value`. May also return for no reason.
inline void sleep_while(const std::atomic<std::uint32_t>& number, std::uint32_t value) noexcept {
  (void)syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

// As sleep_while(), after 200 microseconds in which the processor is for everybody else who wants
// it. What comes within that time comes sooner than a thread that sleeps can be woken
// (docs/log/executors.md).
inline void wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t value) noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(200);
  do {
    if (number.load(std::memory_order_acquire) != value) {
      return;
    }
    (void)sched_yield();
  } while (Clock::now() < end);
  sleep_while(number, value);
}

// Wakes at most so many of the threads that sleep there. Nothing is read or written at the address,
// which may have ended its life.
inline void wake_sleepers(const std::atomic<std::uint32_t>* number, unsigned most) noexcept {
  (void)syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, most < INT_MAX ? most : INT_MAX, nullptr,
                nullptr, 0);
}

}  // namespace paes
