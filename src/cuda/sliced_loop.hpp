// The formulas of mode/mode.hpp for Cores that transform many of a thread's blocks at once, and say
// so with a member TakesTiles. A warp takes a tile, in which block i of lane l is block 32 i + l.
// So each access of a warp is contiguous, and a thread's blocks lie at constant distances.
#pragma once

#include "cuda/mode_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device_code.hpp

// What `fill` does in such a Core: it copies a multiple of 16 bytes from device memory.
PAES_DEVICE void copy_to_shared(std::uint8_t* shared, const void* from, unsigned bytes,
                                const Thread& thread) {
  for (unsigned at = 16 * thread.index; at < bytes; at += 16 * thread.threads) {
    store_words(shared + at, load_words<16>(static_cast<const std::uint8_t*>(from) + at));
  }
}

// A thread's blocks in a tile.
template <unsigned Blocks>
struct TilePlace {
  std::uint64_t first;  // the thread's first block
  unsigned full;        // how many of its blocks the text fills
  unsigned all;         // the same, plus one if the text ends inside one of them

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

// One thread's work, in whichever way its Core takes it.
template <class Core, Operation Which>
PAES_DEVICE void run_core(const Core& core, const Job& job, const Thread& thread) {
  if constexpr (requires { typename Core::TakesTiles; }) {
    run_tiles<Core, Which>(core, job, thread);
  } else {
    run_thread<Core, Which>(core, job, thread);
  }
}

}  // namespace
}  // namespace paes::cuda
