// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <system_error>
#include <thread>

#include "core/forks.hpp"
#include "exec/schedule_row.hpp"
#include "exec/start_threads.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// In the order of the enumeration. `serial` has no row.
constexpr const ScheduleRow* rows[] = {
#define PAES_SCHEDULE(name) &schedule_##name,
#include "exec/schedules.def"
#undef PAES_SCHEDULE
};

const ScheduleRow& row_of(Schedule schedule) {
  return *rows[static_cast<std::size_t>(schedule) - 1];
}

class SerialExecutor final : public Executor {
 public:
  [[nodiscard]] unsigned threads() const noexcept override { return 1; }
  void start() const override {}
  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    for (std::size_t index = 0; index < count; ++index) {
      fn(index);
    }
  }
  void on_each_thread(const std::function<void(unsigned)>& fn) const override { fn(0); }
};

// OpenMP keeps a pool for each thread that uses it. The pool does not survive a fork, and libgomp
// would wait for its threads for ever. The one thread that a forked child starts with has lost its
// pool, if it had one.
bool has_lost_its_threads() noexcept {
  thread_local const std::uint32_t forks_before = forks();
  return forks() != forks_before;
}

class OpenMpExecutor final : public Executor {
 public:
  OpenMpExecutor(unsigned threads, const ScheduleRow& row) : threads_(threads), row_(row) {
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
    as_team([&] { row_.for_each(count, threads, first_error, fn); });
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
  const ScheduleRow& row_;
};

}  // namespace

const Executor& serial_executor() noexcept {
  // Never destroyed: threads that nobody joins may still use it when the program ends.
  alignas(SerialExecutor) static std::byte memory[sizeof(SerialExecutor)];
  static const Executor& serial = *new (memory) SerialExecutor;
  return serial;
}

void start_here(const Executor& executor) {
  thread_local unsigned started = 1;
  if (executor.threads() > started) {
    executor.start();
    started = executor.threads();
  }
}

std::unique_ptr<Executor> make_executor(Schedule schedule, unsigned threads) {
  if (threads > max_threads) {
    throw Error(ErrorCode::usage, "threads: " + std::to_string(threads) +
                                      " is above the limit of " + std::to_string(max_threads));
  }
  const unsigned wanted = threads == 0 ? static_cast<unsigned>(omp_get_num_procs()) : threads;
  if (schedule == Schedule::serial || wanted == 1) {
    return std::make_unique<SerialExecutor>();
  }
  return std::make_unique<OpenMpExecutor>(wanted, row_of(schedule));
}

const char* name_of(Schedule schedule) noexcept {
  return schedule == Schedule::serial ? "serial" : row_of(schedule).name;
}

std::span<const Schedule> named_schedules() noexcept {
  static constexpr Schedule all[] = {
#define PAES_SCHEDULE(name) Schedule::name,
#include "exec/schedules.def"
#undef PAES_SCHEDULE
  };
  return all;
}

std::string schedule_names() {
  std::string names;
  for (const ScheduleRow* row : rows) {
    names += (names.empty() ? "" : ", ") + std::string(row->name);
  }
  return names;
}

Schedule parse_schedule(std::string_view name) {
  for (const Schedule schedule : named_schedules()) {
    if (name == name_of(schedule)) {
      return schedule;
    }
  }
  throw Error(ErrorCode::usage, "schedule: unknown name '" + std::string(name) + "'",
              "there are: " + schedule_names());
}

}  // namespace paes
