// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/background.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "cli/command.hpp"
#include "cli/process.hpp"
#include "core/children.hpp"
#include "paes/error.hpp"

namespace paes::mount {

namespace {

// Whether the child has reported that it goes on alone. A request to stop is passed on to it once,
// and it says how that ends.
bool wait_for_report(int pipe, pid_t child) {
  bool is_told = false;
  for (;;) {
    std::array<pollfd, 2> events = {
        {{pipe, POLLIN, 0}, {is_told ? -1 : cli::cancel().descriptor(), POLLIN, 0}}};
    if (poll(events.data(), events.size(), -1) < 0) {
      continue;  // a signal, whose handler makes the second descriptor readable
    }
    if (events[0].revents != 0) {
      char report = 0;
      const ssize_t bytes = read(pipe, &report, 1);
      if (bytes < 0 && errno == EINTR) {
        continue;
      }
      return bytes == 1;
    }
    if (events[1].revents != 0) {
      (void)kill(child, SIGTERM);
      is_told = true;
    }
  }
}

// It has not reported, so nothing is mounted, whatever it says when it ends.
int code_of_ended(pid_t child) {
  const std::optional<int> status = wait_for_child(child);
  if (status && WIFSIGNALED(*status)) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    (void)sigaction(WTERMSIG(*status), &action, nullptr);
    (void)raise(WTERMSIG(*status));
  }
  return status && WIFEXITED(*status) && WEXITSTATUS(*status) != cli::exit_done
             ? WEXITSTATUS(*status)
             : static_cast<int>(ErrorCode::failure);
}

}  // namespace

std::optional<int> Background::fork_child() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw_errno("pipe");
  }
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw_errno("fork");
  }
  if (child != 0) {
    writing = Descriptor();
    if (wait_for_report(reading.number(), child)) {
      return cli::exit_done;
    }
    return code_of_ended(child);
  }
  cli::begin_as_child();
  // Nobody would see whether a mount works whose starter was killed.
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    throw Error(ErrorCode::failure, "interrupted: who started this is gone");
  }
  report_ = std::move(writing);
  return std::nullopt;
}

void Background::leave() {
  (void)prctl(PR_SET_PDEATHSIG, 0);
  (void)setsid();
  if (chdir("/") != 0) {
    throw_errno("/");
  }
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing.is_open()) {
    throw_errno("/dev/null");
  }
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(nothing.number(), number) < 0) {
      throw_errno("/dev/null");
    }
  }
  const char report = 1;
  while (write(report_.number(), &report, 1) < 0 && errno == EINTR) {
  }
  report_ = Descriptor();
}

}  // namespace paes::mount
