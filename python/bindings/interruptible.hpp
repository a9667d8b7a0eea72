// SPDX-License-Identifier: Apache-2.0
// Long calls that Ctrl-C ends. Python runs signal handlers in its main thread alone, and only while
// that thread holds the GIL: so the work goes to a thread of its own, and the caller's looks now
// and then.
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

// How far the work is. Its thread writes, the caller's reads.
struct Progress {
  std::atomic<std::uint64_t> done_bytes{0};
  std::atomic<std::uint64_t> total_bytes{0};
};

// Runs `work` and rethrows what it throws. Meanwhile handles signals, and calls `report`, unless it
// is None, with the bytes done and their number in all. If a handler or `report` raises, the work
// is cancelled, and that is raised once the work has ended.
void run_interruptibly(nb::handle report,
                       const std::function<void(const Cancel& cancel, Progress& progress)>& work);
// Like the one above, without reports, for work that watches a Cancel of the caller's, because what
// it makes goes on using that.
void run_interruptibly(Cancel& cancel, const std::function<void()>& work);

// A call for more bytes is done in parts, so that a signal is handled in between.
inline constexpr std::size_t interruptible_bytes = std::size_t{64} << 20;

// Raises what a signal's handler raises, such as KeyboardInterrupt. With the GIL held.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) {
    nb::raise_python_error();
  }
}

// Fills `to` from `offset` on without the GIL, and returns how many bytes came.
std::size_t read_interruptibly(const Reader& reader, std::uint64_t offset,
                               std::span<std::uint8_t> to);

}  // namespace paes::python
