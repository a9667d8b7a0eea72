// SPDX-License-Identifier: Apache-2.0
// Files that tests read.
#pragma once

#include <string>

namespace paes::test {

// The path of tests/NAME. Only this file's object knows where the tree is, so that a compiler cache
// can reuse the objects of all tests for a tree in another folder.
std::string test_data(const std::string& name);

}  // namespace paes::test
