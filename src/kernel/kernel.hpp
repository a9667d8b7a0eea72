// What a kernel is: one row of functions for one cipher on one instruction set. Rows know keys and
// pieces; they know nothing of threads, files or partial messages.
//
// A run is noexcept and cannot fail. Memory rules, the same for every run: `in` and `out` are the
// same buffer or do not overlap; nothing is read or written beyond the given bytes; no alignment is
// required of either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cipher/block.hpp"
#include "core/bytes.hpp"
#include "kernel/features.hpp"

namespace paes {

// Whatever a kernel wants to know of a key, in a layout private to the kernel that prepared it
// (round keys, powers of H, tables). Bound to its kernel once, in `message`, so that no other
// kernel can be handed it by mistake.
struct alignas(64) KernelKeys {
  std::uint8_t bytes[12288];
};

// The constants of one message. `iv` and `aad` are read only by whole-message operations.
struct ModeState {
  Block counter;  // gctr, gcm_encrypt, gcm_decrypt: the counter block of block 0 of the message;
                  // gcm_seal, gcm_open, gcm_verify: J0 (SP 800-38D, section 7.1)
  const std::uint8_t* iv;
  std::size_t iv_bytes;
  const std::uint8_t* aad;
  std::size_t aad_bytes;
  // gcm_open and gcm_verify: the tag that the message came with, for kernels over libraries that
  // compare and never tell the tag. Those answer with this tag when it matches, with another when
  // it does not; kernels that compute the tag need not look.
  const std::uint8_t* claimed_tag = nullptr;
  std::size_t claimed_tag_bytes = 0;
  // Only then may a branch or an address depend on the counter: for IVs of other than 96 bits J0 is
  // a hash under H, and its low bits, watched over many messages, would give H away.
  bool is_counter_public = false;
};

// A contiguous part of a message. A whole number of blocks, except in whole-message operations.
struct Piece {
  std::uint64_t first_block;  // index of the first block in the message
  const std::uint8_t* in;
  std::uint8_t* out;  // null for ghash and gcm_verify
  std::size_t bytes;
  Block* hash;  // GHASH value before the piece; replaced by the value after it
};

enum class Operation : unsigned {
  gctr,         // out = in ^ E(counter + first_block + i); SP 800-38D, section 6.5; also CTR's core
  ghash,        // hash over `in`; section 6.4
  gcm_encrypt,  // gctr, then ghash of what it wrote
  gcm_decrypt,  // ghash of `in`, and gctr
  // Whole messages of any length; *hash comes in as the GHASH of the AAD and goes out as the full
  // 16-byte tag. Opening computes the tag and decrypts; comparing is the caller's business.
  gcm_seal,
  gcm_open,
  gcm_verify,  // the tag alone: ciphertext is hashed, nothing decrypted
};
inline constexpr unsigned operation_count = 7;

using RunFunction = void (*)(const KernelKeys&, const ModeState&, const Piece&) noexcept;

// A row's operations, in the order of Operation; null: the kernel lacks it.
struct RunTable {
  RunFunction function[operation_count];
};

enum class Cipher : unsigned { aes };

enum class Use : unsigned {
  automatic,   // dispatch may choose it
  by_name,     // runs when named, with its warning
  bench_only,  // exists only inside `paes bench`
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
  const char* (
      *unavailable)();  // a reason besides missing features, or null; the member may be null
  // Fills `keys` from a key of a length that the cipher has. Throws only where a kernel owns
  // resources
  // (`release` is then not null). AES rows take prepare_aes.
  void (*prepare)(Bytes key, KernelKeys& keys);
  void (*release)(KernelKeys& keys) noexcept;  // null: nothing but memory, which its owner wipes
  RunTable run;

  [[nodiscard]] RunFunction operation(Operation which) const noexcept {
    return run.function[static_cast<unsigned>(which)];
  }
};

}  // namespace paes
