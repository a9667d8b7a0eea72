// SPDX-License-Identifier: Apache-2.0
// The schedules that users can name. Programs, measurements and tests link this table and with it
// OpenMP's run-time library; libpaes uses make_thread_pool() alone and needs neither.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "exec/executor.hpp"

namespace paes {

enum class Schedule {
  serial,  // one thread, in order; users cannot name it
#define PAES_SCHEDULE(name, needs) name,
#include "exec/schedule/schedules.def"
#undef PAES_SCHEDULE
};

// `threads` 0 means one for every processor that this process may use. Throws Error(usage) above
// max_threads, and for a schedule that this build has left out.
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
