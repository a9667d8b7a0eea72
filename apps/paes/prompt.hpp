// A question at the terminal whose answer is not shown. However the question ends, and while paes
// is stopped in the middle of it (Ctrl-Z), the terminal is as it was before.
#pragma once

#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/input.hpp"

namespace paes::cli {

// For processes that somebody else started, such as mpirun: where another process group has the
// terminal, the system would stop this one for good. From now on that is as if there were none.
void never_prompt_in_background() noexcept;

// At most one at a time: signal handlers have to find it.
class Prompt {
 public:
  // Turns the terminal's echo off. Throws Error(failure) when there is no terminal.
  Prompt();
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  // The line that is typed. `question` must outlive the Prompt. Throws Error(failure) when paes is
  // asked to stop.
  [[nodiscard]] SecretBytes ask(const char* question);

 private:
  Descriptor terminal_;
};

}  // namespace paes::cli
