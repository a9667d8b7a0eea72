// The program paes: the subcommands of commands.def.
#include "paes/command_line.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::command_##name,
#include "paes/commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes", "Bulk encryption on all of the machine: authenticated, seekable, in an open format.",
    commands, "'paes COMMAND --help' explains a command; paes(1) has it all."};

}  // namespace

int main(int argc, char** argv) { return paes::cli::run_program(program, argc, argv); }
