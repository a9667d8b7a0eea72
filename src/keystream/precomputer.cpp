// SPDX-License-Identifier: Apache-2.0
#include "keystream/precomputer.hpp"

#include <array>

namespace paes::keystream {

namespace {

// How many waiting contexts idle() examines to find one that its own thread uses.
constexpr int most_looked_at = 64;

}  // namespace

Precomputer::Precomputer(EngineState& shared, Workers& workers, std::shared_ptr<Device> device)
    : shared_(shared),
      workers_(workers),
      device_(device == nullptr ? nullptr
                                : std::make_unique<DeviceSource>(
                                      std::move(device), shared.chunk_bytes, shared.budget)),
      slots_(shared.chunk_bytes, shared.budget) {}

void Precomputer::request(Candidate& candidate, WakeTarget wake) noexcept {
  Candidate::Scheduling& scheduling = candidate.scheduling();
  if (!scheduling.is_requested.exchange(true, std::memory_order_acq_rel)) {
    Candidate* first = requests_.load(std::memory_order_relaxed);
    do {
      scheduling.next_requested = first;
    } while (!requests_.compare_exchange_weak(first, &candidate, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
  }
  // A request that nobody has seen yet may have woken nobody.
  if (shared_.has_workers && wake == WakeTarget::a_worker) {
    workers_.wake();
  }
}

void Precomputer::collect_requests() noexcept {
  Candidate* requested = requests_.exchange(nullptr, std::memory_order_seq_cst);
  while (requested != nullptr) {
    Candidate& candidate = *requested;
    requested = candidate.scheduling().next_requested;
    // From here on it may be requested again. The exchange shows what its clients wrote before.
    (void)candidate.scheduling().is_requested.exchange(false, std::memory_order_acq_rel);
    candidate.scheduling().waiting.enter(
        waiting_, {-std::int64_t{candidate.priority()}, ++arrivals_, &candidate});
  }
  note_highest_waiting();
}

void Precomputer::note_highest_waiting() noexcept {
  highest_waiting_.store(waiting_.empty() ? nobody_waits : waiting_.begin()->candidate->priority(),
                         std::memory_order_relaxed);
}

void Precomputer::stop_waiting(Candidate& candidate) noexcept {
  candidate.scheduling().waiting.leave(waiting_);
  note_highest_waiting();
}

// The waiting candidate of the highest priority. For a client's thread it is the first among
// most_looked_at that this thread uses, or else the one that it used last.
Candidate* Precomputer::pick(const void* client, Candidate* last) noexcept {
  collect_requests();
  int looked_at = 0;
  for (const OrderKey& key : waiting_) {
    if (client == nullptr || key.candidate->is_used_by(client)) {
      return key.candidate;
    }
    if (++looked_at == most_looked_at) {
      break;
    }
  }
  return last != nullptr && last->scheduling().waiting.is_taken() ? last : nullptr;
}

// The next chunk to compute, with a slot for it.
Fill Precomputer::next_fill(Candidate& candidate, const Share& share) noexcept {
  if (!candidate.window().allocate_ring()) {
    return {};
  }
  const Fill fill = candidate.window().next_fill(share);
  if (fill.entry == nullptr) {
    return fill;
  }
  if (fill.entry->slot == nullptr) {
    Slots::Slot slot = slots_.take();
    if (slot.bytes == nullptr && evict_for(candidate)) {
      slot = slots_.take();
    }
    if (slot.bytes == nullptr) {
      candidate.window().give_up(fill);
      return {};
    }
    fill.entry->slot = slot.bytes;
    fill.entry->slab = slot.slab;
  }
  rank(candidate);
  return fill;
}

// Computes one chunk of a waiting candidate, which the caller holds. If there is nothing to
// compute, the candidate stops waiting.
void Precomputer::fill_one(Lock& lock, Candidate& candidate, const Share& share) noexcept {
  const Fill fill = next_fill(candidate, share);
  if (fill.entry == nullptr) {
    stop_waiting(candidate);
    return;
  }
  lock.unlock();
  candidate.compute(fill, share);
  lock.lock();
  rank(candidate);  // an eviction took its rank meanwhile, but left it this chunk's slot
}

// Has a device make a run of chunks that the window lacks. False if that does not pay.
bool Precomputer::fill_by_device(Lock& lock, Candidate& candidate) noexcept {
  const std::int64_t step = candidate.window().run_step();
  if (device_ == nullptr || step == 0 ||
      candidate.window().missing() < DeviceSource::least_chunks ||
      candidate.run_from(0).key == nullptr || !device_->pays(candidate.costs())) {
    return false;
  }
  std::array<Fill, DeviceSource::most_chunks> fills;
  std::size_t count = 0;
  std::size_t in_run = 0;  // how many of these are consecutive
  while (count < fills.size() && in_run == count) {
    const Fill fill = next_fill(candidate, {});
    if (fill.entry == nullptr) {
      break;
    }
    fills[count] = fill;
    in_run += fill.chunk == fills[0].chunk + count * static_cast<std::uint64_t>(step) ? 1U : 0U;
    ++count;
  }
  if (count == 0) {
    return false;
  }
  lock.unlock();
  bool is_made = false;
  if (in_run >= DeviceSource::least_chunks) {
    const auto place = [&](std::size_t i) { return step > 0 ? i : in_run - 1 - i; };
    const Candidate::Run run = candidate.run_from(fills[place(0)].chunk);
    is_made = device_->make(
        *run.key, run.start, in_run, candidate.costs(),
        [&](std::size_t i, Bytes keystream) { candidate.deliver(fills[place(i)], keystream); });
  }
  in_run = is_made ? in_run : 0;
  for (std::size_t i = in_run; i < count; ++i) {
    candidate.compute(fills[i], {});
  }
  lock.lock();
  device_chunks_ += in_run;
  rank(candidate);
  return true;
}

bool Precomputer::work() noexcept {
  std::shared_ptr<Candidate> held;  // released without the mutex
  Lock lock(mutex_);
  Candidate* const candidate = pick(nullptr, nullptr);
  if (candidate == nullptr) {
    return false;
  }
  held = candidate->hold();
  if (candidate != waiting_.rbegin()->candidate) {
    workers_.wake_another();
  }
  if (!fill_by_device(lock, *candidate)) {
    fill_one(lock, *candidate, {});
  }
  return true;
}

bool Precomputer::idle(IdleTime::Clock::time_point deadline) noexcept {
  const IdleTime time(deadline);
  if (!shared_.mark.is_intact()) {
    return false;
  }
  const void* const client = last_used_here.address != nullptr ? this_thread() : nullptr;
  const std::shared_ptr<Candidate> last =
      last_used_here.precomputer == this ? last_used_candidate.lock() : nullptr;
  if (has_requests()) {
    if (const Lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
      collect_requests();
    }
  }
  // A context filled without the mutex must not have a lower priority than those that wait.
  if (last != nullptr && last->is_used_by(this_thread()) &&
      last->priority() >= highest_waiting_.load(std::memory_order_relaxed) && !last->is_closing()) {
    const bool is_in_time = time.fill(*last);
    last->window().fetch_next();
    if (!is_in_time) {
      return true;
    }
  }
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return true;
  }
  while (Candidate* const candidate = pick(client, last.get())) {
    const Share share = time.share_for(*candidate, time.left_ns());
    if (share.bytes == 0) {
      return true;
    }
    std::shared_ptr<Candidate> held = candidate->hold();
    fill_one(lock, *candidate, share);
    lock.unlock();
    held.reset();
    lock.lock();
  }
  return false;
}

// Ranks the candidate among those that hold slots, unless it is being closed.
void Precomputer::rank(Candidate& candidate) noexcept {
  if (!candidate.is_closing()) {
    candidate.scheduling().ranked.enter(ranked_,
                                        {candidate.priority(), candidate.last_used(), &candidate});
  }
}

std::size_t Precomputer::evict(Candidate& candidate) noexcept {
  const Window::EvictionCounts evicted = candidate.window().evict(slots_);
  evicted_chunks_ += evicted.ready_chunks;
  candidate.scheduling().ranked.leave(ranked_);
  return evicted.slots;
}

bool Precomputer::evict_for(const Candidate& asker) noexcept {
  shared_.age.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t asker_used = asker.last_used();
  while (!ranked_.empty()) {
    const OrderKey first = *ranked_.begin();
    Candidate& candidate = *first.candidate;
    const std::uint64_t last_used = candidate.last_used();
    if (last_used != first.at) {  // used since it was put here
      candidate.scheduling().ranked.leave(ranked_);
      rank(candidate);
      continue;
    }
    if (&candidate == &asker || candidate.priority() > asker.priority() ||
        (candidate.priority() == asker.priority() && last_used >= asker_used)) {
      return false;
    }
    if (evict(candidate) != 0) {
      return true;
    }
  }
  return false;
}

bool Precomputer::make_room() noexcept {
  const std::lock_guard lock(mutex_);
  while (!slots_.shrink()) {
    if (ranked_.empty()) {
      return false;
    }
    evict(*ranked_.begin()->candidate);
  }
  return true;
}

void Precomputer::close(Candidate& candidate) noexcept {
  const std::lock_guard lock(mutex_);
  collect_requests();
  stop_waiting(candidate);
  candidate.begin_closing();
  evict(candidate);
}

void Precomputer::forget(Candidate& candidate) noexcept {
  const std::lock_guard lock(mutex_);
  evict(candidate);
}

void Precomputer::add_to(KeystreamStatistics& statistics) const noexcept {
  const std::lock_guard lock(mutex_);
  statistics.device_chunks = device_chunks_;
  statistics.evicted_chunks = evicted_chunks_;
  statistics.keystream_bytes = slots_.bytes();
  statistics.unlocked_bytes = slots_.unlocked_bytes();
  if (device_ != nullptr) {
    statistics.keystream_bytes += device_->memory_bytes();
    statistics.unlocked_bytes += device_->unlocked_bytes();
  }
}

}  // namespace paes::keystream
