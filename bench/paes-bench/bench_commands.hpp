// SPDX-License-Identifier: Apache-2.0
// The measurements of paes-bench, as bench_commands.def lists them. Each prints its results, and
// fails when an output is wrong.
#pragma once

#include "cli/command.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command bench_command_##name;
#include "paes-bench/bench_commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
