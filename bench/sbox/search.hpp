// SPDX-License-Identifier: Apache-2.0
// Finds small circuits for the S-boxes of DES, in two stages. A construction after M. Kwan
// ("Reducing the Gate Count of Bitslice DES", IACR ePrint 2000/051) divides by one input after the
// other and reuses whatever already computes the part that matters. Then a random walk over
// circuits of equal size replaces gates by others that the outputs cannot tell apart, and so
// stumbles on smaller circuits.
#pragma once

#include "circuit.hpp"

namespace sbox {

// Deterministic: equal arguments yield the same circuit everywhere. `fan_in` is 2 or 3. If `known`
// is not null, one of the walks starts there.
[[nodiscard]] FoundCircuit search(int box, int fan_in, const Circuit* known, std::uint64_t seed,
                                  std::uint64_t steps);

}  // namespace sbox
