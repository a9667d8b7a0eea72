// SPDX-License-Identifier: Apache-2.0
// Long calls that Ctrl-C ends. Python runs signal handlers only in its main thread, and only while
// that thread holds the GIL. So the work runs in a thread of its own, and the caller's thread looks
// for signals now and then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "bind_bytes.hpp"
#include "paes/cancel.hpp"
#include "paes/file.hpp"

namespace paes::python {

// How far the work is. The work's thread writes it, the caller's reads it.
struct Progress {
  std::atomic<std::uint64_t> done_bytes{0};
  std::atomic<std::uint64_t> total_bytes{0};
};

// Runs `work` and rethrows what it throws. Meanwhile handles signals and, unless `report` is None,
// calls it with the bytes done and their total. If a handler or `report` raises, the work is
// cancelled, and that exception is raised once the work has ended.
void run_interruptibly(nb::handle report,
                       const std::function<void(const Cancel& cancel, Progress& progress)>& work);
// Runs `work`, which watches `cancel`, rethrows what it throws, and meanwhile handles signals. The
// Cancel is the caller's, because what the work makes goes on using it.
void run_interruptibly(Cancel& cancel, const std::function<void()>& work);

// Longer calls are done in parts, so that signals are handled in between.
inline constexpr std::size_t interruptible_bytes = std::size_t{64} << 20;

// Raises what a signal handler raises, such as KeyboardInterrupt. Hold the GIL.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) {
    nb::raise_python_error();
  }
}

// Fills `to` from `offset` on, without the GIL, and returns how many bytes came.
std::size_t read_interruptibly(const Reader& reader, std::uint64_t offset,
                               std::span<std::uint8_t> to);

}  // namespace paes::python
