// SPDX-License-Identifier: Apache-2.0
// Finds small circuits for the S-boxes of DES. Two stages: a construction after M. Kwan ("Reducing
// the Gate Count of Bitslice DES", IACR ePrint 2000/051: divide by one input after the other, reuse
// whatever already computes the part that matters), and a random walk over circuits of equal size
// that replaces gates by others which the outputs cannot tell apart, and so stumbles on smaller
// ones.
#pragma once

#include "circuit.hpp"

namespace sbox {

// The same arguments give the same circuit everywhere. `fan_in` is 2 or 3. If `known` is not null,
// one of the walks starts there.
[[nodiscard]] FoundCircuit search(int box, int fan_in, const Circuit* known, std::uint64_t seed,
                                  std::uint64_t steps);

}  // namespace sbox
