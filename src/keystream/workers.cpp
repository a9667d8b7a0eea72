// The engine's own threads. They run when nothing else wants the processor, so that speculation
// takes time from nobody, and they take no signals, which are the host program's.
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <thread>

#include "keystream/engine.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

using std::chrono::microseconds;

// Between two looks at the requests. It adapts: a window that is found drained halves it, one that
// has more than half of its keystream left makes it longer, because each look costs an interrupt,
// and perhaps a client's processor. Below the shortest a worker keeps looking.
constexpr microseconds shortest_interval{20};
constexpr microseconds longest_interval{1000};
constexpr microseconds longer_by{10};
constexpr microseconds longest_look{100};
// After so many looks that bring nothing the times between double, up to four looks in a second.
// Sooner than that a prefetch wakes the worker; a request that encrypts never does.
constexpr unsigned most_polls = 50;
constexpr microseconds longest_sleep{256000};

constexpr std::uint32_t most_chunks_at_once = 16;

void run_when_idle() noexcept {
  // Hardening of the promise to take time from nobody; without it workers compete as any thread.
  sched_param parameters = {};
  (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameters);
  (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

}  // namespace

std::shared_ptr<SpeculativeEngine> SpeculativeEngine::make(const KeystreamOptions& options) {
  const auto engine = std::make_shared<SpeculativeEngine>(options);
  std::shared_ptr<SpeculativeEngine> held(engine.get(),
                                          [engine](SpeculativeEngine* last) { last->stop(); });
  engine->awake_.store(options.workers, std::memory_order_relaxed);
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_all = true;
  try {
    for (unsigned i = 0; i < options.workers; ++i) {
      std::thread([engine] { engine->work(); }).detach();
    }
  } catch (const std::system_error&) {
    has_all = false;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_all) {
    throw Error(ErrorCode::failure, "keystream: the system does not give that many threads");
  }
  return held;
}

void SpeculativeEngine::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
}

void SpeculativeEngine::work() noexcept {
  run_when_idle();
  unsigned polls = 0;
  Lock lock(mutex_);
  while (!is_stopping_) {
    Context* const context = pick(nullptr);
    if (context == nullptr) {
      wait_for_work(lock, polls);
      continue;
    }
    polls = 0;
    if (waiting_.size() > 1) {
      wake_.notify_one();
    }
    fill_batch(lock, *context);
  }
}

// Most chunks are computed without the mutex. Seldom enough for that, and often enough for a
// context that matters more, the order of work is looked at again.
void SpeculativeEngine::fill_batch(Lock& lock, Context& context) noexcept {
  (void)context.pin();  // it waits, and is therefore not being closed
  lock.unlock();
  std::uint32_t chunks = 0;
  while (chunks < most_chunks_at_once && context.fill_again()) {
    ++chunks;
  }
  lock.lock();
  // One more may want memory, or there is nothing more to do.
  if (chunks < most_chunks_at_once && !context.is_closing()) {
    fill_one(lock, context);
  }
  adapt_interval(chunks, context.depth());
  context.unpin();
  finish_closed();
}

void SpeculativeEngine::adapt_interval(std::uint32_t chunks, std::uint32_t depth) noexcept {
  if (chunks >= std::min<std::uint32_t>(depth - depth / 4, most_chunks_at_once)) {
    poll_interval_ /= 2;
    if (poll_interval_ < shortest_interval) {
      poll_interval_ = microseconds::zero();
    }
  } else if (chunks <= depth / 2) {
    poll_interval_ = std::min(poll_interval_ + longer_by, longest_interval);
  }
}

// For a moment, giving way to whoever wants the processor.
void SpeculativeEngine::keep_looking() const noexcept {
  const auto end = std::chrono::steady_clock::now() + longest_look;
  while (!has_requests() && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
}

void SpeculativeEngine::wait_for_work(Lock& lock, unsigned& polls) noexcept {
  const bool is_looking = !is_polling_;
  if (is_looking && polls < most_polls) {
    is_polling_ = true;
    const microseconds interval = poll_interval_;
    lock.unlock();
    if (interval == microseconds::zero()) {
      keep_looking();
    }
    while (!has_requests() && ++polls < most_polls) {
      std::this_thread::sleep_for(std::max(interval, shortest_interval));
    }
    lock.lock();
    is_polling_ = false;
    return;
  }
  // A client looks at `awake_` after its request, and this at the requests after `awake_`: one of
  // them sees the other.
  awake_.fetch_sub(1, std::memory_order_seq_cst);
  const auto has_work = [this] { return is_stopping_ || !waiting_.empty() || has_requests(); };
  if (is_looking) {
    is_polling_ = true;
    const unsigned doublings = std::min(polls++ - most_polls, 8U);
    wake_.wait_for(lock, std::min(longest_interval * (1U << doublings), longest_sleep), has_work);
    is_polling_ = false;
  } else {
    wake_.wait(lock, has_work);
  }
  awake_.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace paes::keystream
