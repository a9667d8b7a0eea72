// SPDX-License-Identifier: Apache-2.0
// What a subcommand is: a name, one line of help, and a function that declares its options and
// gives back what to run once they are parsed. Programs know nothing else about it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paes::cli {

// Returns the exit code if the work succeeded, or failed and reported that itself. Otherwise throws
// Error.
using Action = std::function<int()>;

enum class Operands { any_files, encrypted_files };

struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& app);
  // In place of `declare`, for a command whose options are another program's: gets all that stands
  // after the command, answers --help itself, and returns the exit code.
  int (*run_words)(std::span<char* const> words) = nullptr;
  // For what completes words in a shell: which files the command reads, and all that its first
  // operand can be, where that is no file.
  Operands operands = Operands::any_files;
  std::vector<std::string> (*first_words)() = nullptr;
};

// Codes beside those of ErrorCode.
inline constexpr int exit_done = 0;
inline constexpr int exit_some_failed = 5;

}  // namespace paes::cli
