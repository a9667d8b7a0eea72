// The keystream engine's own threads. They run when nothing else wants the processor (SCHED_IDLE),
// so that precomputing takes time from nobody, and they take no signals, which are the host
// program's.
//
// No request that encrypts wakes a worker, because that takes the client some ten microseconds.
// One worker looks by itself whether there is work, at a fixed interval. If there is none for long,
// it looks less and less often, and then a prefetch wakes it. The other workers sleep until one
// that works finds more to do than it can do alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace paes::keystream {

class Precomputer;

class Workers {
 public:
  // Starts so many. Each holds the owner, which the workers and the precomputer are a part of, for
  // as long as it runs: nobody waits for one that the system has set aside. Throws Error(failure)
  // without threads, after which stop() ends those that there are.
  void start(unsigned count, const std::shared_ptr<void>& owner, Precomputer& precomputer);
  void stop() noexcept;

  // Wakes one if all sleep.
  void wake() noexcept;
  // Wakes another one if any sleeps.
  void wake_another() noexcept { wake_.notify_one(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void work(Precomputer& precomputer) noexcept;
  void wait_for_work(const Precomputer& precomputer, unsigned& looks) noexcept;

  std::mutex mutex_;  // of sleep alone: nothing else is locked while it is held
  std::condition_variable wake_;
  std::atomic<bool> is_stopping_{false};
  bool is_looking_ = false;         // a worker looks for work from time to time
  std::atomic<unsigned> awake_{0};  // workers that look for work before long
};

}  // namespace paes::keystream
