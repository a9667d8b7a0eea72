// SPDX-License-Identifier: Apache-2.0
// The formulas of cipher/mode/mode.hpp for Cores that transform many of a thread's blocks at once;
// a member TakesTiles says so. A warp takes a tile, in which block i of lane l is block 32 i + l.
// So each access of a warp is contiguous, and a thread's blocks lie at constant distances.
#pragma once

#include "cuda/mode_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device_code.hpp

// For `fill` in such a Core: copies a multiple of 16 bytes from device memory.
PAES_DEVICE void copy_to_shared(std::uint8_t* shared, const void* from, unsigned bytes,
                                const Thread& thread) {
  for (unsigned at = 16 * thread.index; at < bytes; at += 16 * thread.threads) {
    store_words(shared + at, load_words<16>(static_cast<const std::uint8_t*>(from) + at));
  }
}

template <unsigned Blocks>
struct TilePlace {
  std::uint64_t first;  // the thread's first block
  unsigned full;        // how many of its blocks the text fills
  unsigned all;         // those, plus one if the text ends inside a block

  PAES_DEVICE TilePlace(const Job& job, unsigned size, std::uint64_t first_block)
      : first(first_block),
        full(count(job.bytes / size)),
        all(count((job.bytes + size - 1) / size)) {}

 private:
  PAES_DEVICE unsigned count(std::uint64_t end) const {
    const std::uint64_t blocks = end > first ? (end - first + warp_lanes - 1) / warp_lanes : 0;
    return blocks < Blocks ? static_cast<unsigned>(blocks) : Blocks;
  }
};

// Loads the cipher's input. XTS keeps the tweaks for the output.
template <class Core, Operation Which, bool IsWhole>
PAES_DEVICE void load_tile(const Job& job, const TilePlace<Core::blocks>& place,
                           Words<Core::block_bytes> (&state)[Core::blocks],
                           Words<Core::block_bytes> (&tweak)[Core::blocks]) {
  constexpr unsigned size = Core::block_bytes;
  constexpr Formula formula = formula_of(Which);
  const auto* const in = static_cast<const std::uint8_t*>(job.in) + place.first * size;
  const Counter counter = counter_of(words_of<size>(job.counter), job.counter_bits == 32);
  PAES_UNROLL
  for (unsigned i = 0; i < Core::blocks; ++i) {
    const std::uint8_t* const at = in + std::size_t{i} * warp_lanes * size;
    const std::uint64_t index = place.first + std::uint64_t{i} * warp_lanes;
    if constexpr (formula.pre == Term::counter) {
      state[i] = counter_block<size>(counter, index);
      continue;
    }
    state[i] = {};
    if (!IsWhole && i >= place.all) {
      continue;
    }
    if constexpr (formula.pre == Term::before) {
      state[i] = i == 0 ? block_before<size>(job, index) : load_words<size>(at - size);
    } else if constexpr (formula.pre == Term::in_xor_tweak) {
      tweak[i] = tweak_at(job, static_cast<std::uint32_t>(index));
      state[i] = load_words<size>(at) ^ tweak[i];
    } else {
      state[i] = load_words<size>(at);
    }
  }
}

// Stores the output. Only a tile that is not whole may end with part of a block.
template <class Core, Operation Which, bool IsWhole>
PAES_DEVICE void store_tile(const Job& job, const TilePlace<Core::blocks>& place,
                            const Words<Core::block_bytes> (&state)[Core::blocks],
                            const Words<Core::block_bytes> (&tweak)[Core::blocks]) {
  constexpr unsigned size = Core::block_bytes;
  constexpr Formula formula = formula_of(Which);
  const auto* const in = static_cast<const std::uint8_t*>(job.in) + place.first * size;
  auto* const out = static_cast<std::uint8_t*>(job.out) + place.first * size;
  Words<size> last = {};
  PAES_UNROLL
  for (unsigned i = 0; i < Core::blocks; ++i) {
    const std::size_t at = std::size_t{i} * warp_lanes * size;
    if (!IsWhole && i >= place.full) {
      last = i == place.full ? state[i] : last;
      continue;
    }
    Words<size> block = state[i];
    if constexpr (formula.post == Term::in) {
      block = block ^ load_words<size>(in + at);
    } else if constexpr (formula.post == Term::before) {
      block = block ^
              (i == 0 ? block_before<size>(job, place.first) : load_words<size>(in + at - size));
    } else if constexpr (formula.post == Term::tweak) {
      block = block ^ tweak[i];
    }
    store_words(out + at, block);
  }
  if constexpr (!IsWhole && formula.post == Term::in) {
    if (place.full != place.all) {
      const std::size_t at = std::size_t{place.full} * warp_lanes * size;
      const auto bytes = static_cast<unsigned>(job.bytes % size);
      PAES_UNROLL
      for (unsigned i = 0; i < size; ++i) {
        if (i < bytes) {
          out[at + i] = static_cast<std::uint8_t>(in[at + i] ^ last.word[i / 4] >> (8 * (i % 4)));
        }
      }
    }
  }
}

template <class Core, Operation Which>
PAES_DEVICE void run_tiles(const Core& core, const Job& job, const Thread& thread) {
  static_assert(Core::inverse == formula_of(Which).inverse);
  constexpr unsigned size = Core::block_bytes;
  constexpr unsigned tile_blocks = warp_lanes * Core::blocks;
  const std::uint64_t total = (job.bytes + size - 1) / size;
  const unsigned warps = thread.threads / warp_lanes;  // of a thread block
  PAES_KEEP_LOOP
  for (std::uint64_t tile = std::uint64_t{thread.block} * warps + thread.index / warp_lanes;;
       tile += std::uint64_t{thread.blocks} * warps) {
    const TilePlace<Core::blocks> place(job, size, tile * tile_blocks + thread.lane());
    if (place.first >= total) {
      return;
    }
    Words<size> state[Core::blocks];
    Words<size> tweak[Core::blocks];
    const bool is_whole = place.full == Core::blocks;
    if (is_whole) {
      load_tile<Core, Which, true>(job, place, state, tweak);
    } else {
      load_tile<Core, Which, false>(job, place, state, tweak);
    }
    core.crypt(state);
    if (is_whole) {
      store_tile<Core, Which, true>(job, place, state, tweak);
    } else {
      store_tile<Core, Which, false>(job, place, state, tweak);
    }
  }
}

// The blocks of a thread in a tile whose first block may lie before the text.
template <class Core>
PAES_DEVICE void store_counter_tile(const Job& job, std::uint64_t first,
                                    const Words<16> (&state)[Core::blocks]) {
  const auto* const in = static_cast<const std::uint8_t*>(job.in);
  auto* const out = static_cast<std::uint8_t*>(job.out);
  const std::uint64_t full = job.bytes / 16;
  Words<16> last = {};
  bool has_last = false;
  PAES_UNROLL
  for (unsigned i = 0; i < Core::blocks; ++i) {
    // Before the text, this wraps to a number above all blocks.
    const std::uint64_t index = first + std::uint64_t{i} * warp_lanes;
    if (index < full) {
      store_words(out + index * 16, state[i] ^ load_words<16>(in + index * 16));
    } else if (index == full) {
      last = state[i];
      has_last = true;
    }
  }
  if (const auto rest = static_cast<unsigned>(job.bytes % 16); has_last && rest != 0) {
    store_partial(out + full * 16, last ^ load_partial<16>(in + full * 16, rest), rest);
  }
}

// Counter mode of a Core for which counters that differ only in their last byte cost less. A tile
// has all 256 of them, so its first one may lie before the text. One lane makes what a tile's
// counters share, for 32 tiles at once.
template <class Core>
PAES_DEVICE void run_counter_tiles(const Core& core, const Job& job, const Thread& thread) {
  constexpr unsigned tile_blocks = 256;
  static_assert(Core::block_bytes == 16 && warp_lanes * Core::blocks == tile_blocks);
  Counter counter = counter_of(words_of<16>(job.counter), job.counter_bits == 32);
  const std::uint64_t before = counter.low % tile_blocks;
  counter.low -= before;
  const std::uint64_t tiles = (before + (job.bytes + 15) / 16 + tile_blocks - 1) / tile_blocks;
  const unsigned warps = thread.threads / warp_lanes;  // of a thread block
  const std::uint64_t stride = std::uint64_t{thread.blocks} * warps;
  const unsigned lane = thread.lane();
  const auto own = core.start_lane(lane);
  PAES_KEEP_LOOP
  for (std::uint64_t group =
           std::uint64_t{thread.block} * warps + uniform(thread.index / warp_lanes);
       group < tiles; group += stride * warp_lanes) {
    const auto start_of = [&](unsigned of_lane) {
      return core.start_tile(counter_block<16>(counter, (group + stride * of_lane) * tile_blocks));
    };
    const OfLanes starts(lane, start_of);
    std::uint64_t tile = group;
    PAES_KEEP_LOOP
    for (unsigned i = 0; i < warp_lanes && tile < tiles; ++i, tile += stride) {
      Words<16> state[Core::blocks];
      core.crypt_counters(starts.of(i), own, state);
      const std::uint64_t first = tile * tile_blocks - before + lane;
      const std::uint64_t last = first + std::uint64_t{warp_lanes} * (Core::blocks - 1);
      if (tile * tile_blocks >= before && last < job.bytes / 16) {
        const auto* const in = static_cast<const std::uint8_t*>(job.in) + first * 16;
        auto* const out = static_cast<std::uint8_t*>(job.out) + first * 16;
        PAES_UNROLL
        for (unsigned n = 0; n < Core::blocks; ++n) {
          const std::size_t at = std::size_t{n} * warp_lanes * 16;
          store_words(out + at, state[n] ^ load_words<16>(in + at));
        }
      } else {
        store_counter_tile<Core>(job, first, state);
      }
    }
  }
}

// One thread's work, in the way its Core takes it.
template <class Core, Operation Which>
PAES_DEVICE void run_core(const Core& core, const Job& job, const Thread& thread) {
  if constexpr (Which == Operation::ctr && requires { typename Core::SharesTiles; }) {
    run_counter_tiles(core, job, thread);
  } else if constexpr (requires { typename Core::TakesTiles; }) {
    run_tiles<Core, Which>(core, job, thread);
  } else {
    run_thread<Core, Which>(core, job, thread);
  }
}

}  // namespace
}  // namespace paes::cuda
