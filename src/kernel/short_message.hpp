// SPDX-License-Identifier: Apache-2.0
// AES-GCM of a message that is so short that it fits one or two registers together with what a tag
// needs beside it: the pre-counter block, whose encryption masks the tag, goes through the cipher
// in the lane before the text, and the length block through the hash in the lane behind it (SP
// 800-38D, section 7.1). So there is one pass of the cipher, and one reduction.
#pragma once

#include "kernel/gcm_from_parts.hpp"
#include "kernel/stitched_ends.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// For vectors that can shift whole blocks and place one in any lane.
template <class Vector>
struct ShortMessage {
  using Register = typename Vector::Register;
  using Keys = StitchedKeys<Vector>;
  using Ends = StitchedEnds<Vector>;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr std::size_t vector_bytes = std::size_t{lanes} * block_bytes;
  static constexpr bool is_there = requires(Register value) { Vector::shifted(value, value); };
  static constexpr std::size_t max_bytes = 2 * vector_bytes - block_bytes;

  // A function of its own, so that longer messages do not carry its code along.
  template <bool Encrypts, bool Verifies>
  PAES_NOINLINE static void run(const Keys& keys, const WholeMessage& message, Tag& tag) noexcept {
    if (message.text.bytes <= vector_bytes - block_bytes) {
      run_registers<1, Encrypts, Verifies>(keys, message, tag);
    } else {
      run_registers<2, Encrypts, Verifies>(keys, message, tag);
    }
  }

 private:
  // E of the pre-counter block and of the counter blocks after it.
  template <unsigned Count>
  PAES_INLINE static void encrypt_counters(const Keys& keys, const CounterBlock& pre_counter,
                                           Register (&state)[Count]) noexcept {
    const auto counters = Ends::Counters::at(
        pre_counter, load_be32(pre_counter.bytes + block_bytes - sizeof(std::uint32_t)));
    Register key = Vector::load(&keys.round_key[0]);
    for (unsigned i = 0; i < Count; ++i) {
      state[i] =
          Vector::xor2(Ends::Counters::blocks(counters.reversed, counters.next + i * lanes), key);
    }
    for (unsigned round = 1; round < keys.rounds; ++round) {
      key = Vector::load(&keys.round_key[round]);
      for (unsigned i = 0; i < Count; ++i) {
        state[i] = Vector::aes_round(state[i], key);
      }
    }
    key = Vector::load(&keys.round_key[keys.rounds]);
    for (unsigned i = 0; i < Count; ++i) {
      state[i] = Vector::aes_last_round(state[i], key);
    }
  }

  // Stores what lies within the text, and returns it with zeros behind.
  PAES_INLINE static Register store_padded(std::uint8_t* text, std::size_t at, std::size_t bytes,
                                           Register value) noexcept {
    if (at + vector_bytes <= bytes) {
      Vector::store(text + at, value);
      return value;
    }
    const std::size_t rest = at < bytes ? bytes - at : 0;
    Vector::store_part(text + at, value, rest);
    return Vector::keep_part(value, rest);
  }

  template <unsigned Count, bool Encrypts, bool Verifies>
  PAES_INLINE static void run_registers(const Keys& keys, const WholeMessage& message,
                                        Tag& tag) noexcept {
    const Text& text = message.text;
    Register state[Count];
    encrypt_counters(keys, *message.pre_counter, state);
    const std::size_t blocks = (text.bytes + block_bytes - 1) / block_bytes;
    const Block* const power = keys.end_power + (Keys::end_powers - blocks - 1);
    const Block* const halves = keys.end_halves + (power - keys.end_power);
    const Block length = gcm::length_block(message.aad.size(), text.bytes);
    const __m128i last = reverse_block(load_block(length.bytes));
    Register chain = Vector::only_first(reverse_block(load_block(message.aad_hash->bytes)));
    Product<Vector> sum{Vector::zero(), Vector::zero(), Vector::zero()};
    for (unsigned i = 0; i < Count; ++i) {
      const std::size_t at = i * vector_bytes;
      Register hashed = Ends::load_padded(text.in, at, text.bytes);
      if constexpr (!Verifies) {
        const Register keystream =
            Vector::shifted(state[i], i + 1 < Count ? state[i + 1] : Vector::zero());
        const Register out =
            store_padded(text.out, at, text.bytes, Vector::xor2(hashed, keystream));
        hashed = Encrypts ? out : hashed;
      }
      Register value =
          Vector::with_block(Vector::reverse_bytes(hashed), last, blocks - std::size_t{i} * lanes);
      value = Vector::xor2(value, chain);
      chain = Vector::zero();
      const Register middle = Vector::xor2(value, Vector::swap_halves(value));
      const Register factor = Vector::load(power + std::size_t{i} * lanes);
      sum.low = Vector::xor2(sum.low, Vector::template multiply<0x00>(value, factor));
      sum.high = Vector::xor2(sum.high, Vector::template multiply<0x11>(value, factor));
      sum.middle = Vector::xor2(
          sum.middle,
          Vector::template multiply<0x00>(middle, Vector::load(halves + std::size_t{i} * lanes)));
    }
    const Product<OneBlock> joined{Vector::join(sum.low), Vector::join(sum.middle),
                                   Vector::join(sum.high)};
    const __m128i hash = reduce<OneBlock>(joined, reduction_block());
    store_block(tag.bytes, _mm_xor_si128(reverse_block(hash), Vector::first_block(state[0])));
  }
};

}  // namespace
}  // namespace paes
