// SPDX-License-Identifier: Apache-2.0
// C2SP chunked-encryption v1: "Key derivation" and the length rule of "Implementation notes".
#include "format/cobblestone.hpp"

#include <cassert>
#include <string_view>
#include <vector>

#include "crypto/libcrypto.hpp"

namespace paes::cobblestone {

namespace {

constexpr std::string_view label = "c2sp.org/chunked-encryption@v1+";

// The names of IANA's AEAD registry.
std::string_view aead_name(container::Suite suite) noexcept {
  return suite == container::Suite::cobblestone_128 ? "AEAD_AES_128_GCM" : "AEAD_AES_256_GCM";
}

}  // namespace

Secret<StreamKeys> derive(container::Suite suite, Bytes input_key, Bytes salt, Bytes context) {
  const std::size_t key_size = container::key_bytes(suite);
  assert(input_key.size() == key_size && salt.size() == salt_bytes);

  std::vector<std::uint8_t> info;
  const auto append = [&info](Bytes part) { info.insert(info.end(), part.begin(), part.end()); };
  append(libcrypto::bytes_of(label));
  append(libcrypto::bytes_of(aead_name(suite)));
  info.push_back(0);
  append(salt);
  append(context);

  std::array<std::uint8_t, 32 + nonce_bytes + commitment_bytes> derived{};
  const WipeOnExit wiped(derived);
  const std::size_t derived_bytes = key_size + nonce_bytes + commitment_bytes;
  libcrypto::hkdf_expand_sha512(input_key, info, MutableBytes(derived).first(derived_bytes));

  Secret<StreamKeys> keys;
  const std::uint8_t* from = derived.data();
  std::memcpy(keys->key, from, key_size);
  std::memcpy(keys->base_nonce, from + key_size, nonce_bytes);
  std::memcpy(keys->commitment, from + key_size + nonce_bytes, commitment_bytes);
  return keys;
}

std::array<std::uint8_t, nonce_bytes> chunk_nonce(const StreamKeys& keys,
                                                  std::uint64_t chunk) noexcept {
  std::array<std::uint8_t, nonce_bytes> nonce;
  std::memcpy(nonce.data(), keys.base_nonce, nonce_bytes);
  store_be64(nonce.data() + 4, load_be64(nonce.data() + 4) ^ chunk);
  return nonce;
}

}  // namespace paes::cobblestone
