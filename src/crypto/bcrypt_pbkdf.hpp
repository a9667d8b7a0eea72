// SPDX-License-Identifier: Apache-2.0
// bcrypt_pbkdf, the key derivation of OpenSSH's encrypted keys (OpenBSD, bcrypt_pbkdf(3)): PBKDF2's
// outline around a Blowfish cipher whose key schedule is expensive (Provos and Mazieres, "A
// Future-Adaptable Password Scheme", 1999). libcrypto does not have it.
#pragma once

#include <cstdint>
#include <functional>

#include "core/bytes.hpp"

namespace paes::age {

inline constexpr std::size_t max_bcrypt_bytes = 1024;

// Neither passphrase nor salt is empty, `rounds` is at least 1, and `out` has 1 to
// max_bcrypt_bytes. A round takes some milliseconds for each 32 bytes of `out`, and calls `check`
// once, unless it is empty. What `check` throws ends the derivation and passes through. Blowfish's
// table look-ups depend on the passphrase, so programs that share the cache could learn about it;
// every bcrypt_pbkdf has this weakness.
void bcrypt_pbkdf(Bytes passphrase, Bytes salt, std::uint32_t rounds,
                  const std::function<void()>& check, MutableBytes out);

}  // namespace paes::age
