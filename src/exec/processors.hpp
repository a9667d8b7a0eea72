// SPDX-License-Identifier: Apache-2.0
// How many processors a process may keep busy: what its affinity allows, and in a container what
// the quota of its control group leaves.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace paes {

// At least 1. The affinity is the calling thread's (sched_setaffinity, taskset). The quota is that
// of cgroup v2 (cpu.max), rounded up, and is read once in a process. cgroup v1 is not asked.
[[nodiscard]] unsigned usable_processors() noexcept;

// The least quota from the group up to the root, in processors, rounded up; nothing if there is
// none. `membership` is what /proc/self/cgroup says, `root` where cgroup v2 is mounted.
[[nodiscard]] std::optional<unsigned> processors_of_quota(std::string_view membership,
                                                          const std::filesystem::path& root);

}  // namespace paes
