// The files of `openssl enc -pbkdf2`: "Salted__", 8 bytes of salt, the ciphertext. Key and IV come
// from a passphrase by PBKDF2 (RFC 8018, section 5.2) with HMAC-SHA256. The iteration count is not
// in the file, and nothing is authenticated.
#pragma once

#include <array>
#include <cstdint>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/derivation.hpp"

namespace paes::openssl_salted {

inline constexpr std::size_t salt_bytes = 8;
inline constexpr std::size_t head_bytes = 16;
inline constexpr std::uint32_t default_iterations = 10000;
// So many take half a minute for each 32 bytes of key and IV.
inline constexpr std::uint32_t max_iterations = 100'000'000;

using Salt = std::array<std::uint8_t, salt_bytes>;

[[nodiscard]] std::array<std::uint8_t, head_bytes> encode(const Salt& salt);
// Throws Error(corrupt) "header: ..." unless `head` is a whole one.
[[nodiscard]] Salt parse(Bytes head);

// The key, then the IV; `wait` as in derive_apart.
[[nodiscard]] SecretBytes derive(Bytes passphrase, const Salt& salt, std::uint32_t iterations,
                                 std::size_t key_and_iv_bytes, const WaitReadable& wait = {});

}  // namespace paes::openssl_salted
