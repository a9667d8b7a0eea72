// SPDX-License-Identifier: Apache-2.0
#include "vault/master_key.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/libcrypto.hpp"
#include "crypto/scrypt_in_steps.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "paes/error.hpp"

namespace paes::vault {

namespace {

constexpr std::size_t gcm_tag_bytes = 16;
constexpr std::size_t salt_bytes = 32;

// HKDF's "info" for each use (internal/cryptocore/hkdf.go).
constexpr std::string_view name_use = "EME filename encryption";
constexpr std::string_view gcm_use = "AES-GCM file content encryption";
constexpr std::string_view siv_use = "AES-SIV file content encryption";
constexpr std::string_view xchacha_use = "XChaCha20-Poly1305 file content encryption";

constexpr std::size_t iv_bytes_of(const Features& features) { return features.has_hkdf ? 16 : 12; }

// gocryptfs wraps the key as block 0 of a file without an id, whatever the cipher of the content.
constexpr std::array<std::uint8_t, 8> wrapping_aad = {};

SecretBytes derive(Bytes key, std::string_view use, std::size_t bytes) {
  SecretBytes derived(bytes);
  libcrypto::hkdf_sha256(key, {}, libcrypto::bytes_of(use), derived);
  return derived;
}

GcmKey wrapping_key(const Configuration& configuration, Bytes passphrase, const WaitReady& wait) {
  const ScryptCost& cost = configuration.scrypt;
  SecretBytes key(master_key_bytes);
  scrypt_in_steps(
      passphrase, cost.salt, {cost.log2_n, cost.r, cost.p}, [&wait] { check(wait); }, key);
  if (configuration.features.has_hkdf) {
    key = derive(key, gcm_use, master_key_bytes);
  }
  return GcmKey(key, best_kernel(Cipher::aes));
}

}  // namespace

MasterKey MasterKey::random() {
  MasterKey key;
  random_bytes(*key.key_);
  return key;
}

MasterKey::MasterKey(Bytes key) {
  if (key.size() != master_key_bytes) {
    throw Error(ErrorCode::usage, "master key: has " + std::to_string(key.size()) +
                                      " bytes and not " + std::to_string(master_key_bytes));
  }
  std::copy(key.begin(), key.end(), key_->begin());
}

SecretBytes MasterKey::name_key(const Features& features) const {
  return features.has_hkdf ? derive(bytes(), name_use, 32) : SecretBytes(bytes());
}

SecretBytes MasterKey::content_key(const Features& features) const {
  switch (features.content) {
    case ContentCipher::xchacha20_poly1305:
      return derive(bytes(), xchacha_use, 32);  // such a volume always has HKDF
    case ContentCipher::aes_siv:
      if (!features.has_hkdf) {
        SecretBytes key(libcrypto::sha512_bytes);
        libcrypto::sha512(bytes(), key);
        return key;
      }
      return derive(bytes(), siv_use, 64);
    case ContentCipher::aes_256_gcm:
      break;
  }
  return features.has_hkdf ? derive(bytes(), gcm_use, 32) : SecretBytes(bytes());
}

std::optional<MasterKey> unwrap_master_key(const Configuration& configuration, Bytes passphrase,
                                           const WaitReady& wait) {
  const Bytes wrapped = configuration.encrypted_key;
  const std::size_t iv_bytes = iv_bytes_of(configuration.features);
  assert(wrapped.size() == iv_bytes + master_key_bytes + gcm_tag_bytes);
  const GcmKey key = wrapping_key(configuration, passphrase, wait);
  SecretBytes opened(master_key_bytes);
  if (!key.open(wrapped.first(iv_bytes), wrapping_aad, wrapped.subspan(iv_bytes, master_key_bytes),
                opened, wrapped.last(gcm_tag_bytes))) {
    return std::nullopt;
  }
  return MasterKey(opened);
}

void wrap_master_key(const MasterKey& key, Bytes passphrase, unsigned log2_n,
                     Configuration& configuration, const WaitReady& wait) {
  configuration.scrypt = ScryptCost{std::vector<std::uint8_t>(salt_bytes), log2_n};
  random_bytes(configuration.scrypt.salt);
  const GcmKey wrapping = wrapping_key(configuration, passphrase, wait);
  const std::size_t iv_bytes = iv_bytes_of(configuration.features);
  configuration.encrypted_key.assign(iv_bytes + master_key_bytes + gcm_tag_bytes, 0);
  const MutableBytes wrapped = configuration.encrypted_key;
  random_bytes(wrapped.first(iv_bytes));
  wrapping.seal(wrapped.first(iv_bytes), wrapping_aad, key.bytes(),
                wrapped.subspan(iv_bytes, master_key_bytes), wrapped.last(gcm_tag_bytes));
}

}  // namespace paes::vault
