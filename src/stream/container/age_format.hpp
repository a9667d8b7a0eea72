// SPDX-License-Identifier: Apache-2.0
// The payload of an age v1 file (c2sp.org/age, "Payload") as a payload cipher: STREAM over
// ChaCha20-Poly1305 in chunks of 64 KiB, computed by libcrypto on all threads. A nonce of 16 bytes
// precedes the chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "age/age_payload.hpp"
#include "crypto/chacha20_poly1305.hpp"
#include "stream/container/payload.hpp"

namespace paes::stream {

class AgeCipher : public PayloadCipher {
 public:
  AgeCipher(Bytes file_key, Bytes payload_nonce);

  [[nodiscard]] const Chunking& chunking() const noexcept override { return age::chunking; }
  void seal(Buffer& buffer) const override;
  [[nodiscard]] std::optional<std::uint64_t> open(Buffer& buffer,
                                                  const WantedText* wanted) const override;
  [[nodiscard]] std::vector<Range> verify(Buffer& buffer) const override;

 private:
  // Calls `is_authentic` with a worker, a nonce and the chunk.
  template <typename IsAuthentic>
  [[nodiscard]] std::vector<Range> check(Buffer& buffer, const IsAuthentic& is_authentic,
                                         const WantedText* wanted) const;

  libcrypto::ChaCha20Poly1305 cipher_;
};

// Takes a random nonce. `header` is everything before it.
[[nodiscard]] NewPayload new_age_payload(Bytes header, Bytes file_key);
// Reads the nonce, which on a pipe comes next. Throws Error(corrupt) if no payload has this length.
[[nodiscard]] OpenedPayload open_age_payload(const Source& source, std::uint64_t payload_offset,
                                             Bytes file_key);

}  // namespace paes::stream
