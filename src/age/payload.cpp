#include "age/payload.hpp"

#include <algorithm>

#include "format/libcrypto.hpp"

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

std::optional<std::uint64_t> text_bytes(std::uint64_t payload_bytes) noexcept {
  if (payload_bytes < payload_nonce_bytes + tag_bytes) {
    return std::nullopt;
  }
  const std::uint64_t sealed = payload_bytes - payload_nonce_bytes;
  const std::uint64_t chunks = (sealed - 1) / chunk_bytes + 1;
  const std::uint64_t last_chunk = sealed - (chunks - 1) * chunk_bytes;
  // The last chunk may be empty only if the text is, so that each text has one chunking.
  if (last_chunk < tag_bytes || (last_chunk == tag_bytes && chunks != 1)) {
    return std::nullopt;
  }
  return sealed - chunks * tag_bytes;
}

std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext) {
  const std::uint64_t chunks = chunk_count(plaintext.size());
  std::vector<std::uint8_t> payload(static_cast<std::size_t>(payload_bytes(plaintext.size())));
  const MutableBytes nonce = MutableBytes(payload).first(payload_nonce_bytes);
  random_bytes(nonce);
  PayloadKey key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, nonce, key);

  MutableBytes sealed = MutableBytes(payload).subspan(payload_nonce_bytes);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Bytes text = plaintext.first(std::min(plaintext.size(), chunk_text_bytes));
    libcrypto::chacha20_poly1305_seal(key, chunk_nonce(chunk, chunk + 1 == chunks), text,
                                      sealed.first(text.size() + tag_bytes));
    plaintext = plaintext.subspan(text.size());
    sealed = sealed.subspan(text.size() + tag_bytes);
  }
  return payload;
}

std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload) {
  const auto plaintext_bytes = text_bytes(payload.size());
  if (!plaintext_bytes) {
    return std::nullopt;
  }
  PayloadKey key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, payload.first(payload_nonce_bytes), key);

  SecretBytes plaintext(static_cast<std::size_t>(*plaintext_bytes));
  Bytes sealed = payload.subspan(payload_nonce_bytes);
  MutableBytes text = plaintext;
  const std::uint64_t chunks = chunk_count(*plaintext_bytes);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Bytes taken = sealed.first(std::min(sealed.size(), chunk_bytes));
    const MutableBytes opened = text.first(taken.size() - tag_bytes);
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
