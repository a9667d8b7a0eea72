// SPDX-License-Identifier: Apache-2.0
// The measurements of paes-mpi-bench, listed in mpi_bench_commands.def.
#pragma once

#include "cli/command.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command mpi_bench_command_##name;
#include "paes-mpi-bench/mpi_bench_commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
