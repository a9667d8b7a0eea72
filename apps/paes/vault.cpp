// `paes vault`: folders in the format of gocryptfs, of which each file and each name is encrypted
// by itself. Its subcommands are those of vault_commands.def.
#include "paes/command_line.hpp"
#include "paes/vault_options.hpp"

namespace paes::cli {

namespace {

constexpr const Command* commands[] = {
#define PAES_COMMAND(name) &vault_command_##name,
#include "paes/vault_commands.def"
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

const Command command_vault = {"vault", "make and look after encrypted folders", nullptr,
                               run_words};

}  // namespace paes::cli
