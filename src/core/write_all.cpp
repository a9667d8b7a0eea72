// SPDX-License-Identifier: Apache-2.0
#include "core/write_all.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace paes {

namespace {

// On failure, errno says why.
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

// True if a write may wait for a reader. One to a file or a disk does not, whatever poll says.
bool has_reader(int descriptor) noexcept {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
}

}  // namespace

// A write that waits inside the system notices no request to end. So with a `stop`, poll does the
// waiting, and each write is no larger than what a pipe takes at once (pipe(7)).
bool write_all(int descriptor, Bytes bytes, int stop) noexcept {
  const bool waits_first = stop >= 0 && has_reader(descriptor);
  while (!bytes.empty()) {
    if (waits_first && !wait_writable(descriptor, stop)) {
      return false;
    }
    const std::size_t most = waits_first ? std::size_t{PIPE_BUF} : bytes.size();
    const ssize_t written = write(descriptor, bytes.data(), std::min(bytes.size(), most));
    if (written > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (written == 0) {
      errno = EIO;  // the device takes nothing, now or later
      return false;
    } else if (errno != EAGAIN || !wait_writable(descriptor, stop)) {
      return false;
    }
  }
  return true;
}

}  // namespace paes
