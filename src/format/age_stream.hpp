// The payload of an age v1 file (c2sp.org/age, "Payload"): a nonce, then STREAM over
// ChaCha20-Poly1305 in chunks of 64 KiB. All of it is in memory, because envelopes are small.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::age {

// The payload under a fresh nonce.
[[nodiscard]] std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext);

// The plaintext, if every chunk is authentic and only the last one is marked as the last.
[[nodiscard]] std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload);

}  // namespace paes::age
