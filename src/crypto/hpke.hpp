// SPDX-License-Identifier: Apache-2.0
// Hybrid public key encryption in its base mode (RFC 9180, sections 5.1.1 and 6.1), with
// HKDF-SHA256 and ChaCha20-Poly1305, for one message under one shared secret. The caller obtains
// the secret by a key encapsulation mechanism: it exchanges keys itself, and derives the secret
// from what came out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::hpke {

struct Kem {
  std::uint16_t id;
  std::string_view label;  // what only hybrid secrets have
};
inline constexpr Kem p256 = {0x0010, {}};  // DHKEM(P-256, HKDF-SHA256)
// draft-ietf-hpke-pq
inline constexpr Kem mlkem768_p256 = {0x0050, "MLKEM768-P256"};
inline constexpr Kem mlkem768_x25519 = {0x647a, "\\.//^\\"};

inline constexpr std::size_t secret_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;

// What is public of an exchange on a curve: the share made for it, and the recipient's key.
struct Exchange {
  Bytes share;
  Bytes public_key;
};

// The secret of a KEM that is an exchange alone (section 4.1).
void derive_secret(const Kem& kem, Bytes exchanged, const Exchange& exchange, MutableBytes secret);
// The secret of a hybrid KEM (draft-ietf-hpke-pq; for X25519 also draft-connolly-cfrg-xwing-kem).
void combine_secrets(const Kem& kem, Bytes ml_kem, Bytes exchanged, const Exchange& exchange,
                     MutableBytes secret);

[[nodiscard]] std::vector<std::uint8_t> seal(const Kem& kem, Bytes shared_secret, Bytes info,
                                             Bytes text);
// `ciphertext` is tag_bytes longer than `text`. False, with `text` wiped, if it is not authentic.
[[nodiscard]] bool open(const Kem& kem, Bytes shared_secret, Bytes info, Bytes ciphertext,
                        MutableBytes text);

}  // namespace paes::hpke
