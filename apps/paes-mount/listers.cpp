// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/listers.hpp"

namespace paes::mount {

bool Listers::wants_attributes(pid_t process) noexcept {
  if (process <= 0) {
    return true;
  }
  std::atomic<std::uint64_t>& place = place_of(process);
  const std::uint64_t known = place.load(std::memory_order_relaxed);
  if (known == as_known(process, with_attributes)) {
    return true;
  }
  const bool has_read_one =
      known == as_known(process, with_attributes_once) || known == as_known(process, names_alone);
  place.store(as_known(process, has_read_one ? names_alone : with_attributes_once),
              std::memory_order_relaxed);
  return !has_read_one;
}

void Listers::has_asked(pid_t process) noexcept {
  if (process <= 0) {
    return;
  }
  std::uint64_t expected = as_known(process, names_alone);
  (void)place_of(process).compare_exchange_strong(expected, as_known(process, with_attributes),
                                                  std::memory_order_relaxed);
}

}  // namespace paes::mount
