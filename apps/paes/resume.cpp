#include "paes/resume.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>

#include "paes/report.hpp"

namespace paes::cli {

namespace {

using PublicKey = std::array<std::uint8_t, 32>;

PublicKey key_of(const age::Recipient& recipient) {
  PublicKey key;
  std::copy(std::begin(recipient.public_key), std::end(recipient.public_key), key.begin());
  return key;
}

}  // namespace

bool is_resumable(const stream::Input& input, const std::string& output) {
  if (!input.is_regular()) {
    throw Error(ErrorCode::usage, input.name() + ": is no regular file, which --resume needs");
  }
  if (output == "-") {
    throw Error(ErrorCode::usage, "standard output: is no regular file, which --resume needs",
                "name the output with -o");
  }
  return input.is_seekable();
}

void warn_of_restart(const std::string& what_why) { print_warning(what_why); }

void print_kept(const stream::Output& output, const stream::ResumedTotals& totals) {
  if (totals.kept_text_bytes != 0) {
    print_note(fmt::format("paes: {}: continued, {} of {} were done before", output.name(),
                           human_bytes(static_cast<double>(totals.kept_text_bytes)),
                           human_bytes(static_cast<double>(totals.text_bytes))));
  }
}

void ReopenOptions::declare(CLI::App& app) {
  app.add_option("-i,--identity", unlock_.identity_files,
                 "with --resume: a file of secret keys that opens what an interrupted run left")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void check_resume(bool resume, const ReopenOptions& reopen, bool has_passphrase) {
  if (!resume) {
    if (reopen.given()) {
      throw Error(ErrorCode::usage, "identity: encrypting needs none, but with --resume",
                  "to encrypt to its public key, give that with -r");
    }
    return;
  }
  if (has_passphrase == reopen.given()) {
    throw Error(ErrorCode::usage,
                reopen.given() ? "identity: opens nothing where there is a passphrase"
                               : "resume: could not open what it has to continue",
                "give -i IDENTITY of one of the recipients, or encrypt to a passphrase");
  }
}

Reopener::Reopener(const ReopenOptions& options, const std::vector<age::Recipient>& recipients,
                   const SecretBytes& passphrase)
    : recipients_(recipients),
      passphrase_(passphrase),
      identities_(Unlocker(options.unlock()).take_identities()) {}

void Reopener::check_opens() const {
  const bool opens =
      std::any_of(identities_.begin(), identities_.end(), [&](const age::Identity& identity) {
        const PublicKey own = key_of(age::recipient_of(identity));
        return std::any_of(recipients_.begin(), recipients_.end(),
                           [&](const age::Recipient& r) { return key_of(r) == own; });
      });
  if (!recipients_.empty() && !opens) {
    throw Error(ErrorCode::usage, "identity: none given with -i is a recipient's",
                "--resume has to open what it continues: add the public key of one with -r");
  }
}

std::vector<std::uint8_t> Reopener::settings() const {
  std::vector<PublicKey> keys;
  std::transform(recipients_.begin(), recipients_.end(), std::back_inserter(keys), key_of);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<std::uint8_t> all;
  for (const PublicKey& key : keys) {
    all.insert(all.end(), key.begin(), key.end());
  }
  return all;
}

std::optional<SecretBytes> Reopener::open(Bytes envelope) {
  // Nothing is asked for: the passphrase is the one that a new envelope would get, and an envelope
  // that wants more work than we write is none of ours.
  age::Credentials credentials{identities_, nullptr, age::written_work_factor, until_signal()};
  if (recipients_.empty()) {
    credentials.ask_passphrase = [this] { return SecretBytes(Bytes(passphrase_)); };
  }
  try {
    return age::open(envelope, credentials);
  } catch (const Error& error) {
    if (error.code == ErrorCode::failure) {
      throw;  // interrupted, or out of memory
    }
    return std::nullopt;
  }
}

}  // namespace paes::cli
