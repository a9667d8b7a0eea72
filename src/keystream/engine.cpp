// What an engine has: keys and contexts, from their coming to their going, and what it says of
// them.
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

}  // namespace

SpeculativeEngine::SpeculativeEngine(const KeystreamOptions& options)
    : shared_(options.budget_bytes, options.chunk_bytes, options.workers != 0),
      slots_(options.chunk_bytes, *shared_.budget),
      device_(options.device == nullptr
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
  refuse_in_child();
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
                                                    const CounterBlock& first_counter,
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
