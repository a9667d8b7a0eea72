// GHASH (SP 800-38D, section 6.3 and 6.4) on any 64-bit processor, constant time: carry-less
// products are made from integer multiplications with holes between the bits, so no branch and no
// address depends on data. The reference for the kernels' hashes, and what joins their parts.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"

namespace paes {

// H, the encrypted zero block (section 6.4): who knows it forges tags.
struct alignas(16) HashSubkey {
  std::uint8_t bytes[16];
};

// GHASH of the blocks so far. Without the mask that makes it a tag it gives H away: wipe it.
struct alignas(16) HashValue {
  std::uint8_t bytes[16];
};

// The product a * b in the field of SP 800-38D.
[[nodiscard]] Block ghash_multiply(const Block& a, const Block& b) noexcept;

// h^exponent; time depends on the exponent, which is a public block count.
[[nodiscard]] Block ghash_power(const Block& h, std::uint64_t exponent) noexcept;

// value = (...((value ^ X1) * h ^ X2) * h ...) over whole blocks; `bytes` is a multiple of 16.
void ghash_update(const HashSubkey& h, HashValue& value, const std::uint8_t* in,
                  std::size_t blocks) noexcept;

}  // namespace paes
