// SPDX-License-Identifier: Apache-2.0
#include "core/write_all.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace paes {

namespace {

// False: errno says why not.
bool wait_writable(int descriptor, int stop) noexcept {
  constexpr int last_ms = 200;
  pollfd events[] = {{descriptor, POLLOUT, 0}, {stop, POLLIN, 0}};  // poll skips negative numbers
  int ready = -1;
  do {
    ready = poll(events, 2, -1);
  } while (ready < 0 && errno == EINTR && stop >= 0);  // a request to end makes `stop` readable
  if (ready > 0 && events[0].revents == 0) {
    ready = poll(events, 1, last_ms);
    errno = EINTR;
  }
  return ready > 0;
}

}  // namespace

bool write_all(int descriptor, Bytes bytes, int stop) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (written == 0) {
      errno = EIO;  // a device that takes nothing, and will not take more of it the next time
      return false;
    } else if (errno != EAGAIN || !wait_writable(descriptor, stop)) {
      return false;
    }
  }
  return true;
}

}  // namespace paes
