// SPDX-License-Identifier: Apache-2.0
#include "core/result.hpp"

#include <system_error>

namespace paes {

std::string Errno::message() const { return std::generic_category().message(number_); }

}  // namespace paes
