// SPDX-License-Identifier: Apache-2.0
// The public header's keys, on top of age's.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "age/encrypted_identity_file.hpp"
#include "age/x25519.hpp"
#include "core/refuse.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/pem.hpp"
#include "library/key_parts.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file/small_file.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes {

Recipient::Recipient(std::string_view text)
    : state_(std::make_shared<const State>(State{age::parse_recipient(text)})) {}

std::vector<Recipient> Recipient::load(const std::string& path) {
  const SecretBytes contents = stream::read_key_file(path);
  std::vector<Recipient> loaded;
  for (const age::SharedRecipient& key : age::parse_recipient_file(contents, path)) {
    loaded.push_back(KeyParts::make<Recipient>({key}));
  }
  return loaded;
}

std::string Recipient::text() const { return state_->key->text(); }

bool Recipient::operator==(const Recipient& other) const {
  return state_->key->is_same(*other.state_->key);
}

Identity::Identity(std::string_view text)
    : state_(std::make_shared<const State>(State{age::parse_identity(text)})) {}

Identity Identity::generate() { return KeyParts::make<Identity>({age::generate_x25519()}); }

namespace {

std::vector<Identity> identities_of(const std::vector<age::SharedIdentity>& keys) {
  std::vector<Identity> identities;
  std::transform(keys.begin(), keys.end(), std::back_inserter(identities),
                 [](const age::SharedIdentity& key) { return KeyParts::make<Identity>({key}); });
  return identities;
}

}  // namespace

std::vector<Identity> Identity::load(const std::string& path) {
  const SecretBytes contents = stream::read_key_file(path);
  return identities_of(age::parse_identity_file(contents, path));
}

std::vector<Identity> Identity::load(const std::string& path, const Passphrase& passphrase) {
  return load(path, passphrase, nullptr);
}

std::vector<Identity> Identity::load(const std::string& path, const Passphrase& passphrase,
                                     const Cancel* cancel) {
  refuse(passphrase.is_empty(), "passphrase: is empty");
  const SecretBytes contents = stream::read_key_file(path, cancel);
  if (age::is_encrypted_identity_file(contents)) {
    return identities_of(age::open_identity_file(contents, path, KeyParts::of(passphrase).text, {},
                                                 stream::waiting(cancel)));
  }
  age::Prompts prompts;
  if (pem::is_pem(libcrypto::text_of(contents))) {  // a plugin is not told
    prompts.passphrase = [passphrase](const std::string& /*question*/) {
      return SecretBytes(Bytes(KeyParts::of(passphrase).text));
    };
  }
  return identities_of(age::parse_identity_file(contents, path, prompts));
}

Recipient Identity::recipient() const {
  return KeyParts::make<Recipient>({state_->key->recipients().front()});
}

void Identity::save(const std::string& path) const {
  const SecretBytes text = age::identity_file_text(*state_->key);
  const auto file = stream::create_output(
      path,
      {.only_new = true,
       .file = {.permissions = S_IRUSR | S_IWUSR, .must_be_private = true, .must_last = true}});
  file->write(Bytes(text));
  file->commit(text.size());
}

Passphrase::Passphrase(std::string_view text)
    : state_(std::make_shared<const State>(State{SecretBytes(libcrypto::bytes_of(text))})) {
  refuse(text.empty(), "passphrase: is empty");
}

Passphrase Passphrase::load(const std::string& path) {
  SecretBytes text = stream::read_key_file(path);
  const Bytes all = text;
  text.truncate(static_cast<std::size_t>(std::find(all.begin(), all.end(), '\n') - all.begin()));
  refuse(text.empty(), path + ": its first line is empty, and so no passphrase");
  return Passphrase(libcrypto::text_of(text));
}

CobblestoneKey::CobblestoneKey(Bytes key, Bytes context)
    : state_(std::make_shared<const State>(
          State{SecretBytes(key), std::vector<std::uint8_t>(context.begin(), context.end())})) {
  if (key.size() != 16 && key.size() != 32) {
    throw Error(ErrorCode::usage, "key: " + std::to_string(key.size()) + " bytes",
                "Cobblestone takes 16 or 32");
  }
}

void check(const SealFor& seal_for) {
  const int ways = (seal_for.recipients.empty() ? 0 : 1) +
                   (seal_for.passphrase.is_empty() ? 0 : 1) + (seal_for.key.is_empty() ? 0 : 1);
  refuse(ways == 0, "recipients: nobody could decrypt the output",
         "give recipients, a passphrase or a key");
  refuse(ways > 1, "recipients: a passphrase and a key each go alone");
  if (seal_for.key_bits != 128 && seal_for.key_bits != 256) {
    throw Error(ErrorCode::usage, "key_bits: " + std::to_string(seal_for.key_bits),
                "AES has 128 and 256 here");
  }
}

void check(const OpenWith& open_with) {
  const bool has_age_key = !open_with.identities.empty() || !open_with.passphrase.is_empty();
  refuse(!has_age_key && open_with.key.is_empty(), "identities: nothing given could open a file",
         "give identities, a passphrase or a key");
  refuse(has_age_key && !open_with.key.is_empty(),
         "key: goes alone, because its files have no envelope");
  if (open_with.max_work_factor < 1 || open_with.max_work_factor > age::highest_max_work_factor) {
    throw Error(ErrorCode::usage, "max_work_factor: " + std::to_string(open_with.max_work_factor),
                "1 to " + std::to_string(age::highest_max_work_factor));
  }
}

std::vector<age::SharedRecipient> recipients_of(std::span<const Recipient> recipients) {
  std::vector<age::SharedRecipient> keys;
  std::transform(recipients.begin(), recipients.end(), std::back_inserter(keys),
                 [](const Recipient& recipient) { return KeyParts::of(recipient).key; });
  return keys;
}

age::SealTo seal_to(const SealFor& seal_for, std::span<const age::SharedRecipient> recipients,
                    const Cancel* cancel) {
  return {recipients,
          seal_for.passphrase.is_empty() ? Bytes() : Bytes(KeyParts::of(seal_for.passphrase).text),
          age::written_work_factor, stream::waiting(cancel)};
}

void with_credentials(const OpenWith& open_with, const Cancel* cancel,
                      const std::function<void(const age::Credentials& credentials)>& open) {
  std::vector<age::SharedIdentity> identities;
  std::transform(open_with.identities.begin(), open_with.identities.end(),
                 std::back_inserter(identities),
                 [](const Identity& identity) { return KeyParts::of(identity).key; });
  age::Credentials credentials{identities, nullptr, open_with.max_work_factor,
                               stream::waiting(cancel)};
  if (!open_with.passphrase.is_empty()) {
    credentials.ask_passphrase = [&] {
      return SecretBytes(Bytes(KeyParts::of(open_with.passphrase).text));
    };
  }
  open(credentials);
}

}  // namespace paes
