// What one launch computes: plain data that the device fills, and that the device and the emulation
// read. All addresses are the device's (of the emulation: the host's) and multiples of 16. Secrets
// are never in a job itself, because drivers keep copies of launch parameters: they are at
// addresses whose memory the device wipes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cipher/block.hpp"
#include "kernel/kernel.hpp"
#include "mode/gcm.hpp"
#include "mode/mode.hpp"

namespace paes::cuda {

// A contiguous part of a message in a parallel mode (mode/mode.hpp).
struct Job {
  Operation operation;
  const void* in;
  // May be `in`, except where a block needs the one before it (CBC and CFB decryption): there the
  // two may not overlap.
  void* out;
  // A whole number of blocks, but of CTR and CFB decryption any length.
  std::uint64_t bytes;
  // CTR: the counter block of the part's first block. Of its last `counter_bits` bits the device
  // counts on, big-endian, and wraps: 32 as GCM does, else all: 128, for 3DES 64.
  Block counter = {};
  unsigned counter_bits = 128;
  // CBC and CFB decryption: the ciphertext block before the part, or the IV.
  Block before = {};
  // XTS: what a TweakJob of the same number of blocks has left.
  const Block* tweaks = nullptr;
  std::uint32_t unit_blocks = 0;  // of a data unit; 0: the part lies in one. As in the TweakJob.
};

// The tweaks that XTS starts from, one for every 32 blocks and each unit: the part begins where a
// unit begins, or lies in one unit from wherever.
struct TweakJob {
  // The number of the first unit (16 bytes, little-endian), whose key image is the second key's;
  // or, if `is_tweak`, T of the part's first block, and the part lies in one unit.
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

// Whole messages, or else a part of one.
[[nodiscard]] constexpr bool takes_messages(GcmOperation operation) noexcept {
  return operation == GcmOperation::seal || operation == GcmOperation::open ||
         operation == GcmOperation::verify;
}

// GCM: many whole messages, or a part of one.
struct GcmJob {
  GcmOperation operation;
  // seal, open, verify: message i is `text_bytes` long (the last one `last_text_bytes`) and stands
  // at in + i * in_stride; its tag goes to tags[i]. Strides are multiples of 16.
  // encrypt, decrypt, hash: one part of `text_bytes`, of which only a message's last may be other
  // than whole blocks (it is padded with zeros to be hashed); its hash from zero goes to tags[0].
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
  // seal, open, verify: the hash of the additional data that all messages have; null: none.
  const Block* aad_hash;
  std::uint64_t aad_bytes;
  Block* tags;
  // encrypt, decrypt, hash: room for gcm_scratch_count() blocks.
  Block* scratch;
};

// A warp hashes a chunk of so many blocks; the hashes of 1024 chunks are hashed in their turn.
inline constexpr std::uint32_t hash_chunk_blocks = 1024;
inline constexpr unsigned hash_levels = 3;

[[nodiscard]] constexpr std::uint64_t hash_chunks(std::uint64_t blocks) noexcept {
  return (blocks + hash_chunk_blocks - 1) / hash_chunk_blocks;
}
[[nodiscard]] constexpr std::uint64_t gcm_scratch_count(std::uint64_t text_bytes) noexcept {
  std::uint64_t count = 0;
  for (std::uint64_t blocks = (text_bytes + block_bytes - 1) / block_bytes; blocks > 1;) {
    blocks = hash_chunks(blocks);
    count += blocks;
  }
  return count;
}

// Warps that a job keeps busy: one a message or chunk, and one even for a part without text.
[[nodiscard]] constexpr std::uint64_t hash_units(const GcmJob& job) noexcept {
  const std::uint64_t chunks = hash_chunks((job.text_bytes + block_bytes - 1) / block_bytes);
  return takes_messages(job.operation) ? job.count : chunks == 0 ? 1 : chunks;
}

}  // namespace paes::cuda
