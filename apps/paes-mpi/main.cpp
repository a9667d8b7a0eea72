// The program paes-mpi: what paes does, by the ranks of an MPI job together. A program of its own,
// so that paes never needs MPI.
#include "mpi/together.hpp"
#include "paes-mpi/ranks.hpp"
#include "paes/command_line.hpp"
#include "paes/process.hpp"
#include "paes/prompt.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::mpi_command_##name,
#include "paes-mpi/commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes-mpi", "paes on many machines at once: start it with mpirun, mpiexec or srun.", commands,
    "'paes-mpi COMMAND --help' explains a command; paes-mpi(1) has it all."};

}  // namespace

int main(int argc, char** argv) {
  const paes::cli::CommandLine line(program, argc, argv);
  const int code = line.run_reporting([&] {
    paes::cli::prepare_process();
    paes::cli::never_prompt_in_background();
    return paes::cli::run_on_ranks(line, [&] {
      paes::cli::Action action;
      paes::mpi::together(paes::cli::ranks(), [&] { action = line.parse(); });
      return action();
    });
  });
  if (code != paes::cli::exit_done) {
    paes::cli::die_by_caught_signal();
  }
  return code;
}
