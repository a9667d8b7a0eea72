// SPDX-License-Identifier: Apache-2.0
#include "paes/cancel.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace paes {

static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler uses it

Cancel::Cancel() = default;

Cancel::~Cancel() {
  if (const int made = descriptor_.load(); made >= 0) {
    (void)close(made);
  }
}

int Cancel::descriptor() const {
  if (const int made = descriptor_.load(); made >= 0) {
    return made;
  }
  const int own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (own < 0) {
    throw Error(ErrorCode::failure, std::string("eventfd: ") + std::strerror(errno));
  }
  int made = -1;
  if (!descriptor_.compare_exchange_strong(made, own)) {
    (void)close(own);  // another thread was first
    return made;
  }
  // An earlier request found no descriptor. A later one finds this.
  if (requested_.load()) {
    show();
  }
  return own;
}

void Cancel::show() const noexcept {
  if (const int made = descriptor_.load(); made >= 0) {
    const std::uint64_t one = 1;
    // Nobody reads the event, so it stays readable for every waiting thread.
    [[maybe_unused]] const ssize_t written = ::write(made, &one, sizeof one);
  }
}

void Cancel::request() noexcept {
  const int saved_errno = errno;
  requested_.store(true);  // before it looks for the descriptor
  show();
  errno = saved_errno;
}

void Cancel::check() const {
  if (requested()) {
    throw Error(ErrorCode::failure, "interrupted: stopped before the end");
  }
}

}  // namespace paes
