// The command line of a program whose commands are rows: picks one, parses its options, and turns
// every way to fail into one line and an exit code.
#pragma once

#include <functional>
#include <span>

#include "paes/command.hpp"

namespace paes::cli {

struct Program {
  const char* name;
  const char* summary;
  std::span<const Command* const> commands;
  const char* footer;
};

// What the chosen command is to do; --help and --version are answered at once, and then it is to do
// nothing. Throws Error(usage).
[[nodiscard]] Action parse_command_line(const Program& program, int argc, char** argv);

// Runs it and gives back the exit code, after an error message where it throws.
[[nodiscard]] int run_reporting(const std::function<int()>& work) noexcept;

}  // namespace paes::cli
