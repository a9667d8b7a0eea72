// SPDX-License-Identifier: Apache-2.0
#include "cli/sealing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>

#include "age/header.hpp"
#include "cli/decimal.hpp"
#include "cli/help_page.hpp"
#include "cli/option_list.hpp"
#include "cli/report.hpp"
#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

// The order of the help.
constexpr std::array suites = {container::Suite::cobblestone_256,
                               container::Suite::cobblestone_128};

// The public key, or for a plugin's identity, whose public key the plugin alone knows, a digest.
std::string recipient_name(const age::RecipientKey& own, const age::IdentityKey& identity) {
  std::string key = own.text();
  if (key.empty()) {
    std::array<std::uint8_t, libcrypto::sha256_bytes> digest = {};
    libcrypto::sha256(identity.secret_text(), digest);
    key.assign(digest.begin(), digest.end());
  }
  return key;
}

std::vector<std::string> suite_names() { return {name_of(suites[0]), name_of(suites[1])}; }

}  // namespace

const char* name_of(container::Suite suite) noexcept {
  return suite == container::Suite::cobblestone_128 ? "aes-128-gcm" : "aes-256-gcm";
}

container::Suite parse_suite(const std::string& name) {
  for (const container::Suite suite : suites) {
    if (name == name_of(suite)) {
      return suite;
    }
  }
  throw Error(ErrorCode::usage, "suite: unknown name '" + name + "'",
              fmt::format("there are: {}", fmt::join(suite_names(), ", ")));
}

void SealOptions::declare(CLI::App& app, const std::string& terminal, bool has_new_identity) {
  {
    const OptionGroup keys(app, keys_group);
    recipients.declare(app);
    app.add_flag(
        "-p,--passphrase", passphrase.ask,
        "encrypt to a passphrase, asked for at " + terminal + "; without other recipients");
    passphrase.declare(app, "", "encrypt to the passphrase in this file");
    if (has_new_identity) {
      app.add_option("--new-identity", new_identity,
                     "make a key pair, keep it in this new file, and encrypt to it")
          ->type_name("FILE");
    }
  }
  app.add_option("--suite", suite, "the cipher")
      ->type_name(join_choices(suite_names()))
      ->capture_default_str();
  app.add_option("--reserve", spare_recipients,
                 "leave room in the file for this many more recipients, which rekey --add takes")
      ->type_name("N")
      ->capture_default_str()
      ->check(decimal())
      ->check(CLI::Range(std::size_t{0},
                         container::max_envelope_bytes / container::spare_recipient_bytes));
}

void SealOptions::declare_reopen(CLI::App& app) {
  const OptionGroup keys(app, keys_group);
  app.add_option(
         "-i,--identity", reopen.identity_files,
         "encrypt to the public keys of these secret keys; with --resume they also open what "
         "an interrupted run left")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

unsigned SealOptions::standard_input_uses() const {
  return passphrase.standard_input_uses() + recipients.standard_input_uses() +
         reopen.standard_input_uses();
}

bool SealOptions::is_given() const {
  return recipients.given() || !new_identity.empty() || !reopen.identity_files.empty() ||
         passphrase.given();
}

void SealOptions::refuse_as_output(const stream::FilePlace& output) const {
  recipients.refuse_as_output(output);
  passphrase.refuse_as_output(output);
  reopen.refuse_as_output(output);
}

void SealOptions::check(bool resume, const std::string& ways) const {
  const bool has_identity = !reopen.identity_files.empty();
  const bool has_recipient = recipients.given() || !new_identity.empty() || has_identity;
  refuse(has_recipient && passphrase.given(),
         "recipients: a passphrase cannot be combined with other recipients",
         "leave out -p or the recipients");
  refuse(!has_recipient && !passphrase.given(), "recipients: nobody could decrypt the output",
         "give " + ways);
  refuse(resume && !new_identity.empty(), "resume: cannot be combined with --new-identity",
         "make the key first: paes keygen -o FILE");
  refuse(resume && !passphrase.given() && !has_identity,
         "resume: could not open what it has to continue",
         "give -i IDENTITY of one of the recipients, or encrypt to a passphrase");
}

container::Shape SealOptions::shape() const { return {parse_suite(suite), spare_recipients}; }

Sealer::Sealer(const SealOptions& options, const container::Shape& shape)
    : options_(options),
      shape_(shape),
      recipients_(options.recipients.load()),
      identities_(Unlocker(options.reopen).identities()) {
  std::set<std::string> keys;
  std::transform(recipients_.begin(), recipients_.end(), std::inserter(keys, keys.end()),
                 [](const age::SharedRecipient& recipient) { return recipient->text(); });
  for (const age::SharedIdentity& identity : identities_) {
    for (const age::SharedRecipient& own : identity->recipients()) {
      if (keys.insert(recipient_name(*own, *identity)).second) {
        recipients_.push_back(own);
      }
    }
  }
  for (const std::string& key : keys) {
    settings_.insert(settings_.end(), key.begin(), key.end());
    settings_.push_back('\n');
  }
  if (options.passphrase.has_source()) {
    passphrase_ = options.passphrase.read_new();
  }
}

void Sealer::ask_passphrase() {
  const std::lock_guard turn(passphrase_turn_);
  if (recipients_.empty() && passphrase_.empty()) {
    passphrase_ = options_.passphrase.read_new();
  }
}

stream::NewKey Sealer::make_key() const {
  stream::NewKey made{SecretBytes(container::key_bytes(shape_.suite)), {}};
  random_bytes(made.input_key);
  made.envelope =
      sealed([&](const age::SealTo& to) { return age::seal_envelope(to, made.input_key); });
  return made;
}

stream::ResumableEncryption Sealer::resumable() const {
  return {
      shape_, settings_,
      [this](Bytes envelope) {
        return reopened([&](const age::Credentials& with) { return age::open(envelope, with); });
      },
      [this] { return make_key(); }, print_warning};
}

stream::ResumableEncryption Sealer::resumable_age() const {
  return {std::nullopt, settings_,
          [this](Bytes header) {
            return reopened([&](const age::Credentials& with) {
              return age::open_header(age::parse_checked(header), with);
            });
          },
          [this] {
            age::SealedHeader made =
                sealed([](const age::SealTo& to) { return age::seal_header(to); });
            return stream::NewKey{std::move(made.file_key), {made.text.begin(), made.text.end()}};
          },
          print_warning};
}

std::optional<SecretBytes> Sealer::reopened(
    const std::function<SecretBytes(const age::Credentials& credentials)>& open) const {
  // Does not ask for a passphrase: it uses the one for a new envelope. An envelope with a higher
  // work factor than ours is not ours.
  age::Credentials credentials{identities_, nullptr, age::written_work_factor, until_signal()};
  if (recipients_.empty()) {
    credentials.ask_passphrase = [this] { return SecretBytes(Bytes(passphrase_)); };
  }
  try {
    return open(credentials);
  } catch (const Error& error) {
    if (error.code == ErrorCode::failure) {
      throw;  // interrupted, or out of memory
    }
    return std::nullopt;
  }
}

}  // namespace paes::cli
