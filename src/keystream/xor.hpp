// The client's side of precomputed keystream: text XOR keystream, and the keystream overwritten
// with zeros in the same pass, while its lines are in registers' reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"

namespace paes::keystream {

// `in` and `out` have keystream.size() bytes, and are the same memory or share none.
void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept;

// What it consists of: whole steps of so many bytes as registers of one width take, as many as
// there are. The answer is where they end.
using XorPass = std::size_t (*)(std::uint8_t* keystream, std::size_t bytes, const std::uint8_t* in,
                                std::uint8_t* out) noexcept;
// All widths that this machine has; the last is taken.
struct XorPasses {
  std::array<XorPass, 3> all = {};
  std::size_t count = 0;

  [[nodiscard]] XorPass widest() const noexcept { return all[count - 1]; }
};
[[nodiscard]] XorPasses xor_passes() noexcept;

}  // namespace paes::keystream
