// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/thread_home.hpp"

namespace paes::mount {

void ThreadHome::settle(unsigned processor) noexcept {
  // Nothing is known of systems with more processors than a set has room for.
  if (sched_getaffinity(0, sizeof anywhere_, &anywhere_) != 0 || processor >= CPU_SETSIZE ||
      !CPU_ISSET(processor, &anywhere_)) {
    return;
  }
  CPU_SET(processor, &home_);
  has_home_ = true;
  go(home_, true);
}

void ThreadHome::note_request(bool is_large) noexcept {
  constexpr unsigned patience = 4;
  if (!has_home_) {
    return;
  }
  small_requests_ = is_large ? 0 : small_requests_ + 1;
  if (is_large && is_home_) {
    go(anywhere_, false);
  } else if (!is_home_ && small_requests_ > patience) {
    go(home_, true);
  }
}

void ThreadHome::go(const cpu_set_t& processors, bool is_home) noexcept {
  is_home_ = is_home;
  (void)sched_setaffinity(0, sizeof processors, &processors);
}

}  // namespace paes::mount
