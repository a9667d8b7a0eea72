// SPDX-License-Identifier: Apache-2.0
// Uses ready keystream: XORs the text with it, and overwrites the keystream with zeros in the same
// pass, while its cache lines are at hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"

namespace paes::keystream {

// `in` and `out` have keystream.size() bytes, and are the same memory or share none.
void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept;

// XORs and wipes with registers of one width, in whole steps of four. Returns where these end.
using XorPass = std::size_t (*)(std::uint8_t* keystream, std::size_t bytes, const std::uint8_t* in,
                                std::uint8_t* out) noexcept;
// The passes of all widths that this machine has. xor_and_wipe uses the last.
struct XorPasses {
  std::array<XorPass, 3> all = {};
  std::size_t count = 0;

  [[nodiscard]] XorPass widest() const noexcept { return all[count - 1]; }
};
[[nodiscard]] XorPasses xor_passes() noexcept;

}  // namespace paes::keystream
