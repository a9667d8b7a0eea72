// SPDX-License-Identifier: Apache-2.0
// The precomputer's view of a context: a window of chunks to fill, the means to fill them, and a
// priority. The precomputer neither knows nor touches what the context's clients have encrypted.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <memory>
#include <set>

#include "core/bytes.hpp"
#include "keystream/bound_key.hpp"
#include "keystream/window.hpp"
#include "message/device.hpp"

namespace paes::keystream {

class Candidate;

// Orders candidates by priority, then by a number. The precomputer's mutex guards the order.
struct OrderKey {
  std::int64_t priority;  // the lowest comes first
  std::uint64_t at;       // then the lowest of these
  Candidate* candidate;

  auto operator<=>(const OrderKey&) const = default;
};
using Order = std::set<OrderKey>;

// A candidate's place in one order. It is made when the candidate's context is opened, and moves in
// and out of the order, so that computing keystream allocates nothing.
class Place {
 public:
  Place() {
    Order order;
    node_ = order.extract(order.insert(OrderKey{}).first);
  }
  [[nodiscard]] bool is_taken() const noexcept { return node_.empty(); }
  // Does nothing if it is there already.
  void enter(Order& order, const OrderKey& key) noexcept {
    if (!is_taken()) {
      node_.value() = key;
      at_ = order.insert(std::move(node_)).position;
    }
  }
  void leave(Order& order) noexcept {
    if (is_taken()) {
      node_ = order.extract(at_);
    }
  }

 private:
  Order::iterator at_;     // the place, if taken
  Order::node_type node_;  // the node, if not taken
};

class Candidate : public std::enable_shared_from_this<Candidate> {
 public:
  virtual ~Candidate() = default;
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  [[nodiscard]] Window& window() noexcept { return window_; }
  [[nodiscard]] const Window& window() const noexcept { return window_; }
  [[nodiscard]] Costs& costs() const noexcept { return key_->costs(); }
  [[nodiscard]] int priority() const noexcept { return priority_; }

  // Nobody starts to fill it after this call.
  void begin_closing() noexcept { is_closing_.store(true, std::memory_order_relaxed); }

  // --- For a client, under its context's mutex: notes that this thread uses it now, at this age of
  // the engine (EngineState::age).
  void note_use(std::uint64_t age) noexcept {
    last_used_.store(age, std::memory_order_relaxed);
    client_.store(this_thread(), std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t last_used() const noexcept {
    return last_used_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_used_by(const void* thread) const noexcept {
    return client_.load(std::memory_order_relaxed) == thread;
  }

  // --- For whoever fills. They hold the candidate meanwhile, so that it outlives its context's
  // close until the last of them lets go.

  [[nodiscard]] std::shared_ptr<Candidate> hold() noexcept { return weak_from_this().lock(); }
  [[nodiscard]] bool is_closing() const noexcept {
    return is_closing_.load(std::memory_order_relaxed);
  }

  // Computes the chunk within the share, and gives its entry back. Returns the number of bytes.
  std::size_t compute(const Fill& fill, const Share& share) noexcept;
  // Fills the chunk with keystream that was made elsewhere, and gives its entry back.
  void deliver(const Fill& fill, Bytes keystream) noexcept;
  // Finds the next chunk and computes it, if its entry has a slot from before. Returns 0 if there
  // is none, or if it needs a slot, which only the precomputer has.
  std::size_t fill_again(const Share& share) noexcept;
  // How a device makes the chunks from this one on. It cannot without a key.
  struct Run {
    const DeviceRaw* key = nullptr;
    CounterBlock start = {};
  };
  [[nodiscard]] virtual Run run_from(std::uint64_t) const noexcept { return {}; }

  [[nodiscard]] double direct_ns() const noexcept { return costs().ns(Way::direct); }
  // The time to compute a chunk ahead, as far as it is known. It is capped at twice the time of a
  // request, because the few measurements may include an interrupt.
  [[nodiscard]] double fill_ns() const noexcept {
    return costs().in_idle.is_known() ? std::min(costs().in_idle.ns(), 2 * direct_ns())
                                      : direct_ns();
  }
  // What the kernel computes at once. A part that is not a multiple of it wastes some work.
  [[nodiscard]] std::size_t pass_bytes() const noexcept {
    return key_->kernel().lanes * key_->block_size();
  }

  // Whether it is in the precomputer's list of requests.
  [[nodiscard]] bool is_requested() const noexcept {
    return scheduling_.is_requested.load(std::memory_order_relaxed);
  }

  // --- For the precomputer alone, under its mutex, except for the list of requests.
  struct Scheduling {
    std::atomic<bool> is_requested{false};
    Candidate* next_requested = nullptr;  // the next one in the list
    Place waiting;                        // for keystream
    Place ranked;                         // among those that hold slots
  };
  [[nodiscard]] Scheduling& scheduling() noexcept { return scheduling_; }

 protected:
  Candidate(std::shared_ptr<BoundKey> key, const WindowShape& shape, int priority,
            std::size_t chunk_bytes, std::shared_ptr<Budget> budget)
      : key_(std::move(key)), priority_(priority), window_(shape, chunk_bytes, std::move(budget)) {}

 private:
  // Turns `bytes` zero bytes of the slot, from byte `from` on, into the chunk's keystream. The slot
  // already has the keystream before `from`.
  virtual void make_keystream(std::uint64_t chunk, std::uint8_t* slot, std::size_t from,
                              std::size_t bytes) const noexcept = 0;

  const std::shared_ptr<BoundKey> key_;
  const int priority_;
  std::atomic<bool> is_closing_{false};
  std::atomic<std::uint64_t> last_used_{0};
  std::atomic<const void*> client_{nullptr};
  Window window_;
  Scheduling scheduling_;
};

// The candidate that this thread has used last, as a client. Compare the precomputer before you
// lock the candidate: if it is yours, the candidate's engine still exists. Never follow the two
// addresses, because what they pointed to may be gone. They are separate from the pointer because
// each request looks at them, and a thread's variable without a destructor is cheaper to read.
struct LastUsed {
  const void* precomputer = nullptr;
  const Candidate* address = nullptr;
};
inline thread_local LastUsed last_used_here;
inline thread_local std::weak_ptr<Candidate> last_used_candidate;

}  // namespace paes::keystream
