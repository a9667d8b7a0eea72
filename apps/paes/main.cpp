// SPDX-License-Identifier: Apache-2.0
// The program paes: the subcommands of paes_commands.def.
#include "cli/command_line.hpp"

#ifdef PAES_STATIC
#include <openssl/crypto.h>

#include <cstdlib>
#endif

namespace paes::cli {
#define PAES_COMMAND(name) extern const Command command_##name;
#include "paes_commands.def"
#undef PAES_COMMAND
}  // namespace paes::cli

namespace {

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::command_##name,
#include "paes_commands.def"
#undef PAES_COMMAND
};

constexpr paes::cli::Program program = {
    "paes", "Bulk encryption on all of the machine: authenticated, seekable, in an open format.",
    commands, "'paes COMMAND --help' explains a command; paes(1) has it all."};

}  // namespace

int main(int argc, char** argv) {
#ifdef PAES_STATIC
  // The machine's openssl.cnf is for its own libcrypto: modules that it names do not fit this one.
  // Without a configuration, libcrypto uses the algorithms that are part of it.
  if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) != 1) {
    return EXIT_FAILURE;
  }
#endif
  return paes::cli::run_program(program, argc, argv);
}
