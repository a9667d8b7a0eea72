// Tells a process from the children that it forks: a child has none of its parent's threads, and
// would use the same keys, counters and nonces.
#pragma once

#include <cstdint>

namespace paes {

// Has forks counted from now on, and gives their number. Throws std::bad_alloc if the system has no
// memory for that.
std::uint32_t count_forks();

// In a child, one more than in its parent. A child that was made without fork() does not know.
[[nodiscard]] std::uint32_t forks() noexcept;

}  // namespace paes
