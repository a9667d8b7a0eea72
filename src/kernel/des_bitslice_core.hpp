// SPDX-License-Identifier: Apache-2.0
// What the bitsliced 3DES kernels share: cipher/des_bitslice.hpp at the width of a `Word`, as a
// core for block_modes.hpp.
#pragma once

#include "cipher/des_bitslice.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Word>
struct DesBitsliceCore {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = des_bitslice::State<Word>::lanes;

  static void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
    des_bitslice::prepare<Word>(round_keys, keys.as<des_bitslice::Keys>());
  }
  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_bitslice::crypt<Word, 1>(keys.as<des_bitslice::Keys>(), in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_bitslice::crypt<Word, -1>(keys.as<des_bitslice::Keys>(), in, out);
  }
};

}  // namespace
}  // namespace paes
