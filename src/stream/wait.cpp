#include "stream/wait.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

#include "core/descriptor.hpp"

namespace paes::stream {

void wait_ready(int descriptor, short events, const Cancel* cancel, const Cancel* stop) {
  const auto descriptor_of = [](const Cancel* one) {
    return one != nullptr ? one->descriptor() : -1;  // poll skips negative numbers
  };
  pollfd all[3] = {{descriptor, events, 0},
                   {descriptor_of(cancel), POLLIN, 0},
                   {descriptor_of(stop), POLLIN, 0}};
  for (;;) {
    const int ready = poll(all, 3, -1);
    check(cancel);
    check(stop);
    if (ready > 0 && all[0].revents != 0) {
      return;
    }
    if (ready < 0 && errno != EINTR) {
      throw_errno("poll");
    }
  }
}

void enlarge_pipe(int descriptor) noexcept {
  constexpr int wanted = 1 << 20;  // what an unprivileged process may ask for by default
  const int now = fcntl(descriptor, F_GETPIPE_SZ);
  if (now > 0 && now < wanted) {
    (void)fcntl(descriptor, F_SETPIPE_SZ, wanted);
  }
}

}  // namespace paes::stream
