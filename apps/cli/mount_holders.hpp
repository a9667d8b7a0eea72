// SPDX-License-Identifier: Apache-2.0
// Which processes keep a mount from being unmounted, as far as /proc lets this user see: those with
// something open there, in it, or mapped from it. Asks the mounted file system nothing.
#pragma once

#include <string>
#include <vector>

#include "cli/mount_table.hpp"

namespace paes::cli {

// "bash (1234)", in the order of their numbers.
[[nodiscard]] std::vector<std::string> holders_of(const MountedPlace& place);

}  // namespace paes::cli
