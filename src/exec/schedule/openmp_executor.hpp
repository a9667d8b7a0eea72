// SPDX-License-Identifier: Apache-2.0
// OpenMP's threads as an executor. Its run-time library keeps a pool for each thread that calls it.
// The forking thread of a forked child has lost its own, and gets new threads for each call.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "exec/executor.hpp"
#include "exec/first_error.hpp"

namespace paes {

// Calls fn(index), guarded by `error`, for each index below count, on up to `threads` threads.
using OpenMpLoop = void (*)(std::size_t count, int threads, FirstError& error,
                            const std::function<void(std::size_t)>& fn);

[[nodiscard]] std::unique_ptr<Executor> make_openmp_executor(unsigned threads, OpenMpLoop loop);

}  // namespace paes
