// Computing ahead for a context: which chunk is next, and how. Threads agree through the entries
// alone; the engine's mutex is for memory. So a worker that the system sets aside holds nobody up.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/secret.hpp"
#include "keystream/context.hpp"

namespace paes::keystream {

namespace {

// Of the nearest cache, which has text and output to hold as well.
constexpr std::size_t most_fetched_bytes = 8192;
// idle() leaves out no more: calls that complete more than half of the chunks are two for a chunk.
constexpr std::int64_t most_left_out = 2;

}  // namespace

bool Context::allocate_ring() noexcept {
  if (entries_ != nullptr || ring_entries_ == 0) {
    return entries_ != nullptr;
  }
  const std::size_t bytes = ring_entries_ * sizeof(Entry);
  if (!shared_.budget->reserve(bytes)) {
    return false;
  }
  entries_.reset(new (std::nothrow) Entry[ring_entries_]);
  if (entries_ == nullptr) {
    shared_.budget->release(bytes);
    return false;
  }
  ring_.store(entries_.get(), std::memory_order_release);
  return true;
}

void Context::release_ring() noexcept {
  if (entries_ != nullptr) {
    ring_.store(nullptr, std::memory_order_relaxed);
    entries_.reset();
    shared_.budget->release(ring_entries_ * sizeof(Entry));
  }
}

bool Context::pin() noexcept {
  if ((pins_.fetch_add(1, std::memory_order_acquire) & closing) == 0) {
    return true;
  }
  unpin();
  return false;
}

// Whoever unpins looks whether the context is being closed, and has the engine finish that.
void Context::unpin() noexcept { pins_.fetch_sub(1, std::memory_order_acq_rel); }

// From the window's first chunk to this one, which a search kept; 0 where it is not in the window.
std::int64_t Context::steps_in_window(std::uint64_t next, std::uint64_t place) const noexcept {
  std::int64_t steps = 0;
  const bool is_on_course = steps_between(next, place, steps);
  const std::int64_t depth = depth_.load(std::memory_order_relaxed);
  return is_on_course && steps >= 0 && steps <= depth ? steps : 0;
}

Context::Fill Context::next_fill(const Share& share) noexcept {
  if (ring_.load(std::memory_order_acquire) == nullptr) {
    return {};
  }
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  const std::int64_t depth = depth_.load(std::memory_order_relaxed);
  const auto chunk_at = [&](std::int64_t step) {
    return next + static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(stride_);
  };
  std::uint64_t place = fill_from_.load(std::memory_order_relaxed);
  std::int64_t from = steps_in_window(next, place);
  std::int64_t gaps =
      std::min(steps_in_window(next, gaps_until_.load(std::memory_order_relaxed)), most_left_out);
  // Who has named the next chunk may wait for more than one call.
  const bool is_jump = is_jump_.load(std::memory_order_relaxed);
  const std::int64_t first = is_jump ? 0 : std::min({share.first_step, most_left_out, depth});
  if (from < first) {
    gaps = std::max(gaps, first);
    from = first;
  }
  // What lies before the place where the search goes on: there, and first of all, what is begun.
  std::int64_t step = 0;
  Fill fill = search(next, step, gaps, first);
  fill.is_gap = true;
  if (fill.entry == nullptr) {
    step = from;
    fill = search(next, step, depth, 0);
    // Unless somebody has set it back meanwhile.
    (void)fill_from_.compare_exchange_strong(
        place, chunk_at(fill.entry == nullptr ? step : step + 1), std::memory_order_relaxed);
  }
  if (fill.entry == nullptr && gaps != 0) {  // better too late than not at all
    step = 0;
    fill = search(next, step, gaps, 0);
    fill.is_gap = true;
    gaps = fill.entry == nullptr ? 0 : gaps;
  }
  if (gaps != 0) {
    gaps_until_.store(chunk_at(gaps), std::memory_order_relaxed);
  }
  return fill;
}

// Has the next search look at this chunk again, if that would begin behind it.
void Context::search_again_from(std::uint64_t chunk) noexcept {
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  std::int64_t steps = 0;
  if (!steps_between(next, chunk, steps) || steps < 0) {
    return;  // nobody will want it
  }
  std::uint64_t place = fill_from_.load(std::memory_order_relaxed);
  while (steps < steps_in_window(next, place) &&
         !fill_from_.compare_exchange_weak(place, chunk, std::memory_order_relaxed)) {
  }
}

// Among the chunks from `step` on, which becomes the place of what is found, or `end`. Of those
// before `first_step` what is begun alone.
Context::Fill Context::search(std::uint64_t next, std::int64_t& step, std::int64_t end,
                              std::int64_t first_step) const noexcept {
  Entry* const ring = ring_.load(std::memory_order_relaxed);
  for (; step < end; ++step) {
    const std::uint64_t chunk =
        next + static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(stride_);
    if (!is_within(chunk)) {
      break;
    }
    Entry& entry = entry_of(ring, chunk);
    if (hold_for(entry, chunk, step < first_step)) {
      return {&entry, chunk};
    }
  }
  return {};
}

// Makes the entry the chunk's, unless it is that already, and more than begun, or somebody is at
// it. With `is_begun` it is to be that.
bool Context::hold_for(Entry& entry, std::uint64_t chunk, bool is_begun) const noexcept {
  std::uint64_t word = entry.word.load(std::memory_order_acquire);
  while (true) {
    const EntryState state = Entry::state_of(word);
    const bool is_here = Entry::chunk_of(word) == chunk;
    const bool is_passed_over =
        !is_here && (state == EntryState::ready || state == EntryState::begun);
    const bool is_free = is_here ? state == EntryState::begun
                                 : !is_begun && (state == EntryState::empty || is_passed_over);
    if (!is_free) {
      return false;
    }
    if (is_passed_over) {
      if (entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
        wipe(entry.slot, shared_.slot_bytes());
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

std::size_t Context::compute(const Fill& fill, const Share& share) noexcept {
  Entry& entry = *fill.entry;
  const std::size_t bytes = std::min(share.bytes, shared_.chunk_bytes - entry.fresh_end);
  make_keystream(fill.chunk, entry.slot, entry.fresh_end, bytes);
  entry.fresh_end += static_cast<std::uint32_t>(bytes);
  publish_filled(fill);
  return bytes;
}

// But for what is there: of that the beginning may have been used and wiped.
void Context::deliver(const Fill& fill, Bytes keystream) noexcept {
  Entry& entry = *fill.entry;
  const Bytes rest = keystream.subspan(entry.fresh_end);
  std::memcpy(entry.slot + entry.fresh_end, rest.data(), rest.size());
  entry.fresh_end += static_cast<std::uint32_t>(rest.size());
  publish_filled(fill);
}

void Context::publish_filled(const Fill& fill) noexcept {
  Entry& entry = *fill.entry;
  entry.maker = this_thread();
  const EntryState state = state_of_filled(entry);
  if (state == EntryState::ready) {
    filled_.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t word = Entry::word_of(fill.chunk, EntryState::filling);
  if (!entry.change(word, fill.chunk, state)) {
    wipe(entry.slot, shared_.slot_bytes());
    entry.publish(fill.chunk, EntryState::empty);
  } else if (state == EntryState::begun && !fill.is_gap) {
    search_again_from(fill.chunk);
  }
}

std::uint32_t Context::missing() const noexcept {
  const std::int64_t steps = steps_in_window(next_.load(std::memory_order_relaxed),
                                             fill_from_.load(std::memory_order_relaxed));
  const std::int64_t depth = depth_.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(depth - steps, 0));
}

Context::Run Context::run_from(std::uint64_t) const noexcept { return {}; }

std::size_t Context::fill_again(const Share& share) noexcept {
  const Fill fill = next_fill(share);
  if (fill.entry == nullptr) {
    return 0;
  }
  if (fill.entry->slot == nullptr) {
    give_up(fill);
    return 0;
  }
  return compute(fill, share);
}

void Context::fetch_next() noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return;
  }
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  Entry& entry = entry_of(ring, next);
  std::uint64_t word = Entry::word_of(next, EntryState::ready);
  // Held, because only its holder may know where the keystream is.
  if (entry.change(word, next, EntryState::taken)) {
    for (std::size_t at = entry.fresh_from; at < shared_.slot_bytes() && at < most_fetched_bytes;
         at += Slots::line_bytes) {
      __builtin_prefetch(entry.slot + at, 1);
    }
    entry.publish(next, EntryState::ready);
  }
}

void Context::give_up(const Fill& fill) noexcept {
  fill.entry->publish(Entry::no_chunk, EntryState::empty);
  search_again_from(fill.chunk);
}

}  // namespace paes::keystream
