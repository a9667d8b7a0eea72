// SPDX-License-Identifier: Apache-2.0
// The measurement of `paes-bench kernel`: kernels take turns on the same fresh random data, and
// each is checked before it is timed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "paes-bench/contender.hpp"

namespace paes::cli {

enum class BenchClock {
  wall,  // what a user waits for
  cpu,   // the slowest thread's processor time, so that ratios of kernels hold on a busy machine
};

struct TurnSettings {
  BenchTask task;
  double seconds;
  BenchClock clock;                   // `wall` if threads share a message
  std::function<void()> before_turn;  // may throw to stop; may be empty
  // Takes its turns after the kernels, including copies there and back; null: no device. The
  // messages' memory is pinned for it.
  Device* device = nullptr;
};

struct KernelTimes {
  const Kernel* kernel;
  const Device* device;  // null: the kernel itself
  std::size_t messages;  // side by side on each thread, if the direction chains blocks
  // A message's time, by round: on one of the threads that work side by side, or on all threads
  // that share it. In a batch, its part of the whole batch's time.
  std::vector<double> seconds;
};

// Every kernel must have the task's cipher and direction. Unless the threads share a message, each
// works on messages of its own, as they do on a container's chunks. Throws Error(failure) if a
// kernel's output is wrong.
[[nodiscard]] std::vector<KernelTimes> take_turns(std::span<const Kernel* const> kernels,
                                                  const TurnSettings& settings,
                                                  const Executor& executor);

}  // namespace paes::cli
