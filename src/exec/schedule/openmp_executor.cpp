// SPDX-License-Identifier: Apache-2.0
#include "exec/schedule/openmp_executor.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "core/forks.hpp"
#include "exec/schedule/start_threads.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// OpenMP keeps a pool for each thread that uses it. The pool does not survive a fork, and libgomp
// would wait for its threads for ever. The one thread that a forked child starts with has lost its
// pool, if it had one.
bool has_lost_its_threads() noexcept {
  thread_local const std::uint32_t forks_before = forks();
  return forks() != forks_before;
}

class OpenMpExecutor final : public Executor {
 public:
  OpenMpExecutor(unsigned threads, OpenMpLoop loop) : threads_(threads), loop_(loop) {
    (void)count_forks();
  }

  [[nodiscard]] unsigned threads() const noexcept override { return threads_; }

  void start() const override {
    check_threads_can_start(std::min(threads_, static_cast<unsigned>(omp_get_thread_limit())));
    // The OpenMP library keeps these threads for the work, so later limits do not matter.
    on_each_thread([](unsigned) {});
  }

  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    FirstError first_error;
    const int threads =
        static_cast<int>(std::min<std::size_t>(threads_, std::max<std::size_t>(count, 1)));
    as_team([&] { loop_(count, threads, first_error, fn); });
    first_error.rethrow();
  }

  void on_each_thread(const std::function<void(unsigned)>& fn) const override {
    FirstError first_error;
    as_team([&] { call_on_each_thread(first_error, fn); });
    first_error.rethrow();
  }

 private:
  void call_on_each_thread(FirstError& first_error, const std::function<void(unsigned)>& fn) const {
#pragma omp parallel num_threads(static_cast <int>(threads_)) default(none) shared(first_error, fn)
    first_error.guard([&] { fn(static_cast<unsigned>(omp_get_thread_num())); });
  }

  // Runs work for several threads, started from this one or from a new one with a pool of its own.
  template <typename Task>
  void as_team(const Task& work) const {
    if (!has_lost_its_threads()) {
      work();
      return;
    }
    std::exception_ptr error;
    try {
      const std::jthread apart([&] {
        try {
          start();
          work();
        } catch (...) {
          error = std::current_exception();
        }
      });
    } catch (const std::system_error&) {
      throw Error(ErrorCode::failure, "threads: none could be started",
                  "look at the limits: ulimit -u, ulimit -v");
    }
    if (error) {
      std::rethrow_exception(error);
    }
  }

  unsigned threads_;
  OpenMpLoop loop_;
};

}  // namespace

std::unique_ptr<Executor> make_openmp_executor(unsigned threads, OpenMpLoop loop) {
  return std::make_unique<OpenMpExecutor>(threads, loop);
}

}  // namespace paes
