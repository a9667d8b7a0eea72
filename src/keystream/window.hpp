// SPDX-License-Identifier: Apache-2.0
// A context's window: the next chunks that its client will want, in a ring of entries, and where
// the client is among them. Clients take chunks out of it while other threads fill it.
//
// Nothing here waits. Entries are handed over by their atomic words (entry.hpp), and what clients
// say about their place is atomic, too. So a worker that the system sets aside in the middle of
// this code delays nobody. Three groups of calls belong to three kinds of callers:
//   - a client, under its context's mutex: one at a time;
//   - whoever fills, and holds the candidate (candidate.hpp): any number, without a mutex;
//   - the precomputer, under its mutex: memory for the ring and for its slots.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "keystream/budget.hpp"
#include "keystream/entry.hpp"
#include "keystream/slots.hpp"

namespace paes::keystream {

// Where a window lies, in the units of ContextOptions.
struct WindowShape {
  unsigned chunks;
  std::uint64_t first_chunk;
  std::int64_t stride;
  std::uint64_t last_chunk;  // the context's last
};

// A chunk to compute, or to compute further. Its entry is held as `filling`.
struct Fill {
  Entry* entry = nullptr;  // null: the window is full
  std::uint64_t chunk = 0;
};

// How much to compute at once, where time may not suffice for a whole chunk (idle_time.hpp).
struct Share {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  // Chunks that nobody has begun are skipped if they are fewer steps ahead than this: the client
  // will want them too soon.
  std::int64_t first_step = 0;
};

class Window {
 public:
  Window(const WindowShape& shape, std::size_t chunk_bytes, std::shared_ptr<Budget> budget);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  // How many chunks to compute ahead; 0 while precomputing does not pay.
  [[nodiscard]] std::uint32_t depth() const noexcept {
    return depth_.load(std::memory_order_relaxed);
  }
  // How many chunks have been completed.
  [[nodiscard]] std::uint64_t filled() const noexcept {
    return filled_.load(std::memory_order_relaxed);
  }

  // --- Clients.

  [[nodiscard]] bool has_entries() const noexcept { return ring_entries_ != 0; }
  void open(bool is_open) noexcept {
    depth_.store(is_open ? full_depth_ : 0, std::memory_order_relaxed);
  }
  struct TakenEntry {
    Entry* entry = nullptr;     // held as `taken`; null: no keystream
    bool was_computed = false;  // somebody was computing it, and wipes it now
  };
  // After this call nobody computes the chunk ahead, unless a part of it is given back. Where the
  // entry is being wiped or has another chunk, somebody may all the same: a chunk that is no longer
  // wanted is wiped when the entry is needed.
  [[nodiscard]] TakenEntry take(std::uint64_t chunk) noexcept;
  // Gives the entry back with what is left of its chunk.
  void give_back(Entry& entry, std::uint64_t chunk) const noexcept;
  // Wipes the chunk's keystream in the entry.
  void discard(Entry& entry, std::uint64_t chunk) const noexcept;
  // Slides the window so that it begins after a chunk that has been used. Random access does not
  // move it: it moves elsewhere only after two uses that are one stride apart.
  void slide(std::uint64_t used_chunk) noexcept;
  // Moves the window so that it begins at the chunk that the client will want next.
  void move_to(std::uint64_t chunk) noexcept;
  // Whether all but the last quarter is filled.
  [[nodiscard]] bool is_filled() const noexcept;

  // --- Whoever fills.

  // The next chunk to compute, or to compute further.
  [[nodiscard]] Fill next_fill(const Share& share) noexcept;
  // Call it when `bytes` more of the chunk's keystream are in the slot. The entry becomes ready or
  // begun; if the chunk has been used meanwhile, it is wiped and the entry becomes empty.
  void publish(const Fill& fill, std::size_t bytes) noexcept;
  // Releases an entry for which there is no slot.
  void give_up(const Fill& fill) noexcept;
  // Makes the nearest cache fetch the chunk that the client will want next, if it is ready.
  // Measured case (docs/log/keystream.md, "What each mechanism gains"): 3DES with
  // `bitslice_avx512`. Other cases gain when other programs fill the caches.
  void fetch_next() noexcept;
  // About how many chunks the window lacks beyond the last one asked for.
  [[nodiscard]] std::uint32_t missing() const noexcept;
  // +1 or -1 if chunks are used in order or in reverse, so that runs are single stretches; else 0.
  [[nodiscard]] std::int64_t run_step() const noexcept { return stride_size_ == 1 ? stride_ : 0; }

  // --- The precomputer.

  // Allocates the ring if there is none. False if there is no memory for it.
  [[nodiscard]] bool allocate_ring() noexcept;
  struct EvictionCounts {
    std::size_t slots = 0;
    std::size_t ready_chunks = 0;  // the ones lost
  };
  // Wipes all slots that nobody holds, and gives them back.
  EvictionCounts evict(Slots& slots) noexcept;

 private:
  [[nodiscard]] std::uint64_t chunk_at(std::uint64_t next, std::int64_t step) const noexcept {
    return next + static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(stride_);
  }
  // How many strides lie between the two chunks, if it is a whole number.
  [[nodiscard]] std::optional<std::int64_t> steps_between(std::uint64_t from,
                                                          std::uint64_t to) const noexcept;
  // The steps from the window's first chunk to this one; 0 if it is not in the window.
  [[nodiscard]] std::int64_t steps_in_window(std::uint64_t next,
                                             std::uint64_t chunk) const noexcept;
  [[nodiscard]] Fill search(std::uint64_t next, std::int64_t& step, std::int64_t end,
                            std::int64_t first_step) const noexcept;
  [[nodiscard]] bool hold_for(Entry& entry, std::uint64_t chunk, bool must_be_begun) const noexcept;
  void search_again_from(std::uint64_t chunk) noexcept;
  [[nodiscard]] EntryState state_of_filled(const Entry& entry) const noexcept {
    return entry.fresh_end == chunk_bytes_ ? EntryState::ready : EntryState::begun;
  }
  [[nodiscard]] Entry& entry_of(Entry* ring, std::uint64_t chunk) const noexcept {
    return ring[(stride_size_ == 1 ? chunk : chunk / stride_size_) & (ring_entries_ - 1)];
  }

  const std::size_t chunk_bytes_;
  const std::size_t slot_bytes_;
  const std::shared_ptr<Budget> budget_;
  const std::int64_t stride_;
  const std::uint64_t stride_size_;  // absolute value
  const std::uint64_t last_chunk_;
  const std::uint32_t ring_entries_;
  const std::uint32_t full_depth_;

  // Clients write these. Whoever fills reads only the atomic ones.
  std::uint64_t last_used_chunk_ = Entry::no_chunk;
  std::atomic<std::uint64_t> next_;  // the next chunk expected
  // the client itself named next_ (move_to); it does not follow from a use
  std::atomic<bool> is_named_{true};
  std::atomic<std::uint32_t> depth_;

  // Whoever fills writes these.
  alignas(64) std::atomic<std::uint64_t> search_from_;  // where the search continues
  std::atomic<std::uint64_t> filled_{0};

  // The precomputer writes these.
  Reservation ring_memory_;
  std::unique_ptr<Entry[]> entries_;
  std::atomic<Entry*> ring_{nullptr};
};

}  // namespace paes::keystream
