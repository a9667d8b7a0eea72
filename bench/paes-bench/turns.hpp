// SPDX-License-Identifier: Apache-2.0
// The measurement of `paes-bench kernel`: kernels take turns on the same fresh random data, each
// turn checked before it is timed.
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
  cpu,   // the slowest thread's processor time: ratios of kernels hold on a machine that is busy
};

struct TurnSettings {
  BenchTask task;
  double seconds;
  BenchClock clock;                   // `wall` for a message that threads share
  std::function<void()> before_turn;  // may throw to stop; may be empty
  // Takes its turns behind the kernels, copies there and back included; null: none. The messages'
  // memory is pinned for it.
  Device* device = nullptr;
};

struct KernelTimes {
  const Kernel* kernel;
  const Device* device;  // whose times they are; null: the kernel's
  std::size_t messages;  // side by side on each thread, in directions that chain their blocks
  // A message's time, by round: on one of the threads that work side by side, or on all that share
  // it. In a batch, its part of the whole batch's time.
  std::vector<double> seconds;
};

// Every kernel must be able to do the task. Unless they share it, each thread works on messages of
// its own, as on the container's chunks. Throws Error(failure) when a kernel's output is wrong.
[[nodiscard]] std::vector<KernelTimes> take_turns(std::span<const Kernel* const> kernels,
                                                  const TurnSettings& settings,
                                                  const Executor& executor);

}  // namespace paes::cli
