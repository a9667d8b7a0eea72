#include "paes/prompt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/descriptor.hpp"
#include "paes/process.hpp"
#include "stream/wait.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t max_line_bytes = 4096;  // what a terminal line can hold

// What the signal handlers need to know. All but `question` is set before there are handlers.
struct Asking {
  int terminal = -1;
  struct termios before = {};
  struct termios silent = {};
  struct sigaction stop_before = {};
  struct sigaction continue_before = {};
  std::atomic<const char*> question{nullptr};  // null: the echo stays on
};
Asking asking;
static_assert(std::atomic<const char*>::is_always_lock_free,
              "a signal handler may not wait for a lock");

void write_text(const char* text) noexcept {
  // A terminal that cannot be written to cannot be read from either, and that is an error.
  [[maybe_unused]] const ssize_t written = write(asking.terminal, text, std::strlen(text));
}

// Asks again where the echo is on, as a shell may have left it. In the background the system stops
// us here until the terminal is ours.
void silence_again() noexcept {
  const char* question = asking.question.load();
  struct termios now = {};
  if (question != nullptr && tcgetattr(asking.terminal, &now) == 0 && (now.c_lflag & ECHO) != 0) {
    (void)tcsetattr(asking.terminal, TCSAFLUSH, &asking.silent);
    write_text(question);
  }
}

extern "C" void on_continue(int) {
  const int saved_errno = errno;
  silence_again();
  errno = saved_errno;
}

// SIGTSTP: stops as if it were not caught, but with the terminal as it was.
extern "C" void on_stop(int number) {
  const int saved_errno = errno;
  (void)tcsetattr(asking.terminal, TCSANOW, &asking.before);
  struct sigaction ours = {};
  struct sigaction stopping = {};
  stopping.sa_handler = SIG_DFL;
  (void)sigaction(number, &stopping, &ours);
  (void)raise(number);  // returns when we are continued, or at once where nobody could do that
  (void)sigaction(number, &ours, nullptr);
  silence_again();
  errno = saved_errno;
}

void catch_stops() {
  struct sigaction action = {};
  action.sa_handler = on_continue;
  (void)sigaction(SIGCONT, &action, &asking.continue_before);
  (void)sigaction(SIGTSTP, nullptr, &asking.stop_before);
  if (asking.stop_before.sa_handler != SIG_IGN) {
    action.sa_handler = on_stop;
    action.sa_flags = SA_NODEFER;  // raise() must reach us inside of the handler
    (void)sigaddset(&action.sa_mask, SIGCONT);
    (void)sigaction(SIGTSTP, &action, nullptr);
  }
}

bool only_in_foreground = false;

}  // namespace

void never_prompt_in_background() noexcept { only_in_foreground = true; }

Prompt::Prompt() : terminal_(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (!terminal_.is_open() || (only_in_foreground && tcgetpgrp(terminal_.number()) != getpgrp())) {
    throw Error(ErrorCode::failure, "passphrase: there is no terminal to ask at",
                "use --passphrase-file or --passphrase-fd");
  }
  assert(asking.terminal == -1);
  if (tcgetattr(terminal_.number(), &asking.before) != 0) {
    throw_errno("terminal");
  }
  asking.silent = asking.before;
  asking.silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  asking.silent.c_lflag |= ECHONL | ICANON | ISIG;
  asking.terminal = terminal_.number();
  catch_stops();
  if (tcsetattr(terminal_.number(), TCSAFLUSH, &asking.silent) != 0) {
    const int error = errno;
    (void)sigaction(SIGTSTP, &asking.stop_before, nullptr);
    (void)sigaction(SIGCONT, &asking.continue_before, nullptr);
    asking.terminal = -1;
    errno = error;
    throw_errno("terminal");
  }
}

Prompt::~Prompt() {
  asking.question.store(nullptr);
  (void)tcsetattr(terminal_.number(), TCSADRAIN, &asking.before);
  (void)sigaction(SIGTSTP, &asking.stop_before, nullptr);
  (void)sigaction(SIGCONT, &asking.continue_before, nullptr);
  asking.terminal = -1;
}

SecretBytes Prompt::ask(const char* question) {
  SecretBytes line(max_line_bytes);
  std::size_t filled = 0;
  asking.question.store(question);  // first: it may be stopped as soon as it is shown
  write_text(question);
  for (;;) {
    try {
      stream::wait_ready(terminal_.number(), POLLIN, &cancel(), nullptr);
    } catch (...) {
      write_text("\n");  // the message begins on a line of its own
      throw;
    }
    const ssize_t got = read(terminal_.number(), line.data() + filled, line.size() - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw_errno("terminal");
    }
    filled += static_cast<std::size_t>(got);
    if (got == 0 || line.data()[filled - 1] == '\n') {
      line.truncate(got == 0 ? filled : filled - 1);
      return line;
    }
    if (filled == line.size()) {
      throw Error(ErrorCode::usage, "passphrase: longer than a terminal line",
                  "use --passphrase-file");
    }
  }
}

}  // namespace paes::cli
