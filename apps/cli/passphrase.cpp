// SPDX-License-Identifier: Apache-2.0
#include "cli/passphrase.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "cli/help_page.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t max_passphrase_bytes = std::size_t{64} << 10;
constexpr std::size_t max_line_bytes = 4096;  // what a terminal line can hold

bool ends_in_carriage_return(const SecretBytes& passphrase) {
  return !passphrase.empty() && passphrase.data()[passphrase.size() - 1] == '\r';
}

// What the signal handlers need to know. Only `question` changes while they are installed.
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

// Asks again if a shell has switched the echo on meanwhile. A process in the background is stopped
// here until the terminal is its own.
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
    action.sa_flags = SA_NODEFER;  // raise() must reach us inside the handler
    (void)sigaddset(&action.sa_mask, SIGCONT);
    (void)sigaction(SIGTSTP, &action, nullptr);
  }
}

void catch_no_stops() {
  (void)sigaction(SIGTSTP, &asking.stop_before, nullptr);
  (void)sigaction(SIGCONT, &asking.continue_before, nullptr);
  asking.terminal = -1;
}

bool only_in_foreground = false;

enum class Answer { hidden, shown };

// A question at the terminal. The terminal is restored however the
// question ends, and while paes is stopped in the middle of it (Ctrl-Z). Only one Prompt exists at
// a time, because signal handlers have to find it: a second thread's waits for the first.
class Prompt {
 public:
  // What was typed before the question is lost, because nobody knew yet that it would be a secret,
  // unless it is `kept`.
  enum class TypedAhead : int { lost = TCSAFLUSH, kept = TCSANOW };
  // Turns the terminal's echo off if the answer is hidden. Throws Error(failure) when there is no
  // terminal. The hint says what else the user can do.
  Prompt(Answer answer, const char* hint, TypedAhead typed_ahead = TypedAhead::lost);
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  // The line that is typed. `question` must outlive the call. Throws Error(failure) when paes is
  // asked to stop.
  [[nodiscard]] SecretBytes ask(const char* question);

 private:
  static std::mutex turn;
  const std::lock_guard<std::mutex> turn_{turn};
  const char* hint_;
  Descriptor terminal_;
};
std::mutex Prompt::turn;

constexpr const char* use_a_file = "use --passphrase-file or --passphrase-fd";

Prompt::Prompt(Answer answer, const char* hint, TypedAhead typed_ahead)
    : hint_(hint), terminal_(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (!terminal_.is_open() || (only_in_foreground && tcgetpgrp(terminal_.number()) != getpgrp())) {
    throw Error(ErrorCode::failure, "passphrase: there is no terminal to ask at", hint_);
  }
  assert(asking.terminal == -1);
  if (tcgetattr(terminal_.number(), &asking.before) != 0) {
    throw_errno("terminal");
  }
  asking.silent = asking.before;
  if (answer == Answer::hidden) {
    asking.silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  }
  asking.silent.c_lflag |= ECHONL | ICANON | ISIG;
  asking.terminal = terminal_.number();
  catch_stops();
  if (tcsetattr(terminal_.number(), static_cast<int>(typed_ahead), &asking.silent) != 0) {
    const int error = errno;
    catch_no_stops();
    errno = error;
    throw_errno("terminal");
  }
}

Prompt::~Prompt() {
  asking.question.store(nullptr);
  (void)tcsetattr(terminal_.number(), TCSADRAIN, &asking.before);
  catch_no_stops();
}

SecretBytes Prompt::ask(const char* question) {
  SecretBytes line(max_line_bytes);
  std::size_t filled = 0;
  // before the question is shown, because Ctrl-Z may come right after
  asking.question.store(question);
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
    refuse(filled == line.size(), "passphrase: longer than a terminal line", hint_);
  }
}

}  // namespace

SecretBytes ask_as_age(const char* question) {
  return Prompt(Answer::hidden, "", Prompt::TypedAhead::kept).ask(question);
}

void show_at_terminal(std::string_view before, Bytes secret, std::string_view after) {
  const Descriptor terminal(open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC));
  const auto put = [&](const void* from, std::size_t bytes) {
    return write(terminal.number(), from, bytes) == static_cast<ssize_t>(bytes);
  };
  if (!terminal.is_open() || !put(before.data(), before.size()) ||
      !put(secret.data(), secret.size()) || !put(after.data(), after.size())) {
    throw Error(ErrorCode::failure, "passphrase: there is no terminal to show it at");
  }
}

void never_prompt_in_background() noexcept { only_in_foreground = true; }

WaitReady until_signal() {
  return [](int descriptor, short events) {
    cancel().check();
    if (descriptor < 0) {
      return;
    }
    try {
      stream::wait_ready(descriptor, events, &cancel(), nullptr);
    } catch (...) {
      if (cancel().requested()) {
        throw;
      }
      // poll itself failed, perhaps for lack of memory: the derivation ends without it.
    }
  };
}

age::Prompts terminal_prompts() {
  const auto ask = [](Answer answer, const std::string& question) {
    return Prompt(answer, "").ask(question.c_str());
  };
  age::Prompts prompts;
  prompts.passphrase = [ask](const std::string& question) {
    return ask(Answer::hidden, printable(question));
  };
  prompts.answer = [ask](const std::string& question) {
    return ask(Answer::shown, printable(question));
  };
  prompts.confirm = [ask](const std::string& question, const std::string& yes,
                          const std::string& no) {
    const std::string choice =
        no.empty() ? fmt::format("{}\nEnter for \"{}\": ", printable(question), printable(yes))
                   : fmt::format("{}\n1 for \"{}\", 2 for \"{}\": ", printable(question),
                                 printable(yes), printable(no));
    for (;;) {
      const SecretBytes answer = ask(Answer::shown, choice);
      const std::string_view text(reinterpret_cast<const char*>(answer.data()), answer.size());
      if (no.empty() || text == "1" || text == "2") {
        return text != "2";
      }
    }
  };
  prompts.show = [](const std::string& message) { print_note("paes: " + message); };
  prompts.warn = print_warning;
  prompts.wait = until_signal();
  return prompts;
}

void PassphraseOptions::declare(CLI::App& app, const std::string& prefix,
                                const std::string& what_for) {
  const OptionGroup keys(app, keys_group);
  source_.declare(app, prefix + "passphrase", what_for + " (one trailing newline is dropped)",
                  "the passphrase, from this open file descriptor");
}

void PassphraseOptions::use_file(const std::string& path) {
  refuse(has_source(), "passphrase: more than one source of it is given");
  source_.use_file(path);
}

void PassphraseOptions::refuse_as_output(const stream::FilePlace& output) const {
  source_.refuse_as_output(output, "passphrase");
}

SecretBytes PassphraseOptions::read_source() const {
  SecretBytes passphrase = source_.read(max_passphrase_bytes);
  if (!passphrase.empty() && passphrase.data()[passphrase.size() - 1] == '\n') {
    passphrase.truncate(passphrase.size() - 1);
  }
  return passphrase;
}

std::string PassphraseOptions::hint_when_wrong(const SecretBytes& passphrase) const {
  if (!has_source() || !ends_in_carriage_return(passphrase)) {
    return "";
  }
  return source_.name() +
         " has CRLF line ends, and the carriage return is taken for the passphrase's " +
         "last character: try it without (tr -d '\\r')";
}

SecretBytes PassphraseOptions::read_new() const {
  SecretBytes passphrase;
  if (has_source()) {
    passphrase = read_source();
    if (ends_in_carriage_return(passphrase)) {
      print_warning(source_.name() +
                    ": has CRLF line ends; the carriage return becomes part of the passphrase");
    }
  } else {
    Prompt prompt(Answer::hidden, use_a_file);
    passphrase = prompt.ask("New passphrase: ");
    const SecretBytes again = prompt.ask("The same again: ");
    if (!equal_constant_time(passphrase, again)) {
      throw Error(ErrorCode::failure, "passphrase: the two entries differ");
    }
  }
  refuse(passphrase.empty(), "passphrase: is empty, which protects nothing");
  return passphrase;
}

SecretBytes PassphraseOptions::read_existing() const {
  if (has_source()) {
    return read_source();
  }
  return Prompt(Answer::hidden, use_a_file).ask("Passphrase: ");
}

}  // namespace paes::cli
