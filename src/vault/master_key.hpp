// SPDX-License-Identifier: Apache-2.0
// The master key of a volume, which the configuration holds under a passphrase, and the keys
// derived from it (RFC 5869, HKDF-SHA-256 without a salt).
#pragma once

#include <array>
#include <optional>

#include "core/secret.hpp"
#include "crypto/derivation.hpp"
#include "vault/configuration.hpp"

namespace paes::vault {

inline constexpr std::size_t master_key_bytes = 32;

class MasterKey {
 public:
  [[nodiscard]] static MasterKey random();
  // `key` has 32 bytes. Throws Error(usage) for another length.
  explicit MasterKey(Bytes key);

  // The keys for each use. Without HKDF, content and names share the master key, and AES-SIV uses
  // its SHA-512.
  [[nodiscard]] SecretBytes name_key(const Features& features) const;     // 32 bytes, AES-256
  [[nodiscard]] SecretBytes content_key(const Features& features) const;  // 32; AES-SIV: 64

  [[nodiscard]] Bytes bytes() const noexcept { return *key_; }

 private:
  MasterKey() = default;

  Secret<std::array<std::uint8_t, master_key_bytes>> key_;
};

// Empty if the passphrase is wrong. The caller has capped the cost. `wait` may throw to give up.
[[nodiscard]] std::optional<MasterKey> unwrap_master_key(const Configuration& configuration,
                                                         Bytes passphrase, const WaitReady& wait);

// Puts the key, under a passphrase and a new salt, into the configuration.
void wrap_master_key(const MasterKey& key, Bytes passphrase, unsigned log2_n,
                     Configuration& configuration, const WaitReady& wait);

}  // namespace paes::vault
