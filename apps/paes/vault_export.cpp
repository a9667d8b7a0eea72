// SPDX-License-Identifier: Apache-2.0
// `paes vault export`: writes a whole vault in the plain, without a mount.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/report.hpp"
#include "cli/vault_output.hpp"

namespace paes::cli {

namespace {

struct VaultExportCommand {
  VaultOutputOptions options;
  std::string destination;
};

int export_vault(const VaultExportCommand& command) {
  refuse_both("vault export", command.options.overwrite, command.options.update);
  refuse(command.destination == "-", "vault export: does not write to standard output",
         "./- names a folder");
  refuse(lies_in(command.destination, command.options.vault.place.folder()),
         command.destination + ": lies in the vault itself", "name a place outside of it");
  VaultTree vault(command.options.vault);
  return write_entry("vault export", command.options, vault, vault.find(""), command.destination,
                     "");
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultExportCommand>();
  command->options.declare(app);
  app.add_option("DEST", command->destination, "the folder that gets everything; it may be new")
      ->required();
  return [command] { return export_vault(*command); };
}

}  // namespace

extern const Command vault_command_export = {"export", "write a whole vault in the plain", declare};

}  // namespace paes::cli
