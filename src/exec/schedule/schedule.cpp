// SPDX-License-Identifier: Apache-2.0
#include "exec/schedule/schedule.hpp"

#include <cstddef>
#include <vector>

#include "exec/schedule/schedule_row.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

#define PAES_ROW_threads(name) &schedule_##name
#ifdef PAES_OPENMP
#define PAES_ROW_openmp(name) &schedule_##name
#else
#define PAES_ROW_openmp(name) nullptr
#endif

// In the order of the enumeration; null where this build has left one out. `serial` has no row.
constexpr const ScheduleRow* rows[] = {
#define PAES_SCHEDULE(name, needs) PAES_ROW_##needs(name),
#include "exec/schedule/schedules.def"
#undef PAES_SCHEDULE
};

const ScheduleRow* row_of(Schedule schedule) noexcept {
  return rows[static_cast<std::size_t>(schedule) - 1];
}

std::string what_there_is() {
  const bool is_whole = named_schedules().size() == std::size(rows);
  return (is_whole ? "there are: " : "this program was built without OpenMP, and has: ") +
         schedule_names();
}

}  // namespace

std::unique_ptr<Executor> make_executor(Schedule schedule, unsigned threads) {
  const unsigned wanted = checked_threads(threads);
  if (schedule == Schedule::serial || wanted == 1) {
    return make_serial_executor();
  }
  const ScheduleRow* const row = row_of(schedule);
  if (row == nullptr) {
    throw Error(ErrorCode::usage, "schedule: it needs OpenMP", what_there_is());
  }
  return row->make(wanted);
}

const char* name_of(Schedule schedule) noexcept {
  const ScheduleRow* const row = schedule == Schedule::serial ? nullptr : row_of(schedule);
  return row == nullptr ? "serial" : row->name;
}

std::span<const Schedule> named_schedules() noexcept {
  static const std::vector<Schedule> all = [] {
    std::vector<Schedule> found;
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      if (rows[i] != nullptr) {
        found.push_back(static_cast<Schedule>(i + 1));
      }
    }
    return found;
  }();
  return all;
}

std::string schedule_names() {
  std::string names;
  for (const Schedule schedule : named_schedules()) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(schedule));
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
              what_there_is());
}

}  // namespace paes
