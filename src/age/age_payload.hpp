// SPDX-License-Identifier: Apache-2.0
// The payload of an age v1 file (c2sp.org/age, "Payload"): a nonce of 16 bytes, then STREAM over
// ChaCha20-Poly1305. A chunk has 64 KiB of text and a tag. The last chunk is marked in its nonce,
// may be whole, and is empty only if the text is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/chunking.hpp"

namespace paes::age {

inline constexpr std::size_t payload_nonce_bytes = 16;
// The format does not limit the number of chunks. With this many, the text's length has 63 bits.
inline constexpr Chunking chunking = {.prefix_bytes = payload_nonce_bytes,
                                      .text_bytes = 65536,
                                      .tag_bytes = 16,
                                      .last = LastItem::may_be_whole,
                                      .max_chunks = std::uint64_t{1} << 47};

using PayloadKey = std::array<std::uint8_t, 32>;
void derive_payload_key(Bytes file_key, Bytes payload_nonce, PayloadKey& key);

// Eleven bytes of chunk number, big-endian, and a mark on the last chunk. A number of more than 64
// bits would take centuries to reach.
[[nodiscard]] std::array<std::uint8_t, 12> chunk_nonce(std::uint64_t chunk, bool is_last) noexcept;

// Seals a payload in memory, under a fresh nonce.
[[nodiscard]] std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext);

// The plaintext, if every chunk is authentic and only the last one is marked as last.
[[nodiscard]] std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload);

}  // namespace paes::age
