// The engine's own threads. They run when nothing else wants the processor, so that speculation
// takes time from nobody, and they take no signals, which are the host program's.
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
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
  } catch (const std::exception&) {  // the limit of threads, or memory
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
  std::uint32_t chunks = fill_by_device(lock, context);
  lock.unlock();
  while (chunks < most_chunks_at_once && context.fill_again({}) != 0) {
    ++chunks;
  }
  lock.lock();
  // One more may want memory, or there is nothing more to do.
  if (chunks < most_chunks_at_once && !context.is_closing()) {
    fill_one(lock, context, {});
  }
  adapt_interval(chunks, context.depth());
  rank_again(context);
  context.unpin();
  finish_closed();
}

// A run of chunks that the window lacks, where the device is worth it. Held by the caller: the
// mutex, which is given up while the device works, and a pin. The answer is how many chunks there
// are more.
std::uint32_t SpeculativeEngine::fill_by_device(Lock& lock, Context& context) noexcept {
  if (device_ == nullptr || context.run_step() == 0 || context.missing() < Device::least_chunks ||
      context.run_from(0).key == nullptr || !device_->pays(context.costs())) {
    return 0;
  }
  std::array<Context::Fill, Device::most_chunks> fills;
  std::size_t count = 0;
  std::size_t in_run = 0;  // of these, until something lies between
  const auto step = static_cast<std::uint64_t>(context.run_step());
  while (count < fills.size() && in_run == count) {
    const Context::Fill fill = next_fill(context, {});
    if (fill.entry == nullptr) {
      break;
    }
    fills[count] = fill;
    in_run += fill.chunk == fills[0].chunk + count * step ? 1U : 0U;
    ++count;
  }
  lock.unlock();
  if (in_run < Device::least_chunks) {
    in_run = 0;
  } else {
    const bool goes_up = context.run_step() > 0;
    const Context::Run run = context.run_from(fills[goes_up ? 0 : in_run - 1].chunk);
    const bool is_made = device_->make(
        *run.key, run.start, in_run, context.costs(), [&](std::size_t i, Bytes keystream) {
          context.deliver(fills[goes_up ? i : in_run - 1 - i], keystream);
        });
    in_run = is_made ? in_run : 0;
    device_chunks_.fetch_add(in_run, std::memory_order_relaxed);
  }
  for (std::size_t i = in_run; i < count; ++i) {
    context.compute(fills[i], {});
  }
  lock.lock();
  return static_cast<std::uint32_t>(count);
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
