// The client's side of precomputed keystream: text XOR keystream, and the keystream overwritten
// with zeros in the same pass, while its lines are in registers' reach.
#pragma once

#include "core/bytes.hpp"

namespace paes::keystream {

// `in` and `out` have keystream.size() bytes, and are the same memory or share none.
void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept;

}  // namespace paes::keystream
