// SPDX-License-Identifier: Apache-2.0
// A context: numbered chunks of keystream, the ledger of what clients have encrypted with them, and
// a window of chunks that is filled ahead. This is the clients' side; no worker ever takes its
// mutex. CtrContext (ctr.hpp) and SealContext (seal.hpp) say what a chunk is, and how it is used.
//
//   client --> Context -- mutex --+-- UsedIntervals  what has been encrypted
//                                 +-- Decision       whether precomputing pays
//          is a Candidate ----------- Window <-- whoever fills, without the mutex
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "keystream/bound_key.hpp"
#include "keystream/candidate.hpp"
#include "keystream/decision.hpp"
#include "keystream/precomputer.hpp"
#include "keystream/used_intervals.hpp"
#include "paes/keystream.hpp"

namespace paes::keystream {

class Context : public Candidate {
 public:
  ~Context() override { precomputer_.forget(*this); }

  // Asks for the first keystream. Call it once, when a shared_ptr owns the context.
  void begin();
  [[nodiscard]] KeystreamUse use() const noexcept;

 protected:
  using Lock = std::unique_lock<std::mutex>;

  // `memory` is for the context itself.
  Context(Precomputer& precomputer, Reservation memory, std::shared_ptr<BoundKey> key,
          const WindowShape& shape, int priority);

  [[nodiscard]] const EngineState& shared() const noexcept { return shared_; }
  // Throws Error(failure) in a forked child.
  void refuse_in_child() const;
  [[nodiscard]] Lock enter() { return Lock(mutex_); }
  // Records [first, end) as encrypted, in the unit of the mode. Throws Error(usage), with
  // `complaint`, if some of it is recorded already, and Error(failure) if the budget has no room.
  // To make room, the mutex is unlocked for a moment.
  void claim(Lock& lock, std::uint64_t first, std::uint64_t end, const char* complaint);
  // Records [first, end) as encrypted, even if some of it is recorded already.
  void add_used(std::uint64_t first, std::uint64_t end);

  // Where the keystream of a part of a request comes from.
  struct Part {
    Entry* entry = nullptr;    // held as `taken`, or null: to be computed
    bool is_bypassed = false;  // there is keystream, to be wiped and not used
    bool lacks_end = false;    // there is keystream only for the beginning
    Way way = Way::direct;
    [[nodiscard]] bool has_keystream() const noexcept { return entry != nullptr && !is_bypassed; }
  };
  // What a mode does with keystream that covers only the beginning of a part. GCM discards it and
  // seals the message in one pass. Computing the rest and hashing afterwards would take 5 %
  // (`aesni`) to 100 % (`vaes512`) longer if a quarter is there.
  enum class Beginning : unsigned { is_used, is_bypassed };
  // Takes the keystream for a part of `bytes` bytes, from byte `within` of the chunk on, and slides
  // the window. Under the mutex.
  [[nodiscard]] Part take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes,
                          Beginning beginning) noexcept;
  // Call it when a part was used: its entry goes back, with what is left.
  void give_back(Entry& entry, std::uint64_t chunk) const noexcept {
    window().give_back(entry, chunk);
  }
  // Call it when a part was computed: wipes keystream that was there.
  void discard(const Part& part, std::uint64_t chunk) const noexcept;
  // Starts to time a request, if this one is to be timed. Call it first in a request.
  [[nodiscard]] std::optional<Stopwatch> begin_timing() const noexcept {
    return decision_.is_timed() ? std::optional<Stopwatch>(std::in_place) : std::nullopt;
  }
  // For a request of one part: takes the time if it was a whole chunk that went one way throughout.
  void end_timing(const std::optional<Stopwatch>& watch, const Part& part,
                  std::size_t bytes) const noexcept {
    if (watch.has_value() && bytes == shared_.chunk_bytes &&
        (!part.lacks_end || part.is_bypassed)) {
      costs().add(part.way, watch->elapsed_ns());
    }
  }
  void move_window(std::uint64_t chunk);

 private:
  template <typename Record>
  [[nodiscard]] UsedIntervals::Claim record(Lock& lock, const Record& record);
  void end_use() noexcept;
  // Asks for keystream, unless that has been asked for already or the window is full enough.
  void request_fill(WakeTarget wake) noexcept;

  Precomputer& precomputer_;
  const EngineState& shared_;
  const Reservation memory_;

  std::mutex mutex_;
  UsedIntervals used_;
  Decision decision_;
  std::uint32_t uses_since_request_ = 0;
  struct Counts {
    std::atomic<std::uint64_t> own{0}, other{0}, direct{0}, late{0}, bypassed{0};
  } counts_;  // which statistics read
};

}  // namespace paes::keystream
