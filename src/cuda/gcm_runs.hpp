// SPDX-License-Identifier: Apache-2.0
// What all AES rows share for GCM: the launches of a job (the first one hashes the text in chunks,
// the others hash the chunks' hashes), and the hash's part of a key image.
#pragma once

#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "cuda/grid.hpp"

namespace paes::cuda {
namespace {  // NOLINT

#if defined(PAES_LAUNCHES)

// Stands in for a cipher if text is only hashed.
struct NoCipher {
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = false;
  static constexpr unsigned threads = 512;
  static constexpr unsigned shared_bytes = 0;
  struct Keys {};

  PAES_DEVICE static void fill(std::uint8_t* /*shared*/, const Keys& /*keys*/,
                               const Thread& /*thread*/) {}
  PAES_DEVICE NoCipher(std::uint8_t* /*shared*/, const Keys& /*keys*/, const Thread& /*thread*/) {}
  PAES_DEVICE void crypt(Words<16> (&)[1]) const {}
};

[[nodiscard]] constexpr TextFlow flow_of(GcmOperation operation) {
  switch (operation) {
    case GcmOperation::seal:
    case GcmOperation::encrypt:
      return TextFlow::encrypt;
    case GcmOperation::open:
    case GcmOperation::decrypt:
      return TextFlow::decrypt;
    default:
      return TextFlow::hash;
  }
}

// Runs the job on a grid with the cipher's Core and the hash's Tables; HashCore only hashes text.
template <class Core, class HashCore = Core, class Tables = NibbleTables>
int run_flow(const Launch& launch, const GcmJob& job, const typename Core::Keys& keys,
             const HashLevel* level) {
  switch (flow_of(job.operation)) {
    case TextFlow::encrypt:
      return run_gcm_on_grid<GcmCore<Core, Tables>, TextFlow::encrypt>(launch, job, {keys, level});
    case TextFlow::decrypt:
      return run_gcm_on_grid<GcmCore<Core, Tables>, TextFlow::decrypt>(launch, job, {keys, level});
    default:
      return run_gcm_on_grid<GcmCore<HashCore>, TextFlow::hash>(launch, job, {keys, level});
  }
}

// `run_text(job, level)` runs the job's own text, and writes a hash for each chunk (for each
// message: its tag) to job.tags. `levels` are the image's, in device memory.
template <class RunText>
int run_gcm_levels(const Launch& launch, const GcmJob& job, const HashLevel* levels,
                   const RunText& run_text) {
  const std::uint64_t blocks = (job.text_bytes + block_bytes - 1) / block_bytes;
  GcmJob part = job;
  part.chunk_blocks = text_chunk_blocks(blocks);
  std::uint64_t count = hash_chunks(blocks, part.chunk_blocks);
  if (takes_messages(job.operation) || count <= 1) {
    return run_text(part, levels);
  }
  const bool is_short = part.chunk_blocks == short_chunk_blocks;
  Block* hashes = job.scratch;
  part.tags = hashes;
  int error = run_text(part, levels);
  for (unsigned level = 1; error == 0 && count > 1; ++level) {
    GcmJob next = {};
    next.operation = GcmOperation::hash;
    next.in = hashes;
    next.text_bytes = count * block_bytes;
    hashes += count;
    count = hash_chunks(count, hash_chunk_blocks);
    next.tags = count == 1 ? job.tags : hashes;
    error = run_gcm_on_grid<GcmCore<NoCipher>, TextFlow::hash>(
        launch, next, {{}, levels + (is_short ? short_chunk_level : level)});
  }
  return error;
}

#else

inline FieldWords field_words(const Block& block) noexcept {
  return {{load_be32(block.bytes), load_be32(block.bytes + 4), load_be32(block.bytes + 8),
           load_be32(block.bytes + 12)}};
}

inline Block add_blocks(const Block& a, const Block& b) noexcept {
  Block sum;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    sum.bytes[i] = a.bytes[i] ^ b.bytes[i];
  }
  return sum;
}

// Calls put(n, power * n) for each polynomial n of at most `Bits` bits, whose highest bit is x^0.
template <unsigned Bits, class Put>
void make_multiples(const Block& power, const Put& put) {
  constexpr Block x = {{0x40}};
  Block times_x[Bits] = {power};
  const WipeOnExit wiped({times_x[0].bytes, sizeof times_x});
  for (unsigned i = 1; i < Bits; ++i) {
    times_x[i] = ghash_multiply(times_x[i - 1], x);
  }
  for (unsigned n = 0; n < 1U << Bits; ++n) {
    Block multiple = {};
    for (unsigned i = 0; i < Bits; ++i) {
      if (((n >> (Bits - 1 - i)) & 1) != 0) {
        multiple = add_blocks(multiple, times_x[i]);
      }
    }
    put(n, field_words(multiple));
    wipe(multiple.bytes);
  }
}

// The levels of a key whose hash key is `h`.
inline void make_hash_levels(const Block& h, HashLevel (&levels)[hash_levels]) {
  Block base = h;  // of the level
  const WipeOnExit wiped_base(base.bytes);
  for (unsigned number = 0; number < hash_levels; ++number) {
    if (number == short_chunk_level) {
      base = ghash_power(h, short_chunk_blocks);
    }
    HashLevel& level = levels[number];
    // On level 0 the last block is multiplied by H; on higher levels the last hash is not.
    Block power = number == 0 ? base : Block{{0x80}};
    const WipeOnExit wiped(power.bytes);
    for (unsigned lane = warp_lanes; lane-- > 0;) {
      make_multiples<4>(
          power, [&](unsigned n, const FieldWords& multiple) { level.join[n][lane] = multiple; });
      if (lane != 0) {
        power = ghash_multiply(power, base);
      }
    }
    if (number != 0) {
      power = ghash_multiply(power, base);
    }
    make_multiples<8>(power,
                      [&](unsigned n, const FieldWords& multiple) { level.horner[n] = multiple; });
    base = ghash_power(base, hash_chunk_blocks);
  }
}

#endif

}  // namespace
}  // namespace paes::cuda
