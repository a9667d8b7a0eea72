// Which context gets keystream next, in which memory, and who loses it for that. idle.cpp and
// workers.cpp compute it.
#include "keystream/engine.hpp"

namespace paes::keystream {

namespace {

// Of the contexts that wait, how many idle() looks at to find one of its own thread.
constexpr int most_looked_at = 64;

}  // namespace

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
Context::Fill SpeculativeEngine::next_fill(Context& context, const Context::Share& share) noexcept {
  if (!context.allocate_ring()) {
    return {};
  }
  const Context::Fill fill = context.next_fill(share);
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

bool SpeculativeEngine::fill_one(Lock& lock, Context& context,
                                 const Context::Share& share) noexcept {
  const Context::Fill fill = next_fill(context, share);
  if (fill.entry == nullptr) {
    stop_waiting(context);
    return false;
  }
  (void)context.pin();  // it waits, and is therefore not being closed
  lock.unlock();
  context.compute(fill, share);
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

}  // namespace paes::keystream
