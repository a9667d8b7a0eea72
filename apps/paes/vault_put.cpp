// SPDX-License-Identifier: Apache-2.0
// `paes vault put`: brings files and folders into a vault, without a mount.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/vault_filler.hpp"
#include "cli/write_claim.hpp"

namespace paes::cli {

namespace {

struct VaultPutCommand {
  VaultOptions vault;
  std::vector<std::string> sources;
  std::string folder;
  std::string name;
  unsigned threads = 0;
  bool overwrite = false;
  bool update = false;
  bool quiet = false;
};

// True once nobody else writes to the vault. Otherwise somebody whose lock does not count has the
// folder, or the file system has no locks.
bool claim_writing(const WriteClaim& claim, const std::string& folder) {
  const auto warn = [&](const std::string& why) {
    print_warning(folder + ": " + why + ": nothing holds another writer back");
    return false;
  };
  for (;;) {
    if (!claim.wait(cancel())) {
      return warn("another program has locked this folder");
    }
    const Result<void> taken = claim.take();
    if (taken) {
      return true;
    }
    if (!taken.failed_with(EWOULDBLOCK)) {  // else another writer was faster
      return warn("this folder cannot be locked: " + taken.error().message());
    }
  }
}

// The name that a source gets; empty for "." and the like, which stand for what is in them.
std::string name_for(std::string source) {
  while (source.size() > 1 && source.ends_with('/')) {
    source.pop_back();
  }
  const std::string name = stream::last_name(source);
  return name == "." || name == ".." || name == "/" ? "" : name;
}

bool is_link(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// A link is put as a link, so that it does not matter where it leads.
bool clashes_with_vault(const std::string& source, const std::string& folder) {
  if (is_link(source)) {
    return lies_in(source.substr(0, source.size() - stream::last_name(source).size()) + ".",
                   folder);
  }
  return lies_in(source, folder) || lies_in(folder, source);
}

// Folders of one name become one.
void refuse_common_names(const std::vector<std::string>& sources) {
  std::map<std::string, std::pair<std::string, bool>> named;
  for (const std::string& source : sources) {
    struct stat status = {};
    const bool is_folder = lstat(source.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const std::string name = name_for(source);
    const auto [other, is_first] = named.try_emplace(name, source, is_folder);
    refuse(!is_first && !name.empty() && !(is_folder && other->second.second),
           other->second.first + " and " + source + ": would have one name in the vault",
           "put one of them with --as, or into another folder with --to");
  }
}

void check(const VaultPutCommand& command) {
  refuse_both("vault put", command.overwrite, command.update);
  refuse(!command.name.empty() && command.sources.size() != 1,
         "vault put: --as names one file, and several are given");
  for (const std::string& source : command.sources) {
    refuse(source == "-" && command.name.empty(), "vault put: standard input has no name",
           "--as gives it one");
    const std::string& folder = command.vault.place.folder();
    refuse(source != "-" && clashes_with_vault(source, folder),
           source + ": is the vault itself, or lies in it, or has it");
    struct stat target = {};
    refuse(!command.name.empty() && is_link(source) && stat(source.c_str(), &target) == 0 &&
               !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode),
           source + ": is a link to what is neither a file nor a folder",
           "to put what a pipe gives, redirect standard input from it, and name it -");
  }
  refuse_common_names(command.sources);
  const std::string& key = command.vault.master_key_file;
  refuse_several_uses_of_standard_input(command.vault.passphrase.standard_input_uses() +
                                        (!key.empty() && is_standard_input(key) ? 1 : 0) +
                                        (command.sources.front() == "-" ? 1 : 0));
}

void put_all(const VaultPutCommand& command, VaultFiller& filler) {
  if (command.name.empty()) {
    const std::string folder = filler.make_folders(command.folder);
    for (const std::string& source : command.sources) {
      filler.put(source, folder, name_for(source));
    }
    return;
  }
  std::vector<std::string> names = names_in(command.folder + "/" + command.name);
  refuse(names.empty(), "vault put: --as is no name");
  const std::string name = names.back();
  names.pop_back();
  std::string folder;
  for (const std::string& one : names) {
    folder += "/" + one;
  }
  folder = filler.make_folders(folder);
  if (command.sources.front() == "-") {
    filler.put_input(volume::path_of(folder, name));
  } else {
    filler.put(command.sources.front(), folder, name);
  }
}

int put(const VaultPutCommand& command) {
  check(command);
  const std::string& folder = command.vault.place.folder();
  VaultTree vault(command.vault);
  const WriteClaim claim(folder, false);
  const bool is_alone = claim_writing(claim, folder);
  const VaultWork work(command.threads);
  const Existing existing = command.overwrite ? Existing::replaced
                            : command.update  ? Existing::updated
                                              : Existing::refused;
  const auto start = std::chrono::steady_clock::now();
  volume::WritableVolume volume(vault.volume());
  ProgressMeter meter(!command.quiet, "writing to " + folder, std::nullopt);
  VaultFiller filler(vault, volume, existing, is_alone, work, meter);
  put_all(command, filler);
  filler.finish();
  return filler.counts().finish("vault put", std::chrono::steady_clock::now() - start,
                                command.quiet);
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultPutCommand>();
  command->vault.declare(app);
  app.add_option("SOURCE", command->sources, "files and folders; with --as, - is standard input")
      ->required();
  app.add_option("--to", command->folder,
                 "the folder of the vault that gets them, which may be new; its root, if left out")
      ->type_name("PATH");
  app.add_option("--as", command->name, "the name of the only SOURCE in the vault")
      ->type_name("PATH");
  app.add_flag("-f,--force", command->overwrite, "replace files that exist in the vault");
  app.add_flag("--update", command->update,
               "replace files whose length or time differs, and leave out the others");
  declare_threads(app, command->threads);
  app.add_flag("-q,--quiet", command->quiet, "print only errors and warnings");
  return [command] { return put(*command); };
}

}  // namespace

extern const Command vault_command_put = {"put", "bring files and folders into a vault", declare};

}  // namespace paes::cli
