// The measurements of paes-mpi-bench, as commands.def lists them.
#pragma once

#include "cli/command.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command mpi_bench_command_##name;
#include "paes-mpi-bench/commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
