// SPDX-License-Identifier: Apache-2.0
// The command line of a program whose commands are rows: picks one, parses its options, and turns
// every way to fail into one line, an exit code and, with --json, a document.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.hpp"

namespace paes::cli {

struct Program {
  const char* name;
  const char* summary;
  std::span<const Command* const> commands;
  const char* footer;
  // For commands of a command: what stands before their names in messages and documents, such as
  // "vault ".
  const char* prefix = "";
  // For a program that does one thing: no command is named, and all words are for the only one.
  bool is_one_command = false;
  // What a word of a command line that makes no sense may have meant; empty where there is nothing
  // to say. Null: the program knows nothing of the kind.
  std::string (*hint_for)(std::string_view word) = nullptr;
};

class CommandLine {
 public:
  // `program` and the arguments, which do not include the program's name, must outlive it.
  CommandLine(const Program& program, std::span<char* const> arguments) noexcept;

  // What the chosen command is to do. --help, --version and --list-options are answered at once,
  // and then the action does nothing. The command gets the user's words unchanged. Throws
  // Error(usage).
  [[nodiscard]] Action parse() const;

  // Runs the work and gives back the exit code. If the work throws, this prints an error message,
  // and with --json a document unless one has been printed.
  [[nodiscard]] int run_reporting(const std::function<int()>& work) const noexcept;

 private:
  [[nodiscard]] std::string command() const;  // empty: none
  [[nodiscard]] std::span<char* const> up_to_command() const;
  [[nodiscard]] std::span<char* const> after_command() const;
  [[nodiscard]] std::string command_in_documents() const;
  [[nodiscard]] bool wants_json() const;
  [[nodiscard]] bool wants_list() const;

  const Program& program_;
  std::span<char* const> arguments_;  // without the program's name
  std::size_t command_at_ = 0;        // the first that is no option of the program itself
};

// What a program does with the command that was chosen.
[[nodiscard]] int run_command(const CommandLine& line);

// The whole of a program: readies the process, runs the command and reports what fails. Gives back
// the exit code. If a signal stopped the work, the process dies by that signal instead.
[[nodiscard]] int run_program(const Program& program, int argc, char** argv,
                              int (*run)(const CommandLine& line) = run_command);

}  // namespace paes::cli
