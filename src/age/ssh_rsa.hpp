// SPDX-License-Identifier: Apache-2.0
// "ssh-rsa" keys (RFC 4253, section 6.6) as age's recipients and identities (age's README, "SSH
// keys"; its package agessh is the specification). The file key is encrypted with OAEP. Whoever
// breaks the RSA key later can open the file, and the stanza names the key, as for ssh-ed25519.
#pragma once

#include "age/ssh_key.hpp"
#include "crypto/rsa.hpp"

namespace paes::age {

inline constexpr std::string_view ssh_rsa_type = "ssh-rsa";

// Throws Error(corrupt) unless the stanza could be for an RSA key of some length.
void check_ssh_rsa(const Stanza& stanza);

class SshRsaRecipient final : public RecipientKey {
 public:
  // Throws Error(usage) for a malformed wire encoding, UnsupportedKey for a key of a wrong size.
  explicit SshRsaRecipient(Bytes wire, const std::string& name = "recipient");

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override;

 private:
  Wire wire_;
};

class SshRsaIdentity final : public IdentityKey {
 public:
  // Throws Error(usage) if the numbers do not belong together.
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
