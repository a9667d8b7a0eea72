// SPDX-License-Identifier: Apache-2.0
// ML-KEM-768 (FIPS 203), computed by libcrypto 3.5 or later. With an older one, everything except
// has_ml_kem_768() throws Error(failure).
#pragma once

#include <memory>

#include "core/bytes.hpp"

namespace paes::libcrypto {

inline constexpr std::size_t ml_kem_768_seed_bytes = 64;  // d and z
inline constexpr std::size_t ml_kem_768_public_key_bytes = 1184;
inline constexpr std::size_t ml_kem_768_ciphertext_bytes = 1088;

[[nodiscard]] bool has_ml_kem_768() noexcept;

// False if the key is invalid (section 7.2, "modulus check").
[[nodiscard]] bool ml_kem_768_encapsulate(Bytes public_key, MutableBytes ciphertext,
                                          MutableBytes shared_secret);

// A secret key, expanded from its seed once. It lies in libcrypto's memory, which a program keeps
// locked (libcrypto.hpp) and which libcrypto wipes when it frees the key. Immutable, so threads may
// share it.
class MlKem768Key {
 public:
  explicit MlKem768Key(Bytes seed);

  void public_key(MutableBytes public_key) const;
  // Any other ciphertext yields another secret (implicit rejection).
  void decapsulate(Bytes ciphertext, MutableBytes shared_secret) const;

 private:
  std::shared_ptr<void> key_;  // an EVP_PKEY
};

}  // namespace paes::libcrypto
