// SPDX-License-Identifier: Apache-2.0
// `paes vault init`: makes an empty folder a vault. The configuration gets its name last, so that
// what an interrupted run leaves is not a vault, and another run completes it.
#include <dirent.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/keyfile.hpp"
#include "cli/option_list.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/vault_tree.hpp"
#include "core/descriptor.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/small_file.hpp"
#include "vault/names.hpp"

namespace paes::cli {

namespace {

using vault::ContentCipher;

constexpr std::array ciphers = {ContentCipher::aes_256_gcm, ContentCipher::xchacha20_poly1305,
                                ContentCipher::aes_siv};

struct VaultInitCommand {
  VaultPlace place;
  PassphraseOptions passphrase;
  Fido2Token token;
  std::vector<std::string> assert_options;
  std::string cipher = vault::name_of(ContentCipher::aes_256_gcm);
  bool plaintext_names = false;
  bool deterministic_names = false;
  unsigned long_name_max = 255;
  unsigned work_factor = vault::default_log2_n;
  std::string master_key_file;
  std::string master_key_out;
  bool show_master_key = false;

  [[nodiscard]] vault::Features features() const {
    vault::Features features;
    features.content =
        *std::find_if(std::begin(ciphers), std::end(ciphers),
                      [this](ContentCipher one) { return cipher == vault::name_of(one); });
    features.has_plaintext_names = plaintext_names;
    features.has_directory_ivs = !plaintext_names && !deterministic_names;
    features.has_long_names = !plaintext_names;
    features.has_raw_base64 = !plaintext_names;
    features.long_name_max = long_name_max;
    return features;
  }
};

bool is_same_file_name(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::weakly_canonical(one, error) ==
         std::filesystem::weakly_canonical(other, error);
}

// A file that goes away again unless the vault gets complete.
class NewVaultFile {
 public:
  explicit NewVaultFile(std::string path) : path_(std::move(path)) {}
  ~NewVaultFile() {
    if (!path_.empty() && unlink(path_.c_str()) != 0 && errno != ENOENT) {
      print_warning(path_ + ": could not be removed: " + std::strerror(errno));
    }
  }
  NewVaultFile(const NewVaultFile&) = delete;
  NewVaultFile& operator=(const NewVaultFile&) = delete;
  void keep() noexcept { path_.clear(); }

 private:
  std::string path_;
};

void refuse_existing(const std::string& configuration, const std::string& what_why) {
  struct stat status = {};
  if (lstat(configuration.c_str(), &status) == 0) {
    throw Error(ErrorCode::failure, what_why,
                "a configuration may open a vault, and is never replaced");
  }
}

// Gives back whether an interrupted run has left the root's IV. Anything else must not be there.
bool has_folder_iv(const VaultInitCommand& command) {
  const std::string& folder = command.place.folder();
  refuse_existing(folder + "/" + std::string(vault::configuration_name),
                  folder + ": is a vault already");
  bool has_iv = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    has_iv = has_iv || name == vault::folder_iv_name;
    refuse(name != vault::folder_iv_name || !command.features().has_directory_ivs,
           folder + ": is not empty",
           "a vault begins as an empty folder; files are copied into it "
           "when it is mounted");
  }
  if (error) {
    throw Error(ErrorCode::failure, folder + ": " + error.message(),
                error == std::errc::no_such_file_or_directory ? "make the folder first" : "");
  }
  return has_iv;
}

void write_folder_iv(const std::string& path) {
  constexpr mode_t permissions =
      S_IRUSR | S_IRGRP | S_IROTH;  // as gocryptfs has it in every folder
  const auto file =
      stream::create_output(path, {.only_new = true,
                                   .cancel = &cancel(),
                                   .warn = print_warning,
                                   .file = {.permissions = permissions, .must_last = true}});
  vault::FolderIv iv{};
  do {
    random_bytes(iv);
  } while (iv == vault::FolderIv{});  // gocryptfs takes zeros for damage
  file->write(iv);
  file->commit(iv.size());
}

void check_folder_iv(const std::string& path) {
  vault::FolderIv zero = {};
  const SecretBytes iv = stream::read_small_file(path, 2 * zero.size(), &cancel());
  refuse(iv.size() != zero.size() || equal_constant_time(iv, zero), path + ": is damaged",
         "remove it");
}

void check(const VaultInitCommand& command) {
  refuse(command.plaintext_names && command.deterministic_names,
         "vault init: --plaintext-names and --deterministic-names cannot be combined");
  refuse(command.plaintext_names && command.long_name_max != 255,
         "vault init: names that are not encrypted are never too long",
         "leave out --long-name-max");
  refuse(!command.master_key_out.empty() && lies_in(command.master_key_out, command.place.folder()),
         command.master_key_out + ": would lie in the vault, which it opens", "keep it elsewhere");
  refuse(command.token.is_given() && command.passphrase.given(),
         "vault init: --fido2 cannot be combined with a passphrase");
  refuse(!command.assert_options.empty() && !command.token.is_given(),
         "vault init: --fido2-assert-option goes with --fido2 alone");
  refuse(command.assert_options.size() > vault::max_fido2_assert_options ||
             !std::all_of(command.assert_options.begin(), command.assert_options.end(),
                          vault::is_fido2_assert_option),
         "--fido2-assert-option: is not an option of fido2-assert", "pin=true, for example");
  refuse_several_uses_of_standard_input(
      command.passphrase.standard_input_uses() +
      (!command.master_key_file.empty() && is_standard_input(command.master_key_file) ? 1 : 0));
  const std::string path = command.place.configuration_path();
  refuse(lies_in(path, command.place.folder()) &&
             !is_same_file_name(
                 path, command.place.folder() + "/" + std::string(vault::configuration_name)),
         path + ": would lie in the vault, where no file can have this name",
         "keep it elsewhere, or leave out --config");
  if (command.place.has_configuration_elsewhere()) {
    refuse_existing(path, path + ": already exists");
  }
}

// The passphrase, or the secret of a new credential, which the configuration then has.
SecretBytes new_secret(const VaultInitCommand& command, vault::Configuration& configuration) {
  if (!command.token.is_given()) {
    return new_vault_passphrase(command.passphrase);
  }
  std::error_code error;
  const auto folder = std::filesystem::canonical(command.place.folder(), error);
  configuration.fido2 =
      command.token.make_credential(folder.filename().string(), command.assert_options);
  return command.token.secret(*configuration.fido2);
}

int make_vault(const VaultInitCommand& command) {
  check(command);
  const bool has_iv = has_folder_iv(command);
  const std::string path = command.place.configuration_path();
  const vault::MasterKey key = command.master_key_file.empty()
                                   ? vault::MasterKey::random()
                                   : read_master_key(command.master_key_file);
  vault::Configuration configuration;
  configuration.creator = "paes " PAES_VERSION;
  configuration.features = command.features();
  const SecretBytes secret = new_secret(command, configuration);
  vault::wrap_master_key(key, secret, command.work_factor, configuration, until_signal());

  std::unique_ptr<NewVaultFile> made_iv;
  std::unique_ptr<NewVaultFile> made_key;
  if (configuration.features.has_directory_ivs) {
    const std::string iv = std::filesystem::path(command.place.folder()) / vault::folder_iv_name;
    if (has_iv) {
      check_folder_iv(iv);
    } else {
      write_folder_iv(iv);
      made_iv = std::make_unique<NewVaultFile>(iv);
    }
  }
  if (!command.master_key_out.empty()) {
    write_new_secret_file(command.master_key_out, [&] { return master_key_text(key); });
    made_key = std::make_unique<NewVaultFile>(command.master_key_out);
  }
  if (command.show_master_key) {
    show_at_terminal("Master key: ", master_key_text(key), "");
  }
  write_configuration(path, configuration, false);
  for (const auto* made : {&made_iv, &made_key}) {
    if (*made != nullptr) {
      (*made)->keep();
    }
  }
  print_note(
      fmt::format("paes: {}: is a vault now; keep a copy of {} elsewhere, because without "
                  "it{} or the master key nothing opens the vault",
                  printable(command.place.folder()), printable(path),
                  configuration.fido2 ? " and the token" : ""));
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultInitCommand>();
  command->place.declare(app, true);
  command->passphrase.declare(app, "", "read the passphrase from this file");
  command->token.declare(app);
  app.add_option("--fido2-assert-option", command->assert_options,
                 "have fido2-assert get this option with -t whenever the vault is opened")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  std::vector<std::string> names;
  names.reserve(ciphers.size());
  for (const ContentCipher cipher : ciphers) {
    names.emplace_back(vault::name_of(cipher));
  }
  app.add_option("--cipher", command->cipher, "the cipher of the files' content")
      ->type_name(join_choices(names))
      ->check(CLI::IsMember(names).description(""))
      ->capture_default_str();
  app.add_flag("--plaintext-names", command->plaintext_names, "do not encrypt names");
  app.add_flag("--deterministic-names", command->deterministic_names,
               "encrypt a name alike in every folder");
  app.add_option("--long-name-max", command->long_name_max,
                 "store names as a hash whose encrypted form is longer than this")
      ->type_name("N")
      ->capture_default_str()
      ->check(decimal())
      ->check(CLI::Range(62, 255));
  declare_work_factor(app, command->work_factor,
                      "scrypt work factor of the passphrase, as a power of two")
      ->capture_default_str();
  app.add_option("--master-key-out", command->master_key_out,
                 "keep a copy of the master key in this new file, mode 0600")
      ->type_name("FILE");
  app.add_flag("--show-master-key", command->show_master_key,
               "show the master key at the terminal, to be written down");
  app.add_option("--master-key", command->master_key_file,
                 "take the master key in this file instead of a new one; - is standard input")
      ->type_name("FILE");
  return [command] { return make_vault(*command); };
}

}  // namespace

extern const Command vault_command_init = {"init", "make an empty folder a vault", declare};

}  // namespace paes::cli
