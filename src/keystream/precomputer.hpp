// SPDX-License-Identifier: Apache-2.0
// The precomputer decides which context gets keystream next, in which memory, and which context
// loses its memory for that. Workers and idle() call it to have the keystream computed.
//
// One mutex guards orders and slots. While keystream is computed, it is not held. No client takes
// it on its way to an XOR, unless the ledger needs room (make_room): a request for keystream goes
// into a lock-free list. Workers may run at SCHED_IDLE, and the system may set one aside while it
// holds the mutex. So idle() only tries to lock it; otherwise it fills the context that its thread
// has used last, without the mutex.
//
// Locks are taken in this order: a context's mutex; the precomputer's; the device source's; the
// workers', after which nothing is locked. Call close(), forget() and make_room() without the
// context's mutex. Nobody releases a candidate while holding the mutex, because the last release
// calls forget().
//
// Eviction takes keystream from the context of the lowest priority, and among equals from the least
// recently used one, unless that was used later than the context that asks.
//
// Measured cases (docs/log/keystream.md, "What each mechanism gains"): for idle() without the mutex
// a client beside a worker; for eviction 256 contexts, of which the budget holds a quarter and a
// few are used most.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>

#include "core/forks.hpp"
#include "keystream/candidate.hpp"
#include "keystream/device_source.hpp"
#include "keystream/idle_time.hpp"
#include "keystream/slots.hpp"
#include "keystream/workers.hpp"
#include "paes/keystream.hpp"

namespace paes::keystream {

// What all parts of one keystream engine share, and what clients read for each chunk. Only `age`
// changes often, so it has a cache line of its own.
struct EngineState {  // NOLINT(clang-analyzer-optin.performance.Padding)
  const std::size_t chunk_bytes;
  const bool has_workers;
  const bool is_always_ahead;
  const std::shared_ptr<Budget> budget;  // keys may outlive the engine
  const ForkMark mark = {};
  // Counts the calls that found no memory free. It is the clock of "least recently used".
  alignas(64) std::atomic<std::uint64_t> age{1};
};

// Who is woken by a request for keystream. Waking a thread takes some ten microseconds: too long
// for a client whose data waits, unless it happens once in some thousand requests.
enum class WakeTarget : unsigned { nobody, a_worker };

class Precomputer final : public WorkSource {
 public:
  // `device` may be null. Throws Error(failure) if there is no memory for its work.
  Precomputer(EngineState& shared, Workers& workers, std::shared_ptr<Device> device);
  Precomputer(const Precomputer&) = delete;
  Precomputer& operator=(const Precomputer&) = delete;

  [[nodiscard]] EngineState& shared() noexcept { return shared_; }
  [[nodiscard]] std::shared_ptr<Device> device() const noexcept {
    return device_ == nullptr ? nullptr : device_->device();
  }

  // --- Clients.

  // Asks for keystream, unless that has been asked for already. Under the context's mutex.
  void request(Candidate& candidate, WakeTarget wake) noexcept;
  // Gives memory of keystream back to the budget. False if there is none left to give.
  [[nodiscard]] bool make_room() noexcept;
  // Implements KeystreamEngine::idle.
  bool idle(IdleTime::Clock::time_point deadline) noexcept;
  // Takes back all keystream of the candidate that nobody holds. It gets no more.
  void close(Candidate& candidate) noexcept;
  // Takes back the rest, once nobody fills it any more.
  void forget(Candidate& candidate) noexcept;

  // --- Workers.

  // Computes a chunk, or has the device make a run. False if no context waits.
  [[nodiscard]] bool work() noexcept override;
  [[nodiscard]] bool has_work() const noexcept override {
    return has_requests() || highest_waiting_.load(std::memory_order_relaxed) != nobody_waits;
  }

  // Adds the precomputer's numbers.
  void add_to(KeystreamStatistics& statistics) const noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  static constexpr int nobody_waits = std::numeric_limits<int>::min();

  [[nodiscard]] bool has_requests() const noexcept {
    return requests_.load(std::memory_order_seq_cst) != nullptr;
  }
  void collect_requests() noexcept;
  void stop_waiting(Candidate& candidate) noexcept;
  void note_highest_waiting() noexcept;
  [[nodiscard]] Candidate* pick(const void* client, Candidate* last) noexcept;
  [[nodiscard]] Fill next_fill(Candidate& candidate, const Share& share) noexcept;
  void fill_one(Lock& lock, Candidate& candidate, const Share& share) noexcept;
  [[nodiscard]] bool fill_by_device(Lock& lock, Candidate& candidate) noexcept;
  void rank(Candidate& candidate) noexcept;
  std::size_t evict(Candidate& candidate) noexcept;
  [[nodiscard]] bool evict_for(const Candidate& asker) noexcept;

  EngineState& shared_;
  Workers& workers_;
  const std::unique_ptr<DeviceSource> device_;  // null: no device
  std::atomic<Candidate*> requests_{nullptr};   // since the last collection
  // The highest priority among those that wait, as far as is known.
  std::atomic<int> highest_waiting_{nobody_waits};

  mutable std::mutex mutex_;
  Order waiting_;  // for keystream: the highest priority first, then first come
  Order ranked_;   // those that hold slots: the one that loses them first comes first
  std::uint64_t arrivals_ = 0;
  Slots slots_;
  std::uint64_t evicted_chunks_ = 0;
  std::uint64_t device_chunks_ = 0;
};

}  // namespace paes::keystream
