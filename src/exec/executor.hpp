// SPDX-License-Identifier: Apache-2.0
// How work goes to threads. An executor knows nothing of cryptography or files.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace paes {

enum class Schedule {
  serial,  // one thread, in order; users cannot name it
#define PAES_SCHEDULE(name) name,
#include "exec/schedules.def"
#undef PAES_SCHEDULE
};

class Executor {
 public:
  virtual ~Executor() = default;

  [[nodiscard]] virtual unsigned threads() const noexcept = 0;

  // Starts the threads. Throws Error(failure) if the system cannot start that many; without this
  // call, OpenMP would end the process when it tries. Call it before you make anything that must
  // not be left half done.
  virtual void start() const = 0;

  // Calls fn(index) once for each index below count. After the first exception no further index is
  // handed out; once every running call has returned, it is rethrown here.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const = 0;

  // Calls fn(thread) once on each of threads() threads at the same time. Exceptions are handled as
  // in for_each(). If a body waits for its peers, the caller must tell it when one of them fails.
  virtual void on_each_thread(const std::function<void(unsigned)>& fn) const = 0;
};

// The executor for callers that need no threads. It is never destroyed.
[[nodiscard]] const Executor& serial_executor() noexcept;

// Starts the executor's threads for the calling thread, unless it has started as many before:
// OpenMP keeps a pool for each calling thread. Throws like start(). Libraries call it, because a
// program must not end when its library cannot start a thread.
void start_here(const Executor& executor);

// Enough for any machine, and few enough that a typing error does no harm.
inline constexpr unsigned max_threads = 4096;

// `threads` 0 means one for every processor that this process may use. Throws Error(usage) above
// max_threads. In a forked child, the forking thread gets new threads for each call, because it has
// lost its own.
[[nodiscard]] std::unique_ptr<Executor> make_executor(Schedule schedule, unsigned threads);

// The name by which users choose the schedule, or "serial", which they cannot choose.
[[nodiscard]] const char* name_of(Schedule schedule) noexcept;
// The schedules that users can choose, in the order of schedules.def.
[[nodiscard]] std::span<const Schedule> named_schedules() noexcept;
// Their names, with commas between them.
[[nodiscard]] std::string schedule_names();
// Throws Error(usage) that lists the names if there is no such schedule.
[[nodiscard]] Schedule parse_schedule(std::string_view name);

}  // namespace paes
