// SPDX-License-Identifier: Apache-2.0
#include "crypto/ml_kem.hpp"

#include <openssl/core_names.h>

#include <array>
#include <cassert>

#include "crypto/libcrypto_objects.hpp"

namespace paes::libcrypto {

namespace {

using Kem = std::unique_ptr<EVP_KEM, FreeWith<EVP_KEM_free>>;

constexpr const char* algorithm = "ML-KEM-768";
constexpr const char* seed_parameter = "seed";  // older headers do not name it

// Null if libcrypto does not take the key.
Key make_key(const char* part, int selection, Bytes value) {
  require(has_ml_kem_768(), algorithm);
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, algorithm, nullptr));
  std::array parameters = {octets(part, value), OSSL_PARAM_construct_end()};
  EVP_PKEY* key = nullptr;
  require(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1, algorithm);
  (void)EVP_PKEY_fromdata(context.get(), &key, selection, parameters.data());
  return Key(key);
}

KeyContext context_of(const Key& key) {
  return KeyContext(key ? EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr) : nullptr);
}

}  // namespace

bool has_ml_kem_768() noexcept {
  static const bool has = [] {
    const Kem kem(OSSL_LIB_CTX_get0_global_default() == nullptr
                      ? nullptr
                      : EVP_KEM_fetch(nullptr, algorithm, nullptr));
    ERR_clear_error();
    return kem != nullptr;
  }();
  return has;
}

void ml_kem_768_public_key(Bytes seed, MutableBytes public_key) {
  assert(public_key.size() == ml_kem_768_public_key_bytes);
  const Key own = make_key(seed_parameter, EVP_PKEY_KEYPAIR, seed);
  std::size_t written = 0;
  require(own != nullptr &&
              EVP_PKEY_get_octet_string_param(own.get(), OSSL_PKEY_PARAM_PUB_KEY, public_key.data(),
                                              public_key.size(), &written) == 1 &&
              written == public_key.size(),
          algorithm);
}

bool ml_kem_768_encapsulate(Bytes public_key, MutableBytes ciphertext, MutableBytes shared_secret) {
  const Key key = make_key(OSSL_PKEY_PARAM_PUB_KEY, EVP_PKEY_PUBLIC_KEY, public_key);
  if (key == nullptr) {
    ERR_clear_error();
    return false;
  }
  const KeyContext context = context_of(key);
  std::size_t written = ciphertext.size();
  std::size_t secret_bytes = shared_secret.size();
  require(context != nullptr && EVP_PKEY_encapsulate_init(context.get(), nullptr) == 1 &&
              EVP_PKEY_encapsulate(context.get(), ciphertext.data(), &written, shared_secret.data(),
                                   &secret_bytes) == 1 &&
              written == ciphertext.size() && secret_bytes == shared_secret.size(),
          algorithm);
  return true;
}

void ml_kem_768_decapsulate(Bytes seed, Bytes ciphertext, MutableBytes shared_secret) {
  const KeyContext context = context_of(make_key(seed_parameter, EVP_PKEY_KEYPAIR, seed));
  std::size_t secret_bytes = shared_secret.size();
  require(context != nullptr && EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
              EVP_PKEY_decapsulate(context.get(), shared_secret.data(), &secret_bytes,
                                   ciphertext.data(), ciphertext.size()) == 1 &&
              secret_bytes == shared_secret.size(),
          algorithm);
}

}  // namespace paes::libcrypto
