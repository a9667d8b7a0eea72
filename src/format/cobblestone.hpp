// SPDX-License-Identifier: Apache-2.0
// C2SP chunked-encryption v1 (Cobblestone-128 and -256): key derivation, commitment and nonces. The
// caller does AES-GCM.
//
// A stream is a salt (24 bytes), a commitment (32), then chunks of 16384 bytes of plaintext, each
// with a tag of 16 bytes. The last chunk is always shorter, perhaps empty: its length marks the
// end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/chunking.hpp"
#include "format/suite.hpp"

namespace paes::cobblestone {

inline constexpr std::size_t salt_bytes = 24;
inline constexpr std::size_t commitment_bytes = 32;
inline constexpr std::size_t prefix_bytes = salt_bytes + commitment_bytes;
inline constexpr std::size_t chunk_text_bytes = 16384;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t chunk_bytes = chunk_text_bytes + tag_bytes;
inline constexpr std::size_t nonce_bytes = 12;
inline constexpr std::uint64_t max_chunks = std::uint64_t{1} << 38;
inline constexpr Chunking chunking = {.prefix_bytes = prefix_bytes,
                                      .text_bytes = chunk_text_bytes,
                                      .tag_bytes = tag_bytes,
                                      .last = LastItem::is_short,
                                      .max_chunks = max_chunks};

// Derived from input key, salt and context.
struct StreamKeys {
  std::uint8_t key[32];  // its first key_bytes(suite)
  std::uint8_t base_nonce[nonce_bytes];
  std::uint8_t commitment[commitment_bytes];
};

// HKDF-Expand-SHA512 over the input key. Throws Error only if libcrypto fails.
[[nodiscard]] Secret<StreamKeys> derive(container::Suite suite, Bytes input_key, Bytes salt,
                                        Bytes context);

// The base nonce XORed with the chunk's number, big-endian.
[[nodiscard]] std::array<std::uint8_t, nonce_bytes> chunk_nonce(const StreamKeys& keys,
                                                                std::uint64_t chunk) noexcept;

}  // namespace paes::cobblestone
