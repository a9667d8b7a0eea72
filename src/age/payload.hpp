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

namespace paes::age {

inline constexpr std::size_t payload_nonce_bytes = 16;
inline constexpr std::size_t chunk_text_bytes = 65536;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t chunk_bytes = chunk_text_bytes + tag_bytes;

using PayloadKey = std::array<std::uint8_t, 32>;
void derive_payload_key(Bytes file_key, Bytes payload_nonce, PayloadKey& key);

// Eleven bytes of chunk number, big-endian, and a mark on the last chunk. The program would take
// centuries to reach a chunk whose number has more than 64 bits.
[[nodiscard]] std::array<std::uint8_t, 12> chunk_nonce(std::uint64_t chunk, bool is_last) noexcept;

// One for an empty text.
[[nodiscard]] constexpr std::uint64_t chunk_count(std::uint64_t text_bytes) noexcept {
  return text_bytes == 0 ? 1 : (text_bytes - 1) / chunk_text_bytes + 1;
}
// The nonce included.
[[nodiscard]] constexpr std::uint64_t payload_bytes(std::uint64_t text_bytes) noexcept {
  return payload_nonce_bytes + text_bytes + chunk_count(text_bytes) * tag_bytes;
}
// Nothing if no payload has this length.
[[nodiscard]] std::optional<std::uint64_t> text_bytes(std::uint64_t payload_bytes) noexcept;

// A payload in memory, under a fresh nonce.
[[nodiscard]] std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext);

// The plaintext, if every chunk is authentic and only the last one is marked as the last.
[[nodiscard]] std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload);

}  // namespace paes::age
