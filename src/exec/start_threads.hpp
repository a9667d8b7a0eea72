// SPDX-License-Identifier: Apache-2.0
// Whether a team of threads can start, asked before anything depends on it. If a thread cannot be
// created (the user's limits, memory, OMP_STACKSIZE), the OpenMP run-time libraries end the process
// with a message of their own and leave behind what the program has half done.
#pragma once

namespace paes {

// Throws Error(failure) unless `threads` threads, the caller's among them, can exist at the same
// time with the stacks that OpenMP will give them.
void check_threads_can_start(unsigned threads);

}  // namespace paes
