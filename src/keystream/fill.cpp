// Computing ahead for a context: which chunk is next, and how. Threads agree through the entries
// alone; the engine's mutex is for memory. So a worker that the system sets aside holds nobody up.
#include <cstring>
#include <new>

#include "core/secret.hpp"
#include "keystream/context.hpp"

namespace paes::keystream {

namespace {

// Of the nearest cache, which has text and output to hold as well.
constexpr std::size_t most_fetched_bytes = 8192;

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

Context::Fill Context::next_fill() noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return {};
  }
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  const std::int64_t depth = depth_.load(std::memory_order_relaxed);
  std::int64_t steps = 0;
  if (!steps_between(next, fill_from_.load(std::memory_order_relaxed), steps) || steps < 0 ||
      steps > depth) {
    steps = 0;
  }
  for (; steps < depth; ++steps) {
    const std::uint64_t chunk =
        next + static_cast<std::uint64_t>(steps) * static_cast<std::uint64_t>(stride_);
    if (!is_within(chunk)) {
      break;
    }
    Entry& entry = entry_of(ring, chunk);
    if (hold_for(entry, chunk)) {
      fill_from_.store(chunk + static_cast<std::uint64_t>(stride_), std::memory_order_relaxed);
      return {&entry, chunk};
    }
  }
  fill_from_.store(next + static_cast<std::uint64_t>(steps) * static_cast<std::uint64_t>(stride_),
                   std::memory_order_relaxed);
  return {};
}

// Makes the entry the chunk's, unless it is that already or somebody is at it.
bool Context::hold_for(Entry& entry, std::uint64_t chunk) const noexcept {
  std::uint64_t word = entry.word.load(std::memory_order_acquire);
  while (Entry::chunk_of(word) != chunk) {
    switch (Entry::state_of(word)) {
      case EntryState::empty:
        if (entry.change(word, chunk, EntryState::filling)) {
          return true;
        }
        break;
      case EntryState::ready:  // of a chunk that was passed over
        if (entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
          wipe(entry.slot, shared_.slot_bytes());
          entry.publish(chunk, EntryState::filling);
          return true;
        }
        break;
      default:
        return false;
    }
  }
  return false;
}

void Context::compute(const Fill& fill) noexcept {
  make_keystream(fill.chunk, fill.entry->slot);
  publish_filled(fill);
}

void Context::deliver(const Fill& fill, Bytes keystream) noexcept {
  std::memcpy(fill.entry->slot, keystream.data(), keystream.size());
  publish_filled(fill);
}

void Context::publish_filled(const Fill& fill) noexcept {
  Entry& entry = *fill.entry;
  entry.maker = this_thread();
  filled_.fetch_add(1, std::memory_order_relaxed);
  entry.fresh_from = 0;
  std::uint64_t word = Entry::word_of(fill.chunk, EntryState::filling);
  if (!entry.change(word, fill.chunk, EntryState::ready)) {
    wipe(entry.slot, shared_.slot_bytes());
    entry.publish(fill.chunk, EntryState::empty);
  }
}

std::uint32_t Context::missing() const noexcept {
  const std::int64_t depth = depth_.load(std::memory_order_relaxed);
  std::int64_t steps = 0;
  if (!steps_between(next_.load(std::memory_order_relaxed),
                     fill_from_.load(std::memory_order_relaxed), steps) ||
      steps < 0 || steps > depth) {
    steps = 0;
  }
  return static_cast<std::uint32_t>(depth - steps);
}

Context::Run Context::run_from(std::uint64_t) const noexcept { return {}; }

bool Context::fill_again() noexcept {
  const Fill fill = next_fill();
  if (fill.entry == nullptr) {
    return false;
  }
  if (fill.entry->slot == nullptr) {
    give_up(fill);
    return false;
  }
  compute(fill);
  return true;
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
  fill_from_.store(fill.chunk, std::memory_order_relaxed);
}

}  // namespace paes::keystream
