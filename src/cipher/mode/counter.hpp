// SPDX-License-Identifier: Apache-2.0
// Counter blocks that count in all their bits, big-endian, and wrap: modulo 2^128 for AES, 2^64 for
// 3DES (SP 800-38A, appendix B.1, with m = b). Kernels and GCM count in the last 32 bits only, so
// `message` splits texts where those wrap.
#pragma once

#include "cipher/mode/mode_blocks.hpp"
#include "core/bytes.hpp"

namespace paes {

// The counter `steps` later, counting only in the last 32 bits, which wrap.
[[nodiscard]] inline CounterBlock add_low_counter(const CounterBlock& counter, std::uint64_t steps,
                                                  std::size_t block_size) noexcept {
  CounterBlock sum = counter;
  std::uint8_t* const low = sum.bytes + block_size - 4;
  store_be32(low, load_be32(low) + static_cast<std::uint32_t>(steps));
  return sum;
}

// Blocks from this counter to the last before its last 32 bits wrap.
[[nodiscard]] inline std::uint64_t blocks_before_wrap(const CounterBlock& counter,
                                                      std::size_t block_size) noexcept {
  return (std::uint64_t{1} << 32) - load_be32(counter.bytes + block_size - 4);
}

// The counter `steps` later, counting in all bits.
[[nodiscard]] inline CounterBlock add_full_counter(const CounterBlock& counter, std::uint64_t steps,
                                                   std::size_t block_size) noexcept {
  CounterBlock sum = counter;
  std::uint8_t* const low = sum.bytes + block_size - 8;
  const std::uint64_t before = load_be64(low);
  store_be64(low, before + steps);
  if (block_size == 16 && before + steps < before) {
    store_be64(sum.bytes, load_be64(sum.bytes) + 1);
  }
  return sum;
}

}  // namespace paes
