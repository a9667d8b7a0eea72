// The process around the work: standard descriptors, core dumps and signals. A signal only sets a
// flag; the work stops at the next batch, removes its temporary output and reports, and then the
// process dies by that very signal, as shells and scripts expect.
#pragma once

#include <atomic>

namespace paes::cli {

// Call first: descriptors 0 to 2 exist, no core dumps, closed pipes are errors, signals are caught.
void prepare_process();

// Set by SIGINT, SIGTERM and SIGHUP; long work polls it.
[[nodiscard]] const std::atomic<bool>& cancel_requested() noexcept;

// Throws Error(failure) "WHAT: interrupted" when a signal came in.
void throw_if_cancelled(const char* what);

// Dies by the signal that was caught, if one was; otherwise returns.
void die_by_caught_signal() noexcept;

}  // namespace paes::cli
