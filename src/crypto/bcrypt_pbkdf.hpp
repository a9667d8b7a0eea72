// SPDX-License-Identifier: Apache-2.0
// bcrypt_pbkdf, the key derivation of OpenSSH's encrypted keys (OpenBSD, bcrypt_pbkdf(3)): PBKDF2's
// outline around a Blowfish cipher whose key schedule is expensive (Provos and Mazieres, "A
// Future-Adaptable Password Scheme", 1999). libcrypto has none.
#pragma once

#include <cstdint>
#include <functional>

#include "core/bytes.hpp"

namespace paes::age {

inline constexpr std::size_t max_bcrypt_bytes = 1024;

// Blowfish looks its S-boxes up, and what it looks up depends on the passphrase. Programs that
// share the cache could learn of it; every bcrypt_pbkdf has this weakness. A round takes some
// milliseconds for each 32 bytes of `out`. Neither passphrase nor salt is empty, `rounds` is at
// least 1, and `out` has 1 to max_bcrypt_bytes. `check` is called once a round, unless it is empty.
// What it throws ends the derivation and passes through.
void bcrypt_pbkdf(Bytes passphrase, Bytes salt, std::uint32_t rounds,
                  const std::function<void()>& check, MutableBytes out);

}  // namespace paes::age
