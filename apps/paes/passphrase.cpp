#include "paes/passphrase.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>

#include "paes/error.hpp"
#include "paes/keyfile.hpp"
#include "paes/process.hpp"
#include "stream/files.hpp"
#include "stream/wait.hpp"

namespace paes::cli {

namespace {

using stream::Descriptor;

constexpr std::size_t max_passphrase_bytes = std::size_t{64} << 10;
constexpr std::size_t max_line_bytes = 4096;  // what a terminal line can hold

// Turns the terminal's echo off, and back on whatever happens.
class EchoOff {
 public:
  explicit EchoOff(int terminal) : terminal_(terminal) {
    if (tcgetattr(terminal, &before_) != 0) {
      stream::throw_errno("terminal");
    }
    struct termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL | ICANON | ISIG;
    if (tcsetattr(terminal, TCSAFLUSH, &silent) != 0) {
      stream::throw_errno("terminal");
    }
  }
  ~EchoOff() { (void)tcsetattr(terminal_, TCSADRAIN, &before_); }
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;

 private:
  int terminal_;
  struct termios before_ = {};
};

void write_prompt(int terminal, const std::string& text) {
  if (write(terminal, text.data(), text.size()) < 0) {
    stream::throw_errno("terminal");
  }
}

SecretBytes ask_terminal(const Descriptor& terminal, const std::string& prompt) {
  SecretBytes line(max_line_bytes);
  std::size_t filled = 0;
  write_prompt(terminal.number(), prompt);
  for (;;) {
    try {
      stream::wait_ready(terminal.number(), POLLIN, &cancel(), nullptr);
    } catch (...) {
      write_prompt(terminal.number(), "\n");  // the message begins on a line of its own
      throw;
    }
    const ssize_t got = read(terminal.number(), line.data() + filled, line.size() - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      stream::throw_errno("terminal");
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

Descriptor open_terminal(ErrorCode code) {
  Descriptor terminal(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.is_open()) {
    throw Error(code, "passphrase: there is no terminal to ask at",
                "use --passphrase-file or --passphrase-fd");
  }
  return terminal;
}

}  // namespace

void PassphraseOptions::declare(CLI::App& app, const std::string& prefix,
                                const std::string& what_for) {
  CLI::Option* file = app.add_option("--" + prefix + "passphrase-file", file_,
                                     what_for + " (one trailing newline is dropped)")
                          ->type_name("FILE");
  app.add_option("--" + prefix + "passphrase-fd", descriptor_,
                 "the same from an open file descriptor")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->excludes(file);
}

SecretBytes PassphraseOptions::read_source() const {
  // Every descriptor that paes opens for itself closes on exec, and none that it was given does:
  // a wrong number must not make it wait for its own.
  if (descriptor_ && ((fcntl(*descriptor_, F_GETFD) & FD_CLOEXEC) != 0 ||
                      (fcntl(*descriptor_, F_GETFL) & O_ACCMODE) == O_WRONLY)) {
    throw Error(ErrorCode::failure,
                fmt::format("descriptor {}: is not open for reading", *descriptor_));
  }
  SecretBytes passphrase =
      descriptor_ ? read_small_file(*descriptor_, fmt::format("descriptor {}", *descriptor_),
                                    max_passphrase_bytes)
                  : read_small_file(file_, max_passphrase_bytes);
  if (!passphrase.empty() && passphrase.data()[passphrase.size() - 1] == '\n') {
    passphrase.truncate(passphrase.size() - 1);
  }
  return passphrase;
}

SecretBytes PassphraseOptions::read_new() const {
  SecretBytes passphrase;
  if (has_source()) {
    passphrase = read_source();
  } else {
    const Descriptor terminal = open_terminal(ErrorCode::failure);
    const EchoOff silence(terminal.number());
    passphrase = ask_terminal(terminal, "New passphrase: ");
    const SecretBytes again = ask_terminal(terminal, "The same again: ");
    if (!equal_constant_time(passphrase, again)) {
      throw Error(ErrorCode::failure, "passphrase: the two entries differ");
    }
  }
  if (passphrase.empty()) {
    throw Error(ErrorCode::usage, "passphrase: is empty, which protects nothing");
  }
  return passphrase;
}

SecretBytes PassphraseOptions::read_existing() const {
  if (has_source()) {
    return read_source();
  }
  const Descriptor terminal = open_terminal(ErrorCode::wrong_key);
  const EchoOff silence(terminal.number());
  return ask_terminal(terminal, "Passphrase: ");
}

}  // namespace paes::cli
