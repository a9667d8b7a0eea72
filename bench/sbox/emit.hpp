// SPDX-License-Identifier: Apache-2.0
// Writes found circuits as a C++ header.
#pragma once

#include <string>
#include <vector>

#include "circuit.hpp"

namespace sbox {

// One function template per box, in the order of the boxes. Deterministic.
[[nodiscard]] std::string to_header(const std::vector<FoundCircuit>& circuits, int fan_in);

}  // namespace sbox
