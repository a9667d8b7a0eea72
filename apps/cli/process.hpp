// SPDX-License-Identifier: Apache-2.0
// The process around the work: standard descriptors, core dumps and signals. A signal only sets a
// flag; the work stops at the next buffer, removes its temporary output and reports, and then the
// process dies by that very signal, as shells and scripts expect. When nobody reads standard output
// any more, that counts as a signal, too: SIGPIPE.
#pragma once

#include <cstddef>
#include <string>

#include "stream/transfer/cancel.hpp"

namespace paes::cli {

// Call first: descriptors 0 to 2 exist, no core dumps, libcrypto's keys are locked, closed pipes
// and size limits are errors, signals are caught.
void prepare_process();

// Requested by SIGINT, SIGTERM, SIGHUP and SIGQUIT. Exists once prepare_process has run.
[[nodiscard]] const Cancel& cancel() noexcept;

// Lets the process have as many files open as it may, and gives back how many that are.
std::size_t allow_open_files();

// Readable once it is requested; -1 before prepare_process has run.
[[nodiscard]] int stop_descriptor() noexcept;

// In a forked child that goes on by itself: requests to stop that reach the parent from now on are
// not its own, nor are its own the parent's.
void begin_as_child();

// After a ClosedOutput: lets the process die by SIGPIPE, without a word, as filters do. Gives back
// false if whoever started the process has it ignore that signal; then it is an error like any
// other.
[[nodiscard]] bool stop_for_closed_output() noexcept;
[[nodiscard]] bool has_stopped_for_closed_output() noexcept;

// Dies by the signal that was caught, if one was; otherwise returns.
void die_by_caught_signal() noexcept;

}  // namespace paes::cli
