#include "keystream/engine.hpp"

#include <algorithm>
#include <cassert>

#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// A context with its nodes in the engine's orders and what the allocator adds.
constexpr std::size_t context_memory_bytes =
    std::max(sizeof(CtrContext), sizeof(SealContext)) + 320;

// Of the contexts that wait, how many idle() looks at to find one of its own thread.
constexpr int most_looked_at = 64;

using Clock = std::chrono::steady_clock;

// Nothing is begun that would end too late, but for a tenth.
bool has_time(Clock::time_point deadline, const Context& context) noexcept {
  const std::chrono::duration<double, std::nano> left = deadline - Clock::now();
  return left.count() >= 1.1 * context.direct_ns();
}

// False: the time was too short for all that could be done.
bool fill_until(Clock::time_point deadline, Context& context) noexcept {
  do {
    if (!has_time(deadline, context)) {
      return false;
    }
  } while (context.fill_again());
  return true;
}

}  // namespace

SpeculativeEngine::SpeculativeEngine(const KeystreamOptions& options)
    : shared_(options.budget_bytes, options.chunk_bytes, options.workers != 0),
      slots_(options.chunk_bytes, *shared_.budget),
      device_(options.device == nullptr || options.workers == 0
                  ? nullptr
                  : std::make_unique<Device>(options.device, options.chunk_bytes, shared_.budget)) {
}

SpeculativeEngine::~SpeculativeEngine() { assert(contexts_.empty()); }

std::shared_ptr<BoundKey> SpeculativeEngine::bind(std::string_view cipher, Bytes key,
                                                  std::string_view kernel_name) {
  refuse_in_child();
  const CipherName& name = find_cipher_name(cipher);
  if (!name.is_gcm() && *name.mode != Mode::ctr) {
    throw Error(ErrorCode::usage, "keystream: " + name.name + " is neither counter mode nor GCM",
                "there is: aes-128-ctr, aes-192-ctr, aes-256-ctr, des-ede3-ctr, and AES-GCM");
  }
  if (key.size() != name.key_bytes) {
    throw Error(ErrorCode::usage,
                "key: " + name.name + " takes " + std::to_string(name.key_bytes) + " bytes");
  }
  const Kernel& kernel = find_kernel(name, kernel_name);
  std::shared_ptr<Costs> costs;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Costs>& known = costs_[{&kernel, key.size(), name.is_gcm()}];
    if (known == nullptr) {
      known = std::make_shared<Costs>();
    }
    costs = known;
  }
  std::shared_ptr<BoundKey> bound;
  if (name.is_gcm()) {
    bound = std::make_shared<SealKey>(key, kernel, costs, shared_.budget);
  } else {
    bound = std::make_shared<CtrKey>(name, key, kernel, costs, shared_.budget,
                                     device_ != nullptr ? device_->engine() : nullptr);
  }
  if (costs->ns(Way::direct) == 0) {
    measure_direct(*bound, shared_.chunk_bytes);
  }
  return bound;
}

void SpeculativeEngine::refuse_in_child() const {
  if (!shared_.mark.is_intact()) {
    throw Error(ErrorCode::failure, "keystream: a forked child cannot use its parent's engine");
  }
}

template <typename OneContext, typename... Arguments>
std::shared_ptr<OneContext> SpeculativeEngine::admit(Arguments&&... arguments) {
  while (!shared_.budget->reserve(context_memory_bytes)) {
    if (!make_room()) {
      throw Error(ErrorCode::failure, "keystream: the budget has no room for another context");
    }
  }
  std::shared_ptr<OneContext> admitted;
  try {
    admitted = std::make_shared<OneContext>(*this, shared_, std::forward<Arguments>(arguments)...);
    Context& context = *admitted;
    Ranking nodes;
    context.waiting_node_ = nodes.extract(nodes.insert({0, 0, nullptr}).first);
    context.ranked_node_ = nodes.extract(nodes.insert({0, 0, nullptr}).first);
    const std::lock_guard lock(mutex_);
    closing_.reserve(contexts_.size() + 1);  // so that closing allocates nothing
    contexts_.insert(&context);
  } catch (...) {
    shared_.budget->release(context_memory_bytes);
    throw;
  }
  Context& context = *admitted;
  const std::lock_guard lock(context.mutex_);
  context.request_fill(Wake::a_worker);
  return admitted;
}

void SpeculativeEngine::refuse_foreign(const BoundKey& key) const {
  if (!key.draws_from(*shared_.budget)) {
    throw Error(ErrorCode::usage, "key: another engine has bound it");
  }
}

std::shared_ptr<CtrContext> SpeculativeEngine::open(const std::shared_ptr<BoundKey>& key,
                                                    const Block& first_counter,
                                                    const ContextOptions& options) {
  refuse_foreign(*key);
  auto ctr = std::dynamic_pointer_cast<CtrKey>(key);
  if (ctr == nullptr) {
    throw Error(ErrorCode::usage, "key: it is bound to GCM", "open_sealed takes it");
  }
  return admit<CtrContext>(std::move(ctr), first_counter, options);
}

std::shared_ptr<SealContext> SpeculativeEngine::open(const std::shared_ptr<BoundKey>& key,
                                                     const MessageNonces& nonces,
                                                     const SealedOptions& options) {
  refuse_foreign(*key);
  auto seal = std::dynamic_pointer_cast<SealKey>(key);
  if (seal == nullptr) {
    throw Error(ErrorCode::usage, "key: it is bound to counter mode", "open takes it");
  }
  return admit<SealContext>(std::move(seal), nonces, options);
}

void SpeculativeEngine::close(std::shared_ptr<Context> context) noexcept {
  {
    const std::lock_guard lock(context->mutex_);
    context->is_closed_ = true;
  }
  const Lock lock(mutex_);
  collect_requests();
  stop_waiting(*context);
  (void)context->pins_.fetch_or(Context::closing, std::memory_order_acq_rel);
  evict(*context);
  closing_.push_back(std::move(context));
  finish_closed();
}

// Of those that are closed the ones that nobody computes for any more.
void SpeculativeEngine::finish_closed() noexcept {
  std::erase_if(closing_, [this](const std::shared_ptr<Context>& context) {
    const bool is_free = context->pins_.load(std::memory_order_acquire) == Context::closing;
    if (is_free) {
      release(*context);
    }
    return is_free;
  });
}

void SpeculativeEngine::release(Context& context) noexcept {
  evict(context);
  context.release_ring();
  contexts_.erase(&context);
  const KeystreamUse use = context.use();
  closed_use_.own += use.own;
  closed_use_.other += use.other;
  closed_use_.direct += use.direct;
  closed_use_.late += use.late;
  closed_use_.bypassed += use.bypassed;
  closed_filled_chunks_ += context.filled_.load(std::memory_order_relaxed);
  context.used_.clear();
  shared_.budget->release(context_memory_bytes);
}

void SpeculativeEngine::request(Context& context, Wake wake) noexcept {
  Context* first = requests_.load(std::memory_order_relaxed);
  do {
    context.next_requested_ = first;
  } while (!requests_.compare_exchange_weak(first, &context, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  if (shared_.has_workers && wake == Wake::a_worker &&
      awake_.load(std::memory_order_seq_cst) == 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_one();
  }
}

void SpeculativeEngine::collect_requests() noexcept {
  Context* requested = requests_.exchange(nullptr, std::memory_order_seq_cst);
  while (requested != nullptr) {
    Context& context = *requested;
    requested = context.next_requested_;
    // From here on it may be requested again. What its clients have written before, the exchange
    // shows.
    (void)context.is_requested_.exchange(false, std::memory_order_acq_rel);
    if (!context.waiting_node_.empty()) {
      context.waiting_node_.value() = {-context.priority_, ++arrivals_, &context};
      context.waiting_at_ = waiting_.insert(std::move(context.waiting_node_)).position;
    }
  }
  note_highest_waiting();
}

void SpeculativeEngine::note_highest_waiting() noexcept {
  highest_waiting_.store(
      waiting_.empty() ? std::numeric_limits<int>::min() : waiting_.begin()->context->priority_,
      std::memory_order_relaxed);
}

void SpeculativeEngine::stop_waiting(Context& context) noexcept {
  if (context.waiting_node_.empty()) {
    context.waiting_node_ = waiting_.extract(context.waiting_at_);
    note_highest_waiting();
  }
}

Context* SpeculativeEngine::pick(const void* client, Context* preferred) noexcept {
  collect_requests();
  if (waiting_.empty()) {
    return nullptr;
  }
  if (client == nullptr) {
    return waiting_.begin()->context;
  }
  int looked_at = 0;
  for (const Ranked& ranked : waiting_) {
    if (ranked.context->is_used_by(client)) {
      return ranked.context;
    }
    if (++looked_at == most_looked_at) {
      break;
    }
  }
  const bool waits = preferred != nullptr && preferred->waiting_node_.empty();
  return waits ? preferred : nullptr;
}

// With a slot for it.
Context::Fill SpeculativeEngine::next_fill(Context& context) noexcept {
  if (!context.allocate_ring()) {
    return {};
  }
  const Context::Fill fill = context.next_fill();
  if (fill.entry == nullptr) {
    return fill;
  }
  if (fill.entry->slot == nullptr) {
    Slots::Slot slot = slots_.take();
    if (slot.bytes == nullptr && evict_for(context)) {
      slot = slots_.take();
    }
    if (slot.bytes == nullptr) {
      context.give_up(fill);
      return {};
    }
    fill.entry->slot = slot.bytes;
    fill.entry->slab = slot.slab;
  }
  rank(context);
  return fill;
}

bool SpeculativeEngine::fill_one(Lock& lock, Context& context) noexcept {
  const Context::Fill fill = next_fill(context);
  if (fill.entry == nullptr) {
    stop_waiting(context);
    return false;
  }
  (void)context.pin();  // it waits, and is therefore not being closed
  lock.unlock();
  context.compute(fill);
  lock.lock();
  rank_again(context);
  context.unpin();
  return true;
}

// It may have been evicted meanwhile, but for what was being computed.
void SpeculativeEngine::rank_again(Context& context) noexcept {
  if (!context.is_closing()) {
    rank(context);
  }
}

void SpeculativeEngine::rank(Context& context) noexcept {
  if (!context.ranked_node_.empty()) {
    context.ranked_node_.value() = {context.priority_,
                                    context.last_used_.load(std::memory_order_relaxed), &context};
    context.ranked_at_ = ranked_.insert(std::move(context.ranked_node_)).position;
  }
}

std::size_t SpeculativeEngine::evict(Context& context) noexcept {
  std::size_t slots = 0;
  evicted_chunks_ += context.evict([&](const Entry& entry) {
    slots_.give_back({entry.slot, entry.slab});
    ++slots;
  });
  if (context.ranked_node_.empty()) {
    context.ranked_node_ = ranked_.extract(context.ranked_at_);
  }
  context.fill_from_.store(context.next_.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  return slots;
}

// Whoever asks must matter more than whoever loses: by priority, then by having been used later.
bool SpeculativeEngine::evict_for(const Context& asker) noexcept {
  shared_.age.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t asker_used = asker.last_used_.load(std::memory_order_relaxed);
  while (!ranked_.empty()) {
    const auto first = ranked_.begin();
    Context& context = *first->context;
    const std::uint64_t last_used = context.last_used_.load(std::memory_order_relaxed);
    if (last_used != first->at) {  // used since it was put here
      context.ranked_node_ = ranked_.extract(first);
      rank(context);
      continue;
    }
    if (&context == &asker || context.priority_ > asker.priority_ ||
        (context.priority_ == asker.priority_ && last_used >= asker_used)) {
      return false;
    }
    if (evict(context) != 0) {
      return true;
    }
  }
  return false;
}

bool SpeculativeEngine::make_room() noexcept {
  const std::lock_guard lock(mutex_);
  while (!slots_.shrink()) {
    if (ranked_.empty()) {
      return false;
    }
    evict(*ranked_.begin()->context);
  }
  return true;
}

bool SpeculativeEngine::idle(Clock::time_point deadline) noexcept {
  if (!shared_.mark.is_intact()) {
    return false;
  }
  const void* const client = is_client_thread ? this_thread() : nullptr;
  // The context that this thread used last comes first, for which no mutex is needed: a worker may
  // hold it and have been set aside by the system, and the caller's time is short.
  const std::shared_ptr<Context> last = last_context.lock();
  const bool is_here = last != nullptr && &last->engine_ == this && client != nullptr;
  if (has_requests()) {
    if (const Lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
      collect_requests();
    }
  }
  if (is_here && last->is_used_by(client) &&
      last->priority_ >= highest_waiting_.load(std::memory_order_relaxed)) {
    const bool is_pinned = last->pin();
    bool is_in_time = true;
    if (is_pinned) {
      is_in_time = fill_until(deadline, *last);
      last->fetch_next();
      last->unpin();
    }
    if (last->is_closing()) {
      const Lock lock(mutex_);
      finish_closed();
    }
    if (!is_in_time) {
      return true;
    }
  }
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return true;
  }
  while (Context* const context = pick(client, is_here ? last.get() : nullptr)) {
    if (!has_time(deadline, *context)) {
      return true;
    }
    fill_one(lock, *context);
    finish_closed();
  }
  return false;
}

KeystreamStatistics SpeculativeEngine::statistics() const {
  refuse_in_child();
  const std::lock_guard lock(mutex_);
  KeystreamStatistics statistics;
  statistics.use = closed_use_;
  statistics.filled_chunks = closed_filled_chunks_;
  for (const Context* context : contexts_) {
    const KeystreamUse use = context->use();
    statistics.use.own += use.own;
    statistics.use.other += use.other;
    statistics.use.direct += use.direct;
    statistics.use.late += use.late;
    statistics.use.bypassed += use.bypassed;
    statistics.filled_chunks += context->filled_.load(std::memory_order_relaxed);
  }
  statistics.device_chunks = device_chunks_.load(std::memory_order_relaxed);
  statistics.evicted_chunks = evicted_chunks_;
  statistics.memory_bytes = shared_.budget->used_bytes();
  statistics.keystream_bytes = slots_.bytes();
  statistics.unlocked_bytes = slots_.unlocked_bytes();
  if (device_ != nullptr) {
    statistics.keystream_bytes += device_->memory_bytes();
    statistics.unlocked_bytes += device_->unlocked_bytes();
  }
  statistics.is_wiped_in_children = shared_.mark.is_wiped_in_children();
  return statistics;
}

}  // namespace paes::keystream
