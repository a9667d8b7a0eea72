// SPDX-License-Identifier: Apache-2.0
// The keystream engine's own threads. They take no signals, which belong to the host program.
//
// By default they run when nothing else wants the processor (SCHED_IDLE), so that precomputing
// takes time from nobody. Hardly any request that encrypts wakes a worker, because that takes the
// client some ten microseconds. Instead one worker looks for work at a fixed interval. If it finds
// none for long, it looks less and less often; then a prefetch wakes it, a new context, or one that
// tries again whether keystream pays (decision.hpp). The other workers sleep until a working one
// finds a second context that waits.
//
// Workers of ordinary priority are for clients that cannot wait for the next look: what would wake
// a worker if all sleep wakes one if any sleeps, also in the pause between two looks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "paes/keystream.hpp"

namespace paes::keystream {

// The source of the workers' work. Any of them calls it.
class WorkSource {
 public:
  // Does a part of the work. False if there is none.
  [[nodiscard]] virtual bool work() noexcept = 0;
  [[nodiscard]] virtual bool has_work() const noexcept = 0;

 protected:
  ~WorkSource() = default;
};

class Workers {
 public:
  // Starts `count` threads. Each shares ownership of `owner`, which contains the workers and the
  // source, so that nobody has to wait for a thread that the system has set aside. Throws
  // Error(failure) if not all can start; stop() then ends the others.
  void start(unsigned count, WorkerPriority priority, const std::shared_ptr<void>& owner,
             WorkSource& source);
  void stop() noexcept;

  // Wakes a worker if all sleep; of ordinary priority, if any sleeps.
  void wake() noexcept;
  // Wakes another worker if any sleeps.
  void wake_another() noexcept { wake_.notify_one(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void work(WorkSource& source) noexcept;
  void wait_for_work(const WorkSource& source, unsigned& looks) noexcept;

  // Written before the threads start.
  WorkerPriority priority_ = WorkerPriority::idle;
  unsigned count_ = 0;

  std::mutex mutex_;  // for sleeping only: nothing else is locked while it is held
  std::condition_variable wake_;
  std::atomic<bool> is_stopping_{false};
  bool is_looking_ = false;         // a worker looks for work from time to time
  std::atomic<unsigned> awake_{0};  // workers that do not sleep on wake_, and so see new work soon
};

}  // namespace paes::keystream
