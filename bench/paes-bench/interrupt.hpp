// SPDX-License-Identifier: Apache-2.0
// How measurements notice SIGINT and similar signals: before each turn and each part of a file.
#pragma once

#include "cli/process.hpp"

namespace paes::cli {

[[nodiscard]] inline bool is_interrupted() noexcept { return cancel().requested(); }
inline void stop_if_interrupted() { cancel().check(); }

}  // namespace paes::cli
