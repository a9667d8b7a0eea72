// The operations of GCM (SP 800-38D, section 7) that every kernel can derive from two, counter mode
// and GHASH: a kernel file instantiates this with its own two functions and replaces whatever it
// does better. Everything is inline in an unnamed namespace on purpose: code compiled with one
// file's instruction set must never be merged with another's by the linker.
#pragma once

#include <cstring>

#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_aes.hpp"
#include "mode/gcm.hpp"

namespace paes {
namespace {  // NOLINT: see above

// Derives GCM from `Gctr` and `Ghash`, both RunFunctions.
template <RunFunction Gctr, RunFunction Ghash>
struct GcmFromParts {
  // Text is encrypted and hashed in strips that stay in the first-level cache.
  static constexpr std::size_t strip_bytes = 8192;

  static void encrypt(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    strips<true>(keys, state, piece);
  }

  static void decrypt(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    strips<false>(keys, state, piece);
  }

  static void seal(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    whole_message<&encrypt, true>(keys, state, piece);
  }

  static void open(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    whole_message<&decrypt, false>(keys, state, piece);
  }

  static void verify(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    const std::size_t whole = piece.bytes / block_bytes * block_bytes;
    Ghash(keys, state, Piece{0, piece.in, nullptr, whole, piece.hash});
    if (piece.bytes != whole) {
      Block last = {};
      std::memcpy(last.bytes, piece.in + whole, piece.bytes - whole);
      Ghash(keys, state, Piece{0, last.bytes, nullptr, block_bytes, piece.hash});
    }
    finish_tag(keys, state, piece);
  }

  // *hash becomes the tag: the length block is hashed and E(J0) added (SP 800-38D, section 7.1,
  // steps 5 and 6).
  static void finish_tag(const KernelKeys& keys, const ModeState& state,
                         const Piece& piece) noexcept {
    const Block lengths = gcm::length_block(state.aad_bytes, piece.bytes);
    Ghash(keys, state, Piece{0, lengths.bytes, nullptr, block_bytes, piece.hash});
    Gctr(keys, state, Piece{0, piece.hash->bytes, piece.hash->bytes, block_bytes, nullptr});
  }

  // The whole row, for kernels that replace none of it.
  static constexpr GcmRuns runs = GcmRuns{}
                                      .with(GcmOperation::hash, Ghash)
                                      .with(GcmOperation::encrypt, encrypt)
                                      .with(GcmOperation::decrypt, decrypt)
                                      .with(GcmOperation::seal, seal)
                                      .with(GcmOperation::open, open)
                                      .with(GcmOperation::verify, verify);

 private:
  template <bool Encrypt>
  static void strips(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    for (std::size_t at = 0; at < piece.bytes; at += strip_bytes) {
      const std::size_t bytes = piece.bytes - at < strip_bytes ? piece.bytes - at : strip_bytes;
      const Piece strip{piece.first_block + at / block_bytes, piece.in + at, piece.out + at, bytes,
                        piece.hash};
      const Piece hashed{0, Encrypt ? strip.out : strip.in, nullptr, bytes, piece.hash};
      // Decryption in place overwrites the ciphertext, so it is hashed first.
      if constexpr (!Encrypt) {
        Ghash(keys, state, hashed);
      }
      Gctr(keys, state, strip);
      if constexpr (Encrypt) {
        Ghash(keys, state, hashed);
      }
    }
  }

  template <RunFunction Crypt, bool Encrypt>
  static void whole_message(const KernelKeys& keys, const ModeState& state,
                            const Piece& piece) noexcept {
    ModeState text_state = state;
    const WipeOnExit wiped_counter(text_state.counter.bytes);
    text_state.counter = gcm::add_counter(state.counter, 1);
    const std::size_t whole = piece.bytes / block_bytes * block_bytes;
    Crypt(keys, text_state, Piece{0, piece.in, piece.out, whole, piece.hash});
    const std::size_t rest = piece.bytes - whole;
    if (rest != 0) {
      Block last = {};
      Block text = {};
      Block hashed = {};
      const WipeOnExit wiped_last(last.bytes);
      const WipeOnExit wiped_text(text.bytes);
      const WipeOnExit wiped_hashed(hashed.bytes);
      std::memcpy(last.bytes, piece.in + whole, rest);
      Gctr(keys, text_state,
           Piece{whole / block_bytes, last.bytes, text.bytes, block_bytes, nullptr});
      std::memcpy(piece.out + whole, text.bytes, rest);
      // The hash covers the ciphertext padded with zeros: keystream beyond the end stays out of it.
      std::memcpy(hashed.bytes, Encrypt ? text.bytes : last.bytes, rest);
      Ghash(keys, text_state, Piece{0, hashed.bytes, nullptr, block_bytes, piece.hash});
    }
    finish_tag(keys, state, piece);
  }
};

}  // namespace
}  // namespace paes
