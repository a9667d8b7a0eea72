// SPDX-License-Identifier: Apache-2.0
// What GCM adds to its cipher and its hash (SP 800-38D): the pre-counter block, the 32-bit counter,
// the length block and the limits.
#pragma once

#include <bit>
#include <cstdint>

#include "cipher/mode/counter.hpp"
#include "core/bytes.hpp"

namespace paes::gcm {

// Section 5.2.1.1: plaintext of at most 2^39 - 256 bits, AAD and IV of at most 2^64 - 1 bits.
inline constexpr std::uint64_t max_plaintext_bytes = (std::uint64_t{1} << 36) - 32;
inline constexpr std::uint64_t max_aad_bytes = (std::uint64_t{1} << 61) - 1;
inline constexpr std::size_t standard_iv_bytes = 12;
inline constexpr std::size_t max_tag_bytes = 16;

// Section 5.2.1.2: 128, 120, 112, 104, 96 bits, and 64 and 32 for some applications.
[[nodiscard]] constexpr bool is_tag_length(std::size_t bytes) noexcept {
  return (bytes >= 12 && bytes <= 16) || bytes == 8 || bytes == 4;
}

// inc_32 applied `steps` times (section 6.2): the last four bytes count, big-endian, and wrap.
[[nodiscard]] inline CounterBlock add_counter(const CounterBlock& counter,
                                              std::uint64_t steps) noexcept {
  return add_low_counter(counter, steps, block_bytes);
}

// J0 for a 96-bit IV (section 7.1, step 2): IV || 0^31 || 1. It is assembled in registers: a kernel
// loads all 16 bytes at once, and a load over two recent stores waits for the cache.
[[nodiscard]] inline CounterBlock pre_counter_block(
    std::span<const std::uint8_t, standard_iv_bytes> iv) noexcept {
  const std::uint64_t halves[2] = {
      load_le<std::uint64_t>(iv.data()),
      load_le<std::uint32_t>(iv.data() + 8) | (std::uint64_t{1} << 56)};
  return std::bit_cast<CounterBlock>(halves);
}

// [len(A)]64 || [len(C)]64, in bits (section 7.1, step 5).
[[nodiscard]] inline Block length_block(std::uint64_t aad_bytes,
                                        std::uint64_t text_bytes) noexcept {
  Block block;
  store_be64(block.bytes, aad_bytes * 8);
  store_be64(block.bytes + 8, text_bytes * 8);
  return block;
}

}  // namespace paes::gcm

namespace paes {

// The operations of GCM, for functions that take one as an argument.
enum class GcmOperation : unsigned {
  // On a part of a message: whole blocks.
  hash,     // GHASH of a ciphertext; section 6.4
  encrypt,  // and hashes what it wrote
  decrypt,  // and hashes what it read
  // On a whole message of any length.
  seal,
  open,    // computes the tag and decrypts; the caller compares
  verify,  // the tag alone
};

}  // namespace paes
