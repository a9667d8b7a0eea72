// A context: chunks of keystream under numbers, the record of what has been encrypted with them,
// and a window of them computed ahead. What a chunk is, and how it is used, is the mode's (ctr.hpp,
// seal.hpp). This is the clients' side, which takes one mutex that no worker ever holds; the engine
// fills the window, and both meet in the entries.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "keystream/bound_key.hpp"
#include "keystream/entry.hpp"
#include "keystream/pages.hpp"
#include "keystream/slots.hpp"
#include "keystream/used_intervals.hpp"
#include "message/engine.hpp"
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

  // Of a chunk's memory, all of which is wiped.
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return Slots::slot_bytes(chunk_bytes); }

  const std::size_t chunk_bytes;
  const bool has_workers;
  const ForkMark mark;
  const std::shared_ptr<Budget> budget;  // keys may outlive the engine
  // Counts calls for memory that was not there: the clock of "least recently used".
  alignas(64) std::atomic<std::uint64_t> age{1};
};

// Whom a request for keystream wakes. To wake a thread takes some ten microseconds, which are
// nobody's whose data waits.
enum class Wake : unsigned { nobody, a_worker };

// Where a context's window lies, and how much it matters; in the units of ContextOptions.
struct Window {
  unsigned chunks;
  std::uint64_t first_chunk;
  std::int64_t stride;
  int priority;
  std::uint64_t last_chunk;  // that the context has
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  virtual ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

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
    bool is_gap = false;  // lies before what the search for the next chunk looks at
  };
  // What may be computed at once, where there is no time for a whole chunk: so many bytes, and of
  // chunks that nobody has begun those so many steps ahead, because the ones before will be wanted
  // too soon.
  struct Share {
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    std::int64_t first_step = 0;
  };
  // The next chunk that should be computed, or computed further, its entry held as `filling`.
  [[nodiscard]] Fill next_fill(const Share& share) noexcept;
  // Computes it as far as the share goes; the entry becomes ready or begun, or empty if the chunk
  // has been used meanwhile. The answer is how many bytes that were.
  std::size_t compute(const Fill& fill, const Share& share) noexcept;
  // An entry that has no slot.
  void give_up(const Fill& fill) noexcept;
  // Publishes keystream that was made elsewhere, as compute does.
  void deliver(const Fill& fill, Bytes keystream) noexcept;
  // Chunks that the window lacks, about: those behind the last that was asked for.
  [[nodiscard]] std::uint32_t missing() const noexcept;
  // +1 or -1 where neighbours are used one behind the other, so that a run of them is one message;
  // else 0.
  [[nodiscard]] std::int64_t run_step() const noexcept { return stride_size_ == 1 ? stride_ : 0; }
  // How a device makes a run of chunks; no key: it cannot.
  struct Run {
    const EngineRaw* key = nullptr;
    CounterBlock start = {};
  };
  [[nodiscard]] virtual Run run_from(std::uint64_t chunk) const noexcept;
  [[nodiscard]] Costs& costs() const noexcept { return key_->costs(); }
  // Both at once, where the entry has its slot from before. 0: that needs the engine.
  [[nodiscard]] std::size_t fill_again(const Share& share) noexcept;
  // Has the nearest cache fetch what the next request will want, if that is ready.
  void fetch_next() noexcept;
  [[nodiscard]] std::uint32_t depth() const noexcept {
    return depth_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] double direct_ns() const noexcept { return key_->costs().ns(Way::direct); }
  // What it takes to compute a chunk ahead, as far as that is known; and no more than twice what a
  // request for it takes, for a measurement that held something else may be all that there is.
  [[nodiscard]] double fill_ns() const noexcept {
    const Costs& costs = key_->costs();
    return costs.in_idle.is_known() ? std::min(costs.in_idle.ns(), 2 * direct_ns()) : direct_ns();
  }
  // What the kernel computes at once, as it declares: a part of a chunk that is not a multiple of
  // it wastes some. A chunk that is no longer than that is not computed in pieces.
  [[nodiscard]] std::size_t pass_bytes() const noexcept {
    return key_->kernel().lanes * key_->block_size();
  }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return shared_.chunk_bytes; }
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

 protected:
  using Lock = std::unique_lock<std::mutex>;

  Context(SpeculativeEngine& engine, Shared& shared, std::shared_ptr<BoundKey> key,
          const Window& window);

  [[nodiscard]] const Shared& shared() const noexcept { return shared_; }
  // Throws Error(failure) in a forked child.
  void refuse_in_child() const;
  // Clients' mutex. Throws Error(usage) when the context is closed.
  [[nodiscard]] Lock enter();
  // Records [first, end) as encrypted, in whatever the mode counts. Throws Error: usage, with
  // `complaint`, where some of it is recorded already, failure when the budget has no room. Gives
  // the mutex up for a moment where room has to be made.
  void claim(Lock& lock, std::uint64_t first, std::uint64_t end, const char* complaint);
  void add_used(std::uint64_t first, std::uint64_t end);

  // Where the keystream of a part of a request comes from.
  struct Part {
    Entry* entry = nullptr;    // held as `taken`, or null: to be computed
    bool is_bypassed = false;  // there is keystream, to be wiped and not used
    bool lacks_end = false;    // there is keystream for the beginning alone
    Way way = Way::direct;
    [[nodiscard]] bool has_keystream() const noexcept { return entry != nullptr && !is_bypassed; }
  };
  // What a mode makes of keystream for the beginning of a part alone.
  enum class Beginning : unsigned { is_used, is_bypassed };
  // Of the chunk so many bytes from byte `within` on; under the mutex. Slides the window.
  [[nodiscard]] Part take(std::uint64_t chunk, std::uint32_t within, std::size_t bytes,
                          Beginning beginning) noexcept;
  // Of a part that was used: its entry, with what is left.
  void give_back(Entry& entry, std::uint64_t chunk) const noexcept;
  // Of a part that was computed: wipes what keystream there was.
  void discard(const Part& part, std::uint64_t chunk) const noexcept;
  // Times a request from its first line on, if it is one that is to be timed: to read the clock
  // twice costs a fifth of an XOR.
  class Timer {
   public:
    explicit Timer(const Context& context) noexcept {
      if (context.is_timed()) {
        watch_.emplace();
      }
    }
    // Of a request for one whole chunk, which went one way from its beginning to its end.
    void add_to(Costs& costs, const Part& part) const noexcept {
      if (watch_.has_value() && (!part.lacks_end || part.is_bypassed)) {
        costs.add(part.way, watch_->elapsed_ns());
      }
    }

   private:
    std::optional<Stopwatch> watch_;
  };
  void move_window(std::uint64_t chunk);

  // Turns so many bytes of a slot, which are zero, into the chunk's keystream from byte `from` on,
  // which follows what is there.
  virtual void make_keystream(std::uint64_t chunk, std::uint8_t* slot, std::size_t from,
                              std::size_t bytes) const noexcept = 0;

 private:
  friend class SpeculativeEngine;  // under its mutex: see the members at the end

  void make_room();
  void advance(std::uint64_t chunk) noexcept;
  void publish_filled(const Fill& fill) noexcept;
  [[nodiscard]] std::int64_t steps_in_window(std::uint64_t next,
                                             std::uint64_t place) const noexcept;
  void search_again_from(std::uint64_t chunk) noexcept;
  [[nodiscard]] Fill search(std::uint64_t next, std::int64_t& step, std::int64_t end,
                            std::int64_t first_step) const noexcept;
  [[nodiscard]] bool hold_for(Entry& entry, std::uint64_t chunk, bool is_begun) const noexcept;
  [[nodiscard]] EntryState state_of_filled(const Entry& entry) const noexcept {
    return entry.fresh_end == shared_.chunk_bytes ? EntryState::ready : EntryState::begun;
  }
  [[nodiscard]] bool is_timed() const noexcept;
  void look_at_costs() noexcept;  // from time to time
  void choose_depth() noexcept;
  void try_speculation() noexcept;
  // Unless it is asked for already, or the window is full enough.
  void request_fill(Wake wake) noexcept;
  [[nodiscard]] bool is_filled() const noexcept;
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
  const std::int64_t stride_;
  const std::uint64_t stride_size_;  // without its sign
  const int priority_;
  const std::uint64_t last_chunk_;
  const std::uint32_t ring_entries_;
  const std::uint64_t ring_mask_;
  const std::uint32_t full_depth_;

  // Clients, under the mutex; what is atomic is read by the engine.
  std::mutex mutex_;
  bool is_closed_ = false;
  UsedIntervals used_;
  std::uint64_t last_used_chunk_ = Entry::no_chunk;
  std::atomic<std::uint32_t> uses_{0};
  std::uint32_t uses_since_request_ = 0;
  std::uint32_t hits_ = 0;  // since speculation was looked at last
  // Uses since it was found not to pay, and how many lie between that and the next try.
  std::uint32_t uses_without_ = 0;
  std::uint32_t uses_before_try_;
  std::atomic<bool> is_trying_;  // everything is measured, to learn what it costs
  Maker expected_;
  struct Counts {
    std::atomic<std::uint64_t> own{0}, other{0}, direct{0}, late{0}, bypassed{0};
  } counts_;
  std::atomic<Entry*> ring_{nullptr};
  std::atomic<std::uint64_t> next_;       // the chunk that is expected next
  std::atomic<bool> is_jump_{true};       // by its number, and not because it follows another
  std::atomic<std::uint32_t> depth_;      // chunks to compute ahead; 0: speculation does not pay
  std::atomic<std::uint64_t> last_used_;  // the engine's age then
  std::atomic<const void*> client_{nullptr};

  // The engine's.
  alignas(64) std::atomic<bool> is_requested_{false};  // is in the engine's list of requests
  Context* next_requested_ = nullptr;                  // the one behind it there
  std::unique_ptr<Entry[]> entries_;
  std::atomic<std::uint64_t> fill_from_;  // where the last search for a chunk to compute ended
  // Before this one lie chunks that such a search has left out, if it is ahead of the window's
  // first.
  std::atomic<std::uint64_t> gaps_until_;
  std::atomic<std::uint64_t> filled_{0};  // chunks
  // Threads that compute for it, and a bit for closing.
  static constexpr std::uint32_t closing = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> pins_{0};
  Ranking::iterator waiting_at_;  // in the engine's orders, where it is in them;
  Ranking::iterator ranked_at_;   // else it keeps the nodes
  Ranking::node_type waiting_node_;
  Ranking::node_type ranked_node_;
};

// The one that this thread has used last.
inline thread_local std::weak_ptr<Context> last_context;
inline thread_local const Context* last_context_seen =
    nullptr;  // to compare with, and not to follow

template <typename Take>
std::size_t Context::evict(const Take& take) noexcept {
  std::size_t lost = 0;
  for (std::uint32_t i = 0; entries_ != nullptr && i < ring_entries_; ++i) {
    Entry& entry = entries_[i];
    std::uint64_t word = entry.word.load(std::memory_order_acquire);
    const EntryState state = Entry::state_of(word);
    const bool has_keystream = state == EntryState::ready || state == EntryState::begun;
    if (entry.slot == nullptr || (!has_keystream && state != EntryState::empty) ||
        !entry.change(word, Entry::chunk_of(word), EntryState::evicting)) {
      continue;
    }
    lost += state == EntryState::ready ? 1 : 0;
    wipe(entry.slot, shared_.slot_bytes());
    take(entry);
    entry.slot = nullptr;
    entry.publish(has_keystream ? Entry::no_chunk : Entry::chunk_of(word), EntryState::empty);
  }
  return lost;
}

}  // namespace paes::keystream
