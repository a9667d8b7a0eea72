#include "format/age_stream.hpp"

#include <algorithm>
#include <array>

#include "format/age_header.hpp"
#include "format/libcrypto.hpp"

namespace paes::age {

namespace {

constexpr std::size_t chunk_text_bytes = 65536;
constexpr std::size_t tag_bytes = libcrypto::chacha20_poly1305_tag_bytes;
constexpr std::size_t chunk_bytes = chunk_text_bytes + tag_bytes;

using Key = std::array<std::uint8_t, 32>;
using Nonce = std::array<std::uint8_t, 12>;

// Eleven bytes of chunk number, big-endian, and a mark on the last chunk.
Nonce chunk_nonce(std::uint64_t chunk, bool last) noexcept {
  Nonce nonce{};
  store_be64(nonce.data() + 3, chunk);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

void derive_payload_key(Bytes file_key, Bytes nonce, Key& key) {
  libcrypto::hkdf_sha256(file_key, nonce, libcrypto::bytes_of("payload"), key);
}

}  // namespace

std::vector<std::uint8_t> seal_payload(Bytes file_key, Bytes plaintext) {
  const std::size_t chunks =
      std::max<std::size_t>(1, (plaintext.size() + chunk_text_bytes - 1) / chunk_text_bytes);
  std::vector<std::uint8_t> payload(payload_nonce_bytes + plaintext.size() + chunks * tag_bytes);
  const MutableBytes nonce = MutableBytes(payload).first(payload_nonce_bytes);
  random_bytes(nonce);
  Key key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, nonce, key);

  MutableBytes sealed = MutableBytes(payload).subspan(payload_nonce_bytes);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const Bytes text = plaintext.first(std::min(plaintext.size(), chunk_text_bytes));
    libcrypto::chacha20_poly1305_seal(key, chunk_nonce(chunk, chunk + 1 == chunks), text,
                                      sealed.first(text.size() + tag_bytes));
    plaintext = plaintext.subspan(text.size());
    sealed = sealed.subspan(text.size() + tag_bytes);
  }
  return payload;
}

std::optional<SecretBytes> open_payload(Bytes file_key, Bytes payload) {
  if (payload.size() < payload_nonce_bytes + tag_bytes) {
    return std::nullopt;
  }
  Key key;
  const WipeOnExit wiped(key);
  derive_payload_key(file_key, payload.first(payload_nonce_bytes), key);

  Bytes sealed = payload.subspan(payload_nonce_bytes);
  const std::size_t chunks = (sealed.size() + chunk_bytes - 1) / chunk_bytes;
  const std::size_t last_chunk_bytes = sealed.size() - (chunks - 1) * chunk_bytes;
  // The last chunk may be empty only if the plaintext is, so that each text has one chunking.
  if (last_chunk_bytes < tag_bytes || (last_chunk_bytes == tag_bytes && chunks != 1)) {
    return std::nullopt;
  }
  SecretBytes plaintext(sealed.size() - chunks * tag_bytes);
  MutableBytes text = plaintext;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
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
