// SPDX-License-Identifier: Apache-2.0
// What a schedule is: a name for users, and an executor.
#pragma once

#include <memory>

#include "exec/executor.hpp"

namespace paes {

struct ScheduleRow {
  const char* name;
  // For two threads or more.
  std::unique_ptr<Executor> (*make)(unsigned threads);
};

#define PAES_SCHEDULE(name, needs) extern const ScheduleRow schedule_##name;
#include "exec/schedule/schedules.def"
#undef PAES_SCHEDULE

}  // namespace paes
