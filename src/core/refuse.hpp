// SPDX-License-Identifier: Apache-2.0
// How a command of a program or a call of the library refuses what makes no sense.
#pragma once

#include <string>
#include <string_view>

#include "paes/error.hpp"

namespace paes {

// Throws Error(usage) if the request is wrong. `hint` says what the user can do about it.
inline void refuse(bool is_wrong, std::string_view what_why, std::string_view hint = {}) {
  if (is_wrong) {
    throw Error(ErrorCode::usage, std::string(what_why), std::string(hint));
  }
}

}  // namespace paes
