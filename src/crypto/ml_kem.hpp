// SPDX-License-Identifier: Apache-2.0
// ML-KEM-768 (FIPS 203), computed by libcrypto 3.5 or later. With an older one, all functions
// except has_ml_kem_768() throw Error(failure).
#pragma once

#include "core/bytes.hpp"

namespace paes::libcrypto {

inline constexpr std::size_t ml_kem_768_seed_bytes = 64;  // d and z
inline constexpr std::size_t ml_kem_768_public_key_bytes = 1184;
inline constexpr std::size_t ml_kem_768_ciphertext_bytes = 1088;

[[nodiscard]] bool has_ml_kem_768() noexcept;

void ml_kem_768_public_key(Bytes seed, MutableBytes public_key);
// False if the key is invalid (section 7.2, "modulus check").
[[nodiscard]] bool ml_kem_768_encapsulate(Bytes public_key, MutableBytes ciphertext,
                                          MutableBytes shared_secret);
// Any other ciphertext yields another secret (implicit rejection).
void ml_kem_768_decapsulate(Bytes seed, Bytes ciphertext, MutableBytes shared_secret);

}  // namespace paes::libcrypto
