// SPDX-License-Identifier: Apache-2.0
#include "core/children.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace paes {

void give_own_signals(posix_spawnattr_t& attributes) noexcept {
  sigset_t none;
  sigset_t defaults;
  (void)sigemptyset(&none);
  (void)sigfillset(&defaults);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) {
    (void)sigdelset(&defaults, number);
  }
  (void)posix_spawnattr_setsigmask(&attributes, &none);
  (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

std::optional<int> wait_for_child(pid_t child) noexcept {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return std::nullopt;
    }
  }
  return status;
}

}  // namespace paes
