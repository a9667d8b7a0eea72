// SPDX-License-Identifier: Apache-2.0
// `paes vault passwd`: another passphrase for a vault, by a new configuration around the same
// master key. The files stay as they are, and so does whatever else the configuration says.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/key_proof.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/vault_tree.hpp"
#include "stream/file/small_file.hpp"

namespace paes::cli {

namespace {

struct VaultPasswdCommand {
  VaultOptions vault;
  PassphraseOptions new_passphrase;
  unsigned work_factor = 0;  // 0: as before, or the default where a master key opens the vault
  bool force = false;
  std::string new_config;  // empty: the old configuration is replaced

  [[nodiscard]] bool has_master_key() const noexcept { return !vault.master_key_file.empty(); }
  // Nothing but the passphrase authenticates the old work factor, and only where it was paid has it
  // been held against the limit.
  [[nodiscard]] unsigned new_work_factor(const vault::ScryptCost& before) const noexcept {
    if (work_factor != 0) {
      return work_factor;
    }
    return has_master_key() ? vault::default_log2_n : before.work_factor();
  }
};

// With -f nobody knows whether the new configuration opens the vault, so the old one stays, too.
void keep_old(const std::string& path) {
  const std::string copy = path + ".bak";
  write_configuration(
      copy, stream::read_small_file(path, vault::max_configuration_bytes, &cancel()), false, path);
  print_note("paes: " + printable(copy) +
             ": the old configuration; remove it once the files have been read, because to a check "
             "it is not part of the vault");
}

// Gives back whether the key is known to be the vault's.
bool check_master_key(const VaultPasswdCommand& command, const OpenedVault& opened) {
  const std::string& folder = command.vault.place.folder();
  const KeyProof proof = prove_master_key(folder, opened.configuration.features, opened.key);
  if (proof == KeyProof::right) {
    return true;
  }
  // A file that failed may be damaged, or somebody has put it there, so that -f goes on there, too.
  if (!command.force) {
    const bool is_wrong = proof == KeyProof::wrong;
    throw Error(is_wrong ? ErrorCode::wrong_key : ErrorCode::failure,
                folder + (is_wrong ? ": the master key is not that of this vault"
                                   : ": holds too little to prove that the master key is right"),
                std::string(is_wrong ? "if all of its files are damaged, " : "") +
                    "-f takes it as it is, and keeps the old configuration");
  }
  return false;
}

int change_passphrase(const VaultPasswdCommand& command) {
  const bool has_key = command.has_master_key();
  refuse(!command.new_config.empty() && lies_in(command.new_config, command.vault.place.folder()),
         command.new_config + ": would lie in the vault, where no file can have this name",
         "keep it elsewhere");
  refuse(command.new_config == "-",
         "--new-config: a configuration is not written to standard output", "name a file");
  refuse(command.force && !has_key, "vault passwd: -f goes with --master-key alone");
  refuse_several_uses_of_standard_input(
      command.vault.passphrase.standard_input_uses() +
      command.new_passphrase.standard_input_uses() +
      (has_key && is_standard_input(command.vault.master_key_file) ? 1 : 0));
  OpenedVault opened = command.vault.open();
  const bool is_proved = !has_key || check_master_key(command, opened);
  const bool is_added = !command.new_config.empty();
  const std::string path = is_added ? command.new_config : command.vault.place.configuration_path();
  const unsigned work_factor = command.new_work_factor(opened.configuration.scrypt);
  const SecretBytes passphrase = new_vault_passphrase(command.new_passphrase);
  const bool had_token = opened.configuration.fido2.has_value();
  opened.configuration.fido2.reset();
  vault::wrap_master_key(opened.key, passphrase, work_factor, opened.configuration, until_signal());
  if (!is_proved && !is_added) {
    keep_old(path);
  }
  write_configuration(path, opened.configuration, !is_added);
  print_note(
      "paes: " + printable(path) +
      (is_added    ? ": opens the vault with the new passphrase, given to --config; whoever has "
                     "neither this file nor a copy cannot use that passphrase"
       : had_token ? ": the passphrase opens the vault now, and no token; copies of the old file "
                     "still open it with the token"
                   : ": the passphrase is changed; copies of the old file still open the vault "
                     "with the old one"));
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultPasswdCommand>();
  command->vault.declare(app);
  command->new_passphrase.declare(app, "new-", "read the new passphrase from this file");
  declare_work_factor(app, command->work_factor,
                      "scrypt work factor of the new passphrase, as a power of two; by default it "
                      "stays, and with --master-key it becomes 16");
  app.add_option("--new-config", command->new_config,
                 "keep the old passphrase, and write a configuration with the new one to this new "
                 "file")
      ->type_name("FILE");
  app.add_flag("-f,--force", command->force,
               "take a master key that the vault's files do not prove");
  return [command] { return change_passphrase(*command); };
}

}  // namespace

extern const Command vault_command_passwd = {"passwd", "change a vault's passphrase", declare};

}  // namespace paes::cli
