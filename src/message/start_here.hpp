// Threads for the public headers' callers, whose programs must not end because one more cannot
// start. OpenMP keeps a pool for each thread that calls it, hence the question once for each.
#pragma once

#include "exec/executor.hpp"

namespace paes {

// Throws Error(failure) when the system does not give the executor's threads to this one. Costs
// nothing once they have been there.
inline void start_here(const Executor& executor) {
  thread_local unsigned started = 1;
  if (executor.threads() > started) {
    executor.start();
    started = executor.threads();
  }
}

}  // namespace paes
