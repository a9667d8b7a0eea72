// SPDX-License-Identifier: Apache-2.0
#include "cli/vault_options.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <filesystem>
#include <string_view>

#include "cli/decimal.hpp"
#include "cli/help_page.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/descriptor.hpp"
#include "encoding/encodings.hpp"
#include "paes/error.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/small_file.hpp"

namespace paes::cli {

namespace {

constexpr std::string_view reverse_configuration_name = ".gocryptfs.reverse.conf";
constexpr unsigned highest_max_work_factor = 30;     // a terabyte; nobody can mean more
constexpr std::size_t most_passphrase_bytes = 2048;  // that gocryptfs takes
constexpr std::size_t group_digits = 8;
constexpr std::size_t max_master_key_file_bytes = 4096;

bool exists(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0;
}

[[noreturn]] void refuse_reverse(const std::string& name) {
  throw Error(ErrorCode::failure, name + ": belongs to gocryptfs's reverse mode",
              "paes reads volumes whose stored files are the encrypted ones");
}

bool separates_digits(std::uint8_t c) { return c == '-' || c == ' ' || (c >= '\t' && c <= '\r'); }

SecretBytes first_line(SecretBytes passphrase) {
  const Bytes text = passphrase;
  const auto bytes =
      static_cast<std::size_t>(std::find(text.begin(), text.end(), '\n') - text.begin());
  if (bytes != text.size()) {
    print_warning("passphrase: has several lines; as with gocryptfs, the first one alone counts");
    passphrase.truncate(bytes);
  }
  return passphrase;
}

// Whoever can write to a vault's folder must not make its owner wait at a pipe for ever.
SecretBytes read_regular_file(const std::string& path, std::size_t max_bytes) {
  refuse_zero_byte(path);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status = {};
  if (!file.is_open() || fstat(file.number(), &status) != 0) {
    throw_errno(path);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::failure, path + ": is not a regular file");
  }
  return stream::read_small_file(file.number(), path, max_bytes, &cancel());
}

// A key in place of its file's name must not stand in a message.
bool looks_like_master_key(const std::string& text) {
  const auto digits = std::count_if(text.begin(), text.end(), [](char c) {
    return hexadecimal::value_of(static_cast<std::uint8_t>(c)) < 16;
  });
  return std::cmp_greater_equal(digits, vault::master_key_bytes) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<std::uint8_t>(c);
           return separates_digits(byte) || hexadecimal::value_of(byte) < 16;
         });
}

}  // namespace

void VaultPlace::declare(CLI::App& app, bool needs_folder) {
  app.add_option("DIR", folder_, "the folder that holds the encrypted files")
      ->required(needs_folder);
  app.add_option("--config", config_,
                 "the configuration, where it is not gocryptfs.conf in the folder")
      ->type_name("FILE");
}

std::string VaultPlace::configuration_path() const {
  refuse(folder_.empty() && config_.empty(), "vault: neither a folder nor --config is given");
  return config_.empty() ? (std::filesystem::path(folder_) / vault::configuration_name).string()
                         : config_;
}

vault::Configuration VaultPlace::read_configuration() const {
  const std::string path = configuration_path();
  if (std::filesystem::path(path).filename() == reverse_configuration_name) {
    refuse_reverse(path);
  }
  struct stat status = {};
  if (config_.empty() && stat(folder_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
      !exists(path)) {
    if (exists((std::filesystem::path(folder_) / reverse_configuration_name).string())) {
      refuse_reverse(folder_);
    }
    throw Error(ErrorCode::failure, folder_ + ": is not a vault: there is no gocryptfs.conf in it",
                "--config names one that lies elsewhere; 'paes vault init' makes a vault");
  }
  SecretBytes text;
  try {
    text = config_.empty()
               ? read_regular_file(path, vault::max_configuration_bytes)
               : stream::read_small_file(path, vault::max_configuration_bytes, &cancel());
  } catch (const Error& error) {
    if (error.code == ErrorCode::usage) {
      throw Error(ErrorCode::corrupt, path + ": is too long to be a configuration");
    }
    throw;
  }
  return vault::parse_configuration(text, path);
}

void CostLimit::declare(CLI::App& app) {
  const OptionGroup keys(app, keys_group);
  app.add_option("--max-work-factor", max_work_factor_,
                 "largest scrypt work factor to accept, as a power of two")
      ->type_name("N")
      ->capture_default_str()
      ->check(decimal())
      ->check(CLI::Range(vault::min_log2_n, highest_max_work_factor));
}

CLI::Option* declare_work_factor(CLI::App& app, unsigned& work_factor, const char* help) {
  return app.add_option("--work-factor", work_factor, help)
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(vault::min_log2_n, highest_max_work_factor));
}

void CostLimit::check(const vault::ScryptCost& cost, const std::string& path) const {
  const unsigned work_factor = cost.work_factor();
  if (work_factor > max_work_factor_) {
    throw Error(ErrorCode::failure,
                path + ": its passphrase has work factor " + std::to_string(work_factor) +
                    ", above the limit of " + std::to_string(max_work_factor_),
                "--max-work-factor accepts more, which takes longer and more memory");
  }
}

vault::MasterKey read_master_key(const std::string& path) {
  refuse(looks_like_master_key(path) && !exists(path),
         "master key: the key itself is given, and not the name of its file",
         "others can see a command's arguments: keep the key in a file that only you can read");
  const std::string name = shown_name(path);
  const SecretBytes text =
      path == "-"
          ? stream::read_small_file(STDIN_FILENO, name, max_master_key_file_bytes, &cancel())
          : stream::read_small_file(path, max_master_key_file_bytes, &cancel());
  SecretBytes key(vault::master_key_bytes);
  std::size_t digits = 0;
  unsigned wrong = 0;
  for (const std::uint8_t c : Bytes(text)) {
    if (separates_digits(c)) {
      continue;
    }
    if (digits < 2 * vault::master_key_bytes) {
      const unsigned value = hexadecimal::value_of(c);
      std::uint8_t& byte = key.data()[digits / 2];
      byte = static_cast<std::uint8_t>((unsigned{byte} << 4) | (value & 15));
      wrong |= value & 16;
    }
    ++digits;
  }
  refuse(wrong != 0 || digits != 2 * vault::master_key_bytes,
         name + ": holds no master key: that is 64 hexadecimal digits",
         "dashes, spaces and line ends between them do not matter");
  return vault::MasterKey(key);
}

SecretBytes master_key_text(const vault::MasterKey& key) {
  constexpr std::size_t groups = 2 * vault::master_key_bytes / group_digits;
  SecretBytes text(groups * (group_digits + 1));
  std::size_t at = 0;
  const auto put_digit = [&](unsigned value) {
    if (at % (group_digits + 1) == group_digits) {
      text.data()[at++] = '-';
    }
    const unsigned is_letter = (value + 6) >> 4;  // no branch or index that depends on the secret
    text.data()[at++] = static_cast<std::uint8_t>('0' + value + is_letter * ('a' - '9' - 1));
  };
  for (const std::uint8_t byte : key.bytes()) {
    put_digit(byte >> 4);
    put_digit(byte & 15);
  }
  text.data()[at] = '\n';
  return text;
}

SecretBytes existing_vault_passphrase(const PassphraseOptions& options) {
  SecretBytes passphrase = first_line(options.read_existing());
  if (passphrase.empty()) {
    throw Error(ErrorCode::wrong_key, "passphrase: is empty, which opens nothing");
  }
  return passphrase;
}

SecretBytes new_vault_passphrase(const PassphraseOptions& options) {
  SecretBytes passphrase = first_line(options.read_new());
  refuse(passphrase.empty(), "passphrase: its first line is empty, which protects nothing");
  refuse(passphrase.size() > most_passphrase_bytes,
         "passphrase: has more than the 2048 bytes that gocryptfs takes");
  return passphrase;
}

void write_configuration(const std::string& path, const vault::Configuration& configuration,
                         bool replaces) {
  const std::string text = vault::configuration_text(configuration);
  write_configuration(path, Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()),
                      replaces);
}

void write_configuration(const std::string& path, Bytes text, bool replaces,
                         const std::string& owner_of) {
  struct stat before = {};
  const std::string& owned = replaces ? path : owner_of;
  const bool exists_before = !owned.empty() && stat(owned.c_str(), &before) == 0;
  const auto file =
      stream::create_output(path, {.overwrite = replaces,
                                   .only_new = !replaces,
                                   .cancel = &cancel(),
                                   .warn = print_warning,
                                   .file = {.permissions = S_IRUSR, .must_last = !replaces}});
  file->write(text);
  if (exists_before && (before.st_uid != geteuid() || before.st_gid != getegid()) &&
      fchown(file->descriptor(), before.st_uid, before.st_gid) != 0) {
    print_warning(path + ": belongs to another user from now on, who may be unable to read it");
  }
  file->commit(text.size());
  if (!file->warning().empty()) {
    print_warning(file->warning());
  }
}

void VaultOptions::declare(CLI::App& app, bool needs_folder) {
  place.declare(app, needs_folder);
  passphrase.declare(app, "", "read the passphrase from this file");
  const OptionGroup keys(app, keys_group);
  app.add_option("--master-key", master_key_file,
                 "the file of the master key, in hexadecimal, in place of the passphrase; - is "
                 "standard input")
      ->type_name("FILE");
  token.declare(app);
  cost_limit.declare(app);
}

void VaultOptions::refuse_as_output(const stream::FilePlace& output) const {
  passphrase.refuse_as_output(output);
  refuse_secret_as_output(output, master_key_file, "master key");
  refuse_secret_as_output(output, place.configuration_path(), "configuration");
}

SecretBytes VaultOptions::read_secret(const vault::Configuration& configuration,
                                      const std::string& path) const {
  refuse(configuration.fido2 && !token.is_given(),
         path + ": a FIDO2 token opens this vault, and not a passphrase",
         "name its device with --fido2; `fido2-token -L` lists the devices of tokens");
  refuse(!configuration.fido2 && token.is_given(),
         path + ": a passphrase opens this vault, and not a FIDO2 token", "leave --fido2 out");
  return configuration.fido2 ? token.secret(*configuration.fido2)
                             : existing_vault_passphrase(passphrase);
}

OpenedVault VaultOptions::open() const {
  refuse(!master_key_file.empty() && passphrase.given(),
         "vault: a passphrase and --master-key cannot be combined");
  refuse(token.is_given() && (passphrase.given() || !master_key_file.empty()),
         "vault: --fido2 cannot be combined with a passphrase or --master-key");
  const std::string path = place.configuration_path();
  vault::Configuration configuration = place.read_configuration();
  if (!master_key_file.empty()) {
    vault::MasterKey key = read_master_key(master_key_file);
    return {std::move(configuration), std::move(key)};
  }
  cost_limit.check(configuration.scrypt, path);
  const SecretBytes secret = read_secret(configuration, path);
  std::optional<vault::MasterKey> key =
      vault::unwrap_master_key(configuration, secret, until_signal());
  if (!key && token.is_given()) {
    throw Error(ErrorCode::wrong_key, path + ": this token does not open it",
                "if it is the right one, this file is damaged: use a copy of it, or the master "
                "key with --master-key");
  }
  if (!key) {
    const std::string hint = passphrase.hint_when_wrong(secret);
    throw Error(ErrorCode::wrong_key, path + ": the passphrase is wrong",
                !hint.empty() ? hint
                              : "if it is right, this file is damaged: use a copy of it, or the "
                                "master key with --master-key");
  }
  return {std::move(configuration), std::move(*key)};
}

}  // namespace paes::cli
