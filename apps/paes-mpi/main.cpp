// SPDX-License-Identifier: Apache-2.0
// The program paes-mpi: what paes does, by the ranks of an MPI job together. A program of its own,
// so that paes never needs MPI.
#include "paes-mpi/ranks.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::mpi_command_##name,
#include "paes-mpi/mpi_commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes-mpi", "paes on many machines at once: start it with mpirun, mpiexec or srun.", commands,
    "'paes-mpi COMMAND --help' explains a command; paes-mpi(1) has it all."};

}  // namespace

int main(int argc, char** argv) { return paes::cli::run_on_ranks(program, argc, argv); }
