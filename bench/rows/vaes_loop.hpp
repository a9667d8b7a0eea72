// SPDX-License-Identifier: Apache-2.0
// The plainest loops that keep the processor's AES units busy: CTR (SP 800-38A, section 6.5, with
// the 32-bit counter of SP 800-38D, section 6.5) and ECB, eight registers in flight, no hash. Their
// speed is the limit of the execution ports, and the mark for every real kernel of that width. They
// exist only for measurements: their "seal" has no tag, so they must never protect anything.
//
// A kernel file supplies `Wide`, the instructions of one width.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "cipher/mode/gcm_blocks.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_aes.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Wide>
struct PortLoops {
  using Register = typename Wide::Register;
  static constexpr std::size_t group_registers = 8;
  static constexpr std::size_t register_bytes = sizeof(Register);
  static constexpr std::size_t register_blocks = register_bytes / block_bytes;
  static constexpr std::size_t group_bytes = group_registers * register_bytes;
  static constexpr unsigned lanes = group_registers * register_blocks;

  struct Keys {
    RoundKeys forward;
    RoundKeys inverse;  // in the order of use of the equivalent inverse cipher
  };
  static_assert(sizeof(Keys) <= sizeof(KernelKeys));

  static void prepare(const RoundKeys& round_keys, KernelKeys& kernel_keys) {
    auto& keys = *reinterpret_cast<Keys*>(kernel_keys.bytes);
    keys.forward = keys.inverse = round_keys;
    for (unsigned round = 0; round <= round_keys.rounds; ++round) {
      const __m128i key = block_at(round_keys.key[round_keys.rounds - round].bytes);
      const bool is_outer = round == 0 || round == round_keys.rounds;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(keys.inverse.key[round].bytes),
                       is_outer ? key : _mm_aesimc_si128(key));
    }
  }

  static void ctr(const KernelKeys& keys, const Piece& piece) noexcept {
    // The counting 32-bit word is kept in the processor's byte order.
    const Register swap =
        Wide::broadcast(_mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const Register step =
        Wide::broadcast(_mm_set_epi32(static_cast<int>(register_blocks), 0, 0, 0));
    Register counters = Wide::add(
        Wide::shuffle(Wide::broadcast(block_at(piece.counter->bytes)), swap), Wide::lane_numbers());
    run<false>(
        keys, piece.text,
        [&](Register /*text*/) __attribute__((always_inline)) {
          const Register blocks = Wide::shuffle(counters, swap);
          counters = Wide::add(counters, step);
          return blocks;
        },
        [](Register cipher, Register text)
            __attribute__((always_inline)) { return Wide::exclusive_or(cipher, text); });
  }

  template <bool Inverse>
  static void ecb(const KernelKeys& keys, const Piece& piece) noexcept {
    run<Inverse>(
        keys, piece.text, [](Register text) __attribute__((always_inline)) { return text; },
        [](Register cipher, Register /*text*/) __attribute__((always_inline)) { return cipher; });
  }

  static void no_hash(const KernelKeys&, const std::uint8_t*, std::size_t, HashValue&) noexcept {}

  static void gcm_piece(const KernelKeys& keys, const GcmPiece& piece, HashValue&) noexcept {
    ctr(keys, {.text = piece.text, .counter = piece.counter});
  }

  // A message without its tag.
  static void whole_message(const KernelKeys& keys, const WholeMessage& message,
                            Tag& tag) noexcept {
    const CounterBlock counter = gcm::add_counter(*message.pre_counter, 1);
    ctr(keys, {.text = message.text, .counter = &counter});
    tag = {};
  }

  static constexpr ModeRuns modes = ModeRuns{}
                                        .with(Operation::ecb_encrypt, ecb<false>)
                                        .with(Operation::ecb_decrypt, ecb<true>)
                                        .with(Operation::ctr, ctr);
  static constexpr GcmRuns gcm_runs = {.hash = no_hash,
                                       .encrypt = gcm_piece,
                                       .decrypt = gcm_piece,
                                       .seal = whole_message,
                                       .open = whole_message};

 private:
  static __m128i block_at(const std::uint8_t* from) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }

  template <bool Inverse, unsigned Rounds, std::size_t Registers>
  [[gnu::always_inline]] static void encrypt(const Register* keys,
                                             Register (&text)[Registers]) noexcept {
    for (Register& blocks : text) {
      blocks = Wide::exclusive_or(blocks, keys[0]);
    }
#pragma GCC unroll 16
    for (unsigned round = 1; round < Rounds; ++round) {
      for (Register& blocks : text) {
        blocks = Wide::template round<Inverse>(blocks, keys[round]);
      }
    }
    for (Register& blocks : text) {
      blocks = Wide::template last_round<Inverse>(blocks, keys[Rounds]);
    }
  }

  template <bool Inverse, unsigned Rounds, typename Before, typename After>
  [[gnu::always_inline]] static void loop(const RoundKeys& round_keys, const Text& whole,
                                          Before&& before, After&& after) noexcept {
    Register keys[Rounds + 1];
    for (unsigned round = 0; round <= Rounds; ++round) {
      keys[round] = Wide::broadcast(block_at(round_keys.key[round].bytes));
    }
    const std::uint8_t* in = whole.in;
    std::uint8_t* out = whole.out;
    std::size_t left = whole.bytes;
    for (; left >= group_bytes; left -= group_bytes, in += group_bytes, out += group_bytes) {
      Register text[group_registers];
      for (std::size_t i = 0; i < group_registers; ++i) {
        text[i] = before(Wide::load(in + i * register_bytes));
      }
      encrypt<Inverse, Rounds>(keys, text);
      for (std::size_t i = 0; i < group_registers; ++i) {
        Wide::store(out + i * register_bytes, after(text[i], Wide::load(in + i * register_bytes)));
      }
    }
    while (left != 0) {
      alignas(64) std::uint8_t part[register_bytes] = {};
      const std::size_t bytes = std::min(left, register_bytes);
      std::memcpy(part, in, bytes);
      Register text[1] = {before(Wide::load(part))};
      encrypt<Inverse, Rounds>(keys, text);
      Wide::store(part, after(text[0], Wide::load(part)));
      std::memcpy(out, part, bytes);
      left -= bytes;
      in += bytes;
      out += bytes;
    }
  }

  template <bool Inverse, typename Before, typename After>
  [[gnu::always_inline]] static void run(const KernelKeys& kernel_keys, const Text& text,
                                         Before&& before, After&& after) noexcept {
    const auto& both = *reinterpret_cast<const Keys*>(kernel_keys.bytes);
    const RoundKeys& keys = Inverse ? both.inverse : both.forward;
    switch (keys.rounds) {
      case 10:
        return loop<Inverse, 10>(keys, text, before, after);
      case 12:
        return loop<Inverse, 12>(keys, text, before, after);
      default:
        return loop<Inverse, 14>(keys, text, before, after);
    }
  }
};

}  // namespace
}  // namespace paes
