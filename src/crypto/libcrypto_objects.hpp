// SPDX-License-Identifier: Apache-2.0
// Owners of libcrypto's objects, and its parameter lists, for the files of this folder that call
// libcrypto. All other code calls crypto/libcrypto.hpp and its neighbours.
#pragma once

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/bytes.hpp"
#include "paes/error.hpp"

namespace paes::libcrypto {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;

inline void require(bool good, const char* operation) {
  if (!good) {
    ERR_clear_error();
    throw Error(ErrorCode::failure, std::string(operation) + ": libcrypto failed");
  }
}

// If libcrypto could not initialise for lack of memory, other calls would end the program.
inline void require_libcrypto() {
  require(OSSL_LIB_CTX_get0_global_default() != nullptr, "memory");
}

// Calls `fetch`. Throws if that returns nothing, so that a static variable is tried again.
template <typename Fetched, typename Fetch>
Fetched fetched(const char* operation, const Fetch& fetch) {
  require_libcrypto();
  Fetched found(fetch());
  require(found != nullptr, operation);
  return found;
}

// Calls `fetch` for a static variable that is never destroyed: while a program exits, one of its
// threads may still be using it.
template <typename Fetched, typename Fetch>
typename Fetched::pointer kept(const char* operation, const Fetch& fetch) {
  return fetched<Fetched>(operation, fetch).release();
}

// libcrypto's parameter lists take pointers to non-const data, but only read it.
inline OSSL_PARAM octets(const char* name, Bytes value) {
  static std::uint8_t nothing = 0;  // a null pointer, as of an empty span, would mean "unset"
  void* data = value.empty() ? &nothing : const_cast<std::uint8_t*>(value.data());
  return OSSL_PARAM_construct_octet_string(name, data, value.size());
}

inline OSSL_PARAM name_of(const char* name, const char* value) {
  return OSSL_PARAM_construct_utf8_string(name, const_cast<char*>(value), 0);
}

}  // namespace paes::libcrypto
