// SPDX-License-Identifier: Apache-2.0
// libcrypto's default provider, in a library context of paes's own. So no openssl.cnf decides
// whether a file can be read, and a program that links paes keeps its own context to itself.
//
// What each file needs (SHA-2, ChaCha20-Poly1305, X25519) is called through the provider's own
// functions (OpenSSL 3.0, provider(7)). EVP would first make an object for every cipher or key
// that the provider has, which takes longer than all else of a small file. It would also look up
// names, and take locks, for each operation. The rest goes through EVP, with own_context().
#pragma once

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

#include <cstddef>
#include <memory>

#include "core/bytes.hpp"
#include "crypto/libcrypto_objects.hpp"

namespace paes::libcrypto {

// Throws Error(failure) if libcrypto could not initialise, and tries again at the next call.
[[nodiscard]] OSSL_LIB_CTX* own_context();

// The functions that the default provider has for an algorithm. `operation` is one of OSSL_OP_.
class ProviderFunctions {
 public:
  // Throws Error(failure) if the provider does not know the name.
  ProviderFunctions(int operation, const char* name);

  // The function of that number, one of OSSL_FUNC_. Throws Error(failure) if there is none.
  template <typename Function>
  [[nodiscard]] Function* function(int number) const {
    return reinterpret_cast<Function*>(find(number));
  }

 private:
  [[nodiscard]] void (*find(int number) const)();

  const char* name_;
  const OSSL_DISPATCH* functions_;
};

// What the provider's functions call its context.
[[nodiscard]] void* provider_context();

// Frees what a provider has made.
struct FreeByProvider {
  void (*free)(void* made);
  void operator()(void* made) const noexcept { free(made); }
};
using MadeByProvider = std::unique_ptr<void, FreeByProvider>;

// FIPS 180-4.
struct Digest {
  Digest(const char* digest_name, std::size_t digest_bytes, std::size_t digest_block_bytes);

  const char* name;
  std::size_t bytes;
  std::size_t block_bytes;
  OSSL_FUNC_digest_newctx_fn* make;
  OSSL_FUNC_digest_freectx_fn* free;
  OSSL_FUNC_digest_init_fn* init;
  OSSL_FUNC_digest_update_fn* update;
  OSSL_FUNC_digest_final_fn* final;
};
[[nodiscard]] const Digest& sha2_256();
[[nodiscard]] const Digest& sha2_512();

// The digest of a message in pieces. libcrypto wipes its state at the end.
class Hash {
 public:
  explicit Hash(const Digest& digest);

  void add(Bytes piece);
  // Called once, at the end. `out` has room for the digest.
  void finish(MutableBytes out);

 private:
  const Digest& digest_;
  MadeByProvider state_;
};

// A cipher without padding.
struct ProviderCipher {
  explicit ProviderCipher(const char* cipher_name);

  const char* name;
  OSSL_FUNC_cipher_newctx_fn* make;
  OSSL_FUNC_cipher_freectx_fn* free;
  OSSL_FUNC_cipher_encrypt_init_fn* init_encryption;
  OSSL_FUNC_cipher_decrypt_init_fn* init_decryption;
  OSSL_FUNC_cipher_update_fn* update;
  OSSL_FUNC_cipher_final_fn* final;
  OSSL_FUNC_cipher_get_ctx_params_fn* get_parameters;
  OSSL_FUNC_cipher_set_ctx_params_fn* set_parameters;
};
[[nodiscard]] const ProviderCipher& chacha20_poly1305_cipher();

// A cipher bound to a key, for one direction. Its state, which has the key, is locked in programs
// (core/secret_heap.hpp), and wiped by libcrypto. All functions throw Error(failure) if libcrypto
// fails.
class KeyedCipher {
 public:
  KeyedCipher(const ProviderCipher& cipher, bool encrypts, Bytes key);

  // Begins a message under this IV.
  void start(Bytes iv) const;
  // Authenticates bytes that are not part of the text.
  void add_aad(Bytes aad) const;
  // `out` is as long as `in`, and may be the same memory.
  void update(Bytes in, MutableBytes out) const;
  // Ends a message that was encrypted.
  void finish(MutableBytes tag) const;
  // Ends a message that was decrypted. False if this is not its tag.
  [[nodiscard]] bool has_tag(Bytes tag) const;

 private:
  void require(bool good) const { libcrypto::require(good, cipher_.name); }

  const ProviderCipher& cipher_;
  bool encrypts_;
  MadeByProvider state_;
};

}  // namespace paes::libcrypto
