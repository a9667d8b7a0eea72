// SPDX-License-Identifier: Apache-2.0
// OpenMP with equal shares, decided beforehand.
#include "exec/schedule/openmp_executor.hpp"
#include "exec/schedule/schedule_row.hpp"

namespace paes {

namespace {

void for_each(std::size_t count, int threads, FirstError& error,
              const std::function<void(std::size_t)>& fn) {
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(error, fn, count)
  for (std::size_t index = 0; index < count; ++index) {
    error.guard([&] { fn(index); });
  }
}

std::unique_ptr<Executor> make(unsigned threads) { return make_openmp_executor(threads, for_each); }

}  // namespace

const ScheduleRow schedule_omp_static = {"static", make};

}  // namespace paes
