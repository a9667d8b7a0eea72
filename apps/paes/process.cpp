#include "paes/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "format/libcrypto.hpp"

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
    if (sigaction(number, nullptr, &inherited) == 0 && inherited.sa_handler != SIG_IGN) {
      (void)sigaction(number, &action, nullptr);  // nohup and background jobs stay as they are
    }
  }
}

}  // namespace

void prepare_process() {
  open_missing_descriptors();
  forbid_core_dumps();
  libcrypto::keep_keys_locked();
  static Cancel requests;
  cancellation = &requests;
  catch_signals();
}

void begin_as_child() {
  static Cancel requests_of_child;
  cancellation = &requests_of_child;
  if (caught.load() != 0) {
    requests_of_child.request();
  }
}

const Cancel& cancel() noexcept { return *cancellation; }

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

}  // namespace paes::cli
