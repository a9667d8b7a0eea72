// SPDX-License-Identifier: Apache-2.0
// "ssh-ed25519" keys (RFC 8709) as age's recipients and identities (age's README, "SSH keys"; its
// package agessh is the specification). The Ed25519 key is converted to X25519, and a tweak binds
// the stanza to the SSH key that it came from.
#pragma once

#include <array>

#include "age/ssh_key.hpp"
#include "age/x25519.hpp"

namespace paes::age {

inline constexpr std::string_view ssh_ed25519_type = "ssh-ed25519";

using Ed25519PublicKey = std::array<std::uint8_t, 32>;
using Ed25519Seed = Secret<std::array<std::uint8_t, 32>>;

// Throws Error(corrupt) unless the stanza has exactly the form of this type.
void check_ssh_ed25519(const Stanza& stanza);

class SshEd25519Recipient final : public RecipientKey {
 public:
  // Throws Error(usage) if the bytes are not a point of the curve, or one of small order.
  explicit SshEd25519Recipient(const Ed25519PublicKey& key, const std::string& name = "recipient");

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override;

 private:
  Wire wire_;
  X25519PublicKey key_;
};

class SshEd25519Identity final : public IdentityKey {
 public:
  explicit SshEd25519Identity(const Ed25519Seed& seed);

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override;
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override;
  [[nodiscard]] SecretBytes secret_text() const override;

 private:
  Ed25519PublicKey public_key_;
  Wire wire_;
  X25519Identity::SecretKey key_;
  X25519PublicKey x25519_public_key_;
};

}  // namespace paes::age
