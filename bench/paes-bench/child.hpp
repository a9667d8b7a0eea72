// SPDX-License-Identifier: Apache-2.0
// Runs other programs the way a shell would, alone or in a pipe, and says what they cost. No shell
// takes part, so that nothing needs quoting and the failure of any program in a pipe is seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paes::cli {

// One program. The descriptors are of /dev/null unless a path is given; in a pipe, the first one's
// input and the last one's output.
struct Child {
  std::vector<std::string> arguments;  // the first is looked up in PATH
  std::string input = {};
  std::string output = {};
};

struct ChildCost {
  double seconds = 0;             // from before the first starts until the last has ended
  double cpu_seconds = 0;         // user and system, all programs together
  std::uint64_t peak_memory = 0;  // resident, of the largest
};

// Throws Error(failure) with what the program printed when one fails; standard error of all of them
// is collected in the file `messages`.
[[nodiscard]] ChildCost run_children(std::span<const Child> pipe, const std::string& messages);

// Whether PATH has it.
[[nodiscard]] bool is_installed(const std::string& program);

}  // namespace paes::cli
