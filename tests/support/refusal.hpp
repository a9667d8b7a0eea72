// SPDX-License-Identifier: Apache-2.0
// Checks with which error an action is refused: its code and its words.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "paes/error.hpp"

namespace paes::test {

// Returns "WHAT: WHY" of the Error with `code` that `action` throws. Fails the test if it does not
// throw one.
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
