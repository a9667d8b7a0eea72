// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/completer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace paes::mount {

namespace {

void block_all_signals() noexcept {
  sigset_t all;
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, nullptr);
}

bool is_readable(int descriptor) noexcept {
  pollfd event = {descriptor, POLLIN, 0};
  return poll(&event, 1, -1) == 1;
}

// Where the system reads this process's command line, as far as /proc says.
std::span<char> command_line() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t behind_name = line.rfind(')');
  std::istringstream fields(behind_name == std::string::npos ? "" : line.substr(behind_name + 1));
  std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  // proc(5): fields 48 and 49, of which the third comes first here.
  constexpr std::size_t begin = 45;
  if (words.size() <= begin + 1) {
    return {};
  }
  const std::uintptr_t first = std::strtoull(words[begin].c_str(), nullptr, 10);
  const std::uintptr_t end = std::strtoull(words[begin + 1].c_str(), nullptr, 10);
  if (first == 0 || end <= first) {
    return {};
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the system tells addresses as numbers
  return {reinterpret_cast<char*>(first), end - first};
}

// Whoever looks for the mount by its name or its words, to end it, does not find this process.
// `words` are its name and the mount's number. Where there is no room for both, it has its name.
void take_own_name(std::span<char> line, const std::string& words) noexcept {
  (void)prctl(PR_SET_NAME, cli::completer_name);
  std::fill(line.begin(), line.end(), '\0');
  const std::size_t bytes = words.size() < line.size()
                                ? words.size()
                                : std::min(std::strlen(cli::completer_name), line.size());
  std::copy_n(words.begin(), bytes, line.begin());
}

// What is written to an event is above 0.
constexpr std::uint64_t answer_without_error = 1;

// The other process. All of its descriptors are the mount's as well, so it closes none of those,
// and it calls nothing that may wait for a lock or allocate.
[[noreturn]] void complete_after(int mount, const volume::PendingWrites& pending,
                                 const cli::WriteClaim* claim, std::span<char> line,
                                 const std::string& words, int ready) noexcept {
  block_all_signals();
  (void)setsid();  // a signal to the mount's process group is not for this process
  take_own_name(line, words);
  (void)!chdir("/");
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    // If the system lacks memory, it is not this process that is killed. Only root may ask for
    // that; for others it is the mount that is larger.
    (void)!write(score, "-1000", 5);
    (void)close(score);
  }
  // By this process and not the mount: the system names who has taken it, also once the mount is
  // gone.
  const Result<void> claimed = claim == nullptr ? Result<void>() : claim->take();
  const std::uint64_t answer =
      answer_without_error + (claimed ? 0U : static_cast<unsigned>(claimed.error().number()));
  (void)!write(ready, &answer, sizeof answer);
  // It becomes readable once the last thread is gone, so nobody writes any more.
  while (!is_readable(mount)) {
  }
  (void)prctl(PR_SET_NAME, cli::completing_name);
  (void)pending.complete(volume::Backing());
  _exit(0);
}

}  // namespace

Completer::Completer(const volume::PendingWrites& pending, const cli::WriteClaim* claim)
    : mount_(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!mount_.is_open()) {
    throw_errno("pidfd_open");
  }
  if (!stop_.is_open()) {
    throw_errno("eventfd");
  }
  const Descriptor ready(eventfd(0, EFD_CLOEXEC));
  if (!ready.is_open()) {
    throw_errno("eventfd");
  }
  const std::span<char> line = command_line();
  const std::string words = cli::completer_name + (' ' + std::to_string(getpid()));
  // As fork(), apart from the descriptors. They stay open when the mount is gone.
  int process = -1;
  const long id =
      syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, nullptr, &process, nullptr, nullptr);
  if (id == 0) {
    complete_after(mount_.number(), pending, claim, line, words, ready.number());
  }
  if (id < 0) {
    throw_errno("clone");
  }
  id_ = static_cast<pid_t>(id);
  process_ = Descriptor(process);
  // Wait until it has its own name and session, so that signals for the mount miss it.
  std::array<pollfd, 2> events = {{{ready.number(), POLLIN, 0}, {process, POLLIN, 0}}};
  while (poll(events.data(), events.size(), -1) < 0 && errno == EINTR) {
  }
  std::uint64_t answer = 0;
  if (events[0].revents != 0 && read(ready.number(), &answer, sizeof answer) == sizeof answer) {
    if (answer != answer_without_error) {
      claimed_ = Errno(static_cast<int>(answer - answer_without_error));
    }
  } else if (claim != nullptr) {
    claimed_ = claim->take();  // it has ended already, which watch() tells
  }
}

Completer::~Completer() {
  if (watching_.joinable()) {
    const std::uint64_t one = 1;
    (void)!write(stop_.number(), &one, sizeof one);
    watching_.join();
  }
  (void)syscall(SYS_pidfd_send_signal, process_.number(), SIGKILL, nullptr, 0);
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Completer::watch(std::function<void()> tell) {
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);  // requests to stop are for the first thread
  try {
    watching_ = std::thread([this, tell = std::move(tell)] {
      std::array<pollfd, 2> events = {
          {{process_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}}};
      while (poll(events.data(), events.size(), -1) < 0) {
      }
      if (events[1].revents == 0) {
        tell();
      }
    });
  } catch (...) {
    (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace paes::mount
