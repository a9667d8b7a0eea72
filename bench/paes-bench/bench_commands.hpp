// SPDX-License-Identifier: Apache-2.0
// The measurements of paes-bench, listed in bench_commands.def. Each prints its results, and fails
// if an output is wrong.
#pragma once

#include "cli/command.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command bench_command_##name;
#include "paes-bench/bench_commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
