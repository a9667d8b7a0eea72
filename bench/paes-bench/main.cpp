// SPDX-License-Identifier: Apache-2.0
// The program paes-bench: figures of this machine. Everything compared takes turns in one run, and
// every output is checked before it is timed.
#include "cli/command_line.hpp"
#include "paes-bench/bench_commands.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::bench_command_##name,
#include "paes-bench/bench_commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes-bench", "Measures this machine, side by side: kernels, threads, whole programs.",
    commands, "'paes-bench COMMAND --help' explains a measurement."};

}  // namespace

int main(int argc, char** argv) { return paes::cli::run_program(program, argc, argv); }
