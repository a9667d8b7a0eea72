// SPDX-License-Identifier: Apache-2.0
// A tagged recipient's stanza in a header (c2sp.org/age, "The tagged recipient types"). Reading it
// needs no keys.
#pragma once

#include <string_view>

#include "age/stanza.hpp"

namespace paes::age {

inline constexpr std::string_view tagged_type = "p256tag";
inline constexpr std::string_view hybrid_tagged_type = "mlkem768p256tag";

inline constexpr std::size_t recipient_tag_bytes = 4;

// Throws Error(corrupt) unless the stanza has exactly the form of its type, one of these two.
void check_tagged(const Stanza& stanza);

}  // namespace paes::age
