// A place in a context's window: the keystream of one chunk, and who may touch it. Clients, workers
// and eviction agree through one word, so that no client ever waits for a worker that the system
// has set aside.
#pragma once

#include <atomic>
#include <cstdint>

namespace paes::keystream {

struct Slab;

enum class EntryState : std::uint64_t {
  empty,      // no keystream; the slot, if there is one, is zero. The chunk, if any, has been used.
  filling,    // a worker, or idle(), computes the chunk's keystream
  abandoned,  // the same, but the chunk has been used meanwhile: whoever computes wipes
  begun,      // the chunk's keystream from `fresh_from` to `fresh_end`; zeros from there on
  ready,      // the chunk's keystream, from `fresh_from` on
  taken,      // a client uses it
  evicting,   // being wiped, for its memory or for another chunk
};

// Word = chunk and state. The holder of filling, taken and evicting alone touches the other
// members.
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

  // Acquires what the last holder wrote.
  [[nodiscard]] bool change(std::uint64_t& seen, std::uint64_t chunk, EntryState state) noexcept {
    return word.compare_exchange_strong(seen, word_of(chunk, state), std::memory_order_acq_rel,
                                        std::memory_order_acquire);
  }
  // By its holder.
  void publish(std::uint64_t chunk, EntryState state) noexcept {
    word.store(word_of(chunk, state), std::memory_order_release);
  }

  std::atomic<std::uint64_t> word{word_of(no_chunk, EntryState::empty)};
  std::uint8_t* slot = nullptr;
  Slab* slab = nullptr;         // that the slot belongs to
  const void* maker = nullptr;  // the thread that has computed it, or the last of it
  std::uint32_t fresh_from = 0;
  std::uint32_t fresh_end = 0;
};

// This thread, among those that live, and whether it has used a context itself.
inline thread_local bool is_client_thread = false;
[[nodiscard]] inline const void* this_thread() noexcept { return &is_client_thread; }

}  // namespace paes::keystream
