// C2SP chunked-encryption v1 (Cobblestone-128 and -256): key derivation, commitment, nonces and the
// arithmetic of chunks. Pure; AES-GCM itself is the caller's.
//
// A stream is salt (24), commitment (32), then chunks of 16384 bytes of plaintext with a 16-byte
// tag; the last chunk is always shorter (it may be empty), so its length marks the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/container.hpp"

namespace paes::cobblestone {

inline constexpr std::size_t salt_bytes = 24;
inline constexpr std::size_t commitment_bytes = 32;
inline constexpr std::size_t prefix_bytes = salt_bytes + commitment_bytes;
inline constexpr std::size_t chunk_text_bytes = 16384;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t chunk_bytes = chunk_text_bytes + tag_bytes;
inline constexpr std::size_t nonce_bytes = 12;
inline constexpr std::uint64_t max_chunks = std::uint64_t{1} << 38;

// Everything derived from input key, salt and context.
struct StreamKeys {
  std::uint8_t key[32];  // the first key_bytes(suite) of it
  std::uint8_t base_nonce[nonce_bytes];
  std::uint8_t commitment[commitment_bytes];
};

// HKDF-Expand-SHA512 over the input key. Throws Error only when libcrypto fails.
[[nodiscard]] Secret<StreamKeys> derive(container::Suite suite, Bytes input_key, Bytes salt,
                                        Bytes context);

// Base nonce XOR the chunk number, big-endian.
[[nodiscard]] std::array<std::uint8_t, nonce_bytes> chunk_nonce(const StreamKeys& keys,
                                                                std::uint64_t chunk) noexcept;

// Sizes and positions, all relative to the payload's first byte.
[[nodiscard]] constexpr std::uint64_t chunk_offset(std::uint64_t chunk) noexcept {
  return prefix_bytes + chunk * chunk_bytes;
}
// Number of chunks of a text, the short last one included.
[[nodiscard]] constexpr std::uint64_t chunk_count(std::uint64_t text_bytes) noexcept {
  return text_bytes / chunk_text_bytes + 1;
}
[[nodiscard]] constexpr std::uint64_t payload_bytes(std::uint64_t text_bytes) noexcept {
  return prefix_bytes + text_bytes + chunk_count(text_bytes) * tag_bytes;
}
// The plaintext length of a payload, or nothing when no stream has that length (truncated).
[[nodiscard]] std::optional<std::uint64_t> text_bytes(std::uint64_t payload_bytes) noexcept;

}  // namespace paes::cobblestone
