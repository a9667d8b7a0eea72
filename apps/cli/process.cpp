// SPDX-License-Identifier: Apache-2.0
#include "cli/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "crypto/libcrypto.hpp"

namespace paes::cli {

namespace {

Cancel* cancellation = nullptr;
std::atomic<int> caught{0};
bool ignores_closed_pipes = false;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

extern "C" void on_signal(int number) {
  caught.store(number);
  cancellation->request();
}

// A file opened later must not become descriptor 0, 1 or 2 and then receive messages or JSON. They
// get the wrong access mode, so that using the missing descriptor is still an error.
void open_missing_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) {
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void forbid_core_dumps() {
  const struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
#ifdef NDEBUG
  // Also keeps debuggers of the same user out; debug builds want theirs.
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

// A process inherits which signals are blocked and which are ignored. Supervisors, runtimes with
// threads and scripts leave some so by mistake, and then a request to stop would never arrive, or
// nobody would learn how a child ended: while SIGCHLD is ignored, waitpid(2) answers ECHILD.
//
// Two conventions are kept. SIGHUP, SIGINT and SIGQUIT stay ignored, because nohup(1) and the
// shells' background jobs want it: what they start outlives the terminal and its Ctrl-C. SIGTERM is
// how such a job is stopped in order, so it is always caught. And where SIGPIPE is ignored, a
// closed pipe is told as an error and not by the signal's death, as other programs do it too.
// Neither changes whether a command succeeds, or what it cleans up.
void take_back_inherited_signals() {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  (void)sigaction(SIGCHLD, &action, nullptr);
}

void catch_signals() {
  struct sigaction action = {};
  struct sigaction inherited = {};
  action.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &action, &inherited);
  ignores_closed_pipes = inherited.sa_handler == SIG_IGN;
  (void)sigaction(SIGXFSZ, &action, nullptr);
  // No SA_RESTART: a read that waits for a pipe or a terminal must return.
  action.sa_handler = on_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (sigaction(number, nullptr, &inherited) == 0 &&
        (inherited.sa_handler != SIG_IGN || number == SIGTERM)) {
      (void)sigaction(number, &action, nullptr);
    }
  }
}

}  // namespace

void prepare_process() {
  open_missing_descriptors();
  forbid_core_dumps();
  libcrypto::keep_keys_locked();
  static Cancel requests;
  (void)requests.descriptor();  // here, where it may throw
  cancellation = &requests;
  catch_signals();
  take_back_inherited_signals();  // from here on what was held back arrives, and is caught
}

void begin_as_child() {
  static Cancel requests_of_child;
  (void)requests_of_child.descriptor();
  cancellation = &requests_of_child;
  if (caught.load() != 0) {
    requests_of_child.request();
  }
}

const Cancel& cancel() noexcept { return *cancellation; }

int stop_descriptor() noexcept {
  return cancellation != nullptr ? cancellation->descriptor() : -1;  // is there, so nothing throws
}

bool stop_for_closed_output() noexcept {
  if (!ignores_closed_pipes) {
    on_signal(SIGPIPE);
  }
  return !ignores_closed_pipes;
}

bool has_stopped_for_closed_output() noexcept { return caught.load() == SIGPIPE; }

void die_by_caught_signal() noexcept {
  const int number = caught.load();
  if (number == 0) {
    return;
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  (void)sigaction(number, &action, nullptr);
  (void)raise(number);
}

std::size_t allow_open_files() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    const rlimit all = {limit.rlim_max, limit.rlim_max};
    limit = setrlimit(RLIMIT_NOFILE, &all) == 0 ? all : limit;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace paes::cli
