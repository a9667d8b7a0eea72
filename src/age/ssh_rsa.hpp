// SPDX-License-Identifier: Apache-2.0
// "ssh-rsa" keys (RFC 4253, section 6.6) as recipients and identities, as age takes them (age's
// README, "SSH keys"; its package agessh is the specification): the file key is encrypted with
// OAEP. Anyone who ever breaks the RSA key opens the file, and the stanza names the key, as age's
// other SSH type does.
#pragma once

#include "age/ssh_key.hpp"
#include "crypto/rsa.hpp"

namespace paes::age {

inline constexpr std::string_view ssh_rsa_type = "ssh-rsa";

// Throws Error(corrupt) unless the stanza has the form that a key of some length takes.
void check_ssh_rsa(const Stanza& stanza);

class SshRsaRecipient final : public RecipientKey {
 public:
  // Throws Error(usage) for a wire encoding that is malformed, and UnsupportedKey for a key that is
  // too small or too large.
  explicit SshRsaRecipient(Bytes wire, const std::string& name = "recipient");

  [[nodiscard]] Wrapped wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override;

 private:
  Wire wire_;
};

class SshRsaIdentity final : public IdentityKey {
 public:
  // Throws Error(usage) for numbers that do not belong together.
  SshRsaIdentity(const rsa::PrivateNumbers& numbers, const std::string& name);

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override;
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override;
  [[nodiscard]] SecretBytes secret_text() const override;

 private:
  Wire wire_;
  rsa::PrivateKey key_;
};

}  // namespace paes::age
