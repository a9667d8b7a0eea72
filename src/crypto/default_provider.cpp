// SPDX-License-Identifier: Apache-2.0
#include "crypto/default_provider.hpp"

#include <openssl/core_names.h>
#include <openssl/provider.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "core/secret_heap.hpp"

namespace paes::libcrypto {

namespace {

// Neither is ever freed: while a program exits, one of its threads may still be using them.
struct Library {
  OSSL_LIB_CTX* context;
  OSSL_PROVIDER* provider;
};

Library load() {
  require_libcrypto();
  OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
  OSSL_PROVIDER* const provider =
      context != nullptr ? OSSL_PROVIDER_load(context, "default") : nullptr;
  if (provider == nullptr) {
    OSSL_LIB_CTX_free(context);
  }
  require(provider != nullptr, "default provider");
  return {context, provider};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

// `names` are what libcrypto calls one algorithm, with colons between them.
bool contains_name(std::string_view names, std::string_view name) noexcept {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(':'), names.size());
    if (names.substr(0, end) == name) {
      return true;
    }
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

OSSL_LIB_CTX* own_context() { return library().context; }

void* provider_context() { return OSSL_PROVIDER_get0_provider_ctx(library().provider); }

ProviderFunctions::ProviderFunctions(int operation, const char* name)
    : name_(name), functions_(nullptr) {
  int may_change = 0;  // the tables of this provider do not
  const OSSL_ALGORITHM* row =
      OSSL_PROVIDER_query_operation(library().provider, operation, &may_change);
  for (; row != nullptr && row->algorithm_names != nullptr && functions_ == nullptr; ++row) {
    functions_ = contains_name(row->algorithm_names, name) ? row->implementation : nullptr;
  }
  require(functions_ != nullptr, name);
}

void (*ProviderFunctions::find(int number) const)() {
  const OSSL_DISPATCH* row = functions_;
  while (row->function_id != 0 && row->function_id != number) {
    ++row;
  }
  require(row->function_id != 0, name_);
  return row->function;
}

Digest::Digest(const char* digest_name, std::size_t digest_bytes, std::size_t digest_block_bytes)
    : name(digest_name), bytes(digest_bytes), block_bytes(digest_block_bytes) {
  const ProviderFunctions functions(OSSL_OP_DIGEST, name);
  make = functions.function<OSSL_FUNC_digest_newctx_fn>(OSSL_FUNC_DIGEST_NEWCTX);
  free = functions.function<OSSL_FUNC_digest_freectx_fn>(OSSL_FUNC_DIGEST_FREECTX);
  init = functions.function<OSSL_FUNC_digest_init_fn>(OSSL_FUNC_DIGEST_INIT);
  update = functions.function<OSSL_FUNC_digest_update_fn>(OSSL_FUNC_DIGEST_UPDATE);
  final = functions.function<OSSL_FUNC_digest_final_fn>(OSSL_FUNC_DIGEST_FINAL);
}

const Digest& sha2_256() {
  static const Digest digest("SHA2-256", 32, 64);
  return digest;
}

const Digest& sha2_512() {
  static const Digest digest("SHA2-512", 64, 128);
  return digest;
}

Hash::Hash(const Digest& digest)
    : digest_(digest), state_(digest.make(provider_context()), {digest.free}) {
  require(state_ != nullptr && digest_.init(state_.get(), nullptr) == 1, digest_.name);
}

void Hash::add(Bytes piece) {
  require(digest_.update(state_.get(), piece.data(), piece.size()) == 1, digest_.name);
}

void Hash::finish(MutableBytes out) {
  assert(out.size() == digest_.bytes);
  std::size_t written = 0;
  require(
      digest_.final(state_.get(), out.data(), &written, out.size()) == 1 && written == out.size(),
      digest_.name);
}

ProviderCipher::ProviderCipher(const char* cipher_name) : name(cipher_name) {
  const ProviderFunctions functions(OSSL_OP_CIPHER, name);
  make = functions.function<OSSL_FUNC_cipher_newctx_fn>(OSSL_FUNC_CIPHER_NEWCTX);
  free = functions.function<OSSL_FUNC_cipher_freectx_fn>(OSSL_FUNC_CIPHER_FREECTX);
  init_encryption =
      functions.function<OSSL_FUNC_cipher_encrypt_init_fn>(OSSL_FUNC_CIPHER_ENCRYPT_INIT);
  init_decryption =
      functions.function<OSSL_FUNC_cipher_decrypt_init_fn>(OSSL_FUNC_CIPHER_DECRYPT_INIT);
  update = functions.function<OSSL_FUNC_cipher_update_fn>(OSSL_FUNC_CIPHER_UPDATE);
  final = functions.function<OSSL_FUNC_cipher_final_fn>(OSSL_FUNC_CIPHER_FINAL);
  get_parameters =
      functions.function<OSSL_FUNC_cipher_get_ctx_params_fn>(OSSL_FUNC_CIPHER_GET_CTX_PARAMS);
  set_parameters =
      functions.function<OSSL_FUNC_cipher_set_ctx_params_fn>(OSSL_FUNC_CIPHER_SET_CTX_PARAMS);
}

const ProviderCipher& chacha20_poly1305_cipher() {
  static const ProviderCipher cipher("ChaCha20-Poly1305");
  return cipher;
}

KeyedCipher::KeyedCipher(const ProviderCipher& cipher, bool encrypts, Bytes key)
    : cipher_(cipher), encrypts_(encrypts), state_(nullptr, {cipher.free}) {
  const SecretAllocations secret;
  state_.reset(cipher_.make(provider_context()));
  const auto init = encrypts_ ? cipher_.init_encryption : cipher_.init_decryption;
  require(state_ != nullptr &&
          init(state_.get(), key.data(), key.size(), nullptr, 0, nullptr) == 1);
}

void KeyedCipher::start(Bytes iv) const {
  const auto init = encrypts_ ? cipher_.init_encryption : cipher_.init_decryption;
  require(init(state_.get(), nullptr, 0, iv.data(), iv.size(), nullptr) == 1);
}

void KeyedCipher::add_aad(Bytes aad) const {
  std::size_t taken = 0;
  require(aad.empty() ||
          cipher_.update(state_.get(), nullptr, &taken, aad.size(), aad.data(), aad.size()) == 1);
}

void KeyedCipher::update(Bytes in, MutableBytes out) const {
  assert(in.size() == out.size());
  std::size_t written = 0;
  require(in.empty() || (cipher_.update(state_.get(), out.data(), &written, out.size(), in.data(),
                                        in.size()) == 1 &&
                         written == in.size()));
}

void KeyedCipher::finish(MutableBytes tag) const {
  assert(encrypts_);
  std::array<std::uint8_t, 16> nothing;
  std::size_t written = 0;
  std::array parameters = {octets(OSSL_CIPHER_PARAM_AEAD_TAG, tag), OSSL_PARAM_construct_end()};
  require(cipher_.final(state_.get(), nothing.data(), &written, nothing.size()) == 1 &&
          cipher_.get_parameters(state_.get(), parameters.data()) == 1);
}

bool KeyedCipher::has_tag(Bytes tag) const {
  assert(!encrypts_);
  const std::array parameters = {octets(OSSL_CIPHER_PARAM_AEAD_TAG, tag),
                                 OSSL_PARAM_construct_end()};
  require(cipher_.set_parameters(state_.get(), parameters.data()) == 1);
  std::array<std::uint8_t, 16> nothing;
  std::size_t written = 0;
  if (cipher_.final(state_.get(), nothing.data(), &written, nothing.size()) == 1) {
    return true;
  }
  ERR_clear_error();
  return false;
}

}  // namespace paes::libcrypto
