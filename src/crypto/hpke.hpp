// SPDX-License-Identifier: Apache-2.0
// Hybrid public key encryption in its base mode (RFC 9180, sections 5.1.1 and 6.1), with
// HKDF-SHA256 and ChaCha20-Poly1305, for one message under one shared secret. The caller obtains
// the secret from a key encapsulation mechanism and names that by its number.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::hpke {

inline constexpr std::uint16_t mlkem768_x25519 = 0x647a;  // draft-ietf-hpke-pq

inline constexpr std::size_t tag_bytes = 16;

[[nodiscard]] std::vector<std::uint8_t> seal(std::uint16_t kem, Bytes shared_secret, Bytes info,
                                             Bytes text);
// `ciphertext` is tag_bytes longer than `text`. False, with `text` wiped, if it is not authentic.
[[nodiscard]] bool open(std::uint16_t kem, Bytes shared_secret, Bytes info, Bytes ciphertext,
                        MutableBytes text);

}  // namespace paes::hpke
