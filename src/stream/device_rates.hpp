// Whether a device pays on this machine: the rates of the CPU alone, of the device alone and of
// both together, measured on memory for some milliseconds each.
#pragma once

#include <functional>

#include "exec/executor.hpp"
#include "message/device.hpp"

namespace paes::stream {

// Who does the work.
enum class Sharing : unsigned { cpu, device, hybrid };

// Bytes a second; 0: not measured.
struct Rates {
  double cpu = 0;
  double device = 0;
  double hybrid = 0;
};

// The CPU unless something else is faster by more than what such short measurements scatter by: in
// doubt nothing is slower than without a device.
[[nodiscard]] Sharing best_of(const Rates& rates) noexcept;

// All threads of the executor work on pieces of their own, pinned if there is a device, for about
// so long; the first piece of each is not timed, because devices load their code with it.
[[nodiscard]] double measure_rate(const std::function<void(MutableBytes piece)>& work,
                                  const Executor& executor, std::size_t piece_bytes, Device* device,
                                  double seconds);

}  // namespace paes::stream
