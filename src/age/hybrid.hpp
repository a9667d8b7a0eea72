// SPDX-License-Identifier: Apache-2.0
// Post-quantum keys: "age1pq1..." and "AGE-SECRET-KEY-PQ-1..." (c2sp.org/age, "The MLKEM768-X25519
// hybrid post-quantum recipient type"). A file key stays secret as long as one of ML-KEM-768 and
// X25519 holds. ML-KEM comes from libcrypto 3.5 or later; without it, the plugin age-plugin-pq does
// the work.
#pragma once

#include "age/keys.hpp"

namespace paes::age {

[[nodiscard]] SharedIdentity generate_hybrid();

}  // namespace paes::age
