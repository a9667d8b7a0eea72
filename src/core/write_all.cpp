#include "core/write_all.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace paes {

bool write_all(int descriptor, Bytes bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      continue;
    }
    pollfd writable = {descriptor, POLLOUT, 0};
    if (errno != EAGAIN || poll(&writable, 1, -1) < 0) {
      return false;
    }
  }
  return true;
}

}  // namespace paes
