// SPDX-License-Identifier: Apache-2.0
// A program that goes to the background once its work has begun. The child asks for the passphrase,
// mounts and reports, still in the foreground of the terminal, and only then leaves it. The parent
// waits for that and ends as the child would have ended.
//
// The process forks first of all: locks of memory and threads do not survive a fork.
#pragma once

#include <optional>

#include "core/descriptor.hpp"

namespace paes::mount {

class Background {
 public:
  // Forks. The parent gets the exit code to end with, at once or after it has waited for the
  // child's; or it dies by the signal that the child died of. The child gets nothing.
  // Throws Error(failure).
  [[nodiscard]] std::optional<int> fork_child();

  // For the child: leaves the terminal, its session and the current folder. The standard
  // descriptors lead to /dev/null then. After that, the parent ends with success.
  void leave();

 private:
  Descriptor report_;  // the child's end of the pipe
};

}  // namespace paes::mount
