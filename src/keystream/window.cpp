// SPDX-License-Identifier: Apache-2.0
#include "keystream/window.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "core/secret.hpp"

namespace paes::keystream {

namespace {

// How much fetch_next() fetches: the nearest cache must also hold text and output.
constexpr std::size_t most_fetched_bytes = 8192;
// The most chunks that a search skips. Two are enough, because none is skipped if a call of idle()
// completes less than half of a chunk (idle_time.cpp).
constexpr std::int64_t most_skipped = 2;
// How many chunks a client may be behind the one that has overtaken it. An eighth of the window, at
// most this many entries, is kept for that.
constexpr std::uint32_t most_behind = 8;

}  // namespace

Window::Window(const WindowShape& shape, std::size_t chunk_bytes, std::shared_ptr<Budget> budget)
    : chunk_bytes_(chunk_bytes),
      slot_bytes_(Slots::slot_bytes(chunk_bytes)),
      budget_(std::move(budget)),
      stride_(shape.stride),
      stride_size_(shape.stride < 0 ? -static_cast<std::uint64_t>(shape.stride)
                                    : static_cast<std::uint64_t>(shape.stride)),
      last_chunk_(shape.last_chunk),
      ring_entries_(shape.chunks == 0 ? 0 : std::bit_ceil(shape.chunks)),
      full_depth_(ring_entries_ - std::min(ring_entries_ / 8, most_behind)),
      next_(shape.first_chunk),
      depth_(full_depth_),
      search_from_(shape.first_chunk) {}

Window::TakenEntry Window::take(std::uint64_t chunk) noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return {};
  }
  Entry& entry = entry_of(ring, chunk);
  std::uint64_t word = entry.word.load(std::memory_order_acquire);
  while (true) {
    const EntryState state = Entry::state_of(word);
    const bool is_here = Entry::chunk_of(word) == chunk;
    if (is_here && (state == EntryState::ready || state == EntryState::begun)) {
      if (entry.change(word, chunk, EntryState::taken)) {
        return {.entry = &entry};
      }
    } else if (is_here && state == EntryState::filling) {
      if (entry.change(word, chunk, EntryState::abandoned)) {
        return {.was_computed = true};
      }
    } else if (!is_here && state == EntryState::empty && depth() != 0) {
      // Once an empty entry has the chunk's number, nobody computes the chunk.
      if (entry.change(word, chunk, EntryState::empty)) {
        return {};
      }
    } else {
      return {};
    }
  }
}

void Window::give_back(Entry& entry, std::uint64_t chunk) const noexcept {
  entry.publish(chunk,
                entry.fresh_from < entry.fresh_end ? state_of_filled(entry) : EntryState::empty);
}

void Window::discard(Entry& entry, std::uint64_t chunk) const noexcept {
  wipe(entry.slot, slot_bytes_);
  entry.publish(chunk, EntryState::empty);
}

std::optional<std::int64_t> Window::steps_between(std::uint64_t from,
                                                  std::uint64_t to) const noexcept {
  if (stride_size_ == 1) {
    return static_cast<std::int64_t>(stride_ == 1 ? to - from : from - to);
  }
  const auto difference = static_cast<std::int64_t>(to - from);
  return difference % stride_ == 0 ? std::optional(difference / stride_) : std::nullopt;
}

void Window::slide(std::uint64_t used_chunk) noexcept {
  const std::uint64_t after = chunk_at(used_chunk, 1);
  const bool follows = chunk_at(last_used_chunk_, 1) == used_chunk;
  last_used_chunk_ = used_chunk;
  if (depth() == 0) {
    next_.store(after, std::memory_order_release);
    return;
  }
  const auto steps = steps_between(next_.load(std::memory_order_relaxed), used_chunk);
  const bool is_near = steps >= 0 && steps < full_depth_;
  const bool is_behind = steps >= -std::int64_t{most_behind} && steps < 0;
  if (is_near || (!is_behind && follows)) {
    next_.store(after, std::memory_order_release);
  }
  if (follows && is_named_.load(std::memory_order_relaxed)) {
    is_named_.store(false, std::memory_order_relaxed);
  }
}

void Window::move_to(std::uint64_t chunk) noexcept {
  next_.store(chunk, std::memory_order_release);
  is_named_.store(true, std::memory_order_relaxed);
}

bool Window::is_filled() const noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return false;
  }
  // Chunks are filled in order, so one of them tells for all.
  const std::uint32_t last_looked_at = depth() - depth() / 4 - 1;
  const std::uint64_t chunk = chunk_at(next_.load(std::memory_order_relaxed), last_looked_at);
  return entry_of(ring, chunk).word.load(std::memory_order_relaxed) ==
         Entry::word_of(chunk, EntryState::ready);
}

std::int64_t Window::steps_in_window(std::uint64_t next, std::uint64_t chunk) const noexcept {
  const auto steps = steps_between(next, chunk);
  return steps >= 0 && steps <= depth() ? *steps : 0;
}

// The search continues at search_from_, because all chunks before it are filled or being filled.
// Only the first few may be begun or skipped, so they are searched first.
Fill Window::next_fill(const Share& share) noexcept {
  if (ring_.load(std::memory_order_acquire) == nullptr) {
    return {};
  }
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  const std::int64_t end = depth();
  const std::int64_t few = std::min(most_skipped, end);
  // A chunk that the client itself has named is not skipped: the client may wait for several calls.
  const std::int64_t first_step =
      is_named_.load(std::memory_order_relaxed) ? 0 : std::min(share.first_step, few);
  std::int64_t step = 0;
  Fill fill = search(next, step, few, first_step);
  if (fill.entry == nullptr && step == few) {  // otherwise the context has no chunks beyond
    std::uint64_t place = search_from_.load(std::memory_order_relaxed);
    step = std::max(steps_in_window(next, place), few);
    fill = search(next, step, end, 0);
    // Unless another thread has set the place back meanwhile.
    (void)search_from_.compare_exchange_strong(place, chunk_at(next, step),
                                               std::memory_order_relaxed);
  }
  if (fill.entry == nullptr && first_step != 0) {  // better too late than not at all
    step = 0;
    fill = search(next, step, first_step, 0);
  }
  return fill;
}

// Searches the chunks from `step` to `end`. Before `first_step` it takes only those that are begun.
// Sets `step` to the place of the chunk that it found, or to where it ended.
Fill Window::search(std::uint64_t next, std::int64_t& step, std::int64_t end,
                    std::int64_t first_step) const noexcept {
  Entry* const ring = ring_.load(std::memory_order_relaxed);
  for (; step < end; ++step) {
    const std::uint64_t chunk = chunk_at(next, step);
    if (chunk > last_chunk_) {
      break;
    }
    Entry& entry = entry_of(ring, chunk);
    if (hold_for(entry, chunk, step < first_step)) {
      return {&entry, chunk};
    }
  }
  return {};
}

// Holds the entry for this chunk, if nobody holds it and the chunk is neither ready nor used.
bool Window::hold_for(Entry& entry, std::uint64_t chunk, bool must_be_begun) const noexcept {
  std::uint64_t word = entry.word.load(std::memory_order_acquire);
  while (true) {
    const EntryState state = Entry::state_of(word);
    const bool is_here = Entry::chunk_of(word) == chunk;
    // Keystream of another chunk, which the client has not used.
    const bool is_passed_over =
        !is_here && (state == EntryState::ready || state == EntryState::begun);
    const bool is_free = is_here ? state == EntryState::begun
                                 : !must_be_begun && (state == EntryState::empty || is_passed_over);
    if (!is_free) {
      return false;
    }
    if (is_passed_over) {
      if (entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
        wipe(entry.slot, slot_bytes_);
        entry.fresh_from = entry.fresh_end = 0;
        entry.publish(chunk, EntryState::filling);
        return true;
      }
    } else if (entry.change(word, chunk, EntryState::filling)) {
      if (!is_here) {
        entry.fresh_from = entry.fresh_end = 0;
      }
      return true;
    }
  }
}

void Window::publish(const Fill& fill, std::size_t bytes) noexcept {
  Entry& entry = *fill.entry;
  entry.fresh_end += static_cast<std::uint32_t>(bytes);
  entry.maker = this_thread();
  const EntryState state = state_of_filled(entry);
  if (state == EntryState::ready) {
    filled_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t word = Entry::word_of(fill.chunk, EntryState::filling);
  if (!entry.change(word, fill.chunk, state)) {  // abandoned
    wipe(entry.slot, slot_bytes_);
    entry.publish(fill.chunk, EntryState::empty);
  } else if (state == EntryState::begun) {
    search_again_from(fill.chunk);
  }
}

void Window::give_up(const Fill& fill) noexcept {
  fill.entry->publish(Entry::no_chunk, EntryState::empty);
  search_again_from(fill.chunk);
}

// Sets the search back to this chunk if it is already past it.
void Window::search_again_from(std::uint64_t chunk) noexcept {
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  const auto steps = steps_between(next, chunk);  // negative or none: no client will want it
  std::uint64_t place = search_from_.load(std::memory_order_relaxed);
  while (steps >= 0 && steps < steps_in_window(next, place) &&
         !search_from_.compare_exchange_weak(place, chunk, std::memory_order_relaxed)) {
  }
}

void Window::fetch_next() noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return;
  }
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  Entry& entry = entry_of(ring, next);
  std::uint64_t word = Entry::word_of(next, EntryState::ready);
  // Held meanwhile, because only its holder may know where the keystream is.
  if (entry.change(word, next, EntryState::taken)) {
    for (std::size_t at = entry.fresh_from; at < slot_bytes_ && at < most_fetched_bytes;
         at += Slots::line_bytes) {
      __builtin_prefetch(entry.slot + at, 1);
    }
    entry.publish(next, EntryState::ready);
  }
}

std::uint32_t Window::missing() const noexcept {
  const std::int64_t steps = steps_in_window(next_.load(std::memory_order_relaxed),
                                             search_from_.load(std::memory_order_relaxed));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(depth() - steps, 0));
}

bool Window::allocate_ring() noexcept {
  if (entries_ != nullptr || ring_entries_ == 0) {
    return entries_ != nullptr;
  }
  Reservation memory(budget_, ring_entries_ * sizeof(Entry));
  if (!memory.is_granted()) {
    return false;
  }
  entries_.reset(new (std::nothrow) Entry[ring_entries_]);
  if (entries_ == nullptr) {
    return false;
  }
  ring_memory_ = std::move(memory);
  ring_.store(entries_.get(), std::memory_order_release);
  return true;
}

Window::EvictionCounts Window::evict(Slots& slots) noexcept {
  EvictionCounts evicted;
  for (std::uint32_t i = 0; entries_ != nullptr && i < ring_entries_; ++i) {
    Entry& entry = entries_[i];
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    const EntryState state = Entry::state_of(word);
    const bool has_keystream = state == EntryState::ready || state == EntryState::begun;
    if (entry.slot == nullptr || (!has_keystream && state != EntryState::empty) ||
        !entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
      continue;
    }
    evicted.ready_chunks += state == EntryState::ready ? 1 : 0;
    ++evicted.slots;
    wipe(entry.slot, slot_bytes_);
    slots.give_back({entry.slot, entry.slab});
    entry.slot = nullptr;
    entry.publish(has_keystream ? Entry::no_chunk : Entry::chunk_of(word), EntryState::empty);
  }
  search_from_.store(next_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return evicted;
}

}  // namespace paes::keystream
