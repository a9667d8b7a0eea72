// SPDX-License-Identifier: Apache-2.0
// The raw modes of cipher/mode/mode.hpp, computed by libcrypto's own functions. libcrypto has no
// counter mode for 3DES, so those counters go through its ECB.
#pragma once

#include <cstring>
#include <span>

#include "cipher/mode/counter.hpp"
#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "kernel/evp_contexts.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// `contexts_of` finds the contexts in a kernel's keys.
template <std::size_t BlockBytes, EvpContexts& (*contexts_of)(const KernelKeys&) noexcept>
struct EvpModes {
  template <EvpPurpose purpose>
  static void ecb(const KernelKeys& keys, const Piece& piece) noexcept {
    EvpLease(contexts_of(keys), purpose).update(piece.text);
  }

  // Decryption in CBC and CFB: the block before the piece is its IV.
  template <EvpPurpose purpose>
  static void after_block(const KernelKeys& keys, const Piece& piece) noexcept {
    const EvpLease lease(contexts_of(keys), purpose);
    lease.start(piece.before->bytes);
    lease.update(piece.text);
  }

  // Chained directions run one message after the other: EVP has no other way.
  template <EvpPurpose purpose>
  static void chains(const KernelKeys& keys, std::span<Chain> messages) noexcept {
    const EvpLease lease(contexts_of(keys), purpose);
    for (Chain& chain : messages) {
      const Text& text = chain.text;
      if (text.bytes == 0) {
        continue;
      }
      const std::size_t last = text.bytes - BlockBytes;
      // OFB hands on the cipher's output, which is in ^ out. In place, `in` is gone by then.
      Block left = {};
      if constexpr (purpose == EvpPurpose::ofb) {
        std::memcpy(left.bytes, text.in + last, BlockBytes);
      }
      lease.start(chain.feedback.bytes);
      lease.update(text);
      for (std::size_t i = 0; i < BlockBytes; ++i) {
        chain.feedback.bytes[i] = static_cast<std::uint8_t>(left.bytes[i] ^ text.out[last + i]);
      }
      wipe(left.bytes);
    }
  }

  static void ctr(const KernelKeys& keys, const Piece& piece) noexcept {
    if constexpr (BlockBytes == 16) {
      ctr_by_evp(keys, *piece.counter, piece.text);
    } else {
      ctr_by_ecb(keys, *piece.counter, piece.text);
    }
  }

  static constexpr ModeRuns runs =
      ModeRuns{}
          .with(Operation::ecb_encrypt, ecb<EvpPurpose::ecb_encrypt>)
          .with(Operation::ecb_decrypt, ecb<EvpPurpose::ecb_decrypt>)
          .with(Operation::ctr, ctr)
          .with(Operation::cbc_encrypt, chains<EvpPurpose::cbc_encrypt>)
          .with(Operation::cbc_decrypt, after_block<EvpPurpose::cbc_decrypt>)
          .with(Operation::cfb_encrypt, chains<EvpPurpose::cfb_encrypt>)
          .with(Operation::cfb_decrypt, after_block<EvpPurpose::cfb_decrypt>)
          .with(Operation::ofb, chains<EvpPurpose::ofb>);

 private:
  // libcrypto counts in all 128 bits, so a piece is split where the last 32 wrap.
  static void ctr_by_evp(const KernelKeys& keys, const CounterBlock& first,
                         const Text& text) noexcept {
    const EvpLease lease(contexts_of(keys), EvpPurpose::ctr);
    for (std::size_t at = 0; at < text.bytes;) {
      const CounterBlock counter = add_low_counter(first, at / BlockBytes, BlockBytes);
      const std::uint64_t before_wrap = blocks_before_wrap(counter, BlockBytes) * BlockBytes;
      const std::size_t rest = text.bytes - at;
      const std::size_t bytes = rest < before_wrap ? rest : before_wrap;
      lease.start(counter.bytes);
      lease.update(text.out + at, text.in + at, bytes);
      at += bytes;
    }
  }

  static void ctr_by_ecb(const KernelKeys& keys, const CounterBlock& first,
                         const Text& text) noexcept {
    const EvpLease lease(contexts_of(keys), EvpPurpose::ecb_encrypt);
    std::uint8_t keystream[64 * BlockBytes];
    for (std::size_t at = 0; at < text.bytes; at += sizeof keystream) {
      const std::size_t rest = text.bytes - at;
      const std::size_t bytes = rest < sizeof keystream ? rest : sizeof keystream;
      for (std::size_t i = 0; i < bytes / BlockBytes; ++i) {
        const CounterBlock counter = add_low_counter(first, at / BlockBytes + i, BlockBytes);
        std::memcpy(keystream + i * BlockBytes, counter.bytes, BlockBytes);
      }
      lease.update(keystream, keystream, bytes);
      for (std::size_t i = 0; i < bytes; ++i) {
        text.out[at + i] = static_cast<std::uint8_t>(text.in[at + i] ^ keystream[i]);
      }
    }
    wipe(keystream, sizeof keystream);
  }
};

}  // namespace
}  // namespace paes
