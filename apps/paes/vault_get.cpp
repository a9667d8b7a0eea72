// SPDX-License-Identifier: Apache-2.0
// `paes vault get`: takes a file or a folder out of a vault, without a mount.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/report.hpp"
#include "cli/vault_output.hpp"
#include "stream/file/file_place.hpp"

namespace paes::cli {

namespace {

struct VaultGetCommand {
  VaultOutputOptions options;
  std::string path;
  std::string destination = ".";
};

int get(const VaultGetCommand& command) {
  refuse_both("vault get", command.options.overwrite, command.options.update);
  const std::string& folder = command.options.vault.place.folder();
  refuse(command.destination == "-", "vault get: does not write to standard output",
         "'paes vault cat' does; ./- names a file");
  refuse(lies_in(command.destination, folder), command.destination + ": lies in the vault itself",
         "name a place outside of it");
  refuse(names_in(command.path).empty(), "vault get: the path is that of the whole vault",
         "'paes vault export' writes all of it");
  VaultTree vault(command.options.vault);
  const VaultEntry entry = vault.find(command.path);
  struct stat there = {};
  const bool is_folder = stat(command.destination.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
  return write_entry("vault get", command.options, vault, entry, command.destination,
                     is_folder ? stream::last_name(entry.path) : "");
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultGetCommand>();
  command->options.declare(app);
  app.add_option("PATH", command->path, "a file or folder, named as in the vault")->required();
  app.add_option("DEST", command->destination,
                 "its new name, or the folder that gets it; the working folder, if left out");
  return [command] { return get(*command); };
}

}  // namespace

extern const Command vault_command_get = {"get", "take a file or folder out of a vault", declare};

}  // namespace paes::cli
