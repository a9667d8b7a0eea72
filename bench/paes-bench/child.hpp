// SPDX-License-Identifier: Apache-2.0
// Runs other programs alone or in a pipe, like a shell, and says what they cost. No shell takes
// part, so nothing needs quoting, and the failure of any program in a pipe is noticed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paes::cli {

// One program. Its input and output are /dev/null unless a path is given; a pipe uses only its
// first program's input and its last one's output.
struct Child {
  std::vector<std::string> arguments;  // the first is looked up in PATH
  std::string input = {};
  std::string output = {};
};

struct ChildCost {
  double seconds = 0;             // from before the first one starts until the last one has ended
  double cpu_seconds = 0;         // user and system, of all programs together
  std::uint64_t peak_memory = 0;  // resident memory of the largest
};

// Throws Error(failure) with the program's own message if one fails. The file `messages` collects
// the standard error of all.
[[nodiscard]] ChildCost run_children(std::span<const Child> pipe, const std::string& messages);

// Whether the program is in PATH.
[[nodiscard]] bool is_installed(const std::string& program);

}  // namespace paes::cli
