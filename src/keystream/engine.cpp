// SPDX-License-Identifier: Apache-2.0
#include "keystream/engine.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <new>
#include <vector>

#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// A context's memory, with its places in the precomputer's orders and the allocator's share.
constexpr std::size_t context_memory_bytes =
    std::max(sizeof(CtrContext), sizeof(SealContext)) + 320;

// Adds the median of a few chunks to the key's costs.
void measure_direct(const BoundKey& key, std::size_t chunk_bytes) {
  SecretBytes chunk(chunk_bytes);
  std::array<double, 7> samples = {};
  key.compute_directly(chunk);  // warms up the caches and the processor's clock
  for (double& sample : samples) {
    const Stopwatch watch;
    key.compute_directly(chunk);
    sample = watch.elapsed_ns();
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  key.costs().add(Way::direct, samples[samples.size() / 2]);
}

void add_context(KeystreamStatistics& sum, const Context& context) noexcept {
  const KeystreamUse use = context.use();
  sum.use.own += use.own;
  sum.use.other += use.other;
  sum.use.direct += use.direct;
  sum.use.late += use.late;
  sum.use.bypassed += use.bypassed;
  sum.filled_chunks += context.window().filled();
}

}  // namespace

void abandon(std::shared_ptr<void> object) noexcept {
  try {
    static auto* const abandoned = new std::vector<std::shared_ptr<void>>;
    abandoned->push_back(std::move(object));
  } catch (const std::bad_alloc&) {
    alignas(std::shared_ptr<void>) std::byte never_destroyed[sizeof object];
    (void)new (never_destroyed)
        std::shared_ptr<void>(std::move(object));  // push_back has failed and not taken it
  }
}

std::shared_ptr<KeystreamService> KeystreamService::make(const KeystreamOptions& options) {
  const auto engine = std::make_shared<KeystreamService>(options);
  std::shared_ptr<KeystreamService> held(
      engine.get(), [engine](KeystreamService* last) { last->workers_.stop(); });
  engine->workers_.start(options.workers, options.worker_priority, engine, engine->precomputer_);
  return held;
}

KeystreamService::KeystreamService(const KeystreamOptions& options)
    : shared_{options.chunk_bytes, options.workers != 0, options.always_ahead,
              std::make_shared<Budget>(options.budget_bytes)},
      precomputer_(shared_, workers_, options.device) {}

KeystreamService::~KeystreamService() { assert(contexts_.empty()); }

std::shared_ptr<BoundKey> KeystreamService::bind(std::string_view cipher, Bytes key,
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
    bound =
        std::make_shared<CtrKey>(name, key, kernel, costs, shared_.budget, precomputer_.device());
  }
  if (costs->ns(Way::direct) == 0) {
    measure_direct(*bound, shared_.chunk_bytes);
  }
  return bound;
}

void KeystreamService::refuse_in_child() const {
  if (!shared_.mark.is_intact()) {
    throw Error(ErrorCode::failure, "keystream: a forked child cannot use its parent's engine");
  }
}

template <typename OneContext, typename... Arguments>
std::shared_ptr<OneContext> KeystreamService::admit(Arguments&&... arguments) {
  refuse_in_child();
  Reservation memory(shared_.budget, context_memory_bytes);
  while (!memory.is_granted()) {
    if (!precomputer_.make_room()) {
      throw Error(ErrorCode::failure, "keystream: the budget has no room for another context");
    }
    memory = Reservation(shared_.budget, context_memory_bytes);
  }
  auto context = std::make_shared<OneContext>(precomputer_, std::move(memory),
                                              std::forward<Arguments>(arguments)...);
  {
    const std::lock_guard lock(mutex_);
    contexts_.insert(context.get());
  }
  context->begin();
  return context;
}

template <typename OneKey>
std::shared_ptr<OneKey> KeystreamService::own(const std::shared_ptr<BoundKey>& key,
                                              const char* other_mode, const char* hint) const {
  if (!key->draws_from(*shared_.budget)) {
    throw Error(ErrorCode::usage, "key: another engine has bound it");
  }
  auto own = std::dynamic_pointer_cast<OneKey>(key);
  if (own == nullptr) {
    throw Error(ErrorCode::usage, std::string("key: it is bound to ") + other_mode, hint);
  }
  return own;
}

std::shared_ptr<CtrContext> KeystreamService::open(const std::shared_ptr<BoundKey>& key,
                                                   const CounterBlock& first_counter,
                                                   const ContextOptions& options) {
  return admit<CtrContext>(own<CtrKey>(key, "GCM", "open_sealed takes it"), first_counter, options);
}

std::shared_ptr<SealContext> KeystreamService::open(const std::shared_ptr<BoundKey>& key,
                                                    std::unique_ptr<const MessageIvs> ivs,
                                                    const SealedOptions& options) {
  return admit<SealContext>(own<SealKey>(key, "counter mode", "open takes it"), std::move(ivs),
                            options);
}

void KeystreamService::close(const std::shared_ptr<Context>& context) noexcept {
  {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context.get());
    add_context(closed_, *context);
  }
  precomputer_.close(*context);
}

KeystreamStatistics KeystreamService::statistics() const {
  refuse_in_child();
  KeystreamStatistics statistics;
  {
    const std::lock_guard lock(mutex_);
    statistics = closed_;
    for (const Context* context : contexts_) {
      add_context(statistics, *context);
    }
  }
  precomputer_.add_to(statistics);
  statistics.memory_bytes = shared_.budget->used_bytes();
  statistics.is_wiped_in_children = shared_.mark.is_wiped_in_children();
  return statistics;
}

}  // namespace paes::keystream
