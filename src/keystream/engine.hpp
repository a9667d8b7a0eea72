// The engine's side: which context gets keystream next, in which memory, and who computes it. One
// mutex guards all of it; clients take it only when memory or a sleeping worker is wanted.
#pragma once

#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "keystream/ctr.hpp"
#include "keystream/device.hpp"
#include "keystream/seal.hpp"
#include "keystream/slots.hpp"
#include "paes/keystream.hpp"

namespace paes::keystream {

class SpeculativeEngine {
 public:
  // With its workers, which hold it as well: when the answer's last copy goes they are told to
  // stop, and nobody waits for one that the system has set aside. Throws Error(failure) without
  // threads.
  [[nodiscard]] static std::shared_ptr<SpeculativeEngine> make(const KeystreamOptions& options);

  explicit SpeculativeEngine(const KeystreamOptions& options);
  ~SpeculativeEngine();
  SpeculativeEngine(const SpeculativeEngine&) = delete;
  SpeculativeEngine& operator=(const SpeculativeEngine&) = delete;

  [[nodiscard]] const Shared& shared() const noexcept { return shared_; }
  // A CtrKey or a SealKey, as the cipher's mode says. Measured when they are asked for first.
  [[nodiscard]] std::shared_ptr<BoundKey> bind(std::string_view cipher, Bytes key,
                                               std::string_view kernel);
  // Throw Error: usage for the other mode's key, failure when the budget has no room.
  [[nodiscard]] std::shared_ptr<CtrContext> open(const std::shared_ptr<BoundKey>& key,
                                                 const CounterBlock& first_counter,
                                                 const ContextOptions& options);
  [[nodiscard]] std::shared_ptr<SealContext> open(const std::shared_ptr<BoundKey>& key,
                                                  const MessageNonces& nonces,
                                                  const SealedOptions& options);
  // Wipes and frees it; a chunk that a worker is computing for it, when that is done.
  void close(std::shared_ptr<Context> context) noexcept;
  // Under the context's mutex, so that there is one request of it at a time. Without the engine's,
  // which is taken, and a worker woken, where all sleep and the caller has time for that.
  void request(Context& context, Wake wake) noexcept;
  // Gives keystream's memory back to the budget. False: there is none left to give.
  [[nodiscard]] bool make_room() noexcept;
  bool idle(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] KeystreamStatistics statistics() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  void refuse_in_child() const;
  void refuse_foreign(const BoundKey& key) const;
  template <typename OneContext, typename... Arguments>
  [[nodiscard]] std::shared_ptr<OneContext> admit(Arguments&&... arguments);
  void work() noexcept;
  void stop() noexcept;
  void finish_closed() noexcept;
  void release(Context& context) noexcept;
  void fill_batch(Lock& lock, Context& context) noexcept;
  std::uint32_t fill_by_device(Lock& lock, Context& context) noexcept;
  void wait_for_work(Lock& lock, unsigned& polls) noexcept;
  [[nodiscard]] bool has_requests() const noexcept {
    return requests_.load(std::memory_order_seq_cst) != nullptr;
  }
  void keep_looking() const noexcept;
  void adapt_interval(std::uint32_t chunks, std::uint32_t depth) noexcept;
  void collect_requests() noexcept;
  [[nodiscard]] Context* pick(const void* client, Context* preferred = nullptr) noexcept;
  void note_highest_waiting() noexcept;
  [[nodiscard]] Context::Fill next_fill(Context& context, const Context::Share& share) noexcept;
  bool fill_one(Lock& lock, Context& context, const Context::Share& share) noexcept;
  void stop_waiting(Context& context) noexcept;
  void rank(Context& context) noexcept;
  void rank_again(Context& context) noexcept;
  std::size_t evict(Context& context) noexcept;
  [[nodiscard]] bool evict_for(const Context& asker) noexcept;

  Shared shared_;
  std::atomic<Context*> requests_{nullptr};  // those since the last collection
  // Of those that wait, as far as is known; what idle() does without the mutex must not matter
  // less.
  std::atomic<int> highest_waiting_{std::numeric_limits<int>::min()};
  std::atomic<unsigned> awake_{0};  // workers that look at requests before long

  mutable std::mutex mutex_;
  std::condition_variable wake_;  // workers
  bool is_stopping_ = false;
  bool is_polling_ = false;                      // a worker looks at requests from time to time,
  std::chrono::microseconds poll_interval_{50};  // which is this
  std::set<Context*> contexts_;
  std::vector<std::shared_ptr<Context>> closing_;  // that somebody still computes for
  Ranking waiting_;  // for keystream: highest priority first, then first come
  Ranking ranked_;   // that hold slots: lowest priority first, then least recently used
  std::uint64_t arrivals_ = 0;
  Slots slots_;
  const std::unique_ptr<Device> device_;  // null: none
  std::atomic<std::uint64_t> device_chunks_{0};
  KeystreamUse closed_use_;
  std::uint64_t closed_filled_chunks_ = 0;
  std::uint64_t evicted_chunks_ = 0;
  // By kernel, length of the key and mode.
  std::map<std::tuple<const Kernel*, std::size_t, bool>, std::shared_ptr<Costs>> costs_;
};

}  // namespace paes::keystream
