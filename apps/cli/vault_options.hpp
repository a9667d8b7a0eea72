// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `paes vault` share with each other and with the program that mounts: the
// options that name a vault and its key, and opening its configuration with them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "cli/fido2_token.hpp"
#include "cli/passphrase.hpp"
#include "vault/configuration.hpp"
#include "vault/master_key.hpp"

namespace CLI {
class Option;
}

namespace paes::cli {

// Which vault: the folder, and its configuration where that lies elsewhere.
class VaultPlace {
 public:
  // DIR and --config. Without DIR the configuration must be named, unless `needs_folder`: then
  // DIR is required.
  void declare(CLI::App& app, bool needs_folder);

  // As --config would.
  void use_configuration(std::string path) { config_ = std::move(path); }

  // Empty: only a configuration was named.
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  // --config, or gocryptfs.conf in the folder. Throws Error(usage) if there is neither.
  [[nodiscard]] std::string configuration_path() const;
  [[nodiscard]] bool has_configuration_elsewhere() const noexcept { return !config_.empty(); }

  // Throws Error "PATH: why": as stream::read_small_file and parse_configuration do, and
  // Error(failure) with a hint for a folder that is not a vault, or one of gocryptfs's reverse
  // mode.
  [[nodiscard]] vault::Configuration read_configuration() const;

 private:
  std::string folder_;
  std::string config_;
};

// --max-work-factor: what a derivation may cost, as the log2 N of a scrypt with r = 8 and p = 1.
class CostLimit {
 public:
  void declare(CLI::App& app);
  // Throws Error(failure) with a hint if the configuration asks for more.
  void check(const vault::ScryptCost& cost, const std::string& path) const;

 private:
  unsigned max_work_factor_ = vault::default_max_log2_n;
};

// The master key from a file: 64 hexadecimal digits in either case. Dashes and white space between
// them do not count, so that a file may hold what gocryptfs prints; - is standard input. Throws
// Error(usage) for anything else. No branch and no index depends on the digits' values.
[[nodiscard]] vault::MasterKey read_master_key(const std::string& path);
// As gocryptfs prints it: eight groups of eight digits with dashes between them, and a line feed.
[[nodiscard]] SecretBytes master_key_text(const vault::MasterKey& key);

// A passphrase as gocryptfs reads it from a file: the first line alone counts. Warns if there is
// more.
[[nodiscard]] SecretBytes existing_vault_passphrase(const PassphraseOptions& options);
// The same for a new one. Throws Error(usage) for one that gocryptfs would not take.
[[nodiscard]] SecretBytes new_vault_passphrase(const PassphraseOptions& options);

// The work factor of a passphrase's derivation, within the same bounds wherever it is given.
CLI::Option* declare_work_factor(CLI::App& app, unsigned& work_factor, const char* help);

// Writes a configuration as a file of mode 0400, synced, which has its name only when it is
// complete. A file that exists is replaced only if `replaces`, and then keeps its owner. A new one
// gets the owner of the file `owner_of`, if one is named.
void write_configuration(const std::string& path, Bytes text, bool replaces,
                         const std::string& owner_of = {});
void write_configuration(const std::string& path, const vault::Configuration& configuration,
                         bool replaces);

struct OpenedVault {
  vault::Configuration configuration;
  vault::MasterKey key;
};

// A vault and what opens it.
class VaultOptions {
 public:
  VaultPlace place;
  PassphraseOptions passphrase;
  Fido2Token token;
  CostLimit cost_limit;
  std::string master_key_file;  // --master-key; empty: the passphrase opens it

  void declare(CLI::App& app, bool needs_folder = true);

  // Reads the configuration, then the key that was named, or the token's secret, or a passphrase,
  // which may be asked for. Throws Error(wrong_key) for a wrong passphrase or token, and
  // Error(usage) for the wrong one of the two. Whether a master key, or a configuration that
  // lies elsewhere, is this vault's, only its content can tell (key_proof.hpp).
  [[nodiscard]] OpenedVault open() const;
  // Throws Error(usage) for one of the files that this reads.
  void refuse_as_output(const stream::FilePlace& output) const;

 private:
  [[nodiscard]] SecretBytes read_secret(const vault::Configuration& configuration,
                                        const std::string& path) const;
};

}  // namespace paes::cli
