#include "paes/cancel.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace paes {

Cancel::Cancel() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw Error(ErrorCode::failure, std::string("eventfd: ") + std::strerror(errno));
  }
}

Cancel::~Cancel() { (void)close(descriptor_); }

void Cancel::request() noexcept {
  const int saved_errno = errno;
  requested_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  // Nobody reads the event, so it stays readable for every thread that waits.
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
  errno = saved_errno;
}

void Cancel::check() const {
  if (requested()) {
    throw Error(ErrorCode::failure, "interrupted: stopped before the end");
  }
}

}  // namespace paes
