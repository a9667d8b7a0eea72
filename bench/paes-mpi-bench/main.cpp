// SPDX-License-Identifier: Apache-2.0
// The program paes-mpi-bench: what the ranks of an MPI job reach together, timed between barriers
// after MPI has started. docs/log/mpi.md makes a model of these figures.
#include "paes-mpi-bench/mpi_bench_commands.hpp"
#include "paes-mpi/ranks.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::mpi_bench_command_##name,
#include "paes-mpi-bench/mpi_bench_commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes-mpi-bench", "Measures the ranks of a job: start it with mpirun, mpiexec or srun.",
    commands, "'paes-mpi-bench COMMAND --help' explains a measurement."};

}  // namespace

int main(int argc, char** argv) { return paes::cli::run_on_ranks(program, argc, argv); }
