// SPDX-License-Identifier: Apache-2.0
#include "keystream/context.hpp"

#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// Under the context's mutex, so that no other thread counts at the same time.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Context::Context(Precomputer& precomputer, Reservation memory, std::shared_ptr<BoundKey> key,
                 const WindowShape& shape, int priority)
    : Candidate(std::move(key), shape, priority, precomputer.shared().chunk_bytes,
                precomputer.shared().budget),
      precomputer_(precomputer),
      shared_(precomputer.shared()),
      memory_(std::move(memory)),
      used_(*shared_.budget),
      decision_(costs(), shape.chunks != 0, shared_.has_workers, shared_.is_always_ahead) {
  note_use(shared_.age.load(std::memory_order_relaxed));
}

void Context::begin() {
  const Lock lock(mutex_);
  request_fill(WakeTarget::a_worker);
}

void Context::refuse_in_child() const {
  if (!shared_.mark.is_intact()) {
    throw Error(ErrorCode::failure,
                "keystream: a forked child cannot use its parent's contexts: it would encrypt "
                "under the same counters",
                "open an engine of its own in the child, with other nonces");
  }
}

// Keystream gives way to the ledger. The precomputer's mutex is taken without the context's.
template <typename Record>
UsedIntervals::Claim Context::record(Lock& lock, const Record& record) {
  UsedIntervals::Claim claim = record();
  for (; claim == UsedIntervals::Claim::no_room; claim = record()) {
    lock.unlock();
    if (!precomputer_.make_room()) {
      throw Error(ErrorCode::failure,
                  "keystream: the budget has no room to record what is encrypted");
    }
    lock.lock();
  }
  return claim;
}

void Context::claim(Lock& lock, std::uint64_t first, std::uint64_t end, const char* complaint) {
  if (record(lock, [&] { return used_.claim(first, end); }) == UsedIntervals::Claim::used) {
    throw Error(ErrorCode::usage, complaint,
                "encrypt a rewrite under another nonce: NonceAllocator has them");
  }
}

void Context::add_used(std::uint64_t first, std::uint64_t end) {
  Lock lock(mutex_);
  (void)record(lock, [&] { return used_.add(first, end); });
}

Context::Part Context::take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes,
                            Beginning beginning) noexcept {
  const bool is_comparison = decision_.begin_use();
  if (!window().has_entries()) {
    count(counts_.direct);
    return {};
  }
  const Window::TakenEntry taken = window().take(chunk);
  Part part;
  part.entry = taken.entry;
  bool is_late = taken.was_computed;
  if (part.entry != nullptr) {
    const Way fetch = part.entry->maker == this_thread() ? Way::own : Way::other;
    part.lacks_end = within + bytes > part.entry->fresh_end;
    // Using a part from the middle of a chunk would leave unwiped keystream before it.
    part.is_bypassed = part.entry->fresh_from != within || is_comparison ||
                       (part.lacks_end && beginning == Beginning::is_bypassed) ||
                       !decision_.wants(fetch);
    part.way = part.is_bypassed ? Way::missed : fetch;
    is_late = part.lacks_end;
    if (!is_late) {
      decision_.count_hit(fetch);
      count(part.is_bypassed ? counts_.bypassed : fetch == Way::own ? counts_.own : counts_.other);
    }
  } else {
    part.way = window().depth() != 0 ? Way::missed : Way::direct;
  }
  if (part.entry == nullptr || is_late) {
    count(counts_.direct);
  }
  if (is_late) {
    count(counts_.late);
  }
  window().slide(chunk);
  end_use();
  return part;
}

void Context::end_use() noexcept {
  if (last_used_here.address != this || last_used_candidate.expired()) {
    last_used_here = {&precomputer_, this};
    last_used_candidate = weak_from_this();
  }
  const std::uint32_t depth = window().depth();
  const bool is_open = decision_.end_use();
  if (is_open != (depth != 0)) {
    window().open(is_open);
    if (is_open) {
      note_use(shared_.age.load(std::memory_order_relaxed));
      uses_since_request_ = 0;
      request_fill(WakeTarget::a_worker);  // or the try would end before a sleeping worker looks
    }
  }
  if (depth == 0 || !is_open) {
    return;  // no more, because without precomputing this only costs time
  }
  note_use(shared_.age.load(std::memory_order_relaxed));
  if (++uses_since_request_ >= depth / 4 || !shared_.has_workers) {
    uses_since_request_ = 0;
    request_fill(WakeTarget::nobody);
  }
}

void Context::discard(const Part& part, std::uint64_t chunk) const noexcept {
  if (part.entry != nullptr) {
    window().discard(*part.entry, chunk);
  }
}

void Context::request_fill(WakeTarget wake) noexcept {
  if ((wake == WakeTarget::a_worker || !is_requested()) && !window().is_filled()) {
    precomputer_.request(*this, wake);
  }
}

void Context::move_window(std::uint64_t chunk) {
  const Lock lock = enter();
  if (!window().has_entries()) {
    return;
  }
  window().move_to(chunk);
  note_use(shared_.age.load(std::memory_order_relaxed));
  uses_since_request_ = 0;
  if (window().depth() != 0) {
    request_fill(WakeTarget::a_worker);
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
