// SPDX-License-Identifier: Apache-2.0
// The few primitives of libcrypto 3.0 that the formats need, behind calls that take spans. Each
// algorithm is fetched from its provider once in a process, because a fetch costs more than the
// operation itself. Failures that only a broken libcrypto can cause throw Error(failure).
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

// From now on libcrypto keeps what it allocates for keys of ciphers in locked memory
// (core/secret_heap.hpp). This is for programs, not for libraries, and does nothing once libcrypto
// has been used.
void keep_keys_locked() noexcept;

// FIPS 180-4. `out` has room for the digest.
void sha256(Bytes message, MutableBytes out);
void sha512(Bytes message, MutableBytes out);
// FIPS 202. The second fills `out`, whatever its length.
void sha3_256(Bytes message, MutableBytes out);
void shake256(Bytes message, MutableBytes out);

// RFC 5869, extract and expand.
void hkdf_sha256(Bytes key_material, Bytes salt, Bytes info, MutableBytes out);
// RFC 5869, one half alone. For expand, `key` takes the place of the extracted key. The salt of
// extract may be a secret, as HPKE has it.
void hkdf_extract_sha256(Bytes key_material, Bytes salt, MutableBytes out);
void hkdf_expand_sha256(Bytes key, Bytes info, MutableBytes out);
void hkdf_expand_sha512(Bytes key, Bytes info, MutableBytes out);

// RFC 2104.
[[nodiscard]] std::array<std::uint8_t, hmac_sha256_bytes> hmac_sha256(Bytes key, Bytes message);

// RFC 8018, section 5.2, with HMAC of the digest that libcrypto calls by this name.
void pbkdf2_hmac(const char* digest, Bytes passphrase, Bytes salt, std::uint32_t iterations,
                 MutableBytes out);
// PBKDF2-HMAC-SHA-256 with one iteration, as scrypt has it. pbkdf2_hmac leaves a copy of its salt
// in libcrypto's memory; this leaves none, and takes a secret for a salt. Calls `check` every few
// milliseconds, unless it is empty. What `check` throws passes through.
void pbkdf2_once_sha256(Bytes passphrase, Bytes secret_salt, const std::function<void()>& check,
                        MutableBytes out);
// EVP_BytesToKey with a count of 1: each digest is of the digest before it, passphrase and salt;
// they fill `out` one after the other. One digest protects no passphrase: only to read what exists.
void bytes_to_key(const char* digest, Bytes passphrase, Bytes salt, MutableBytes out);

// RFC 8439. `out` has room for `text` and a tag.
void chacha20_poly1305_seal(Bytes key, Bytes nonce, Bytes text, MutableBytes out, Bytes aad = {});
// False, with `out` wiped, when the tag does not match. `out` has room for the text alone.
[[nodiscard]] bool chacha20_poly1305_open(Bytes key, Bytes nonce, Bytes sealed, MutableBytes out,
                                          Bytes aad = {});

// AES in the mode that libcrypto calls by this name (FIPS 197, SP 800-38A and 38D), without
// padding. `tag` is empty unless the mode is GCM. False, with `out` wiped, when the tag does not
// match. `sealed` is whole blocks.
[[nodiscard]] bool aes_decrypt(const char* cipher, Bytes key, Bytes iv, Bytes sealed, Bytes tag,
                               MutableBytes out);

// RFC 7748, section 5. False when the shared secret is all zero, because `peer` is of small order.
// Also gives the public key of `secret_key`, which libcrypto computes in any case, unless
// `public_key` is empty.
[[nodiscard]] bool x25519(Bytes secret_key, Bytes peer, MutableBytes shared_secret,
                          MutableBytes public_key = {});
void x25519_public_key(Bytes secret_key, MutableBytes public_key);
// RFC 8032, section 5.1.5.
void ed25519_public_key(Bytes secret_key, MutableBytes public_key);

}  // namespace paes::libcrypto
