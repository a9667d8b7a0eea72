// SPDX-License-Identifier: Apache-2.0
// Threads of our own. All executors of a process share one pool, because a program has many of them
// (each key of the library has one) and only so many processors.
//
// - A thread without work lets everybody else have the processor for 200 microseconds, in case
//   another call follows, and then sleeps. A call wakes as many as it has pieces for, and its own
//   thread works, too.
// - for_each() never waits for a thread to come: the caller takes pieces until none is left, and
//   then waits for pieces that others have begun. On a busy machine, where a thread that was woken
//   may be long in coming, a call is therefore not slower than on one thread. Callers at a time
//   share the threads: none waits for another's call, and between pieces a thread goes to the call
//   that has fewest.
// - on_each_thread() has its threads to itself, and starts those that are missing. It throws
//   Error(failure) before any body has run if they cannot start.
// - Calls may be made within calls.
// - Threads stay for later calls: as many as any executor has asked for, at most, or as there are
//   processors. They block all signals but those that a thread brings upon itself, are called
//   "paes", and never end or delay the process. Since they stay, code that contains this must not
//   be unloaded: libpaes.so is linked with -z nodelete.
// - A forked child has none of these threads and starts its own. If the fork happened within a
//   call, this call throws Error(failure) in the child when other threads were at work for it. A
//   body that runs on a thread of the pool may fork, but the child must end in that body.
// - A new thread may use the processors of the thread that started it.
#pragma once

#include <memory>

#include "exec/executor.hpp"

namespace paes {

// `threads` 0 means one for every processor that this process may use. Throws Error(usage) above
// max_threads.
[[nodiscard]] std::unique_ptr<Executor> make_thread_pool(unsigned threads);

}  // namespace paes
