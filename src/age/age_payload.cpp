// SPDX-License-Identifier: Apache-2.0
#include "age/age_payload.hpp"

#include <algorithm>

#include "crypto/libcrypto.hpp"

namespace paes::age {

void derive_payload_key(Bytes file_key, Bytes payload_nonce, PayloadKey& key) {
  libcrypto::hkdf_sha256(file_key, payload_nonce, libcrypto::bytes_of("payload"), key);
}

std::array<std::uint8_t, 12> chunk_nonce(std::uint64_t chunk, bool is_last) noexcept {
  std::array<std::uint8_t, 12> nonce{};
  store_be64(nonce.data() + 3, chunk);
  nonce[11] = is_last ? 1 : 0;
  return nonce;
}

std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext) {
  const std::uint64_t chunks = chunking.chunks_of(plaintext.size());
  std::vector<std::uint8_t> payload(
      static_cast<std::size_t>(chunking.payload_bytes(plaintext.size())));
  const MutableBytes nonce = MutableBytes(payload).first(payload_nonce_bytes);
  random_bytes(nonce);
  PayloadKey key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, nonce, key);

  MutableBytes sealed = MutableBytes(payload).subspan(payload_nonce_bytes);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Bytes text = plaintext.first(std::min(plaintext.size(), chunking.text_bytes));
    libcrypto::chacha20_poly1305_seal(key, chunk_nonce(chunk, chunk + 1 == chunks), text,
                                      sealed.first(text.size() + chunking.tag_bytes));
    plaintext = plaintext.subspan(text.size());
    sealed = sealed.subspan(text.size() + chunking.tag_bytes);
  }
  return payload;
}

std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload) {
  const auto plaintext_bytes = chunking.text_of(payload.size());
  if (!plaintext_bytes) {
    return std::nullopt;
  }
  PayloadKey key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, payload.first(payload_nonce_bytes), key);

  SecretBytes plaintext(static_cast<std::size_t>(*plaintext_bytes));
  Bytes sealed = payload.subspan(payload_nonce_bytes);
  MutableBytes text = plaintext;
  const std::uint64_t chunks = chunking.chunks_of(*plaintext_bytes);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Bytes taken = sealed.first(std::min(sealed.size(), chunking.chunk_bytes()));
    const MutableBytes opened = text.first(taken.size() - chunking.tag_bytes);
    if (!libcrypto::chacha20_poly1305_open(key, chunk_nonce(chunk, chunk + 1 == chunks), taken,
                                           opened)) {
      return std::nullopt;
    }
    sealed = sealed.subspan(taken.size());
    text = text.subspan(opened.size());
  }
  return plaintext;
}

}  // namespace paes::age
