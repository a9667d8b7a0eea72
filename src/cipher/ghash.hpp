// SPDX-License-Identifier: Apache-2.0
// GHASH (SP 800-38D, sections 6.3 and 6.4) on any 64-bit processor in constant time. Integer
// multiplications with holes between the bits make carry-less products, so that no branch and no
// address depends on data. It is the reference for the kernels' hashes, and joins their parts.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"

namespace paes {

// H, the encrypted zero block (section 6.4). Anyone who knows it can forge tags.
struct alignas(16) HashSubkey {
  std::uint8_t bytes[16];
};

// GHASH of the blocks so far. Wipe it: unless a tag's mask has been added, it gives H away.
struct alignas(16) HashValue {
  std::uint8_t bytes[16];
};

// The product a * b in the field of SP 800-38D.
[[nodiscard]] Block ghash_multiply(const Block& a, const Block& b) noexcept;

// h^exponent. Time depends on the exponent, which is a public count of blocks.
[[nodiscard]] Block ghash_power(const Block& h, std::uint64_t exponent) noexcept;

// value = (...((value ^ X1) * h ^ X2) * h ...) over whole blocks.
void ghash_update(const HashSubkey& h, HashValue& value, const std::uint8_t* in,
                  std::size_t blocks) noexcept;

}  // namespace paes
