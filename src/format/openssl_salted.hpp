// SPDX-License-Identifier: Apache-2.0
// The files of `openssl enc`: "Salted__", 8 bytes of salt, the ciphertext. Key and IV are derived
// from a passphrase: with -pbkdf2 by PBKDF2 (RFC 8018, section 5.2), otherwise by one digest. The
// file does not say which way, which digest and how many iterations, and nothing is authenticated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"

namespace paes::openssl_salted {

inline constexpr std::size_t salt_bytes = 8;
inline constexpr std::size_t head_bytes = 16;
inline constexpr std::uint32_t default_iterations = 10000;
// These take half a minute for each 32 bytes of key and IV.
inline constexpr std::uint32_t max_iterations = 100'000'000;

using Salt = std::array<std::uint8_t, salt_bytes>;

[[nodiscard]] std::array<std::uint8_t, head_bytes> encode(const Salt& salt);
// Throws Error(corrupt) "header: ..." unless `head` is a whole header.
[[nodiscard]] Salt parse(Bytes head);

inline constexpr std::array digests = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512"};

// The digest of this name in openssl enc -md. Throws Error(usage) that lists the names.
[[nodiscard]] const char* find_digest(const std::string& name);

struct Derivation {
  // PBKDF2 uses HMAC of it. OpenSSL's default was md5 before version 1.1.0.
  const char* digest = "sha256";
  // Empty without -pbkdf2. Then a single digest is all that protects the passphrase, so nobody
  // should make such a file.
  std::optional<std::uint32_t> iterations = default_iterations;
};

// The key, then the IV. `wait` works as in derive_apart().
[[nodiscard]] SecretBytes derive(Bytes passphrase, const Salt& salt, const Derivation& derivation,
                                 std::size_t key_and_iv_bytes, const WaitReady& wait = {});

}  // namespace paes::openssl_salted
