// SPDX-License-Identifier: Apache-2.0
// The formulas of cipher/mode/mode.hpp for one thread of a grid. A kernel's file has a `Core`,
// which transforms the blocks of one thread in one direction:
//
//   struct Core {
//     static constexpr unsigned block_bytes;  // 16 or 8
//     static constexpr unsigned blocks;       // that one call transforms: 1, or it takes tiles
//                                             // (sliced_loop.hpp)
//     static constexpr bool inverse;          // it decrypts
//     using Keys = ...;                       // what the kernel is launched with: addresses
//     static constexpr unsigned threads;      // of a thread block, unless the shape says another
//     static constexpr unsigned shared_bytes; // of shared memory
//     // What the threads of a thread block do together before any of them goes on.
//     PAES_DEVICE static void fill(std::uint8_t* shared, const Keys&, const Thread&);
//     using FillsNoKeys = void;  // says that `fill` does the same for all keys; optional
//     PAES_DEVICE Core(std::uint8_t* shared, const Keys&, const Thread&);
//     PAES_DEVICE void crypt(Words<block_bytes> (&state)[blocks]) const;
//   };
//
// If blocks whose counters differ in one byte can share work, it also has SharesCounters,
// CounterStart, start_counter and crypt_counter; see cuda_tables.cu.
//
// The blocks of a message lie in rows, with one block per thread, so that the accesses of a warp
// are contiguous. Each thread block takes a contiguous share of the rows.
#pragma once

#include "cuda/device_code.hpp"
#include "cuda/job.hpp"
#include "cuda/tweaks.hpp"

namespace paes::cuda {
namespace {  // NOLINT

// Where a thread is in its grid.
struct Thread {
  unsigned block;
  unsigned blocks;
  unsigned index;  // in its thread block
  unsigned threads;

  PAES_DEVICE unsigned lane() const { return index % warp_lanes; }
};

struct RowShare {
  std::uint64_t first;
  std::uint64_t end;
};

// This thread block's share of all rows.
PAES_DEVICE RowShare share_of(std::uint64_t rows, const Thread& thread) {
  return {rows * thread.block / thread.blocks, rows * (thread.block + 1) / thread.blocks};
}

// A counter in registers, which can be advanced by any number of blocks.
struct Counter {
  std::uint64_t high;  // unused by 3DES
  std::uint64_t low;
  bool is_short;  // only 32 bits count

  PAES_DEVICE std::uint32_t last_word(std::uint64_t steps) const {
    return static_cast<std::uint32_t>(low) + static_cast<std::uint32_t>(steps);
  }
};

template <unsigned Bytes>
PAES_DEVICE Counter counter_of(const Words<Bytes>& words, bool is_short) {
  const auto pair = [&](unsigned i) {
    return (std::uint64_t{swap_bytes(words.word[i])} << 32) | swap_bytes(words.word[i + 1]);
  };
  return {Bytes == 16 ? pair(0) : 0, pair(Bytes / 4 - 2), is_short};
}

template <unsigned Bytes>
PAES_DEVICE Words<Bytes> counter_block(const Counter& counter, std::uint64_t steps) {
  std::uint64_t low = counter.low + steps;
  std::uint64_t high = counter.high + (low < steps ? 1 : 0);
  if (counter.is_short) {
    low = (counter.low & 0xffffffff00000000) | counter.last_word(steps);
    high = counter.high;
  }
  const auto first = static_cast<std::uint32_t>(low >> 32);
  const auto last = static_cast<std::uint32_t>(low);
  if constexpr (Bytes == 16) {
    return {{swap_bytes(static_cast<std::uint32_t>(high >> 32)),
             swap_bytes(static_cast<std::uint32_t>(high)), swap_bytes(first), swap_bytes(last)}};
  } else {
    return {{swap_bytes(first), swap_bytes(last)}};
  }
}

// Where a block is and how many bytes it has. In a message of any length, the last block may be
// partial, and those after it have none.
template <unsigned Bytes>
struct TextPlace {
  const std::uint8_t* in;
  std::uint8_t* out;
  unsigned bytes;

  PAES_DEVICE Words<Bytes> load() const {
    return bytes == Bytes ? load_words<Bytes>(in) : load_partial<Bytes>(in, bytes);
  }
  PAES_DEVICE void store(const Words<Bytes>& words) const {
    if (bytes == Bytes) {
      store_words(out, words);
    } else {
      store_partial(out, words, bytes);
    }
  }
};

// The ciphertext block before block `index`.
template <unsigned Bytes>
PAES_DEVICE Words<Bytes> block_before(const Job& job, std::uint64_t index) {
  return index == 0
             ? words_of<Bytes>(job.before)
             : load_words<Bytes>(static_cast<const std::uint8_t*>(job.in) + (index - 1) * Bytes);
}

template <class Core, Operation Which>
PAES_DEVICE Words<Core::block_bytes> before_cipher(const Job& job, const Counter& counter,
                                                   std::uint64_t index,
                                                   const TextPlace<Core::block_bytes>& place) {
  constexpr Formula formula = formula_of(Which);
  if constexpr (formula.pre == Term::in) {
    return place.load();
  } else if constexpr (formula.pre == Term::in_xor_tweak) {
    return place.load() ^ tweak_at(job, static_cast<std::uint32_t>(index));
  } else if constexpr (formula.pre == Term::before) {
    return block_before<Core::block_bytes>(job, index);
  } else {
    static_assert(formula.pre == Term::counter);
    return counter_block<Core::block_bytes>(counter, index);
  }
}

template <class Core, Operation Which>
PAES_DEVICE Words<Core::block_bytes> after_cipher(const Job& job, std::uint64_t index,
                                                  const TextPlace<Core::block_bytes>& place,
                                                  const Words<Core::block_bytes>& state) {
  constexpr Formula formula = formula_of(Which);
  if constexpr (formula.post == Term::nothing) {
    return state;
  } else if constexpr (formula.post == Term::in) {
    return state ^ place.load();
  } else if constexpr (formula.post == Term::tweak) {
    return state ^ tweak_at(job, static_cast<std::uint32_t>(index));
  } else {
    static_assert(formula.post == Term::before);
    return state ^ block_before<Core::block_bytes>(job, index);
  }
}

// The blocks of a thread that transforms one at a time: `whole` of them, a row apart, and perhaps
// one of `rest` bytes at the end of a message of any length. They are counted in advance, because
// the loops below have few instructions to spare.
struct ThreadWalk {
  std::uint64_t index;  // of the block
  std::uint32_t whole;
  unsigned rest;

  PAES_DEVICE std::uint32_t steps() const { return whole + (rest != 0 ? 1 : 0); }

  template <unsigned Bytes>
  PAES_DEVICE static ThreadWalk of(std::uint64_t bytes, const Thread& thread) {
    const std::uint64_t blocks = bytes / Bytes;
    const RowShare rows =
        share_of(((bytes + Bytes - 1) / Bytes + thread.threads - 1) / thread.threads, thread);
    const std::uint64_t mine =
        blocks <= thread.index ? 0 : (blocks - thread.index + thread.threads - 1) / thread.threads;
    const std::uint64_t end = mine < rows.end ? mine : rows.end;
    ThreadWalk walk = {rows.first * thread.threads + thread.index,
                       end > rows.first ? static_cast<std::uint32_t>(end - rows.first) : 0, 0};
    const bool is_last = walk.index + std::uint64_t{walk.whole} * thread.threads == blocks &&
                         rows.first + walk.whole < rows.end;
    walk.rest = is_last ? static_cast<unsigned>(bytes % Bytes) : 0;
    return walk;
  }
};

// Counter mode, for counters that differ only in byte 14 and so share most of two rounds. If a
// thread block has a multiple of 256 threads, a thread's successive counters do, until that byte
// wraps.
template <class Core>
PAES_DEVICE void run_shared_counters(const Core& core, const Job& job, const Thread& thread) {
  using Start = typename Core::template CounterStart<14>;
  const Counter counter = counter_of(words_of<16>(job.counter), job.counter_bits == 32);
  ThreadWalk walk = ThreadWalk::of<16>(job.bytes, thread);
  Start start = {};
  std::uint32_t last = counter.last_word(walk.index);
  std::uint32_t started = ~last;
  std::uint64_t at = walk.index * 16;
  PAES_KEEP_LOOP
  for (std::uint32_t step = 0; step < walk.steps();
       ++step, last += thread.threads, at += std::uint64_t{thread.threads} * 16) {
    const unsigned bytes = step < walk.whole ? 16 : walk.rest;
    if (((last ^ started) & ~Start::varying_bits) != 0) {
      const std::uint64_t index = walk.index + std::uint64_t{step} * thread.threads;
      start = core.template start_counter<14>(counter_block<16>(counter, index));
      started = last;
    }
    const TextPlace<16> place = {static_cast<const std::uint8_t*>(job.in) + at,
                                 static_cast<std::uint8_t*>(job.out) + at, bytes};
    const Words<16> in = place.load();
    place.store(core.template crypt_counter<14>(start, swap_bytes(last)) ^ in);
  }
}

template <class Core, Operation Which>
PAES_DEVICE void run_single_blocks(const Core& core, const Job& job, const Thread& thread) {
  constexpr unsigned size = Core::block_bytes;
  const Counter counter = counter_of(words_of<size>(job.counter), job.counter_bits == 32);
  ThreadWalk walk = ThreadWalk::of<size>(job.bytes, thread);
  PAES_KEEP_LOOP
  for (std::uint32_t step = 0; step < walk.steps(); ++step, walk.index += thread.threads) {
    const unsigned bytes = step < walk.whole ? size : walk.rest;
    const TextPlace<size> place = {static_cast<const std::uint8_t*>(job.in) + walk.index * size,
                                   static_cast<std::uint8_t*>(job.out) + walk.index * size, bytes};
    Words<size> state[1] = {before_cipher<Core, Which>(job, counter, walk.index, place)};
    core.crypt(state);
    place.store(after_cipher<Core, Which>(job, walk.index, place, state[0]));
  }
}

template <class Core, Operation Which>
PAES_DEVICE void run_thread(const Core& core, const Job& job, const Thread& thread) {
  static_assert(Core::blocks == 1 && Core::inverse == formula_of(Which).inverse);
  if constexpr (Which == Operation::ctr && requires { typename Core::SharesCounters; }) {
    run_shared_counters(core, job, thread);
  } else {
    run_single_blocks<Core, Which>(core, job, thread);
  }
}

// A part's tweaks. Each thread encrypts the number of a data unit, goes to its place in the unit,
// and continues in steps of 32 blocks.
template <class Core>
PAES_DEVICE void run_tweaks(const Core& core, const TweakJob& job, const Thread& thread) {
  const std::uint32_t unit =
      job.unit_blocks == 0 || job.unit_blocks > job.blocks ? job.blocks : job.unit_blocks;
  if (unit == 0) {
    return;
  }
  const std::uint32_t steps = (unit + tweak_step - 1) / tweak_step;  // of a unit
  const std::uint32_t runs = (steps + tweak_run - 1) / tweak_run;
  const std::uint64_t all_runs = std::uint64_t{(job.blocks + unit - 1) / unit} * runs;
  const std::uint64_t stride = std::uint64_t{thread.blocks} * thread.threads;
  PAES_KEEP_LOOP
  for (std::uint64_t at = std::uint64_t{thread.block} * thread.threads + thread.index;
       at < all_runs; at += stride) {
    const auto number = static_cast<std::uint32_t>(at / runs);
    const auto run = static_cast<std::uint32_t>(at % runs);
    Words<16> state[Core::blocks] = {};
    state[0] = load_words<16>(job.first);
    if (!job.is_tweak) {
      state[0] = add_to_unit_number(state[0], number);
      core.crypt(state);
    }
    Words<16> tweak = times_power_of_x(state[0], run * tweak_run * tweak_step);
    Block* const out = job.out + std::uint64_t{number} * steps;
    const std::uint32_t end = (run + 1) * tweak_run < steps ? (run + 1) * tweak_run : steps;
    for (std::uint32_t step = run * tweak_run; step < end; ++step) {
      store_words(out + step, tweak);
      tweak = times_x32(tweak);
    }
  }
}

}  // namespace
}  // namespace paes::cuda
