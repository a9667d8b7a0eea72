// What the bitsliced 3DES rows have in common: cipher/des_bitslice.hpp at the width of a `Word`, as
// the core that block_modes.hpp asks for. Unnamed namespace: see run_piece.hpp.
#pragma once

#include "cipher/des_bitslice.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT

template <class Word>
struct DesBitsliceCore {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = des_bitslice::State<Word>::lanes;

  static void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
    static_assert(sizeof(des_bitslice::Keys) <= sizeof(KernelKeys));
    des_bitslice::prepare<Word>(round_keys, *reinterpret_cast<des_bitslice::Keys*>(keys.bytes));
  }
  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_bitslice::crypt<Word, 1>(masks_of(keys), in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_bitslice::crypt<Word, -1>(masks_of(keys), in, out);
  }

 private:
  static const des_bitslice::Keys& masks_of(const KernelKeys& keys) noexcept {
    return *reinterpret_cast<const des_bitslice::Keys*>(keys.bytes);
  }
};

}  // namespace
}  // namespace paes
