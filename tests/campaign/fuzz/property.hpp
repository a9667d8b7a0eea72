// SPDX-License-Identifier: Apache-2.0
// What a fuzz harness asserts: a property that no input may break.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace paes::fuzz {

inline void require(bool holds, const char* property) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", property);
    std::abort();  // libFuzzer keeps the input
  }
}

}  // namespace paes::fuzz
