// SPDX-License-Identifier: Apache-2.0
// What one launch computes: plain data that CudaDevice fills in and a kernel reads. All addresses
// are in device memory (in host memory where a test emulates the device) and are multiples of 16. A
// job itself has no secrets, because drivers keep copies of launch parameters. Secrets are at its
// addresses, in memory that CudaDevice wipes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cipher/block.hpp"
#include "cipher/mode/gcm_blocks.hpp"
#include "cipher/mode/mode.hpp"
#include "kernel/kernel.hpp"

namespace paes::cuda {

// A contiguous part of a message in a parallel mode (cipher/mode/mode.hpp).
struct Job {
  Operation operation;
  const void* in;
  // May be `in`, except in CBC and CFB decryption, where a block needs the one before it: there the
  // two may not overlap.
  void* out;
  // Any length in CTR and CFB decryption, otherwise a whole number of blocks.
  std::uint64_t bytes;
  // CTR: the counter block of the part's first block. Its last `counter_bits` bits count,
  // big-endian, and wrap: 32 of them as in GCM, or the whole block (128, or 64 for 3DES).
  Block counter = {};
  unsigned counter_bits = 128;
  // CBC and CFB decryption: the ciphertext block before the part, or the IV.
  Block before = {};
  // XTS: what a TweakJob wrote for the same number of blocks.
  const Block* tweaks = nullptr;
  std::uint32_t unit_blocks = 0;  // of a data unit, as in the TweakJob; 0: the part lies in one
};

// The tweaks from which XTS starts: one for every 32 blocks of each data unit. The part begins
// where a unit begins, or lies in one unit.
struct TweakJob {
  // The number of the first unit (16 bytes, little-endian), which the launch encrypts; its image is
  // the second key's. If `is_tweak`, this is instead the tweak T of the part's first block, and the
  // part lies in one unit.
  const Block* first;
  bool is_tweak;
  std::uint32_t unit_blocks;  // 0: the part lies in one unit
  std::uint32_t blocks;       // of the part; at most 2^31
  Block* out;                 // room for tweak_count()
};

inline constexpr std::uint32_t tweak_step = 32;

// How many blocks a TweakJob writes.
[[nodiscard]] constexpr std::uint32_t tweak_count(std::uint32_t blocks,
                                                  std::uint32_t unit_blocks) noexcept {
  const std::uint32_t unit = unit_blocks == 0 || unit_blocks > blocks ? blocks : unit_blocks;
  return blocks == 0 ? 0 : ((blocks + unit - 1) / unit) * ((unit + tweak_step - 1) / tweak_step);
}

// True for whole messages, false for a part of one.
[[nodiscard]] constexpr bool takes_messages(GcmOperation operation) noexcept {
  return operation == GcmOperation::seal || operation == GcmOperation::open ||
         operation == GcmOperation::verify;
}

// A warp hashes a chunk of this many blocks. The chunks' hashes are then hashed in the same way,
// 1024 at a time.
inline constexpr std::uint32_t hash_chunk_blocks = 1024;
// Texts of at most 4 MiB have shorter chunks: with longer ones, there would be too few to keep a
// device busy. All their hashes are hashed at once.
inline constexpr std::uint32_t short_chunk_blocks = 256;
// A key has tables for H, H^1024 and H^(1024^2), and for H^256, which short chunks need.
inline constexpr unsigned hash_levels = 4;
inline constexpr unsigned short_chunk_level = 3;

// How many blocks a chunk has in a text of `blocks`.
[[nodiscard]] constexpr std::uint32_t text_chunk_blocks(std::uint64_t blocks) noexcept {
  return blocks <= std::uint64_t{short_chunk_blocks} * hash_chunk_blocks ? short_chunk_blocks
                                                                         : hash_chunk_blocks;
}

// GCM: many whole messages, or a part of one.
struct GcmJob {
  GcmOperation operation;
  // seal, open, verify: message i has `text_bytes`, or `last_text_bytes` if it is the last, and
  // stands at in + i * in_stride. Its tag goes to tags[i]. Strides are multiples of 16. encrypt,
  // decrypt, hash: one part of `text_bytes`, whose hash, started from zero, goes to tags[0]. Only
  // the last part of a message may end within a block, which is padded with zeros for the hash.
  const void* in;
  void* out;  // may be `in`; unused by verify and hash
  std::uint64_t in_stride;
  std::uint64_t out_stride;
  std::uint32_t count;
  std::uint64_t text_bytes;
  std::uint64_t last_text_bytes;
  // seal, open, verify: J0 of each message. encrypt, decrypt: the counter block of the part's first
  // block. The last 32 bits count and wrap.
  const Block* counters;
  // seal, open, verify: the hash of the additional data, the same for all messages; null: none.
  const Block* aad_hash;
  std::uint64_t aad_bytes;
  Block* tags;
  // encrypt, decrypt, hash: room for gcm_scratch_count() blocks.
  Block* scratch;
  // encrypt, decrypt, hash: the blocks of a chunk. run_gcm_levels() sets it.
  std::uint32_t chunk_blocks = hash_chunk_blocks;
};

[[nodiscard]] constexpr std::uint64_t hash_chunks(std::uint64_t blocks,
                                                  std::uint32_t chunk_blocks) noexcept {
  return (blocks + chunk_blocks - 1) / chunk_blocks;
}
[[nodiscard]] constexpr std::uint64_t gcm_scratch_count(std::uint64_t text_bytes) noexcept {
  std::uint64_t blocks = (text_bytes + block_bytes - 1) / block_bytes;
  std::uint64_t count = 0;
  for (std::uint32_t chunk = text_chunk_blocks(blocks); blocks > 1; chunk = hash_chunk_blocks) {
    blocks = hash_chunks(blocks, chunk);
    count += blocks;
  }
  return count;
}

// How many warps a job keeps busy: one for each message or chunk, and one for a part without text.
[[nodiscard]] constexpr std::uint64_t hash_units(const GcmJob& job) noexcept {
  const std::uint64_t chunks =
      hash_chunks((job.text_bytes + block_bytes - 1) / block_bytes, job.chunk_blocks);
  return takes_messages(job.operation) ? job.count : chunks == 0 ? 1 : chunks;
}

}  // namespace paes::cuda
