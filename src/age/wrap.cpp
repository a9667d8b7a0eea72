// SPDX-License-Identifier: Apache-2.0
#include "age/wrap.hpp"

#include "crypto/libcrypto.hpp"

namespace paes::age {

namespace {

constexpr std::array<std::uint8_t, 12> nonce{};

}  // namespace

std::vector<std::uint8_t> wrap_file_key(const WrapKey& key, Bytes file_key) {
  std::vector<std::uint8_t> wrapped(file_key.size() + libcrypto::chacha20_poly1305_tag_bytes);
  libcrypto::chacha20_poly1305_seal(key.bytes, nonce, file_key, wrapped);
  return wrapped;
}

std::optional<SecretBytes> unwrap_file_key(const WrapKey& key, const WrappedFileKey& wrapped) {
  SecretBytes file_key(file_key_bytes);
  if (!libcrypto::chacha20_poly1305_open(key.bytes, nonce, wrapped, file_key)) {
    return std::nullopt;
  }
  return file_key;
}

}  // namespace paes::age
