// The measurement of `paes bench kernel`: kernels take turns on the same fresh random data, each
// turn checked before it is timed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "exec/executor.hpp"
#include "kernel/kernel.hpp"

namespace paes::cli {

enum class Direction { encrypt, decrypt, verify };

enum class BenchClock {
  wall,  // what a user waits for
  cpu,   // the slowest thread's processor time: ratios of kernels hold on a machine that is busy
};

struct TurnSettings {
  std::size_t key_bytes;
  Direction direction;
  std::size_t message_bytes;
  double seconds;
  BenchClock clock;
  std::function<void()> before_turn;  // may throw to stop; may be empty
};

struct KernelTimes {
  const Kernel* kernel;
  // A message's time on one of the threads that work side by side, by round.
  std::vector<double> seconds;
};

// Every kernel must have the direction's operation. Each thread works on messages of its own, as on
// the container's chunks. Throws Error(failure) when a kernel's output is wrong.
[[nodiscard]] std::vector<KernelTimes> take_turns(std::span<const Kernel* const> kernels,
                                                  const TurnSettings& settings,
                                                  const Executor& executor);

[[nodiscard]] GcmOperation operation_of(Direction direction) noexcept;

}  // namespace paes::cli
