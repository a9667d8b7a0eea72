// SPDX-License-Identifier: Apache-2.0
#include "cli/key_options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "age/plugin.hpp"
#include "cli/decimal.hpp"
#include "cli/help_page.hpp"
#include "cli/keyfile.hpp"
#include "cli/report.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

// Names a value of -r for an error. A value that looks like a public key is quoted; any other gets
// its number, because it may be a secret pasted by mistake.
std::string name_of_recipient(const std::string& text, std::size_t number) {
  constexpr std::size_t most_shown = 70;  // a whole key of age's, and a little that is too much
  if (!(text.starts_with("age1") || text.starts_with("ssh-")) || age::mentions_secret_key(text)) {
    return fmt::format("recipient number {}", number);
  }
  return text.size() <= most_shown ? fmt::format("recipient '{}'", text)
                                   : fmt::format("recipient '{}...'", text.substr(0, most_shown));
}

}  // namespace

void RecipientOptions::declare(CLI::App& app) {
  const OptionGroup keys(app, keys_group);
  app.add_option("-r,--recipient", recipients_, "encrypt to this public key; may be repeated")
      ->type_name("age1...|ssh-...")
      ->allow_extra_args(false);
  app.add_option("-R,--recipients-file", files_,
                 "encrypt to every public key in this file; - is standard input")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

std::vector<age::SharedRecipient> RecipientOptions::load() const {
  std::vector<age::SharedRecipient> loaded;
  loaded.reserve(recipients_.size());
  for (const std::string& text : recipients_) {
    loaded.push_back(
        age::parse_recipient(text, name_of_recipient(text, loaded.size() + 1), terminal_prompts()));
  }
  for (const std::string& path : files_) {
    const std::vector<age::SharedRecipient> more =
        age::parse_recipient_file(read_key_file(path), shown_name(path), terminal_prompts());
    loaded.insert(loaded.end(), more.begin(), more.end());
  }
  return loaded;
}

void RecipientOptions::refuse_as_output(const stream::FilePlace& output) const {
  for (const std::string& file : files_) {
    refuse_secret_as_output(output, file, "recipients");
  }
}

void UnlockOptions::declare(CLI::App& app) {
  const OptionGroup keys(app, keys_group);
  app.add_option("-i,--identity", identity_files,
                 "a file of secret keys, or an SSH private key; may be repeated; - is standard "
                 "input")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("-p,--passphrase", passphrase.ask,
               "ask for the passphrase (also done without -p when the file needs one)");
  passphrase.declare(app, "", "read the passphrase from this file");
  app.add_option("--max-work-factor", max_work_factor,
                 "largest scrypt work factor to accept, as a power of two")
      ->type_name("N")
      ->capture_default_str()
      ->check(decimal())
      ->check(CLI::Range(1U, age::highest_max_work_factor));
}

void UnlockOptions::refuse_as_output(const stream::FilePlace& output) const {
  for (const std::string& identity : identity_files) {
    refuse_secret_as_output(output, identity, "identity that opens the input");
  }
  passphrase.refuse_as_output(output);
}

Unlocker::Unlocker(const UnlockOptions& options) : options_(options) {
  for (const std::string& path : options.identity_files) {
    const std::vector<age::SharedIdentity> more =
        age::parse_identity_file(read_key_file(path), shown_name(path), options.prompts());
    identities_.insert(identities_.end(), more.begin(), more.end());
  }
  for (const std::string& plugin : options.plugins) {
    identities_.push_back(age::plugin_identity_without_data(plugin, options.prompts()));
  }
}

template <typename Open>
auto Unlocker::explained(const Open& open) {
  std::unique_lock turn(passphrase_turn_, std::defer_lock);
  age::Credentials credentials = this->credentials();
  credentials.ask_passphrase = [&turn, ask = std::move(credentials.ask_passphrase)] {
    turn.lock();  // until the envelope is open
    return ask();
  };
  try {
    return open(credentials);
  } catch (const Error& error) {
    // Only a passphrase that was asked for can have been the wrong one.
    if (error.code != ErrorCode::wrong_key || !turn.owns_lock() || !passphrase_ ||
        !error.hint.empty()) {
      throw;
    }
    throw Error(error.code, error.what(), options_.passphrase.hint_when_wrong(*passphrase_));
  }
}

age::OpenEnvelope Unlocker::open(Bytes envelope) {
  return explained([&](const age::Credentials& with) { return age::OpenEnvelope(envelope, with); });
}

void Unlocker::with_credentials(
    const std::function<void(const age::Credentials& credentials)>& use) {
  explained([&](const age::Credentials& with) { use(with); });
}

stream::OpenedPayload Unlocker::open(const stream::EncryptedFile& file, const stream::Work& work) {
  return explained(
      [&](const age::Credentials& with) { return file.head().open(file.source(), with, work); });
}

age::Credentials Unlocker::credentials() {
  return {identities_,
          [this] {
            if (!passphrase_) {
              passphrase_ = options_.passphrase.read_existing();
              if (passphrase_->empty()) {  // as age has it
                throw Error(ErrorCode::wrong_key, "passphrase: is empty, which opens nothing");
              }
            }
            return SecretBytes(Bytes(*passphrase_));
          },
          options_.max_work_factor, until_signal()};
}

}  // namespace paes::cli
