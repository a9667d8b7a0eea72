// SPDX-License-Identifier: Apache-2.0
// Checks whether a team of threads can start, before anything depends on it. If a thread cannot be
// created (the user's limits, memory, OMP_STACKSIZE), OpenMP ends the process with a message of its
// own and leaves the program's work half done.
#pragma once

namespace paes {

// Throws Error(failure) unless `threads` threads, including the caller's, can exist at the same
// time with the stacks that OpenMP will give them.
void check_threads_can_start(unsigned threads);

}  // namespace paes
