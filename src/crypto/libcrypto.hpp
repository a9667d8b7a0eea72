// SPDX-License-Identifier: Apache-2.0
// The few primitives of libcrypto 3.0 that the formats need, behind calls that take spans. Each
// algorithm is fetched from its provider once per process, because a fetch costs more than the
// operation. A failure that only a broken libcrypto can cause throws Error(failure).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::libcrypto {

inline constexpr std::size_t chacha20_poly1305_tag_bytes = 16;
inline constexpr std::size_t hmac_sha256_bytes = 32;
inline constexpr std::size_t x25519_bytes = 32;
inline constexpr std::size_t sha256_bytes = 32;
inline constexpr std::size_t sha512_bytes = 64;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Makes libcrypto keep what it allocates for ciphers' keys in locked memory (core/secret_heap.hpp).
// For programs, not for libraries; it has no effect once libcrypto has been used.
void keep_keys_locked() noexcept;

// FIPS 180-4. `out` has room for the digest.
void sha256(Bytes message, MutableBytes out);
void sha512(Bytes message, MutableBytes out);
// FIPS 202. shake256 fills `out`, whatever its length.
void sha3_256(Bytes message, MutableBytes out);
void shake256(Bytes message, MutableBytes out);

// RFC 5869, extract and expand.
void hkdf_sha256(Bytes key_material, Bytes salt, Bytes info, MutableBytes out);
// The two halves of RFC 5869. The key of expand is what extract returns. The salt of extract may be
// a secret, which HPKE needs.
void hkdf_extract_sha256(Bytes key_material, Bytes salt, MutableBytes out);
void hkdf_expand_sha256(Bytes key, Bytes info, MutableBytes out);
void hkdf_expand_sha512(Bytes key, Bytes info, MutableBytes out);

// RFC 2104.
[[nodiscard]] std::array<std::uint8_t, hmac_sha256_bytes> hmac_sha256(Bytes key, Bytes message);

// RFC 8018, section 5.2, with HMAC. `digest` is libcrypto's name for it.
void pbkdf2_hmac(const char* digest, Bytes passphrase, Bytes salt, std::uint32_t iterations,
                 MutableBytes out);
// PBKDF2-HMAC-SHA-256 with one iteration, for scrypt. The salt may be a secret: unlike pbkdf2_hmac,
// this leaves no copy of it in libcrypto's memory. Calls `check` every few milliseconds, unless it
// is empty. What `check` throws passes through.
void pbkdf2_once_sha256(Bytes passphrase, Bytes secret_salt, const std::function<void()>& check,
                        MutableBytes out);
// EVP_BytesToKey with a count of 1: each digest is taken of the previous digest, passphrase and
// salt, and `out` is all digests joined. Only for reading old files: one digest does not protect a
// passphrase.
void bytes_to_key(const char* digest, Bytes passphrase, Bytes salt, MutableBytes out);

// RFC 8439. `out` has room for `text` and a tag.
void chacha20_poly1305_seal(Bytes key, Bytes nonce, Bytes text, MutableBytes out, Bytes aad = {});
// If the tag does not match, returns false and wipes `out`, which has room for the text alone.
[[nodiscard]] bool chacha20_poly1305_open(Bytes key, Bytes nonce, Bytes sealed, MutableBytes out,
                                          Bytes aad = {});

// Decrypts with AES, without padding (FIPS 197, SP 800-38A and 38D). `cipher` is libcrypto's name
// for key length and mode. `sealed` is whole blocks. `tag` is empty unless the mode is GCM. If the
// tag does not match, returns false and wipes `out`.
[[nodiscard]] bool aes_decrypt(const char* cipher, Bytes key, Bytes iv, Bytes sealed, Bytes tag,
                               MutableBytes out);

// RFC 7748, section 6.1. Each has 32 bytes.
struct X25519Pair {
  Bytes secret_key;
  Bytes public_key;  // from x25519_public_key(), which takes longer than all else of an exchange
};
// False if the shared secret is all zero, because `peer` is of small order.
[[nodiscard]] bool x25519(const X25519Pair& own, Bytes peer, MutableBytes shared_secret);
void x25519_public_key(Bytes secret_key, MutableBytes public_key);
// RFC 8032, section 5.1.5.
void ed25519_public_key(Bytes secret_key, MutableBytes public_key);

}  // namespace paes::libcrypto
