// SPDX-License-Identifier: Apache-2.0
// What calls that have returned leave behind in a thread. A kernel wipes the secrets that its code
// names, but where the compiler runs out of registers it puts round keys on the stack, in places
// that have no name. The system, for a signal, and the dynamic linker save registers there, too.
#pragma once

namespace paes {

// Where its scope ends, wipes 64 KiB of the stack below that, and the vector registers. It stands
// at the beginning of a thread that works with keys, and before the keys in the function that drops
// them: the stack of a thread that has ended stays in memory for the next one, and no lock keeps
// stacks out of swap. Once a thread is cheap, once a message would not be.
class WipeResidueOnExit {
 public:
  WipeResidueOnExit() noexcept {}  // a constant needs one of our own
  ~WipeResidueOnExit();
  WipeResidueOnExit(const WipeResidueOnExit&) = delete;
  WipeResidueOnExit& operator=(const WipeResidueOnExit&) = delete;
};

}  // namespace paes
