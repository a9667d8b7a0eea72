// SPDX-License-Identifier: Apache-2.0
// Turns every exception into an Error, so that all programs and ranks report it in the same words.
#pragma once

#include "paes/error.hpp"

namespace paes {

// The exception that a catch block is handling. Rethrows anything that is not a std::exception.
[[nodiscard]] Error current_error();

}  // namespace paes
