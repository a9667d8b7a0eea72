// SPDX-License-Identifier: Apache-2.0
#include "exec/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "core/residue.hpp"
#include "exec/first_error.hpp"
#include "exec/futex.hpp"
#include "exec/processors.hpp"
#include "exec/schedule/schedule_row.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// Enough for what a body calls, and little where memory is limited (ulimit -v). A limit of the
// user's (ulimit -s) does not count here.
constexpr std::size_t stack_bytes = std::size_t{2} << 20;

// One call of for_each() or, as a team, of on_each_thread(). It lives on its caller's stack. What
// is no atomic belongs to the pool's mutex.
struct Call {
  const std::function<void(std::size_t)>& fn;
  const std::size_t count;
  const bool is_team;
  unsigned places = 0;  // threads that may still join
  std::uint32_t generation = 0;
  bool is_closed = false;  // the caller has done its part
  Call* before = nullptr;
  Call* after = nullptr;
  FirstError error{};
  std::atomic<std::size_t> next{0};
  std::atomic<unsigned> helpers{0};  // threads of the pool that are in it
  std::atomic<std::uint32_t> is_over{0};

  // In a team each thread has one index, the number of the thread; the caller's is 0.
  void run_one() {
    const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
    error.guard([&] { fn(index); });
  }
  // Until no index is left. A thread of the pool leaves when others should have it.
  template <typename ShouldLeave>
  void run_indexes(ShouldLeave&& should_leave) {
    while (!error.has_stopped() && !should_leave()) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) {
        return;
      }
      error.guard([&] { fn(index); });
    }
  }
  [[nodiscard]] bool wants_help() const noexcept {
    return places != 0 &&
           (is_team || (next.load(std::memory_order_relaxed) < count && !error.has_stopped()));
  }
};

class Pool {
 public:
  // Before the first call. Throws std::bad_alloc if nobody would tell the pool of forks.
  void prepare(bool is_told_of_forks) {
    if (!is_told_of_forks) {
      throw std::bad_alloc();
    }
    const std::lock_guard lock(mutex_);
    if (processors_ == 0) {
      processors_ = usable_processors();
    }
  }

  // During a fork nobody changes the pool, which the child needs in order.
  void begin_fork() noexcept { mutex_.lock(); }
  void end_fork() noexcept { mutex_.unlock(); }
  // The child has only the forking thread.
  void end_fork_in_child() noexcept {
    generation_.fetch_add(1, std::memory_order_relaxed);
    first_ = nullptr;
    callers_.store(0, std::memory_order_relaxed);
    threads_ = idle_ = promised_ = in_teams_ = loops_ = kept_ = 0;
    share_out();
    mutex_.unlock();
  }

  // Makes sure that there are that many threads that no team has, and keeps them from now on.
  void keep(unsigned threads) {
    const std::lock_guard lock(mutex_);
    while (threads_ - in_teams_ < threads) {
      if (!start_one()) {
        throw_too_few(threads_ - in_teams_, threads);
      }
    }
    kept_ = std::max(kept_, threads);
  }

  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn, unsigned threads) {
    const Caller caller(*this);
    Call call{.fn = fn, .count = count, .is_team = false};
    // Callers work themselves. Help beyond the processors is for those who have asked for it.
    const unsigned most = std::max(processors_, threads);
    const unsigned free = most > caller.number() ? most - caller.number() : 0;
    const auto wanted =
        static_cast<unsigned>(std::min<std::size_t>({count - 1, threads - 1, free}));
    if (wanted != 0) {
      open(call, wanted);
    }
    call.run_indexes([] { return false; });
    if (wanted != 0) {
      close(call);
    }
    call.error.rethrow();
  }

  void as_team(const std::function<void(std::size_t)>& fn, unsigned threads) {
    const Caller caller(*this);
    Call call{.fn = fn, .count = threads, .is_team = true};
    open_team(call);
    call.error.guard([&] { fn(0); });
    close(call);
    call.error.rethrow();
  }

 private:
  // Counts the threads that are in calls of their own. Without the mutex: where they are more than
  // the processors, one that holds it may have to wait for a processor, and the others for it.
  class Caller {
   public:
    explicit Caller(Pool& pool) noexcept
        : pool_(pool),
          generation_(pool.generation()),
          number_(pool.callers_.fetch_add(1, std::memory_order_relaxed) + 1) {}
    ~Caller() {
      // A child that was forked in the meantime has counted anew.
      if (generation_ == pool_.generation()) {
        pool_.callers_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    [[nodiscard]] unsigned number() const noexcept { return number_; }

   private:
    Pool& pool_;
    std::uint32_t generation_;
    unsigned number_;
  };

  void open(Call& call, unsigned wanted) {
    unsigned woken = 0;
    {
      const std::lock_guard lock(mutex_);
      call.generation = generation();
      const unsigned enough = std::max(most_idle(), wanted);
      while (idle_ - promised_ < wanted && threads_ - in_teams_ < enough && start_one()) {
        kept_ = std::max(kept_, wanted);
      }
      call.places = wanted;
      add(call);
      share_out();
      woken = std::min(wanted, idle_);
      signal_.fetch_add(1, std::memory_order_relaxed);
    }
    wake(woken);
  }

  void open_team(Call& call) {
    const auto wanted = static_cast<unsigned>(call.count - 1);
    {
      const std::lock_guard lock(mutex_);
      call.generation = generation();
      while (idle_ - promised_ < wanted) {
        if (!start_one()) {
          throw_too_few(idle_ - promised_, wanted);
        }
      }
      call.next = 1;
      call.places = wanted;
      promised_ += wanted;
      in_teams_ += wanted;
      add(call);
      share_out();
      signal_.fetch_add(1, std::memory_order_relaxed);
    }
    wake(wanted);
  }

  // Returns when no other thread is in the call.
  void close(Call& call) {
    {
      const std::lock_guard lock(mutex_);
      if (call.generation != generation()) {
        call.error.rethrow();
        throw_if_lost(call);
        return;
      }
      call.is_closed = true;
      if (!call.is_team) {
        call.places = 0;
        remove(call);
        share_out();
      }
      if (is_over(call)) {
        return;
      }
    }
    while (call.is_over.load(std::memory_order_acquire) == 0) {
      wait_while(call.is_over, 0);
    }
  }

  static bool is_over(const Call& call) noexcept {
    return call.is_closed && call.places == 0 && call.helpers.load(std::memory_order_relaxed) == 0;
  }

  // In a child that was forked within the call: its other threads are gone, with what they had in
  // hand.
  static void throw_if_lost(const Call& call) {
    if (call.helpers.load(std::memory_order_relaxed) != 0 || (call.is_team && call.places != 0)) {
      throw Error(ErrorCode::failure, "threads: those of a call were lost in a fork");
    }
  }

  static void begin_work() noexcept;

  // What each thread of the pool does.
  void work() noexcept {
    const WipeResidueOnExit wiped;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (Call* const call = choose(); call != nullptr) {
        help(*call, lock);
      } else if (idle_ > most_idle()) {
        break;
      } else {
        const std::uint32_t seen = signal_.load(std::memory_order_relaxed);
        lock.unlock();
        wait_while(signal_, seen);
        lock.lock();
      }
    }
    --idle_;
    --threads_;
  }

  void help(Call& call, std::unique_lock<std::mutex>& lock) {
    const std::uint32_t generation_before = generation();
    --idle_;
    --call.places;
    call.helpers.fetch_add(1, std::memory_order_relaxed);
    if (call.is_team) {
      --promised_;
      if (call.places == 0) {
        remove(call);
      }
    }
    share_out();
    lock.unlock();
    if (call.is_team) {
      call.run_one();
    } else {
      call.run_indexes([&] {
        return call.helpers.load(std::memory_order_relaxed) >
               most_helpers_.load(std::memory_order_relaxed);
      });
    }
    lock.lock();
    if (generation_before != generation()) {
      std::abort();  // a body has forked, and the child has left it: nobody is there to go back to
    }
    ++idle_;
    call.helpers.fetch_sub(1, std::memory_order_relaxed);
    if (call.is_team) {
      --in_teams_;
    } else if (!call.is_closed) {
      ++call.places;
    }
    share_out();
    if (is_over(call)) {
      // Its caller may go, and the call with it, as soon as it sees this.
      const auto* const number = &call.is_over;
      call.is_over.store(1, std::memory_order_release);
      wake_sleepers(number, 1);
    }
  }

  // The call that a thread should join: a team, because its caller waits, or the one that has
  // fewest threads.
  [[nodiscard]] Call* choose() const noexcept {
    Call* best = nullptr;
    for (Call* call = first_; call != nullptr; call = call->after) {
      if (!call->wants_help()) {
        continue;
      }
      if (call->is_team) {
        return call;
      }
      if (best == nullptr || call->helpers.load(std::memory_order_relaxed) <
                                 best->helpers.load(std::memory_order_relaxed)) {
        best = call;
      }
    }
    return best;
  }

  void add(Call& call) noexcept {
    call.after = first_;
    if (first_ != nullptr) {
      first_->before = &call;
    }
    first_ = &call;
    loops_ += call.is_team ? 0 : 1;
  }

  void remove(Call& call) noexcept {
    (call.before != nullptr ? call.before->after : first_) = call.after;
    if (call.after != nullptr) {
      call.after->before = call.before;
    }
    loops_ -= call.is_team ? 0 : 1;
  }

  // Threads leave calls that have more than their share while another call lacks some.
  void share_out() noexcept {
    const unsigned share = std::max((threads_ - in_teams_) / std::max(loops_, 1U), 1U);
    bool is_lacking = false;
    for (const Call* call = first_; loops_ > 1 && call != nullptr; call = call->after) {
      is_lacking |= !call->is_team && call->wants_help() &&
                    call->helpers.load(std::memory_order_relaxed) < share;
    }
    most_helpers_.store(is_lacking ? share : max_threads, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] unsigned most_idle() const noexcept { return std::max(kept_, processors_ - 1); }

  void wake(unsigned threads) const noexcept {
    if (threads != 0) {
      wake_sleepers(&signal_, threads);
    }
  }

  // False if the system refuses.
  bool start_one() noexcept {
    sigset_t blocked;
    sigset_t before;
    (void)sigfillset(&blocked);
    for (const int own :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGXFSZ}) {
      (void)sigdelset(&blocked, own);
    }
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
      return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread = {};
    const auto begin = [](void*) -> void* {
      (void)pthread_setname_np(pthread_self(), "paes");
      begin_work();
      return nullptr;
    };
    const bool is_started = pthread_create(&thread, &attributes, begin, nullptr) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
    (void)pthread_attr_destroy(&attributes);
    if (is_started) {
      ++threads_;
      ++idle_;
    }
    return is_started;
  }

  [[noreturn]] static void throw_too_few(unsigned helpers, unsigned wanted) {
    const std::string possible = std::to_string(helpers + 1);
    throw Error(
        ErrorCode::failure,
        "threads: only " + possible + " of " + std::to_string(wanted + 1) + " could be started",
        "give -T " + possible + ", or look at the limits: ulimit -u, ulimit -v");
  }

  std::mutex mutex_;
  unsigned processors_ = 0;
  std::atomic<std::uint32_t> generation_{0};  // counts forks
  std::atomic<unsigned> callers_{0};
  Call* first_ = nullptr;                            // calls that threads may join
  unsigned loops_ = 0;                               // of these, the ones of for_each()
  unsigned threads_ = 0;                             // of the pool
  unsigned idle_ = 0;                                // of these, the ones that are in no call
  unsigned promised_ = 0;                            // of these, the ones that teams still wait for
  unsigned in_teams_ = 0;                            // threads that teams have or wait for
  unsigned kept_ = 0;                                // idle threads that do not end
  std::atomic<unsigned> most_helpers_{max_threads};  // of a call of for_each(); more leave it
  std::atomic<std::uint32_t> signal_{0};             // changes when there is a call to join
};

// Never destroyed: its threads, and callers that nobody joins, use it until the process ends.
union PoolStorage {
  constexpr PoolStorage() noexcept : pool() {}
  ~PoolStorage() {}
  Pool pool;
};
constinit PoolStorage storage;

void Pool::begin_work() noexcept { storage.pool.work(); }

// From the time when this code is loaded on, so that no fork comes too early.
const bool is_told_of_forks =
    pthread_atfork([] { storage.pool.begin_fork(); }, [] { storage.pool.end_fork(); },
                   [] { storage.pool.end_fork_in_child(); }) == 0;

class ThreadPoolExecutor final : public Executor {
 public:
  explicit ThreadPoolExecutor(unsigned threads) : threads_(threads) {
    storage.pool.prepare(is_told_of_forks);
  }

  [[nodiscard]] unsigned threads() const noexcept override { return threads_; }

  void start() const override { storage.pool.keep(threads_ - 1); }

  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    if (count > 1) {
      storage.pool.for_each(count, fn, threads_);
    } else if (count == 1) {
      fn(0);
    }
  }

  void on_each_thread(const std::function<void(unsigned)>& fn) const override {
    storage.pool.as_team([&](std::size_t thread) { fn(static_cast<unsigned>(thread)); }, threads_);
  }

 private:
  unsigned threads_;
};

std::unique_ptr<Executor> make(unsigned threads) {
  return std::make_unique<ThreadPoolExecutor>(threads);
}

}  // namespace

std::unique_ptr<Executor> make_thread_pool(unsigned threads) {
  const unsigned wanted = checked_threads(threads);
  return wanted == 1 ? make_serial_executor() : make(wanted);
}

const ScheduleRow schedule_thread_pool = {"pool", make};

}  // namespace paes
