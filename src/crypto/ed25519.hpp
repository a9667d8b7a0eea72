// SPDX-License-Identifier: Apache-2.0
// Converts public keys of Ed25519 to X25519, from the twisted Edwards curve to the Montgomery curve
// (RFC 7748, section 4.1): age encrypts to SSH's keys in this way. Time may depend on the keys,
// which are public.
#pragma once

#include <cstdint>
#include <span>

#include "core/bytes.hpp"

namespace paes::ed25519 {

inline constexpr std::size_t key_bytes = 32;

// u = (1 + y) / (1 - y). False if the key is not a point of the curve (RFC 8032, section 5.1.3), or
// if it is the neutral element, which has no u.
[[nodiscard]] bool to_x25519(std::span<const std::uint8_t, key_bytes> key,
                             std::span<std::uint8_t, key_bytes> u);

}  // namespace paes::ed25519
