// SPDX-License-Identifier: Apache-2.0
// The operations of GCM (SP 800-38D, section 7) that every kernel can derive from two, counter mode
// and GHASH. A kernel file instantiates this with its own two functions and replaces whatever it
// does better. Everything is inline in an unnamed namespace, so that the linker never merges code
// compiled for one instruction set with another's.
#pragma once

#include <cstring>

#include "cipher/mode/gcm_blocks.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_aes.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// GHASH for kernels that have none of their own. Their keys have a member `h` for H.
template <class Keys>
void portable_ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
                    HashValue& hash) noexcept {
  ghash_update(keys.as<Keys>().h, hash, in, bytes / block_bytes);
}

template <PieceFunction Gctr, HashFunction Ghash>
struct GcmFromParts {
  // Text is encrypted and hashed in strips that fit in the first-level cache.
  static constexpr std::size_t strip_bytes = 8192;

  static void encrypt(const KernelKeys& keys, const GcmPiece& piece, HashValue& hash) noexcept {
    strips<true>(keys, piece, hash);
  }

  static void decrypt(const KernelKeys& keys, const GcmPiece& piece, HashValue& hash) noexcept {
    strips<false>(keys, piece, hash);
  }

  static void seal(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
    whole_message<true>(keys, message, tag);
  }

  static void open(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
    whole_message<false>(keys, message, tag);
  }

  static void verify(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
    const Text& text = message.text;
    HashValue hash = *message.aad_hash;
    const WipeOnExit wiped_hash(hash.bytes);
    const std::size_t whole = text.bytes / block_bytes * block_bytes;
    Ghash(keys, text.in, whole, hash);
    if (text.bytes != whole) {
      Block last = {};
      std::memcpy(last.bytes, text.in + whole, text.bytes - whole);
      Ghash(keys, last.bytes, block_bytes, hash);
    }
    make_tag(keys, message, hash, tag);
  }

  // The whole row, for kernels that replace none of it.
  static constexpr GcmRuns runs = {.hash = Ghash,
                                   .encrypt = encrypt,
                                   .decrypt = decrypt,
                                   .seal = seal,
                                   .open = open,
                                   .verify = verify};

 private:
  template <bool Encrypt>
  static void strips(const KernelKeys& keys, const GcmPiece& piece, HashValue& hash) noexcept {
    const Text& text = piece.text;
    CounterBlock counter = *piece.counter;
    const WipeOnExit wiped_counter(counter.bytes);
    for (std::size_t at = 0; at < text.bytes; at += strip_bytes) {
      const std::size_t bytes = text.bytes - at < strip_bytes ? text.bytes - at : strip_bytes;
      // Decryption in place overwrites the ciphertext, so it is hashed first.
      if constexpr (!Encrypt) {
        Ghash(keys, text.in + at, bytes, hash);
      }
      Gctr(keys, Piece{.text = {text.in + at, text.out + at, bytes},
                       .counter = &counter,
                       .is_counter_public = piece.is_counter_public});
      if constexpr (Encrypt) {
        Ghash(keys, text.out + at, bytes, hash);
      }
      counter = gcm::add_counter(counter, bytes / block_bytes);
    }
  }

  template <bool Encrypt>
  static void whole_message(const KernelKeys& keys, const WholeMessage& message,
                            Tag& tag) noexcept {
    const Text& text = message.text;
    HashValue hash = *message.aad_hash;
    CounterBlock counter = gcm::add_counter(*message.pre_counter, 1);
    const WipeOnExit wiped_hash(hash.bytes);
    const WipeOnExit wiped_counter(counter.bytes);
    const std::size_t whole = text.bytes / block_bytes * block_bytes;
    strips<Encrypt>(keys, {{text.in, text.out, whole}, &counter, message.is_counter_public}, hash);
    const std::size_t rest = text.bytes - whole;
    if (rest != 0) {
      Block last = {};
      Block result = {};
      Block hashed = {};
      const WipeOnExit wiped_last(last.bytes);
      const WipeOnExit wiped_result(result.bytes);
      const WipeOnExit wiped_hashed(hashed.bytes);
      std::memcpy(last.bytes, text.in + whole, rest);
      counter = gcm::add_counter(counter, whole / block_bytes);
      Gctr(keys, Piece{.text = {last.bytes, result.bytes, block_bytes},
                       .counter = &counter,
                       .is_counter_public = message.is_counter_public});
      std::memcpy(text.out + whole, result.bytes, rest);
      // The hash covers the ciphertext padded with zeros, without the keystream beyond its end.
      std::memcpy(hashed.bytes, Encrypt ? result.bytes : last.bytes, rest);
      Ghash(keys, hashed.bytes, block_bytes, hash);
    }
    make_tag(keys, message, hash, tag);
  }

  // Hashes the length block and adds E(J0) (SP 800-38D, section 7.1, steps 5 and 6).
  static void make_tag(const KernelKeys& keys, const WholeMessage& message, HashValue& hash,
                       Tag& tag) noexcept {
    const Block lengths = gcm::length_block(message.aad.size(), message.text.bytes);
    Ghash(keys, lengths.bytes, block_bytes, hash);
    Gctr(keys, Piece{.text = {hash.bytes, tag.bytes, block_bytes},
                     .counter = message.pre_counter,
                     .is_counter_public = message.is_counter_public});
  }
};

}  // namespace
}  // namespace paes
