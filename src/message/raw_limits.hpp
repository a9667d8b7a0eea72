// What the raw modes must not be used for, although they could: limits that the standards put on
// encryption. Whoever offers encryption checks them; tests with the standards' own vectors do not.
#pragma once

#include "core/bytes.hpp"
#include "kernel/kernel.hpp"
#include "mode/mode.hpp"

namespace paes {

// SP 800-67 Rev. 2, section 3.4: no key bundle encrypts more than 2^20 blocks.
inline constexpr std::uint64_t max_des_blocks = std::uint64_t{1} << 20;

// XTS with both keys the same is not the mode that was proved secure (FIPS 140-3 implementation
// guidance, C.I). Time does not depend on where they differ.
[[nodiscard]] inline bool has_equal_halves(Mode mode, Bytes key) noexcept {
  const std::size_t half = key.size() / 2;
  return row_of(mode).has_units && equal_constant_time(key.first(half), key.subspan(half));
}

}  // namespace paes
