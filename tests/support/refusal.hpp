// SPDX-License-Identifier: Apache-2.0
// What an action was refused with, for tests that look at the code and the words of an Error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "paes/error.hpp"

namespace paes::test {

// "WHAT: WHY" of the Error that `action` throws with `code`; a failed test if it does not.
template <typename Action>
std::string refusal(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace paes::test
