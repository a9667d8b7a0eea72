#include "paes/passphrase.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>

#include <CLI/CLI.hpp>

#include "paes/decimal.hpp"
#include "paes/error.hpp"
#include "paes/keyfile.hpp"
#include "paes/process.hpp"
#include "paes/prompt.hpp"
#include "paes/report.hpp"
#include "stream/wait.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t max_passphrase_bytes = std::size_t{64} << 10;

bool ends_in_carriage_return(const SecretBytes& passphrase) {
  return !passphrase.empty() && passphrase.data()[passphrase.size() - 1] == '\r';
}

}  // namespace

WaitReadable until_signal() {
  return [](int descriptor) {
    try {
      stream::wait_ready(descriptor, POLLIN, &cancel(), nullptr);
    } catch (...) {
      if (cancel().requested()) {
        throw;
      }
      // poll failed, for want of memory for one: the derivation ends without it.
    }
  };
}

void PassphraseOptions::declare(CLI::App& app, const std::string& prefix,
                                const std::string& what_for) {
  CLI::Option* file = app.add_option("--" + prefix + "passphrase-file", file_,
                                     what_for + " (one trailing newline is dropped)")
                          ->type_name("FILE");
  app.add_option("--" + prefix + "passphrase-fd", descriptor_,
                 "the same from an open file descriptor")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::NonNegativeNumber)
      ->excludes(file);
}

void PassphraseOptions::refuse_as_output(const std::string& path) const {
  if (!file_.empty()) {
    refuse_secret_as_output(path, file_, "passphrase");
  }
}

SecretBytes PassphraseOptions::read_source() const {
  // Every descriptor that paes opens for itself closes on exec, and none that it was given does:
  // a wrong number must not make it wait for its own.
  if (descriptor_ && ((fcntl(*descriptor_, F_GETFD) & FD_CLOEXEC) != 0 ||
                      (fcntl(*descriptor_, F_GETFL) & O_ACCMODE) == O_WRONLY)) {
    throw Error(ErrorCode::failure,
                fmt::format("descriptor {}: is not open for reading", *descriptor_));
  }
  SecretBytes passphrase = descriptor_
                               ? read_small_file(*descriptor_, source_name(), max_passphrase_bytes)
                               : read_small_file(file_, max_passphrase_bytes);
  if (!passphrase.empty() && passphrase.data()[passphrase.size() - 1] == '\n') {
    passphrase.truncate(passphrase.size() - 1);
  }
  return passphrase;
}

std::string PassphraseOptions::source_name() const {
  return descriptor_ ? fmt::format("descriptor {}", *descriptor_) : file_;
}

std::string PassphraseOptions::hint_when_wrong(const SecretBytes& passphrase) const {
  if (!has_source() || !ends_in_carriage_return(passphrase)) {
    return "";
  }
  return source_name() +
         " has CRLF line ends, and the carriage return is taken for the passphrase's " +
         "last character: try it without (tr -d '\\r')";
}

SecretBytes PassphraseOptions::read_new() const {
  SecretBytes passphrase;
  if (has_source()) {
    passphrase = read_source();
    if (ends_in_carriage_return(passphrase)) {
      print_warning(source_name() +
                    ": has CRLF line ends; the carriage return becomes part of the passphrase");
    }
  } else {
    Prompt prompt;
    passphrase = prompt.ask("New passphrase: ");
    const SecretBytes again = prompt.ask("The same again: ");
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
  return Prompt().ask("Passphrase: ");
}

}  // namespace paes::cli
