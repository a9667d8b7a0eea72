#include "keystream/context.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include "core/secret.hpp"
#include "keystream/engine.hpp"
#include "keystream/xor.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// Chunks that stay behind the one used last, for clients that overtake each other.
std::uint32_t kept_behind(std::uint32_t entries) { return std::min(entries / 8, 8U); }

// How many chunks are computed to find out whether speculation pays by now, how often that is
// looked at, and how many uses lie between two tries. A try costs at most what a few chunks do.
constexpr std::uint32_t probe_depth = 4;
constexpr std::uint32_t look_uses = 32;
constexpr std::uint32_t probe_uses = 4096;
// One use in so many is measured: reading the clock costs a fifth of an XOR.
constexpr std::uint32_t sample_uses = 16;

void count(std::atomic<std::uint64_t>& counter) noexcept {
  // Under the context's mutex, so that no other thread counts at the same time.
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

[[noreturn]] void throw_in_child() {
  throw Error(ErrorCode::failure,
              "keystream: a forked child cannot use its parent's contexts: it would encrypt under "
              "the same counters",
              "open an engine of its own in the child, with other nonces");
}

}  // namespace

Context::Context(SpeculativeEngine& engine, Shared& shared, std::shared_ptr<BoundKey> key,
                 const Block& first_counter, const ContextOptions& options)
    : engine_(engine),
      shared_(shared),
      key_(std::move(key)),
      first_counter_(first_counter),
      stride_(options.stride),
      stride_size_(options.stride < 0 ? -static_cast<std::uint64_t>(options.stride)
                                      : static_cast<std::uint64_t>(options.stride)),
      priority_(options.priority),
      limit_bytes_(options.limit_bytes != 0 ? options.limit_bytes
                                            : std::numeric_limits<std::uint64_t>::max()),
      last_chunk_((limit_bytes_ - 1) / shared.chunk_bytes),
      ring_entries_(options.window_chunks == 0 ? 0 : std::bit_ceil(options.window_chunks)),
      ring_mask_(ring_entries_ - 1),
      full_depth_(ring_entries_ - kept_behind(ring_entries_)),
      used_(*shared.budget),
      expected_(shared.has_workers ? Maker::other : Maker::own),
      next_(options.first_chunk),
      depth_(key_->costs().pays(expected_) ? full_depth_ : 0),
      last_used_(shared.age.load(std::memory_order_relaxed)),
      client_(this_thread()),
      fill_from_(options.first_chunk) {}

Context::~Context() { assert(entries_ == nullptr); }

void Context::check(std::uint64_t offset, std::size_t in_bytes, std::size_t out_bytes) const {
  if (!shared_.mark.is_intact()) {
    throw_in_child();
  }
  if (in_bytes != out_bytes) {
    throw Error(ErrorCode::usage, "output: not as long as the input");
  }
  if (offset > limit_bytes_ || in_bytes > limit_bytes_ - offset) {
    throw Error(ErrorCode::usage, "keystream: bytes beyond the context's limit");
  }
}

void Context::claim(std::unique_lock<std::mutex>& lock, std::uint64_t first, std::uint64_t end) {
  while (true) {
    switch (used_.claim(first, end)) {
      case UsedIntervals::Claim::granted:
        if (!key_->count_encrypted(first, end)) {
          throw Error(ErrorCode::usage,
                      "key: 3DES must not encrypt more than 2^20 blocks under one key (SP 800-67)",
                      "use another key, or better AES");
        }
        return;
      case UsedIntervals::Claim::used:
        throw Error(ErrorCode::usage,
                    "keystream: these bytes of the context have been encrypted before",
                    "encrypt a rewrite under another nonce: NonceAllocator has them");
      case UsedIntervals::Claim::no_room:
        // Keystream gives way to the record; the engine's mutex is taken without ours.
        lock.unlock();
        if (!engine_.make_room()) {
          throw Error(ErrorCode::failure,
                      "keystream: the budget has no room to record what is encrypted");
        }
        lock.lock();
    }
  }
}

void Context::crypt(Direction direction, std::uint64_t offset, Bytes in, MutableBytes out) {
  check(offset, in.size(), out.size());
  if (in.empty()) {
    return;
  }
  std::unique_lock lock(mutex_);
  if (is_closed_) {
    throw Error(ErrorCode::usage, "keystream: the context is closed");
  }
  if (direction == Direction::encrypt) {
    claim(lock, offset, offset + in.size());
  }
  std::size_t done = 0;
  while (true) {
    const std::uint64_t at = offset + done;
    const auto within = static_cast<std::uint32_t>(at % shared_.chunk_bytes);
    const std::size_t bytes = std::min(in.size() - done, shared_.chunk_bytes - within);
    const Part part = take(at / shared_.chunk_bytes, within, bytes);
    lock.unlock();
    crypt_part(part, at, in.subspan(done, bytes), out.subspan(done, bytes));
    done += bytes;
    if (done == in.size()) {
      break;
    }
    lock.lock();
  }
  if (!shared_.mark.is_intact()) {
    // Forked in the middle of this call, by a signal's handler: the keystream may have been zeros,
    // and what was written may be the text itself.
    wipe(out);
    throw_in_child();
  }
}

Context::Part Context::take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes) noexcept {
  Part part;
  const bool is_learning = uses_ < look_uses;
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  part.is_sampled = uses_ % sample_uses == 0 || is_learning || (depth != 0 && depth <= probe_depth);
  ++uses_;
  if (ring_entries_ == 0) {
    count(counts_.direct);
    return part;
  }
  Entry* const ring = ring_.load(std::memory_order_acquire);
  bool is_late = false;
  if (ring != nullptr) {
    Entry& entry = entry_of(ring, chunk);
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    for (bool is_done = false; !is_done;) {
      const EntryState state = Entry::state_of(word);
      const bool is_here = Entry::chunk_of(word) == chunk;
      if (is_here && state == EntryState::ready) {
        is_done = entry.change(word, chunk, EntryState::taken);
        part.entry = is_done ? &entry : nullptr;
      } else if (is_here && state == EntryState::filling) {
        is_done = is_late = entry.change(word, chunk, EntryState::abandoned);
      } else if (!is_here && state == EntryState::empty) {
        is_done = entry.change(word, chunk, EntryState::empty);  // nobody computes it any more
      } else {
        is_done = true;
      }
    }
  }
  if (part.entry != nullptr) {
    part.maker = part.entry->maker == this_thread() ? Maker::own : Maker::other;
    expected_ = part.maker;
    // A part from the middle of a chunk leaves a rest that nothing would wipe in time.
    const bool pays =
        is_learning || (depth != 0 && depth <= probe_depth) || key_->costs().pays(part.maker);
    part.is_bypassed = part.entry->fresh_from != within || !pays;
    part.is_sampled = part.is_sampled && bytes == shared_.chunk_bytes;
    count(part.is_bypassed           ? counts_.bypassed
          : part.maker == Maker::own ? counts_.own
                                     : counts_.other);
  } else {
    part.is_sampled = part.is_sampled && bytes == shared_.chunk_bytes;
    count(counts_.direct);
    if (is_late) {
      count(counts_.late);
    }
  }
  advance(chunk);
  return part;
}

void Context::crypt_part(const Part& part, std::uint64_t offset, Bytes in,
                         MutableBytes out) noexcept {
  Entry* const entry = part.entry;
  if (entry == nullptr || part.is_bypassed) {
    if (!part.is_sampled) {
      key_->crypt(first_counter_, offset, in, out);
    } else {
      const Stopwatch watch;
      key_->crypt(first_counter_, offset, in, out);
      key_->costs().direct.add(watch.elapsed_ns());
    }
    if (entry != nullptr) {
      wipe(entry->slot, shared_.chunk_bytes);
      entry->publish(offset / shared_.chunk_bytes, EntryState::empty);
    }
    return;
  }
  const MutableBytes keystream(entry->slot + entry->fresh_from, in.size());
  if (!part.is_sampled) {
    xor_and_wipe(keystream, in.data(), out.data());
  } else {
    const Stopwatch watch;
    xor_and_wipe(keystream, in.data(), out.data());
    key_->costs().of(part.maker).add(watch.elapsed_ns());
  }
  entry->fresh_from += static_cast<std::uint32_t>(in.size());
  entry->publish(offset / shared_.chunk_bytes,
                 entry->fresh_from == shared_.chunk_bytes ? EntryState::empty : EntryState::ready);
}

bool Context::steps_between(std::uint64_t from, std::uint64_t to,
                            std::int64_t& steps) const noexcept {
  const auto difference = static_cast<std::int64_t>(to - from);
  if (stride_ == 1 || stride_ == -1) {
    steps = stride_ * difference;
    return true;
  }
  steps = difference / stride_;
  return difference % stride_ == 0;
}

// Slides the window behind a chunk that has been used. Random access leaves it where it is: only
// two uses in a row, as the stride says, move it to another place.
void Context::advance(std::uint64_t chunk) noexcept {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const std::uint64_t before = last_used_chunk_;
  last_used_chunk_ = chunk;
  last_used_.store(shared_.age.load(std::memory_order_relaxed), std::memory_order_relaxed);
  client_.store(this_thread(), std::memory_order_relaxed);
  is_client_thread = true;
  const std::uint64_t after = chunk + static_cast<std::uint64_t>(stride_);
  std::int64_t steps = 0;
  const bool is_on_course = steps_between(next, chunk, steps);
  const bool is_near = is_on_course && steps >= 0 && steps < full_depth_;
  const bool is_behind = is_on_course && steps < 0 && steps >= -std::int64_t{8};
  if (is_near || (!is_behind && before + static_cast<std::uint64_t>(stride_) == chunk)) {
    next_.store(after, std::memory_order_release);
  }
  if (uses_ % look_uses == 0) {
    choose_depth();
  }
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  if (depth != 0 && (++uses_since_request_ >= depth / 4 || !shared_.has_workers)) {
    uses_since_request_ = 0;
    request_fill();
  }
}

void Context::choose_depth() noexcept {
  const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
  std::uint32_t chosen = 0;
  if (key_->costs().pays(expected_)) {
    chosen = full_depth_;
  } else if (depth == 0 && (uses_without_ += look_uses) >= probe_uses) {
    chosen = std::min(probe_depth, full_depth_);
  }
  if (chosen != 0) {
    uses_without_ = 0;
  }
  if (chosen != depth) {
    depth_.store(chosen, std::memory_order_relaxed);
  }
}

void Context::request_fill() noexcept {
  if (!is_requested_.load(std::memory_order_relaxed) &&
      !is_requested_.exchange(true, std::memory_order_acq_rel)) {
    engine_.request(*this);
  }
}

void Context::prefetch(std::uint64_t offset) {
  check(offset, 1, 1);
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    throw Error(ErrorCode::usage, "keystream: the context is closed");
  }
  if (ring_entries_ == 0) {
    return;
  }
  next_.store(offset / shared_.chunk_bytes, std::memory_order_release);
  last_used_.store(shared_.age.load(std::memory_order_relaxed), std::memory_order_relaxed);
  client_.store(this_thread(), std::memory_order_relaxed);
  uses_since_request_ = 0;
  if (depth_.load(std::memory_order_relaxed) != 0 &&
      !is_requested_.exchange(true, std::memory_order_acq_rel)) {
    engine_.request(*this);
  }
}

void Context::mark_used(std::uint64_t offset, std::uint64_t bytes) {
  check(offset, bytes, bytes);
  std::unique_lock lock(mutex_);
  while (used_.add(offset, offset + bytes) == UsedIntervals::Claim::no_room) {
    lock.unlock();
    if (!engine_.make_room()) {
      throw Error(ErrorCode::failure,
                  "keystream: the budget has no room to record what is encrypted");
    }
    lock.lock();
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
