// SPDX-License-Identifier: Apache-2.0
// `paes mount`: starts paes-mount, a program and package of its own, with the same arguments.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/descriptor.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr const char* program_name = "paes-mount";

// The same name beside this program, or empty. It comes before the path: both are of one version.
std::string beside_this_program() {
  std::array<char, 4096> path{};
  const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
  if (bytes <= 0 || static_cast<std::size_t>(bytes) == path.size()) {
    return {};
  }
  const std::string own(path.data(), static_cast<std::size_t>(bytes));
  return own.substr(0, own.rfind('/') + 1) + program_name;
}

// This program ignores SIGPIPE and SIGXFSZ, whatever it began with, and the other one is not to
// begin like that. Of the signals that are caught, which SIGTERM always is, a new program begins
// with the default. SIGHUP, SIGINT and SIGQUIT stay ignored where somebody else has them ignored.
void restore_signals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  (void)sigaction(SIGPIPE, &action, nullptr);
  (void)sigaction(SIGXFSZ, &action, nullptr);
}

int run_words(std::span<char* const> words) {
  std::string name = program_name;
  std::vector<char*> arguments = {name.data()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.push_back(nullptr);
  restore_signals();
  if (const std::string beside = beside_this_program(); !beside.empty()) {
    (void)execv(beside.c_str(), arguments.data());
  }
  (void)execvp(program_name, arguments.data());
  if (errno == ENOENT) {
    throw Error(ErrorCode::failure, "mount: the program paes-mount is not installed",
                "it is in the package paes-mount");
  }
  throw_errno(program_name);
}

}  // namespace

extern const Command command_mount = {"mount", "mount a vault", nullptr, run_words};

}  // namespace paes::cli
