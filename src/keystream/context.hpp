// A context: a stream of counters, the record of what it has encrypted, and a window of keystream
// computed ahead. This is the clients' side, which takes one mutex that no worker ever holds; the
// engine fills the window, and both meet in the entries.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "keystream/bound_key.hpp"
#include "keystream/entry.hpp"
#include "keystream/pages.hpp"
#include "keystream/used_intervals.hpp"
#include "paes/keystream.hpp"

namespace paes::keystream {

class SpeculativeEngine;
class Context;

// A context's place in one of the engine's orders. Nodes are made when a context is opened and move
// between orders and contexts, so that nothing is allocated while keystream is computed.
struct Ranked {
  int priority;
  std::uint64_t at;
  Context* context;

  bool operator<(const Ranked& other) const noexcept {
    return std::tie(priority, at, context) < std::tie(other.priority, other.at, other.context);
  }
};
using Ranking = std::set<Ranked>;

// What engine and contexts share, and what clients read for each chunk. Nothing in it changes
// often.
struct Shared {
  Shared(std::size_t budget_bytes, std::size_t chunk, bool workers)
      : chunk_bytes(chunk), has_workers(workers), budget(std::make_shared<Budget>(budget_bytes)) {}

  const std::size_t chunk_bytes;
  const bool has_workers;
  const ForkMark mark;
  const std::shared_ptr<Budget> budget;  // keys may outlive the engine
  // Counts calls for memory that was not there: the clock of "least recently used".
  alignas(64) std::atomic<std::uint64_t> age{1};
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  Context(SpeculativeEngine& engine, Shared& shared, std::shared_ptr<BoundKey> key,
          const Block& first_counter, const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void crypt(Direction direction, std::uint64_t offset, Bytes in, MutableBytes out);
  void prefetch(std::uint64_t offset);
  void mark_used(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] KeystreamUse use() const noexcept;

  // Computing ahead (fill.cpp): from any thread that holds a pin, without the engine's mutex.
  // False: the context is being closed.
  [[nodiscard]] bool pin() noexcept;
  void unpin() noexcept;
  [[nodiscard]] bool is_closing() const noexcept {
    return (pins_.load(std::memory_order_relaxed) & closing) != 0;
  }
  struct Fill {
    Entry* entry = nullptr;  // null: the window is full
    std::uint64_t chunk = 0;
  };
  // The next chunk that should be computed, its entry held as `filling`.
  [[nodiscard]] Fill next_fill() noexcept;
  // Computes it; the entry becomes ready, or empty if the chunk has been used meanwhile.
  void compute(const Fill& fill) noexcept;
  // An entry that has no slot.
  void give_up(const Fill& fill) noexcept;
  // Both at once, where the entry has its slot from before. False: that needs the engine.
  [[nodiscard]] bool fill_again() noexcept;
  [[nodiscard]] std::uint32_t depth() const noexcept {
    return depth_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] double direct_ns() const noexcept { return key_->costs().direct.ns(); }
  [[nodiscard]] bool is_used_by(const void* thread) const noexcept {
    return client_.load(std::memory_order_relaxed) == thread;
  }

  // The engine's side, under its mutex.
  // Calls take(slot) for each slot that nobody holds, wiped; the answer is how much keystream was
  // lost that was ready.
  template <typename Take>
  std::size_t evict(const Take& take) noexcept;
  [[nodiscard]] bool allocate_ring() noexcept;
  void release_ring() noexcept;

 private:
  friend class SpeculativeEngine;  // under its mutex: see the members at the end

  // Where the keystream of a part of a request comes from.
  struct Part {
    Entry* entry = nullptr;  // held as `taken`, or null: to be computed
    Maker maker = Maker::own;
    bool is_bypassed = false;  // there is keystream, to be wiped and not used
    bool is_sampled = false;
  };

  void check(std::uint64_t offset, std::size_t in_bytes, std::size_t out_bytes) const;
  void claim(std::unique_lock<std::mutex>& lock, std::uint64_t first, std::uint64_t end);
  [[nodiscard]] Part take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes) noexcept;
  void crypt_part(const Part& part, std::uint64_t offset, Bytes in, MutableBytes out) noexcept;
  void advance(std::uint64_t chunk) noexcept;
  [[nodiscard]] bool hold_for(Entry& entry, std::uint64_t chunk) const noexcept;
  void choose_depth() noexcept;
  void request_fill() noexcept;
  // How many steps of the stride lie between; none if no whole number does.
  [[nodiscard]] bool steps_between(std::uint64_t from, std::uint64_t to,
                                   std::int64_t& steps) const noexcept;
  [[nodiscard]] Entry& entry_of(Entry* ring, std::uint64_t chunk) const noexcept {
    return ring[(stride_ == 1 || stride_ == -1 ? chunk : chunk / stride_size_) & ring_mask_];
  }
  [[nodiscard]] bool is_within(std::uint64_t chunk) const noexcept { return chunk <= last_chunk_; }

  SpeculativeEngine& engine_;
  Shared& shared_;
  const std::shared_ptr<BoundKey> key_;
  const Block first_counter_;
  const std::int64_t stride_;
  const std::uint64_t stride_size_;  // without its sign
  const int priority_;
  const std::uint64_t limit_bytes_;  // offsets are below
  const std::uint64_t last_chunk_;   // of those that begin below
  const std::uint32_t ring_entries_;
  const std::uint64_t ring_mask_;
  const std::uint32_t full_depth_;

  // Clients, under the mutex; what is atomic is read by the engine.
  std::mutex mutex_;
  bool is_closed_ = false;
  UsedIntervals used_;
  std::uint64_t last_used_chunk_ = Entry::no_chunk;
  std::uint32_t uses_ = 0;
  std::uint32_t uses_since_request_ = 0;
  std::uint32_t uses_without_ = 0;  // since speculation was found not to pay
  Maker expected_;
  struct Counts {
    std::atomic<std::uint64_t> own{0}, other{0}, direct{0}, late{0}, bypassed{0};
  } counts_;
  std::atomic<Entry*> ring_{nullptr};
  std::atomic<std::uint64_t> next_;       // the chunk that is expected next
  std::atomic<std::uint32_t> depth_;      // chunks to compute ahead; 0: speculation does not pay
  std::atomic<std::uint64_t> last_used_;  // the engine's age then
  std::atomic<const void*> client_{nullptr};

  // The engine's.
  alignas(64) std::atomic<bool> is_requested_{false};  // is in the engine's list of requests
  Context* next_requested_ = nullptr;                  // the one behind it there
  std::unique_ptr<Entry[]> entries_;
  std::atomic<std::uint64_t> fill_from_;  // where the last search for a chunk to compute ended
  std::atomic<std::uint64_t> filled_{0};  // chunks
  // Threads that compute for it, and a bit for closing.
  static constexpr std::uint32_t closing = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> pins_{0};
  Ranking::iterator waiting_at_;  // in the engine's orders, where it is in them;
  Ranking::iterator ranked_at_;   // else it keeps the nodes
  Ranking::node_type waiting_node_;
  Ranking::node_type ranked_node_;
};

template <typename Take>
std::size_t Context::evict(const Take& take) noexcept {
  std::size_t lost = 0;
  for (std::uint32_t i = 0; entries_ != nullptr && i < ring_entries_; ++i) {
    Entry& entry = entries_[i];
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    const EntryState state = Entry::state_of(word);
    if (entry.slot == nullptr || (state != EntryState::ready && state != EntryState::empty) ||
        !entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
      continue;
    }
    lost += state == EntryState::ready ? 1 : 0;
    wipe(entry.slot, shared_.chunk_bytes);
    take(entry);
    entry.slot = nullptr;
    entry.publish(state == EntryState::ready ? Entry::no_chunk : Entry::chunk_of(word),
                  EntryState::empty);
  }
  return lost;
}

}  // namespace paes::keystream
