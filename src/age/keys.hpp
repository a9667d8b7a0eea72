// SPDX-License-Identifier: Apache-2.0
// The keys that may open an age file: recipients, for which a file key is wrapped in stanzas, and
// identities, which unwrap it. Each kind of key is one file and one line in kinds.def.
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
struct WrappedKey {
  std::vector<NewStanza> stanzas;
  // Sorted. All recipients of a file must have the same labels (c2sp.org/age-plugin, "labels"). A
  // recipient that is safe against quantum computers has a label that keeps all others out.
  std::vector<std::string> labels = {};
};

// A public key. Immutable, so threads may share it.
class RecipientKey {
 public:
  virtual ~RecipientKey() = default;
  RecipientKey(const RecipientKey&) = delete;
  RecipientKey& operator=(const RecipientKey&) = delete;

  // `wait`, which may be empty, is for plugins alone; throws what it throws to give up.
  [[nodiscard]] virtual WrappedKey wrap(Bytes file_key, const WaitReady& wait = {}) const = 0;
  // The key as users write it. Keys with equal texts are equal. Empty if only a plugin knows it.
  [[nodiscard]] virtual std::string text() const = 0;
  // Whether both are the same key, as far as paes knows.
  [[nodiscard]] virtual bool is_same(const RecipientKey& other) const {
    return text() == other.text();
  }

 protected:
  RecipientKey() = default;
};

// The effort that one header may cost its reader. Anyone can write a header that names a key
// thousands of times, and each time takes work with the secret key to find that the key was named
// in vain.
class Effort {
 public:
  // `wait` may be empty and must outlive this.
  explicit Effort(const WaitReady& wait) noexcept : wait_(wait) {}

  // Call it before work with a secret key that takes about this long. Throws what `wait` throws to
  // give up, and Error(failure) if the sum exceeds max_us.
  void spend(std::uint64_t microseconds);
  // Counts a stanza that names an SSH key but wraps nothing for it. Honest writers make one only by
  // a chance of 1 in 2^32. Throws Error(corrupt) after max_named_in_vain of them.
  void named_in_vain();

  [[nodiscard]] const WaitReady& wait() const noexcept { return wait_; }

  // Ten seconds: enough for 10,000 recipients and 20 identities of X25519, for example.
  static constexpr std::uint64_t max_us = 10'000'000;
  static constexpr unsigned max_named_in_vain = 16;

 private:
  const WaitReady& wait_;
  std::uint64_t spent_us_ = 0;
  unsigned named_in_vain_ = 0;
};

// A secret key. Immutable, so threads may share it.
class IdentityKey {
 public:
  virtual ~IdentityKey() = default;
  IdentityKey(const IdentityKey&) = delete;
  IdentityKey& operator=(const IdentityKey&) = delete;

  // The file key, if one of the stanzas is for this identity. Throws Error(corrupt) if a stanza of
  // its own kind is malformed, and what `effort` throws.
  [[nodiscard]] virtual std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                          Effort& effort) const = 0;
  // Whether it may open a scrypt stanza, because a plugin may know the passphrase.
  [[nodiscard]] virtual bool may_know_a_passphrase() const noexcept { return false; }
  // Its public keys: one, unless it stands for a whole file of keys. Throws Error(usage) if the
  // identity does not reveal them.
  [[nodiscard]] virtual std::vector<std::shared_ptr<const RecipientKey>> recipients() const = 0;
  // The key as keygen writes it, without line feed. Throws Error(usage) if it has no such text.
  [[nodiscard]] virtual SecretBytes secret_text() const = 0;

 protected:
  IdentityKey() = default;
};

using SharedRecipient = std::shared_ptr<const RecipientKey>;
using SharedIdentity = std::shared_ptr<const IdentityKey>;

// How a key asks its user. Any of these may be empty; that question cannot be asked then, and what
// needs its answer fails.
struct Prompts {
  std::function<SecretBytes(const std::string& question)> passphrase = {};  // not shown while typed
  std::function<SecretBytes(const std::string& question)> answer = {};      // shown while typed
  // True for `yes`. `no` may be empty if there is no choice.
  std::function<bool(const std::string& question, const std::string& yes, const std::string& no)>
      confirm = {};
  std::function<void(const std::string& message)> show = {};
  // Told about a key in a list that age does not support. If it is empty, the list is refused.
  std::function<void(const std::string& what_why)> warn = {};
  // Throws to give up while a key's own file is opened. wrap and unwrap have their own.
  WaitReady wait = {};
};

// A well-formed public key that age does not support, such as an SSH key for signatures.
struct UnsupportedKey : Error {
  UnsupportedKey(const std::string& what_why, std::string what_it_is)
      : Error(ErrorCode::usage, what_why), description(std::move(what_it_is)) {}
  std::string description;  // "an SSH key of type ...", safe to show
};

// A kind of key in kinds.def. It does not claim what it leaves null. Parsers throw Error(usage),
// call the text `name`, and never repeat it, because it may be a secret key by mistake. Keys may
// keep the prompts and use them later.
struct KeyKind {
  // Whether a text is meant to be of this kind, even if it is misspelt.
  bool (*claims_recipient)(std::string_view text) = nullptr;
  SharedRecipient (*parse_recipient)(std::string_view text, const std::string& name,
                                     const Prompts& prompts) = nullptr;
  bool (*claims_identity)(std::string_view text) = nullptr;
  SharedIdentity (*parse_identity)(std::string_view text, const std::string& name,
                                   const Prompts& prompts) = nullptr;
  // Whether a file that is not a list of lines is of this kind.
  bool (*claims_identity_file)(Bytes contents) = nullptr;
  std::vector<SharedIdentity> (*parse_identity_file)(Bytes contents, const std::string& name,
                                                     const Prompts& prompts) = nullptr;
};

// Throws Error(usage); see KeyKind. parse_recipient also throws UnsupportedKey.
[[nodiscard]] SharedRecipient parse_recipient(std::string_view text,
                                              const std::string& name = "recipient",
                                              const Prompts& prompts = {});
[[nodiscard]] SharedIdentity parse_identity(std::string_view text,
                                            const std::string& name = "identity",
                                            const Prompts& prompts = {});

// The public keys of all identities.
[[nodiscard]] std::vector<SharedRecipient> recipients_of(
    std::span<const SharedIdentity> identities);

// Whether the text contains a secret key of any kind (also a plugin's), in upper or lower case.
[[nodiscard]] bool mentions_secret_key(std::string_view text);

// The text of a file with one identity, for keygen and --new-identity: comments with date and
// public key, then the secret key.
[[nodiscard]] SecretBytes identity_file_text(const IdentityKey& identity);

// Parses a file that a kind claims as a whole, or a list with one key a line, in which empty lines
// and lines that begin with # are skipped. `source` names the file in errors and to the user. A
// file has at most 1 MiB and 10,000 keys.
[[nodiscard]] std::vector<SharedIdentity> parse_identity_file(Bytes contents,
                                                              std::string_view source,
                                                              const Prompts& prompts = {});
// Parses a file that must be a list with one key a line.
[[nodiscard]] std::vector<SharedIdentity> parse_identity_lines(Bytes contents,
                                                               std::string_view source,
                                                               const Prompts& prompts = {});
[[nodiscard]] std::vector<SharedRecipient> parse_recipient_file(Bytes contents,
                                                                std::string_view source,
                                                                const Prompts& prompts = {});

}  // namespace paes::age
