// SPDX-License-Identifier: Apache-2.0
// Diffie-Hellman on the curve P-256 (SP 800-186, section 3.2.1.3; SP 800-56A, section 5.7.1.2).
// Points are written as in SEC 1, section 2.3.3; none here is the point at infinity.
#pragma once

#include "core/bytes.hpp"

namespace paes::libcrypto {

inline constexpr std::size_t p256_secret_bytes = 32;  // of secret keys and of what is shared
inline constexpr std::size_t p256_compressed_bytes = 33;
inline constexpr std::size_t p256_point_bytes = 65;  // uncompressed

// The uncompressed form of a point in either form. False if the bytes are no point of the curve.
[[nodiscard]] bool p256_uncompressed(Bytes encoded, MutableBytes point);

// False unless the secret key, big-endian, is at least 1 and below the order of the group.
[[nodiscard]] bool p256_public_key(Bytes secret_key, MutableBytes point);
// Draws a secret key, and computes its public one.
void p256_generate(MutableBytes secret_key, MutableBytes point);

// What is shared with the owner of `peer`, an uncompressed point: the x-coordinate of the product.
// False if `peer` is no point of the curve, or the secret key is none.
[[nodiscard]] bool p256(Bytes secret_key, Bytes peer, MutableBytes shared_secret);

}  // namespace paes::libcrypto
