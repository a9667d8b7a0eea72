// SPDX-License-Identifier: Apache-2.0
// Who may open an age file: recipients, for whom a file key is wrapped in stanzas, and identities,
// which unwrap it. Each kind of key is one file and one line in kinds.def.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "age/stanza.hpp"
#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"
#include "paes/error.hpp"

namespace paes::age {

// What one recipient adds to a header.
struct Wrapped {
  std::vector<NewStanza> stanzas;
  // All recipients of a file must have the same labels (c2sp.org/age-plugin, "labels"). A recipient
  // that is safe against quantum computers has one that keeps all others out. Sorted.
  std::vector<std::string> labels = {};
};

// A public key. Immutable, hence shared by threads.
class RecipientKey {
 public:
  virtual ~RecipientKey() = default;
  RecipientKey(const RecipientKey&) = delete;
  RecipientKey& operator=(const RecipientKey&) = delete;

  // Throws what `wait` throws to give up; it may be empty, and is used by plugins alone.
  [[nodiscard]] virtual Wrapped wrap(Bytes file_key, const WaitReady& wait = {}) const = 0;
  // As users write it; two keys with one text are the same. Empty if only a plugin knows it.
  [[nodiscard]] virtual std::string text() const = 0;
  // Whether both are one key, as far as that is known here.
  [[nodiscard]] virtual bool is_same(const RecipientKey& other) const {
    return text() == other.text();
  }

 protected:
  RecipientKey() = default;
};

// What one header may cost whoever opens it. Anyone can write a header that names a key thousands
// of times, and each time takes work with the secret key to find that it was named in vain.
class Effort {
 public:
  // `wait` may be empty and must outlive this.
  explicit Effort(const WaitReady& wait) noexcept : wait_(wait) {}

  // Before work with a secret key that takes about so many microseconds. Throws what `wait` throws
  // to give up, and Error(failure) when the sum is above max_us.
  void spend(std::uint64_t microseconds);
  // A stanza that names an SSH key wraps nothing for it. No writer makes such a stanza but by a
  // chance of 1 in 2^32. Throws Error(corrupt) after max_named_in_vain of them.
  void named_in_vain();

  [[nodiscard]] const WaitReady& wait() const noexcept { return wait_; }

  // Ten seconds, for 10,000 recipients and 20 identities of X25519, for instance.
  static constexpr std::uint64_t max_us = 10'000'000;
  static constexpr unsigned max_named_in_vain = 16;

 private:
  const WaitReady& wait_;
  std::uint64_t spent_us_ = 0;
  unsigned named_in_vain_ = 0;
};

// A secret key. Immutable, hence shared by threads.
class IdentityKey {
 public:
  virtual ~IdentityKey() = default;
  IdentityKey(const IdentityKey&) = delete;
  IdentityKey& operator=(const IdentityKey&) = delete;

  // The file key, if one of the stanzas is for this identity. Throws Error(corrupt) if a stanza of
  // its own kind is malformed, and what `effort` throws.
  [[nodiscard]] virtual std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                          Effort& effort) const = 0;
  // Whether it may open a stanza of type scrypt: a plugin may know the passphrase.
  [[nodiscard]] virtual bool may_know_a_passphrase() const noexcept { return false; }
  // Its public keys: one, unless it stands for a whole file of keys. Throws Error(usage) if they
  // cannot be known from the identity.
  [[nodiscard]] virtual std::vector<std::shared_ptr<const RecipientKey>> recipients() const = 0;
  // As keygen writes it, without a line feed. Throws Error(usage) if it has no such text.
  [[nodiscard]] virtual SecretBytes secret_text() const = 0;

 protected:
  IdentityKey() = default;
};

using SharedRecipient = std::shared_ptr<const RecipientKey>;
using SharedIdentity = std::shared_ptr<const IdentityKey>;

// How a key asks its user for something. Any of these may be empty: then it cannot be asked, and
// what needs an answer fails.
struct Prompts {
  std::function<SecretBytes(const std::string& question)> passphrase = {};  // typed unseen
  std::function<SecretBytes(const std::string& question)> answer = {};      // seen as it is typed
  // True for `yes`. `no` may be empty: then there is nothing else to choose.
  std::function<bool(const std::string& question, const std::string& yes, const std::string& no)>
      confirm = {};
  std::function<void(const std::string& message)> show = {};
  // Told of a key in a list that age does not take. If it is empty, the list is refused.
  std::function<void(const std::string& what_why)> warn = {};
  // To give up while a key's own file is opened outside of wrap and unwrap, which have their own.
  WaitReady wait = {};
};

// A public key that is well formed and that age does not take, such as one of SSH's for signatures.
struct UnsupportedKey : Error {
  UnsupportedKey(const std::string& what_why, std::string what_it_is)
      : Error(ErrorCode::usage, what_why), description(std::move(what_it_is)) {}
  std::string description;  // "an SSH key of type ...", safe to show
};

// A kind of key, as kinds.def lists it: what it leaves null, it does not claim. Errors of all
// parsers are Error(usage) and never repeat the text, which may be a secret key by mistake. They
// call it `name`. Keys may keep the prompts and use them later.
struct KeyKind {
  // Whether a text means to be of this kind, even if it is misspelt.
  bool (*claims_recipient)(std::string_view text) = nullptr;
  SharedRecipient (*parse_recipient)(std::string_view text, const std::string& name,
                                     const Prompts& prompts) = nullptr;
  bool (*claims_identity)(std::string_view text) = nullptr;
  SharedIdentity (*parse_identity)(std::string_view text, const std::string& name,
                                   const Prompts& prompts) = nullptr;
  // For a file that is no list of lines.
  bool (*claims_identity_file)(Bytes contents) = nullptr;
  std::vector<SharedIdentity> (*parse_identity_file)(Bytes contents, const std::string& name,
                                                     const Prompts& prompts) = nullptr;
};

// Throws Error(usage) as KeyKind says.
// parse_recipient also throws UnsupportedKey.
[[nodiscard]] SharedRecipient parse_recipient(std::string_view text,
                                              const std::string& name = "recipient",
                                              const Prompts& prompts = {});
[[nodiscard]] SharedIdentity parse_identity(std::string_view text,
                                            const std::string& name = "identity",
                                            const Prompts& prompts = {});

// All public keys of all of them.
[[nodiscard]] std::vector<SharedRecipient> recipients_of(
    std::span<const SharedIdentity> identities);

// Whether a secret key of any kind, a plugin's too, stands anywhere in the text, in small letters
// or capitals.
[[nodiscard]] bool mentions_secret_key(std::string_view text);

// The text of a file of one identity, as keygen and --new-identity write it: comments with date and
// public key, then the secret key.
[[nodiscard]] SecretBytes identity_file_text(const IdentityKey& identity);

// A file that a kind claims as a whole, or one with one key a line. There, empty lines and lines
// that begin with # are skipped. `source` names the file in errors and to the user. A file has at
// most 1 MiB and 10,000 keys.
[[nodiscard]] std::vector<SharedIdentity> parse_identity_file(Bytes contents,
                                                              std::string_view source,
                                                              const Prompts& prompts = {});
// The same for a file that must have one key a line.
[[nodiscard]] std::vector<SharedIdentity> parse_identity_lines(Bytes contents,
                                                               std::string_view source,
                                                               const Prompts& prompts = {});
[[nodiscard]] std::vector<SharedRecipient> parse_recipient_file(Bytes contents,
                                                                std::string_view source,
                                                                const Prompts& prompts = {});

}  // namespace paes::age
