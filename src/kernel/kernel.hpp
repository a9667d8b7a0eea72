// What a kernel is: one row of functions for one cipher on one instruction set. Rows know keys and
// pieces; they know nothing of threads, files or partial messages.
//
// A run is noexcept and cannot fail. Memory rules, the same for every run: `in` and `out` are the
// same buffer or do not overlap; nothing is read or written beyond the given bytes; no alignment is
// required of either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cipher/block.hpp"
#include "core/bytes.hpp"
#include "kernel/features.hpp"
#include "mode/mode.hpp"

namespace paes {

// Whatever a kernel wants to know of a key, in a layout private to the kernel that prepared it
// (round keys, powers of H, tables). Bound to its kernel once, in `message`, so that no other
// kernel can be handed it by mistake.
struct alignas(64) KernelKeys {
  std::uint8_t bytes[12288];
};

// The constants of one message. `iv` and `aad` are read only by whole-message operations.
struct ModeState {
  Block counter;  // ctr, GCM's encrypt and decrypt: the counter block of block 0 of the message;
                  // GCM's seal, open, verify: J0 (SP 800-38D, section 7.1)
  const std::uint8_t* iv;
  std::size_t iv_bytes;
  const std::uint8_t* aad;
  std::size_t aad_bytes;
  // GCM's open and verify: the tag that the message came with, for kernels over libraries that
  // compare and never tell the tag. Those answer with this tag when it matches, with another when
  // it does not; kernels that compute the tag need not look.
  const std::uint8_t* claimed_tag = nullptr;
  std::size_t claimed_tag_bytes = 0;
  // Only then may a branch or an address depend on the counter: for IVs of other than 96 bits J0 is
  // a hash under H, and its low bits, watched over many messages, would give H away.
  bool is_counter_public = false;
  // The output is larger than the caches and nobody reads it soon: a kernel may store past them.
  bool bypasses_caches = false;
  // How it then prefetches; something else than the default only in tests, for the bytes are the
  // same.
  StreamFetch fetch = StreamFetch::as_machine_prefers;
};

// A contiguous part of a message. A whole number of blocks, except in whole-message operations.
struct Piece {
  std::uint64_t first_block;  // index of the first block in the message
  const std::uint8_t* in;
  std::uint8_t* out;  // null for GCM's hash and verify
  std::size_t bytes;
  Block* hash = nullptr;  // GHASH value before the piece; replaced by the value after it
  // cbc_decrypt, cfb_decrypt: the ciphertext block before the piece, or the IV. A copy, because in
  // place the neighbour overwrites it. xts: T of the piece's first block. DES uses 8 bytes.
  const Block* before = nullptr;
};

// A message, or the next part of one, in a chained mode: a whole number of blocks.
struct Chain {
  const std::uint8_t* in;
  std::uint8_t* out;
  std::size_t bytes;
  Block feedback;  // the IV before the first block; replaced by what the next block needs
};

// GCM beside its counter mode, which is Operation::ctr: of the counter the last 32 bits count and
// wrap (inc_32; SP 800-38D, section 6.2). Messages of modes that count in more bits are split there
// by their owner.
enum class GcmOperation : unsigned {
  hash,     // GHASH over `in`; section 6.4
  encrypt,  // ctr, then the hash of what it wrote
  decrypt,  // the hash of `in`, and ctr
  // Whole messages of any length; *hash comes in as the GHASH of the AAD and goes out as the full
  // 16-byte tag. Opening computes the tag and decrypts; comparing is the caller's business.
  seal,
  open,
  verify,  // the tag alone: ciphertext is hashed, nothing decrypted
};
inline constexpr unsigned gcm_operation_count = 6;

using RunFunction = void (*)(const KernelKeys&, const ModeState&, const Piece&) noexcept;
// Independent messages under one key, as many side by side as the kernel has room for.
using ChainFunction = void (*)(const KernelKeys&, std::span<Chain>) noexcept;

// A row's operations, each table in the order of its enumeration; null: the kernel lacks it. Filled
// by name, ModeRuns{}.with(Operation::ctr, run), or as a whole by mode_runs.hpp.
struct ModeRuns {
  RunFunction piece[operation_count] = {};    // of formulas that are not chained
  ChainFunction chain[operation_count] = {};  // of those that are

  [[nodiscard]] constexpr ModeRuns with(Operation which, RunFunction run) const {
    ModeRuns more = *this;
    more.piece[place(which, false)] = run;
    return more;
  }
  [[nodiscard]] constexpr ModeRuns with(Operation which, ChainFunction run) const {
    ModeRuns more = *this;
    more.chain[place(which, true)] = run;
    return more;
  }

  // Tables are constants, so that a function of the wrong kind does not compile.
  static constexpr unsigned place(Operation which, bool is_chained) {
    return formula_of(which).is_chained() == is_chained ? static_cast<unsigned>(which)
                                                        : throw which;
  }
};
struct GcmRuns {
  RunFunction function[gcm_operation_count] = {};

  [[nodiscard]] constexpr GcmRuns with(GcmOperation which, RunFunction run) const noexcept {
    GcmRuns more = *this;
    more.function[static_cast<unsigned>(which)] = run;
    return more;
  }
};

enum class Cipher : unsigned { aes, des_ede3 };

[[nodiscard]] constexpr std::size_t block_bytes_of(Cipher cipher) noexcept {
  return cipher == Cipher::aes ? 16 : 8;
}

enum class Use : unsigned {
  automatic,  // dispatch may choose it
  by_name,    // runs when named, with its warning
};

struct Kernel {
  const char* name;
  Cipher cipher;
  Use use;
  const char* summary;  // one line for `paes devices`
  const char* warning;  // printed whenever it is used, or null
  Features needs;
  bool wants_512_bit;  // chosen automatically only where 512-bit registers pay
  unsigned lanes;      // blocks in flight; tests derive their sizes from it
  // Gives a reason besides missing features, or null. The member may be null.
  const char* (*unavailable)();
  // Fills `keys` from a key of a length that the cipher has. Throws only where a kernel owns
  // resources (`release` is then not null). AES rows take prepare_aes.
  void (*prepare)(Bytes key, KernelKeys& keys);
  void (*release)(KernelKeys& keys) noexcept;  // null: nothing but memory, which its owner wipes
  ModeRuns modes;
  GcmRuns gcm = {};  // AES only
  // XTS for kernels over libraries that encrypt the tweak themselves: both keys at once, and whole
  // data units of any length from one block on, their number in ModeState::iv (16 bytes). Null for
  // all others.
  void (*prepare_xts)(Bytes both_keys, KernelKeys& keys) = nullptr;
  RunFunction xts_unit[2] = {};  // encrypt, decrypt

  [[nodiscard]] RunFunction run(Operation which) const noexcept {
    return modes.piece[static_cast<unsigned>(which)];
  }
  [[nodiscard]] bool has(Operation which) const noexcept {
    return formula_of(which).is_chained() ? run_chains(which) != nullptr : run(which) != nullptr;
  }
  [[nodiscard]] ChainFunction run_chains(Operation which) const noexcept {
    return modes.chain[static_cast<unsigned>(which)];
  }
  [[nodiscard]] RunFunction run(GcmOperation which) const noexcept {
    return gcm.function[static_cast<unsigned>(which)];
  }
};

}  // namespace paes
