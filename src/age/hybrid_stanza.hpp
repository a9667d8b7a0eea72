// SPDX-License-Identifier: Apache-2.0
// A hybrid recipient's stanza in a header (c2sp.org/age, "The MLKEM768-X25519 hybrid post-quantum
// recipient type"). Reading it needs no keys.
#pragma once

#include <array>

#include "age/stanza.hpp"
#include "age/wrap.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/ml_kem.hpp"

namespace paes::age {

inline constexpr std::string_view hybrid_type = "mlkem768x25519";
inline constexpr std::string_view post_quantum_label = "postquantum";

// ML-KEM's part, then X25519's.
using HybridEncapsulation =
    std::array<std::uint8_t, libcrypto::ml_kem_768_ciphertext_bytes + libcrypto::x25519_bytes>;

struct HybridStanza {
  HybridEncapsulation encapsulation;
  WrappedFileKey wrapped;
};

// Throws Error(corrupt) unless the stanza has exactly this form.
[[nodiscard]] HybridStanza read_hybrid(const Stanza& stanza);

}  // namespace paes::age
