// SPDX-License-Identifier: Apache-2.0
// `paes vault`: folders in the format of gocryptfs, of which each file and each name is encrypted
// by itself. Its subcommands are those of vault_commands.def.
#include "cli/command_line.hpp"
#include "cli/vault_options.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command vault_command_##name;
#include "vault_commands.def"
#undef PAES_COMMAND

namespace {

constexpr const Command* commands[] = {
#define PAES_COMMAND(name) &vault_command_##name,
#include "vault_commands.def"
#undef PAES_COMMAND
};

constexpr Program program = {
    "paes vault", "Folders of encrypted files and names, in the format of gocryptfs.", commands,
    "'paes vault COMMAND --help' explains a command; paes-vault(1) has it all.", "vault "};

int run_words(std::span<char* const> words) {
  const CommandLine line(program, words);
  return line.run_reporting([&] { return run_command(line); });
}

}  // namespace

extern const Command command_vault = {"vault", "make and look after encrypted folders", nullptr,
                                      run_words};

}  // namespace paes::cli
