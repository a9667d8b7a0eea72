// SPDX-License-Identifier: Apache-2.0
// A place in a context's window: the keystream of one chunk, and who may touch it. All threads
// coordinate on an entry through one atomic word, so that no client ever waits for a worker that
// the system has set aside.
//
//   empty ----> filling ----> begun <---> filling ----> ready     whoever computes
//                  |            |                         |
//                  v            +---------> taken <-------+       a client
//              abandoned                      |
//                  |                          v
//                  +-----------------> empty, or what is left
//
//   empty, begun, ready ----> evicting ----> empty                whoever takes the memory
//          begun, ready ----> evicting ----> filling              whoever computes another chunk
#pragma once

#include <atomic>
#include <cstdint>

namespace paes::keystream {

struct Slab;

enum class EntryState : std::uint64_t {
  empty,      // no keystream; the slot, if there is one, is zero. The chunk, if any, has been used.
  filling,    // a worker or idle() computes the chunk's keystream
  abandoned,  // being computed, but the chunk has been used meanwhile: whoever computes it wipes it
  begun,      // the chunk's keystream from `fresh_from` to `fresh_end`, and zeros after that
  ready,      // the chunk's keystream from `fresh_from` to its end
  taken,      // a client uses it
  evicting,   // being wiped, for its memory or for another chunk
};

// The word combines chunk and state. Only the holder, who has set the state to filling, taken or
// evicting, touches the other members.
struct alignas(64) Entry {
  static constexpr unsigned state_bits = 3;
  static constexpr std::uint64_t no_chunk = ~std::uint64_t{0} >> state_bits;

  [[nodiscard]] static constexpr std::uint64_t word_of(std::uint64_t chunk,
                                                       EntryState state) noexcept {
    return chunk << state_bits | static_cast<std::uint64_t>(state);
  }
  [[nodiscard]] static constexpr std::uint64_t chunk_of(std::uint64_t word) noexcept {
    return word >> state_bits;
  }
  [[nodiscard]] static constexpr EntryState state_of(std::uint64_t word) noexcept {
    return static_cast<EntryState>(word & ((1U << state_bits) - 1));
  }

  // Changes the word if it still equals `seen`; otherwise sets `seen` to the present word. Acquires
  // what the last holder wrote.
  [[nodiscard]] bool change(std::uint64_t& seen, std::uint64_t chunk, EntryState state) noexcept {
    return word.compare_exchange_strong(seen, word_of(chunk, state), std::memory_order_acq_rel,
                                        std::memory_order_acquire);
  }
  // The holder gives the entry back in this state.
  void publish(std::uint64_t chunk, EntryState state) noexcept {
    word.store(word_of(chunk, state), std::memory_order_release);
  }

  std::atomic<std::uint64_t> word{word_of(no_chunk, EntryState::empty)};
  std::uint8_t* slot = nullptr;
  Slab* slab = nullptr;         // that the slot belongs to
  const void* maker = nullptr;  // the thread that computed the chunk, or the last part of it
  // Where in the slot the keystream lies that is computed and not yet used.
  std::uint32_t fresh_from = 0;
  std::uint32_t fresh_end = 0;
};

// Its address identifies this thread among all that live.
inline thread_local char thread_mark = 0;
[[nodiscard]] inline const void* this_thread() noexcept { return &thread_mark; }

}  // namespace paes::keystream
