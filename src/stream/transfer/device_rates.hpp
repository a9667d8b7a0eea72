// SPDX-License-Identifier: Apache-2.0
// Whether a device pays on this machine. Measures the rates of the CPU alone, of the device alone
// and of both together, for some milliseconds each in memory.
#pragma once

#include <functional>

#include "exec/executor.hpp"
#include "message/device.hpp"

namespace paes::stream {

// Who does the work.
enum class WorkShare : unsigned { cpu, device, hybrid };

// Bytes a second; 0: not measured.
struct Rates {
  double cpu = 0;
  double device = 0;
  double hybrid = 0;
};

// The CPU, unless something else is faster by more than the noise of such short measurements; so a
// device is not used when in doubt.
[[nodiscard]] WorkShare best_of(const Rates& rates) noexcept;

// Each thread of the executor works on its own piece, pinned if there is a device, for about
// `seconds`. Its first run is not timed, because devices then load their code.
[[nodiscard]] double measure_rate(const std::function<void(MutableBytes piece)>& work,
                                  const Executor& executor, std::size_t piece_bytes, Device* device,
                                  double seconds);

}  // namespace paes::stream
