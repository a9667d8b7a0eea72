// SPDX-License-Identifier: Apache-2.0
#include "crypto/ml_kem.hpp"

#include <openssl/core_names.h>

#include <array>
#include <cassert>

#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"

namespace paes::libcrypto {

namespace {

using Kem = std::unique_ptr<EVP_KEM, FreeWith<EVP_KEM_free>>;

constexpr const char* algorithm = "ML-KEM-768";
constexpr const char* seed_parameter = "seed";  // older headers do not name it

// Null if libcrypto does not take the key.
Key make_key(const char* part, int selection, Bytes value) {
  require(has_ml_kem_768(), algorithm);
  const KeyContext context(EVP_PKEY_CTX_new_from_name(own_context(), algorithm, nullptr));
  std::array parameters = {octets(part, value), OSSL_PARAM_construct_end()};
  EVP_PKEY* key = nullptr;
  require(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1, algorithm);
  (void)EVP_PKEY_fromdata(context.get(), &key, selection, parameters.data());
  return Key(key);
}

KeyContext context_of(void* key) {
  return KeyContext(
      EVP_PKEY_CTX_new_from_pkey(own_context(), static_cast<EVP_PKEY*>(key), nullptr));
}

}  // namespace

bool has_ml_kem_768() noexcept {
  static const bool has = [] {
    try {
      const Kem kem(EVP_KEM_fetch(own_context(), algorithm, nullptr));
      ERR_clear_error();
      return kem != nullptr;
    } catch (const Error&) {
      return false;
    }
  }();
  return has;
}

bool ml_kem_768_encapsulate(Bytes public_key, MutableBytes ciphertext, MutableBytes shared_secret) {
  const Key key = make_key(OSSL_PKEY_PARAM_PUB_KEY, EVP_PKEY_PUBLIC_KEY, public_key);
  if (key == nullptr) {
    ERR_clear_error();
    return false;
  }
  const KeyContext context = context_of(key.get());
  std::size_t written = ciphertext.size();
  std::size_t secret_bytes = shared_secret.size();
  require(context != nullptr && EVP_PKEY_encapsulate_init(context.get(), nullptr) == 1 &&
              EVP_PKEY_encapsulate(context.get(), ciphertext.data(), &written, shared_secret.data(),
                                   &secret_bytes) == 1 &&
              written == ciphertext.size() && secret_bytes == shared_secret.size(),
          algorithm);
  return true;
}

MlKem768Key::MlKem768Key(Bytes seed) {
  const SecretAllocations secret;
  key_ = std::shared_ptr<EVP_PKEY>(make_key(seed_parameter, EVP_PKEY_KEYPAIR, seed).release(),
                                   EVP_PKEY_free);
  require(key_ != nullptr, algorithm);
}

void MlKem768Key::public_key(MutableBytes public_key) const {
  assert(public_key.size() == ml_kem_768_public_key_bytes);
  std::size_t written = 0;
  require(
      EVP_PKEY_get_octet_string_param(static_cast<EVP_PKEY*>(key_.get()), OSSL_PKEY_PARAM_PUB_KEY,
                                      public_key.data(), public_key.size(), &written) == 1 &&
          written == public_key.size(),
      algorithm);
}

void MlKem768Key::decapsulate(Bytes ciphertext, MutableBytes shared_secret) const {
  const KeyContext context = context_of(key_.get());
  std::size_t secret_bytes = shared_secret.size();
  require(context != nullptr && EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
              EVP_PKEY_decapsulate(context.get(), shared_secret.data(), &secret_bytes,
                                   ciphertext.data(), ciphertext.size()) == 1 &&
              secret_bytes == shared_secret.size(),
          algorithm);
}

}  // namespace paes::libcrypto
