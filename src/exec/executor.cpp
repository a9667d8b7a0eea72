#include "exec/executor.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "exec/start_threads.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// What users may ask for; one thread is always served in order.
struct NamedSchedule {
  const char* name;
  Schedule schedule;
};
constexpr NamedSchedule named_schedules[] = {{"static", Schedule::omp_static},
                                             {"dynamic", Schedule::omp_dynamic}};

// Keeps the first exception of several threads and says when to stop handing out work.
class FirstError {
 public:
  template <typename Fn>
  void guard(Fn&& fn) noexcept {
    if (stopped_.load(std::memory_order_relaxed)) {
      return;
    }
    try {
      fn();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) {
        error_ = std::current_exception();
      }
      stopped_.store(true, std::memory_order_relaxed);
    }
  }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

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

class OpenMpExecutor final : public Executor {
 public:
  OpenMpExecutor(unsigned threads, bool dynamic) : threads_(threads), dynamic_(dynamic) {}

  [[nodiscard]] unsigned threads() const noexcept override { return threads_; }

  void start() const override {
    check_threads_can_start(std::min(threads_, static_cast<unsigned>(omp_get_thread_limit())));
    // The run-time library keeps these threads for the work, so that no limit met later matters.
    on_each_thread([](unsigned) {});
  }

  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    FirstError first_error;
    const int threads =
        static_cast<int>(std::min<std::size_t>(threads_, std::max<std::size_t>(count, 1)));
    if (dynamic_) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) default(none) \
    shared(first_error, fn, count)
      for (std::size_t index = 0; index < count; ++index) {
        first_error.guard([&] { fn(index); });
      }
    } else {
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(first_error, fn, count)
      for (std::size_t index = 0; index < count; ++index) {
        first_error.guard([&] { fn(index); });
      }
    }
    first_error.rethrow();
  }

  void on_each_thread(const std::function<void(unsigned)>& fn) const override {
    FirstError first_error;
#pragma omp parallel num_threads(static_cast <int>(threads_)) default(none) shared(first_error, fn)
    first_error.guard([&] { fn(static_cast<unsigned>(omp_get_thread_num())); });
    first_error.rethrow();
  }

 private:
  unsigned threads_;
  bool dynamic_;
};

}  // namespace

const Executor& serial_executor() noexcept {
  // Never destroyed: threads that nobody joins may still be using it when the program ends.
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
  const unsigned wanted = threads == 0 ? static_cast<unsigned>(omp_get_num_procs()) : threads;
  if (schedule == Schedule::serial || wanted == 1) {
    return std::make_unique<SerialExecutor>();
  }
  return std::make_unique<OpenMpExecutor>(wanted, schedule == Schedule::omp_dynamic);
}

const char* name_of(Schedule schedule) noexcept {
  for (const NamedSchedule& row : named_schedules) {
    if (row.schedule == schedule) {
      return row.name;
    }
  }
  return "serial";
}

Schedule parse_schedule(std::string_view name) {
  std::string known;
  for (const NamedSchedule& row : named_schedules) {
    if (name == row.name) {
      return row.schedule;
    }
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::usage, "schedule: unknown name '" + std::string(name) + "'",
              "there are: " + known);
}

}  // namespace paes
