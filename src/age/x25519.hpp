// SPDX-License-Identifier: Apache-2.0
// age's own keys: "age1..." and "AGE-SECRET-KEY-1..." (c2sp.org/age, "The X25519 recipient type").
// They are a u-coordinate and a scalar of RFC 7748 in Bech32.
#pragma once

#include <array>

#include "age/keys.hpp"
#include "age/wrap.hpp"

namespace paes::age {

inline constexpr std::string_view x25519_type = "X25519";

using X25519PublicKey = std::array<std::uint8_t, 32>;

class X25519Recipient final : public RecipientKey {
 public:
  // Throws Error(usage) for a key of small order: anybody could open what is sealed to it.
  explicit X25519Recipient(const X25519PublicKey& key, const std::string& name = "recipient");

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override;

 private:
  X25519PublicKey key_;
};

class X25519Identity final : public IdentityKey {
 public:
  using SecretKey = Secret<std::array<std::uint8_t, 32>>;
  explicit X25519Identity(SecretKey key);

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override;
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override;
  [[nodiscard]] SecretBytes secret_text() const override;

 private:
  SecretKey key_;
  X25519PublicKey public_key_;
};

[[nodiscard]] SharedIdentity generate_x25519();

// The fields of a stanza that wraps a file key by a Diffie-Hellman exchange.
struct X25519Fields {
  X25519PublicKey share;
  WrappedFileKey wrapped_key;
};
// `argument_count` includes the type; the share is the last argument. Throws Error(corrupt).
[[nodiscard]] X25519Fields read_x25519_fields(const Stanza& stanza, std::size_t argument_count);

// Whether the exchange with any key gives zero (RFC 7748, section 7).
[[nodiscard]] bool has_small_order(const X25519PublicKey& key);

// Throws Error(corrupt) unless the stanza has exactly the form of this type.
void check_x25519(const Stanza& stanza);

}  // namespace paes::age
