#include "keystream/context.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "core/secret.hpp"
#include "keystream/engine.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// Chunks that stay behind the one used last, for clients that overtake each other.
std::uint32_t kept_behind(std::uint32_t entries) { return std::min(entries / 8, 8U); }

// How often it is looked at whether speculation pays; and how many uses lie between finding that it
// does not and trying again: at first, and at most, after as many failures.
constexpr std::uint32_t look_uses = 32;
constexpr std::uint32_t first_uses_before_try = 256;
constexpr std::uint32_t most_uses_before_try = 16384;
// One use in so many is timed, and one in so many computes though keystream is there, so that what
// that costs here, where text and caches are the caller's, is known; more often during a try.
constexpr std::uint32_t timed_uses = 16;
constexpr std::uint32_t compared_uses = 256;
constexpr std::uint32_t compared_uses_of_try = 8;

void count(std::atomic<std::uint64_t>& counter) noexcept {
  // Under the context's mutex, so that no other thread counts at the same time.
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Context::Context(SpeculativeEngine& engine, Shared& shared, std::shared_ptr<BoundKey> key,
                 const Window& window)
    : engine_(engine),
      shared_(shared),
      key_(std::move(key)),
      stride_(window.stride),
      stride_size_(window.stride < 0 ? -static_cast<std::uint64_t>(window.stride)
                                     : static_cast<std::uint64_t>(window.stride)),
      priority_(window.priority),
      last_chunk_(window.last_chunk),
      ring_entries_(window.chunks == 0 ? 0 : std::bit_ceil(window.chunks)),
      ring_mask_(ring_entries_ - 1),
      full_depth_(ring_entries_ - kept_behind(ring_entries_)),
      used_(*shared.budget),
      uses_before_try_(first_uses_before_try),
      is_trying_(window.chunks != 0),
      expected_(shared.has_workers ? Maker::other : Maker::own),
      next_(window.first_chunk),
      depth_(key_->costs().pays(expected_) || key_->costs().is_time_to_try() ? full_depth_ : 0),
      last_used_(shared.age.load(std::memory_order_relaxed)),
      client_(this_thread()),
      fill_from_(window.first_chunk),
      gaps_until_(window.first_chunk) {}

Context::~Context() { assert(entries_ == nullptr); }

void Context::refuse_in_child() const {
  if (!shared_.mark.is_intact()) {
    throw Error(ErrorCode::failure,
                "keystream: a forked child cannot use its parent's contexts: it would encrypt "
                "under the same counters",
                "open an engine of its own in the child, with other nonces");
  }
}

Context::Lock Context::enter() {
  Lock lock(mutex_);
  if (is_closed_) {
    throw Error(ErrorCode::usage, "keystream: the context is closed");
  }
  return lock;
}

void Context::claim(Lock& lock, std::uint64_t first, std::uint64_t end, const char* complaint) {
  UsedIntervals::Claim claim = used_.claim(first, end);
  while (claim == UsedIntervals::Claim::no_room) {
    // Keystream gives way to the record; the engine's mutex is taken without ours.
    lock.unlock();
    make_room();
    lock.lock();
    claim = used_.claim(first, end);
  }
  if (claim == UsedIntervals::Claim::used) {
    throw Error(ErrorCode::usage, complaint,
                "encrypt a rewrite under another nonce: NonceAllocator has them");
  }
}

void Context::add_used(std::uint64_t first, std::uint64_t end) {
  Lock lock(mutex_);
  while (used_.add(first, end) == UsedIntervals::Claim::no_room) {
    lock.unlock();
    make_room();
    lock.lock();
  }
}

void Context::make_room() {
  if (!engine_.make_room()) {
    throw Error(ErrorCode::failure,
                "keystream: the budget has no room to record what is encrypted");
  }
}

bool Context::is_timed() const noexcept {
  return uses_.load(std::memory_order_relaxed) % timed_uses == 0 ||
         is_trying_.load(std::memory_order_relaxed);
}

Context::Part Context::take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes,
                            Beginning beginning) noexcept {
  Part part;
  const std::uint32_t use = uses_.load(std::memory_order_relaxed);
  const bool is_try = is_trying_.load(std::memory_order_relaxed);
  const std::uint32_t every = is_try ? compared_uses_of_try : compared_uses;
  const bool is_comparison = use % every == every / 2;
  uses_.store(use + 1, std::memory_order_relaxed);
  if (ring_entries_ == 0) {
    count(counts_.direct);
    return part;
  }
  Entry* const ring = ring_.load(std::memory_order_acquire);
  bool is_late = false;
  const bool speculates = depth_.load(std::memory_order_relaxed) != 0;
  if (ring != nullptr) {
    Entry& entry = entry_of(ring, chunk);
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    for (bool is_done = false; !is_done;) {
      const EntryState state = Entry::state_of(word);
      const bool is_here = Entry::chunk_of(word) == chunk;
      if (is_here && (state == EntryState::ready || state == EntryState::begun)) {
        is_done = entry.change(word, chunk, EntryState::taken);
        part.entry = is_done ? &entry : nullptr;
      } else if (is_here && state == EntryState::filling) {
        is_done = is_late = entry.change(word, chunk, EntryState::abandoned);
      } else if (!is_here && state == EntryState::empty && speculates) {
        is_done = entry.change(word, chunk, EntryState::empty);  // nobody computes it any more
      } else {
        is_done = true;
      }
    }
  }
  if (part.entry != nullptr) {
    const Maker maker = part.entry->maker == this_thread() ? Maker::own : Maker::other;
    part.lacks_end = within + bytes > part.entry->fresh_end;
    // A part from the middle of a chunk leaves a rest that nothing would wipe in time.
    part.is_bypassed = part.entry->fresh_from != within || is_comparison ||
                       (part.lacks_end && beginning == Beginning::is_bypassed) ||
                       !(is_try || key_->costs().pays(maker));
    part.way = part.is_bypassed ? Way::missed : way_of(maker);
    is_late = part.lacks_end;
    if (!is_late) {
      expected_ = maker;
      ++hits_;
      count(part.is_bypassed      ? counts_.bypassed
            : maker == Maker::own ? counts_.own
                                  : counts_.other);
    }
  } else {
    part.way = speculates ? Way::missed : Way::direct;
  }
  if (part.entry == nullptr || is_late) {
    count(counts_.direct);
  }
  if (is_late) {
    count(counts_.late);
  }
  advance(chunk);
  return part;
}

void Context::discard(const Part& part, std::uint64_t chunk) const noexcept {
  if (part.entry != nullptr) {
    wipe(part.entry->slot, shared_.slot_bytes());
    part.entry->publish(chunk, EntryState::empty);
  }
}

void Context::give_back(Entry& entry, std::uint64_t chunk) const noexcept {
  entry.publish(chunk,
                entry.fresh_from < entry.fresh_end ? state_of_filled(entry) : EntryState::empty);
}

bool Context::steps_between(std::uint64_t from, std::uint64_t to,
                            std::int64_t& steps) const noexcept {
  if (stride_size_ == 1) {
    steps = static_cast<std::int64_t>(stride_ == 1 ? to - from : from - to);
    return true;
  }
  const auto difference = static_cast<std::int64_t>(to - from);
  steps = difference / stride_;
  return difference % stride_ == 0;
}

// Slides the window behind a chunk that has been used. Random access leaves it where it is: only
// two uses in a row, as the stride says, move it to another place.
void Context::advance(std::uint64_t chunk) noexcept {
  is_client_thread = true;
  if (last_context_seen != this || last_context.expired()) {
    last_context_seen = this;
    last_context = weak_from_this();
  }
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  if (depth == 0) {  // as little as can be: it pays not to speculate, and this is no part of that
    last_used_chunk_ = chunk;
    next_.store(chunk + static_cast<std::uint64_t>(stride_), std::memory_order_release);
    look_at_costs();
    return;
  }
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const std::uint64_t before = last_used_chunk_;
  last_used_chunk_ = chunk;
  last_used_.store(shared_.age.load(std::memory_order_relaxed), std::memory_order_relaxed);
  client_.store(this_thread(), std::memory_order_relaxed);
  const std::uint64_t after = chunk + static_cast<std::uint64_t>(stride_);
  std::int64_t steps = 0;
  const bool is_on_course = steps_between(next, chunk, steps);
  const bool is_near = is_on_course && steps >= 0 && steps < full_depth_;
  const bool is_behind = is_on_course && steps < 0 && steps >= -std::int64_t{8};
  const bool follows = before + static_cast<std::uint64_t>(stride_) == chunk;
  if (is_near || (!is_behind && follows)) {
    next_.store(after, std::memory_order_release);
  }
  if (follows && is_jump_.load(std::memory_order_relaxed)) {
    is_jump_.store(false, std::memory_order_relaxed);
  }
  look_at_costs();
  if ((++uses_since_request_ >= depth / 4 || !shared_.has_workers)) {
    uses_since_request_ = 0;
    request_fill(Wake::nobody);
  }
}

void Context::look_at_costs() noexcept {
  if (uses_.load(std::memory_order_relaxed) % look_uses == 0) {
    choose_depth();
  }
}

// Without workers nothing is computed but in moments that the client has nothing else to do in:
// that costs nobody anything, however little of it is used.
void Context::choose_depth() noexcept {
  const double hit_rate = static_cast<double>(hits_) / look_uses;
  const bool pays =
      shared_.has_workers ? key_->costs().pays(expected_, hit_rate) : key_->costs().pays(expected_);
  hits_ = 0;
  is_trying_.store(false, std::memory_order_relaxed);
  if (depth_.load(std::memory_order_relaxed) == 0) {
    uses_without_ += look_uses;
    if (uses_without_ >= uses_before_try_) {
      try_speculation();
    }
  } else if (pays) {
    uses_before_try_ = first_uses_before_try;
  } else {
    depth_.store(0, std::memory_order_relaxed);
    uses_without_ = 0;
    uses_before_try_ = std::min(2 * uses_before_try_, most_uses_before_try);
  }
}

void Context::try_speculation() noexcept {
  depth_.store(full_depth_, std::memory_order_relaxed);
  is_trying_.store(true, std::memory_order_relaxed);
}

void Context::request_fill(Wake wake) noexcept {
  if (!is_requested_.load(std::memory_order_relaxed) && !is_filled() &&
      !is_requested_.exchange(true, std::memory_order_acq_rel)) {
    engine_.request(*this, wake);
  }
}

// But for its last quarter, by a worker or in idle(): then nobody needs to be asked.
bool Context::is_filled() const noexcept {
  Entry* const ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr) {
    return false;
  }
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  const std::int64_t steps = depth - depth / 4 - 1;
  const std::uint64_t chunk =
      next_.load(std::memory_order_relaxed) +
      static_cast<std::uint64_t>(steps) * static_cast<std::uint64_t>(stride_);
  return entry_of(ring, chunk).word.load(std::memory_order_relaxed) ==
         Entry::word_of(chunk, EntryState::ready);
}

void Context::move_window(std::uint64_t chunk) {
  const Lock lock = enter();
  if (ring_entries_ == 0) {
    return;
  }
  if (next_.exchange(chunk, std::memory_order_acq_rel) != chunk) {
    uses_before_try_ = first_uses_before_try;  // perhaps this is found more often
  }
  is_jump_.store(true, std::memory_order_relaxed);
  last_used_.store(shared_.age.load(std::memory_order_relaxed), std::memory_order_relaxed);
  client_.store(this_thread(), std::memory_order_relaxed);
  uses_since_request_ = 0;
  if (depth_.load(std::memory_order_relaxed) != 0) {
    request_fill(Wake::a_worker);
  }
}

KeystreamUse Context::use() const noexcept {
  const auto read = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {read(counts_.own), read(counts_.other), read(counts_.direct), read(counts_.late),
          read(counts_.bypassed)};
}

}  // namespace paes::keystream
