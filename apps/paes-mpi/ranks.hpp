// SPDX-License-Identifier: Apache-2.0
// The ranks of this job, as the commands see them. Every command runs on all of them, with the same
// command line; a step that can fail on one of them alone runs in `together`.
#pragma once

#include <functional>
#include <string>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "mpi/communicator.hpp"

namespace paes::cli {

// The ranks that this process belongs to. They exist while a command runs.
[[nodiscard]] mpi::Communicator& ranks() noexcept;

// The whole of a program like paes-mpi: starts MPI, runs the command on every rank and ends MPI.
// The exit code is the same on all ranks that live. Only rank 0 is heard.
[[nodiscard]] int run_on_ranks(const Program& program, int argc, char** argv);

// Runs a step on rank 0 alone, which has the keys, the terminal and the output. If it succeeds, all
// ranks go on; otherwise all throw its error.
void on_first(const std::function<void()>& step);

// Collective: the processors that this rank may run on, shared out among the ranks that may run on
// exactly the same ones. Launchers bind each rank to processors of its own, or bind no rank at all.
[[nodiscard]] unsigned own_processors();

#define PAES_COMMAND(name) extern const Command mpi_command_##name;
#include "paes-mpi/mpi_commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
