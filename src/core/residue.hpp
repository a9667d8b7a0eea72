// SPDX-License-Identifier: Apache-2.0
// What finished calls leave behind in a thread. A kernel wipes the secrets that its code names, but
// a compiler that runs out of registers puts round keys on the stack, in places that have no name.
// The system (for a signal) and the dynamic linker save registers there, too.
#pragma once

namespace paes {

// At the end of its scope, wipes the vector registers and the next 64 KiB of the stack. Put it at
// the beginning of a thread that works with keys, and before the keys in a function that drops
// them: the stack of a finished thread stays in memory for the next one, and stacks can be swapped
// out. It is cheap once per thread, but not once per message.
class WipeResidueOnExit {
 public:
  WipeResidueOnExit() noexcept {}  // without it, a constant of this type would not compile
  ~WipeResidueOnExit();
  WipeResidueOnExit(const WipeResidueOnExit&) = delete;
  WipeResidueOnExit& operator=(const WipeResidueOnExit&) = delete;
};

}  // namespace paes
