// SPDX-License-Identifier: Apache-2.0
#include "test_data.hpp"

namespace paes::test {

std::string test_data(const std::string& name) { return PAES_TEST_DATA "/" + name; }

}  // namespace paes::test
