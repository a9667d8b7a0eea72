// SPDX-License-Identifier: Apache-2.0
#include "exec/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

namespace paes {

namespace {

// The kernel refuses a set that is smaller than its own.
unsigned processors_of_affinity() noexcept {
  for (std::size_t most = CPU_SETSIZE; most <= std::size_t{1} << 20; most *= 2) {
    cpu_set_t* const set = CPU_ALLOC(most);
    if (set == nullptr) {
      break;
    }
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const bool is_known = sched_getaffinity(0, bytes, set) == 0;
    const int count = is_known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (is_known) {
      return static_cast<unsigned>(std::max(count, 1));
    }
    if (errno != EINVAL) {
      break;
    }
  }
  return 1;
}

// "QUOTA PERIOD" in microseconds, or "max PERIOD" (cgroup-v2.rst of Linux, cpu.max).
std::optional<unsigned> processors_of_line(std::istream& line) {
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (!(line >> quota >> period) || period == 0) {
    return std::nullopt;
  }
  const std::uint64_t rounded_up = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(rounded_up, 1, UINT_MAX));
}

std::optional<unsigned> processors_of_own_quota() noexcept {
  try {
    std::ifstream file("/proc/self/cgroup");
    const std::string membership{std::istreambuf_iterator<char>(file), {}};
    return processors_of_quota(membership, "/sys/fs/cgroup");
  } catch (const std::exception&) {
    return std::nullopt;  // no memory
  }
}

}  // namespace

std::optional<unsigned> processors_of_quota(std::string_view membership,
                                            const std::filesystem::path& root) {
  constexpr std::string_view unified = "0::/";
  std::size_t at = membership.find(unified);
  while (at != std::string_view::npos && at != 0 && membership[at - 1] != '\n') {
    at = membership.find(unified, at + 1);
  }
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = membership.substr(at + unified.size());
  std::filesystem::path group = rest.substr(0, rest.find('\n'));
  std::optional<unsigned> least;
  for (;; group = group.parent_path()) {
    // The root has the file in a container alone, where it is the container's group.
    std::ifstream file(root / group / "cpu.max");
    if (const std::optional<unsigned> own = processors_of_line(file)) {
      least = std::min(least.value_or(*own), *own);
    }
    if (group.empty()) {
      return least;
    }
  }
}

unsigned usable_processors() noexcept {
  // No constant of the function: a child that was forked while a thread makes that waits for ever.
  static std::atomic<unsigned> quota{0};
  unsigned most = quota.load(std::memory_order_relaxed);
  if (most == 0) {
    most = processors_of_own_quota().value_or(UINT_MAX);
    quota.store(most, std::memory_order_relaxed);
  }
  return std::min(processors_of_affinity(), most);
}

}  // namespace paes
